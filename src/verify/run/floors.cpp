// Measures how far two correct evaluations of A may differ, by runs with perturbed weights and in double precision.
#include "verify/run/floors.h"

#include <cmath>

#include "base/positions.h"
#include "base/times.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/inputs/port.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/noise.h"
#include "verify/run/quantizer.h"
#include "verify/run/reference.h"
#include "verify/run/session.h"
#include "verify/thresholds.h"

namespace relayout {

Floors::Floors(const Pair& pair, const Reference& reference)
    : pair_(&pair), reference_(&reference), noise_(pair.a.model->graph()), floors_(reference.outputs().count()) {}

void Floors::measure() {
  const Stopwatch watch;
  const std::size_t first = joined_.size(), last = reference_->samples().size();
  if (first == last) return;
  for (std::size_t i = 0; i < floors_.size(); ++i) {
    const DataType type = pair_->type_of_floor(reference_->outputs().summary(i).type());
    for (std::size_t s = first; s < last; ++s) floors_[i].push_back(least_floor(type, reference_->outputs().yardstick(i, s)));
  }
  joined_.resize(last, false);
  draws_ = std::max(draws_, thresholds::kFirstDraws);
  draw(first, 0, draws_);
  seconds_ += watch.seconds();
  if (!pair_->proved && !are_healthy()) (void)complete();
}

bool Floors::complete() {
  if (draws_ >= thresholds::kNoiseDraws) return false;
  const Stopwatch watch;
  draw(0, draws_, thresholds::kNoiseDraws - draws_);
  draws_ = thresholds::kNoiseDraws;
  seconds_ += watch.seconds();
  return true;
}

void Floors::firm_up(int64_t fewest_elements) {
  const Stopwatch watch;
  const int wanted = firm_draws(fewest_elements);
  if (wanted > draws_) draw(0, draws_, wanted - draws_);
  draws_ = std::max(draws_, wanted);
  seconds_ += watch.seconds();
}

void Floors::draw(std::size_t first, int first_draw, int count) {
  const std::size_t last = reference_->samples().size();
  pair_->steps->expect(static_cast<int64_t>(last - first) * count);
  for (int number = first_draw; number < first_draw + count; ++number) {
    ExecuteOptions options = pair_->execute_options(Mode::as_written);
    noise_.apply(options, number, pair_->grain);
    const auto session = pair_->open(pair_->a, std::move(options));
    for (std::size_t s = first; s < last; ++s) {
      pair_->steps->next("noise floor");
      widen_by(*session, noise_.inputs(reference_->inputs_of(s), pair_->options->seed, number, pair_->grain), s, /*is_reference=*/false);
    }
  }
}

void Floors::join_reference(std::size_t first, std::size_t last) {
  const Stopwatch watch;
  std::vector<std::size_t> wanted;
  for (std::size_t s = first; s < last; ++s) {
    if (!joined_[s] && reference_->samples()[s].macs <= thresholds::kReferenceMacs) wanted.push_back(s);
  }
  if (wanted.empty()) return;
  pair_->steps->expect(static_cast<int64_t>(wanted.size()));
  const auto session = pair_->open(pair_->a, pair_->execute_options(Mode::reference));
  for (const std::size_t s : wanted) {
    pair_->steps->next("reference in double precision");
    widen_by(*session, reference_->inputs_of(s), s, /*is_reference=*/true);
  }
  seconds_ += watch.seconds();
}

void Floors::widen_by(Session& session, const Inputs& inputs, std::size_t sample, bool is_reference) {
  const Session::Run run = session.run(inputs);
  if (!run.rejected.empty()) return;
  if (is_reference) joined_[sample] = true;
  for (std::size_t i = 0; i < floors_.size(); ++i) {
    const Datum reference = reference_->outputs().value(i, sample);
    // Other dims (another number of boxes, for example): this run has no distance.
    if (!structural_difference(reference, run.outputs[i]).empty()) continue;
    const Floor apart = relative(distance(reference, run.outputs[i]), reference_->outputs().yardstick(i, sample));
    if (is_reference) suspect(i, sample, apart);
    widen(floors_[i][sample], apart);
  }
}

void Floors::suspect(std::size_t output, std::size_t sample, const Floor& apart) {
  const double least = thresholds::kReferenceLeastBounds * dtype_minimum(reference_->outputs().summary(output).type());
  if (apart.max <= std::max(thresholds::kReferenceFloors * floors_[output][sample].max, least)) return;
  if (suspicions_.empty() || suspicions_.back().sample != sample) suspicions_.push_back({output, sample, apart.max});
}

bool Floors::is_ill_conditioned(std::size_t output, std::size_t sample) const {
  return relayout::is_ill_conditioned(pair_->type_of_floor(reference_->outputs().summary(output).type()), floors_[output][sample]);
}

bool Floors::are_healthy() const {
  for (std::size_t i = 0; i < floors_.size(); ++i) {
    const DataType type = pair_->type_of_floor(reference_->outputs().summary(i).type());
    if (!std::ranges::all_of(floors_[i], [&](const Floor& floor) { return is_healthy(type, floor); })) return false;
  }
  return true;
}

int Floors::well_conditioned() const {
  const int all = static_cast<int>(joined_.size());
  int fewest = all;
  for (std::size_t i = 0; i < floors_.size(); ++i) {
    int count = 0;
    for (std::size_t s = 0; s < joined_.size(); ++s) count += is_ill_conditioned(i, s) ? 0 : 1;
    fewest = std::min(fewest, count);
  }
  return fewest;
}

// Samples of smaller inputs, where rounding alone moves the outputs far.
void add_milder_samples(const Pair& pair, Reference& reference, Floors& floors, VerifyResult& result) {
  if (pair.proved || !reference.inputs().can_be_milder()) return;
  const int wanted = static_cast<int>(reference.samples().size());
  for (const double deviation : thresholds::kMildDeviations) {
    const int before = floors.well_conditioned();
    if (before >= wanted) return;
    // One sample shows whether more of this kind would help.
    reference.run(1, deviation);
    floors.measure();
    if (floors.well_conditioned() == before) continue;
    if (wanted > before + 1) reference.run(wanted - before - 1, deviation);
    floors.measure();
  }
  if (floors.well_conditioned() == 0) {
    result.remarks.emplace_back(
        "every sample is ill-conditioned, those of small inputs too: the outputs alone cannot show that the models are the same");
  }
}

// The rounding of sums and constants of both models, as far as both round numbers of that size.
namespace {

/// Larger numbers stand for an infinity in masks.
constexpr double kLargest = 65504;

double magnitude_of(const Datum& datum) {
  double largest = 0;
  for_each_real(datum, [&](double number) { largest = std::fabs(number) <= kLargest ? std::max(largest, std::fabs(number)) : largest; });
  return largest;
}

/// Whether a node computes numbers that it has to round.
bool has_to_round(const Node& node) {
  const Traits traits = traits_of(node);
  return !traits.has(Trait::exact) && !traits.has(Trait::identity) && !traits.moves_input(0) && !traits.has(Trait::control_flow);
}

/// The results that outputs hold, rearranged at most: their own rounding is in every floor.
std::unordered_set<const Value*> last_of(const Graph& graph) {
  std::vector<const Value*> open(graph.outputs().begin(), graph.outputs().end());
  std::unordered_set<const Value*> found(open.begin(), open.end());
  while (!open.empty()) {
    const Node* const node = open.back()->producer();
    open.pop_back();
    if (node == nullptr || has_to_round(*node)) continue;
    for (const Value* const input : node->inputs()) {
      if (input != nullptr && found.insert(input).second) open.push_back(input);
    }
  }
  return found;
}

/// Moves the elements of a result by one ULP, those of more than `largest` by less.
void move(const Tensor& tensor, const Tensor& moved, double largest) {
  std::vector<double> numbers = reals_of(tensor);
  const std::vector<double> others = reals_of(moved);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double excess = std::fabs(numbers[i]) / largest;
    numbers[i] += (others[i] - numbers[i]) / std::max(1.0, excess);
  }
  store(tensor.type(), tensor.bytes(), 1, tensor.element_count(), numbers.data());
}

void move_results(const Node& node, const std::vector<Datum>& outputs, const std::unordered_set<const Value*>& last, uint64_t seed,
                  int draw, double largest) {
  if (!has_to_round(node)) return;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Tensor& tensor = outputs[k].tensor;
    const bool is_moved = node.output(k) != nullptr && !last.contains(node.output(k));
    const bool is_real = is_moved && outputs[k].kind == Datum::Kind::tensor && tensor && kRealTypes.has(tensor.type());
    if (!is_real || !tensor.is_contiguous()) continue;
    const Tensor moved = moved_by_one_ulp(tensor, seed, "value " + node.output(k)->name(), draw, DataType::undefined);
    if (moved.bytes() != tensor.bytes()) move(tensor, moved, largest);
  }
}

}  // namespace

