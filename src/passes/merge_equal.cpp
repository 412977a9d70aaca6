// Computes once what several nodes of a graph compute alike.
//
//     a = Unsqueeze (x, k)           a = Unsqueeze (x, k)
//     b = Unsqueeze (x, l)     →     y = Mul (a, a)             k and l have the same contents
//     y = Mul (a, b)

#include "base/interrupt.h"
#include "base/positions.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

void append(std::string& out, std::string_view part) {
  out += std::to_string(part.size()) + ":";
  out += part;
}

/// The contents of a small constant as bytes; nothing for all other values.
std::optional<std::string> small_contents(const Value& value, PassContext& context) {
  if (value.initializer() == nullptr && (value.producer() == nullptr || !value.producer()->is("Constant"))) return std::nullopt;
  const auto found = context.constants.find(value);
  const auto* const constant = std::get_if<Constant>(&found);
  if (constant == nullptr || constant->strings || element_count(constant->dims) > kMostContents) return std::nullopt;
  const Tensor tensor = contiguous(constant->load());
  const auto size = bytes_in_memory(tensor.type(), tensor.dims());
  if (!size) return std::nullopt;
  std::string out(name_of(tensor.type()));
  append(out, to_string(tensor.dims()));
  append(out, {reinterpret_cast<const char*>(tensor.bytes()), as_size(*size)});
  return out;
}

/// Whether nodes like this one compute the same from the same operands, and their messages tell all that they compute.
bool is_comparable(const Node& node) {
  if (find_kernel(node) == nullptr || node.opset() <= 0 || node.is("Constant") || node.inputs().empty()) return false;
  if (has_trait(node, Trait::random) || node.is("Dropout") || Attributes(node).has_reference()) return false;
  return std::ranges::none_of(node.message().attribute(), [](const onnx::AttributeProto& attribute) {
    return attribute.has_t() || attribute.has_sparse_tensor() || attribute.tensors_size() + attribute.sparse_tensors_size() > 0;
  });
}

/// Whether another node may have the same operands: one that this node alone reads has to be a constant.
bool shares_operands(const Node& node) {
  return std::ranges::all_of(node.inputs(), [](const Value* input) {
    return input == nullptr || input->uses().size() > 1 || input->initializer() != nullptr ||
           (input->producer() != nullptr && input->producer()->is("Constant"));
  });
}

/// Equal for nodes that compute the same.
std::string key_of(const Node& node, PassContext& context) {
  std::string out;
  append(out, node.domain());
  append(out, node.op_type());
  for (const Value* const input : node.inputs()) {
    const auto contents = input != nullptr ? small_contents(*input, context) : std::nullopt;
    append(out, contents ? *contents : std::to_string(reinterpret_cast<uintptr_t>(input)));
  }
  std::map<std::string_view, const onnx::AttributeProto*> attributes;
  for (const onnx::AttributeProto& attribute : node.message().attribute()) attributes.emplace(attribute.name(), &attribute);
  for (const auto& [name, attribute] : attributes) {
    onnx::AttributeProto alone = *attribute;
    alone.clear_doc_string();
    append(out, alone.SerializeAsString());
  }
  for (const Value* const output : node.outputs()) append(out, output != nullptr ? "1" : "");
  return out;
}

struct Merge {
  const Node *node, *first;
};

bool can_stand_for(const Value& first, const Value& value) {
  return !value.is_output() &&
         std::ranges::all_of(value.uses(), [&](const Use& use) { return use.node->graph().find(first.name()) == &first; });
}

Match<Merge> match_merge(const Node& node, const Node& first, PassContext& context) {
  if (is_excluded(node, context.options)) return Skip{Reason::excluded, {}};
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    if (node.output(i) != nullptr && !can_stand_for(*first.output(i), *node.output(i))) return NotApplicable{};
  }
  return Merge{&node, &first};
}

void merge(const Merge& found, PassContext& context) {
  Node& node = writable(*found.node);
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    if (node.output(i) != nullptr) node.graph().replace_uses(*node.output(i), *found.first->output(i));
  }
  std::vector<Value*> freed;
  erase_node(node, freed);
  for (Value* const value : freed) release(*value, context);
}

/// The visited nodes of a graph, by operator, attributes and operands.
class VisitedNodes {
 public:
  explicit VisitedNodes(PassContext& context) : context_(context) {}

  /// The first node that computes the same as this one, which is visited now; nullptr: none before.
  const Node* first_like(const Node& node) {
    if (!shares_operands(node)) {
      alone_.insert(&node);
      return nullptr;
    }
    const auto [found, is_new] = known_.try_emplace(key_of(node, context_), &node);
    return is_new ? nullptr : found->second;
  }

  /// Makes the readers of these outputs known: after a merge, other nodes share their operands.
  void share(std::span<Value* const> outputs) {
    for (const Value* const output : outputs) {
      if (output == nullptr) continue;
      for (const Use& use : output->uses()) {
        if (alone_.erase(use.node) > 0) known_.try_emplace(key_of(*use.node, context_), use.node);
      }
    }
  }

 private:
  PassContext& context_;
  std::unordered_map<std::string, const Node*> known_;
  std::unordered_set<const Node*> alone_;  ///< those that share no operands yet
};

void merge_in(Graph& graph, PassContext& context) {
  VisitedNodes visited(context);
  for (auto at = graph.nodes().begin(); at != graph.nodes().end();) {
    check_interrupt();
    Node& node = *at++;
    if (!is_comparable(node)) continue;
    const Node* const first = visited.first_like(node);
    if (first == nullptr) continue;
    rewrite_one(
        FindingSubject(node), context, [&] { return match_merge(node, *first, context); },
        [&](const Merge& merging) {
          visited.share(first->outputs());
          merge(merging, context);
        });
  }
}

}  // namespace

void merge_equal(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& nested) { merge_in(nested, context); });
}

}  // namespace relayout::passes
