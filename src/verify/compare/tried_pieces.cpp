// Records which ranges of numbers with a rule of their own the runs have reached in changed nodes, and which remain untried.
#include "verify/compare/tried_pieces.h"

#include <cmath>

#include "base/numbers.h"
#include "base/positions.h"
#include "layout/graph_shapes.h"
#include "model/node.h"
#include "ops/bounds.h"
#include "ops/branches.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/changes.h"
#include "verify/compare/datum_pair.h"
#include "verify/compare/fed_values.h"
#include "verify/compare/pairing.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/elements.h"
#include "verify/run/reference.h"
#include "verify/run/reference_output.h"
#include "verify/thresholds.h"

namespace relayout {

// Bounds of values.
ValueBounds::ValueBounds(const Graph& graph, std::set<std::string> masks, std::map<std::string, Bounds> kept)
    : types_(graph, signatures_), masks_(std::move(masks)), kept_(std::move(kept)) {}

Bounds ValueBounds::of(const Value& value) {
  const auto found = known_.find(&value);
  if (found != known_.end()) return found->second;
  constexpr int kDeepest = 200;
  if (depth_ >= kDeepest) return bounds_of_type(types_.of(value));
  ++depth_;
  const Bounds bounds = find(value);
  --depth_;
  return known_.emplace(&value, bounds).first->second;
}

Bounds ValueBounds::find(const Value& value) {
  const auto constant = constants_.value(value);
  if (constant && (kNumericTypes | kBooleanTypes).has(constant->type()) && constant->element_count() > 0) {
    const std::vector<double> numbers = reals_of(*constant);
    if (std::ranges::any_of(numbers, [](double number) { return std::isnan(number); })) return {};
    const auto [lowest, highest] = std::ranges::minmax(numbers);
    return {lowest, highest};
  }
  if (value.producer() == nullptr) return of_input(value);
  if (value.output_index() != 0) return bounds_of_type(types_.of(value));
  return bounds_of_result(*value.producer(), types_, [this](const Value& operand) { return of(operand); });
}

Bounds ValueBounds::of_input(const Value& value) const {
  if (masks_.contains(value.name())) return {0, 1};
  const Bounds of_type = bounds_of_type(types_.of(value));
  const auto kept = kept_.find(value.name());
  return kept != kept_.end() ? meet(kept->second, of_type) : of_type;
}

// The ranges of a node's definition.
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Of an input of a graph that a Loop or Scan runs: the values that it takes the elements of, over all iterations.
std::vector<const Value*> sources_of(const Value& value) {
  const Graph& graph = value.graph();
  const Node* const holder = graph.owner();
  const auto at = std::ranges::find(graph.inputs(), &value);
  if (holder == nullptr || at == graph.inputs().end() || (!holder->is("Loop") && !holder->is("Scan"))) return {};
  const auto place = static_cast<std::size_t>(at - graph.inputs().begin());
  const std::size_t conditions = outputs_before_results(*holder);
  const std::size_t scanned = conditions == 1 ? 0 : as_size(Attributes(*holder).integer("num_scan_inputs", 0));
  std::vector<const Value*> out;
  if (holder->input(place) != nullptr) out.push_back(holder->input(place));
  // A Loop's body begins with the iteration's number and its condition, and gives the next condition first.
  const bool is_state = place >= 2 * conditions && place + scanned < graph.inputs().size();
  if (is_state && place - conditions < graph.outputs().size()) out.push_back(graph.outputs()[place - conditions]);
  return out;
}

/// Whether a run shows the elements of a value: a node computes it, a caller or an iteration passes it.
bool is_shown(const Value& value) {
  return value.producer() != nullptr || value.is_model_input() || !sources_of(value).empty();
}

/// Both results of a comparison whose operands both vary.
std::vector<Piece> results_of(const Node& node) {
  const bool can_vary = compares(predicate_of(node)) && node.input(0) != node.input(1);
  if (!can_vary || node.output(0) == nullptr) return {};
  return {{&node, node.output(0), 0, 0, true}, {&node, node.output(0), 1, 1, true}};
}

bool can_reach(const Bounds& bounds, const Piece& piece) {
  if (piece.is_point) return bounds.lowest <= piece.above && piece.above <= bounds.highest;
  return bounds.highest > piece.above && bounds.lowest < piece.below;
}

/// The pieces of a node's definition (Trait::piecewise) that its operands can reach. `is_wide`: the models compute in 32 bits or more,
/// where only large numbers make Exp overflow.
std::vector<Piece> pieces_of(const Node& node, ValueBounds& bounds, bool is_wide) {
  if (!is_wide && node.is("Exp")) return {};
  const auto cuts = cuts_of(node, bounds.types(), [&](const Value& value) { return bounds.of(value); });
  const Value* const watched = cuts ? node.input(cuts->operand) : nullptr;
  if (watched == nullptr || !is_shown(*watched)) return results_of(node);
  std::vector<Piece> out;
  if (cuts->is_point) {
    out.push_back({&node, watched, cuts->numbers.front(), cuts->numbers.front(), true});
  } else {
    double above = -kInfinity;
    for (const double cut : cuts->numbers) {
      if (cut > above) out.push_back({&node, watched, above, cut, false});
      above = std::max(above, cut);
    }
    if (!cuts->numbers.empty()) out.push_back({&node, watched, above, kInfinity, false});
  }
  const Bounds found = bounds.of(*watched);
  std::erase_if(out, [&](const Piece& piece) { return !can_reach(found, piece); });
  return out;
}

/// The value upstream of limits by constants, of Casts and of nodes that move elements.
const Value* before_limits(const Value& value) {
  const Value* at = &value;
  while (at->producer() != nullptr) {
    const Node& node = *at->producer();
    const Traits traits = traits_of(node);
    if (!limits(node) && !traits.has(Trait::clips) && !traits.has(Trait::casts) && !traits.moves_input(0)) return at;
    const auto varies = [](const Value* input) { return input != nullptr && !input->is_stored_constant(); };
    if (std::ranges::count_if(node.inputs(), varies) != 1) return at;
    at = *std::ranges::find_if(node.inputs(), varies);
  }
  return at;
}

}  // namespace

