// Pass fold-affine: the nodes that it tries, which are Mul, Add, Sub, Div and Neg by constants per channel, and nodes that get only a
// verdict (normalizations, Pow, Sqrt). See fold.h for the picture and the formula, fold.cpp for the decisions.

#include <algorithm>

#include "ops/op.h"
#include "ops/traits.h"
#include "passes/affine.h"
#include "passes/fold.h"
#include "passes/pass.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "relayout/graph.h"

namespace relayout::passes {
namespace {

/// Whether the node reads a scale or zero point that a quantizing operator computed, which is not data.
bool reads_scale(const Node& node) {
  return std::ranges::any_of(node.inputs(), [](const Value* input) {
    return input != nullptr && input->producer() != nullptr && has_trait(*input->producer(), Trait::quantizes) &&
           input->producer()->output(0) != input;
  });
}

/// A node that looks like an affine but is not one gets a verdict too if it is downstream of a linear operator.
bool is_candidate(const Node& node) {
  if (node.op_type() == "BatchNormalization" || reads_scale(node)) return false;
  return is_affine_operator(node) || has_trait(node, Trait::normalizes) || node.is("Pow") || node.is("Sqrt");
}

}  // namespace

void fold_affine(Graph& graph, PassContext& context) {
  rewrite_each(graph, context, is_candidate, match_affine, apply);
  context.folds.affines.clear();
}

}  // namespace relayout::passes
