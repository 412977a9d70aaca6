// Rewrites a quantized model and its original so that nodes pair, and gives the grid of each integer constant.
#include "verify/quantized/constant_grids.h"

#include "model/model_builder.h"
#include "model/node.h"
#include "model/origin.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/quantized_form.h"
#include "passes/pass.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "verify/compare/layers.h"
#include "verify/run/quantizer.h"

namespace relayout {

// Operators spelled out, BatchNormalizations folded.
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
    const bool is_dequantized = made != nullptr && made->producer() != nullptr && has_trait(*made->producer(), Trait::quantizes) &&
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

// Integer constants paired with the original's.
namespace {

bool dequantizes(const Node& node) {
  return has_trait(node, Trait::quantizes) && !has_trait(node, Trait::chooses);
}

/// The result of a node that moves elements of a stored constant; nullptr for any other node.
const Value* moved_integers(const Node& node) {
  const bool moves = node.input(0) != nullptr && traits_of(node).moves_input(0) && node.input(0)->is_stored_constant();
  return moves ? node.output(0) : nullptr;
}

/// A constant operand of a node: stored as it is read, or a stored matrix whose axes a Transpose exchanges.
struct GridOperand {
  const Value* stored = nullptr;
  bool is_transposed = false;
};

GridOperand operand_of(const Value* read) {
  if (read == nullptr || read->is_stored_constant()) return {read, false};
  const Node* const maker = read->producer();
  if (maker == nullptr || !maker->is("Transpose") || maker->input(0) == nullptr || !maker->input(0)->is_stored_constant()) return {};
  const std::vector<int64_t> order = Attributes(*maker).integers("perm");
  return order.empty() || order == std::vector<int64_t>{1, 0} ? GridOperand{maker->input(0), true} : GridOperand();
}

/// Nothing where the dims are unknown, or the operand of a Transpose has other than two axes.
std::optional<Dims> dims_of(const GridOperand& operand, Constants& constants) {
  auto dims = constants.dims(*operand.stored);
  if (!dims || !operand.is_transposed) return dims;
  return dims->size() == 2 ? std::optional(Dims{(*dims)[1], (*dims)[0]}) : std::nullopt;
}

/// Whether a Gemm is a plain product and sum: no transposition, no factors.
bool is_plain_gemm(const Node& node) {
  const Attributes attributes(node);
  return node.is("Gemm") && attributes.integer("transA", 0) == 0 && attributes.integer("transB", 0) == 0 &&
         attributes.real("alpha", 1) == 1 && attributes.real("beta", 1) == 1;
}

/// Number of elements; 0 where the dims are unknown.
int64_t elements_of(const Value& constant, Constants& constants) {
  const auto dims = constants.dims(constant);
  int64_t elements = dims ? 1 : 0;
  for (std::size_t i = 0; dims && i < dims->size(); ++i) elements *= (*dims)[i];
  return elements;
}

bool is_counterpart(const Node& node, const Node& original) {
  const QuantizedForm* const form = weight_reader(node);
  if (form != nullptr) return original.is(form->real) || (form->real == "MatMul" && original.is("Gemm"));
  if (is_plain_gemm(node) && original.is("MatMul")) return true;
  return original.op_type() == node.op_type() && original.domain() == node.domain();
}

}  // namespace

const Quantizer* ConstantGrids::find(const std::string& constant) const {
  const auto found = grids_.find(constant);
  return found == grids_.end() ? nullptr : &found->second;
}

void ConstantGrids::add(const Layers& layers, const Layer& layer) {
  std::vector<const Node*> rest = layers.region_in_a(layer);
  const std::vector<const Node*> nodes = layers.region_in_b(layer);
  for (const Node* const node : nodes) {
    const auto found = std::ranges::find_if(rest, [&](const Node* other) { return is_counterpart(*node, *other); });
    if (found == rest.end()) continue;
    const Node& original = **found;
    rest.erase(found);
    if (weight_reader(*node) != nullptr) {
      pair_weights(*node, original);
    } else {
      pair(*node, original);
    }
    if (node->op_type() != original.op_type() && node->is("Gemm")) std::erase(rest, pair_bias(*node, original, rest));
  }
  if (is_folded(layers.region_in_a(layer), nodes)) restructured_.insert(layer.b);
}

bool ConstantGrids::is_folded(const std::vector<const Node*>& originals, const std::vector<const Node*>& nodes) {
  std::multiset<int64_t> others;  // element counts of real constants that are no scales
  std::unordered_set<std::string_view> names;
  for (const Node* const node : nodes) {
    const bool has_scales = has_trait(*node, Trait::quantizes) || has_trait(*node, Trait::quantized) ||
                            (node->output(0) != nullptr && constants_b_.is_constant(*node->output(0)));
    for (const Value* const input : node->inputs()) {
      if (input == nullptr) continue;
      names.insert(input->name());
      if (!has_scales && input->is_stored_constant() && kRealTypes.has(constants_b_.type_of(*input)))
        others.insert(elements_of(*input, constants_b_));
    }
  }
  for (const Node* const original : originals) {
    if (!has_trait(*original, Trait::affine) && !has_trait(*original, Trait::multiplies)) continue;
    for (const Value* const operand : original->inputs()) {
      const bool is_constant = operand != nullptr && constants_a_.is_constant(*operand);
      const Value* const stored = operand_of(operand).stored;
      if (!is_constant || names.contains(operand->name()) || met_.contains(operand)) continue;
      if (stored != nullptr && grids_.contains(stored->name())) continue;
      // A scalar is no counterpart: scales are scalars too.
      const int64_t elements = elements_of(*operand, constants_a_);
      const auto other = elements > 1 ? others.find(elements) : others.end();
      if (other == others.end()) return true;
      others.erase(other);
    }
  }
  return false;
}

void ConstantGrids::note(const Value& constant, Quantizer grid, const Node& reader) {
  grids_.emplace(constant.name(), std::move(grid));
  paired_.insert(&reader);
}

void ConstantGrids::pair(const Node& node, const Node& original) {
  const Value* const moved = moved_integers(node);
  if (moved != nullptr && original.input(0) != nullptr && original.input(0)->is_stored_constant()) {
    auto grid = Quantizer::of_moved(*moved, constants_b_);
    if (grid) note(*original.input(0), *std::move(grid), node);
    for (const Use& use : moved->uses()) {
      if (is_paired(node) && dequantizes(*use.node)) paired_.insert(use.node);
    }
  }
  for (std::size_t i = 0; i < std::min(node.inputs().size(), original.inputs().size()); ++i) pair_operand(node.input(i), original.input(i));
}

void ConstantGrids::pair_operand(const Value* operand, const Value* constant) {
  const GridOperand mine = operand_of(constant);
  if (mine.stored == nullptr || operand == nullptr) return;
  const auto dims = dims_of(mine, constants_a_);
  if (operand->is_stored_constant() && dims == constants_b_.dims(*operand)) met_.insert(constant);
  if (operand->producer() == nullptr) return;
  const Node& dequantizer = *operand->producer();
  if (!dequantizes(dequantizer) || !dequantizer.input(0)->is_stored_constant()) return;
  auto grid = dims && dims == constants_b_.dims(*dequantizer.input(0)) ? Quantizer::of(dequantizer, constants_b_) : std::nullopt;
  if (grid) note(*mine.stored, mine.is_transposed ? grid->transposed() : *std::move(grid), dequantizer);
}

const Node* ConstantGrids::pair_bias(const Node& gemm, const Node& product, const std::vector<const Node*>& rest) {
  const auto adds = [&](const Node* node) {
    return arithmetic_of(*node) == Arithmetic::add && node->inputs().size() == 2 &&
           (node->input(0) == product.output(0) || node->input(1) == product.output(0));
  };
  const auto sum = std::ranges::find_if(rest, adds);
  if (sum == rest.end()) return nullptr;
  pair_operand(gemm.input(2), (*sum)->input((*sum)->input(0) == product.output(0) ? 1 : 0));
  return *sum;
}

void ConstantGrids::pair_weights(const Node& node, const Node& original) {
  const bool transposed = original.is("Gemm") && Attributes(original).integer("transB", 0) != 0;
  std::map<std::string, Quantizer> grids;
  for (const QuantizedForm::Operand& weight : weight_reader(node)->weights(node)) {
    const GridOperand constant = operand_of(original.input(weight.numbers));
    if (constant.stored == nullptr) return;
    auto grid = Quantizer::of_weight(node, weight.numbers, constants_b_, transposed != constant.is_transposed);
    const auto dims = constants_a_.dims(*constant.stored);
    if (!grid || !dims || !grid->suits(*dims)) return;
    grids.emplace(constant.stored->name(), *std::move(grid));
  }
  grids_.merge(grids);
  paired_.insert(&node);
}

}  // namespace relayout
