#pragma once

#include <cstddef>
#include <map>
#include <unordered_map>
#include <vector>

#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/nodes/casts_beyond.h"
#include "verify/nodes/changes.h"
#include "verify/nodes/pieces.h"
#include "verify/nodes/value_bounds.h"
#include "verify/pair.h"
#include "verify/reference.h"
#include "verify/yardstick.h"

namespace relayout {

/// A piece of a node in which the models differ, and its change.
struct Trial {
  Piece piece;
  const Change* change = nullptr;
  bool is_of_a = false;
  double deepest = 0;  ///< largest Piece::depth() in the current run
  bool is_tried = false;
};

/// The pieces of all open changes, and those that runs have tried. A piece is tried by numbers so deep in it that a different treatment of
/// them exceeds rounding of the other numbers of the run.
class Trials {
 public:
  Trials(const Pair& pair, const Reference& reference, const ProofResult& proof);

  /// Forgets the numbers of the previous run.
  void start_run();
  /// Notes the numbers of a value.
  void watch(const Value& value, const Datum& datum);
  /// Ends a run over a sample; its results are compared elsewhere.
  void end_sample();
  /// Ends a comparison of nodes. A change that it did not compare is not tried.
  void end_comparison(const std::vector<LayerResult>& layers);

  /// The first piece that no run has tried; nullptr: none.
  [[nodiscard]] const Trial* find_open() const;
  /// The first such piece of each change that has one.
  [[nodiscard]] std::map<const Change*, Trial> open_by_change() const;
  [[nodiscard]] const CastsBeyond& casts() const noexcept { return casts_; }
  /// Whether more samples can add evidence.
  [[nodiscard]] bool are_open() const { return find_open() != nullptr || casts_.any(); }
  [[nodiscard]] const Change* change_of(const LayerResult& layer) const { return changes_.of_b(layer.tensor); }

 private:
  /// Numbers of a value in the current run.
  struct Seen {
    Yardstick yardstick;
    DataType type = DataType::undefined;
  };

  void add(const Change& change, ValueBounds& in_a, ValueBounds& in_b, bool is_wide);
  void add_operands(const Change& change);
  /// The largest difference between numbers of a value that may be rounding.
  [[nodiscard]] double rounding_of(const Value& watched) const;
  /// The largest difference between results of a change that may be rounding.
  [[nodiscard]] double rounding_of(const Trial& trial, const LayerResult& layer) const;

  const Pair* pair_;
  Changes changes_;
  std::vector<Trial> trials_;
  CastsBeyond casts_;
  std::unordered_multimap<const Value*, std::size_t> by_value_;
  std::unordered_map<const Change*, std::vector<const Value*>> operands_;  ///< operands of a change's nodes that none of these computes
  std::unordered_map<const Value*, Seen> seen_;
};

}  // namespace relayout
