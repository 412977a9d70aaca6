#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "proof/affine_steps.h"
#include "proof/side.h"
#include "relayout/graph.h"
#include "relayout/proof.h"

namespace relayout::proof {

/// "`a` of the first model, `behind_a` applied, is `b` of the second, `behind_b` applied."
struct Claim {
  Ref a, b;
  Steps behind_a, behind_b;
  Ref origin_a, origin_b;        ///< the two values where the affines began to be collected; none in a plain claim
  const Node* reader = nullptr;  ///< of the second model, for messages; nullptr: a graph output
  bool has_passed = false;       ///< the affines have passed other operators
  bool is_flat = false;          ///< of the elements in row-major order: dims may differ
  [[nodiscard]] bool is_plain() const { return behind_a.empty() && behind_b.empty() && !is_flat; }
};

/// An entry of the answer and where it belongs: place of its node in its model.
struct Issue {
  Unexplained what;
  int64_t order = 0;
  const Node* node = nullptr;     ///< that it is about, where it is about one
  const Node* partner = nullptr;  ///< the first model's that stands in its place, where there is one
  Ref a = {}, b = {};             ///< constants that differ
};

/// Result of one look at a claim: its fault, the claims that it rests on, and the nodes of both models that it accounts for. Looking
/// changes nothing, so that another reading of the second model can be looked at instead.
struct Look {
  std::vector<Issue> issues;
  std::vector<Claim> claims;
  std::vector<const Node*> nodes_a, nodes_b;           ///< accounted for
  std::vector<const Node*> bypassed;                   ///< of the first model: the second does without
  std::vector<const Node*> folded;                     ///< of the first model: taken up by a linear operator
  std::vector<const Node*> rewritten;                  ///< of the second model: computes what other nodes of the first one do
  std::vector<Ref> constants_a, constants_b;           ///< used by value, with all that makes them
  std::vector<std::pair<const Value*, bool>> tensors;  ///< of the second model: right; whether stored in another order
  std::vector<std::pair<const Graph*, const Graph*>> graphs;
  const Node* fold = nullptr;                                    ///< of the second model: its weight was recomputed
  double near = 0;                                               ///< of that fold, see Recomputed
  std::vector<std::pair<const Node*, const Node*>> equal_nodes;  ///< the same operator with the same attributes
  bool is_ambiguous = false;                                     ///< the operator may be read in several ways
  bool is_exclusive = false;                                     ///< those may have no other counterparts: they make random values
};

}  // namespace relayout::proof
