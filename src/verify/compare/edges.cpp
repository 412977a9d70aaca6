// Tells which operators treat some numbers as special, and so hide or show differences only there.
#include "verify/compare/edges.h"

#include <algorithm>
#include <cstddef>
#include <unordered_set>
#include <vector>

#include "ops/op.h"
#include "relayout/graph.h"

namespace relayout {
namespace {

/// Whether the condition of a Where results from a test, or from a comparison of one of the values that the Where chooses from.
bool tests_its_choice(const Node& where) {
  constexpr std::size_t kMostNodes = 16;
  std::vector<const Value*> open{where.input(0)};
  std::unordered_set<const Node*> seen;
  while (!open.empty() && seen.size() < kMostNodes) {
    const Node* const node = open.back() == nullptr ? nullptr : open.back()->producer();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (has_trait(*node, Trait::tests)) return true;
    const auto is_chosen = [&](const Value* input) { return input != nullptr && (input == where.input(1) || input == where.input(2)); };
    if (compares(predicate_of(*node)) && std::ranges::any_of(node->inputs(), is_chosen)) return true;
    if (has_trait(*node, Trait::makes_boolean)) open.insert(open.end(), node->inputs().begin(), node->inputs().end());
  }
  return false;
}

}  // namespace

bool is_search(const Node& node) {
  return has_trait(node, Trait::searches);
}

bool may_treat_apart(const Node& node) {
  return limits(node) || compares(predicate_of(node)) || (treats_apart(node) && !is_search(node));
}

bool treats_apart(const Node& node) {
  return is_search(node) || has_trait(node, Trait::tests) || (node.is("Where") && tests_its_choice(node));
}

bool depends_on_sign(const Node& node) {
  const bool bends = has_trait(node, Trait::piecewise) && (has_trait(node, Trait::contracts) || limits(node));
  return bends || node.is("MaxPool") || node.is("Pad");
}

bool follows_test(const Node& node) {
  constexpr int kMostNodes = 8;
  const Node* at = &node;
  for (int step = 0; step < kMostNodes; ++step) {
    const Node* made = nullptr;
    for (const Value* const input : at->inputs()) {
      if (input != nullptr && input->producer() != nullptr && !input->is_stored_constant())
        made = made == nullptr ? input->producer() : made;
    }
    if (made == nullptr) return false;
    if (has_trait(*made, Trait::tests)) return true;
    const bool sums_up = made->is("ReduceMax") || made->is("ReduceMin") || made->is("ReduceSum");
    if (!sums_up && !has_trait(*made, Trait::casts) && !has_trait(*made, Trait::makes_boolean) && !traits_of(*made).moves_input(0))
      return false;
    at = made;
  }
  return false;
}

}  // namespace relayout
