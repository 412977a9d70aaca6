#pragma once

#include <functional>
#include <unordered_map>
#include <utility>

#include "relayout/graph.h"

namespace relayout::passes {

/// How far from 0 constants drive the elements of a value: those that it holds, moved, cast, chosen by a condition, negated, added,
/// subtracted or multiplied. What an activation brings along is not counted: a mask of −3.4e38 counts, a score beside it does not.
class Magnitudes {
 public:
  /// The largest finite magnitude in a stored constant; asked at most once for each use.
  using Largest = std::function<double(const Value&)>;
  explicit Magnitudes(Largest largest) : largest_(std::move(largest)) {}

  /// Nodes come in graph order.
  void note(const Node& node);
  [[nodiscard]] double of(const Value& value) const;

 private:
  Largest largest_;
  std::unordered_map<const Value*, double> known_;  ///< not of stored constants
};

}  // namespace relayout::passes
