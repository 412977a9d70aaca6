// Compares two models node by node: each node of b is fed the values that a has in its place, so that one wrong node shows as one wrong
// node, and is held against a floor of its own.
#include "verify/nodes/layers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare.h"
#include "verify/elements.h"
#include "verify/nodes/pairing.h"
#include "verify/noise.h"
#include "verify/precision.h"
#include "verify/rules.h"
#include "verify/session.h"
#include "verify/spill.h"

namespace relayout {
namespace {

bool is_narrow(const Tensor& tensor) {
  return tensor && is_narrow(tensor.type());
}

Datum copy_of(const Datum& datum) {
  Datum out;
  out.kind = datum.kind;
  for (const Datum& element : datum.elements) out.elements.push_back(copy_of(element));
  if (!datum.tensor) return out;
  const Tensor dense = contiguous(datum.tensor);
  out.tensor = Tensor(dense.type(), dense.dims());
  if (dense.type() == DataType::string) {
    std::copy_n(dense.data<std::string>(), dense.element_count(), out.tensor.data<std::string>());
  } else {
    std::memcpy(out.tensor.bytes(), dense.bytes(), static_cast<std::size_t>(dense.element_count()) * memory_size(dense.type()));
  }
  return out;
}

/// The elements as another floating-point type.
Tensor in_type(const Tensor& tensor, DataType type) {
  const Tensor dense = contiguous(tensor);
  Tensor out(type, dense.dims());
  std::vector<double> values(static_cast<std::size_t>(dense.element_count()));
  load(dense.type(), dense.bytes(), 1, dense.element_count(), values.data());
  store(type, out.bytes(), 1, dense.element_count(), values.data());
  return out;
}

/// Whether two values differ in that one is held in 16 bits: that is no difference by itself.
bool is_other_precision(const Datum& a, const Datum& b) {
  const bool tensors = a.kind == Datum::Kind::tensor && b.kind == Datum::Kind::tensor && a.tensor && b.tensor;
  return tensors && a.tensor.type() != b.tensor.type() && kRealTypes.has(a.tensor.type()) && kRealTypes.has(b.tensor.type()) &&
         (is_narrow(a.tensor) || is_narrow(b.tensor));
}

/// `value` in the type of `other` when it is of another precision: exact when that is wider.
Datum like(const Datum& value, const Datum& other) {
  return is_other_precision(value, other) ? Datum(in_type(value.tensor, other.tensor.type())) : value;
}

/// Both in the wider of their types.
std::pair<Datum, Datum> comparable(const Datum& a, const Datum& b) {
  if (!is_other_precision(a, b)) return {a, b};
  return is_narrow(a.tensor) ? std::pair{like(a, b), b} : std::pair{a, like(b, a)};
}

/// Puts the elements of `from` where those of `to` lie; the structures are equal and both contiguous.
void overwrite(const Datum& to, const Datum& from) {
  const std::vector<Tensor> targets = leaves(to), sources = leaves(like(from, to));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!targets[i] || !targets[i].is_contiguous()) continue;
    const int64_t count = targets[i].element_count();
    if (targets[i].type() == DataType::string) {
      std::copy_n(sources[i].data<std::string>(), count, targets[i].data<std::string>());
    } else {
      std::memcpy(targets[i].bytes(), sources[i].bytes(), static_cast<std::size_t>(count) * memory_size(targets[i].type()));
    }
  }
}

DataType type_of(const Datum& datum) {
  const std::vector<Tensor> tensors = leaves(datum);
  return tensors.empty() ? DataType::undefined : tensors.front().type();
}

/// How two values of one structure go together, over the elements that are finite in both.
struct Agreement {
  double correlation = 1;  ///< Pearson's; 1 where either is constant
  double gain = 0;         ///< slope of b over a, minus one: what they differ by as by a factor
  double count = 0;
};

Agreement agreement(const Datum& a, const Datum& b) {
  double count = 0, sum_a = 0, sum_b = 0, square_a = 0, square_b = 0, dot = 0;
  const std::vector<Tensor> left = leaves(a), right = leaves(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!left[i] || !is_measured(left[i].type())) continue;
    for_each_chunk(real_parts(left[i]), real_parts(right[i]), [&](int64_t, std::span<const double> x, std::span<const double> y) {
      for (std::size_t k = 0; k < x.size(); ++k) {
        if (!std::isfinite(x[k]) || !std::isfinite(y[k])) continue;
        ++count;
        sum_a += x[k];
        sum_b += y[k];
        square_a += x[k] * x[k];
        square_b += y[k] * y[k];
        dot += x[k] * y[k];
      }
    });
  }
  const double variance_a = count * square_a - sum_a * sum_a, variance_b = count * square_b - sum_b * sum_b;
  if (!(variance_a > 0) || !(variance_b > 0)) return {1, 0, count};
  const double covariance = count * dot - sum_a * sum_b;
  return {covariance / std::sqrt(variance_a * variance_b), covariance / variance_a - 1, count};
}

}  // namespace

