#pragma once

#include <unordered_set>

#include "base/positions.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/run/bounds.h"
#include "verify/run/reference_output.h"
#include "verify/run/spill.h"

namespace relayout {

/// Maximum number of nodes in a region.
inline constexpr std::size_t kLargestRegion = 64;
/// The nodes that compute `value` from values for which `ends` holds, its producer last; at most kLargestRegion.
[[nodiscard]] std::vector<const Node*> region_of(const Value& value, const std::function<bool(const Value&)>& ends);

/// The nodes of the main graphs that the unexplained differences of a proof change.
class Suspects {
 public:
  /// Indices into ProofResult::unexplained.
  using Entries = std::vector<std::size_t>;

  Suspects(const ProofResult& proof, const Graph& a, const Graph& b);

  /// The entries that change one of these nodes, of b or of a, and those that concern every node; each once, in order.
  [[nodiscard]] Entries of(const std::vector<const Node*>& nodes) const;
  /// Whether the proof did not reach one of these nodes of b (ProofResult::unreached).
  [[nodiscard]] bool are_unreached(const std::vector<const Node*>& nodes) const;
  /// The last of these nodes that `is_wanted` accepts and that an entry was placed at; nullptr: none.
  [[nodiscard]] const Node* last_of(const std::vector<const Node*>& nodes, bool (*is_wanted)(const Node&)) const;
  /// Entries that concern every node: placed at none, in a function, or about whole graphs.
  [[nodiscard]] const Entries& everywhere() const noexcept { return everywhere_; }

 private:
  /// The names in a model that an entry may refer to.
  struct Names {
    std::unordered_multimap<std::string_view, const Node*> nodes;    ///< by the name of the node
    std::unordered_multimap<std::string_view, const Value*> values;  ///< results of nodes, and initializers
  };
  static Names names_of(const Graph& graph);
  void add(std::size_t entry, const Unexplained& unexplained, const Names& names);
  void add_reader(std::size_t entry, const Node& node);
  [[nodiscard]] const Node* narrow_maker(const Node& node) const;

  std::unordered_map<const Node*, Entries> by_node_;
  Entries everywhere_;
  std::unordered_set<const Node*> unreached_;
  std::unordered_map<const Node*, const Node*> narrow_makers_;  ///< of Casts that widen: values are compared in front of these
};

/// Two values of the two models that should be equal, and the state of their comparison.
struct Layer {
  const Value* a = nullptr;
  const Value* b = nullptr;
  bool by_structure = false;
  bool before_jump = false;                           ///< not fed, unless a jump downstream of it differs
  std::optional<Spill::Stored> reference, candidate;  ///< a's value; b's, computed from fed values, if it differs
  std::optional<Spill::Stored> sampled;               ///< a's value over the sample, where readers are fed values beside that
  DataType type = DataType::undefined;                ///< of a's value; of a sequence, its first tensor's
  DataType held = DataType::undefined;                ///< the coarsest type in which b's nodes read the value
  Yardstick yardstick;
  Floor floor;
  SampleMetrics metrics;
  /// Relative excess of b's values over a's as a whole, and the excess that rounding may cause.
  struct Gain {
    double measured = 0, floor = 0;
  } gain;
  double correlation = 1;  ///< between a's and b's values when b runs on its own values
  /// Accumulated error of b's value when b runs on its own values, and that of a's value when its constants move.
  DepthError depth;
  int64_t flips = 0;
  bool compared = false;
  bool other_structure = false;  ///< b's value has other dims or another type: it is not fed, and its readers decide
  bool flat = false;             ///< b's value has a's elements in the same order under other dims
  bool mask = false;             ///< differs only in elements that act as minus infinity in every Softmax downstream: not fed either
  bool channels_last = false;    ///< b's value has a's second axis last
  bool leaks = false;            ///< another value fed in its place would reach some readers in one of the models alone
  bool apart = false;            ///< currently not fed to its readers
  bool renamed = false;          ///< the name denotes another value in b: whoever reads it is compared, with the nodes of both
  bool unseen = false;  ///< no run has computed it: it depends on dims alone, so that b computes it in advance, or the run stopped upstream

