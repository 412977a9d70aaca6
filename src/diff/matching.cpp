// Pairs the nodes of two models, by rules from the surest to the weakest.

#include "diff/matching.h"

#include "base/positions.h"
#include "model/node.h"
#include "proof/account.h"
#include "proof/attributes.h"
#include "proof/claim.h"
#include "proof/linear.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/proof.h"

namespace relayout {

namespace {

/// Key of a node by its position in Side::nodes(); 0: none.
using Key = std::function<uint64_t(std::size_t)>;

/// A value with more readers gives no hint about its readers.
constexpr std::size_t kMostCommonReaders = 64;

struct Candidates {
  const Node* a = nullptr;
  const Node* b = nullptr;
  bool is_unique = true;
};

}  // namespace

Matching::Matching(const proof::Side& a, const proof::Side& b) : a_(&a), b_(&b) {
  const Fingerprints of_a = fingerprints_of(a), of_b = fingerprints_of(b);
  const auto both = [](const std::vector<Fingerprint>& prints) {
    return Key([&prints](std::size_t i) { return prints[i].up * 31 + prints[i].down; });
  };
  const auto up = [](const std::vector<Fingerprint>& prints) { return Key([&prints](std::size_t i) { return prints[i].up; }); };
  const auto down = [](const std::vector<Fingerprint>& prints) { return Key([&prints](std::size_t i) { return prints[i].down; }); };
  match_unique(both(of_a.exact), both(of_b.exact));
  match_unique(up(of_a.exact), up(of_b.exact));
  match_unique(down(of_a.exact), down(of_b.exact));
  // Weights rarely occur twice in a model.
  const auto own = [](const proof::Side& side, const std::vector<Fingerprint>& prints) {
    return Key([&side, &prints](std::size_t i) { return proof::is_linear(*side.nodes()[i]) ? prints[i].own : 0; });
  };
  match_unique(own(a, of_a.exact), own(b, of_b.exact));
  match_names();
  match_neighbours();
  // Nodes that canonical fingerprints leave out have the fingerprints of their neighbours.
  const auto visible = [](const proof::Side& side, const Key& key) {
    return Key([&side, key](std::size_t i) { return transparent_operand(*side.nodes()[i]) != nullptr ? 0 : key(i); });
  };
  match_unique(visible(a, both(of_a.canonical)), visible(b, both(of_b.canonical)));
  match_unique(visible(a, up(of_a.canonical)), visible(b, up(of_b.canonical)));
  match_unique(visible(a, down(of_a.canonical)), visible(b, down(of_b.canonical)));
  match_gaps(of_a.canonical, of_b.canonical);
  match_neighbours();
}

void Matching::match(const Node& a, const Node& b) {
  of_a_.emplace(&a, &b);
  of_b_.emplace(&b, &a);
  matched_.push_back(&a);
}

template <class Key>
void Matching::match_unique(const Key& key_a, const Key& key_b) {
  std::unordered_map<uint64_t, Candidates> found;
  found.reserve(a_->nodes().size() + b_->nodes().size() - of_a_.size() - of_b_.size());
  const auto note = [&](const proof::Side& side, const Links& links, const auto& key, const Node* Candidates::* which) {
    for (std::size_t i = 0; i < side.nodes().size(); ++i) {
      const Node* const node = side.nodes()[i];
      const uint64_t value = links.contains(node) ? 0 : key(i);
      if (value == 0) continue;
      Candidates& candidates = found[value];
      candidates.is_unique = candidates.is_unique && candidates.*which == nullptr;
      candidates.*which = node;
    }
  };
  note(*a_, of_a_, key_a, &Candidates::a);
  note(*b_, of_b_, key_b, &Candidates::b);
  // Follows the order of the first model, so that the result is deterministic.
  for (std::size_t i = 0; i < a_->nodes().size(); ++i) {
    const Node* const node = a_->nodes()[i];
    const auto candidates = of_a_.contains(node) ? found.end() : found.find(key_a(i));
    if (candidates == found.end() || !candidates->second.is_unique || candidates->second.a != node) continue;
    const Node* const other = candidates->second.b;
    if (other != nullptr && proof::same_operator(*node, *other)) match(*node, *other);
  }
}

void Matching::match_names() {
  const auto key = [](const proof::Side& side) {
    return Key([&side](std::size_t i) {
      const Node& node = *side.nodes()[i];
      const std::string_view name = reported_name(node);
      const std::hash<std::string_view> hash;
      return name.empty() ? 0 : hash(name) * 31 + hash(node.op_type());
    });
  };
  match_unique(key(*a_), key(*b_));
}

void Matching::match_gaps(const std::vector<Fingerprint>& of_a, const std::vector<Fingerprint>& of_b) {
  std::vector<std::size_t> gap_a, gap_b;
  std::size_t next = 0;  // index in b
  const auto is_open = [](const Links& links, const Node& node) { return !links.contains(&node) && transparent_operand(node) == nullptr; };
  for (std::size_t i = 0; i <= a_->nodes().size(); ++i) {
    const Node* const node = i < a_->nodes().size() ? a_->nodes()[i] : nullptr;
    const Node* const partner = node != nullptr ? partner_of_a(*node) : nullptr;
    if (node != nullptr && partner == nullptr) {
      if (is_open(of_a_, *node)) gap_a.push_back(i);
      continue;
    }
    // Branches may appear in a different order. The nodes between are then visited once, at their first occurrence.
    const std::size_t end = partner != nullptr ? as_size(b_->order_of(*partner)) : b_->nodes().size();
    for (; next < end; ++next) {
      if (is_open(of_b_, *b_->nodes()[next])) gap_b.push_back(next);
    }
    match_gap(gap_a, gap_b, of_a, of_b);
    gap_a.clear();
    gap_b.clear();
  }
}

void Matching::match_gap(const std::vector<std::size_t>& gap_a, const std::vector<std::size_t>& gap_b, const std::vector<Fingerprint>& of_a,
                         const std::vector<Fingerprint>& of_b) {
  constexpr std::size_t kLargest = std::size_t{1} << 22U;
  const std::size_t rows = gap_a.size() + 1, columns = gap_b.size() + 1;
  if (gap_a.empty() || gap_b.empty() || rows > kLargest / columns) return;
  const auto is_same = [&](std::size_t i, std::size_t j) {
    return of_a[gap_a[i]].own == of_b[gap_b[j]].own && proof::same_operator(*a_->nodes()[gap_a[i]], *b_->nodes()[gap_b[j]]);
  };
  std::vector<uint32_t> lengths(rows * columns);  // of the longest common subsequence from (i, j) on
  for (std::size_t i = gap_a.size(); i-- > 0;) {
    for (std::size_t j = gap_b.size(); j-- > 0;) {
      lengths[i * columns + j] =
          is_same(i, j) ? lengths[(i + 1) * columns + j + 1] + 1 : std::max(lengths[(i + 1) * columns + j], lengths[i * columns + j + 1]);
    }
  }
  for (std::size_t i = 0, j = 0; i < gap_a.size() && j < gap_b.size();) {
    if (is_same(i, j)) {
      match(*a_->nodes()[gap_a[i++]], *b_->nodes()[gap_b[j++]]);
    } else {
      ++(lengths[(i + 1) * columns + j] >= lengths[i * columns + j + 1] ? i : j);
    }
  }
}

/// Downstream first: the consumers of a node identify it better than its operands do.
void Matching::match_neighbours() {
  for (std::size_t i = 0; i < matched_.size(); ++i) match_readers(*matched_[i], *of_a_.at(matched_[i]));
  for (std::size_t i = 0; i < matched_.size(); ++i) match_operands(*matched_[i], *of_a_.at(matched_[i]));
}

void Matching::match_operands(const Node& a, const Node& b) {
  for (std::size_t i = 0; i < std::min(a.inputs().size(), b.inputs().size()); ++i) {
    const Node* const made_a = a.input(i) != nullptr ? a.input(i)->producer() : nullptr;
    const Node* const made_b = b.input(i) != nullptr ? b.input(i)->producer() : nullptr;
    if (made_a == nullptr || made_b == nullptr || of_a_.contains(made_a) || of_b_.contains(made_b)) continue;
    if (proof::same_operator(*made_a, *made_b)) match(*made_a, *made_b);
  }
}

/// Pairs the only readers at a slot that have no partner yet, one of either side.
void Matching::match_readers(const Node& a, const Node& b) {
  const auto only_reader = [](const Value& value, const Links& links) -> const Use* {
    const Use* found = nullptr;
    for (const Use& use : value.uses()) {
      if (links.contains(use.node)) continue;
      if (found != nullptr) return nullptr;
      found = &use;
    }
    return found;
  };
  for (std::size_t i = 0; i < std::min(a.outputs().size(), b.outputs().size()); ++i) {
    const Value *const of_a = a.output(i), *const of_b = b.output(i);
    if (of_a == nullptr || of_b == nullptr || of_a->uses().size() > kMostCommonReaders || of_b->uses().size() > kMostCommonReaders)
      continue;
    const Use *const reader_a = only_reader(*of_a, of_a_), *const reader_b = only_reader(*of_b, of_b_);
    if (reader_a == nullptr || reader_b == nullptr || reader_a->index != reader_b->index) continue;
    if (proof::same_operator(*reader_a->node, *reader_b->node)) match(*reader_a->node, *reader_b->node);
  }
}

// Places where the proof of an unequal pair is out of step.
namespace {

using proof::Claim;
using proof::Look;
using proof::Ref;
using proof::Sides;

/// The first node upstream that a fold cannot have absorbed.
const Node* visible(const Node* node) {
  constexpr int kLongest = 64;
  for (int i = 0; node != nullptr && i < kLongest; ++i) {
    const Value* const below = transparent_operand(*node);
    if (below == nullptr) return node;
    node = below->producer();
  }
  return node;
}

/// The operand to continue with: the one that `wanted` produces, else the first that is not stored.
Ref way_down(proof::Side& side, Ref of, const Node* wanted) {
  const Node& node = *of.value->producer();
  Ref first;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Ref operand = side.operand(of, i);
    if (!operand) continue;
    const Node* const made = operand.value->producer();
    if (made != nullptr && made == wanted) return operand;
    const bool is_stored = side.stored(operand) != nullptr;
    if (!first && !is_stored) first = operand;
  }
  return first;
}

}  // namespace