struct OwnRounding::Moved {
  const Side* side;
  WeightNoise noise;
  std::unordered_set<const Value*> last;
  Outputs exact;
  std::string rejected;
  double largest = 0;  ///< magnitude of a real number that the model computes or reads, and of the ends of its quantizers' grids
};

OwnRounding::OwnRounding(const Pair& pair, const Reference& reference, std::size_t sample)
    : pair_(&pair), reference_(&reference), sample_(sample), floors_(reference.outputs().count()) {
  for (const Side* const side : {&pair.a, &pair.b}) {
    sides_.push_back({side, WeightNoise(side->model->graph()), last_of(side->model->graph()), {}, {}});
    run_exactly(sides_.back());
  }
  largest_ = std::min(sides_.front().largest, sides_.back().largest);
}
OwnRounding::OwnRounding(OwnRounding&&) noexcept = default;
OwnRounding::~OwnRounding() = default;

void OwnRounding::run_exactly(Moved& moved) const {
  Constants constants;
  double& largest = moved.largest;
  ExecuteOptions options = pair_->execute_options(Mode::as_written);
  options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
    for (const Datum& output : outputs) largest = std::max(largest, magnitude_of(output));
    if (!node.is("DequantizeLinear")) return;
    if (const auto grid = Quantizer::of(node, constants)) {
      largest = std::max({largest, std::fabs(grid->range().lowest), std::fabs(grid->range().highest)});
    }
  };
  for (const auto& [name, datum] : reference_->inputs_of(sample_)) largest = std::max(largest, magnitude_of(datum));
  pair_->steps->next("own rounding");
  Session::Run run = pair_->open(*moved.side, std::move(options))->run(reference_->inputs_of(sample_));
  moved.exact = std::move(run.outputs);
  moved.rejected = std::move(run.rejected);
}

