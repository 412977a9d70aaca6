#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_set>

#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "verify/compare/feeding.h"
#include "verify/compare/layers.h"
#include "verify/run/bounds.h"

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

/// Overwrites a value, in place, with the one that its consumers are fed.
class FedValues {
 public:
  explicit FedValues(const LayerTask& task);

  /// Notes that a has values of this type.
  void note_type(DataType type) { coarsest_ = std::max(coarsest_, unit_roundoff(type)); }
  /// Moves the elements of a value by one rounding, unless its type is coarser than all types of a.
  void move(const Value& value, const Datum& datum, int draw) const;
  /// Overwrites `datum` with the value that the consumers of a layer are fed.
  void feed(const Layer& layer, const Datum& datum, const Datum& reference) const;
  /// Overwrites a graph input with the numbers that the feeding prescribes.
  void feed_input(const std::string& name, const Datum& datum) const;
  /// Rounds a value fed to a to the type in which b's nodes read it, where b is meant to compute in types as coarse.
  void hold(const Layer& layer, const Datum& datum) const;
  /// For ExecuteOptions::edit_constant: rounds constants of a likewise that b stores under the same name in such a type.
  [[nodiscard]] std::function<void(const std::string&, Tensor&)> holding_constants() const;

 private:
  /// Replaces the elements of a floating-point tensor, and of an input that may hold any integer, by random numbers of the magnitudes of
  /// the feeding.
  void fill(const std::string& name, const Datum& datum) const;
  /// Replaces integers by neighbours that floating-point types do not hold.
  void make_odd(const std::string& name, const Datum& datum) const;
  /// Replaces elements by others of the same tensor, so that many are equal.
  void tie(const std::string& name, const Datum& datum) const;
  /// Replaces the elements by numbers of the feeding's sign.
  void fill_of_one_sign(const std::string& name, const Datum& datum) const;
  /// Replaces some elements and rows by the feeding's number (NaN, an infinity), or all elements by numbers of its sign.
  void sprinkle(const std::string& name, const Datum& datum) const;

  const LayerTask* task_;
  RealReach reach_;
  double coarsest_ = 0;  ///< unit roundoff of the narrowest type among a's values
};

}  // namespace relayout
