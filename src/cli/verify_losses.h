#pragma once

#include <string>
#include <vector>

#include "relayout/verify.h"

namespace relayout::cli {

/// What a quantized model loses at a node, in the words of every form of the report.
struct LossWords {
  std::string node;      ///< "/layer1/conv/Conv (Conv)"
  std::string alone;     ///< "29.6 dB"
  std::string expected;  ///< the same, or "–" where it is not known
  std::string clipped;   ///< "4.7 %", or "–" where nothing is
  std::string fault;
};
[[nodiscard]] LossWords words_of(const QuantizationLoss& loss);

/// "12.3 dB"; what loses nothing has infinitely many.
[[nodiscard]] std::string decibels(double value);

/// The nodes that lose most: "/layer1/conv/Conv (Conv): 3.8 dB alone, 45.2 dB expected, 4.7 % clipped: …".
[[nodiscard]] std::vector<std::string> loss_sentences(const VerifyResult& result);

}  // namespace relayout::cli
