#pragma once

#include <utility>

#include "relayout/datum.h"
#include "relayout/types.h"

namespace relayout {

/// A copy that owns its elements; contiguous.
[[nodiscard]] Datum copy_of(const Datum& datum);

/// The type of the first tensor; undefined where there is none.
[[nodiscard]] DataType type_of(const Datum& datum);

/// `value` in the type of `other` where one of both is held in 16 bits (exact when the other type is wider), or both are integers of as
/// many bits and only one has a sign: as steps of a quantizer, counted from the other's zero point.
[[nodiscard]] Datum like(const Datum& value, const Datum& other);
/// A floating-point tensor with its elements rounded to a narrower type, in its own; any other value as it is.
[[nodiscard]] Datum through(const Datum& value, DataType narrower);
/// A tensor under the dims of another one of as many elements; any other value as it is.
[[nodiscard]] Datum in_dims_of(const Datum& value, const Datum& other);

/// A tensor with its second axis behind the others, and back; any other value as it is.
[[nodiscard]] Datum channels_last(const Datum& value);
[[nodiscard]] Datum channels_second(const Datum& value);

/// Both in the wider of their types, where they differ in that one is held in 16 bits; both in a's, where they differ in their signs.
[[nodiscard]] std::pair<Datum, Datum> comparable(const Datum& a, const Datum& b);

/// Puts the elements of `from` where those of `to` lie; the structures are equal and both contiguous.
void overwrite(const Datum& to, const Datum& from);

/// How two values of one structure go together, over the elements that are finite in both.
struct Agreement {
  double correlation = 1;  ///< Pearson's; 1 where either is constant
  double gain = 0;         ///< slope of b over a, minus one: what they differ by as by a factor
  double count = 0;
};
[[nodiscard]] Agreement agreement(const Datum& a, const Datum& b);

}  // namespace relayout
