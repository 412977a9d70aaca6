// Messages on standard error for verifications with more than a verdict to report: a defect, or "cannot run 181 nodes", grouped by reason
// (3 are named).
#include "cli/verification_failure.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "cli/failure.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/verify.h"

namespace relayout::cli {
namespace {

constexpr std::size_t kGroupsNamed = 3;

/// "com.acme:Foo × 5, com.acme:Bar" for nodes that cannot run for the same reason, in the order of first occurrence.
std::string operators_of(const std::vector<const Unsupported*>& nodes) {
  std::vector<std::pair<std::string, int64_t>> counts;
  for (const Unsupported* node : nodes) {
    const auto known = std::ranges::find(counts, node->operator_name(), &std::pair<std::string, int64_t>::first);
    if (known == counts.end()) {
      counts.emplace_back(node->operator_name(), 1);
    } else {
      ++known->second;
    }
  }
  std::string out;
  for (const auto& [name, count] : counts) {
    out += (out.empty() ? "" : ", ") + name + (count > 1 ? " × " + format_count(count) : "");
  }
  return out;
}

/// "net.onnx: cannot run 181 nodes: com.microsoft.nchwc:Conv × 52 (unknown domain), 'roi' (MaxUnpool: indices) …"
Failure cannot_run(const std::string& model, const std::vector<Unsupported>& nodes) {
  std::string out = escape(model) + ": cannot run " + counted(static_cast<int64_t>(nodes.size()), "node") + ":";
  const std::vector<UnsupportedGroup> groups = unsupported_groups(nodes);
  for (std::size_t i = 0; i < std::min(groups.size(), kGroupsNamed); ++i) out += (i > 0 ? ", " : " ") + groups[i].text;
  return {exit_code(ErrorKind::unsupported), out + (groups.size() > kGroupsNamed ? " …" : ""), ""};
}

}  // namespace

std::vector<UnsupportedGroup> unsupported_groups(const std::vector<Unsupported>& nodes) {
  std::vector<std::vector<const Unsupported*>> groups;
  for (const Unsupported& node : nodes) {
    const auto known = std::ranges::find_if(groups, [&](const auto& group) { return group.front()->why == node.why; });
    if (known == groups.end()) {
      groups.push_back({&node});
    } else {
      known->push_back(&node);
    }
  }
  std::vector<UnsupportedGroup> out;
  for (const auto& group : groups) {
    const Unsupported& first = *group.front();
    UnsupportedGroup& one = out.emplace_back();
    one.text = group.size() == 1 ? first.text() : operators_of(group) + " (" + first.why + ")";
    if (group.size() == 1) continue;
    for (const Unsupported* node : group) one.nodes.push_back(quote(node->node) + " (" + node->operator_name() + ")");
  }
  return out;
}

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
