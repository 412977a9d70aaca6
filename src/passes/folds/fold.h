#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "passes/folds/affine.h"
#include "passes/folds/linear_operator.h"
#include "passes/pass.h"

namespace relayout::passes {

/// A node that a fold removes: its operand `data` takes the place of its result.
struct Bypass {
  const Node* node = nullptr;
  std::size_t data = 0;
};

/// One operator that would absorb affines, carried to its own channel axis. In the order in which they are applied.
struct Branch {
  const Node* target = nullptr;
  std::vector<AffineNode> affines;
};

/// The nodes between affines and the linear operators on one side of them.
struct Neighbours {
  bool found = false;              ///< there is a linear operator, reachable or not
  Obstacles obstacles;             ///< none: every branch can be reached
  std::vector<Branch> branches;    ///< all or nothing
  std::vector<Bypass> path;        ///< affines and nodes that pass their operand on; removed by a fold
  std::vector<const Node*> taken;  ///< the affines among them
  /// Whether every way ends at a linear operator, with nothing against the fold so far.
  [[nodiscard]] bool is_reached() const { return !branches.empty() && !obstacles.any(); }
};

/// Searches upstream from the input of an affine: to one operator, or through Concat to several. Beyond an obstacle it only tells whether
/// there is an operator nearby.
[[nodiscard]] Neighbours look_upstream(const AffineNode& affine, PassContext& context);
/// Searches downstream from the output of an affine, along every reader.
[[nodiscard]] Neighbours look_downstream(const AffineNode& affine, PassContext& context);

/// The same searches from a node that is not an affine, or not one of constants: for the obstacles to report.
[[nodiscard]] Neighbours look_upstream(const Node& node, std::size_t data, PassContext& context);
[[nodiscard]] Neighbours look_downstream(const Node& node, PassContext& context);

/// The last affine of the row that begins with this one, each the only reader of the previous one.
[[nodiscard]] AffineNode last_in_row(const AffineNode& affine, PassContext& context);
/// Whether a linear operator computes operand `data` of the node, with nothing between but nodes that pass it on.
[[nodiscard]] bool follows_linear(const Node& node, std::size_t data, PassContext& context);

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

/// Arithmetic of a fold: the branch's operator after it has absorbed the affines. It is upstream of them (they apply to its result) or
/// downstream of them (they apply to its data). Refused when the affines are not per channel, when a shift upstream of the operator would
/// have to reach padding, or when the numbers leave their range. Error{invalid} for a BatchNormalization with a different number of
/// channels.
[[nodiscard]] std::variant<Absorption, Skip> absorb_into_upstream(const Branch& branch, PassContext& context);
[[nodiscard]] std::variant<Absorption, Skip> absorb_into_downstream(const Branch& branch, PassContext& context);

}  // namespace relayout::passes
