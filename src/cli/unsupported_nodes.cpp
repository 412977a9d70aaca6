// Nodes that cannot run, in reports: "cannot run 181 nodes", grouped by reason (3 groups are named), a line for each group, and JSON. Each
// node's reason is worded in exec/unsupported.cpp.
#include "cli/unsupported_nodes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "relayout/execute.h"
#include "relayout/verify.h"
#include "report/json.h"

namespace relayout::cli {
namespace {

constexpr std::size_t kGroupsNamed = 3;

/// Nodes that cannot run for the same reason.
struct UnsupportedGroup {
  std::string text;                ///< one: "'roi' (MaxUnpool: indices)"; several: "com.acme:Foo × 5, com.acme:Bar (unknown domain)"
  std::vector<std::string> nodes;  ///< several: "'roi' (MaxUnpool)"

  friend bool operator==(const UnsupportedGroup&, const UnsupportedGroup&) = default;
};

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

/// Groups nodes by reason, in the order of each reason's first node.
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

}  // namespace

std::string unsupported_text(const std::string& model, const std::vector<Unsupported>& nodes) {
  std::string out = escape(model) + ": cannot run " + counted(static_cast<int64_t>(nodes.size()), "node") + ":";
  const std::vector<UnsupportedGroup> groups = unsupported_groups(nodes);
  for (std::size_t i = 0; i < std::min(groups.size(), kGroupsNamed); ++i) out += (i > 0 ? ", " : " ") + groups[i].text;
  return out + (groups.size() > kGroupsNamed ? " …" : "");
}

std::string unsupported_lines(const VerifyResult& result, bool verbose) {
  std::string out;
  const auto add = [&](const std::string& models, const UnsupportedGroup& group) {
    out += models + ": cannot run " + group.text + "\n";
    for (const std::string& node : group.nodes) out += verbose ? "  " + node + "\n" : "";
  };
  const std::vector<UnsupportedGroup> of_a = unsupported_groups(result.unsupported_a), of_b = unsupported_groups(result.unsupported_b);
  const auto is_in = [](const std::vector<UnsupportedGroup>& groups, const UnsupportedGroup& group) {
    return std::ranges::find(groups, group) != groups.end();
  };
  for (const UnsupportedGroup& group : of_a)
    add(escape(result.a) + (is_in(of_b, group) && result.b != result.a ? ", " + escape(result.b) : ""), group);
  for (const UnsupportedGroup& group : of_b) {
    if (!is_in(of_a, group)) add(escape(result.b), group);
  }
  return out;
}

Json unsupported_json(const std::vector<Unsupported>& nodes, const char* side) {
  Json out = Json::array();
  for (const Unsupported& node : nodes) {
    Json entry = Json::object();
    entry.set("side", side).set("node", node.node).set("op_type", node.op_type).set("domain", node.domain).set("opset", node.opset);
    out.add(std::move(entry.set("why", node.why)));
  }
  return out;
}

}  // namespace relayout::cli
