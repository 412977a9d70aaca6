// Acquits quantized integers, and other decisions, that rounding of an operand moves to the neighbouring step.
#include "verify/compare/quantizer_steps.h"

#include <cmath>

#include "model/node.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/datum_pair.h"
#include "verify/compare/fed_runs.h"
#include "verify/compare/fed_values.h"
#include "verify/compare/layers.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/reference_output.h"
#include "verify/run/session.h"
#include "verify/run/ties.h"

namespace relayout {

// The value that a quantizer really rounds.
Datum RoundedValue::in_order(const Datum& datum) const {
  if (orders.empty() || datum.kind != Datum::Kind::tensor || !datum.tensor) return datum;
  Tensor out = datum.tensor;
  for (const Dims& order : orders) {
    if (order.size() != out.dims().size()) return {};
    out = out.transposed(order);
  }
  return Datum(contiguous(out));
}

RoundedValue rounded_value(const Node& quantizer) {
  RoundedValue out{quantizer.input(0), {}};
  const Value* at = out.value;
  std::vector<Dims> passed;  // from the quantizer upstream
  while (at != nullptr && at->producer() != nullptr) {
    const Node& node = *at->producer();
    const Node* const before = node.input(0) == nullptr ? nullptr : node.input(0)->producer();
    if (node.is("Transpose") && !Attributes(node).integers("perm").empty()) {
      passed.push_back(Attributes(node).integers("perm"));
      at = node.input(0);
      continue;
    }
    const bool is_same_grid = node.is("DequantizeLinear") && before != nullptr && before->is("QuantizeLinear") &&
                              node.input(1) == quantizer.input(1) && node.input(2) == quantizer.input(2) &&
                              before->input(1) == quantizer.input(1) && before->input(2) == quantizer.input(2);
    if (!is_same_grid) break;
    at = before->input(0);
    out.value = at;
    out.orders = passed;
  }
  std::ranges::reverse(out.orders);
  return out;
}

namespace {

/// Operands of quantizers: the value that they round, with the distance by which rounding alone may move it, and the scale.
using Rounded = std::unordered_map<const Node*, std::vector<DeciderOperand>>;

/// The quantizer that computes a layer's integers, in whichever model has one; nullptr if neither has.
const Node* quantizer_of(const Layer& layer) {
  for (const Value* const value : {layer.a, layer.b}) {
    if (value->producer()->is("QuantizeLinear")) return value->producer();
  }
  return nullptr;
}

/// The share by which results of QLinearSoftmax are too small. ONNX Runtime's kernel multiplies probabilities by the whole number of steps
/// in 1 (254 for a scale of 1/254.9999) instead of dividing by the scale.
double share_below(const Layer& layer, const Tensor& scale) {
  const auto makes = [](const Value& value) {
    return value.producer()->op_type() == "QLinearSoftmax" && value.producer()->domain() == kMicrosoftDomain;
  };
  if ((!makes(*layer.a) && !makes(*layer.b)) || !scale || scale.type() != DataType::float32 || scale.element_count() != 1) return 0;
  const float step = *scale.data<float>();
  return std::max(0.0, 1 - static_cast<double>(std::floor(1 / step)) * static_cast<double>(step));
}

/// A copy of a tensor, with the least bound of its type as tolerance.
DeciderOperand rounded_operand(const Datum& datum) {
  if (datum.kind != Datum::Kind::tensor || !datum.tensor) return {};
  return {copy_of(datum).tensor, dtype_minimum(datum.tensor.type()) * Yardstick(datum).range()};
}

/// Captures the values that one side's quantizers round when each node is fed a's values. Further runs with moved values show how far
/// rounding may move them.
Rounded capture_rounded(const FedRuns& runs, const Side& side, const std::vector<const Node*>& quantizers) {
  Rounded rounded;
  Constants constants;
  std::unordered_map<const Value*, std::vector<std::pair<const Node*, RoundedValue>>> readers;
  for (const Node* const node : quantizers) {
    RoundedValue read = rounded_value(*node);
    const Value* const scale = node->input(1);
    const auto known = scale == nullptr ? std::nullopt : constants.value(*scale);
    rounded[node] = {{}, {known ? *known : Tensor(), 0}};
    readers[read.value].emplace_back(node, std::move(read));
  }
  for (const auto& [name, datum] : runs.inputs()) {
    const auto found = readers.find(side.model->graph().find(name));
    if (found == readers.end()) continue;
    for (const auto& [node, read] : found->second) rounded[node].front() = rounded_operand(read.in_order(datum));
  }
  // The first run is exact; in the others, constants and values that are not fed are moved.
  for (int run = 0; run <= thresholds::kNoiseDraws; ++run) {
    const auto observer = [&](const Value& value, const Datum& datum) {
      const auto found = readers.find(&value);
      if (found == readers.end()) return;
      for (const auto& [node, read] : found->second) {
        DeciderOperand& operand = rounded[node].front();
        const Datum seen = read.in_order(datum);
        if (run == 0) operand = rounded_operand(seen);
        if (!operand.value || !structural_difference(Datum(operand.value), seen).empty()) continue;
        const double apart = distance(Datum(operand.value), seen).max_abs;
        operand.tolerance = std::max(operand.tolerance, kFloorFactor * apart);
      }
    };
    runs.run_fed(side, observer, run == 0 ? std::nullopt : std::optional(run - 1));
  }
  return rounded;
}

/// Whether two tensors of integers are nowhere farther apart than rounding to a narrow type takes them: two steps, one for the element and
/// one for a zero point that moved, or more if the steps are finer than the type.
bool are_neighbours(const Datum& a, const Datum& b, DataType grain) {
  if (!a.tensor || !b.tensor || !structural_difference(a, b).empty()) return false;
  const double most = std::max(2.0, std::ldexp(unit_roundoff(grain), traits(type_of(a)).bits));
  const std::vector<double> x = reals_of(a.tensor), y = reals_of(b.tensor);
  return std::ranges::equal(x, y, [&](double left, double right) { return std::fabs(left - right) <= most; });
}

/// Results of quantizers that read the operands of both models alike, each with the value of its model.
class HeldResults {
 public:
  /// Runs both models; a's nodes are fed operands as b holds them.
  HeldResults(const LayerTask& task, const FedRuns& runs, const Layers& layers, const std::vector<const Node*>& quantizers)
      : layers_(&layers) {
    const auto keep = [&](const Value& value, const Datum& datum) {
      const bool is_wanted = std::ranges::find(quantizers, value.producer()) != quantizers.end();
      if (is_wanted) values_.insert_or_assign(&value, copy_of(datum));
    };
    runs.run_fed(*task.a, keep, std::nullopt, FedRuns::Operands::as_held);
    const auto keep_paired = [&](const Value& value, const Datum& datum) {
      const Layer* const layer = layers.of_b(value);
      if (layer != nullptr && values_.contains(layer->a)) values_.insert_or_assign(&value, copy_of(datum));
    };
    runs.run_fed(*task.b, keep_paired, std::nullopt);
  }

