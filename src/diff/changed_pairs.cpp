// Finds the nodes that `diff` lists as pairs with other constants, with the affines next to them that only one model has, as a Conv that
// absorbed a BatchNormalization in another type.
#include "diff/changed_pairs.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "diff/fingerprints.h"
#include "diff/matching.h"
#include "proof/account.h"
#include "proof/claim.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/proof.h"

namespace relayout {
namespace {

using proof::Account;
using proof::Issue;
using proof::Sides;

class ChangedPairs {
 public:
  ChangedPairs(const Sides& sides, const Account& account, const Matching& matching,
               const std::vector<std::pair<const Node*, const Node*>>& equal)
      : sides_(sides), account_(account), matching_(matching) {
    for (const auto& [a, b] : equal) {
      taken_.insert(a);
      taken_.insert(b);
    }
    using Kind = Unexplained::Kind;
    for (const Issue& issue : account.issues()) {
      if (issue.node != nullptr) taken_.insert(issue.node);
      const Kind kind = issue.what.kind;
      if (!issue.what.in_first && (kind == Kind::weight || kind == Kind::bias || kind == Kind::tensor)) reported_.insert(issue.what.name);
    }
  }

  std::vector<ChangedPair> run() {
    std::vector<ChangedPair> out;
    for (const Node* b : sides_.b.nodes()) {
      const Node* const a = is_single_of_b(*b) && is_reported(*b) ? matching_.partner_of_b(*b) : nullptr;
      if (a == nullptr || !is_single_of_a(*a)) continue;
      taken_.insert(a);
      taken_.insert(b);
      out.push_back({a, b, {}, {}});
    }
    for (ChangedPair& pair : out) {
      pair.gone = neighbours(*pair.a, [&](const Node& node) { return is_single_of_a(node) && matching_.partner_of_a(node) == nullptr; });
      pair.added = neighbours(*pair.b, [&](const Node& node) { return is_single_of_b(node) && matching_.partner_of_b(node) == nullptr; });
    }
    return out;
  }

 private:
  [[nodiscard]] bool is_single_of_a(const Node& node) const {
    const proof::FirstNode& first = account_.of_first(node);
    return first.is_accounted && first.partner == nullptr && first.folded_into == nullptr && !first.is_bypassed && !first.is_evaluated &&
           !first.is_dead && !taken_.contains(&node);
  }

  [[nodiscard]] bool is_single_of_b(const Node& node) const {
    const proof::SecondNode& second = account_.of_second(node);
    return second.is_accounted && second.partner == nullptr && !second.fold && !taken_.contains(&node);
  }

  /// Whether an issue reports one of its constants. A missing bias has the name of the node.
  [[nodiscard]] bool is_reported(const Node& node) const {
    const auto is_reported_value = [&](const Value* value) { return value != nullptr && reported_.contains(value->name()); };
    return reported_.contains(node.name()) || std::ranges::any_of(node.inputs(), is_reported_value);
  }

  /// Affines that are connected to this node alone, downstream and upstream.
  template <class IsSingle>
  std::vector<const Node*> neighbours(const Node& node, const IsSingle& is_single) {
    std::vector<const Node*> out;
    const auto take = [&](const Node* next) {
      if (next == nullptr || !is_single(*next)) return false;
      taken_.insert(next);
      out.push_back(next);
      return true;
    };
    for (const Node* at = &node; take(only_affine_downstream(*at));) at = out.back();
    for (const Value* input : node.inputs()) {
      while (input != nullptr && input->uses().size() == 1 && input->producer() != nullptr) {
        const Value* const below = transparent_operand(*input->producer());
        if (below == nullptr || !take(input->producer())) break;
        input = below;
      }
    }
    return out;
  }

  [[nodiscard]] static const Node* only_affine_downstream(const Node& node) {
    const Value* const output = node.output(0);
    if (output == nullptr || output->uses().size() != 1) return nullptr;
    const Node* const reader = output->uses().front().node;
    return transparent_operand(*reader) == output ? reader : nullptr;
  }

  const Sides& sides_;
  const Account& account_;
  const Matching& matching_;
  std::unordered_set<std::string_view> reported_;  ///< reported constants of the second model
  std::unordered_set<const Node*> taken_;          ///< nodes of both models that are paired or reported already
};

}  // namespace

std::vector<ChangedPair> find_changed_pairs(const Sides& sides, const Account& account, const Matching& matching,
                                            const std::vector<std::pair<const Node*, const Node*>>& equal) {
  return ChangedPairs(sides, account, matching, equal).run();
}

}  // namespace relayout
