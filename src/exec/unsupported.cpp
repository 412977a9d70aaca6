// Finds the nodes that cannot run, and words them with their reasons.

#include "base/numbers.h"
#include "base/text.h"
#include "exec/program.h"
#include "exec/routine.h"
#include "model/functions.h"
#include "model/node.h"
#include "ops/body.h"
#include "ops/op.h"
#include "ops/op_attributes.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {

std::string Unsupported::operator_name() const {
  return (domain.empty() ? "" : escape(domain) + ":") + escape(op_type);
}

std::string Unsupported::text() const {
  return quote(node) + " (" + operator_name() + ": " + why + ")";
}

std::string cannot_run_text(const std::vector<Unsupported>& nodes) {
  return "cannot run " + counted(std::ssize(nodes), "node") + ": " + some_of(nodes, 3, &Unsupported::text);
}

namespace exec {
namespace {

std::optional<std::string> why_no_body(const Op& op, const Node& node, OperandFacts& facts) {
  try {
    (void)facts.shapes.compose(op, node, facts.constants);
    return std::nullopt;
  } catch (const Error& error) {
    // The reason is printed next to the name of the node.
    const std::string_view what = error.what();
    const std::string place = node.label() + ": ";
    return std::string(what.starts_with(place) ? what.substr(place.size()) : what);
  }
}

std::string why_unknown(std::string_view domain) {
  if (domain != "com.microsoft.nchwc") return "operator of domain " + escape(domain);
  // The block size of its channels is not in the file.
  return "layout of the one processor that it was saved for; save the model with ORT_ENABLE_EXTENDED";
}

/// Why the op table has no kernel for a node, or nothing.
std::optional<std::string> why_no_kernel(const Node& node, OperandFacts& facts) {
  const Op* const op = find_op(node);
  if (op == nullptr && !node.domain().empty()) return why_unknown(node.domain());
  if (op == nullptr || op->compute == nullptr) return node.subgraphs().empty() ? "unknown operator" : "control flow";
  const int64_t opset = node.opset();
  if (opset < op->since) return "not in opset " + std::to_string(opset) + ", new in " + std::to_string(op->since);
  if (opset > op->reviewed) return "opset " + std::to_string(opset) + " is newer than " + std::to_string(op->reviewed);
  if (auto other = other_version(node)) return other;
  return op->body != nullptr ? why_no_body(*op, node, facts) : std::nullopt;
}

class Survey {
 public:
  explicit Survey(const Model& model) : functions_(model) {}
  void visit(const Graph& graph) {
    for (const Node* node : nodes_to_run(graph)) visit(*node);
  }
  std::vector<Unsupported> found;

 private:
  void visit(const Node& node) {
    if (const auto function = find_function(functions_, node)) return visit_function(*function, node);
    if (has_trait(node, Trait::control_flow)) {
      for (const auto& nested : node.subgraphs()) visit(*nested);
      return facts_.join(node);
    }
    const auto why = why_no_kernel(node, facts_);
    if (!why) return;
    if (find_op(node) == nullptr) {
      if (const auto body = find_operator_body(node)) return visit_function(*body, node);
    }
    found.push_back({reported_name(node), node.op_type(), std::string(node.domain()), node.opset(), *why});
  }

  /// Visits each function once, for all of its callers.
  void visit_function(const FunctionDefinition& body, const Node& call) {
    if (!seen_.insert(body.message).second) return;
    enter_call(level_);
    const FunctionInstance& instance = instances_.emplace_back(instantiate(body, call));
    facts_.enter(call, *instance.graph);
    visit(*instance.graph);
    facts_.leave(call, *instance.graph);
    --level_;
  }

  Functions functions_;
  OperandFacts facts_;
  std::deque<FunctionInstance> instances_;  ///< as long as facts about their values
  std::unordered_set<const onnx::FunctionProto*> seen_;
  int level_ = 0;
};

}  // namespace

std::vector<Unsupported> unsupported_nodes(const Graph& graph) {
  Survey survey(graph.model());
  survey.visit(graph);
  return std::move(survey.found);
}

}  // namespace exec
}  // namespace relayout
