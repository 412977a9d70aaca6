#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "proof/chain.h"
#include "proof/linear.h"
#include "proof/side.h"
#include "proof/tensors.h"

namespace relayout::proof {

/// The affines around a linear operator: of each output channel downstream, of each input channel upstream.
struct Around {
  Composed downstream, upstream;
  [[nodiscard]] int64_t steps() const { return downstream.steps + upstream.steps; }
  bool operator==(const Around&) const = default;
};

/// Whether two linear operators with affines around them are one function.
struct Recomputed {
  std::string obstacle;      ///< the reason why no fold can account for it at all; empty if there is none
  std::string rounded_away;  ///< the guard that the fold loses, see finite_numbers.h; empty if there is none
  Difference weight, bias;
  double near = 0;  ///< the largest error, in ULP, that a fold in the elements' own type explains; 0: there is none
  [[nodiscard]] bool holds() const { return obstacle.empty() && rounded_away.empty() && weight.values == 0 && bias.values == 0; }
};

/// Compares the constants that `b` stores with those that follow from `a` in extended precision. With W the weight, f the factors and t the
/// shifts of the affines, o and c the channels of an element,
///   W_b · f_b[o] · f_b[c] = W_a · f_a[o] · f_a[c]          within 0.501 ULP of the stored W_b (double: 4 ULP per step),
///   f[o] · (B + Σ W·t[c]) + t[o]  is the same on both sides  within half an ULP of the bias of b and the error of double sums.
/// Other tools fold float32 weights in float32, float16 ones in float16. Errors within the cost of that hold, too, and are reported apart
/// (`near`). With u = 2⁻²⁴ or 2⁻¹¹, the error of one rounding relative to its result (Higham, Accuracy and Stability of Numerical
/// Algorithms), and n the roundings of the factors (chain.cpp: 4.5 of a BatchNormalization, 1 of a Mul or Div, added up
/// over the affines of a chain),
///   |W_b − W| ≤ n·u·|W|: each factor is a product or quotient of rounded ones, and each product with the weight rounds once more;
///   |B_b − B| ≤ (n + 2·steps)·u·(sum of the absolute terms of B): (B − μ)·f + β also rounds its two sums, and if the terms cancel,
///   the error is still relative to them.
/// The last rounding of a weight below the normal numbers costs half a unit instead. At most 9 roundings, two BatchNormalizations, are
/// granted: 5.4e-7 of a weight, 4.4e-3 in float16. Sums over taps are granted none.
/// If the operator misses taps at its borders (padding), shifts upstream must be the same on both sides instead. Weights are read in
/// pieces. Unless `thorough`, reading ends at the first piece that differs.
[[nodiscard]] Recomputed recompute(const Linear& a, const Around& around_a, const Linear& b, const Around& around_b, bool thorough);

/// Cache of recompute() by the operators and the affines around them. Several readings of the nodes upstream of an operator may result in
/// the same affines, and probes of dependent claims come back to it. The weights of both files are read only once.
class KnownFolds {
 public:
  /// Same as recompute(). `a` and `b` are the results of read_linear() for their outputs.
  [[nodiscard]] Recomputed recompute(const Linear& a, const Around& around_a, const Linear& b, const Around& around_b, bool thorough);

 private:
  struct Known {
    Around around_a, around_b;
    bool thorough = false;
    Recomputed found;
  };
  std::unordered_map<RefPair, std::vector<Known>, RefPairHash> known_;  ///< by the outputs of the operators
};

// single_fold.cpp: float32 weights that one factor, or one for each weight, was folded into.

/// Limits of the error of weights that other tools folded in float32.
struct FoldLimits {
  double rounding;  ///< of the stored weight, in units in the last place
  double error;     ///< of a fold in float32, relative to the right weight
};

/// Number of b's weights that are not a's times `factor` in double, rounded once.
[[nodiscard]] int64_t count_unequal(const float* a, const float* b, int64_t count, double factor);

/// Same, with one factor per weight.
[[nodiscard]] int64_t count_unequal(const float* a, const float* b, std::span<const double> factors);

/// The largest magnitude as bits, which are in the order of the values.
[[nodiscard]] uint32_t largest_magnitude(const float* weights, int64_t count);

/// Whether each of b's weights is a's times `factor` clearly within its limits. The margin lets products in double, off by 2^-52 of their
/// value, decide as extended precision does. A limit is at least 2^-25 of the value, so that this error is 2^-27 of the limit. `near` is
/// raised to the largest error in units that rounding alone does not explain.
[[nodiscard]] bool is_clearly_near(const float* a, const float* b, int64_t count, double factor, const FoldLimits& limits, double& near);
[[nodiscard]] bool is_clearly_near(const float* a, const float* b, std::span<const double> factors, const FoldLimits& limits, double& near);

}  // namespace relayout::proof
