#pragma once

#include <string>

#include "report/json.h"

namespace relayout::cli {

/// "relayout 0.1.0 (ONNX 1.17.0, oneDNN 3.7.2, AVX-512)": versions that it was built with and what this CPU can do; oneDNN is not loaded.
[[nodiscard]] std::string version_line();
/// The same as a document.
[[nodiscard]] Json version_json();

}  // namespace relayout::cli
