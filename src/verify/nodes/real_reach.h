#pragma once

#include <unordered_set>

#include "relayout/graph.h"

namespace relayout {

/// The values of a graph that floating-point inputs reach through floating-point values alone. Inputs may make these values NaN or
/// infinite, and no others unless something overflows.
class RealReach {
 public:
  RealReach() = default;
  explicit RealReach(const Graph& graph);

  [[nodiscard]] bool has(const Value& value) const { return values_.contains(&value); }

 private:
  std::unordered_set<const Value*> values_;
};

}  // namespace relayout
