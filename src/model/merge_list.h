#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/positions.h"

namespace relayout {

/// Merges the current elements of a repeated field with its items in the file: decides their order in the saved file. Elements from the
/// file keep their places, new elements come before the next element from the file, and deleted ones are dropped. If elements changed
/// order, all are at the place of the first item.
class MergeList {
 public:
  /// `numbers`: for each current element, the number of its item in the file, or -1 for a new element.
  explicit MergeList(std::vector<int64_t> numbers, std::size_t item_count) : numbers_(std::move(numbers)), survives_(item_count, 0) {
    for (const int64_t number : numbers_) {
      if (number < 0) continue;
      reordered_ |= number < last_survivor_;
      last_survivor_ = std::max(last_survivor_, number);
      survives_[as_size(number)] = 1;
    }
  }

  /// Calls write(element) for every element to be written at the place of the field's next item.
  template <class Write>
  void at_next_item(const Write& write) {
    const int64_t item = next_item_++;
    if (reordered_ || last_survivor_ < 0) return at_end(write);
    if (survives_[as_size(item)] == 0) return;
    while (next_ < numbers_.size()) {
      const std::size_t element = next_++;
      write(element);
      if (numbers_[element] == item) break;
    }
    if (item == last_survivor_) at_end(write);
  }
  /// Calls write(element) for every remaining element.
  template <class Write>
  void at_end(const Write& write) {
    while (next_ < numbers_.size()) write(next_++);
  }
  [[nodiscard]] int64_t number(std::size_t element) const { return numbers_[element]; }

 private:
  std::vector<int64_t> numbers_;
  std::vector<char> survives_;
  int64_t last_survivor_ = -1, next_item_ = 0;
  std::size_t next_ = 0;
  bool reordered_ = false;
};

}  // namespace relayout
