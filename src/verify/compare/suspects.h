#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "relayout/graph.h"
#include "relayout/proof.h"

namespace relayout {

/// The nodes of the main graphs that the unexplained differences of a proof change.
class Suspects {
 public:
  /// Indices into ProofResult::unexplained.
  using Entries = std::vector<std::size_t>;

  Suspects(const ProofResult& proof, const Graph& a, const Graph& b);

  /// The entries that change one of these nodes, of b or of a, and those that concern every node; each once, in order.
  [[nodiscard]] Entries of(const std::vector<const Node*>& nodes) const;
  /// Whether the proof did not reach one of these nodes of b (ProofResult::unreached).
  [[nodiscard]] bool are_unreached(const std::vector<const Node*>& nodes) const;
  /// The last of these nodes that `is_wanted` accepts and that an entry was placed at; nullptr: none.
  [[nodiscard]] const Node* last_of(const std::vector<const Node*>& nodes, bool (*is_wanted)(const Node&)) const;
  /// Entries that concern every node: placed at none, in a function, or about whole graphs.
  [[nodiscard]] const Entries& everywhere() const noexcept { return everywhere_; }

 private:
  /// The names in a model that an entry may refer to.
  struct Names {
    std::unordered_multimap<std::string_view, const Node*> nodes;    ///< by the name of the node
    std::unordered_multimap<std::string_view, const Value*> values;  ///< results of nodes, and initializers
  };
  static Names names_of(const Graph& graph);
  void add(std::size_t entry, const Unexplained& unexplained, const Names& names);
  void add_reader(std::size_t entry, const Node& node);
  [[nodiscard]] const Node* narrow_maker(const Node& node) const;

  std::unordered_map<const Node*, Entries> by_node_;
  Entries everywhere_;
  std::unordered_set<const Node*> unreached_;
  std::unordered_map<const Node*, const Node*> narrow_makers_;  ///< of Casts that widen: values are compared in front of these
};

}  // namespace relayout