LayerComparison::LayerComparison(const Side& a, const Side& b, const VerifyOptions& options, DataType grain, std::function<void()> progress,
                                 OpenSession open)
    : a_(&a), b_(&b), options_(&options), grain_(grain), progress_(std::move(progress)), open_(std::move(open)) {
  const auto partners = pair_values(a.model->graph(), b.model->graph());
  for (const Node& node : b.model->graph().nodes()) {
    for (const Value* const output : node.outputs()) {
      const auto partner = output == nullptr ? partners.end() : partners.find(output);
      if (partner == partners.end()) continue;
      by_b_.emplace(output, layers_.size());
      by_a_.emplace(partner->second.value, layers_.size());
      layers_.push_back({partner->second.value,
                         output,
                         partner->second.by_structure,
                         partner->second.before_jump,
                         {},
                         {},
                         {},
                         {},
                         {},
                         {},
                         0,
                         0,
                         1,
                         false,
                         false,
                         false});
    }
  }
}

LayerComparison::Layer* LayerComparison::layer_of_a(const Value& value) {
  const auto found = by_a_.find(&value);
  return found == by_a_.end() || !layers_[found->second].reference ? nullptr : &layers_[found->second];
}

LayerComparison::Layer* LayerComparison::layer_of_b(const Value& value) {
  const auto found = by_b_.find(&value);
  if (found == by_b_.end() || !layers_[found->second].reference || layers_[found->second].apart) return nullptr;
  return &layers_[found->second];
}

void LayerComparison::execute(const Side& side, const MakeInputs& inputs, const Observer& observer, Edit edit, Mode mode) const {
  if (progress_) progress_();
  ExecuteOptions options;
  options.mode = mode;
  options.threads = options_->threads;
  options.seed = options_->seed;
  options.edit_constant = std::move(edit);
  options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (node.output(k) != nullptr) observer(*node.output(k), outputs[k]);
    }
  };
  const auto session = open_(side, std::move(options));
  // Values are written over in place, and some are views of the inputs.
  Inputs copies = inputs();
  for (auto& [name, datum] : copies) datum = copy_of(datum);
  // What a node refuses ends the run: what came before has been seen.
  (void)session->run(copies);
}

/// The coarser of a value's own type and what b computes in.
DataType LayerComparison::type_of_floor(DataType type) const {
  return is_measured(type) && unit_roundoff(grain_) > unit_roundoff(type) ? grain_ : type;
}

/// As before any run of b; the floor is one rounding of a's value.
void LayerComparison::reset(Layer& layer) const {
  layer.candidate.reset();
  layer.result = {};
  layer.metrics = {};
  layer.compared = layer.trusted = false;
  layer.apart = layer.before_jump;
  layer.gain = layer.gain_floor = 0;
  layer.floor = layer.reference ? least_floor(type_of_floor(layer.reference->type), layer.yardstick) : Floor{};
}

void LayerComparison::capture(const MakeInputs& inputs) {
  spill_ = std::make_unique<Spill>();
  for (Layer& layer : layers_) {
    layer.reference.reset();
    layer.yardstick = {};
    layer.correlation = 1;
    reset(layer);
  }
  coarsest_ = 0;
  execute(*a_, inputs, [&](const Value& value, const Datum& datum) {
    coarsest_ = std::max(coarsest_, unit_roundoff(type_of_floor(type_of(datum))));
    const auto found = by_a_.find(&value);
    if (found == by_a_.end()) return;
    Layer* const layer = &layers_[found->second];
    layer->reference = spill_->write(datum);
    layer->yardstick.add(datum);
    layer->floor = least_floor(type_of_floor(type_of(datum)), layer->yardstick);
    if (shaken_) feed(*layer, datum, datum);
  });
}