std::optional<Look> realign(Sides& sides, const Matching& matching, const Claim& claim, const Look& found) {
  if (claim.a.call != nullptr || claim.b.call != nullptr || !claim.a || !claim.b) return std::nullopt;
  const Node* const a = claim.a.value->producer();
  const Node* const b = claim.b.value->producer();
  if ((a != nullptr && is_constant_node(*a)) || (b != nullptr && is_constant_node(*b))) return std::nullopt;
  const Node *const seen_a = visible(a), *const seen_b = visible(b);
  const Node* const for_a = seen_a != nullptr ? matching.partner_of_a(*seen_a) : nullptr;
  const Node* const for_b = seen_b != nullptr ? matching.partner_of_b(*seen_b) : nullptr;
  if (for_a == seen_b && for_b == seen_a) return std::nullopt;
  const bool is_pair = a != nullptr && b != nullptr && proof::same_operator(*a, *b);
  if (found.issues.empty() && !is_pair) return std::nullopt;
  Look out;
  // An input of the graph needs no partner.
  const bool a_is_known = seen_a == nullptr || for_a != nullptr, b_is_known = seen_b == nullptr || for_b != nullptr;
  if (b != nullptr && a_is_known && !b_is_known) {
    const Ref below = way_down(sides.b, claim.b, for_a);
    if (!below) return std::nullopt;
    out.issues.push_back(proof::issue_of_node(sides, Unexplained::Kind::node_added, *b, false, "was not there"));
    out.nodes_b.push_back(b);
    out.claims.push_back({claim.a, below, {}, {}, {}, {}, b});
    return out;
  }
  if (a != nullptr && b_is_known && !a_is_known) {
    const Ref below = way_down(sides.a, claim.a, for_b);
    if (!below) return std::nullopt;
    out.issues.push_back(proof::issue_of_node(sides, Unexplained::Kind::node_removed, *a, true, "is gone"));
    out.nodes_a.push_back(a);
    out.claims.push_back({below, claim.b, {}, {}, {}, {}, claim.reader});
    return out;
  }
  if (!is_pair || for_a == nullptr || for_b == nullptr) return std::nullopt;
  out.issues.push_back(proof::issue_of_other_value(sides, claim, *claim.a.value));
  return out;
}

