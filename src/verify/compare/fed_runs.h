#pragma once

#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/fed_values.h"
#include "verify/compare/layers.h"
#include "verify/run/session.h"

namespace relayout {

/// Runs the two models with each node fed a's values. a's values are stored in a temporary file. Besides the running Session, at most one
/// value of a model is in memory at a time, and no two Sessions exist at once.
class FedRuns {
 public:
  /// `excerpt`: where possible, only its nodes run, and values outside it are not compared; null: all nodes run.
  FedRuns(const LayerTask& task, Layers& layers, const Excerpt* excerpt = nullptr);

  /// Runs a, captures its values, and resets all layers.
  void capture();
  /// Discards the results of b's runs, except for layers that their readers judge. Floors become the least floor of the type.
  void reset();
  /// Widens the floors by runs of a with moved constants. Values without a partner, and values set apart, are moved too, because only one
  /// of the two models rounds them. Fed values are rounded to the type in which b holds them: b's nodes get no better operands, and a sum
  /// of values that cancel (a mean near 0) makes that rounding large relative to its result.
  void measure_floors(int first_draw, int count);
  /// Runs b and compares the results that its nodes compute from a's values.
  void feed_candidate(Mode mode = Mode::as_written);
  /// Widens the floors of layers that differ by the movement of b's own values when values without a partner move: b's rounding counts as
  /// much as a's.
  void widen_by_candidate(int draw);
  /// Runs b on its own values and measures their correlation with a's and their error by depth. `by_depth`: also measures how far a's
  /// values move when its constants do.
  void run_unfed(bool by_depth);
  using Observer = std::function<void(const Value& value, const Datum& datum)>;
  /// The values that a's nodes are fed: its own, or those rounded to the types in which b's nodes read them.
  enum class Operands { as_made, as_held };
  /// Runs a side with each node fed a's values. `observer` gets every result before another value is fed in its place. `draw`: with moved
  /// constants; values that are not fed are moved too.
  void run_fed(const Side& side, const Observer& observer, std::optional<int> draw, Operands operands = Operands::as_made) const;
  /// The inputs that these runs get.
  [[nodiscard]] Inputs inputs() const;
  /// Runs a side and passes the results that are paired and compared by distance to the visitor, each with a's value, both in their own
  /// types. Readers get `datum` as the visitor leaves it.
  using Visitor = std::function<void(const Layer& layer, const Datum& reference, const Datum& datum)>;
  using Edit = std::function<void(const std::string&, Tensor&)>;
  /// Returns the element types of all values.
  std::unordered_map<const Value*, DataType> visit(const Side& side, const Visitor& visitor, Edit edit = {});
  /// Whether readers of a value got a different structure than a's because its producer was left out.
  [[nodiscard]] bool has_misfed() const noexcept { return misfed_; }
  /// The captured values of layers.
  [[nodiscard]] const LayerValues& kept() const noexcept { return kept_; }
  /// Decides whether a layer is the same or different, by its current metrics and floor.
  void decide(Layer& layer) const;

 private:
  /// `observer` gets the results of nodes that run; the results of other nodes are filled in.
  void execute_parts(const Side& side, const Observer& observer, Edit edit, Mode mode);
  /// Feeds a's value in the place of the result of a node that was left out.
  void fill(const Side& side, const Value& value, const Datum& datum);
  /// Feeds a value in the place of `datum`: `reference`, or the sample's if those beside it are wanted.
  void feed(const Layer& layer, const Datum& datum, const Datum& reference, bool of_b) const;
  void compare(Layer& layer, const Datum& datum);
  /// Whether b's value has a's elements in the same order with other dims, as from tools that move a flatten upstream of a product and keep
  /// the name.
  [[nodiscard]] bool is_flat(const Layer& layer, const Datum& datum) const;

  const LayerTask* task_;
  Layers* layers_;
  const Excerpt* excerpt_;
  bool misfed_ = false;
  LayerValues kept_;
  FedValues values_;
};

}  // namespace relayout