const std::vector<Floor>& OwnRounding::floors(int draws) {
  for (; draws_ < draws; ++draws_) {
    for (const Moved& moved : sides_) {
      if (moved.rejected.empty()) widen_by(moved);
    }
  }
  return floors_;
}

void OwnRounding::widen_by(const Moved& moved) {
  ExecuteOptions options = pair_->execute_options(Mode::as_written);
  const uint64_t seed = options.seed;
  options.observe = [&, seed](const Node& node, const std::vector<Datum>& outputs) {
    move_results(node, outputs, moved.last, seed, draws_, largest_);
  };
  moved.noise.apply(options, draws_, pair_->grain);
  pair_->steps->next("own rounding");
  const Session::Run run = pair_->open(*moved.side, std::move(options))->run(reference_->inputs_of(sample_));
  if (!run.rejected.empty()) return;
  for (std::size_t i = 0; i < floors_.size(); ++i) {
    const auto found = std::ranges::find(moved.side->outputs, pair_->a.outputs[i].name, &Port::name);
    const auto at = as_size(found - moved.side->outputs.begin());
    if (at >= moved.exact.size() || !structural_difference(moved.exact[at], run.outputs[at]).empty()) continue;
    widen(floors_[i], relative(distance(moved.exact[at], run.outputs[at]), reference_->outputs().yardstick(i, sample_)));
  }
}

}  // namespace relayout
