// Words of changes that are only planned, as `inspect` and `convert --dry-run` report them: "will fold", "would move", "would be", "Nothing
// would be folded", "(not written)".
#include "cli/outlook.h"

#include <cstdint>
#include <string>

#include "base/numbers.h"
#include "cli/report.h"
#include "relayout/findings.h"

namespace relayout::cli {

Outlook outlook_of(const Findings& findings) {
  Outlook out;
  for (const Finding& finding : findings) {
    const bool done = finding.verdict == Verdict::done;
    if (finding.pass == "fold-batch-norm" && finding.op_type == "BatchNormalization") {
      ++out.batch_norms;
      out.folds += done ? 1 : 0;
    } else if (finding.pass == "fold-batch-norm" || finding.pass == "fold-affine") {
      ++out.affines;
      out.affine_folds += done ? 1 : 0;
    } else if (finding.pass == "conv-weights-layout") {
      ++out.weights;
      out.moves += done ? 1 : 0;
    }
  }
  return out;
}

std::string folds_outlook(const Findings& findings) {
  const Outlook counts = outlook_of(findings);
  const bool has_batch_norms = counts.batch_norms > 0;
  std::string out = "no BatchNormalization to fold";
  if (has_batch_norms) out = format_count(counts.folds) + " of " + counted(counts.batch_norms, "BatchNormalization") + " will fold";
  if (counts.affines > 0) {
    out += " · " + format_count(counts.affine_folds) + " of " + count_of_affines(counts.affines) + (has_batch_norms ? "" : " will fold");
  }
  return out;
}

std::string outlook_text(const Findings& findings) {
  const std::string weights = weights_outlook(findings);
  return folds_outlook(findings) + (weights.empty() ? "" : " · " + weights);
}

std::string moved_text(bool will) {
  return will ? "would move" : "moved";
}

std::string are_text(int64_t count, bool will) {
  return will ? "would be" : count == 1 ? "is" : "are";
}

std::string nothing_folded_text(bool will) {
  return will ? "Nothing would be folded" : "Nothing was folded";
}

std::string result_text(const std::string& name, bool will) {
  return name + (will ? " (not written)" : "");
}

}  // namespace relayout::cli
