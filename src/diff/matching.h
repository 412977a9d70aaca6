#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "diff/fingerprints.h"
#include "proof/side.h"
#include "relayout/graph.h"

namespace relayout {

/// Pairs the nodes of two models by fingerprints, names and neighbours: hints, never evidence. A node has at most one partner.
class Matching {
 public:
  Matching(const proof::Side& a, const proof::Side& b);
  /// The partner in the other model, or nullptr.
  [[nodiscard]] const Node* partner_of_a(const Node& node) const { return find(of_a_, node); }
  [[nodiscard]] const Node* partner_of_b(const Node& node) const { return find(of_b_, node); }

 private:
  using Links = std::unordered_map<const Node*, const Node*>;
  [[nodiscard]] static const Node* find(const Links& links, const Node& node) {
    const auto found = links.find(&node);
    return found != links.end() ? found->second : nullptr;
  }
  void match(const Node& a, const Node& b);
  /// Pairs nodes without a partner whose key occurs once on either side.
  template <class Key>
  void match_unique(const Key& key_a, const Key& key_b);
  void match_names();
  /// Pairs nodes between two matched nodes by the longest common subsequence of their own fingerprints.
  void match_gaps(const std::vector<Fingerprint>& of_a, const std::vector<Fingerprint>& of_b);
  void match_gap(const std::vector<std::size_t>& gap_a, const std::vector<std::size_t>& gap_b, const std::vector<Fingerprint>& of_a,
                 const std::vector<Fingerprint>& of_b);
  void match_neighbours();
  void match_operands(const Node& a, const Node& b);
  void match_readers(const Node& a, const Node& b);

  const proof::Side* a_;
  const proof::Side* b_;
  Links of_a_, of_b_;
  std::vector<const Node*> matched_;  ///< nodes of a
};

}  // namespace relayout
