#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "diff/matching.h"
#include "proof/account.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/model_diff.h"

namespace relayout {

/// Changes between two models in the order of the second model's nodes. Nodes of the first model alone follow their predecessor there.
class ChangeList {
 public:
  ChangeList(const proof::Sides& sides, const proof::Account& account);

  /// `order`: the position of its node in the second model. The result is valid until the next change is added.
  ModelChange& add(ChangeKind kind, ChangeSubject subject, std::string reason, double order);
  /// Adds a change of a node of the first model, of the second, or of both; the absent one is null.
  ModelChange& add_node(ChangeKind kind, std::string reason, const Node* a, const Node* b);
  /// All changes, in order.
  [[nodiscard]] std::vector<ModelChange> take();

 private:
  struct Place {
    double order = 0;
    int64_t order_a = 0;     ///< order among nodes of the first model alone
    std::size_t number = 0;  ///< index in `changes_`
  };

  const proof::Sides* sides_;
  std::vector<double> order_of_a_;  ///< by position in Side::nodes()
  std::vector<ModelChange> changes_;
  std::vector<Place> places_;  ///< of each change
};

/// A node of both models with different constants, and adjacent nodes that only one model has and that a fold may have absorbed.
struct ChangedPair {
  const Node* a = nullptr;
  const Node* b = nullptr;
  std::vector<const Node*> gone;   ///< of the first model
  std::vector<const Node*> added;  ///< of the second
};

/// Pairs of nodes that the proof reaches but leaves unpaired because one of their constants differs. `equal` are the known pairs.
[[nodiscard]] std::vector<ChangedPair> find_changed_pairs(const proof::Sides& sides, const proof::Account& account,
                                                          const Matching& matching,
                                                          const std::vector<std::pair<const Node*, const Node*>>& equal);

/// Nodes of two models that need no further change: they are listed already, or equal.
struct ListedNodes {
  std::unordered_set<const Node*> a, b;
};

/// Lists the differences that the proof leaves unexplained: its issues, and corresponding nodes with different constants. Adds the nodes
/// that it lists to `listed`.
void list_unexplained(proof::Sides& sides, const proof::Account& account, const std::vector<ChangedPair>& changed_pairs,
                      ListedNodes& listed, ChangeList& changes);

/// Lists the changes that the proof accounts for, with their reasons: folds, nodes that only one model has and that are not in `listed`,
/// constants in a different order. A node of the second model without an account is listed as added, one of the first as removed.
void list_explained(proof::Sides& sides, const proof::Account& account, const ListedNodes& listed, ChangeList& changes);

/// Lists a constant of both models that is the subject of an issue, with the number of its values that differ and by how much.
void list_changed_constant(proof::Sides& sides, const proof::Issue& issue, ChangeList& changes);

/// Unused initializers. They differ by name alone.
class UnreadConstants {
 public:
  explicit UnreadConstants(proof::Sides& sides);
  /// Whether the first model has an initializer with the same contents under another name. Each match is taken once.
  [[nodiscard]] bool take(std::string_view name_in_b);

 private:
  proof::Sides& sides_;
  std::unordered_map<uint64_t, std::vector<const Value*>> of_a_;  ///< by samples of their contents
};

/// Compares graph inputs and outputs by name, and the remaining ones by place if all their types agree.
[[nodiscard]] std::vector<ModelChange> diff_interfaces(const Model& a, const Model& b);
/// Compares the facts of a model apart from its graph: versions, operator sets, producer, descriptions, metadata, functions. `is_proved`:
/// the graphs compute the same, whatever operator sets and functions they use.
[[nodiscard]] std::vector<ModelChange> diff_headers(const Model& a, const Model& b, bool is_proved);

}  // namespace relayout