  /// Whether b computes all results of a quantizer of a that are read. Scale and zero point belong to them: a wrong factor in front of a
  /// quantizer that scales its operand itself shows in the scale alone.
  [[nodiscard]] bool are_equal(const Node& quantizer) const {
    return std::ranges::all_of(quantizer.outputs(), [&](const Value* output) {
      if (output == nullptr || (output->uses().empty() && !output->is_output())) return true;
      const Layer* const layer = layers_->of_a(*output);
      if (layer == nullptr) return false;
      const auto in_a = values_.find(output), in_b = values_.find(layer->b);
      if (in_a == values_.end() || in_b == values_.end() || !layer->compared || layer->other_structure || layer->flat) return false;
      const Datum ordered = layer->channels_last ? channels_second(in_b->second) : in_b->second;
      return bit_equal(in_a->second, like(ordered, in_a->second));
    });
  }

 private:
  const Layers* layers_;
  std::unordered_map<const Value*, Datum> values_;
};

void acquit_step(Layer& layer, int64_t elements) {
  layer.flips += elements;
  layer.acquit();
}

/// Whether a node decides by its operands: it rounds to steps, compares, or chooses.
bool decides(const Node& node) {
  const bool is_between_reals = has_trait(node, Trait::casts) && find_traits(Attributes(node).integer("to", 0)) != nullptr &&
                                find_traits(Attributes(node).integer("to", 0))->is_float;
  return node.domain().empty() && has_trait(node, Trait::jumps) && !has_trait(node, Trait::random) && !is_between_reals;
}

/// Acquits decisions that a's node makes, too, by its operands in the 16 bits in which b holds them: nothing but that rounding differs.
void explain_by_held_operands(const LayerTask& task, const FedRuns& runs, Layers& layers) {
  if (task.grain == DataType::undefined) return;
  const auto may_be_step = [](const Layer& layer) {
    return layer.differs() && layer.candidate && !layer.other_structure && decides(*layer.a->producer());
  };
  std::vector<const Node*> quantizers;
  for (const Layer& layer : layers.all()) {
    if (may_be_step(layer)) quantizers.push_back(layer.a->producer());
  }
  if (quantizers.empty()) return;
  const HeldResults results(task, runs, layers, quantizers);
  for (Layer& layer : layers.all()) {
    if (!may_be_step(layer) || !results.are_equal(*layer.a->producer())) continue;
    const Datum made = runs.kept().candidate(layer), right = runs.kept().reference_for(layer, made);
    const bool is_step = !has_trait(*layer.a->producer(), Trait::quantizes) || are_neighbours(right, like(made, right), task.grain);
    if (is_step) acquit_step(layer, std::max<int64_t>(1, layer.metrics.mismatches));
  }
}

/// Whether the quantizer of a layer reads a value that is fed.
bool reads_fed(const Layers& layers, const Layer& layer) {
  const Node& node = *quantizer_of(layer);
  if (node.input(0) == nullptr) return false;
  const Layer* const operand = node.output(0) == layer.a ? layers.of_a(*node.input(0)) : layers.of_b(*node.input(0));
  return operand != nullptr && operand->reference && !operand->apart;
}

}  // namespace

void explain_steps(const LayerTask& task, const FedRuns& runs, Layers& layers) {
  explain_by_held_operands(task, runs, layers);
  const LayerValues& kept = runs.kept();
  const auto may_be_step = [&](const Layer& layer) {
    if (!layer.differs() || !layer.candidate || layer.other_structure || is_measured(layer.type)) return false;
    // Floors of 16 bits are as wide as a factor of 1.002. Where an operand is fed, its rounding is known, which has been tried.
    return quantizer_of(layer) != nullptr && (task.grain == DataType::undefined || !reads_fed(layers, layer));
  };
  for (const Side* const side : {task.a, task.b}) {
    std::vector<const Node*> quantizers;
    for (const Layer& layer : layers.all()) {
      const bool here = may_be_step(layer) && &quantizer_of(layer)->graph() == &side->model->graph();
      if (here && quantizer_of(layer)->input(0) != nullptr) quantizers.push_back(quantizer_of(layer));
    }
    if (quantizers.empty()) continue;
    const Rounded rounded = capture_rounded(runs, *side, quantizers);
    for (Layer& layer : layers.all()) {
      const Node* const node = may_be_step(layer) ? quantizer_of(layer) : nullptr;
      if (node == nullptr) continue;
      const auto found = rounded.find(node);
      if (found == rounded.end()) continue;
      std::vector<DeciderOperand> operands = found->second;
      operands.front().share_below = share_below(layer, operands.back().value);
      const Datum made = kept.candidate(layer), held = kept.reference_for(layer, made);
      const Datum own = side == task.a ? kept.reference(layer) : made;
      const Datum other = side == task.b ? held : layer.channels_last ? channels_second(made) : made;
      const TieVerdict verdict = explain_ties(*node, operands, own.tensor, like(other, own).tensor);
      if (!verdict.explained) continue;
      acquit_step(layer, verdict.ties);
    }
  }
}

}  // namespace relayout
