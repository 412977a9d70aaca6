// Pass fold-batch-norm: tries each BatchNormalization, by the decisions of fold.cpp, next to Conv, ConvTranspose, Gemm or MatMul upstream
// or downstream. See fold.h for the picture and the formula.

#include "passes/fold.h"
#include "passes/pass.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "relayout/graph.h"

namespace relayout::passes {

void fold_batch_norm(Graph& graph, PassContext& context) {
  rewrite_each(graph, context, [](const Node& node) { return node.op_type() == "BatchNormalization"; }, match_affine, apply);
  context.folds.affines.clear();
}

}  // namespace relayout::passes