double Piece::depth(double number) const {
  if (!is_point) return number > above && number < below ? std::min(number - above, below - number) : 0;
  if (number != above) return 0;
  return is_truth() ? kInfinity : std::max(1.0, std::fabs(number));
}

bool Piece::is_truth() const {
  return watched == node->output(0) || node->is("Where");
}

std::string Piece::text() const {
  if (is_truth()) return above != 0 ? "true" : "false";
  if (is_point) return exact_number(above);
  if (below == kInfinity) return "number above " + exact_number(above);
  if (above == -kInfinity) return "number below " + exact_number(below);
  return "number between " + exact_number(above) + " and " + exact_number(below);
}

// Casts of numbers beyond their type.
void CastsBeyond::add(const Change& change, const ElementTypes& types_a, const ElementTypes& types_b) {
  for (const Node* const node : change.of_a) add(change, *node, true, types_a);
  for (const Node* const node : change.of_b) add(change, *node, false, types_b);
  const Node &head_a = *change.a->producer(), &head_b = *change.b->producer();
  if (std::ranges::find(change.of_a, &head_a) == change.of_a.end()) add(change, head_a, true, types_a);
  if (std::ranges::find(change.of_b, &head_b) == change.of_b.end()) add(change, head_b, false, types_b);
}

void CastsBeyond::add(const Change& change, const Node& node, bool is_of_a, const ElementTypes& types) {
  if (!has_trait(node, Trait::casts) || node.input(0) == nullptr || node.output(0) == nullptr) return;
  const DataType from = types.of(*node.input(0)), to = types.of(*node.output(0));
  if (!kRealTypes.has(from) || !kIntegerTypes.has(to)) return;
  by_operand_.emplace(node.input(0), casts_.size());
  casts_.push_back({&node, &change, is_of_a, to, false});
}

void CastsBeyond::watch(const Value& value, const Datum& datum) {
  const auto [first, last] = by_operand_.equal_range(&value);
  for (auto at = first; at != last; ++at) {
    Cast& cast = casts_[at->second];
    const Bounds held = bounds_of_type(cast.to);
    // A Cast truncates numbers between two integers towards zero. NaN is beyond.
    const auto is_held = [&](double number) { return number > held.lowest - 1 && number < held.highest + 1; };
    for_each_real(datum, [&](double number) { cast.is_beyond = cast.is_beyond || !is_held(number); });
  }
}

CastsBeyond::Found CastsBeyond::find() const {
  for (const Cast& cast : casts_) {
    const auto is_like = [&](const Cast& other) {
      return other.change == cast.change && other.is_of_a != cast.is_of_a && other.to == cast.to && other.is_beyond;
    };
    if (!cast.is_beyond || std::ranges::any_of(casts_, is_like)) continue;
    return {cast.node, cast.change, cast.is_of_a, std::string(name_of(cast.to))};
  }
  return {};
}

