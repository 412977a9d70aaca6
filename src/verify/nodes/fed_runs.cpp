// Runs two models with a's values in front of every node, measures what each node of b makes of them, and how far rounding alone may move
// it.
#include "verify/nodes/fed_runs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "model/domains.h"
#include "ops/constants.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/computing_types.h"
#include "verify/data_structure.h"
#include "verify/distance.h"
#include "verify/error_bounds.h"
#include "verify/feeding.h"
#include "verify/measured_types.h"
#include "verify/metrics.h"
#include "verify/nodes/datum_pair.h"
#include "verify/nodes/excerpt.h"
#include "verify/nodes/fed_values.h"
#include "verify/nodes/layer_task.h"
#include "verify/nodes/layers.h"
#include "verify/nodes/rounded_value.h"
#include "verify/noise.h"
#include "verify/rules.h"
#include "verify/session.h"
#include "verify/ties.h"
#include "verify/yardstick.h"

namespace relayout {
namespace {

/// Error/range of `datum`; nothing when the structures differ.
std::optional<double> error_of(const Layer& layer, const Datum& reference, const Datum& datum) {
  if (!structural_difference(reference, datum).empty()) return std::nullopt;
  const Distance error = distance(reference, datum);
  return error.apart > 0 ? std::numeric_limits<double>::infinity() : error.max_abs / layer.yardstick.range();
}

/// Element by element the error of a factor may lie within the floor; all elements together tell it, where rounding is not as large as
/// they are: behind sums with a mask of −65504 it is, and the same for all of a row.
void decide_gain(Layer& layer, DataType type) {
  if (is_ill_conditioned(type, layer.floor)) return;
  const double bound = std::max(kFloorFactor * layer.gain.floor, rules::kGainRoundings * unit_roundoff(type));
  if (layer.differs() || !(std::fabs(layer.gain.measured) > bound)) return;
  layer.metrics.outcome = Outcome::different;
  layer.metrics.reason = "on the whole larger or smaller by a factor of " +
                         exact_number(std::round(1e4 * (1 + layer.gain.measured)) / 1e4) + ", where " + scientific(bound) +
                         " may be rounding";
}

/// The quantizer that makes a layer's integers, in the model that has one there; nullptr where neither does.
const Node* quantizer_of(const Layer& layer) {
  for (const Value* const value : {layer.a, layer.b}) {
    if (value->producer()->is("QuantizeLinear")) return value->producer();
  }
  return nullptr;
}

/// QLinearSoftmax multiplies probabilities by the whole number of steps in 1, by 254 where the scale is 1/254.9999, and not by what the
/// scale divides by, as the kernel of ONNX Runtime computes it: the share of each by which its results lie below.
double share_below(const Layer& layer, const Tensor& scale) {
  const auto makes = [](const Value& value) {
    return value.producer()->op_type() == "QLinearSoftmax" && value.producer()->domain() == kMicrosoftDomain;
  };
  if ((!makes(*layer.a) && !makes(*layer.b)) || !scale || scale.type() != DataType::float32 || scale.element_count() != 1) return 0;
  const float step = *scale.data<float>();
  return std::max(0.0, 1 - static_cast<double>(std::floor(1 / step)) * static_cast<double>(step));
}

/// A copy of a tensor; rounding moves it by the least bound of its type at least.
DeciderOperand rounded_operand(const Datum& datum) {
  if (datum.kind != Datum::Kind::tensor || !datum.tensor) return {};
  Yardstick yardstick;
  yardstick.add(datum);
  return {copy_of(datum).tensor, dtype_minimum(datum.tensor.type()) * yardstick.range()};
}

}  // namespace

FedRuns::FedRuns(const LayerTask& task, Layers& layers, const Excerpt* excerpt)
    : task_(&task), layers_(&layers), excerpt_(excerpt), values_(task) {}

DataType FedRuns::type_of_floor(DataType type) const {
  return is_measured(type) && unit_roundoff(task_->grain) > unit_roundoff(type) ? task_->grain : type;
}

void FedRuns::execute(const Side& side, const Observer& observer, Edit edit, Mode mode,
                      const std::function<bool(const Node&)>& leave_out) const {
  if (task_->progress) task_->progress();
  ExecuteOptions options;
  options.mode = mode;
  options.threads = task_->options->threads;
  options.seed = task_->options->seed;
  options.edit_constant = std::move(edit);
  options.leave_out = leave_out;
  options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (node.output(k) == nullptr) continue;
      observer(*node.output(k), outputs[k]);
      if (task_->watch) task_->watch(*node.output(k), outputs[k]);
    }
  };
  const auto session = task_->open(side, std::move(options));
  // Values are written over in place, and some are views of the inputs.
  Inputs copies = task_->inputs();
  for (auto& [name, datum] : copies) {
    datum = copy_of(datum);
    values_.feed_input(name, datum);
    const Value* const input = side.model->graph().find(name);
    if (task_->watch && input != nullptr) task_->watch(*input, datum);
  }
  // What a node refuses ends the run: what came before has been seen.
  (void)session->run(copies);
}

