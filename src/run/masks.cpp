// Decides whether an infinity below all numbers is a mask by what reads it.
#include "run/masks.h"

#include "model/node.h"
#include "ops/op.h"
#include "relayout/graph.h"

namespace relayout {
namespace {

/// Softmaxes, and operators that take the largest of several numbers.
bool takes_masks(const Node& node, std::size_t input) {
  constexpr std::size_t kAttentionMask = 3;
  if (node.is("Attention")) return input == kAttentionMask;
  return node.is("Softmax") || node.is("LogSoftmax") || node.is("ReduceLogSumExp") || node.is("ReduceMax") || node.is("MaxPool") ||
         node.is("ArgMax");
}

bool carries_masks(const Node& node, std::size_t input) {
  const Op* const op = find_op(node);
  return op != nullptr && (op->traits.moves_input(input) || has_trait(node, Trait::identity) || has_trait(node, Trait::casts) ||
                           has_trait(node, Trait::permutes) || node.is("Add") || node.is("Min") || node.is("Max"));
}

}  // namespace

bool only_hides(const Value& value) {
  std::unordered_set<const Value*> seen{&value};
  std::vector<const Value*> open{&value};
  while (!open.empty()) {
    const Value& at = *open.back();
    open.pop_back();
    if (at.is_output() || at.uses().empty()) return false;
    for (const Use& use : at.uses()) {
      const Node& node = *use.node;
      const auto input = static_cast<std::size_t>(use.index);
      if (takes_masks(node, input)) continue;
      if (!carries_masks(node, input)) return false;
      for (const Value* const output : node.outputs()) {
        if (output != nullptr && seen.insert(output).second) open.push_back(output);
      }
    }
  }
  return true;
}

}  // namespace relayout
