#pragma once

#include "relayout/graph.h"
#include "relayout/proof.h"
#include "relayout/verify.h"
#include "verify/compare/changes.h"
#include "verify/compare/compare_nodes.h"
#include "verify/compare/fed_values.h"
#include "verify/compare/guarded_ways.h"
#include "verify/compare/layers.h"
#include "verify/compare/tried_pieces.h"
#include "verify/finding.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/candidate.h"
#include "verify/run/floors.h"
#include "verify/run/reference.h"

namespace relayout {

/// "output 'y', sample 2"
[[nodiscard]] std::string place_of(const Pair& pair, const Reference& reference, std::size_t output, std::size_t sample);
/// Follows the size of a difference that no node alone accounts for.
inline constexpr const char* kChoice = ", though no node alone differs: a choice among nearly equal numbers falls either way";
/// Follows the size of a difference that the rounding of either model's values accounts for.
inline constexpr const char* kOwnRounding = ", no farther than the rounding of their own sums may move it";

/// The nodes that the proof leaves open, fed A's values of the first `thresholds::kLayerSamples` samples; none where nothing was to be
/// proved.
struct ComparedNodes {
  std::vector<UnexplainedCheck> checks;  ///< in the order of the proof's entries
  std::vector<LayerResult> layers;       ///< guilty ones, or with VerifyOptions::layers all of the first sample
  std::vector<LayerResult> guilty;       ///< first of each value
  std::vector<std::string> remarks;
  bool vouch = false;  ///< every node was compared, none differs, and none is vague: they vouch for outputs that show nothing
};

/// An output and a sample in which it differs.
struct OutputPlace {
  std::size_t output = 0, sample = 0;
};

/// The nodes of a model, in nested graphs and functions too, by their names and their first outputs.
class NamedNodes {
 public:
  explicit NamedNodes(const Model& model);
  [[nodiscard]] std::span<const Node* const> of(const std::string& name) const;
  /// The first in the order of the file; nullptr: none.
  [[nodiscard]] const Node* first(const std::string& name) const { return of(name).empty() ? nullptr : of(name).front(); }

 private:
  std::unordered_map<std::string, std::vector<const Node*>> nodes_;
};

/// The facts about two models that rules ask for. What needs runs or a walk over a model is computed once, when a rule first asks for it.
/// Where the budget allows no further runs, the answer is that of a pair without findings (no layers), and the pair is doubted as
/// out-of-budget.
class Evidence {
 public:
  /// `measured`: interface, proof and the outputs' figures.
  Evidence(const Pair& pair, const Reference& reference, const Floors& floors, const Candidate& candidate, const VerifyResult& measured);

  [[nodiscard]] const Pair& pair() const noexcept { return *pair_; }
  [[nodiscard]] const Reference& reference() const noexcept { return *reference_; }
  [[nodiscard]] const Floors& floors() const noexcept { return *floors_; }
  /// Whether interfaces differ in nothing that counts.
  [[nodiscard]] bool has_same_interface() const;
  [[nodiscard]] const Candidate& candidate() const noexcept { return *candidate_; }
  [[nodiscard]] const std::vector<OutputComparison>& outputs() const noexcept { return measured_->outputs; }
  /// Null for identical files (--run-identical). Rules of Scope::nodes, rounding and limits are asked only with one.
  [[nodiscard]] const ProofResult* proof() const noexcept { return measured_->proof ? &*measured_->proof : nullptr; }
  /// What the proof leaves open: nothing for a proved pair. Not to be asked where proof() is null.
  [[nodiscard]] const std::vector<Unexplained>& unexplained() const { return measured_->proof->unexplained; }

  // Outputs, before any rule is asked: by runs over the samples, and of B in double precision.

  /// Differences of outputs that the rounding of the models' own values explains, or a choice among nearly equal numbers; empty unless
  /// these explain all.
  [[nodiscard]] const VerifyFindings& acquittals();
  /// Of proved pairs: whether a candidate's figures that differ are all near their bounds, and B in double precision agrees wholly. It may
  /// sum in another order than A.
  [[nodiscard]] bool is_order_of_sums(const Candidate& candidate);
  /// Whether an output differs, apart from acquittals, or B refuses its inputs.
  [[nodiscard]] bool outputs_differ();
  /// Whether an output shows nothing by itself: no number depends on what was computed, or rounding moves all of them far.
  [[nodiscard]] bool shows_nothing(std::size_t output) const;
  /// Why equal numbers of an output would prove nothing; nullopt: they prove something.
  [[nodiscard]] std::optional<std::string> inconclusive(std::size_t output) const;

  // What follows from the files.

