#pragma once

#include "relayout/verify.h"
#include "verify/finding.h"

namespace relayout {

/// The verdict on a pair: the outcome and the reason of `measured` and of its outputs, with remarks, doubts and defect, from the figures of
/// the outputs' samples and from what was found. Nothing else in the program sets an outcome of a pair. The order of findings of one
/// severity does not change an outcome, only which of them is the reason: the first.
[[nodiscard]] VerifyResult decide(VerifyResult measured, const VerifyFindings& findings, const VerifyOptions& options);

/// The status and the message of a case of stored outputs: a doubt says why it did not run, a difference what an output differs in, which
/// the looser rule of ONNX's own runner of tests may pass.
[[nodiscard]] DataCase decide(DataCase measured, const VerifyFindings& findings, bool passes_official_rule);

}  // namespace relayout
