// Records which ranges of numbers (pieces) of changed nodes the runs have reached, deep enough to exceed rounding, and which remain
// untried.
#include "verify/nodes/tried_pieces.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/data_structure.h"
#include "verify/elements.h"
#include "verify/error_bounds.h"
#include "verify/measured_types.h"
#include "verify/nodes/changes.h"
#include "verify/nodes/datum_pair.h"
#include "verify/nodes/edges.h"
#include "verify/nodes/pieces.h"
#include "verify/nodes/value_bounds.h"
#include "verify/pair.h"
#include "verify/reference.h"
#include "verify/yardstick.h"

namespace relayout {
namespace {

double deepest_of(const Tensor& tensor, const Piece& piece) {
  if (!(kNumericTypes | kBooleanTypes).has(tensor.type())) return 0;
  double deepest = 0;
  for_each_chunk(contiguous(tensor), [&](int64_t, std::span<const double> numbers) {
    for (const double number : numbers) deepest = std::max(deepest, piece.depth(number));
  });
  return deepest;
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

}  // namespace

Trials::Trials(const Pair& pair, const Reference& reference, const ProofResult& proof) : pair_(&pair), changes_(pair, proof) {
  const bool is_wide = pair.narrow == DataType::undefined;
  ValueBounds in_a(pair.a.model->graph(), reference.inputs().ports().masks(), reference.inputs().ports().kept_integers());
  ValueBounds in_b(pair.b.model->graph(), reference.inputs().ports().masks(), reference.inputs().ports().kept_integers());
  for (const Change& change : changes_.all()) {
    add(change, in_a, in_b, is_wide);
    casts_.add(change, in_a.types(), in_b.types());
  }
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    by_value_.emplace(trials_[i].piece.watched, i);
    seen_[trials_[i].piece.watched] = {};
    if (!operands_.contains(trials_[i].change)) add_operands(*trials_[i].change);
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

void Trials::add_operands(const Change& change) {
  std::vector<const Node*> nodes{change.a->producer(), change.b->producer()};
  nodes.insert(nodes.end(), change.of_a.begin(), change.of_a.end());
  nodes.insert(nodes.end(), change.of_b.begin(), change.of_b.end());
  const std::unordered_set<const Node*> inner(nodes.begin(), nodes.end());
  std::vector<const Value*>& operands = operands_[&change];
  for (const Node* const node : inner) {
    if (node == nullptr) continue;
    for (const Value* const input : node->inputs()) {
      if (input == nullptr || input->is_stored_constant() || inner.contains(input->producer())) continue;
      operands.push_back(input);
      seen_[input] = {};
    }
  }
}

void Trials::start_run() {
  for (Trial& trial : trials_) trial.deepest = 0;
  for (auto& [value, seen] : seen_) seen = {};
}

void Trials::watch(const Value& value, const Datum& datum) {
  casts_.watch(value, datum);
  const auto seen = seen_.find(&value);
  if (seen == seen_.end()) return;
  seen->second.yardstick.add(datum);
  seen->second.type = type_of(datum);
  const auto [first, last] = by_value_.equal_range(&value);
  for (auto at = first; at != last; ++at) {
    Trial& trial = trials_[at->second];
    for (const Tensor& tensor : leaves(datum)) {
      if (!trial.is_tried && tensor) trial.deepest = std::max(trial.deepest, deepest_of(tensor, trial.piece));
    }
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

void Trials::end_sample() {
  for (Trial& trial : trials_) trial.is_tried = trial.is_tried || trial.deepest > rounding_of(*trial.piece.watched);
}

void Trials::end_comparison(const std::vector<LayerResult>& layers) {
  std::unordered_map<const Change*, const LayerResult*> compared;
  for (const LayerResult& layer : layers) compared.emplace(change_of(layer), &layer);
  for (Trial& trial : trials_) {
    const auto found = compared.find(trial.change);
    trial.is_tried = trial.is_tried || (found != compared.end() && trial.deepest > rounding_of(trial, *found->second));
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
