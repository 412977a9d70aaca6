#pragma once

#include <string>

#include "report/json.h"

namespace relayout::cli {

/// "relayout 0.1.0 (ONNX 1.17.0, oneDNN 3.7.2, AVX-512)": the versions at build time and the CPU's instruction set. Does not load oneDNN.
[[nodiscard]] std::string version_line();
/// The versions and the instruction set as a document.
[[nodiscard]] Json version_json();

}  // namespace relayout::cli
