#pragma once

#include <functional>
#include <unordered_map>
#include <utility>

#include "relayout/graph.h"

namespace relayout::passes {

/// The distance from 0 to which constants drive the elements of a value: those that it contains, moved, cast, chosen by a condition,
/// negated, added, subtracted or multiplied. Activations are not counted: a mask of −3.4e38 counts, a score added to it does not.
class Magnitudes {
 public:
  /// The largest finite magnitude in a stored constant; called at most once for each use.
  using Largest = std::function<double(const Value&)>;
  explicit Magnitudes(Largest largest) : largest_(std::move(largest)) {}

  /// To be called in graph order.
  void note(const Node& node);
  [[nodiscard]] double of(const Value& value) const;

 private:
  Largest largest_;
  std::unordered_map<const Value*, double> known_;  ///< not of stored constants
};

}  // namespace relayout::passes