// The ranges that runs have tried.
namespace {

/// Notes the numbers of a tensor in a trial's piece.
void note_depths(Trial& trial, const Tensor& tensor) {
  if (!(kNumericTypes | kBooleanTypes).has(tensor.type())) return;
  for_each_chunk(contiguous(tensor), [&](int64_t, std::span<const double> numbers) {
    for (const double number : numbers) {
      const double depth = trial.piece.depth(number);
      trial.deepest = std::max(trial.deepest, depth);
      trial.inside += depth > 0 ? 1 : 0;
    }
  });
}

/// The nodes of a change, and those that compute its values.
std::unordered_set<const Node*> nodes_of(const Change& change) {
  std::unordered_set<const Node*> out(change.of_a.begin(), change.of_a.end());
  out.insert(change.of_b.begin(), change.of_b.end());
  out.insert({change.a->producer(), change.b->producer()});
  out.erase(nullptr);
  return out;
}

std::vector<Piece> all_pieces(const std::vector<const Node*>& nodes, ValueBounds& bounds, bool is_wide) {
  std::vector<Piece> out;
  for (const Node* const node : nodes) {
    if (follows_test(*node)) continue;  // NaN and infinities are tried separately
    for (const Piece& piece : pieces_of(*node, bounds, is_wide)) out.push_back(piece);
  }
  return out;
}

/// The nodes, and the comparison that computes `result`, if it is one.
std::vector<const Node*> with_comparison(std::vector<const Node*> nodes, const Value& result) {
  const Node* const node = result.producer();
  if (node != nullptr && compares(predicate_of(*node)) && std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
  return nodes;
}

bool is_twin(const Piece& a, const Piece& b) {
  const bool is_result = a.watched == a.node->output(0) || b.watched == b.node->output(0);
  if (is_result || a.above != b.above || a.below != b.below || a.is_point != b.is_point) return false;
  return before_limits(*a.watched)->name() == before_limits(*b.watched)->name();
}

/// The bound of an error relative to the range.
double bound_of(DataType type, double floor) {
  return is_measured(type) ? std::max(kFloorFactor * floor, dtype_minimum(type)) : 0;
}

/// Whether a condition that follows from sizes may come out this way, by some sizes of free dims: equal ones, or of different order.
bool may_come_out(const Graph& graph, const Value& condition, double truth) {
  constexpr std::size_t kCount = std::size(thresholds::kOtherSizes);
  for (std::size_t at = 0; at < 3 * kCount; ++at) {
    ShapeOptions sizes;
    std::size_t free = 0;
    std::map<std::string, int64_t> by_name;
    for (const Value* const input : graph.inputs()) {
      const auto declared = input->declared();
      if (!declared || !declared->has_shape) return true;
      Dims dims = declared->dims;
      for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        if (dims[axis] >= 0) continue;
        const int64_t next = thresholds::kOtherSizes[(at + free * (at / kCount) * (kCount / 3 + 1)) % kCount];
        const std::string name = axis < declared->symbols.size() ? declared->symbols[axis] : "";
        const auto [known, is_new] = by_name.try_emplace(name.empty() ? std::to_string(free) + "," : name, next);
        dims[axis] = known->second;
        free += is_new ? 1 : 0;
      }
      sizes.shapes[input->name()] = dims;
    }
    layout::Shapes shapes(graph, sizes);
    const auto known = shapes.known(condition);
    if (!known || !known->has_contents) return true;
    const std::vector<double> numbers = reals_of(known->datum.tensor);
    if (std::ranges::find(numbers, truth) != numbers.end()) return true;
  }
  return false;
}

}  // namespace

Trials::Trials(const Pair& pair, const Reference& reference, const Changes& changes) : pair_(&pair), changes_(&changes) {
  const bool is_wide = pair.narrow == DataType::undefined;
  ValueBounds in_a(pair.a.model->graph(), reference.inputs().ports().masks(), reference.inputs().ports().kept_integers());
  ValueBounds in_b(pair.b.model->graph(), reference.inputs().ports().masks(), reference.inputs().ports().kept_integers());
  for (const Change& change : changes.all()) {
    add(change, in_a, in_b, is_wide);
    add_sides(change, in_a, in_b);
    casts_.add(change, in_a.types(), in_b.types());
  }
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    by_value_.emplace(trials_[i].piece.watched, i);
    seen_[trials_[i].piece.watched] = {};
    add_sources(*trials_[i].piece.watched);
    if (!operands_.contains(trials_[i].change)) add_operands(*trials_[i].change);
    add_selections(trials_[i]);
  }
}

