// Compares axes that are counted from the front or from the back of a value whose rank may be unknown.
#include "ops/axis.h"

namespace relayout {

int64_t from_front(Axis axis, int64_t rank) {
  if (!axis.from_back) return rank < 0 || axis.index < rank ? axis.index : -1;
  return axis.index < rank ? rank - 1 - axis.index : -1;
}

bool is_same(Axis a, Axis b, int64_t rank) {
  if (a.from_back == b.from_back) return a.index == b.index;
  const int64_t place = from_front(a, rank);
  return rank >= 0 && place >= 0 && place == from_front(b, rank);
}

}  // namespace relayout
