// Pairs equal nodes that the proof skips, since it computes them or looks through them.

#include "base/positions.h"
#include "diff/matching.h"
#include "model/node.h"
#include "proof/account.h"
#include "proof/attributes.h"
#include "proof/claim.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"

namespace relayout {
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
