#pragma once

#include "relayout/graph.h"
#include "verify/compare/guarded_ways.h"
#include "verify/compare/layers.h"
#include "verify/pair.h"
#include "verify/run/reference.h"

namespace relayout {

/// Numbers that replace a model's inputs and the results of its linear operators.
enum class Extreme : uint8_t {
  zeros,  ///< 0 everywhere; masks are 0 too
  equal,  ///< all elements of a tensor's item are equal: no spread
  apart,  ///< so far apart that the smaller ones vanish in a Softmax
  alone,  ///< one on a line so far above the others that its Softmax is 1
  low,    ///< so low that Exp comes to 0
  close,  ///< far from 0, and as close together as their type holds: a variance vanishes next to squares
  usual,  ///< of either sign, of magnitudes from 1 to 1000, in float16 to 300
  large,  ///< the largest everyday number everywhere: sums are as large as they get
  drawn,  ///< none: the numbers of the first sample
};

/// A value that has more numbers that are not finite in one model, and the node there that made them of finite ones. Or a root that is of
/// another size in either model.
struct EdgeMismatch {
  Extreme extreme = Extreme::zeros;
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

/// What runs on extreme numbers need: both models, the values that both have, and the samples whose other inputs stay.
struct ExtremeTask {
  const Pair& pair;
  const Reference& reference;
  const Layers& layers;
  std::span<const std::size_t> samples;
};

/// Runs both models as written on extreme numbers, and compares where values that both have are finite. Nothing where they are so alike, or
/// none of the nodes that `may_make` accepts is the reason.
[[nodiscard]] std::optional<EdgeMismatch> compare_finite(const ExtremeTask& task, Extreme extreme,
                                                         const std::function<bool(const Node&)>& may_make);

/// The same for the nodes with an edge, on several extremes in their order. `with_roots`: last, roots that agree on a sample are compared
/// on the zeros, next to their size in that sample.
[[nodiscard]] std::optional<EdgeMismatch> compare_edges(const ExtremeTask& task, std::span<const Extreme> extremes, bool with_roots,
                                                        const Guarded& guarded);

}  // namespace relayout
