// Operators on whose results equal numbers, NaN or infinities tell where all other numbers do not.
#include "verify/nodes/edge_operators.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/graph.h"

namespace relayout {
namespace {

constexpr auto kSearches = std::to_array<std::string_view>({"ArgMax", "ArgMin", "Hardmax", "TopK"});
constexpr auto kTests = std::to_array<std::string_view>({"IsInf", "IsNaN"});
constexpr auto kLimits = std::to_array<std::string_view>({"Clip", "Max", "Min"});
constexpr auto kComparisons = std::to_array<std::string_view>({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"});

template <std::size_t kCount>
bool is_one_of(const Node& node, const std::array<std::string_view, kCount>& op_types) {
  return node.domain().empty() && std::ranges::find(op_types, std::string_view(node.op_type())) != op_types.end();
}

/// Whether a condition is made by a test, or by a comparison of one of the values that a Where chooses from.
bool tests_its_choice(const Node& where) {
  constexpr std::size_t kMostNodes = 16;
  std::vector<const Value*> open{where.input(0)};
  std::unordered_set<const Node*> seen;
  while (!open.empty() && seen.size() < kMostNodes) {
    const Node* const node = open.back() == nullptr ? nullptr : open.back()->producer();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (is_one_of(*node, kTests)) return true;
    const auto is_chosen = [&](const Value* input) { return input != nullptr && (input == where.input(1) || input == where.input(2)); };
    if (is_one_of(*node, kComparisons) && std::ranges::any_of(node->inputs(), is_chosen)) return true;
    if (has_trait(*node, Trait::makes_boolean)) open.insert(open.end(), node->inputs().begin(), node->inputs().end());
  }
  return false;
}

}  // namespace

bool is_search(const Node& node) {
  return is_one_of(node, kSearches);
}

bool may_treat_apart(const Node& node) {
  return is_one_of(node, kLimits) || is_one_of(node, kComparisons) || (treats_apart(node) && !is_search(node));
}

bool treats_apart(const Node& node) {
  return is_search(node) || is_one_of(node, kTests) || (node.is("Where") && tests_its_choice(node));
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
    if (is_one_of(*made, kTests)) return true;
    const bool sums_up = made->is("ReduceMax") || made->is("ReduceMin") || made->is("ReduceSum");
    if (!sums_up && !has_trait(*made, Trait::casts) && !has_trait(*made, Trait::makes_boolean) && !traits_of(*made).moves_input(0))
      return false;
    at = made;
  }
  return false;
}

}  // namespace relayout
