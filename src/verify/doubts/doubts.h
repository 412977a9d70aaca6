#pragma once

#include "relayout/proof.h"
#include "verify/evidence.h"
#include "verify/finding.h"

namespace relayout {

/// What a rule needs (evidence.h says which fact costs what). Rules of a later kind are not asked once rules have found a difference or a
/// defect.
enum class Cost : uint8_t {
  files,     ///< the two files, and the figures of the samples that ran anyway
  samples,   ///< runs over the samples: nodes fed A's values, the graphs that are entered
  fed,       ///< nodes fed other values than the samples'
  own_runs,  ///< whole models run in another way: in another mode, or with other inputs or graphs
};

/// The pairs that a rule is for. All but `outputs` and `every` need what was tried to prove (ProofResult), and are not asked under
/// VerifyOptions::outputs_only. A pair is rounded if B computes in a coarser type than A.
enum class Scope : uint8_t {
  outputs,   ///< those that are not proved: it judges outputs
  nodes,     ///< those that are neither proved nor rounded: it judges what the proof leaves open
  rounding,  ///< those that are not proved: it judges rounded ones too
  limits,    ///< proved ones too, as proofs are about real numbers, not about those that a type holds
  every,     ///< all: it judges the executor
};

/// A rule that looks for what samples that agree do not show.
struct Rule {
  std::string_view name;  ///< of all that it finds: printed with doubts, which `--allow` takes by it
  Cost cost;
  Scope scope;
  VerifyFindings (*look)(Evidence& evidence);
  bool doubts = true;  ///< false: it finds differences, defects and remarks only
};

/// All rules, those that never doubt too, the most telling first: of several doubts about the whole pair, the first that is not allowed is
/// the reason of the verdict.
[[nodiscard]] std::span<const Rule> all_rules() noexcept;

/// What rules find about a pair whose outputs agree. Rules do not know each other: unless the budget ends, the order of those of one
/// cost changes no verdict, only which finding is the first.
[[nodiscard]] VerifyFindings look(std::span<const Rule> rules, Evidence& evidence);

/// Advice for an effect that no sample shows.
inline constexpr const char* kMoreSamples = " (--samples N makes more, --input gives your own)";
/// "node '/relu/Relu' (Clip): ", which begins a sentence about an entry of the proof unless the entry names that node itself.
[[nodiscard]] std::string prefix_of(const std::string& node, const std::string& op_type, const Unexplained& entry);
/// Why to doubt a difference whose effect no sample shows.
[[nodiscard]] std::string unreached(const Unexplained& entry);

// The rules, by what they look at; the manual names them as users do, with an example of what each finds (src/cli/manual/verdicts.md).

// outputs.cpp: outputs whose numbers say little
VerifyFindings find_outputs_that_show_nothing(Evidence& evidence);
VerifyFindings find_ill_conditioned_outputs(Evidence& evidence);
VerifyFindings find_wide_floors(Evidence& evidence);
VerifyFindings find_masks_with_holes(Evidence& evidence);

// nodes.cpp: nodes that the proof leaves open
VerifyFindings find_differing_nodes(Evidence& evidence);
VerifyFindings find_hidden_constants(Evidence& evidence);
VerifyFindings find_constants_hidden_by_rounding(Evidence& evidence);
VerifyFindings find_diluted_constants(Evidence& evidence);
VerifyFindings find_unreached_values(Evidence& evidence);
VerifyFindings find_hidden_choices(Evidence& evidence);
VerifyFindings find_casts_beyond_type(Evidence& evidence);
VerifyFindings find_untried_pieces(Evidence& evidence);

// hidden_in_graphs.cpp, unentered_graphs.cpp: nodes in branches and loops
VerifyFindings find_constants_hidden_in_graphs(Evidence& evidence);
VerifyFindings find_unentered_graphs(Evidence& evidence);

// edge_values.cpp, rounding_ties.cpp, other_inputs.cpp: numbers that no sample has
VerifyFindings find_hidden_by_maximum(Evidence& evidence);
VerifyFindings find_labels_in_masks(Evidence& evidence);
VerifyFindings find_edge_values(Evidence& evidence);
VerifyFindings find_values_of_one_sign(Evidence& evidence);
VerifyFindings find_rounding_ties(Evidence& evidence);

// attributes.cpp: comparisons, inputs with a default and attributes that the samples do not reach
VerifyFindings find_other_comparisons(Evidence& evidence);
VerifyFindings find_replaceable_inputs(Evidence& evidence);
VerifyFindings find_unread_attributes(Evidence& evidence);

// sizes.cpp: dims that the samples do not have
VerifyFindings find_dims_of_one_size(Evidence& evidence);
VerifyFindings find_other_sizes(Evidence& evidence);

// limits.cpp, cast_grain.cpp: numbers that a type does not hold, and results that ONNX leaves open
VerifyFindings find_lost_guards(Evidence& evidence);
VerifyFindings find_changed_guards(Evidence& evidence);
VerifyFindings find_formula_overflow(Evidence& evidence);
VerifyFindings find_cast_grain(Evidence& evidence);
VerifyFindings find_undefined_order(Evidence& evidence);

// executor_defects.cpp: the executor
VerifyFindings find_optimized_difference(Evidence& evidence);

// ../graphs_alone.cpp: a comparison of its own, by all other rules
VerifyFindings find_in_graphs_alone(Evidence& evidence);

// No rules: verify.cpp asks these of every pair that ran, also where outputs differ.

/// An output of the reference that differed between two runs: a remark if it has random nodes, or else a defect.
[[nodiscard]] VerifyFindings find_unrepeatable_outputs(const Evidence& evidence);

/// A run in double precision that is far from the reference as written: a defect only if a node alone errs, fed the values as written.
[[nodiscard]] VerifyFindings find_reference_difference(const Evidence& evidence);

/// Remarks on elements that are NaN in both: they are equal and show nothing of b's computation.
[[nodiscard]] VerifyFindings find_nan_in_both(const VerifyResult& measured);

}  // namespace relayout