/// Moves a value that has no partner by one ULP: it is rounded in one of the two models and not in the other.
void LayerComparison::move(const Value& value, const Datum& datum, int draw) const {
  for (const Tensor& tensor : leaves(datum)) {
    if (!tensor || unit_roundoff(tensor.type()) == 0 || unit_roundoff(tensor.type()) > coarsest_) continue;
    const Tensor moved = moved_by_one_ulp(tensor, options_->seed, "value " + value.name(), draw, grain_);
    if (moved.bytes() != tensor.bytes()) overwrite(tensor, moved);
  }
}

void LayerComparison::feed(const Layer& layer, const Datum& datum, const Datum& reference) const {
  if (&datum != &reference) overwrite(datum, reference);
  if (!shaken_ || datum.kind != Datum::Kind::tensor || !datum.tensor || !kRealTypes.has(datum.tensor.type())) return;
  const Tensor& tensor = datum.tensor;
  if (!tensor.is_contiguous()) return;
  const RandomStream random(options_->seed, "shaken " + layer.a->name(), 0);
  const double deviation = rules::kShake * layer.yardstick.sigma();
  std::vector<double> values(static_cast<std::size_t>(tensor.element_count()));
  load(tensor.type(), tensor.bytes(), 1, tensor.element_count(), values.data());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += deviation * random.normal(i);
  store(tensor.type(), tensor.bytes(), 1, tensor.element_count(), values.data());
}

void LayerComparison::measure_floors(const MakeInputs& inputs, int first, int count) {
  const WeightNoise noise(a_->model->graph());
  for (int draw = first; draw < first + count; ++draw) {
    execute(
        *a_, inputs,
        [&](const Value& value, const Datum& datum) {
          Layer* const layer = layer_of_a(value);
          if (layer == nullptr) return move(value, datum, draw);
          const Datum reference = spill_->read(*layer->reference);
          if (!structural_difference(reference, datum).empty()) return;
          widen(layer->floor, relative(distance(reference, datum), layer->yardstick));
          if (is_narrow(type_of_floor(type_of(datum)))) {
            layer->gain_floor = std::max(layer->gain_floor, std::fabs(agreement(reference, datum).gain));
          }
          if (layer->apart) return move(value, datum, draw);
          feed(*layer, datum, reference);
        },
        noise.draw(options_->seed, draw, grain_));
  }
}

void LayerComparison::compare(Layer& layer, const Datum& datum) {
  const auto [reference, candidate] = comparable(spill_->read(*layer.reference), datum);
  const std::string structural = structural_difference(reference, candidate);
  layer.compared = true;
  if (!structural.empty()) {
    layer.metrics.outcome = Outcome::different;
    layer.metrics.reason = structural;
    return;
  }
  if (bit_equal(reference, candidate)) return feed(layer, datum, reference);
  layer.metrics = measure(reference, candidate, layer.yardstick);
  const DataType type = type_of_floor(type_of(spill_->read(*layer.reference)));
  decide(layer.metrics, type, layer.floor);
  if (is_narrow(type)) {
    const Agreement together = agreement(reference, candidate);
    layer.gain = together.count < rules::kElementsForGain ? 0 : together.gain;
    decide_gain(layer);
  }
  if (layer.metrics.outcome == Outcome::different) layer.candidate = spill_->write(datum);
  feed(layer, datum, reference);
}

void LayerComparison::feed_candidate(const MakeInputs& inputs, Mode mode) {
  const auto observer = [&](const Value& value, const Datum& datum) {
    if (Layer* const layer = layer_of_b(value)) compare(*layer, datum);
  };
  execute(*b_, inputs, observer, {}, mode);
}

bool LayerComparison::is_in_doubt(const Layer& layer) const {
  return layer.candidate && layer.metrics.outcome == Outcome::different && is_measured(type_of(spill_->read(*layer.candidate))) &&
         layer.metrics.nan_a + layer.metrics.nan_b + layer.metrics.infinite_mismatches == 0 &&
         layer.metrics.max_error < rules::kNearBound * layer.metrics.bound_max &&
         layer.metrics.rms_error < rules::kNearBound * layer.metrics.bound_rms;
}

/// Element by element the error of a factor may lie within the floor; all elements together tell it.
void LayerComparison::decide_gain(Layer& layer) const {
  const double bound =
      std::max(rules::kFloorFactor * layer.gain_floor, rules::kGainRoundings * unit_roundoff(type_of_floor(layer.reference->type)));
  if (layer.metrics.outcome == Outcome::different || !(std::fabs(layer.gain) > bound)) return;
  layer.metrics.outcome = Outcome::different;
  layer.metrics.reason = "on the whole larger or smaller by a factor of " + exact_number(std::round(1e4 * (1 + layer.gain)) / 1e4) +
                         ", where " + short_number(bound) + " may be rounding";
}

