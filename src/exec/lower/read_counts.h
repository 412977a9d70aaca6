#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/indexed.h"
#include "exec/ids.h"
#include "exec/lower/group.h"
#include "exec/program.h"

namespace relayout::exec {

/// Counts the reads that are still to come, of values and of the buffers that hold them: no memory is overwritten before its last read.
class ReadCounts {
 public:
  /// One count per value: reads by nodes that will run, in this plan or after it, and one for each output of the graph that is the value.
  explicit ReadCounts(IdVector<ValueId, int> of_values) : of_values_(std::move(of_values)), buffers_(of_values_.size()) {}

  [[nodiscard]] int of(ValueId value) const { return of_values_[value]; }
  [[nodiscard]] int64_t in(BufferId buffer) const { return index_of(buffer) < in_buffers_.size() ? in_buffers_[buffer] : 0; }
  /// Records that a value is stored in a buffer, perhaps besides others.
  void settle(ValueId value, BufferId buffer) {
    std::vector<BufferId>& buffers = buffers_[value];
    if (std::ranges::find(buffers, buffer) != buffers.end()) return;
    buffers.push_back(buffer);
    if (in_buffers_.size() <= index_of(buffer)) in_buffers_.resize(index_of(buffer) + 1);
    in_buffers_[buffer] += of(value);
  }
  void add(ValueId value, int change) {
    of_values_[value] += change;
    for (const BufferId buffer : buffers_[value]) in_buffers_[buffer] += change;
  }
  /// Adds `change` for each read by nodes of a group.
  void add(const Group& group, int change) {
    for (const ProgramNode* const node : group.nodes) {
      for (const ValueId input : node->inputs) {
        if (input != ValueId::none) add(input, change);
      }
    }
  }

 private:
  IdVector<ValueId, int> of_values_;
  IdVector<BufferId, int64_t> in_buffers_;            ///< of all values in each buffer
  IdVector<ValueId, std::vector<BufferId>> buffers_;  ///< that hold each value, each once
};

}  // namespace relayout::exec
