#pragma once

#include <cstdint>
#include <string>

#include "relayout/findings.h"

namespace relayout::cli {

/// The work of convert, in numbers.
struct Outlook {
  int64_t folds = 0, batch_norms = 0, moves = 0, weights = 0, affine_folds = 0, affines = 0;
};
[[nodiscard]] Outlook outlook_of(const Findings& findings);

/// "20 of 20 BatchNormalizations will fold · 2 of 3 scales and shifts"
[[nodiscard]] std::string folds_outlook(const Findings& findings);
/// Folds and weights in one line.
[[nodiscard]] std::string outlook_text(const Findings& findings);

// Words of a change that was made, or that is only planned (`will`).
/// "moved" or "would move"
[[nodiscard]] std::string moved_text(bool will);
/// "is" or "are", or "would be"
[[nodiscard]] std::string are_text(int64_t count, bool will);
/// "Nothing was folded" or "Nothing would be folded"
[[nodiscard]] std::string nothing_folded_text(bool will);
/// The result's name: "net.cl.onnx", or "net.cl.onnx (not written)".
[[nodiscard]] std::string result_text(const std::string& name, bool will);

}  // namespace relayout::cli
