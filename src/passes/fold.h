#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/fold_obstacles.h"
#include "passes/linear_operator.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace relayout::passes {

/// The new form of one linear operator.
struct Absorption {
  LinearOperator target;
  std::optional<Scale> scale;      ///< of the weight
  std::optional<TensorData> bias;  ///< the new one
  std::vector<double> exact;       ///< the new bias before rounding
  [[nodiscard]] bool adds_node() const { return bias && target.bias.is_missing; }
};

/// Chains of affines on one side of linear operators, composed, with everything needed to absorb them.
///
///     y = Conv (x, W, B)                          y2 = Conv (x, W', B')
///     y1 = BatchNormalization (y, γ, β, μ, σ²)    W' = W · a[o],  a = γ / √(σ² + ε)
///     y2 = Mul (y1, c)                            B' = a · (B − μ) + β, and so on along the chain; rounded once, at the end
///
///     x1 = BatchNormalization (x, γ, β, μ, σ²)    y = Conv (x, W', B')
///     y = Conv (x1, W, B)                         W' = W · a[i],  B' = B + Σ W · t[i],  t = β − a · μ
///
/// (For o and i of ConvTranspose, Gemm and MatMul see linear_operator.h.)
struct AffineFold {
  std::vector<Absorption> parts;
  bool into_upstream = true;         ///< into operators upstream of the affines, else into those downstream
  std::vector<Bypass> path;          ///< nodes to be removed
  std::vector<const Node*> taken;    ///< the affines among them
  std::vector<const Node*> anchors;  ///< the operators
  std::string detail;
};

/// Folds an affine, with the affines next to it, into linear operators: those upstream if they can absorb it, else those downstream.
[[nodiscard]] Match<AffineFold> match_affine(const Node& node, PassContext& context);
void apply(AffineFold& fold, PassContext& context);

}  // namespace relayout::passes
