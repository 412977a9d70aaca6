// Compares two models by their proof, with the hints of the matching where these leave less unexplained.
#include "relayout/model_diff.h"

#include <array>

#include "base/positions.h"
#include "diff/changes.h"
#include "diff/matching.h"
#include "model/node.h"
#include "proof/account.h"
#include "proof/claim.h"
#include "proof/prover.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"

namespace relayout {
namespace {

using proof::Account;
using proof::Issue;
using proof::Side;
using proof::Sides;

DiffSide side_of(const Model& model, const Side& side) {
  return {model.name(), std::ssize(side.nodes()), model.opset("")};
}

bool is_proved(const Account& account) {
  return std::ranges::all_of(account.issues(), [](const Issue& issue) { return issue.what.kind == Unexplained::Kind::interface; });
}

int64_t unexplained(const std::vector<ModelChange>& changes) {
  return std::ranges::count_if(changes, [](const ModelChange& change) { return change.kind != ChangeKind::explained; });
}

std::vector<ModelChange> changes_of_nodes(Sides& sides, const Account& account,
                                          const std::vector<std::pair<const Node*, const Node*>>& equal_nodes,
                                          const std::vector<ChangedPair>& changed_pairs) {
  ListedNodes listed;
  for (const auto& [a, b] : equal_nodes) {
    listed.a.insert(a);
    listed.b.insert(b);
  }
  ChangeList changes(sides, account);
  list_unexplained(sides, account, changed_pairs, listed, changes);
  list_explained(sides, account, listed, changes);
  return changes.take();
}

ModelDiff list_changes(const Model& a, const Model& b, proof::Prover& prover, const Matching* matching) {
  Sides& sides = prover.sides();
  const Account& account = prover.account();
  ModelDiff out;
  out.a = side_of(a, sides.a);
  out.b = side_of(b, sides.b);
  out.changes = diff_interfaces(a, b);
  std::ranges::move(diff_headers(a, b, is_proved(account)), std::back_inserter(out.changes));
  const auto equal_nodes = pair_equal_nodes(sides, account);
  const auto changed_pairs = matching != nullptr ? find_changed_pairs(sides, account, *matching, equal_nodes) : std::vector<ChangedPair>();
  std::ranges::move(changes_of_nodes(sides, account, equal_nodes, changed_pairs), std::back_inserter(out.changes));
  const auto take_pair = [&](const Node& of_a, const Node& of_b) {
    ++out.nodes_equal;
    out.nodes_renamed += of_a.name() != of_b.name() ? 1 : 0;
    out.nodes.push_back({reported_name(of_a), reported_name(of_b)});
  };
  for (const Node* node : sides.b.nodes()) {
    if (const Node* const partner = account.of_second(*node).partner) take_pair(*partner, *node);
  }
  for (const auto& [of_a, of_b] : equal_nodes) take_pair(*of_a, *of_b);
  for (const ModelChange& change : out.changes) {
    const bool is_pair = change.subject == ChangeSubject::node && change.kind == ChangeKind::changed;
    if (is_pair && !change.a.empty() && !change.b.empty()) out.nodes.push_back({change.a, change.b});
  }
  out.is_proved = is_proved(account);
  return out;
}

}  // namespace

std::string_view to_string(ChangeSubject subject) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>({"node", "initializer", "input", "output", "opset", "function", "metadata"});
  return kNames[static_cast<std::size_t>(subject)];
}

std::string_view to_string(ChangeKind kind) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>({"changed", "added", "removed", "explained", "renamed"});
  return kNames[static_cast<std::size_t>(kind)];
}

bool makes_models_differ(ChangeKind kind) noexcept {
  return kind != ChangeKind::renamed;
}

int64_t ModelDiff::count(ChangeKind kind) const noexcept {
  return std::ranges::count(changes, kind, &ModelChange::kind);
}

bool ModelDiff::is_equal() const noexcept {
  return std::ranges::none_of(changes, makes_models_differ, &ModelChange::kind);
}

double ModelDiff::share_in_common() const noexcept {
  std::size_t found = 2 * as_size(nodes_equal);
  for (const ModelChange& change : changes) {
    if (change.subject != ChangeSubject::node || change.kind != ChangeKind::explained) continue;
    found += change.absorbed.size();
    // With unexplained changes left, "accounted" may result from a wrong alignment.
    if (change.a.empty() != change.b.empty() && (is_proved || change.reason != "accounted")) ++found;
  }
  const auto all = static_cast<double>(a.nodes + b.nodes);
  return all > 0 ? std::min(1.0, static_cast<double>(found) / all) : 1;
}

bool ModelDiff::is_related() const noexcept {
  return share_in_common() >= 0.5;
}

ModelDiff diff_models(const Model& a, const Model& b) {
  auto plain = std::make_unique<proof::Prover>(a, b);
  plain->find();
  if (is_proved(plain->account())) return list_changes(a, b, *plain, nullptr);
  // Repeats the proof with hints of the matching about nodes that have no counterpart.
  const auto hinted = std::make_unique<proof::Prover>(a, b);
  const Matching matching(hinted->sides().a, hinted->sides().b);
  ModelDiff out = list_changes(a, b, *plain, &matching);
  plain.reset();
  hinted->take_hints(
      {[&](Sides& sides, const proof::Claim& claim, const proof::Look& found) { return realign(sides, matching, claim, found); },
       [&](const Node& node) { return matching.partner_of_b(node); }});
  hinted->find();
  ModelDiff other = list_changes(a, b, *hinted, &matching);
  return unexplained(other.changes) <= unexplained(out.changes) ? other : out;
}

}  // namespace relayout
