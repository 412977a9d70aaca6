#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/positions.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/error_bounds.h"
#include "verify/spill.h"
#include "verify/yardstick.h"

namespace relayout {

/// Two values that should be equal, made by nodes of two models, and what is known of their comparison.
struct Layer {
  const Value* a = nullptr;
  const Value* b = nullptr;
  bool by_structure = false;
  bool before_jump = false;                           ///< not fed, unless a jump behind it differs
  std::optional<Spill::Stored> reference, candidate;  ///< a's value, b's fed one
  DataType type = DataType::undefined;                ///< of a's value; of a sequence, its first tensor's
  DataType held = DataType::undefined;                ///< the coarsest type in which b's nodes read the value
  Yardstick yardstick;
  Floor floor;
  SampleMetrics metrics;
  /// On the whole: how much larger b's values are, and how much rounding may make them so.
  struct Gain {
    double measured = 0, floor = 0;
  } gain;
  double correlation = 1;  ///< when b goes on from its own values
  /// Of b's own values, with all that came before: how far they lie from a's, and a's from a's when its constants move.
  DepthError depth;
  int64_t flips = 0;
  bool compared = false;
  bool other_structure = false;  ///< b's value has other dims or another type: nothing is fed in its place, its readers tell
  bool flat = false;             ///< b's value has a's elements in the same order under other dims
  bool mask = false;             ///< differs in elements alone that are minus infinity to every Softmax behind: nothing is fed either
  bool channels_last = false;    ///< b's value has a's second axis behind the others
  bool leaks = false;            ///< an operand of it in one of both models is read by others too, past the value that is fed
  bool apart = false;            ///< for now not fed to anything
  bool unseen = false;           ///< no run has made it: b computes it before it runs, as it depends on dims alone, or it stopped upstream

  /// Whether nodes that read it go on from b's own value, and tell by what they make of it.
  [[nodiscard]] bool told_by_readers() const { return other_structure || mask; }
  [[nodiscard]] bool differs() const { return metrics.outcome == Outcome::different; }
};

/// What runs have made of layers, in a temporary file: of a all values, of b those that differ.
class LayerValues {
 public:
  void keep_reference(Layer& layer, const Datum& datum) { layer.reference = spill_.write(datum); }
  void keep_candidate(Layer& layer, const Datum& datum) { layer.candidate = spill_.write(datum); }
  /// a's value of a layer, as a makes it.
  [[nodiscard]] Datum reference(const Layer& layer) const { return spill_.read(*layer.reference); }
  /// And as b holds it; `made`: what b makes.
  [[nodiscard]] Datum reference_for(const Layer& layer, const Datum& made) const;
  /// b's value of a layer that differs.
  [[nodiscard]] Datum candidate(const Layer& layer) const { return spill_.read(*layer.candidate); }
  /// What a relation says of a's value of a layer and b's that differs; both in the wider of their types.
  [[nodiscard]] bool differs_in(const Layer& layer, bool (*relation)(const Datum&, const Datum&)) const;

 private:
  Spill spill_;
};

/// The layers of two models, in the order of b's nodes; values without a partner have none.
class Layers {
 public:
  Layers(const Graph& a, const Graph& b);

  [[nodiscard]] std::vector<Layer>& all() noexcept { return layers_; }
  [[nodiscard]] const std::vector<Layer>& all() const noexcept { return layers_; }
  [[nodiscard]] std::size_t place_of(const Layer& layer) const { return as_size(&layer - layers_.data()); }
  [[nodiscard]] Layer* of_a(const Value& value);
  [[nodiscard]] Layer* of_b(const Value& value);
  [[nodiscard]] const Layer* of_a(const Value& value) const;
  [[nodiscard]] const Layer* of_b(const Value& value) const;
  /// The layer of a value of a that a run has captured, or of a value of b in the place of which a captured one is fed; nullptr: none.
  [[nodiscard]] Layer* captured(const Value& value_of_a);
  [[nodiscard]] Layer* fed(const Value& value_of_b);
  /// The layers that a layer's nodes in b read.
  [[nodiscard]] std::vector<std::size_t> upstream(const Layer& layer) const;
  /// The nodes that make a layer's value out of values that are fed, in a and in b; through values that no run has made.
  [[nodiscard]] std::vector<const Node*> region_in_a(const Layer& layer) const;
  [[nodiscard]] std::vector<const Node*> region_in_b(const Layer& layer) const;
  /// Whether b makes a layer of nodes behind which another layer is fed that a makes it of: what is fed there reaches it in a alone.
  [[nodiscard]] bool goes_past_fed(const Layer& layer) const;

 private:
  using ByValue = std::unordered_map<const Value*, std::size_t>;
  [[nodiscard]] std::vector<const Node*> region(const Value& value, const ByValue& by_value) const;
  [[nodiscard]] bool leaks(const Layer& layer) const;

  std::vector<Layer> layers_;
  ByValue by_a_, by_b_;
};

}  // namespace relayout
