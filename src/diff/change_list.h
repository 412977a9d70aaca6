#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "proof/account.h"
#include "proof/sides.h"
#include "relayout/graph.h"
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

}  // namespace relayout