// Pairs equal nodes that the proof skips, since it computes them or looks through them.
namespace {

using proof::Account;
using proof::Ref;
using proof::Sides;

/// A value with more readers gives no hint about its readers.
constexpr std::size_t kMostReaders = 64;

class EqualNodes {
 public:
  EqualNodes(Sides& sides, const Account& account) : sides_(sides), account_(account) {
    for (const proof::Issue& issue : account.issues()) {
      if (issue.a && issue.b) reported_[issue.a.value].insert(issue.b.value);
    }
  }

  std::vector<std::pair<const Node*, const Node*>> run() {
    for (const Node* node : sides_.b.nodes()) {
      const proof::SecondNode& second = account_.of_second(*node);
      if (is_open(sides_.b, *node, second.is_accounted) && second.partner == nullptr && !second.fold) open_.insert(node);
    }
    if (open_.empty()) return {};
    std::vector<const Node*> rest;
    for (const Node* node : sides_.a.nodes()) {
      const proof::FirstNode& first = account_.of_first(*node);
      if (first.successor() != nullptr) continue;
      const bool is_reported = first.is_bypassed || first.is_dead;
      if (!first.is_evaluated && (is_reported || !is_open(sides_.a, *node, first.is_accounted))) continue;
      if (!find_from_operands(*node)) rest.push_back(node);
    }
    // Nodes whose operands are all constants are found through their readers only.
    for (auto node = rest.rbegin(); node != rest.rend(); ++node) find_from_readers(**node);
    return std::move(pairs_);
  }

