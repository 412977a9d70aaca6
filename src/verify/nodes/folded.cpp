// Folds BatchNormalizations into a copy of the original where the quantized model has none left, so that its weights are compared with
// folded ones.
#include "verify/nodes/folded.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "model/model_builder.h"
#include "model/origin.h"
#include "passes/pass.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

bool has_batch_norm(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return node.is("BatchNormalization"); });
}

}  // namespace

std::unique_ptr<Model> with_batch_norms_folded(const Model& original, const Graph& quantized) {
  if (original.graph().modified() || !has_batch_norm(original.graph()) || has_batch_norm(quantized)) return nullptr;
  const ModelOrigin& origin = origin_of(original);
  auto copy = ModelBuilder::build(origin.source, origin.file, original.name(), {.allow_newer_opset = true});
  passes::PassContext context;
  const passes::Pass* const fold = passes::find_pass("fold-batch-norm");
  passes::run_passes(*copy, std::span(&fold, 1), context);
  return context.rewrites > 0 ? std::move(copy) : nullptr;
}

}  // namespace relayout
