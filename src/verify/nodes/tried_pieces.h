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

/// A piece of a node by which the models part, and its change.
struct Trial {
  Piece piece;
  const Change* change = nullptr;
  bool is_of_a = false;
  double deepest = 0;  ///< Piece::depth() of the numbers of the run at hand
  bool is_tried = false;
};

/// The pieces of all changes that are open, and those that runs have tried. A piece is tried by numbers that lie so deep in it that another
/// treatment of them is no rounding beside the other numbers of the run.
class Trials {
 public:
  Trials(const Pair& pair, const Reference& reference, const ProofResult& proof);

  /// Forgets the numbers of the run before.
  void start_run();
  /// Notes the numbers of a value.
  void watch(const Value& value, const Datum& datum);
  /// Ends a run over a sample, whose results are compared elsewhere.
  void end_sample();
  /// Ends a comparison of nodes. A change that it did not come to is not tried.
  void end_comparison(const std::vector<LayerResult>& layers);

  /// The first piece that no run has tried; nullptr: none.
  [[nodiscard]] const Trial* find_open() const;
  /// The same of each change that has one.
  [[nodiscard]] std::map<const Change*, Trial> open_by_change() const;
  [[nodiscard]] const CastsBeyond& casts() const noexcept { return casts_; }
  /// Whether samples can add to what is known.
  [[nodiscard]] bool are_open() const { return find_open() != nullptr || casts_.any(); }
  [[nodiscard]] const Change* change_of(const LayerResult& layer) const { return changes_.of_b(layer.tensor); }

 private:
  /// Numbers of a value in the run at hand.
  struct Seen {
    Yardstick yardstick;
    DataType type = DataType::undefined;
  };

  void add(const Change& change, ValueBounds& in_a, ValueBounds& in_b, bool is_wide);
  void add_operands(const Change& change);
  /// The largest difference between numbers of a value that is rounding.
  [[nodiscard]] double rounding_of(const Value& watched) const;
  /// The same between results of a change.
  [[nodiscard]] double rounding_of(const Trial& trial, const LayerResult& layer) const;

  const Pair* pair_;
  Changes changes_;
  std::vector<Trial> trials_;
  CastsBeyond casts_;
  std::unordered_multimap<const Value*, std::size_t> by_value_;
  std::unordered_map<const Change*, std::vector<const Value*>> operands_;  ///< of a change's nodes, made by none of them
  std::unordered_map<const Value*, Seen> seen_;
};

}  // namespace relayout