void FedRuns::execute_parts(const Side& side, const Observer& observer, Edit edit, Mode mode) {
  if (excerpt_ == nullptr) return execute(side, observer, std::move(edit), mode);
  const auto is_left_out = [&](const Node& node) { return !excerpt_->is_part(node); };
  const auto fill_or_observe = [&](const Value& value, const Datum& datum) {
    is_left_out(*value.producer()) ? fill(side, value, datum) : observer(value, datum);
  };
  execute(side, fill_or_observe, std::move(edit), mode, is_left_out);
}

void FedRuns::fill(const Side& side, const Value& value, const Datum& datum) {
  const bool is_a = &side == task_->a;
  const Layer* const layer = is_a ? layers_->captured(value) : layers_->fed(value);
  if (layer == nullptr || !excerpt_->is_used(*layer)) return;
  const Datum reference = is_a ? spill_.read(*layer->reference) : like(reference_of(*layer, datum), datum);
  if (!structural_difference(reference, datum).empty()) {
    misfed_ = true;
    return;
  }
  values_.feed(*layer, datum, reference);
  if (is_a) values_.hold(*layer, datum);
}

void FedRuns::reset() {
  for (Layer& layer : layers_->all()) {
    layer.apart = layer.before_jump || layer.told_by_readers();
    layer.floor = layer.reference ? least_floor(type_of_floor(layer.type), layer.yardstick) : Floor{};
    if (layer.told_by_readers()) continue;
    layer.candidate.reset();
    layer.metrics = {};
    layer.depth = {};
    layer.flips = 0;
    layer.compared = false;
    layer.gain = {};
  }
}

void FedRuns::capture() {
  for (Layer& layer : layers_->all()) layer.yardstick = {};
  std::function<bool(const Node&)> is_left_out;
  if (excerpt_ != nullptr) is_left_out = [&](const Node& node) { return !excerpt_->leads_to_used(node); };
  const auto observer = [&](const Value& value, const Datum& datum) {
    values_.note_type(type_of_floor(type_of(datum)));
    Layer* const layer = layers_->of_a(value);
    if (layer == nullptr || (is_left_out && is_left_out(*value.producer()))) return;
    const bool is_used = excerpt_ == nullptr || excerpt_->is_used(*layer);
    if (!is_used && task_->feeding == Feeding::exact) return;
    if (is_used) layer->reference = spill_.write(datum);
    layer->type = type_of(datum);
    layer->yardstick.add(datum);
    if (!layer->apart) values_.feed(*layer, datum, datum);
  };
  execute(*task_->a, observer, {}, Mode::as_written, is_left_out);
  reset();
}

void FedRuns::measure_floors(int first_draw, int count) {
  const WeightNoise noise(task_->a->model->graph());
  for (int draw = first_draw; draw < first_draw + count; ++draw) {
    execute_parts(
        *task_->a,
        [&](const Value& value, const Datum& datum) {
          Layer* const layer = layers_->captured(value);
          if (layer == nullptr) return values_.move(value, datum, draw);
          const Datum reference = spill_.read(*layer->reference);
          if (!structural_difference(reference, datum).empty()) return;
          widen(layer->floor, relative(distance(reference, datum), layer->yardstick));
          if (is_narrow(type_of_floor(type_of(datum)))) {
            layer->gain.floor = std::max(layer->gain.floor, std::fabs(agreement(reference, datum).gain));
          }
          if (layer->apart) return values_.move(value, datum, draw);
          values_.feed(*layer, datum, reference);
          values_.hold(*layer, datum);
        },
        noise.draw(task_->options->seed, draw, task_->grain));
  }
}

