// Checks a loaded model for what passes take for granted.
#include "model/check.h"

#include <onnx/onnx_pb.h>

#include <set>

#include "base/hash.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/text.h"
#include "model/functions.h"
#include "model/node.h"
#include "model/origin.h"
#include "model/walk.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

[[noreturn]] void invalid(const std::string& what) {
  fail(ErrorKind::invalid, what);
}

std::string domain_name(std::string_view domain) {
  return domain.empty() ? "the default domain" : "domain " + quote(domain);
}

void check_ir_version(const Model& model) {
  if (!model.message().has_ir_version()) invalid("no ir_version");
  const int64_t version = model.ir_version();
  if (version <= 0) invalid("ir_version " + std::to_string(version));
  if (version > kReviewedIrVersion) {
    log_warning(escape(model.name()) + ": ir_version " + std::to_string(version) + " is newer than " + std::to_string(kReviewedIrVersion) +
                ", the newest this version knows");
  }
}

using Imports = std::map<std::string, int64_t, std::less<>>;

Imports check_imports(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports, const std::string& place) {
  Imports out;
  for (const onnx::OperatorSetIdProto& import : imports) {
    const std::string domain(canonical_domain(import.domain()));
    if (import.version() <= 0) invalid(place + "opset " + std::to_string(import.version()) + " of " + domain_name(domain));
    const auto [known, is_new] = out.emplace(domain, import.version());
    if (!is_new && known->second != import.version()) {
      invalid(place + "opset imports of two versions of " + domain_name(domain) + ": " + std::to_string(known->second) + " and " +
              std::to_string(import.version()));
    }
  }
  return out;
}

void check_reviewed(const Imports& imports, const std::string& place, const LoadOptions& options) {
  const auto found = imports.find("");
  if (found == imports.end() || found->second <= kReviewedOpset || options.allow_newer_opset) return;
  fail(ErrorKind::unsupported,
       place + "opset " + std::to_string(found->second) + " is newer than " + std::to_string(kReviewedOpset) +
           ", the newest this version was reviewed for",
       "to try it all the same, say --allow-newer-opset");
}

void check_identity(const Graph& function, const Functions& functions) {
  const onnx::FunctionProto& message = *function.function();
  if (message.name().empty()) invalid("a function without name");
  if (functions.like(message) != &function) {
    invalid("function " + quote(message.name()) + " of " + domain_name(canonical_domain(message.domain())) + " is there twice");
  }
}

/// Indices in the model of the functions that a function calls.
std::vector<std::size_t> calls_of(const Graph& function, const Functions& functions,
                                  const std::unordered_map<const Graph*, std::size_t>& places) {
  std::set<std::size_t> calls;
  for_each_node(function, [&](const Node& node) {
    if (const Graph* const called = functions.called_by(node)) calls.insert(places.at(called));
  });
  return {calls.begin(), calls.end()};
}

void check_recursion(const Model& model) {
  if (model.functions().empty()) return;
  const Functions functions(model);
  std::unordered_map<const Graph*, std::size_t> places;
  for (const auto& function : model.functions()) {
    check_identity(*function, functions);
    places.emplace(function.get(), places.size());
  }
  std::vector<std::vector<std::size_t>> calls;
  for (const auto& function : model.functions()) calls.push_back(calls_of(*function, functions, places));
  enum class State : uint8_t { untouched, open, done };
  std::vector<State> states(calls.size(), State::untouched);
  struct Step {
    std::size_t function, next;
  };
  std::vector<Step> path;
  for (std::size_t start = 0; start < calls.size(); ++start) {
    if (states[start] == State::untouched) path.push_back({start, 0});
    while (!path.empty()) {
      Step& step = path.back();
      states[step.function] = State::open;
      if (step.next == calls[step.function].size()) {
        states[step.function] = State::done;
        path.pop_back();
        continue;
      }
      const std::size_t called = calls[step.function][step.next++];
      if (states[called] == State::open) invalid("function " + quote(model.functions()[called]->function()->name()) + " calls itself");
      if (states[called] == State::untouched) path.push_back({called, 0});
    }
  }
}

