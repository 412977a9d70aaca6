#pragma once

#include "relayout/verify.h"

namespace relayout {

/// What a finding does to the verdict, in rising order of weight.
enum class Severity : uint8_t {
  agreement,   ///< no doubt counts: the files are one, or proved and not to be run
  remark,      ///< leaves it as it is
  acquittal,   ///< takes back the difference of one output in one sample, both of which it names
  doubt,       ///< makes it inconclusive: what was run does not show what the finding is about
  difference,  ///< makes it different; one of the whole may be accepted (--accept), as a loss is judged by outputs
  defect,      ///< of relayout itself: leaves the outcome, and is the exit code
};

/// What one rule found about a pair. Rules find, decide() decides.
struct VerifyFinding {
  Severity severity = Severity::doubt;
  std::string_view name = {};                           ///< of the rule, which look() sets; of a doubt as `--allow` takes it
  std::string text = {};                                ///< one line
  std::string node = {};                                ///< its name, or that of its first result; empty where it is about no single node
  std::string advice = {};                              ///< what to do about it: follows the text where that is the reason of the verdict
  std::optional<std::size_t> output = {}, sample = {};  ///< indices: it is about that output, not about the whole
};
using VerifyFindings = std::vector<VerifyFinding>;

/// Names of differences that decide() treats apart, and that no accepted loss excuses: B refuses inputs that A takes; B computes in coarser
/// types, which is the reason only if outputs give none.
inline constexpr std::string_view kRejected = "rejected", kCoarserType = "coarser-type";
/// Names of doubts of no rule: something was left out; reasons why nothing was run or compared.
inline constexpr std::string_view kOutOfBudget = "out-of-budget", kNotRun = "not-run", kNotCompared = "not-compared",
                                  kNoOutputs = "no-outputs", kCannotRun = "cannot-run", kReferenceCannotRun = "reference-cannot-run";

/// The verdict on a pair: the outcome and the reason of `measured` and of its outputs, with remarks, doubts and defect, from the figures of
/// the outputs' samples and from what was found. Nothing else in the program sets an outcome of a pair. The order of findings of one
/// severity does not change an outcome, only which of them is the reason: the first.
[[nodiscard]] VerifyResult decide(VerifyResult measured, const VerifyFindings& findings, const VerifyOptions& options);

/// The status and the message of a case of stored outputs: a doubt says why it did not run, a difference what an output differs in, which
/// the looser rule of ONNX's own runner of tests may pass.
[[nodiscard]] DataCase decide(DataCase measured, const VerifyFindings& findings, bool passes_official_rule);

}  // namespace relayout