void FedRuns::decide(Layer& layer) const {
  const DataType type = type_of_floor(layer.type);
  relayout::decide(layer.metrics, type, layer.floor);
  if (is_narrow(type)) decide_gain(layer, type);
}

Datum FedRuns::reference_of(const Layer& layer, const Datum& made) const {
  const Datum reference = spill_.read(*layer.reference);
  if (layer.channels_last) return channels_last(reference);
  return layer.flat ? in_dims_of(reference, made) : reference;
}

bool FedRuns::is_flat(const Layer& layer, const Datum& datum) const {
  if (layer.channels_last) return false;
  const Datum as_stored = spill_.read(*layer.reference);
  if (!as_stored.tensor || !datum.tensor || as_stored.tensor.dims() == datum.tensor.dims()) return false;
  const auto [reference, candidate] = comparable(in_dims_of(as_stored, datum), datum);
  if (!structural_difference(reference, candidate).empty()) return false;
  Layer trial = layer;
  trial.metrics = measure(reference, candidate, layer.yardstick);
  decide(trial);
  return !trial.differs();
}

void FedRuns::compare(Layer& layer, const Datum& datum) {
  layer.flat = is_flat(layer, datum);
  const auto [reference, candidate] = comparable(reference_of(layer, datum), datum);
  const std::string structural = structural_difference(reference, candidate);
  layer.compared = true;
  layer.other_structure = !structural.empty();
  if (layer.other_structure) {
    layer.metrics.outcome = Outcome::different;
    layer.metrics.reason = structural;
    return;
  }
  if (bit_equal(reference, candidate)) return values_.feed(layer, datum, reference);
  layer.metrics = measure(reference, candidate, layer.yardstick);
  if (is_narrow(type_of_floor(layer.type))) {
    const Agreement together = agreement(reference, candidate);
    layer.gain.measured = together.count < rules::kElementsForGain ? 0 : together.gain;
  }
  decide(layer);
  if (layer.differs()) layer.candidate = spill_.write(datum);
  values_.feed(layer, datum, reference);
}

void FedRuns::feed_candidate(Mode mode) {
  const auto observer = [&](const Value& value, const Datum& datum) {
    if (Layer* const layer = layers_->fed(value)) compare(*layer, datum);
  };
  execute_parts(*task_->b, observer, {}, mode);
}

void FedRuns::widen_by_candidate(int draw) {
  execute(*task_->b, [&](const Value& value, const Datum& datum) {
    Layer* const layer = layers_->fed(value);
    if (layer == nullptr) return values_.move(value, datum, draw);
    const Datum reference = like(reference_of(*layer, datum), datum);
    if (!structural_difference(reference, datum).empty()) return;
    if (layer->candidate) {
      const Datum candidate = spill_.read(*layer->candidate);
      widen(layer->floor, relative(distance(candidate, datum), layer->yardstick));
      if (is_narrow(type_of(datum))) layer->gain.floor = std::max(layer->gain.floor, std::fabs(agreement(candidate, datum).gain));
    }
    values_.feed(*layer, datum, reference);
  });
}

Rounded FedRuns::capture_rounded(const Side& side, const std::vector<const Node*>& quantizers) const {
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
  const bool is_a = &side == task_->a;
  const WeightNoise noise(side.model->graph());
  // The first run as it is, the others with what is not fed moved.
  for (int run = 0; run <= rules::kNoiseDraws; ++run) {
    const auto observer = [&](const Value& value, const Datum& datum) {
      if (const auto found = readers.find(&value); found != readers.end()) {
        for (const auto& [node, read] : found->second) {
          DeciderOperand& operand = rounded[node].front();
          const Datum seen = read.in_order(datum);
          if (run == 0) operand = rounded_operand(seen);
          if (!operand.value || !structural_difference(Datum(operand.value), seen).empty()) continue;
          const double apart = distance(Datum(operand.value), seen).max_abs;
          operand.tolerance = std::max(operand.tolerance, kFloorFactor * apart);
        }
      }
      const Layer* const layer = is_a ? layers_->of_a(value) : layers_->of_b(value);
      if (layer == nullptr || !layer->reference || layer->apart) {
        if (run > 0) values_.move(value, datum, run - 1);
        return;
      }
      const Datum reference = is_a ? spill_.read(*layer->reference) : like(reference_of(*layer, datum), datum);
      if (structural_difference(reference, datum).empty()) values_.feed(*layer, datum, reference);
    };
    execute(side, observer, run == 0 ? Edit() : noise.draw(task_->options->seed, run - 1, task_->grain));
  }
  return rounded;
}

