#pragma once

// IWYU pragma: begin_exports
#include <cstddef>
#include <string>

#include "relayout/proof.h"
#include "relayout/verify.h"
#include "report/table.h"
// IWYU pragma: end_exports

namespace relayout::cli {

[[nodiscard]] Style style_of(Outcome outcome);
/// The verdict in text and JSON: the outcome, "not supported" where nodes that cannot run prevent one, or "defect".
[[nodiscard]] std::string verdict_word(const VerifyResult& result);
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
[[nodiscard]] std::string proof_counts(const ProofResult& proof);
/// The circumstances of the run: samples, floor, library, time; empty when nothing was run.
[[nodiscard]] std::string circumstances(const VerifyResult& result);
/// The first node that computes something different; nullptr where none does or b is quantized.
[[nodiscard]] const LayerResult* first_wrong(const VerifyResult& result);
/// The title of the first node that differs: "wrong" only where the verdict is "different".
[[nodiscard]] const char* divergence_title(const VerifyResult& result);
/// The sentence on one difference of the interfaces, with the option that accepts it.
[[nodiscard]] std::string sentence(const InterfaceDifference& difference, const VerifyResult& result);
/// "exit 1"
[[nodiscard]] std::string exit_text(int code);
/// The distances in a bin of SampleMetrics::ulp_histogram: "0", "1", "<2^3".
[[nodiscard]] std::string bin_text(std::size_t bin);

}  // namespace relayout::cli