void Trials::add_sources(const Value& value) {
  std::vector<const Value*> sources{&value};
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (const Value* const source : sources_of(*sources[i])) {
      if (std::ranges::find(sources, source) == sources.end()) sources.push_back(source);
    }
  }
  for (const Value* const source : sources) {
    const auto [first, last] = passed_to_.equal_range(source);
    const bool is_known = std::any_of(first, last, [&](const auto& passed) { return passed.second == &value; });
    if (source != &value && !is_known) passed_to_.emplace(source, &value);
  }
}

/// Rules that both models have for the same numbers of the same value are no difference: leaves out both. A comparison downstream of the
/// nodes that differ shows what they compute only where it decides either way, even if both models have it.
void Trials::add(const Change& change, ValueBounds& in_a, ValueBounds& in_b, bool is_wide) {
  std::vector<Piece> of_a = all_pieces(with_comparison(change.of_a, *change.a), in_a, is_wide);
  std::vector<Piece> of_b = all_pieces(with_comparison(change.of_b, *change.b), in_b, is_wide);
  std::erase_if(of_a, [&](const Piece& piece) {
    const auto twin = std::ranges::find_if(of_b, [&](const Piece& other) { return is_twin(piece, other); });
    if (twin == of_b.end()) return false;
    of_b.erase(twin);
    return true;
  });
  for (const Piece& piece : of_a) trials_.push_back({piece, &change, true});
  for (const Piece& piece : of_b) trials_.push_back({piece, &change, false});
}

/// What a condition never chooses, in any sample, is not tried.
void Trials::add_sides(const Change& change, ValueBounds& in_a, ValueBounds& in_b) {
  const auto add_from = [&](const Side& side, const std::vector<ChosenSide>& chosen, ValueBounds& bounds) {
    if (chosen.empty()) return;
    const Graph& graph = side.model->graph();
    const auto by_sizes = values_known_by_dims(graph);
    const bool has_free_dims = std::ranges::any_of(graph.inputs(), [](const Value* input) {
      const auto declared = input->declared();
      return !declared || !declared->has_shape || std::ranges::any_of(declared->dims, [](int64_t dim) { return dim < 0; });
    });
    for (const auto& [where, operand] : chosen) {
      // NaN and infinities are tried separately, and numbers that follow from sizes are asked for by sizes.
      const bool is_asked_elsewhere = treats_apart(*where) || (where->output(0) != nullptr && by_sizes.contains(where->output(0)));
      const Value* const condition = where->input(0);
      const double chosen_by = operand == 1 ? 1 : 0;
      const Piece piece{where, condition, chosen_by, chosen_by, true};
      if (is_asked_elsewhere || condition == nullptr || !can_reach(bounds.of(*condition), piece)) continue;
      const bool is_by_sizes = by_sizes.contains(condition);
      if (is_by_sizes && (!has_free_dims || !may_come_out(graph, *condition, chosen_by))) continue;
      trials_.push_back({piece, &change, &side == &pair_->a, is_by_sizes});
    }
  };
  add_from(pair_->a, change.sides_of_a, in_a);
  add_from(pair_->b, change.sides_of_b, in_b);
}

void Trials::add_operands(const Change& change) {
  const std::unordered_set<const Node*> inner = nodes_of(change);
  std::vector<const Value*>& operands = operands_[&change];
  for (const Node* const node : inner) {
    for (const Value* const input : node->inputs()) {
      if (input == nullptr || input->is_stored_constant() || inner.contains(input->producer())) continue;
      operands.push_back(input);
      seen_[input] = {};
    }
  }
}

void Trials::add_selections(Trial& trial) {
  const std::unordered_set<const Node*> inner = nodes_of(*trial.change);
  std::vector<const Node*> downstream{trial.piece.node};
  std::unordered_set<const Node*> known{trial.piece.node};
  for (std::size_t i = 0; i < downstream.size(); ++i) {
    for (const Value* const output : downstream[i]->outputs()) {
      if (output == nullptr) continue;
      for (const Use& use : output->uses()) {
        if (inner.contains(use.node) && known.insert(use.node).second) downstream.push_back(use.node);
      }
    }
  }
  for (const Node* const node : downstream) {
    if (node == trial.piece.node || node->input(0) == nullptr || node->output(0) == nullptr || !traits_of(*node).moves_input(0)) continue;
    trial.selections.push_back(node);
    seen_.try_emplace(node->input(0));
    seen_.try_emplace(node->output(0));
  }
}

