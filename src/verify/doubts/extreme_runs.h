#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "relayout/graph.h"
#include "verify/doubts/guards.h"

namespace relayout {

class Evidence;

/// Numbers that replace a model's inputs and the results of its linear operators.
enum class Extreme : uint8_t {
  zeros,  ///< 0 everywhere; masks are 0 too
  equal,  ///< all elements of a tensor's item are equal: no spread
  apart,  ///< so far apart that the smaller ones vanish in a Softmax
  low,    ///< so low that Exp comes to 0
  usual,  ///< of either sign, of magnitudes from 1 to 1000, in float16 to 300
  drawn,  ///< none: the numbers of the first sample
};

/// A value that has more numbers that are not finite in one model, and the node there that made them of finite ones. Or a root that is of
/// another size in either model.
struct EdgeMismatch {
  const Value* value = nullptr;  ///< of b
  const Node* maker = nullptr;
  bool is_of_a = false;              ///< the model of `maker`
  double peak = 0;                   ///< the largest magnitude of a root
  std::optional<double> other_peak;  ///< that in the other model; nothing where the numbers are not finite
};

/// The ways to the edges of both models: values on those whose guards differ are computed, and not replaced.
struct Guarded {
  const GuardedWays *a = nullptr, *b = nullptr;
  std::function<bool(const Node&)> may_differ = {};  ///< of b: results of other nodes are not compared; empty: all are
};

/// Whether a node leaves the finite numbers where an operand is at the edge of its domain: a division by 0, a logarithm of 0.
[[nodiscard]] bool has_edge(const Node& node);

/// Runs both models as written on extreme numbers, and compares where values that both have are finite. Nothing where they are so alike, or
/// none of the nodes that `may_make` accepts is the reason.
[[nodiscard]] std::optional<EdgeMismatch> compare_finite(Evidence& evidence, Extreme extreme,
                                                         const std::function<bool(const Node&)>& may_make, const Guarded& guarded = {});

/// Runs both models on zeros, and compares roots that agree on the same sample: beyond rounding, next to their size there.
[[nodiscard]] std::optional<EdgeMismatch> compare_roots(Evidence& evidence, const Guarded& guarded);

}  // namespace relayout
