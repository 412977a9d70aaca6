#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace relayout {

/// Reads that are still to come, of values and of the buffers that they lie in.
class ReadCounts {
 public:
  /// One count per value: reads by nodes that will run, now or behind this plan, and by whoever gets the graph's outputs.
  explicit ReadCounts(std::vector<int> of_values) : of_values_(std::move(of_values)), buffers_(of_values_.size()) {}

  [[nodiscard]] int of(int value) const { return of_values_[static_cast<std::size_t>(value)]; }
  [[nodiscard]] int64_t in(int buffer) const {
    const auto index = static_cast<std::size_t>(buffer);
    return index < in_buffers_.size() ? in_buffers_[index] : 0;
  }
  /// A value lies in a buffer, too.
  void settle(int value, int buffer) {
    std::vector<int>& buffers = buffers_[static_cast<std::size_t>(value)];
    if (std::ranges::find(buffers, buffer) != buffers.end()) return;
    buffers.push_back(buffer);
    if (in_buffers_.size() <= static_cast<std::size_t>(buffer)) in_buffers_.resize(static_cast<std::size_t>(buffer) + 1);
    in_buffers_[static_cast<std::size_t>(buffer)] += of(value);
  }
  void add(int value, int change) {
    of_values_[static_cast<std::size_t>(value)] += change;
    for (const int buffer : buffers_[static_cast<std::size_t>(value)]) in_buffers_[static_cast<std::size_t>(buffer)] += change;
  }

 private:
  std::vector<int> of_values_;
  std::vector<int64_t> in_buffers_;        ///< of all values that lie in each
  std::vector<std::vector<int>> buffers_;  ///< that each value lies in, each once
};

}  // namespace relayout
