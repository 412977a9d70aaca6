#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/tensor_data.h"
#include "proof/account.h"
#include "proof/claim.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"

namespace relayout {

/// The computation of a node and the use of its results, as hashes. Equal hashes are a hint that two nodes correspond to each other.
struct Fingerprint {
  uint64_t own = 0;   ///< operator, attributes, constants
  uint64_t up = 0;    ///< `own` and the graph upstream, up to the inputs
  uint64_t down = 0;  ///< `own` and the graph downstream, down to the outputs
};

/// Fingerprints of every node of a model, in the order of Side::nodes().
struct Fingerprints {
  std::vector<Fingerprint> exact;  ///< with samples of the bytes of constants
  /// Constants count by their dims alone. BatchNormalization, affines with a constant, casts and identities are left out, as are biases and
  /// Transposes of constants, so that folds and moved weights do not change these fingerprints.
  std::vector<Fingerprint> canonical;
};
[[nodiscard]] Fingerprints fingerprints_of(const proof::Side& side);
/// Hashes a tensor: dims, type, and the bytes of its beginning and end.
[[nodiscard]] uint64_t fingerprint_of(const TensorData& data);

/// Whether a node depends on no input of the graph: a Constant, or a chain of views of a Constant or of an initializer that no caller sets.
[[nodiscard]] bool is_constant_node(const Node& node) noexcept;
/// The operand that a node passes on if canonical fingerprints leave the node out; nullptr for all other nodes.
[[nodiscard]] const Value* transparent_operand(const Node& node) noexcept;

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

/// Reinterprets a claim about two values whose nodes do not correspond to each other by the matching. One of the nodes was added or
/// removed, and the claim continues upstream of it. Empty if `found` cannot be improved.
[[nodiscard]] std::optional<proof::Look> realign(proof::Sides& sides, const Matching& matching, const proof::Claim& claim,
                                                 const proof::Look& found);

/// Pairs of nodes that the proof leaves unpaired because it compares their results, as constants or as parts of a linear operator. The
/// nodes of a pair have the same operator and attributes. Their operands correspond to each other, are equal constants, or are constants
/// whose difference an issue reports.
[[nodiscard]] std::vector<std::pair<const Node*, const Node*>> pair_equal_nodes(proof::Sides& sides, const proof::Account& account);

}  // namespace relayout
