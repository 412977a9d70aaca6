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

/// Knows where each value lies, in which orders, and copies values into the order that a reader needs.
class Places {
 public:
  Places(const ValueFacts& facts, const LayoutGuide& guide, Mode mode, ReadCounts reads, StepWriter& steps);

  /// A group begins: its reads no longer count as to come, and its operands are those in the order that their readers want.
  void begin(const Group& group);
  /// A group that began is not lowered as one.
  void give_back(const Group& group) { reads_.add(group, +1); }

  /// Place of a tensor value, in the order that the running group wants it in.
  [[nodiscard]] Place of(ValueId value);
  /// The value in this order without gaps, copied if it must be (once, for all readers).
  [[nodiscard]] Place dense(ValueId value, Order order);
  [[nodiscard]] Place dense(ValueId value, const layout::AxisOrder& order) { return dense_as(value, order, false); }
  /// The value in this order for the inside of one node.
  [[nodiscard]] Place dense_inside(ValueId value, Order order);
  /// Whether the place is that of a value which may be written over and that no later step reads, nor another value in its buffer. Other
  /// operands of this step may lie there: a kernel that reads them after its first write needs a check for that.
  [[nodiscard]] bool can_overwrite(const Place& place) const { return steps_.is_in_arena(place) && reads_.in(place.buffer) == 0; }

  /// Says where a value lies.
  void define(ValueId value, Place place);
  /// Says where the elements of a sequence lie that nothing but SequenceAt at known positions reads.
  void define_elements(ValueId value, std::vector<Place> places);
  /// Those places; null when the sequence is a datum in a slot.
  [[nodiscard]] const std::vector<Place>* elements(ValueId value) const;
  /// A slot for a value that is no plain tensor, and the same for one that is read: made before this plan when it was not made in it.
  [[nodiscard]] SlotId slot(ValueId value);
  [[nodiscard]] SlotId read_slot(ValueId value);
  [[nodiscard]] bool lies_somewhere(ValueId value) const { return !where_[value].places.empty(); }

  /// From here on the place of a value is a contiguous one, for the caller to get.
  void hand_over(ValueId value);
  /// Values made in this plan that are read behind it.
  [[nodiscard]] std::vector<ValueId> made_for_later() const;

 private:
  struct Where {
    std::vector<Place> places;    ///< the first is the value's own, the others copies in other orders
    std::vector<Place> elements;  ///< of a sequence
    SlotId slot = SlotId::none;
    std::size_t chosen = 0;  ///< among `places`: the one for the running group
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
