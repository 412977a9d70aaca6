#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "passes/affine.h"
#include "passes/linear_operator.h"
#include "passes/pass.h"

namespace relayout {

/// A chain of affines behind a linear operator, composed: everything that absorbing it needs.
///
///     y = Conv (x, W, B)                          y2 = Conv (x, W', B')
///     y1 = BatchNormalization (y, γ, β, μ, σ²)    W' = W · a[o],  a = γ / √(σ² + ε)
///     y2 = BatchNormalization (y1, …)             B' = a · (B − μ) + β, and so through each of the chain; one rounding at the end
///
/// (Jacob et al., arXiv:1712.05877, §3.2; for ConvTranspose the channel o runs over axis 1 within each group.)
struct AffineFold {
  LinearOperator target;
  std::vector<Node*> path;   ///< from the reader of the target's output to the last affine; goes
  std::vector<Node*> taken;  ///< the affines among them
  Node* anchor = nullptr;    ///< the target
  std::string detail;
  Scale scale;                     ///< of the weight
  std::optional<TensorData> bias;  ///< none: no bias before, and none needed
};

/// Folds BatchNormalization `affine` and whatever affines stand before and behind it into the operator they belong to.
[[nodiscard]] Match<AffineFold> match_affine(Node& affine, PassContext& context);
void apply(AffineFold& fold, PassContext& context);

}  // namespace relayout
