// Pairs the rows of two profiles, and decides the cause of each difference in time.
// Every microsecond of the difference has one cause.
#include "profile/causes.h"

#include "exec/program.h"
#include "relayout/execute.h"
#include "relayout/model_diff.h"
#include "relayout/profile.h"

namespace relayout {
namespace {

bool is_copy(const ProfileRow& row) {
  return !row.is_executor() && (row.kind == StepKind::reorder || row.kind == StepKind::pack);
}

template <class Visit>
void for_each_node(const ProfileRow& row, const Visit& visit) {
  visit(row.node);
  for (const std::string& name : row.absorbed) visit(name);
}

using Rows = std::vector<ProfileRow>;

/// Suffix of the names of nodes that the first model does not have, so that they match no other name.
constexpr char kNewNode = '\n';

/// Names of all nodes that run, alone or absorbed.
std::unordered_set<std::string_view> nodes_of(const Rows& rows) {
  std::unordered_set<std::string_view> out;
  for (const ProfileRow& row : rows) {
    if (!row.is_executor() && !is_copy(row)) for_each_node(row, [&](const std::string& name) { out.insert(name); });
  }
  return out;
}

/// Assigns rows within a function or a nested graph to the node that calls it. `node` becomes the name of that node, and `callers` the path
/// from there to the row's own node.
Rows by_callers(Rows rows) {
  const auto cut = [](std::string& name) { name.resize(std::min(name.find(exec::full_name({""}, "")), name.size())); };
  for (ProfileRow& row : rows) {
    std::ranges::for_each(row.absorbed, cut);
    if (row.callers.empty()) continue;
    row.callers.push_back(row.node);
    row.node = row.callers.front();
    row.callers.erase(row.callers.begin());
  }
  return rows;
}

/// The rows with the first model's names of their nodes.
Rows renamed(const Rows& given, const NodeLinks& links) {
  Rows rows = by_callers(given);
  const auto rename = [&](std::string& name) {
    if (!links.is_related) return void(name += kNewNode);
    const auto found = links.names.find(name);
    if (found != links.names.end()) name = found->second;
  };
  for (ProfileRow& row : rows) {
    if (row.is_executor()) continue;
    rename(row.node);
    std::ranges::for_each(row.absorbed, rename);
  }
  return rows;
}

class Causes {
 public:
  Causes(const Rows& a, const Rows& b, const NodeLinks& links) : in_a_(nodes_of(a)), in_b_(nodes_of(b)), links_(links) {}

  [[nodiscard]] Cause of_both(const ProfileRow& a, const ProfileRow& b) const {
    if (a.is_executor()) return Cause::unexplained;
    if (is_copy(a)) return Cause::reorder;
    if (const auto cause = of_nodes(a, b)) return *cause;
    if (a.layout != b.layout) return Cause::layout;
    return a.implementation != b.implementation ? Cause::kernel : Cause::unexplained;
  }
  [[nodiscard]] Cause of_first(const ProfileRow& row) const {
    if (is_copy(row)) return Cause::reorder;
    return of_missing(row.node);
  }
  [[nodiscard]] Cause of_second(const ProfileRow& row) const {
    if (is_copy(row)) return Cause::reorder;
    return in_a_.contains(row.node) ? Cause::fused : Cause::added;
  }

 private:
  /// Cause for a node of the first model that is missing in the paired row, or that has no row in the second model.
  [[nodiscard]] Cause of_missing(const std::string& name) const {
    if (in_b_.contains(name)) return Cause::fused;
    if (links_.paired.contains(name)) return Cause::kernel;  // it only views its operand
    return links_.explained.contains(name) ? Cause::folded : Cause::removed;
  }

