#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "exec/model_builder.h"

namespace relayout::test {

/// A stream of drawn numbers, the same for each seed and name.
class Draw {
 public:
  Draw(uint64_t seed, std::string_view name) : random_(seed, name) {}
  /// From `low` to `high`, both included.
  int64_t from(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_.below(next_++, static_cast<uint64_t>(high - low + 1)));
  }
  bool yes(int64_t one_in = 2) { return from(1, one_in) == 1; }
  std::vector<float> integers(int64_t count, int range = 3) {
    next_ += static_cast<uint64_t>(count);
    return small_integers(count, random_, next_ - static_cast<uint64_t>(count), range);
  }

 private:
  RandomStream random_;
  uint64_t next_ = 0;
};

}  // namespace relayout::test
