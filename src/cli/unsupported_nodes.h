#pragma once

#include <string>
#include <vector>

#include "relayout/execute.h"
#include "relayout/verify.h"
#include "report/json.h"

namespace relayout::cli {

/// "net.onnx: cannot run 181 nodes: com.microsoft.nchwc:Conv × 52 (unknown domain), 'roi' (MaxUnpool: indices) …": the number of nodes, and
/// the first three groups.
[[nodiscard]] std::string unsupported_text(const std::string& model, const std::vector<Unsupported>& nodes);
/// A line per reason, "a.onnx, b.onnx: cannot run com.acme:Foo × 5 (unknown domain)"; files with the same nodes share it. `verbose`: every
/// node below it.
[[nodiscard]] std::string unsupported_lines(const VerifyResult& result, bool verbose);
/// The nodes of one model ("a", "b", "model").
[[nodiscard]] Json unsupported_json(const std::vector<Unsupported>& nodes, const char* side);

}  // namespace relayout::cli
