// Lowers writes at constant places, as exporters express an assignment to a slice, to copies.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "exec/constant_store.h"
#include "exec/kernels/kernel.h"
#include "exec/lower/group.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/program.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Destination of the updates, as a view of the data.
struct View {
  int64_t first = 0;  ///< offset from the data's first element, in elements
  TensorDesc desc;
};

/// Offset of a row of indices from the data's first element, in elements; nothing where the row is outside the data.
std::optional<int64_t> place_of(const int64_t* row, std::size_t depth, const TensorDesc& data) {
  int64_t out = 0;
  for (std::size_t i = 0; i < depth; ++i) {
    const int64_t at = from_front(row[i], data.dims[i]);
    if (at < 0 || at >= data.dims[i]) return std::nullopt;
    out += at * data.strides[i];
  }
  return out;
}

/// The view that dense `indices` address, if the offsets of all rows are sums of one number per dim.
std::optional<View> view_of_indices(const Tensor& indices, const TensorDesc& data) {
  const auto depth = as_size(indices.dims().back());
  const Dims rows(indices.dims().begin(), indices.dims().end() - 1);
  const Dims row_steps = contiguous_strides(rows);
  const auto* const numbers = indices.data<int64_t>();
  const auto place = [&](int64_t row) { return place_of(numbers + row * static_cast<int64_t>(depth), depth, data); };
  const auto first = place(0);
  if (!first) return std::nullopt;
  View out{*first, {data.type, rows, {}}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto next = rows[i] > 1 ? place(row_steps[i]) : first;
    if (!next) return std::nullopt;
    out.desc.strides.push_back(*next - *first);
  }
  for (int64_t row = 0; row < element_count(rows); ++row) {
    int64_t expected = *first;
    for (std::size_t i = 0; i < rows.size(); ++i) expected += row / row_steps[i] % rows[i] * out.desc.strides[i];
    if (place(row) != expected) return std::nullopt;
  }
  const auto tail = static_cast<std::ptrdiff_t>(depth);
  out.desc.dims.insert(out.desc.dims.end(), data.dims.begin() + tail, data.dims.end());
  out.desc.strides.insert(out.desc.strides.end(), data.strides.begin() + tail, data.strides.end());
  return out;
}

/// Whether no two elements of a view share memory: with equal indices the last update would have to win.
bool is_one_to_one(const TensorDesc& desc) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride and size
  for (std::size_t i = 0; i < desc.dims.size(); ++i) {
    if (desc.dims[i] > 1) dims.emplace_back(desc.strides[i], desc.dims[i]);
  }
  std::ranges::sort(dims);
  int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return false;
    reach += stride * (size - 1);
  }
  return true;
}

/// Updates that replace all elements in order are the result.
bool define_updates(Lowering& lowering, const ProgramNode& node, const Place& updates, const View& view) {
  const Dims& dims = lowering.info(node.outputs[0]).dims;
  if (view.first != 0 || !is_ordered(view.desc, Order::contiguous)) return false;
  const auto strides = reshape_strides(updates.desc, dims);
  if (!strides) return false;
  const Place seen = view_of(updates, {updates.desc.type, dims, *strides}, 0);
  if (define_view(lowering, node, seen)) lowering.steps.note_view(seen.desc);
  return true;
}

}  // namespace

bool lower_scatter_nd(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const DatumInfo& result = lowering.info(node.outputs[0]);
  KnownConstant* const constant = lowering.constant(node.inputs[1]);
  if (constant == nullptr || result.type == DataType::string || node.call.attributes.text("reduction", "none") != "none") return false;
  if (element_count(lowering.info(node.inputs[2]).dims) == 0) return false;
  const TensorDesc desc = lowering.result_desc(node, 0, Order::contiguous);
  const auto view = view_of_indices(contiguous(lowering.store().load(*constant)), desc);
  if (!view || !is_one_to_one(view->desc)) return false;
  const bool replaces_all = element_count(view->desc.dims) == element_count(desc.dims);
  const Place updates = lowering.places.of(node.inputs[2]);
  const bool is_contiguous = is_ordered(desc, Order::contiguous);
  if (replaces_all && is_contiguous && define_updates(lowering, node, updates, *view)) return true;
  const Place data = lowering.places.of(node.inputs[0]);
  const bool in_place = data.buffer != updates.buffer && data.desc.strides == desc.strides && lowering.places.can_overwrite(data);
  const Place destination = in_place ? data : lowering.steps.new_place(desc);
  if (!in_place && !replaces_all) emit_copy(lowering, data, destination, destination.desc);
  const Place replaced = view_of(destination, view->desc, view->first * element_stride(desc.type));
  emit_copy(lowering, updates, replaced, replaced.desc);
  lowering.places.define(node.outputs[0], destination);
  return true;
}

}  // namespace relayout::exec