void Trials::start_run() {
  for (Trial& trial : trials_) trial.deepest = 0, trial.inside = 0;
  for (auto& [value, seen] : seen_) seen = {};
  entered_.clear();
}

void Trials::watch(const Value& value, const Datum& datum) {
  entered_.insert(&value.graph());
  casts_.watch(value, datum);
  const auto [first, last] = passed_to_.equal_range(&value);
  for (auto at = first; at != last; ++at) note(*at->second, datum);
  note(value, datum);
}

void Trials::note(const Value& value, const Datum& datum) {
  const auto seen = seen_.find(&value);
  if (seen == seen_.end()) return;
  seen->second.yardstick.add(datum);
  seen->second.type = type_of(datum);
  const auto [first, last] = by_value_.equal_range(&value);
  for (auto at = first; at != last; ++at) {
    Trial& trial = trials_[at->second];
    for (const Tensor& tensor : leaves(datum)) {
      if (!trial.is_tried && tensor) note_depths(trial, tensor);
    }
  }
}

void Trials::note_sizes(const Side& side, const std::map<std::string, Dims>& sizes) {
  std::optional<layout::Shapes> shapes;
  for (const Trial& trial : trials_) {
    const bool is_open = !trial.is_tried && trial.is_of_a == (&side == &pair_->a) && trial.piece.node->is("Where") && has_run(trial);
    if (!is_open || seen_.at(trial.piece.watched).yardstick.count() > 0) continue;
    if (!shapes) shapes.emplace(side.model->graph(), ShapeOptions{{}, sizes});
    const auto known = shapes->known(*trial.piece.watched);
    if (known && known->has_contents) note(*trial.piece.watched, known->datum);
  }
}

double Trials::rounding_of(const Value& watched) const {
  const Seen& seen = seen_.at(&watched);
  if (seen.yardstick.count() == 0) return 0;
  const DataType type = pair_->type_of_floor(seen.type);
  return bound_of(type, least_floor(type, seen.yardstick).max) * seen.yardstick.range();
}

double Trials::rounding_of(const Trial& trial, const LayerResult& layer) const {
  double range = 0;
  const auto add_range = [&](const Value* value) {
    const Yardstick& yardstick = seen_.at(value).yardstick;
    if (yardstick.count() > 0) range = std::max(range, yardstick.range());
  };
  add_range(trial.piece.watched);
  std::ranges::for_each(operands_.at(trial.change), add_range);
  return bound_of(pair_->type_of_floor(layer.type), layer.floor.max) * range;
}

double Trials::share_passed_on(const Trial& trial) const {
  const auto count_of = [&](const Value* value) { return static_cast<double>(seen_.at(value).yardstick.count()); };
  double share = 1, largest = std::max(1.0, count_of(trial.piece.watched));
  for (const Node* const node : trial.selections) {
    const double before = count_of(node->input(0)), after = count_of(node->output(0));
    if (before > 0) share *= std::min(1.0, after / before);
    largest = std::max(largest, before);
  }
  return share * largest / std::max(1.0, count_of(trial.piece.watched));  // what is broadcast has several results
}

void Trials::note_tried(Trial& trial, double rounding) {
  constexpr double kEnough = 3;  // that none of so many is selected has a probability of 5 %
  if (trial.is_tried || !has_run(trial) || !(trial.deepest > rounding)) return;
  const double share = share_passed_on(trial);
  trial.passed_on += share * static_cast<double>(trial.inside);
  trial.is_tried = share >= 1 || trial.passed_on >= kEnough;
}

void Trials::end_sample() {
  for (Trial& trial : trials_) note_tried(trial, rounding_of(*trial.piece.watched));
}

void Trials::end_comparison(const std::vector<LayerResult>& layers) {
  std::unordered_map<const Change*, const LayerResult*> compared;
  for (const LayerResult& layer : layers) compared.emplace(changes_->of_b(layer.tensor), &layer);
  for (Trial& trial : trials_) {
    const auto found = compared.find(trial.change);
    if (found != compared.end()) note_tried(trial, rounding_of(trial, *found->second));
  }
}

const Trial* Trials::find_open() const {
  const auto found = std::ranges::find_if(trials_, [](const Trial& trial) { return !trial.is_tried; });
  return found == trials_.end() ? nullptr : &*found;
}

std::map<const Change*, Trial> Trials::open_by_change() const {
  std::map<const Change*, Trial> out;
  for (const Trial& trial : trials_) {
    if (!trial.is_tried) out.emplace(trial.change, trial);
  }
  return out;
}

}  // namespace relayout