/// How far b's own values move when those of its values that have no partner do: its rounding is as honest as a's.
void LayerComparison::widen_by_candidate(const MakeInputs& inputs, int draw) {
  execute(*b_, inputs, [&](const Value& value, const Datum& datum) {
    Layer* const layer = layer_of_b(value);
    if (layer == nullptr) return move(value, datum, draw);
    const Datum reference = like(spill_->read(*layer->reference), datum);
    if (!structural_difference(reference, datum).empty()) return;
    if (layer->candidate) {
      const Datum candidate = spill_->read(*layer->candidate);
      widen(layer->floor, relative(distance(candidate, datum), layer->yardstick));
      if (is_narrow(datum.tensor)) layer->gain_floor = std::max(layer->gain_floor, std::fabs(agreement(candidate, datum).gain));
    }
    feed(*layer, datum, reference);
  });
}

void LayerComparison::look_closer(const MakeInputs& inputs) {
  if (std::ranges::none_of(layers_, [this](const Layer& layer) { return is_in_doubt(layer); })) return;
  measure_floors(inputs, rules::kNoiseDraws, rules::kMoreDraws);
  for (int draw = 0; draw < rules::kNoiseDraws; ++draw) widen_by_candidate(inputs, draw);
  for (Layer& layer : layers_) {
    if (!is_in_doubt(layer)) continue;
    decide(layer.metrics, type_of_floor(layer.reference->type), layer.floor);
    decide_gain(layer);
  }
}

bool LayerComparison::is_end(const Value& value, const std::unordered_map<const Value*, std::size_t>& by_value) const {
  const auto found = by_value.find(&value);
  return found != by_value.end() && !layers_[found->second].before_jump;
}

bool LayerComparison::feed_before_flips() {
  bool found_any = false;
  for (const Layer& layer : layers_) {
    if (layer.metrics.outcome != Outcome::different || !has_trait(*layer.b->producer(), Trait::jumps)) continue;
    for (const Value* const input : layer.b->producer()->inputs()) {
      const auto found = input == nullptr ? by_b_.end() : by_b_.find(input);
      if (found == by_b_.end() || !layers_[found->second].before_jump) continue;
      layers_[found->second].before_jump = false;
      found_any = true;
    }
  }
  return found_any;
}

/// Once more, with a's operands in front of every jump: elements that fell to the neighbouring step are right then, and counted.
void LayerComparison::compare_before_jumps(const MakeInputs& inputs) {
  std::vector<int64_t> mismatches;
  for (const Layer& layer : layers_) mismatches.push_back(layer.metrics.outcome == Outcome::different ? layer.metrics.mismatches : 0);
  for (Layer& layer : layers_) reset(layer);
  measure_floors(inputs, 0, rules::kNoiseDraws);
  feed_candidate(inputs);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i].metrics.outcome != Outcome::different) layers_[i].result.flips = mismatches[i];
  }
}

/// The layers that a layer's nodes read.
std::vector<std::size_t> LayerComparison::feeding(const Layer& layer) const {
  std::vector<std::size_t> out;
  for (const Node* const part : region_of(*layer.b, [this](const Value& value) { return is_end(value, by_b_); })) {
    for (const Value* const input : part->inputs()) {
      const auto found = input == nullptr ? by_b_.end() : by_b_.find(input);
      if (found != by_b_.end()) out.push_back(found->second);
    }
  }
  return out;
}

