#pragma once

#include <functional>
#include <string>
#include <unordered_set>

#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

/// Calls f for every node of a model: main graph, nested graphs, functions.
void for_each_node(const Graph& main, const std::function<void(const Node&)>& f);

/// Moves weights of a model by one ULP up or down at random: what two correct evaluations may disagree by (research: the best estimator
/// of honest noise, within 1.6). Not moved: zeros, values that are not finite, sizes, thresholds, exponents and bounds, whole scalars.
class WeightNoise {
 public:
  explicit WeightNoise(const Graph& graph);

  /// For ExecuteOptions::edit_constant; every `draw` moves differently.
  /// One ULP of `grain` where that is coarser than a tensor's own type.
  [[nodiscard]] std::function<void(const std::string&, Tensor&)> draw(uint64_t seed, int number,
                                                                      DataType grain = DataType::undefined) const;
  /// Whether a constant of this name may be moved, its contents aside.
  [[nodiscard]] bool moves(const std::string& name) const { return !exact_.contains(name); }

 private:
  std::unordered_set<std::string> exact_;  ///< names of constants that stay as they are
};

/// A copy with every element moved by one ULP of its type (or of `grain`, a 16-bit type, where that is coarser), as `number` draws; the
/// tensor itself when it has no such type or is a scalar that is a whole number or power of two.
[[nodiscard]] Tensor moved_by_one_ulp(const Tensor& tensor, uint64_t seed, const std::string& name, int number,
                                      DataType grain = DataType::undefined);

}  // namespace relayout