  /// The values that both models have, and the nodes about which the proof leaves something open.
  [[nodiscard]] const Layers& layers();
  [[nodiscard]] Paired paired();
  /// The nodes in which both models differ.
  [[nodiscard]] const Changes& changes();
  /// The guards of one of both sides.
  [[nodiscard]] const GuardedWays& guarded_ways(const Side& side);
  /// The nodes of one of both sides, as the proof names them.
  [[nodiscard]] const NamedNodes& named(const Side& side);

  // What runs over the samples show: of Cost::samples.

  [[nodiscard]] const ComparedNodes& nodes();
  /// The check of an entry of the proof; nullptr: no node shows it.
  [[nodiscard]] const UnexplainedCheck* check_of(std::size_t entry);
  /// Whether nodes differ by an entry as their readers expect (channels in another order).
  [[nodiscard]] bool is_acquitted(std::size_t entry);
  /// Whether a node's result shows an entry in some sample.
  [[nodiscard]] bool is_shown(std::size_t entry);
  /// Whether a sample enters a graph of a model.
  [[nodiscard]] bool enters(const Side& side, const Graph& graph);
  /// Whether a node of a model holds a graph that no sample enters.
  [[nodiscard]] bool misses_one_of(const Side& side, const Node& node);
  /// The first sample, and others that enter graphs of branches which those before them miss.
  [[nodiscard]] const std::vector<std::size_t>& entering_samples();
  /// The pieces of changed operators, with those that samples have tried.
  [[nodiscard]] const Trials& tried();

  // What other values than the samples' show: of Cost::fed.

  /// The nodes of `entering_samples`, fed other values than A's. Those that the proof leaves open are among them.
  [[nodiscard]] const std::vector<LayerResult>& fed(Feeding feeding);
  /// A comparison with other values, and the pieces that no values before it have tried, by change.
  struct Trying {
    std::map<const Change*, Trial> open;
    const std::vector<LayerResult>* layers = nullptr;
  };
  /// The comparisons that pieces need which samples have not tried, in their order.
  [[nodiscard]] std::vector<Trying> tryings();

  /// For rules that run b themselves.
  void add_seconds_of_b(double seconds) noexcept { seconds_of_b_ += seconds; }
  /// Copies checks, compared nodes, remarks on them and the time of further runs into the result. Of nodes fed other values than A's, those
  /// that a finding calls different.
  void report(const VerifyFindings& findings, VerifyResult& result);

 private:
  /// Whether B agrees wholly in double precision; false where that would take too long.
  [[nodiscard]] bool agrees_in_double();
  [[nodiscard]] bool is_out_of_reach(std::size_t output) const;
  [[nodiscard]] bool may_jump(const OutputPlace& place) const;
  [[nodiscard]] bool is_own_rounding(const OutputPlace& place);
  void compare_samples(ComparedNodes& nodes);
  void observe(const Side& side);
  void observe();
  void report_wrong_nodes(VerifyResult& result);
  [[nodiscard]] const std::vector<LayerResult>* try_pieces(Feeding feeding);
  /// The nodes over a sample, each fed the values of A, with the errors by depth.
  [[nodiscard]] const std::vector<LayerResult>& layers_by_depth(std::size_t sample);
  /// The same, without the errors by depth unless they are known or wanted.
  [[nodiscard]] std::vector<LayerResult> layers_over(std::size_t sample, bool by_depth);
  /// Whether each node alone is right, among them those of the outputs.
  [[nodiscard]] bool agrees_by_node(const std::vector<LayerResult>& layers) const;
  /// The choice that falls the other way in each of the samples, if each node alone is right; nullopt: one is not.
  [[nodiscard]] std::optional<std::map<std::size_t, std::string>> choices_of(const std::vector<std::size_t>& differing);

  const Pair* pair_;
  const Reference* reference_;
  const Floors* floors_;
  const Candidate* candidate_;
  const VerifyResult* measured_;
  bool is_varied_;  ///< inputs differ between samples
  std::optional<VerifyFindings> acquittals_;
  std::optional<bool> agrees_in_double_;
  std::map<std::size_t, OwnRounding> own_rounding_;                  ///< by sample
  std::map<std::size_t, std::vector<LayerResult>> layers_by_depth_;  ///< by sample
  std::optional<ComparedNodes> nodes_;
  std::map<Feeding, std::vector<LayerResult>> fed_;
  std::optional<Layers> layers_;
  std::optional<Suspects> suspects_;
  std::map<const Side*, GuardedWays> guarded_ways_;
  std::map<const Side*, NamedNodes> named_;
  std::optional<Changes> changes_;
  std::optional<Trials> trials_;
  std::map<Feeding, std::map<const Change*, Trial>> open_before_;
  std::unordered_map<const Side*, std::vector<std::unordered_set<const Graph*>>> entered_;  ///< by sample
  std::vector<std::size_t> entering_;
  double seconds_of_b_ = 0;
};

}  // namespace relayout
