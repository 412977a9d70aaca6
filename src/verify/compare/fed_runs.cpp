// Runs a model with A's values fed to every node, for the floor and the error of each node alone.
#include "verify/compare/fed_runs.h"

#include "base/numbers.h"
#include "model/float_elements.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/datum_pair.h"
#include "verify/compare/fed_values.h"
#include "verify/compare/layers.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/noise.h"
#include "verify/run/reference_output.h"
#include "verify/run/session.h"
#include "verify/thresholds.h"

namespace relayout {
namespace {

/// The largest error of `datum` over the range; nothing if the structures differ.
std::optional<double> error_of(const Layer& layer, const Datum& reference, const Datum& datum) {
  if (!structural_difference(reference, datum).empty()) return std::nullopt;
  const Distance error = distance(reference, datum);
  return error.apart > 0 ? std::numeric_limits<double>::infinity() : error.max_abs / layer.yardstick.range();
}

/// A wrong factor can stay within the floor in every single element, but not in all elements together. The test needs rounding smaller than
/// the elements. Downstream of sums with a mask of −65504 it is as large, and the same throughout a row; so it is below the normal numbers.
void decide_gain(Layer& layer, DataType type) {
  if (is_ill_conditioned(type, layer.floor) || layer.yardstick.largest() < smallest_normal(type)) return;
  const double bound = std::max(kFloorFactor * layer.gain.floor, thresholds::kGainInRoundings * unit_roundoff(type));
  if (layer.differs() || !(std::fabs(layer.gain.measured) > bound)) return;
  layer.metrics.outcome = Outcome::different;
  layer.metrics.reason = "on the whole larger or smaller by a factor of " +
                         exact_number(std::round(1e4 * (1 + layer.gain.measured)) / 1e4) + ", where " + scientific(bound) +
                         " may be rounding";
}

/// Whether a value marks the place of the largest number by numbers of its own. Rounding has no part in it, unless two are nearly equal.
bool marks_choice(const Value& value) {
  const Node& node = *value.producer();
  return has_trait(node, Trait::searches) && has_trait(node, Trait::same_dims);
}

/// Copies, as values are overwritten in place, and some are views of the inputs.
Inputs fed_inputs(const LayerTask& task, const FedValues& values) {
  Inputs copies = task.inputs();
  for (auto& [name, datum] : copies) {
    datum = copy_of(datum);
    values.feed_input(name, datum);
  }
  return copies;
}

/// Runs a side, except for the nodes that `leave_out` selects. `observer` gets each result and may replace it.
void execute(const LayerTask& task, const FedValues& values, const Side& side, const FedRuns::Observer& observer, FedRuns::Edit edit = {},
             Mode mode = Mode::as_written, const std::function<bool(const Node&)>& leave_out = {}) {
  if (task.progress) task.progress();
  ExecuteOptions options = execute_options(*task.options, mode);
  options.edit_constant = std::move(edit);
  options.leave_out = leave_out;
  options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (node.output(k) == nullptr) continue;
      observer(*node.output(k), outputs[k]);
      if (task.watch) task.watch(*node.output(k), outputs[k]);
    }
  };
  const auto session = task.open(side, std::move(options));
  const Inputs copies = fed_inputs(task, values);
  for (const auto& [name, datum] : copies) {
    const Value* const input = side.model->graph().find(name);
    if (task.watch && input != nullptr) task.watch(*input, datum);
  }
  // A node that refuses its operands ends the run; results up to there have been observed.
  (void)session->run(copies);
}

}  // namespace

FedRuns::FedRuns(const LayerTask& task, Layers& layers, const Excerpt* excerpt)
    : task_(&task), layers_(&layers), excerpt_(excerpt), values_(task) {}

void FedRuns::execute_parts(const Side& side, const Observer& observer, Edit edit, Mode mode) {
  if (excerpt_ == nullptr) return execute(*task_, values_, side, observer, std::move(edit), mode);
  const auto is_left_out = [&](const Node& node) { return !excerpt_->is_part(node); };
  const auto fill_or_observe = [&](const Value& value, const Datum& datum) {
    is_left_out(*value.producer()) ? fill(side, value, datum) : observer(value, datum);
  };
  execute(*task_, values_, side, fill_or_observe, std::move(edit), mode, is_left_out);
}

void FedRuns::feed(const Layer& layer, const Datum& datum, const Datum& reference, bool of_b) const {
  if (!layer.sampled) return values_.feed(layer, datum, reference);
  values_.feed(layer, datum, kept_.sampled_or(reference, layer, of_b));
}