void check_attribute_names(const Node& node) {
  if (node.message().attribute_size() < 2) return;
  std::set<std::string_view> names;
  for (const onnx::AttributeProto& attribute : node.message().attribute()) {
    if (!names.insert(attribute.name()).second)
      invalid("node " + node.label() + ": attribute " + quote(attribute.name()) + " is there twice");
  }
}

/// Counts the nodes of the names that a graph or function has more than once.
void count_repeated(const Graph& top, std::map<std::string, int64_t>& counts) {
  HashSet known;
  known.reserve(top.nodes().size());
  std::map<std::string, int64_t> repeated;
  for_each_node(top, [&](const Node& node) {
    if (!node.name().empty() && !known.insert(mix(std::hash<std::string_view>{}(node.name())))) repeated.emplace(node.name(), 0);
  });
  if (repeated.empty()) return;
  for_each_node(top, [&](const Node& node) {
    const auto found = repeated.find(node.name());
    if (found != repeated.end()) ++found->second;
  });
  for (const auto& [name, count] : repeated) {
    if (count > 1) counts[name] = std::max(counts[name], count);  // else two names have one hash
  }
}

void warn_of_repeated_names(const Model& model) {
  const std::map<std::string, int64_t> names = repeated_names(model);
  if (names.empty()) return;
  const auto& [name, count] = *names.begin();
  const auto others = static_cast<int64_t>(names.size()) - 1;
  log_warning(escape(model.name()) + ": " + counted(count, "node") + " are called " + quote(name) +
              (others > 0 ? ", and " + counted(others, "more name") + " stand for several nodes" : "") +
              ": what is said or chosen by name is true of any of them");
}

/// Checks the nodes of a graph or function, nested graphs included.
class NodeCheck {
 public:
  NodeCheck(const Imports& imports, std::string place)
      : imports_(imports), place_(std::move(place)), default_domain_(imports.contains("")) {}

  void run(const Graph& top) {
    for_each_graph(top, [&](const Graph& graph) {
      check_initializers(graph);
      for (const Node& node : graph.nodes()) {
        if (node.op_type().empty()) invalid("node " + node.label() + " has no op_type");
        check_domain(node);
        check_attribute_names(node);
        check_tensors(node);
        check_operator(node);
      }
    });
    const std::string file = escape(top.model().name()) + ": ";
    for (const std::string& domain : missing_) log_warning(file + place_ + "no opset import of domain " + quote(domain));
  }

 private:
  /// Operators of a domain that is not imported have no meaning. A foreign domain only causes a remark, as its nodes are left unchanged.
  void check_domain(const Node& node) {
    if (node.domain().empty()) {
      if (default_domain_) return;
      invalid(place_ + "no opset import of the default domain, which node " + node.label() + " needs");
    }
    if (!imports_.contains(node.domain()) && !missing_.contains(node.domain())) missing_.emplace(node.domain());
  }

  const Imports& imports_;
  std::string place_;
  bool default_domain_;
  std::set<std::string, std::less<>> missing_;
};

}  // namespace

std::map<std::string, int64_t> repeated_names(const Model& model) {
  std::map<std::string, int64_t> out;
  count_repeated(model.graph(), out);
  for (const auto& function : model.functions()) count_repeated(*function, out);
  return out;
}

void check(const Model& model, const LoadOptions& options) {
  check_ir_version(model);
  Imports imports = check_imports(model.message().opset_import(), "");
  // Models before IR 3 have no imports; their default domain has version 1.
  if (imports.empty() && model.ir_version() < 3) imports.emplace("", 1);
  if (imports.empty()) invalid("no opset import");
  check_reviewed(imports, "", options);
  NodeCheck(imports, "").run(model.graph());
  for (const auto& function : model.functions()) {
    const std::string place = "function " + quote(function->function()->name()) + ": ";
    const Imports own = check_imports(function->function()->opset_import(), place);
    check_reviewed(own, place, options);
    NodeCheck(own, place).run(*function);
  }
  check_recursion(model);
  warn_of_repeated_names(model);
  if (model.graph().outputs().empty()) log_warning(escape(model.name()) + ": no outputs, so that nothing in the graph is needed");
}

}  // namespace relayout