  /// Cause from nodes that only one of the rows has or that absorbed others. Of several causes, the first in the order of `Cause`.
  [[nodiscard]] std::optional<Cause> of_nodes(const ProfileRow& a, const ProfileRow& b) const {
    std::optional<Cause> found;
    const auto take = [&](Cause cause) { found = found ? std::min(*found, cause) : cause; };
    const auto has = [](const ProfileRow& row, const std::string& name) {
      return row.node == name || std::ranges::find(row.absorbed, name) != row.absorbed.end();
    };
    for_each_node(a, [&](const std::string& name) {
      if (has(b, name)) return;
      take(of_missing(name));
    });
    for_each_node(a, [&](const std::string& name) {
      if (links_.absorbers.contains(name)) take(Cause::folded);
    });
    for_each_node(b, [&](const std::string& name) {
      if (!has(a, name)) take(in_a_.contains(name) ? Cause::fused : Cause::added);
    });
    return found;
  }

  std::unordered_set<std::string_view> in_a_, in_b_;
  const NodeLinks& links_;
};

/// Rows with equal keys may be paired. Copies pair with copies.
std::string key_of(const ProfileRow& row) {
  std::string out = row.node;
  for (const std::string& caller : row.callers) out += "\n" + caller;
  return out + "\n" + (row.is_executor() ? "executor" : is_copy(row) ? row.op_type : "node");
}

}  // namespace

std::string_view to_string(Cause cause) noexcept {
  constexpr auto kNames =
      std::to_array<std::string_view>({"folded", "fused", "layout", "kernel", "reorder", "removed", "added", "unexplained"});
  return kNames[static_cast<std::size_t>(cause)];
}

NodeLinks links_of(const ModelDiff& diff) {
  NodeLinks out;
  out.is_related = diff.is_related();
  if (!out.is_related) return out;
  for (const NodePair& pair : diff.nodes) {
    out.names.emplace(pair.b, pair.a);
    out.paired.insert(pair.a);
  }
  for (const ModelChange& change : diff.changes) {
    if (change.subject != ChangeSubject::node) continue;
    if (change.kind == ChangeKind::explained && change.b.empty()) out.explained.insert(change.a);
    out.explained.insert(change.absorbed.begin(), change.absorbed.end());
    if (!change.absorbed.empty()) out.absorbers.insert(change.a);
    if (change.kind == ChangeKind::added) out.names.emplace(change.b, change.b + kNewNode);
  }
  return out;
}

std::map<std::string, int64_t> folded_operators(const Profile& a, const Profile& b, const NodeLinks& links) {
  const Rows rows_b = renamed(b.rows, links);
  const auto in_b = nodes_of(rows_b);
  std::map<std::string, int64_t> out;
  for (const ProfileRow& row : by_callers(a.rows)) {
    if (row.is_executor() || is_copy(row)) continue;
    std::size_t place = 0;
    for_each_node(row, [&](const std::string& name) {
      const std::string op = place < row.operators.size() ? row.operators[place] : "node";
      ++place;
      if (!in_b.contains(name) && !links.paired.contains(name) && links.explained.contains(name)) ++out[op];
    });
  }
  return out;
}

std::vector<PairedRow> pair_rows(const Profile& a, const Profile& b, const NodeLinks& links) {
  const Rows rows_a = by_callers(a.rows), rows_b = renamed(b.rows, links);
  const Causes causes(rows_a, rows_b, links);
  std::unordered_map<std::string, std::vector<std::size_t>> open;  // rows of b by key, in reverse order
  for (std::size_t i = rows_b.size(); i-- > 0;) open[key_of(rows_b[i])].push_back(i);
  std::vector<PairedRow> out;
  std::vector<bool> is_paired(rows_b.size(), false);
  for (std::size_t i = 0; i < rows_a.size(); ++i) {
    const ProfileRow& row = rows_a[i];
    const auto others = open.find(key_of(row));
    if (others == open.end() || others->second.empty()) {
      out.push_back({i, std::nullopt, causes.of_first(row), -row.us});
      continue;
    }
    const std::size_t other = others->second.back();
    others->second.pop_back();
    is_paired[other] = true;
    out.push_back({i, other, causes.of_both(row, rows_b[other]), rows_b[other].us - row.us});
  }
  for (std::size_t i = 0; i < rows_b.size(); ++i) {
    if (!is_paired[i]) out.push_back({std::nullopt, i, causes.of_second(rows_b[i]), rows_b[i].us});
  }
  return out;
}

}  // namespace relayout
