#pragma once

#include <cstdint>

namespace relayout {

/// An axis of a value, counted from the front or from the back (0 is the last): the rank is not always known.
struct Axis {
  int64_t index = 0;
  bool from_back = false;
};

/// The axis as counted from the front; −1 when that needs an unknown rank (−1), or there is no such axis.
[[nodiscard]] int64_t from_front(Axis axis, int64_t rank);
/// Whether two axes of a value of this rank (−1: not known) are the same axis.
[[nodiscard]] bool is_same(Axis a, Axis b, int64_t rank);

}  // namespace relayout