void FedRuns::fill(const Side& side, const Value& value, const Datum& datum) {
  const bool is_a = &side == task_->a;
  const Layer* const layer = is_a ? layers_->captured(value) : layers_->fed(value);
  if (layer == nullptr || !excerpt_->is_used(*layer)) return;
  const Datum reference = is_a ? kept_.reference(*layer) : like(kept_.reference_for(*layer, datum), datum);
  if (!structural_difference(reference, datum).empty()) {
    misfed_ = true;
    return;
  }
  feed(*layer, datum, reference, !is_a);
  if (is_a) values_.hold(*layer, datum);
}

void FedRuns::reset() {
  for (Layer& layer : layers_->all()) {
    layer.apart = layer.before_jump || layer.is_judged_by_readers();
    layer.floor = layer.reference ? least_floor(task_->type_of_floor(layer.type), layer.yardstick) : Floor{};
    if (layer.is_judged_by_readers()) continue;
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
  const auto is_kept = [](const Layer& layer) { return layer.sampled.has_value(); };
  if (task_->feeding == Feeding::shaken && std::ranges::none_of(layers_->all(), is_kept)) {
    // Each value is moved beside the sample's: what is moved upstream would add up to numbers that 16 bits do not hold.
    const auto keep = [&](const Value& value, const Datum& datum) {
      Layer* const layer = layers_->of_a(value);
      if (layer != nullptr && !(is_left_out && is_left_out(*value.producer()))) kept_.keep_sampled(*layer, datum);
    };
    execute(*task_, values_, *task_->a, keep, {}, Mode::as_written, is_left_out);
  }
  const auto observer = [&](const Value& value, const Datum& datum) {
    values_.note_type(task_->type_of_floor(type_of(datum)));
    Layer* const layer = layers_->of_a(value);
    if (layer == nullptr || (is_left_out && is_left_out(*value.producer()))) return;
    const bool is_used = excerpt_ == nullptr || excerpt_->is_used(*layer);
    if (!is_used && task_->feeding == Feeding::exact) return;
    if (is_used) kept_.keep_reference(*layer, datum);
    layer->type = type_of(datum);
    layer->yardstick.add(datum);
    if (!layer->apart) feed(*layer, datum, datum, false);
  };
  execute(*task_, values_, *task_->a, observer, {}, Mode::as_written, is_left_out);
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
          const Datum reference = kept_.reference(*layer);
          if (!structural_difference(reference, datum).empty()) return;
          const bool is_certain = is_free(task_->feeding) && marks_choice(value);
          if (!is_certain) widen(layer->floor, relative(distance(reference, datum), layer->yardstick));
          if (is_narrow(task_->type_of_floor(type_of(datum)))) {
            layer->gain.floor = std::max(layer->gain.floor, std::fabs(agreement(reference, datum).gain));
          }
          if (layer->apart) return values_.move(value, datum, draw);
          feed(*layer, datum, reference, false);
          values_.hold(*layer, datum);
        },
        noise.draw(task_->options->seed, draw, task_->grain), Mode::as_written);
  }
}

void FedRuns::decide(Layer& layer) const {
  const DataType type = task_->type_of_floor(layer.type);
  judge_numbers(layer.metrics, type, layer.floor);
  if (is_narrow(type)) decide_gain(layer, type);
}

bool FedRuns::is_flat(const Layer& layer, const Datum& datum) const {
  if (layer.channels_last) return false;
  const Datum as_stored = kept_.reference(layer);
  if (!as_stored.tensor || !datum.tensor || as_stored.tensor.dims() == datum.tensor.dims()) return false;
  const auto [reference, candidate] = comparable(in_dims_of(as_stored, datum), datum);
  if (!structural_difference(reference, candidate).empty()) return false;
  Layer trial = layer;
  trial.metrics = measure_errors(reference, candidate, layer.yardstick);
  decide(trial);
  return !trial.differs();
}

void FedRuns::compare(Layer& layer, const Datum& datum) {
  layer.flat = is_flat(layer, datum);
  const auto [reference, candidate] = comparable(kept_.reference_for(layer, datum), datum);
  const std::string structural = structural_difference(reference, candidate);
  layer.compared = true;
  layer.other_structure = !structural.empty();
  if (layer.other_structure) {
    layer.metrics.outcome = Outcome::different;
    layer.metrics.reason = structural;
    return;
  }
  if (bit_equal(reference, candidate)) return feed(layer, datum, reference, true);
  layer.metrics = measure_errors(reference, candidate, layer.yardstick);
  if (is_narrow(task_->type_of_floor(layer.type))) {
    const Agreement together = agreement(reference, candidate);
    layer.gain.measured = together.count < thresholds::kFewestElementsForGain ? 0 : together.gain;
  }
  decide(layer);
  if (layer.differs()) kept_.keep_candidate(layer, datum);
  feed(layer, datum, reference, true);
}

