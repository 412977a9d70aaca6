// Declares what the files of this command share: the words of all forms of its report, its tables, and the forms.
#pragma once

// IWYU pragma: begin_exports
#include <filesystem>

#include "cli/common/report.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "relayout/version.h"
// IWYU pragma: end_exports

namespace relayout {
struct DerivativeCheckResult;
}

namespace relayout::cli {

/// The report of a comparison. Text: interface differences first, then a line per output, and last the verdict with the circumstances of
/// the run; -v: figures of every sample; `lists_layers`: the table of nodes. Page: the verdict, each output's error relative to floor and
/// bound, its error histogram, errors by depth, and the tables. Test cases: the interfaces, and one per output and sample.
/// This and the other reports refer to their result.
[[nodiscard]] Report verify_report(const VerifyResult& result, bool allow_inconclusive, bool lists_layers = false);
[[nodiscard]] Json verify_json(const VerifyResult& result, bool allow_inconclusive);
/// One line and one test case per stored case.
[[nodiscard]] Report data_report(const DataResult& result);
/// A line per derivative, and the verdict.
[[nodiscard]] Report derivative_report(const DerivativeCheckResult& result);
[[nodiscard]] Json derivative_json(const DerivativeCheckResult& result);

[[nodiscard]] JunitSuite junit_suite(const VerifyResult& result, bool allow_inconclusive);
/// A case of a model that is judged on its own.
[[nodiscard]] JunitCase verify_case(const std::string& name, const std::string& judged);
/// The test cases of a run without a result.
[[nodiscard]] JunitSuite junit_suite(const std::string& model, const Failure& failure);

// Many models.

/// One model of `verify --original PATTERN FILE…` and its outcome.
struct PairOutcome {
  std::string original, model;
  std::optional<VerifyResult> result;
  std::optional<Failure> failure;  ///< the message for standard error, always set without a result
};

/// The original of a model: `pattern` with {stem}, {stem%SUFFIX}, {name} and {dir} replaced, in the model's folder when it has no slash.
/// Error{usage} for a pattern that is invalid or denotes the model itself.
[[nodiscard]] std::string original_of(const std::string& pattern, const std::string& model);

[[nodiscard]] int exit_code(const PairOutcome& pair, bool allow_inconclusive);
/// The worst code of all pairs.
[[nodiscard]] int exit_code(const std::vector<PairOutcome>& pairs, bool allow_inconclusive);

/// A line per pair, followed by the report of verify for pairs that are not the same.
[[nodiscard]] Report pairs_report(const std::vector<PairOutcome>& pairs, bool allow_inconclusive, bool lists_layers = false);

// Words.

[[nodiscard]] Style style_of(Outcome outcome);
/// The verdict in text and JSON: the outcome, "not supported" where nodes that cannot run prevent one, or "defect".
[[nodiscard]] std::string verdict_word(const VerifyResult& result);
[[nodiscard]] Cell verdict_cell(const VerifyResult& result);
/// Two significant digits: "1.2", "36", "36,000".
[[nodiscard]] std::string ratio_text(double ratio);
/// Whether no element is NaN or infinite in one of the two models only.
[[nodiscard]] bool is_finite(const OutputComparison& output);
/// The largest error over the range; "NaN" or "∞" where an element has that value in one of the two models only.
[[nodiscard]] std::string error_text(const OutputComparison& output);
/// "ratio 0.9"; for NaN or infinity in one model only, the side instead.
[[nodiscard]] std::string ratio_words(const OutputComparison& output);
/// "f32 [2, 1000]"
[[nodiscard]] std::string shape_of(const OutputComparison& output);
/// The reason of the verdict, in one line; "same" and "accepted" may have none.
[[nodiscard]] std::string verdict_reason(const VerifyResult& result);
/// The reason of the verdict for a separate document: also the difference of the files, the node at fault and the output that shows it.
[[nodiscard]] std::string full_reason(const VerifyResult& result);
/// The error of a node alone: "1.2e-02", "equal", or the remark that elements are NaN or infinite in one of the two models.
[[nodiscard]] std::string error_text(const LayerResult& layer);
[[nodiscard]] std::string error_text(const UnexplainedCheck& check);
/// "/layer1/conv/Conv (Conv)"
[[nodiscard]] std::string layer_label(const LayerResult& layer);
/// "53 folds recomputed, 17 weights are byte permutations, 2 tensors byte-equal"
[[nodiscard]] std::string proof_counts(const VerifyResult& result);
/// The same of a complete proof, and what it leaves open.
[[nodiscard]] std::string proof_sentence(const VerifyResult& result);
/// The circumstances of the run: samples, floor, library, time; empty when nothing was run.
[[nodiscard]] std::string circumstances(const VerifyResult& result);
/// The first node that computes something different; nullptr where none does or b is quantized.
[[nodiscard]] const LayerResult* first_wrong(const VerifyResult& result);
/// "'/relu/Relu' (Relu) of a.onnx is gone": nodes of one model only that make a node differ; empty: none, or too many to name.
[[nodiscard]] std::string nodes_in_one_only(const VerifyResult& result, const LayerResult& layer);
/// The doubt that the verdict states; nullptr: none.
[[nodiscard]] const Doubt* stated_doubt(const VerifyResult& result);
/// The title of the first node that differs: "wrong" only where the verdict is "different".
[[nodiscard]] const char* divergence_title(const VerifyResult& result);
/// The sentence on one difference of the interfaces, with the option that accepts it.
[[nodiscard]] std::string sentence(const InterfaceDifference& difference, const VerifyResult& result);
/// "exit 1"
[[nodiscard]] std::string exit_text(int code);
/// The distances in a bin of SampleMetrics::ulp_histogram: "0", "1", "<2^3".
[[nodiscard]] std::string bin_text(std::size_t bin);
/// The nodes with the largest loss: "/layer1/conv/Conv (Conv): 3.8 dB alone, 45.2 dB expected, 4.7 % clipped: …".
[[nodiscard]] std::vector<std::string> loss_sentences(const VerifyResult& result);
/// "29.6 dB (worst sample 24.0 dB), cosine 0.9995, largest error/range 3.1e-02, top-1 100 %, top-5 98 %"
[[nodiscard]] std::string loss_text(const OutputComparison& output);

// Parts of several forms.

/// The losses of a quantized model at its first `most` nodes, nodes at fault first.
[[nodiscard]] Table losses_table(const VerifyResult& result, std::size_t most);
/// The conclusions from the files alone and the unexplained differences; empty where there are neither.
[[nodiscard]] std::string proof_text(const VerifyResult& result, const ReportStyle& style);
/// The unexplained differences, except those of the interfaces, the most telling first.
[[nodiscard]] std::vector<const Unexplained*> telling_first(const ProofResult& proof);

}  // namespace relayout::cli
