#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/verify.h"
#include "verify/feeding.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

/// Told each value of either model as its readers get it.
using Watch = std::function<void(const Value& value, const Datum& datum)>;

/// The models compared node by node over one sample.
[[nodiscard]] std::vector<LayerResult> compare_nodes(const Pair& pair, const Reference& reference, std::size_t sample,
                                                     const ProofResult* proof, Feeding feeding, const Watch& watch = {});

/// The same about nodes that the proof leaves open. Others may be among them.
[[nodiscard]] std::vector<LayerResult> compare_open_nodes(const Pair& pair, const Reference& reference, std::size_t sample,
                                                          const ProofResult& proof, Feeding feeding);

/// What the nodes of a quantized b lose over the first samples, see QuantizationLosses.
[[nodiscard]] std::vector<QuantizationLoss> measure_quantization(const Pair& pair, const Reference& reference);

/// The first node of a side whose result in a mode differs from the one as written by more than rounding, each fed the values as written.
[[nodiscard]] std::optional<LayerResult> erring_node(const Pair& pair, const Side& side, const Reference& reference, std::size_t sample,
                                                     Mode mode);

/// Whether the proof leaves a node open: something unexplained changes it, or it was not reached.
[[nodiscard]] bool is_open(const LayerResult& layer);

/// Whether a node that differs does so because of something unexplained, and what it is compared with is the same thing in both files.
[[nodiscard]] bool convicts(const LayerResult& layer);

/// Joins what the nodes of one sample show of each unexplained difference.
void check_unexplained(std::vector<UnexplainedCheck>& checks, const std::vector<LayerResult>& layers, const ProofResult& proof);
/// Whether an entry says that a constant has other elements, or a number among the attributes of a node another value.
[[nodiscard]] bool is_constant(const Unexplained& entry) noexcept;

/// The first entry about a node within an If, Loop or Scan whose graph no sample enters, though other inputs may; nullptr where there is
/// none.
[[nodiscard]] const Unexplained* find_unentered(const Pair& pair, const Reference& reference, const ProofResult& proof);

/// Whether a node holds a graph that no sample enters.
[[nodiscard]] bool has_unentered_graph(const Pair& pair, const Side& side, const Reference& reference, const Node& node);

/// Differences that show for equal numbers, NaN or infinities alone, none of which any sample has where they would: inconclusive. Operators
/// that may treat them apart are fed them; the attributes that say how they do are inconclusive wherever no sample shows them.
void judge_edges(const Pair& pair, const Reference& reference, VerifyResult& result);

/// Nodes that one model has otherwise, or alone, and whose definition has a rule for numbers that no run had there, though its operands may
/// be such: inconclusive. Numbers that take the place of the samples' are tried too.
void judge_untried(const Pair& pair, const Reference& reference, VerifyResult& result);

/// Values of nodes that the proof leaves open and that a sample tells nothing of: all elements are one number, or the floor is too large.
[[nodiscard]] std::set<std::string> find_vague(const std::vector<LayerResult>& layers);
/// Whether every output of b in `outputs` was compared as the result of its node: all nodes upstream of it were then compared too.
[[nodiscard]] bool has_all(const std::vector<LayerResult>& layers, const std::vector<std::string>& outputs);
/// Both: all were compared, and all tell.
[[nodiscard]] bool covers(const std::vector<LayerResult>& layers, const std::vector<std::string>& outputs);

/// Whether a result that may jump stands between the graph's inputs and a value.
[[nodiscard]] bool depends_on_choice(const Value& output);

}  // namespace relayout