 private:
  /// Whether the other model may have this node, too. Graphs and functions are not compared here.
  static bool is_open(const proof::Side& side, const Node& node, bool is_accounted) {
    return is_accounted && first_output(node) != nullptr && node.subgraphs().empty() && side.function_of(node) == nullptr;
  }

  /// The node of the second model that corresponds to one of the first.
  [[nodiscard]] const Node* twin_of(const Node& a) const {
    if (const Node* const successor = account_.of_first(a).successor()) return successor;
    const auto found = twins_.find(&a);
    return found != twins_.end() ? found->second : nullptr;
  }

  [[nodiscard]] const Value* twin_of(const Value& a) const {
    if (const Node* const producer = a.producer()) {
      const Node* const twin = twin_of(*producer);
      return twin != nullptr ? twin->output(as_size(a.output_index())) : nullptr;
    }
    const auto inputs = sides_.b.model().graph().inputs();
    const auto found = std::ranges::find_if(inputs, [&](const Value* input) { return sides_.same_input(a, *input); });
    return found != inputs.end() ? *found : nullptr;
  }

  bool is_same(const Value* a, const Value* b) {
    if (a == nullptr || b == nullptr) return a == b;
    if (twin_of(*a) == b) return true;
    if (const auto reported = reported_.find(a); reported != reported_.end() && reported->second.contains(b)) return true;
    const auto difference = sides_.tensor_difference({a}, {b});
    return difference && difference->values == 0;
  }

  bool is_same(const Node& a, const Node& b) {
    if (!open_.contains(&b) || !proof::same_operator(a, b) || a.inputs().size() != b.inputs().size()) return false;
    const Ref of_a{first_output(a)}, of_b{first_output(b)};
    if (!of_a || !of_b || !proof::different_attributes(sides_.a, of_a, sides_.b, of_b).empty()) return false;
    for (std::size_t i = 0; i < a.inputs().size(); ++i) {
      if (!is_same(a.input(i), b.input(i))) return false;
    }
    return true;
  }

  bool take(const Node& a, const Node& b) {
    if (!is_same(a, b)) return false;
    open_.erase(&b);
    twins_.emplace(&a, &b);
    pairs_.emplace_back(&a, &b);
    return true;
  }

  bool find_from_operands(const Node& a) {
    for (const Value* operand : a.inputs()) {
      const Value* const twin = operand != nullptr ? twin_of(*operand) : nullptr;
      if (twin == nullptr || twin->uses().size() > kMostReaders) continue;
      const auto fits = [&](const Use& use) { return take(a, *use.node); };
      if (std::ranges::any_of(twin->uses(), fits)) return true;
    }
    return false;
  }

  void find_from_readers(const Node& a) {
    const Value* const output = first_output(a);
    if (output == nullptr || output->uses().size() > kMostReaders) return;
    for (const Use& use : output->uses()) {
      const Node* const reader = twin_of(*use.node);
      const Value* const read = reader != nullptr ? reader->input(as_size(use.index)) : nullptr;
      if (read != nullptr && read->producer() != nullptr && take(a, *read->producer())) return;
    }
  }

  Sides& sides_;
  const Account& account_;
  std::unordered_map<const Value*, std::unordered_set<const Value*>> reported_;  ///< constants that issues report as different
  std::unordered_set<const Node*> open_;                                         ///< nodes of the second model
  std::unordered_map<const Node*, const Node*> twins_;
  std::vector<std::pair<const Node*, const Node*>> pairs_;
};

}  // namespace

std::vector<std::pair<const Node*, const Node*>> pair_equal_nodes(Sides& sides, const Account& account) {
  return EqualNodes(sides, account).run();
}

}  // namespace relayout
