#pragma once

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/layers.h"
#include "verify/run/bounds.h"
#include "verify/run/session.h"

namespace relayout {

/// The kinds of numbers fed to nodes compared one by one (exact, by_depth, shaken, odd, of one magnitude, near, middle, far, tied, of one
/// sign, NaN, infinities), and which of them are free or on an edge; the same for both models.
enum class Feeding : uint8_t {
  exact,     ///< the original's values
  by_depth,  ///< as `exact`, and another run with b's own values, for errors by depth
  shaken,    ///< values slightly off the original's: constants that zeros hide then have an effect
  odd,       ///< inputs that may hold any integer are integers that floating-point types do not hold, and their neighbours
  /// Inputs (unless given by the user) and results of linear operators are replaced by numbers of either sign: near one
  /// (thresholds::kNearPowers) and zeros, up to 2000 (thresholds::kMiddlePowers), or of all magnitudes (thresholds::kFarPowers); the same
  /// in every type. All other values are computed by the original from those. This reaches branches that the samples do not reach. Numbers
  /// of one small magnitude (thresholds::kSmallPowers and so on) let what is added to them count by its own size.
  small,
  tiny,
  faint,
  faintest,
  near,
  middle,
  far,
  /// The original's values with numbers that some operators treat apart. `tied`: a value's elements are replaced by a few of its own
  /// numbers, so that many are equal. The others: some elements and whole rows are NaN, infinity or minus infinity, where inputs could lead
  /// to them. Masks are then all 0 (NaN, minus infinity) or all 1 (infinity).
  tied,
  /// Inputs (unless given by the user) and results of linear operators are replaced by numbers of one sign, which are far from 0 and from a
  /// padding near it.
  negative,
  positive,
  not_a_number,
  infinite,
  minus_infinite,
};

/// Whether the original's values are replaced by numbers that do not follow from the inputs.
[[nodiscard]] constexpr bool is_free(Feeding feeding) noexcept {
  return feeding >= Feeding::small && feeding <= Feeding::far;
}

/// Whether all numbers are replaced by those of one sign.
[[nodiscard]] constexpr bool is_of_one_sign(Feeding feeding) noexcept {
  return feeding == Feeding::negative || feeding == Feeding::positive;
}

/// Whether equal numbers, numbers of one sign, NaN or infinities are placed among the original's values.
[[nodiscard]] constexpr bool is_edge(Feeding feeding) noexcept {
  return feeding >= Feeding::tied;
}

/// What a comparison node by node gets: both models, options, the sample's inputs and masks, the kind of feeding, B's 16-bit type, progress
/// and observers.
struct LayerTask {
  const Side* a = nullptr;
  const Side* b = nullptr;
  const VerifyOptions* options = nullptr;
  DataType grain = DataType::undefined;  ///< the 16-bit type in which b computes but a does not
  OpenSession open = open_session;
  const Layers* layers = nullptr;  ///< the values that both have; nullptr: they are paired anew
  std::function<void()> progress;  ///< called before each run, if set
  std::function<Inputs()> inputs;
  std::set<std::string> plain_integers;  ///< inputs that may hold any integer
  std::set<std::string> masks;           ///< inputs of zeros and ones that select the elements that count
  /// Called with each value of either model as its readers get it, including inputs, if set.
  std::function<void(const Value& value, const Datum& datum)> watch;
  int sample = 0;
  Feeding feeding = Feeding::exact;

  /// The coarser of a value's own type and the type in which b computes.
  [[nodiscard]] DataType type_of_floor(DataType type) const { return relayout::type_of_floor(type, grain); }
};

/// Whether a node searches for the largest or smallest of several numbers, and defines which of equal ones it takes.
[[nodiscard]] bool is_search(const Node& node);

/// Whether a node may treat NaN or infinities apart from all other numbers: it tests for them, limits or compares numbers, or chooses by
/// such a test or comparison of the values that it passes on.
[[nodiscard]] bool may_treat_apart(const Node& node);

/// Whether a node treats equal numbers, NaN or infinities apart on purpose: a search, a test, a choice by a test or by a comparison of the
/// values that it passes on.
[[nodiscard]] bool treats_apart(const Node& node);

/// Whether only numbers of one sign may show what a node does: the padding at a border is the largest number of a window, the largest
/// number of every row in front of a limit is on one side of it, or all large numbers become equal in front of a search.
[[nodiscard]] bool depends_on_sign(const Node& node);

/// Whether a node reads the result of a test for NaN or infinities, perhaps reduced: any of a value's elements, all, or their number.
[[nodiscard]] bool follows_test(const Node& node);

/// The values of a graph that floating-point inputs reach through floating-point values alone. Inputs may make these values NaN or
/// infinite, and no others unless something overflows.
class RealReach {
 public:
  RealReach() = default;
  explicit RealReach(const Graph& graph);

  [[nodiscard]] bool has(const Value& value) const { return values_.contains(&value); }

 private:
  std::unordered_set<const Value*> values_;
};

/// Overwrites a value, in place, with the one that its consumers are fed.
class FedValues {
 public:
  explicit FedValues(const LayerTask& task);

  /// Notes that a has values of this type.
  void note_type(DataType type) { coarsest_ = std::max(coarsest_, unit_roundoff(type)); }
  /// Moves the elements of a value by one rounding, unless its type is coarser than all types of a.
  void move(const Value& value, const Datum& datum, int draw) const;
  /// Overwrites `datum` with the value that the consumers of a layer are fed.
  void feed(const Layer& layer, const Datum& datum, const Datum& reference) const;
  /// Overwrites a graph input with the numbers that the feeding prescribes.
  void feed_input(const std::string& name, const Datum& datum) const;
  /// Rounds a value fed to a to the type in which b's nodes read it, where b is meant to compute in types as coarse.
  void hold(const Layer& layer, const Datum& datum) const;
  /// For ExecuteOptions::edit_constant: rounds constants of a likewise that b stores under the same name in such a type.
  [[nodiscard]] std::function<void(const std::string&, Tensor&)> holding_constants() const;

 private:
  /// Replaces the elements of a floating-point tensor, and of an input that may hold any integer, by random numbers of the magnitudes of
  /// the feeding.
  void fill(const std::string& name, const Datum& datum) const;
  /// Replaces integers by neighbours that floating-point types do not hold.
  void make_odd(const std::string& name, const Datum& datum) const;
  /// Replaces elements by others of the same tensor, so that many are equal.
  void tie(const std::string& name, const Datum& datum) const;
  /// Replaces the elements by numbers of the feeding's sign.
  void fill_of_one_sign(const std::string& name, const Datum& datum) const;
  /// Replaces some elements and rows by the feeding's number (NaN, an infinity), or all elements by numbers of its sign.
  void sprinkle(const std::string& name, const Datum& datum) const;

  const LayerTask* task_;
  RealReach reach_;
  double coarsest_ = 0;  ///< unit roundoff of the narrowest type among a's values
};

}  // namespace relayout
