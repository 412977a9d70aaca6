// Acquits quantized integers one step off if upstream rounding within the node may move the operand across the boundary, also of
// QLinearSoftmax, and counts them as flips.
#include "verify/nodes/quantizer_steps.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/domains.h"
#include "ops/constants.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/data_structure.h"
#include "verify/distance.h"
#include "verify/draw_count.h"
#include "verify/measured_types.h"
#include "verify/nodes/datum_pair.h"
#include "verify/nodes/fed_runs.h"
#include "verify/nodes/layer_task.h"
#include "verify/nodes/layers.h"
#include "verify/nodes/rounded_value.h"
#include "verify/session.h"
#include "verify/ties.h"
#include "verify/yardstick.h"

namespace relayout {
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
  Yardstick yardstick;
  yardstick.add(datum);
  return {copy_of(datum).tensor, dtype_minimum(datum.tensor.type()) * yardstick.range()};
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
  // The first run is exact; in the others, constants and values that are not fed are moved.
  for (int run = 0; run <= rules::kNoiseDraws; ++run) {
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

}  // namespace

void explain_steps(const LayerTask& task, const FedRuns& runs, Layers& layers) {
  const LayerValues& kept = runs.kept();
  const auto may_be_step = [](const Layer& layer) {
    return layer.differs() && layer.candidate && !layer.other_structure && !is_measured(layer.type) && quantizer_of(layer) != nullptr;
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
      const auto found = node == nullptr ? rounded.end() : rounded.find(node);
      if (found == rounded.end()) continue;
      std::vector<DeciderOperand> operands = found->second;
      operands.front().share_below = share_below(layer, operands.back().value);
      const Datum made = kept.candidate(layer), held = kept.reference_for(layer, made);
      const Datum own = side == task.a ? kept.reference(layer) : made;
      const Datum other = side == task.b ? held : layer.channels_last ? channels_second(made) : made;
      const TieVerdict verdict = explain_ties({node, 0}, operands, own.tensor, like(other, own).tensor);
      if (!verdict.explained) continue;
      layer.flips += verdict.ties;
      layer.metrics.outcome = Outcome::same;
      layer.metrics.reason.clear();
      layer.candidate.reset();
    }
  }
}

}  // namespace relayout
