#pragma once

#include "ops/bounds.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/changes.h"
#include "verify/pair.h"
#include "verify/run/reference.h"
#include "verify/run/reference_output.h"

namespace relayout {

/// Bounds of values from the definitions of operators: the result of a Sigmoid is never below 0. NaN aside.
class ValueBounds {
 public:
  /// `masks`: inputs of zeros and ones; `kept`: inputs of integers that are sizes, counts, positions or ids.
  ValueBounds(const Graph& graph, std::set<std::string> masks, std::map<std::string, Bounds> kept);

  [[nodiscard]] Bounds of(const Value& value);
  [[nodiscard]] const ElementTypes& types() const noexcept { return types_; }

 private:
  [[nodiscard]] Bounds find(const Value& value);
  [[nodiscard]] Bounds of_input(const Value& value) const;

  OpSignatures signatures_;
  ElementTypes types_;
  Constants constants_;
  std::set<std::string> masks_;
  std::map<std::string, Bounds> kept_;
  std::unordered_map<const Value*, Bounds> known_;
  int depth_ = 0;
};

/// A range of numbers for which a node has a rule of its own: for a Clip those above its limit. Samples outside it do not test the rule.
struct Piece {
  const Node* node = nullptr;
  const Value* watched = nullptr;  ///< holds the numbers: an operand, the condition of a Where, or the node's own result
  double above = 0, below = 0;     ///< the ends of the range; with `is_point`, both are the number
  bool is_point = false;

  /// Distance of a number in this piece from the nearest number in another piece; 0 for a number outside this piece. At a point, where the
  /// replacement of the number is unknown, the magnitude of the number and at least 1; at a result or condition, infinite.
  [[nodiscard]] double depth(double number) const;
  /// Whether the numbers are true and false: a result, or a condition.
  [[nodiscard]] bool is_truth() const;
  /// Such as "number above 6".
  [[nodiscard]] std::string text() const;
};

/// Casts of real numbers beyond the range of their integer type. ONNX leaves the result to the implementation: such a Cast is no limit,
/// whatever the executor returns.
class CastsBeyond {
 public:
  /// Adds the Casts among the nodes of a change and the producers of its values.
  void add(const Change& change, const ElementTypes& types_a, const ElementTypes& types_b);
  [[nodiscard]] bool any() const noexcept { return !casts_.empty(); }
  /// Notes numbers that a Cast reads.
  void watch(const Value& value, const Datum& datum);

  /// A Cast that gets numbers beyond its type, where no Cast to this type among the change's nodes of the other model does.
  struct Found {
    const Node* cast = nullptr;  ///< nullptr: none
    const Change* change = nullptr;
    bool is_of_a = false;
    std::string type;
  };
  [[nodiscard]] Found find() const;

 private:
  struct Cast {
    const Node* node = nullptr;
    const Change* change = nullptr;
    bool is_of_a = false;
    DataType to = DataType::undefined;
    bool is_beyond = false;  ///< a run had such a number
  };
  void add(const Change& change, const Node& node, bool is_of_a, const ElementTypes& types);

  std::vector<Cast> casts_;
  std::unordered_multimap<const Value*, std::size_t> by_operand_;
};

/// A piece of a node in which the models differ, and its change.
struct Trial {
  Piece piece;
  const Change* change = nullptr;
  bool is_of_a = false;
  bool by_sizes = false;                     ///< a condition that depends on sizes alone
  double deepest = 0;                        ///< largest Piece::depth() in the current run
  int64_t inside = 0;                        ///< numbers in the piece in the current run
  std::vector<const Node*> selections = {};  ///< nodes of the change downstream that pass on some of the elements only
  double passed_on = 0;                      ///< of the numbers in the piece, over all runs: how many to expect in the results compared
  bool is_tried = false;
};

/// The pieces of all open changes, and those that runs have tried. A piece is tried by numbers so deep in it that a different treatment of
/// them exceeds rounding of the other numbers of the run; where nodes downstream select elements, by so many that some are selected.
class Trials {
 public:
  Trials(const Pair& pair, const Reference& reference, const Changes& changes);

  /// Forgets the numbers of the previous run.
  void start_run();
  /// Notes the numbers of a value.
  void watch(const Value& value, const Datum& datum);
  /// Notes conditions that the current run over a model did not show, as they follow from these sizes of its inputs.
  void note_sizes(const Side& side, const std::map<std::string, Dims>& sizes);
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

 private:
  /// Numbers of a value in the current run.
  struct Seen {
    Yardstick yardstick;
    DataType type = DataType::undefined;
  };

  void add(const Change& change, ValueBounds& in_a, ValueBounds& in_b, bool is_wide);
  void add_sides(const Change& change, ValueBounds& in_a, ValueBounds& in_b);
  void add_operands(const Change& change);
  void add_selections(Trial& trial);
  /// Of an input of a graph that a node runs: the values from which it comes.
  void add_sources(const Value& value);
  void note(const Value& value, const Datum& datum);
  /// Whether the current run entered the graph of a piece's node: its operand may come from outside.
  [[nodiscard]] bool has_run(const Trial& trial) const { return entered_.contains(&trial.piece.node->graph()); }
  /// Notes whether the current run tried a piece, by numbers deeper in it than `rounding`.
  void note_tried(Trial& trial, double rounding);
  /// How many results of a change an element of a piece has on average, in the current run.
  [[nodiscard]] double share_passed_on(const Trial& trial) const;
  /// The largest difference between numbers of a value that may be rounding.
  [[nodiscard]] double rounding_of(const Value& watched) const;
  /// The largest difference between results of a change that may be rounding.
  [[nodiscard]] double rounding_of(const Trial& trial, const LayerResult& layer) const;

  const Pair* pair_;
  const Changes* changes_;
  std::vector<Trial> trials_;
  CastsBeyond casts_;
  std::unordered_multimap<const Value*, std::size_t> by_value_;
  std::unordered_map<const Change*, std::vector<const Value*>> operands_;  ///< operands of a change's nodes that none of these computes
  std::unordered_map<const Value*, Seen> seen_;
  std::unordered_set<const Graph*> entered_;                       ///< in the current run
  std::unordered_multimap<const Value*, const Value*> passed_to_;  ///< inputs of graphs that nodes run, by the values that they take
};

}  // namespace relayout
