#pragma once

#include <algorithm>
#include <string>

#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "verify/measured_types.h"
#include "verify/nodes/layer_task.h"
#include "verify/nodes/layers.h"
#include "verify/nodes/real_reach.h"

namespace relayout {

/// Writes what the readers of a value are fed over it, in place.
class FedValues {
 public:
  explicit FedValues(const LayerTask& task);

  /// a has values of this type.
  void note_type(DataType type) { coarsest_ = std::max(coarsest_, unit_roundoff(type)); }
  /// One rounding of the elements of a value, where its type is no coarser than a's.
  void move(const Value& value, const Datum& datum, int draw) const;
  /// Puts the value that readers of a layer are fed in the place of `datum`.
  void feed(const Layer& layer, const Datum& datum, const Datum& reference) const;
  /// Puts the numbers that the feeding says in the place of a graph input's.
  void feed_input(const std::string& name, const Datum& datum) const;
  /// Rounds the values fed to a as b's nodes read them, where b is to compute in types as coarse as that.
  void hold(const Layer& layer, const Datum& datum) const;

 private:
  /// Random numbers of the magnitudes that the feeding says in the place of a floating-point tensor's elements, and of an input of plain
  /// integers.
  void fill(const std::string& name, const Datum& datum) const;
  /// Elements in the place of others of the same value, so that many are equal.
  void tie(const std::string& name, const Datum& datum) const;
  /// The feeding's number (NaN, an infinity) in the place of some elements and rows.
  void sprinkle(const std::string& name, const Datum& datum) const;

  const LayerTask* task_;
  RealReach reach_;
  double coarsest_ = 0;  ///< unit roundoff of the narrowest type among a's values
};

}  // namespace relayout
