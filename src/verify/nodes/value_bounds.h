#pragma once

#include <set>
#include <string>
#include <unordered_map>

#include "ops/bounds.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "relayout/graph.h"

namespace relayout {

/// Bounds of values from the definitions of operators: the result of a Sigmoid is never below 0. NaN aside.
class ValueBounds {
 public:
  /// `masks`: inputs of zeros and ones; `kept`: inputs of integers that are sizes, counts, positions or ids.
  ValueBounds(const Graph& graph, std::set<std::string> masks, std::set<std::string> kept);

  [[nodiscard]] Bounds of(const Value& value);
  [[nodiscard]] const ElementTypes& types() const noexcept { return types_; }

 private:
  [[nodiscard]] Bounds find(const Value& value);
  [[nodiscard]] Bounds of_input(const Value& value) const;

  OpSignatures signatures_;
  ElementTypes types_;
  Constants constants_;
  std::set<std::string> masks_, kept_;
  std::unordered_map<const Value*, Bounds> known_;
  int depth_ = 0;
};

}  // namespace relayout
