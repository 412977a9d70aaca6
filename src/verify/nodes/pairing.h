#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "relayout/graph.h"

namespace relayout {

/// A value of one model and what should be equal to it in another.
struct Partner {
  const Value* value = nullptr;
  bool by_structure = false;   ///< found by operators and positions, because the name is gone
  bool channels_last = false;  ///< the other model's value has its second axis behind the others
  bool before_jump = false;    ///< read by results that jump alone, in both: the comparison is made behind them, where rounding is gone
};

/// For values that nodes of `b`'s main graph make from inputs: the value of `a` that should be equal. By name first, where the
/// name was not left behind by a fold of what followed; what is left by operator and position behind values that are paired, where a folded
/// chain (BatchNormalization and the like) counts as its convolution. Nodes that no output depends on have no part in it. A hint, never a
/// proof.
[[nodiscard]] std::unordered_map<const Value*, Partner> pair_values(const Graph& a, const Graph& b);

/// Values that depend on no input, or on the dims of inputs alone.
[[nodiscard]] std::unordered_set<const Value*> values_known_by_dims(const Graph& graph);

/// Nodes of a region that are looked at.
inline constexpr std::size_t kLargestRegion = 64;
/// The nodes that make `value` out of values for which `ends` holds, the last one last; at most kLargestRegion.
[[nodiscard]] std::vector<const Node*> region_of(const Value& value, const std::function<bool(const Value&)>& ends);

}  // namespace relayout
