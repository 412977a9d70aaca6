// Converts orders of axes to strides, and tells whether given strides follow an order.
#include "exec/lower/group.h"

#include <cstdlib>

#include "base/positions.h"
#include "layout/axis_order.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {

TensorDesc ordered(DataType type, const Dims& dims, Order order) {
  TensorDesc desc{type, dims, contiguous_strides(dims)};
  if (order == Order::contiguous || dims.size() < 3) return desc;
  int64_t stride = std::max<int64_t>(dims[1], 1);
  desc.strides[1] = 1;
  for (std::size_t i = dims.size(); i-- > 2;) {
    desc.strides[i] = stride;
    stride *= std::max<int64_t>(dims[i], 1);
  }
  desc.strides[0] = stride;
  return desc;
}

TensorDesc ordered(DataType type, const Dims& dims, const layout::AxisOrder& order) {
  return {type, dims, layout::strides_of(order, dims)};
}

bool is_ordered(const TensorDesc& desc, Order order) {
  if (std::ranges::find(desc.dims, 0) != desc.dims.end()) return true;
  const TensorDesc wanted = ordered(desc.type, desc.dims, order);
  for (std::size_t i = 0; i < desc.dims.size(); ++i) {
    if (desc.dims[i] != 1 && desc.strides[i] != wanted.strides[i]) return false;
  }
  return true;
}

bool follows(const TensorDesc& desc, const layout::AxisOrder& order) {
  int64_t inner = 0;  // elements from the first to the last of the inner dims
  for (std::size_t i = order.size(); i-- > 0;) {
    const int64_t stride = std::abs(element_at(desc.strides, order[i]));
    if (stride == 0) continue;
    if (stride < inner) return false;
    inner = stride * (element_at(desc.dims, order[i]) - 1) + std::max<int64_t>(inner, 1);
  }
  return true;
}

layout::AxisOrder axes_of(Order order, const Dims& dims) {
  return layout::order_of(
      order == Order::contiguous || dims.size() < 3 ? layout::contiguous_axes(dims.size()) : layout::channels_last_axes(dims.size()), dims);
}

int64_t byte_count(const TensorDesc& desc) {
  return element_count(desc.dims) * static_cast<int64_t>(memory_size(desc.type));
}

}  // namespace relayout::exec
