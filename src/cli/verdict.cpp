#include "cli/verdict.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/failure.h"
#include "cli/report.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/verify.h"

namespace relayout::cli {
namespace {

constexpr std::size_t kNodesNamed = 3;

/// "net.onnx: cannot run 3 nodes: 'roi' (MaxUnpool: indices), 'x' (com.acme:Foo: unknown domain), 'y' …"
Failure cannot_run(const std::string& model, const std::vector<Unsupported>& nodes) {
  std::string out = escape(model) + ": cannot run " + counted(static_cast<int64_t>(nodes.size()), "node") + ":";
  for (std::size_t i = 0; i < std::min(nodes.size(), kNodesNamed); ++i) {
    const std::string domain = nodes[i].domain.empty() ? "" : escape(nodes[i].domain) + ":";
    out += (i > 0 ? ", " : " ") + quote(nodes[i].node) + " (" + domain + escape(nodes[i].op_type) + ": " + nodes[i].why + ")";
  }
  return {exit_code(ErrorKind::unsupported), out + (nodes.size() > kNodesNamed ? " …" : ""), ""};
}

}  // namespace

std::optional<Failure> failure_of(const DataResult& result) {
  if (result.unsupported.empty()) return std::nullopt;
  return cannot_run(result.model, result.unsupported);
}

std::optional<Failure> failure_of(const VerifyResult& result) {
  if (!result.defect.empty()) return defect_failure(result.defect);
  if (!result.unsupported_a.empty()) return cannot_run(result.a, result.unsupported_a);
  if (!result.unsupported_b.empty()) return cannot_run(result.b, result.unsupported_b);
  return std::nullopt;
}

}  // namespace relayout::cli
