// Which verifications get a message on standard error besides their verdict: those that find a defect of relayout, and those with nodes
// that cannot run.
#include "cli/verification_failure.h"

#include <optional>
#include <string>
#include <vector>

#include "cli/failure.h"
#include "cli/unsupported_nodes.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/verify.h"

namespace relayout::cli {
namespace {

Failure cannot_run(const std::string& model, const std::vector<Unsupported>& nodes) {
  return {exit_code(ErrorKind::unsupported), unsupported_text(model, nodes), ""};
}

}  // namespace

std::optional<Failure> failure_of(const DataResult& result) {
  if (result.unsupported.empty()) return std::nullopt;
  return cannot_run(result.model, result.unsupported);
}

std::optional<Failure> failure_of(const VerifyResult& result) {
  if (!result.defect.empty()) return defect_failure(result.defect);
  if (!result.is_blocked()) return std::nullopt;
  if (!result.unsupported_a.empty()) return cannot_run(result.a, result.unsupported_a);
  if (!result.unsupported_b.empty()) return cannot_run(result.b, result.unsupported_b);
  return std::nullopt;
}

}  // namespace relayout::cli
