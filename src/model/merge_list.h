#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/positions.h"

namespace relayout {

/// The elements of a repeated field as they are now, laid over the field's items in the file: survivors stand where they stood, new ones
/// before the survivor that follows them, deleted ones vanish. Survivors that changed order stand together where the first item was.
class MergeList {
 public:
  /// For each element now, the number of its item in the file, or -1 for a new one.
  explicit MergeList(std::vector<int64_t> numbers, std::size_t item_count) : numbers_(std::move(numbers)), survives_(item_count, 0) {
    for (const int64_t number : numbers_) {
      if (number < 0) continue;
      reordered_ |= number < last_survivor_;
      last_survivor_ = std::max(last_survivor_, number);
      survives_[as_size(number)] = 1;
    }
  }

  /// Calls write(element) for every element that belongs where the next item of the field stands.
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
  /// Calls write(element) for every element that is left.
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
