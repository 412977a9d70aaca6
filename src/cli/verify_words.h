#pragma once

#include <string>
#include <vector>

#include "relayout/execute.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "report/json.h"
#include "report/table.h"

namespace relayout::cli {

[[nodiscard]] Style style_of(Outcome outcome);
/// The verdict as text and JSON have it: the outcome, "not supported" where nodes that cannot run keep it open, or "defect".
[[nodiscard]] std::string verdict_word(const VerifyResult& result);
/// Two digits that count: "1.2", "36", "36,000".
[[nodiscard]] std::string ratio_text(double ratio);
/// Whether no element is NaN or infinite in one of the two only.
[[nodiscard]] bool is_finite(const OutputComparison& output);
/// The largest error over the range; "NaN" or "∞" where an element is that in one of the two only.
[[nodiscard]] std::string error_text(const OutputComparison& output);
/// "ratio 0.9", or which side the NaN is on, to which no ratio belongs.
[[nodiscard]] std::string ratio_words(const OutputComparison& output);
/// "f32 [2, 1000]"
[[nodiscard]] std::string shape_of(const OutputComparison& output);
/// The reason of the verdict, in one line; empty where it is "same".
[[nodiscard]] std::string verdict_reason(const VerifyResult& result);
/// The same with what differs in the files, the node at fault and the output that shows it, for a document that stands alone.
[[nodiscard]] std::string full_reason(const VerifyResult& result);
/// The error of a node alone: "1.2e-02", "equal", or that it has none, as elements are NaN or infinite in one of both.
[[nodiscard]] std::string error_text(const LayerResult& layer);
[[nodiscard]] std::string error_text(const UnexplainedCheck& check);
/// "/layer1/conv/Conv (Conv)"
[[nodiscard]] std::string layer_label(const LayerResult& layer);
/// "53 folds recomputed, 17 weights are byte permutations, 2 tensors byte-equal"
[[nodiscard]] std::string proof_counts(const ProofResult& proof);
/// What was run: samples, floor, library, time; empty when nothing was.
[[nodiscard]] std::string circumstances(const VerifyResult& result);
/// The first node that does something else; nullptr where none does, or b is quantized.
[[nodiscard]] const LayerResult* first_wrong(const VerifyResult& result);
/// What a node that differs alone is called: where the verdict is not "different", it is none that is wrong.
[[nodiscard]] const char* divergence_title(const VerifyResult& result);
/// What one difference of the interfaces means.
[[nodiscard]] std::string sentence(const InterfaceDifference& difference, const VerifyResult& result);
/// Whether values of this type are equal or not, with no error in between.
[[nodiscard]] bool is_exact(DataType type);
/// "exit 1"
[[nodiscard]] std::string exit_text(int code);
/// Nodes of one model ("a", "b", "model") that cannot run.
[[nodiscard]] Json unsupported_json(const std::vector<Unsupported>& nodes, const char* side);

}  // namespace relayout::cli
