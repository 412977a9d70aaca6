// Rewrites models so that a quantized one and its original are compared node by node: operators spelled out, BatchNormalizations folded.
#include "verify/quantized/spelled_out.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "model/model_builder.h"
#include "model/origin.h"
#include "ops/op.h"
#include "ops/quantized_form.h"
#include "passes/pass.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

/// First opset in which DequantizeLinear and QuantizeLinear have an axis.
constexpr int64_t kLeastOpset = 13;

/// The values of the original model that integers represent.
class Originals {
 public:
  Originals(const Graph& graph, const Graph& original) : graph_(graph), original_(original) {
    for (const Node& node : original.nodes()) nodes_.emplace(node.name(), &node);
    for (const Node& node : graph.nodes()) names_.insert(node.name().substr(0, node.name().find("_token_")));
  }

  /// The original of a node's result; nullptr: unknown. Where a Relu downstream is gone, absorbed by the range of the integers, the
  /// original is its result.
  [[nodiscard]] const Value* of(const Node& node, const Value& integers) const {
    const Value* const same = namesake_of(node, integers);
    if (same == nullptr || same->sole_use() == nullptr) return same;
    const Node& reader = *same->sole_use()->node;
    if (!has_trait(reader, Trait::clips) || reader.output(0) == nullptr) return same;
    const std::string& clipped = reader.output(0)->name();
    const Value* const made = graph_.find(clipped);
    const bool is_dequantized = made != nullptr && made->producer() != nullptr && made->producer()->is("DequantizeLinear") &&
                                made->producer()->input(0) == &integers;
    const bool is_there = (made != nullptr && !is_dequantized) || graph_.find(clipped + "_quantized") != nullptr || is_node(reader.name());
    return is_there ? same : reader.output(0);
  }

 private:
  /// The value of the original that integers represent, by the name that ONNX Runtime's quantizer gives them, or by the name of the node
  /// that computes them: ONNX Runtime's optimizer keeps it, sometimes with a number appended. nullptr: unknown.
  [[nodiscard]] const Value* namesake_of(const Node& node, const Value& integers) const {
    for (const std::string_view suffix : {"_quantized", "_QuantizeLinear_Output"}) {
      if (!integers.name().ends_with(suffix)) continue;
      return original_.find(std::string_view(integers.name()).substr(0, integers.name().size() - suffix.size()));
    }
    const std::string_view name = std::string_view(node.name()).substr(0, node.name().find("_token_"));
    const auto found = name.empty() ? nodes_.end() : nodes_.find(name);
    return found != nodes_.end() && found->second->op_type() == node.op_type() ? found->second->output(0) : nullptr;
  }

  /// Whether the model has a node of the same name as one of the original.
  [[nodiscard]] bool is_node(const std::string& name) const { return !name.empty() && names_.contains(name); }

  const Graph &graph_, &original_;
  std::unordered_map<std::string_view, const Node*> nodes_;  ///< of the original, by name
  std::unordered_set<std::string> names_;                    ///< of the nodes of the model
};

}  // namespace

std::unique_ptr<Model> with_quantization_spelled_out(const Model& model, const Graph& original) {
  if (model.graph().modified() || model.opset("") < kLeastOpset || !has_real_form(model.graph())) return nullptr;
  const ModelOrigin& origin = origin_of(model);
  auto copy = ModelBuilder::build(origin.source, origin.file, model.name(), {.allow_newer_opset = true});
  const Originals originals(copy->graph(), original);
  write_real_form(copy->graph(), [&](const Node& node, const Value& integers) {
    const Value* const found = originals.of(node, integers);
    return found != nullptr ? found->name() : std::string();
  });
  return Executor::unsupported(copy->graph()).empty() ? std::move(copy) : nullptr;
}

// BatchNormalizations folded into the original.
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
