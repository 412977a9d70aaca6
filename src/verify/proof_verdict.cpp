// Verdicts by the proof: `--proof` runs nothing (same where the files prove it, else inconclusive), `--strict` makes differences that
// stay unexplained decide; and their words.
#include "verify/proof_verdict.h"

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/numbers.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/verify.h"

namespace relayout {

VerifyResult verify_by_proof(const std::filesystem::path& a, const std::filesystem::path& b, const VerifyOptions& options) {
  VerifyResult result;
  result.a = a.string();
  result.b = b.string();
  const auto model_a = Model::load(a, options.load), model_b = Model::load(b, options.load);
  result.proof = prove(*model_a, *model_b, {.digests = options.digests, .threads = options.threads});
  result.outcome = result.proof->proved ? Outcome::same : Outcome::inconclusive;
  result.reason = result.proof->proved ? "proved from the files alone, nothing was run" : "not proved, and nothing was run";
  return result;
}

void judge_strictly(VerifyResult& result) {
  if (result.outcome != Outcome::same || !result.proof || result.proof->proved) return;
  result.outcome = Outcome::different;
  result.reason = "--strict: " + counted(static_cast<int64_t>(result.proof->unexplained.size()), "difference") + " not explained";
}

}  // namespace relayout