void FedRuns::feed_candidate(Mode mode) {
  const auto observer = [&](const Value& value, const Datum& datum) {
    if (Layer* const layer = layers_->fed(value)) compare(*layer, datum);
  };
  execute_parts(*task_->b, observer, {}, mode);
}

void FedRuns::widen_by_candidate(int draw) {
  execute(*task_, values_, *task_->b, [&](const Value& value, const Datum& datum) {
    Layer* const layer = layers_->fed(value);
    if (layer == nullptr) return values_.move(value, datum, draw);
    const Datum reference = like(kept_.reference_for(*layer, datum), datum);
    if (!structural_difference(reference, datum).empty()) return;
    if (layer->candidate) {
      const Datum candidate = kept_.candidate(*layer);
      widen(layer->floor, relative(distance(candidate, datum), layer->yardstick));
      if (is_narrow(type_of(datum))) layer->gain.floor = std::max(layer->gain.floor, std::fabs(agreement(candidate, datum).gain));
    }
    feed(*layer, datum, reference, true);
  });
}

Inputs FedRuns::inputs() const {
  return fed_inputs(*task_, values_);
}

void FedRuns::run_fed(const Side& side, const Observer& observer, std::optional<int> draw, Operands operands) const {
  const bool is_a = &side == task_->a;
  const auto observe_and_feed = [&](const Value& value, const Datum& datum) {
    observer(value, datum);
    const Layer* const layer = is_a ? layers_->of_a(value) : layers_->of_b(value);
    if (layer == nullptr || !layer->reference || layer->apart) {
      if (draw) values_.move(value, datum, *draw);
      return;
    }
    const Datum reference = is_a ? kept_.reference(*layer) : like(kept_.reference_for(*layer, datum), datum);
    if (!structural_difference(reference, datum).empty()) return;
    feed(*layer, datum, reference, !is_a);
    if (is_a && operands == Operands::as_held) values_.hold(*layer, datum);
  };
  if (!draw) return execute(*task_, values_, side, observe_and_feed, operands == Operands::as_held ? values_.holding_constants() : Edit());
  const WeightNoise noise(side.model->graph());
  execute(*task_, values_, side, observe_and_feed, noise.draw(task_->options->seed, *draw, task_->grain));
}

std::unordered_map<const Value*, DataType> FedRuns::visit(const Side& side, const Visitor& visitor, Edit edit) {
  const bool is_a = &side == task_->a;
  std::unordered_map<const Value*, DataType> types;
  const auto observer = [&](const Value& value, const Datum& datum) {
    types[&value] = type_of(datum);
    const Layer* const layer = is_a ? layers_->captured(value) : layers_->fed(value);
    if (layer == nullptr || layer->apart || !is_measured(layer->type)) return;
    const Datum reference = is_a ? kept_.reference(*layer) : kept_.reference_for(*layer, datum);
    const auto [x, y] = comparable(reference, datum);
    if (structural_difference(x, y).empty()) visitor(*layer, reference, datum);
  };
  execute(*task_, values_, side, observer, std::move(edit));
  return types;
}

void FedRuns::run_unfed(bool by_depth) {
  execute(*task_, values_, *task_->b, [&](const Value& value, const Datum& datum) {
    Layer* const layer = layers_->fed(value);
    if (layer == nullptr) return;
    const auto [reference, candidate] = comparable(kept_.reference_for(*layer, datum), datum);
    layer->depth.error = error_of(*layer, reference, candidate);
    layer->correlation = layer->depth.error ? agreement(reference, candidate).correlation : 0;
  });
  if (!by_depth) return;
  const WeightNoise noise(task_->a->model->graph());
  execute(
      *task_, values_, *task_->a,
      [&](const Value& value, const Datum& datum) {
        Layer* const layer = layers_->captured(value);
        if (layer == nullptr) return;
        layer->depth.floor = std::max(error_of(*layer, kept_.reference(*layer), datum).value_or(0), layer->floor.max);
      },
      noise.draw(task_->options->seed, 0, task_->grain));
}

}  // namespace relayout
