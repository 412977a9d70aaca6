#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/nodes/excerpt.h"
#include "verify/nodes/fed_values.h"
#include "verify/nodes/layer_task.h"
#include "verify/nodes/layers.h"
#include "verify/session.h"

namespace relayout {

/// Runs of the two models in which nodes are fed the values that a has in their place. a's values lie in a temporary file; of a model
/// never more than a value at a time is held besides the running Session, and Sessions live one after the other.
class FedRuns {
 public:
  /// `excerpt`: runs no other nodes than those where it may; null: all. Values outside it are then not compared.
  FedRuns(const LayerTask& task, Layers& layers, const Excerpt* excerpt = nullptr);

  /// Captures a's values; every layer is as before any run of b.
  void capture();
  /// Every layer as before any run of b, but those of another structure; its floor is one rounding of a's value.
  void reset();
  /// Widens the floors by runs of a with moved constants; values without a partner, and those apart, are moved as well: they are rounded
  /// in one of the two models and not in the other. Fed values are rounded as b holds them: b's nodes get no better operands, and one that
  /// adds up values which cancel (a mean near 0) makes that rounding large beside its result.
  void measure_floors(int first_draw, int count);
  /// Runs b and compares what its nodes make of a's values.
  void feed_candidate(Mode mode = Mode::as_written);
  /// Widens the floors of layers that differ by how far b's own values move when those without a partner do: b's rounding is as honest as
  /// a's.
  void widen_by_candidate(int draw);
  /// Runs b on its own values: how they go together with a's. `by_depth`: also how far a's values lie apart when its constants move.
  void run_unfed(bool by_depth);
  using Observer = std::function<void(const Value& value, const Datum& datum)>;
  /// Runs a side, each node fed a's values; `observer` is told of all that nodes make, before others are fed in its place. `draw`: with
  /// moved constants, and what is not fed is moved as well.
  void run_fed(const Side& side, const Observer& observer, std::optional<int> draw) const;
  /// Runs a side and hands over what its nodes make of values that are paired and compared by distance, beside a's; each in its own type.
  /// What the visitor leaves in `datum` is what readers get.
  using Visitor = std::function<void(const Layer& layer, const Datum& reference, const Datum& datum)>;
  using Edit = std::function<void(const std::string&, Tensor&)>;
  /// Returns the element types of all values.
  std::unordered_map<const Value*, DataType> visit(const Side& side, const Visitor& visitor, Edit edit = {});
  /// Whether the readers of a value got another structure than a's, as the node that makes it was left out.
  [[nodiscard]] bool has_misfed() const noexcept { return misfed_; }
  /// What the runs have made of layers.
  [[nodiscard]] const LayerValues& kept() const noexcept { return kept_; }
  /// Same or different, by the metrics and the floor at hand.
  void decide(Layer& layer) const;

 private:
  /// `observer` is told of nodes that run, the values of others are filled in.
  void execute_parts(const Side& side, const Observer& observer, Edit edit, Mode mode);
  /// a's value in the place of one whose node was left out.
  void fill(const Side& side, const Value& value, const Datum& datum);
  void compare(Layer& layer, const Datum& datum);
  /// Whether b's value is a's in the same order under other dims: tools that fuse flatten in front of products and keep the name.
  [[nodiscard]] bool is_flat(const Layer& layer, const Datum& datum) const;

  const LayerTask* task_;
  Layers* layers_;
  const Excerpt* excerpt_;
  bool misfed_ = false;
  LayerValues kept_;
  FedValues values_;
};

}  // namespace relayout
