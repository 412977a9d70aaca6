#pragma once

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/verify.h"
#include "verify/compare/fed_values.h"
#include "verify/compare/layers.h"
#include "verify/pair.h"
#include "verify/run/reference.h"

namespace relayout {

/// Receives each value of either model as its consumers get it.
using Watch = std::function<void(const Value& value, const Datum& datum)>;

/// The name of the runs that feed such numbers.
[[nodiscard]] std::string_view step_of(Feeding feeding) noexcept;

/// What a comparison of two models node by node gets for one sample.
[[nodiscard]] LayerTask task_of(const Pair& pair, const Side& a, const Side& b, const Reference& reference, std::size_t sample,
                                std::string_view what);

/// The values that both models have, and what a proof leaves open about their nodes; nullptr: there is no proof.
struct Paired {
  const Layers& layers;
  const ProofResult* proof = nullptr;
  const Suspects* suspects = nullptr;
};

/// Compares the models node by node over one sample.
[[nodiscard]] std::vector<LayerResult> compare_nodes(const Pair& pair, const Reference& reference, std::size_t sample, const Paired& paired,
                                                     Feeding feeding, const Watch& watch = {});

/// Compares the nodes that the proof leaves open. Results of others may be among them.
[[nodiscard]] std::vector<LayerResult> compare_open_nodes(const Pair& pair, const Reference& reference, std::size_t sample,
                                                          const Paired& paired, Feeding feeding);

/// The first node of a side whose result in `mode` differs from the result as written by more than rounding. Each node is fed the values as
/// written; nodes that may choose are skipped.
[[nodiscard]] std::optional<LayerResult> erring_node(const Pair& pair, const Side& side, const Reference& reference, std::size_t sample,
                                                     Mode mode);

/// Whether the proof leaves a node open: an unexplained difference changes it or what it reads, or the proof did not reach it.
[[nodiscard]] bool is_open(const LayerResult& layer);

/// The unexplained differences of a node, then those of what it reads.
[[nodiscard]] std::vector<std::size_t> entries_of(const LayerResult& layer);

/// Whether a node that the proof leaves open differs, and the compared values correlate enough to be the same thing
/// (thresholds::kSameThingCorrelation).
[[nodiscard]] bool convicts(const LayerResult& layer);

/// Adds the results of one sample's nodes to the check of each unexplained difference.
void check_unexplained(std::vector<UnexplainedCheck>& checks, const std::vector<LayerResult>& layers, const ProofResult& proof);
/// Whether an entry reports different elements of a constant, another constant in its place, or different numbers in an attribute of a
/// node.
[[nodiscard]] bool is_constant(const Unexplained& entry) noexcept;
/// Whether it is about elements of a constant.
[[nodiscard]] bool is_stored(const Unexplained& entry) noexcept;

/// Values of nodes that the proof leaves open and for which a sample is no evidence: all elements are equal, or the floor is too large for
/// an error above 0.
[[nodiscard]] std::set<std::string> find_vague(const std::vector<LayerResult>& layers);
/// Whether every output of b in `outputs` was compared as the result of its node: all nodes upstream of it were then compared too.
[[nodiscard]] bool has_all(const std::vector<LayerResult>& layers, const std::vector<std::string>& outputs);
/// Whether every output was compared and no value is vague.
[[nodiscard]] bool covers(const std::vector<LayerResult>& layers, const std::vector<std::string>& outputs);

/// Whether the smallest change of its operands, or of what its graphs read, may change a node's result by a step; unknown of a node without
/// a kernel. A condition jumps where it is computed; a conversion to real numbers rounds like all else.
[[nodiscard]] bool jumps(const Node& node);
/// Whether a value depends on a node that jumps.
[[nodiscard]] bool depends_on_choice(const Value& output);

/// Compares two models node by node over one sample. Every node of b is fed a's values, so that a single wrong node appears as a single
/// difference. A node is judged by its local floor: the distance by which its value moves when the constants between the paired values of
/// a, and the values between them that have no partner, move by one ULP. Results are in the order of b's nodes, without values that have no
/// partner. `suspects`, if any, supplies the unexplained differences in each node's region (LayerProof::unexplained).
[[nodiscard]] std::vector<LayerResult> compare_layers(const LayerTask& task, const Suspects* suspects);

/// The same for only those layers in which `suspects` has a difference. Nodes of both models that these do not need are not run, which
/// costs a fraction. Nothing if one of the layers differs or cannot be compared: then the layers around it decide too.
[[nodiscard]] std::optional<std::vector<LayerResult>> compare_open_layers(const LayerTask& task, const Suspects& suspects);

/// The same for one model in another mode, without a decision about which is right: distance and floor of every node. Values inside a
/// fused step of that mode are not compared. The floor of such a step covers all its nodes. If it ends in a saturating function, its floor
/// is at least that of the function's operand.
[[nodiscard]] std::vector<LayerResult> compare_modes(const LayerTask& task, Mode mode);

}  // namespace relayout
