#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "relayout/graph.h"
#include "relayout/proof.h"
#include "verify/pair.h"

namespace relayout {

/// A value that both models have, and that a proof leaves open, with the nodes by which they part on the way to it.
struct Change {
  const Value* a = nullptr;
  const Value* b = nullptr;
  std::vector<std::size_t> entries;  ///< of ProofResult::unexplained
  std::vector<const Node*> of_a;     ///< that b does without, or has otherwise
  std::vector<const Node*> of_b;
};

/// Where two models part: one change for each value that a proof leaves open. Of nodes that only dims or no input at all reach there are
/// none, nor of nodes that no output depends on.
class Changes {
 public:
  Changes(const Pair& pair, const ProofResult& proof);

  [[nodiscard]] const std::vector<Change>& all() const noexcept { return changes_; }
  /// The change of a value of b, by its name; nullptr: none.
  [[nodiscard]] const Change* of_b(const std::string& tensor) const;

 private:
  std::vector<Change> changes_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

/// The first of a change's nodes that is wanted; nullptr: none.
[[nodiscard]] const Node* find_changed(const Change& change, bool (*is_wanted)(const Node&));

}  // namespace relayout