/// A value may be another thing under an old name: a convolution whose bias is a node of its own now. Then what reads it is worse when it
/// is given a's value than with b's own. So of layers that differ one behind the other, the first lets b go on from its own value once;
/// where what follows is right and better by that, both were right; where it is much better, the first was.
void LayerComparison::confirm(const MakeInputs& inputs) {
  const auto differs = [](const Layer& layer) { return layer.metrics.outcome == Outcome::different; };
  std::map<std::size_t, std::vector<std::size_t>> followed;  // by the first: those behind
  std::set<std::size_t> between;                             // equal layers that only move a first one's elements
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (!differs(layers_[i]) && !(layers_[i].metrics.rms_error > 0)) continue;
    for (std::size_t before : feeding(layers_[i])) {
      std::vector<std::size_t> moved;
      while (!differs(layers_[before]) && traits_of(*layers_[before].b->producer()).moves_input(0)) {
        const auto upstream = feeding(layers_[before]);
        if (upstream.size() != 1) break;
        moved.push_back(before);
        before = upstream.front();
      }
      if (!differs(layers_[before]) || layers_[before].b->is_output()) continue;
      followed[before].push_back(i);
      between.insert(moved.begin(), moved.end());
    }
  }
  // In the order of the nodes: what lies behind a first one is no first one, what lies behind that may be one again.
  std::set<std::size_t> later;
  for (auto at = followed.begin(); at != followed.end();) {
    if (later.contains(at->first)) {
      at = followed.erase(at);
    } else {
      later.insert(at->second.begin(), at->second.end());
      ++at;
    }
  }
  if (followed.empty()) return;
  std::vector<Layer> found = layers_;
  for (Layer& layer : layers_) reset(layer);
  for (const auto& [first, behind] : followed) layers_[first].apart = true;
  for (const std::size_t i : between) layers_[i].apart = true;
  measure_floors(inputs, 0, rules::kNoiseDraws);
  feed_candidate(inputs);
  look_closer(inputs);
  const auto acquit = [](Layer& layer) {
    layer.metrics.outcome = Outcome::same;
    layer.metrics.reason.clear();
    layer.candidate.reset();
  };
  for (const auto& [first, behind] : followed) {
    for (const std::size_t i : behind) {
      const double before = found[i].metrics.rms_error, after = layers_[i].metrics.rms_error;
      if (!layers_[i].compared || !(after < before)) continue;
      if (!differs(layers_[i])) {
        acquit(found[first]);
        acquit(found[i]);
      } else if (after < rules::kMuchBetter * before) {
        acquit(found[first]);  // the second is wrong on its own
        found[i].metrics = layers_[i].metrics;
        found[i].floor = layers_[i].floor;
      }
    }
  }
  layers_ = std::move(found);
}

/// Where nodes read a value, and every node downstream makes a's results when it is fed a's values, both models mean the same by it,
/// however far apart its values lie. (Elements in another order, or a value under an old name, show in a node downstream.)
void LayerComparison::trust_right_readers() {
  std::vector<bool> read(layers_.size(), false), wrong(layers_.size(), false);
  for (std::size_t i = layers_.size(); i-- > 0;) {
    if (!layers_[i].compared) continue;
    const bool bad = wrong[i] || layers_[i].metrics.outcome == Outcome::different;
    for (const std::size_t upstream : feeding(layers_[i])) {
      read[upstream] = true;
      wrong[upstream] = wrong[upstream] || bad;
    }
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) layers_[i].trusted = read[i] && !wrong[i] && layers_[i].metrics.bound_max > 0;
}

void LayerComparison::run_unfed(const MakeInputs& inputs, bool by_depth) {
  const auto error = [](const Layer& layer, const Datum& reference, const Datum& datum) -> std::optional<double> {
    if (!structural_difference(reference, datum).empty()) return std::nullopt;
    return distance(reference, datum).max_abs / layer.yardstick.range();
  };
  execute(*b_, inputs, [&](const Value& value, const Datum& datum) {
    Layer* const layer = layer_of_b(value);
    if (layer == nullptr) return;
    const auto [reference, candidate] = comparable(spill_->read(*layer->reference), datum);
    layer->result.depth_error = error(*layer, reference, candidate);
    layer->correlation = layer->result.depth_error ? agreement(reference, candidate).correlation : 0;
  });
  if (!by_depth) return;
  const WeightNoise noise(a_->model->graph());
  execute(
      *a_, inputs,
      [&](const Value& value, const Datum& datum) {
        Layer* const layer = layer_of_a(value);
        if (layer == nullptr) return;
        layer->result.depth_floor = std::max(error(*layer, spill_->read(*layer->reference), datum).value_or(0), layer->floor.max);
      },
      noise.draw(options_->seed, 0, grain_));
}

