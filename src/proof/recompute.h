#pragma once

#include <string>

#include "proof/affine.h"
#include "proof/linear.h"

namespace relayout::proof {

/// The affines on either side of a linear operator: of each output channel behind it, of each input channel in front of it.
struct Around {
  Composed behind, in_front;
  [[nodiscard]] int64_t steps() const { return behind.steps + in_front.steps; }
};

/// How many elements are not what they must be, and the largest difference relative to the right value.
struct Difference {
  int64_t values = 0;
  double largest = 0;
  void note(double expected, double found);
  /// "(3 values, up to 5.0e-02 relative)"
  [[nodiscard]] std::string text() const;
};

/// Whether two linear operators with affines around them are one function.
struct Recomputed {
  std::string obstacle;  ///< why no fold can account for it at all; empty when there is none
  Difference weight, bias;
  [[nodiscard]] bool holds() const { return obstacle.empty() && weight.values == 0 && bias.values == 0; }
};

/// Compares what `b` stores with what follows from `a` in extended precision (CASES §1, "Numbers"). With W the weight, f the factors
/// and t the shifts of the affines, o and c the channels of an element,
///   W_b · f_b[o] · f_b[c] = W_a · f_a[o] · f_a[c]          within 0.501 ULP of the stored W_b (double: 4 ULP per step),
///   f[o] · (B + Σ W·t[c]) + t[o]  is the same on both sides  within half an ULP of what b stores and the error of double sums.
/// Where the operator's borders miss taps (padding), shifts in front must be the same on both sides instead. Weights are read in
/// pieces; unless `thorough`, reading ends when the first piece differs.
[[nodiscard]] Recomputed recompute(const Linear& a, const Around& around_a, const Linear& b, const Around& around_b, bool thorough);

}  // namespace relayout::proof
