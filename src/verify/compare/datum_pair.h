#pragma once

#include "base/positions.h"
#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/run/elements.h"

namespace relayout {

/// A copy that owns its elements; contiguous.
[[nodiscard]] Datum copy_of(const Datum& datum);

/// The type of the first tensor; undefined where there is none.
[[nodiscard]] DataType type_of(const Datum& datum);

/// The largest magnitude of a finite real number; 0 where there is none.
[[nodiscard]] double peak_of(const Datum& datum);

/// `value` in the type of `other` where one of both has 16 bits or fewer (exact when the other type is wider), or both are integers of the
/// same width and one is unsigned: as steps of a quantizer, counted from the other's zero point. Any other value unchanged.
[[nodiscard]] Datum like(const Datum& value, const Datum& other);
/// A floating-point tensor with its elements rounded to a narrower type, in its own type; any other value unchanged.
[[nodiscard]] Datum through(const Datum& value, DataType narrower);
/// A tensor under the dims of another one with the same number of elements; any other value unchanged.
[[nodiscard]] Datum in_dims_of(const Datum& value, const Datum& other);

/// A tensor of 3 or more dims with its second axis moved to the end, and back; any other value unchanged.
[[nodiscard]] Datum channels_last(const Datum& value);
[[nodiscard]] Datum channels_second(const Datum& value);

/// Both values in the wider of their types, where one has 16 bits or fewer; both in a's type, where they differ in sign.
[[nodiscard]] std::pair<Datum, Datum> comparable(const Datum& a, const Datum& b);

/// Edits the elements of a contiguous tensor of these types, in order; leaves any other datum unchanged.
template <typename Edit>
void edit(const Datum& datum, TypeSet types, const Edit& edit_element) {
  if (datum.kind != Datum::Kind::tensor || !datum.tensor || !types.has(datum.tensor.type())) return;
  const Tensor& tensor = datum.tensor;
  if (!tensor.is_contiguous()) return;
  std::array<double, kElementChunk> values;
  for_each_chunk(tensor, [&](int64_t first, std::span<const double> stored) {
    std::ranges::copy(stored, values.begin());
    for (std::size_t i = 0; i < stored.size(); ++i) edit_element(as_size(first) + i, values[i]);
    const auto count = static_cast<int64_t>(stored.size());
    store(tensor.type(), tensor.bytes() + first * element_stride(tensor.type()), 1, count, values.data());
  });
}

/// Copies the elements of `from`, in the type of `to`, over those of `to`. The structures are equal; tensors that are not contiguous stay.
void overwrite(const Datum& to, const Datum& from);

/// Whether all paths downstream of a value end in Softmaxes, through nodes that shift, scale, move or choose elements.
[[nodiscard]] bool ends_in_softmax(const Value& value);
/// Whether the same elements of both values are masked, some by different numbers: minus infinity to a Softmax of scores of common size.
[[nodiscard]] bool differs_by_masks(const Datum& a, const Datum& b);
/// Whether a constant of this name that nested graphs read is a mask in both models, of different numbers: no layer shows it there.
[[nodiscard]] bool is_nested_mask(const std::string& name, const Model& a, const Model& b);

}  // namespace relayout
