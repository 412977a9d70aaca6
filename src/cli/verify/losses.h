#pragma once

// IWYU pragma: begin_exports
#include <string>
#include <vector>

#include "cli/common/report.h"
#include "relayout/verify.h"
// IWYU pragma: end_exports

namespace relayout::cli {

/// The loss of a quantized model at a node, in the words of every form of the report.
struct LossWords {
  std::string node;      ///< "/layer1/conv/Conv (Conv)"
  std::string alone;     ///< "29.6 dB"
  std::string expected;  ///< "45.2 dB", or "–" where it is not known
  std::string clipped;   ///< "4.7 %", or "–" where nothing is clipped
  std::string fault;
};
[[nodiscard]] LossWords words_of(const QuantizationLoss& loss);

/// The nodes with the largest loss: "/layer1/conv/Conv (Conv): 3.8 dB alone, 45.2 dB expected, 4.7 % clipped: …".
[[nodiscard]] std::vector<std::string> loss_sentences(const VerifyResult& result);
/// "29.6 dB (worst sample 24.0 dB), cosine 0.9995, largest error/range 3.1e-02, top-1 100 %, top-5 98 %"
[[nodiscard]] std::string loss_text(const OutputComparison& output);
[[nodiscard]] Json loss_json(const Loss& loss);
/// The nodes with the largest loss of a quantized model, nodes at fault first.
[[nodiscard]] std::string losses_table(const VerifyResult& result, const ReportStyle& style);
[[nodiscard]] Json losses_json(const VerifyResult& result);

}  // namespace relayout::cli