bool FedRuns::differs_in(const Layer& layer, bool (*relation)(const Datum&, const Datum&)) const {
  const Datum candidate = spill_.read(*layer.candidate), reference = reference_of(layer, candidate);
  const bool narrower = unit_roundoff(type_of(reference)) > unit_roundoff(type_of(candidate));
  return narrower ? relation(like(reference, candidate), candidate) : relation(reference, like(candidate, reference));
}

void FedRuns::explain_steps() {
  const auto may_be_step = [](const Layer& layer) {
    return layer.differs() && layer.candidate && !layer.other_structure && !is_measured(layer.type) && quantizer_of(layer) != nullptr;
  };
  for (const Side* const side : {task_->a, task_->b}) {
    std::vector<const Node*> quantizers;
    for (const Layer& layer : layers_->all()) {
      const bool here = may_be_step(layer) && &quantizer_of(layer)->graph() == &side->model->graph();
      if (here && quantizer_of(layer)->input(0) != nullptr) quantizers.push_back(quantizer_of(layer));
    }
    if (quantizers.empty()) continue;
    const Rounded rounded = capture_rounded(*side, quantizers);
    for (Layer& layer : layers_->all()) {
      const Node* const node = may_be_step(layer) ? quantizer_of(layer) : nullptr;
      const auto found = node == nullptr ? rounded.end() : rounded.find(node);
      if (found == rounded.end()) continue;
      std::vector<DeciderOperand> operands = found->second;
      operands.front().share_below = share_below(layer, operands.back().value);
      const Datum made = spill_.read(*layer.candidate), held = reference_of(layer, made);
      const Datum own = side == task_->a ? spill_.read(*layer.reference) : made;
      const Datum other = side == task_->b ? held : layer.channels_last ? channels_second(made) : made;
      const TieVerdict verdict = explain_ties({node, 0}, operands, own.tensor, like(other, own).tensor);
      if (!verdict.explained) continue;
      layer.flips += verdict.ties;
      layer.metrics.outcome = Outcome::same;
      layer.metrics.reason.clear();
      layer.candidate.reset();
    }
  }
}

std::unordered_map<const Value*, DataType> FedRuns::visit(const Side& side, const Visitor& visitor, Edit edit) {
  const bool is_a = &side == task_->a;
  std::unordered_map<const Value*, DataType> types;
  const auto observer = [&](const Value& value, const Datum& datum) {
    types[&value] = type_of(datum);
    const Layer* const layer = is_a ? layers_->captured(value) : layers_->fed(value);
    if (layer == nullptr || layer->apart || !is_measured(layer->type)) return;
    const Datum reference = is_a ? spill_.read(*layer->reference) : reference_of(*layer, datum);
    const auto [x, y] = comparable(reference, datum);
    if (structural_difference(x, y).empty()) visitor(*layer, reference, datum);
  };
  execute(side, observer, std::move(edit));
  return types;
}

void FedRuns::run_unfed(bool by_depth) {
  execute(*task_->b, [&](const Value& value, const Datum& datum) {
    Layer* const layer = layers_->fed(value);
    if (layer == nullptr) return;
    const auto [reference, candidate] = comparable(reference_of(*layer, datum), datum);
    layer->depth.error = error_of(*layer, reference, candidate);
    layer->correlation = layer->depth.error ? agreement(reference, candidate).correlation : 0;
  });
  if (!by_depth) return;
  const WeightNoise noise(task_->a->model->graph());
  execute(
      *task_->a,
      [&](const Value& value, const Datum& datum) {
        Layer* const layer = layers_->captured(value);
        if (layer == nullptr) return;
        layer->depth.floor = std::max(error_of(*layer, spill_.read(*layer->reference), datum).value_or(0), layer->floor.max);
      },
      noise.draw(task_->options->seed, 0, task_->grain));
}

}  // namespace relayout
