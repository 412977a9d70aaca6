#pragma once

#include <cstddef>
#include <vector>

#include "exec/kernels/kernel.h"
#include "exec/layout_guide.h"
#include "exec/lower/group.h"
#include "exec/lower/order.h"
#include "exec/lower/read_counts.h"
#include "exec/lower/step_writer.h"
#include "exec/lower/value_facts.h"
#include "exec/plan.h"
#include "layout/axis_order.h"
#include "relayout/execute.h"

namespace relayout::exec {

/// Tracks where each value is stored and in which orders, and copies values into the order that a consumer needs.
class Places {
 public:
  Places(const ValueFacts& facts, const LayoutGuide& guide, Mode mode, ReadCounts reads, StepWriter& steps);

  /// Begins a group: its reads no longer count as still to come, and its operands are chosen in the orders that it needs.
  void begin(const Group& group);
  /// Undoes the counting of begin() for a group that is not lowered as one.
  void give_back(const Group& group) { reads_.add(group, +1); }

  /// Place of a tensor value, in the order that the running group needs.
  [[nodiscard]] Place of(ValueId value);
  /// The value in this order without gaps, copied if necessary (once, for all consumers).
  [[nodiscard]] Place dense(ValueId value, Order order);
  [[nodiscard]] Place dense(ValueId value, const layout::AxisOrder& order) { return dense_as(value, order, false); }
  /// The value in this order, for use inside one node.
  [[nodiscard]] Place dense_inside(ValueId value, Order order);
  /// Whether the place may be written over: it is in the arena, and no later step reads its value or another value in its buffer. Other
  /// operands of this step may be stored there: a kernel that reads them after its first write needs a check for that.
  [[nodiscard]] bool can_overwrite(const Place& place) const;

  /// Adds a place of a value.
  void define(ValueId value, Place place);
  /// Sets the places of the elements of a sequence that only SequenceAt at known positions reads.
  void define_elements(ValueId value, std::vector<Place> places);
  /// The places set so; null when the sequence is a datum in a slot.
  [[nodiscard]] const std::vector<Place>* elements(ValueId value) const;
  /// A slot for a value that is no plain tensor. read_slot: for a value to read, which is imported when this plan did not make it.
  [[nodiscard]] SlotId slot(ValueId value);
  [[nodiscard]] SlotId read_slot(ValueId value);
  [[nodiscard]] bool has_place(ValueId value) const { return !where_[value].places.empty(); }

  /// Makes the place of a value a contiguous one from here on, for the caller to get.
  void hand_over(ValueId value);
  /// Values made in this plan that are read after it.
  [[nodiscard]] std::vector<ValueId> made_for_later() const;

 private:
  struct Where {
    std::vector<Place> places;    ///< the first is the original, the others are copies in other orders
    std::vector<Place> elements;  ///< of a sequence
    SlotId slot = SlotId::none;
    std::size_t chosen = 0;  ///< index into `places`: the one for the running group
    bool imported = false;
  };
  Place import_value(ValueId value);
  void choose(ValueId value, const layout::AxisOrder& wanted);
  [[nodiscard]] Place dense_as(ValueId value, const layout::AxisOrder& order, bool inside);

  const ValueFacts& facts_;
  const LayoutGuide& guide_;
  bool optimized_;
  ReadCounts reads_;
  StepWriter& steps_;
  IdVector<ValueId, Where> where_;
};

}  // namespace relayout::exec