  /// Whether its readers continue from b's own value, and their results decide about it.
  [[nodiscard]] bool is_judged_by_readers() const { return other_structure || mask; }
  [[nodiscard]] bool differs() const { return metrics.outcome == Outcome::different; }
  /// Makes it the same.
  void acquit() {
    metrics.outcome = Outcome::same;
    metrics.reason.clear();
    candidate.reset();
  }
};

/// Captured values of layers in a temporary file: all of a's, and those of b that differ.
class LayerValues {
 public:
  void keep_reference(Layer& layer, const Datum& datum) { layer.reference = spill_.write(datum); }
  void keep_candidate(Layer& layer, const Datum& datum) { layer.candidate = spill_.write(datum); }
  void keep_sampled(Layer& layer, const Datum& datum) { layer.sampled = spill_.write(datum); }
  /// a's value of a layer, as a computes it.
  [[nodiscard]] Datum reference(const Layer& layer) const { return spill_.read(*layer.reference); }
  /// The same in b's order and dims; `made`: b's value.
  [[nodiscard]] Datum reference_for(const Layer& layer, const Datum& made) const { return in_form_of(made, layer, reference(layer)); }
  /// The value over the sample in the form of `reference`, which is a's or, `of_b`, in b's order; `reference` itself where there is none.
  [[nodiscard]] Datum sampled_or(const Datum& reference, const Layer& layer, bool of_b) const;
  /// b's value of a layer that differs.
  [[nodiscard]] Datum candidate(const Layer& layer) const { return spill_.read(*layer.candidate); }
  /// Whether a relation holds for a's value of a layer and b's different one, both in the wider of their types.
  [[nodiscard]] bool differs_in(const Layer& layer, bool (*relation)(const Datum&, const Datum&)) const;

 private:
  [[nodiscard]] static Datum in_form_of(const Datum& made, const Layer& layer, const Datum& value);

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
  /// The layer of a value of a if a run has captured it, and that of a value of b if a captured value is fed in its place; else nullptr.
  [[nodiscard]] Layer* captured(const Value& value_of_a);
  [[nodiscard]] Layer* fed(const Value& value_of_b);
  /// Indices of the layers that a layer's nodes in b read.
  [[nodiscard]] std::vector<std::size_t> upstream(const Layer& layer) const;
  /// The nodes of a, or of b, that compute a layer's value from fed values; values that are not fed, or that no run has computed, are
  /// intermediate ones.
  [[nodiscard]] std::vector<const Node*> region_in_a(const Layer& layer) const;
  [[nodiscard]] std::vector<const Node*> region_in_b(const Layer& layer) const;
  /// Whether a computes a layer from another layer that b bypasses: b computes both from the same nodes. A value fed to that other layer
  /// then reaches this layer in a only.
  [[nodiscard]] bool bypasses_fed(const Layer& layer) const;

 private:
  using ByValue = std::unordered_map<const Value*, std::size_t>;
  [[nodiscard]] std::vector<const Node*> region(const Value& value, const ByValue& by_value) const;
  /// Whether an intermediate value of a layer, in either model, is also read outside, which bypasses the fed value.
  [[nodiscard]] bool leaks(const Layer& layer) const;
  /// Marks the values that one model alone reads for a layer, unless what the other one reads instead is computed from them.
  void mark_unshared(const Layer& layer);

  std::vector<Layer> layers_;
  ByValue by_a_, by_b_;
};

/// Entries of nodes by which the makers of a layer's two values read others than each other's partners: a name that both models have may be
/// that of another value for the proof, which places the difference at the node of that name, though its readers differ.
[[nodiscard]] Suspects::Entries misread_entries(const Layers& layers, const Layer& layer, const Suspects& suspects);

/// The part of two models that decides the layers which a proof leaves open. All other values are fed; their nodes need not run.
class Excerpt {
 public:
  /// Nothing where most layers are open, as all cost little more, an entry concerns every node, or a layer has kLargestRegion nodes or
  /// more.
  [[nodiscard]] static std::optional<Excerpt> of(const Layers& layers, const Suspects& suspects);

  /// The open layers, in order.
  [[nodiscard]] const std::vector<std::size_t>& requested() const noexcept { return requested_; }
  /// Whether a layer's value of a is compared or fed.
  [[nodiscard]] bool is_used(const Layer& layer) const { return used_.contains(&layer); }
  /// Whether such a value depends on a node of a.
  [[nodiscard]] bool leads_to_used(const Node& node) const { return upstream_.contains(&node); }
  /// Whether a node of either model takes part in computing an open layer from fed values, or belongs to the graphs of one that does, or to
  /// the body of a call, which may.
  [[nodiscard]] bool is_part(const Node& node) const;

 private:
  /// Notes the nodes that compute a layer from fed values, and those values; false when there are too many.
  bool add(const Layers& layers, const Layer& layer);

  std::vector<std::size_t> requested_;
  std::unordered_set<const Layer*> used_;
  std::unordered_set<const Node*> upstream_, parts_;
  std::unordered_set<const Graph*> graphs_;  ///< the main graphs
};

}  // namespace relayout
