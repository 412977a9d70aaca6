#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "relayout/graph.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

/// Numbers that replace a model's inputs and the results of its linear operators.
enum class Extreme : uint8_t {
  zeros,  ///< 0 everywhere; masks are 0 too
  equal,  ///< all elements of a tensor's item are equal: no spread
  apart,  ///< so far apart that the smaller ones vanish in a Softmax
  low,    ///< so low that Exp comes to 0
  usual,  ///< of either sign, of magnitudes from 1 to 1000, in float16 to 300
};

/// A value that has more numbers that are not finite in one model, and the node there that made them of finite ones.
struct FiniteMismatch {
  const Value* value = nullptr;  ///< of b
  const Node* maker = nullptr;
  bool is_of_a = false;  ///< the model of `maker`
};

/// Whether a node leaves the finite numbers where an operand is at the edge of its domain: a division by 0, a logarithm of 0.
[[nodiscard]] bool has_edge(const Node& node);

/// Runs both models as written on extreme numbers, and compares where values that both have are finite. Nothing where they are so alike, or
/// none of the nodes that `may_make` accepts is the reason.
[[nodiscard]] std::optional<FiniteMismatch> compare_finite(const Pair& pair, const Reference& reference, Extreme extreme,
                                                           const std::function<bool(const Node&)>& may_make);

}  // namespace relayout
