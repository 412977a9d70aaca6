// The words for what a quantized model loses node by node, which text, page and test reports share.
#include "cli/verify_losses.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "relayout/verify.h"

namespace relayout::cli {
namespace {

std::string format(const char* pattern, double value) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), pattern, value);
  return text.data();
}

}  // namespace

std::string decibels(double value) {
  return std::isinf(value) && value > 0 ? "no loss" : format("%.1f dB", value);
}

LossWords words_of(const QuantizationLoss& loss) {
  const bool clips = loss.clipped && *loss.clipped > 0;
  return {escape(loss.node) + " (" + escape(loss.op_type) + ")", decibels(loss.snr), loss.expected ? decibels(*loss.expected) : "–",
          clips ? format("%.2g", 100 * *loss.clipped) + " %" : "–", loss.fault};
}

std::vector<std::string> loss_sentences(const VerifyResult& result) {
  constexpr std::size_t kMostNodes = 5;
  std::vector<std::string> out;
  for (const QuantizationLoss& loss : std::span(result.losses).first(std::min(kMostNodes, result.losses.size()))) {
    const LossWords words = words_of(loss);
    std::string& text = out.emplace_back(words.node + ": " + words.alone + " alone");
    if (loss.expected) text += ", " + words.expected + " expected";
    if (words.clipped != "–") text += ", " + words.clipped + " clipped";
    if (!loss.fault.empty()) text += ": " + loss.fault;
  }
  return out;
}

}  // namespace relayout::cli