void LayerComparison::describe(Layer& layer) const {
  LayerResult& result = layer.result;
  const Node& node = *layer.b->producer();
  result.node = node.name().empty() ? layer.b->name() : node.name();
  result.op_type = node.op_type();
  result.tensor = layer.b->name();
  result.reference = layer.a->name();
  result.by_structure = layer.by_structure;
  result.type = layer.reference->type;
  result.dims = layer.reference->dims;
  result.constant = layer.yardstick.is_constant() && layer.yardstick.count() > 1;
  const auto region = region_of(*layer.a, [this](const Value& value) { return is_end(value, by_a_); });
  if (suspects_ != nullptr) {
    auto nodes = region_of(*layer.b, [this](const Value& value) { return is_end(value, by_b_); });
    nodes.insert(nodes.end(), region.begin(), region.end());
    result.unexplained = suspects_->of(nodes);
  }
  const SampleMetrics& metrics = layer.metrics;
  result.error = metrics.max_error;
  result.rms = metrics.rms_error;
  result.floor = layer.floor.max;
  result.floor_rms = layer.floor.rms;
  result.bound = metrics.bound_max;
  result.ratio = metrics.ratio;
  result.outcome = metrics.outcome;
  result.reason = metrics.reason;
  if (metrics.outcome != Outcome::different) return;
  result.correlation = layer.trusted ? 1 : layer.correlation;
  for (const std::size_t before : feeding(layer)) result.correlation = std::min(result.correlation, layers_[before].correlation);
  for (const Node* const part : region) result.replaces.push_back(part->label());
  // The very same node by name is no region.
  if (region.size() == 1 && region.front()->op_type() == node.op_type()) result.replaces.clear();
}

std::vector<LayerResult> LayerComparison::run(const MakeInputs& inputs, int sample, bool by_depth) {
  capture(inputs);
  measure_floors(inputs, 0, rules::kNoiseDraws);
  feed_candidate(inputs);
  if (feed_before_flips()) compare_before_jumps(inputs);
  look_closer(inputs);
  confirm(inputs);
  const auto is_different = [](const Layer& layer) { return layer.metrics.outcome == Outcome::different; };
  if (by_depth || (!shaken_ && std::ranges::any_of(layers_, is_different))) run_unfed(inputs, by_depth);
  trust_right_readers();
  std::vector<LayerResult> results;
  for (Layer& layer : layers_) {
    if (!layer.compared) continue;
    const bool by_chance = layer.candidate && layer.yardstick.count() < rules::kFewestElements && is_measured(layer.candidate->type) &&
                           layer.metrics.max_error < rules::kNearBound * layer.metrics.bound_max;
    if (by_chance) layer.metrics.outcome = Outcome::same;
    describe(layer);
    layer.result.sample = sample;
    results.push_back(std::move(layer.result));
  }
  spill_.reset();
  return results;
}

/// Operators that carry a difference on no larger than it was: their results lie closer together than their operands, or as close.
bool contracts(const Node& node) {
  constexpr auto kContractions =
      std::to_array<std::string_view>({"Relu", "Clip", "LeakyRelu", "Sigmoid", "Tanh", "HardSigmoid", "Softsign", "Softplus", "Identity"});
  return node.domain().empty() && std::ranges::find(kContractions, node.op_type()) != kContractions.end();
}

/// Where most elements saturate, few carry the rounding of the sums in front, and the draws may miss it: those sums' own floor counts.
void LayerComparison::widen_through_contraction(Layer& layer) {
  const Node* const node = layer.a->producer();
  if (node == nullptr || !contracts(*node) || node->input(0) == nullptr) return;
  Layer* const upstream = layer_of_a(*node->input(0));
  if (upstream == nullptr || !upstream->apart) return;
  widen_through_contraction(*upstream);
  widen(layer.floor, {upstream->floor.max * upstream->yardstick.range() / layer.yardstick.range(),
                      upstream->floor.rms * upstream->yardstick.sigma() / layer.yardstick.sigma()});
}

std::vector<LayerResult> LayerComparison::run_alone(const MakeInputs& inputs, int sample, Mode mode) {
  for (Layer& layer : layers_) layer.before_jump = false;
  capture(inputs);
  feed_candidate(inputs, mode);
  for (Layer& layer : layers_) layer.apart = !layer.compared;
  measure_floors(inputs, 0, rules::kNoiseDraws);
  std::vector<LayerResult> results;
  for (Layer& layer : layers_) {
    if (!layer.compared) continue;
    widen_through_contraction(layer);
    if (layer.metrics.bound_max > 0) decide(layer.metrics, type_of_floor(layer.reference->type), layer.floor);
    describe(layer);
    layer.result.sample = sample;
    results.push_back(std::move(layer.result));
  }
  spill_.reset();
  return results;
}

}  // namespace relayout
