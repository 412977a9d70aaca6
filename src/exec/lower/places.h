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

namespace relayout {

/// Knows where each value lies, in which orders, and copies values into the order that a reader needs.
class Places {
 public:
  Places(const ValueFacts& facts, const LayoutGuide& guide, Mode mode, ReadCounts reads, StepWriter& steps);

  /// A group begins: its reads no longer count as to come, and its operands are those in the order that their readers want.
  void begin(const Group& group);
  /// A group that began is not lowered as one.
  void give_back(const Group& group) { count_reads(group, +1); }

  /// Where a tensor value lies, in the order that the running group wants it in.
  [[nodiscard]] Place of(int value);
  /// The value in this order without gaps, copied if it must be (once, for all readers).
  [[nodiscard]] Place dense(int value, Order order);
  [[nodiscard]] Place dense(int value, const AxisOrder& order) { return dense_as(value, order, false); }
  /// The value in this order for the inside of one node.
  [[nodiscard]] Place dense_inside(int value, Order order);
  /// Whether the place is that of a dying value which may be written over, and no other operand of the step lies in its buffer.
  [[nodiscard]] bool can_overwrite(const Place& place) const { return steps_.is_in_arena(place) && reads_.in(place.buffer) == 0; }

  /// Says where a value lies.
  void define(int value, Place place);
  /// Says where the elements of a sequence lie that nothing but SequenceAt at known positions reads.
  void define_elements(int value, std::vector<Place> places);
  /// Those places; null when the sequence is a datum in a slot.
  [[nodiscard]] const std::vector<Place>* elements(int value) const;
  /// A slot for a value that is no plain tensor, and the same for one that is read: made before this plan when it was not made in it.
  [[nodiscard]] int slot(int value);
  [[nodiscard]] int read_slot(int value);
  [[nodiscard]] bool lies_somewhere(int value) const { return !where_[static_cast<std::size_t>(value)].places.empty(); }
  /// Place or slot.
  [[nodiscard]] PlanPort port(int value);

  /// From here on the place of a value is a contiguous one, for the caller to get.
  void hand_over(int value);
  /// Values made in this plan that are read behind it.
  [[nodiscard]] std::vector<int> made_for_later() const;

 private:
  struct Where {
    std::vector<Place> places;    ///< the first is the value's own, the others copies in other orders
    std::vector<Place> elements;  ///< of a sequence
    int slot = -1;
    std::size_t chosen = 0;  ///< among `places`: the one for the running group
    bool imported = false;
  };
  Where& where(int value) { return where_[static_cast<std::size_t>(value)]; }
  Place import_value(int value);
  void count_reads(const Group& group, int change);
  void choose(int value, const AxisOrder& wanted);
  [[nodiscard]] Place dense_as(int value, const AxisOrder& order, bool inside);

  const ValueFacts& facts_;
  const LayoutGuide& guide_;
  bool optimized_;
  ReadCounts reads_;
  StepWriter& steps_;
  std::vector<Where> where_;
};

}  // namespace relayout
