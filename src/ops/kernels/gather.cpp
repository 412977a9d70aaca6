// Takes elements by computed indices, for the Gather operators and for other kernels.

#include "ops/kernels/gather.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/window.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

void gather_along(const OpCall& call, const Tensor& out, const Operand& data, const Tensor& indices, const Dims& index_strides,
                  IndexedAxis along) {
  const DataType index_type = indices.type();
  const int64_t index_size = element_stride(index_type);
  const StridedLoop loop(out.dims(), {operand(out), data, {indices.bytes(), index_size, index_strides}});
  with_storage(out.type(), [&]<class T>(const T&) {
    loop.run(call.threads, [&](std::byte* const* operands, const int64_t* strides, int64_t count) {
      auto* to = reinterpret_cast<T*>(operands[0]);
      const auto* from = reinterpret_cast<const T*>(operands[1]);
      if (strides[2] == 0) {
        from += checked_index(call, load_one<int64_t>(index_type, operands[2]), along.size) * along.stride;
        if (strides[0] == 1 && strides[1] == 1) {
          std::copy_n(from, count, to);
        } else {
          for (int64_t i = 0; i < count; ++i) to[i * strides[0]] = from[i * strides[1]];
        }
        return;
      }
      std::array<int64_t, kChunk> chosen;
      for (int64_t begin = 0; begin < count; begin += kChunk) {
        const int64_t length = std::min(kChunk, count - begin);
        load(index_type, operands[2] + begin * strides[2] * index_size, strides[2], length, chosen.data());
        for (int64_t i = 0; i < length; ++i) {
          const int64_t at = checked_index(call, element_at(chosen, i), along.size) * along.stride;
          to[(begin + i) * strides[0]] = from[(begin + i) * strides[1] + at];
        }
      }
    });
  });
}

void take(const OpCall& call, const Tensor& source, std::size_t axis, const std::vector<int64_t>& positions, const Tensor& out) {
  Operand from = operand(source);
  from.strides[axis] = 0;
  Dims position_strides(source.dims().size(), 0);
  position_strides[axis] = 1;
  const Tensor indices(TensorDesc{DataType::int64, {static_cast<int64_t>(positions.size())}, {1}},
                       reinterpret_cast<std::byte*>(const_cast<int64_t*>(positions.data())), nullptr);  // read only
  gather_along(call, out, from, indices, position_strides, {source.dims()[axis], source.strides()[axis]});
}

Tensor taken(const OpCall& call, const Tensor& source, std::size_t axis, const std::vector<int64_t>& positions) {
  Dims dims = source.dims();
  dims[axis] = static_cast<int64_t>(positions.size());
  const Tensor out(source.type(), dims);
  take(call, source, axis, positions, out);
  return out;
}

}  // namespace relayout

namespace relayout::kernels {

Inferred infer_gather(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& data = tensor_info(call, inputs, 0);
  const DatumInfo& indices = tensor_info(call, inputs, 1, kIndexTypes);
  const auto axis = static_cast<std::ptrdiff_t>(normal_axis(call, call.attributes.integer("axis", 0), data.dims.size()));
  Dims dims(data.dims.begin(), data.dims.begin() + axis);
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), data.dims.begin() + axis + 1, data.dims.end());
  return one(call, data.type, std::move(dims));
}

/// Over the result's dims, the data has stride 0 along the indices' dims, the indices along all others.
void gather(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& data = tensor_at(inputs, 0);
  const Tensor& indices = tensor_at(inputs, 1);
  const Tensor& out = outputs[0]->tensor;
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", 0), data.dims().size());
  const std::size_t inner = axis + indices.dims().size();
  Dims data_strides(out.dims().size(), 0), index_strides(out.dims().size(), 0);
  for (std::size_t i = 0; i < out.dims().size(); ++i) {
    if (i < axis)
      data_strides[i] = data.strides()[i];
    else if (i < inner)
      index_strides[i] = indices.strides()[i - axis];
    else
      data_strides[i] = data.strides()[i - inner + axis + 1];
  }
  const IndexedAxis along{data.dims()[axis], data.strides()[axis]};
  gather_along(call, out, {data.bytes(), element_stride(data.type()), data_strides}, indices, index_strides, along);
}

Inferred infer_gather_elements(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& data = tensor_info(call, inputs, 0);
  const DatumInfo& indices = tensor_info(call, inputs, 1, kIndexTypes);
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", 0), data.dims.size());
  bool fits = indices.dims.size() == data.dims.size();
  for (std::size_t i = 0; fits && i < data.dims.size(); ++i) fits = i == axis || indices.dims[i] <= data.dims[i];
  if (!fits) reject(call, "indices " + to_string(indices.dims) + " do not fit data " + to_string(data.dims));
  return results(call, tensor_of(data.type, indices.dims));
}

void gather_elements(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& data = tensor_at(inputs, 0);
  const Tensor& indices = tensor_at(inputs, 1);
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", 0), data.dims().size());
  Dims data_strides = data.strides();
  data_strides[axis] = 0;
  const IndexedAxis along{data.dims()[axis], data.strides()[axis]};
  gather_along(call, outputs[0]->tensor, {data.bytes(), element_stride(data.type()), data_strides}, indices, indices.strides(), along);
}

namespace {

std::size_t batch_dims(const OpCall& call, const Dims& data, const Dims& indices) {
  const int64_t count = call.attributes.integer("batch_dims", 0);
  if (count < 0 || count >= static_cast<int64_t>(std::min(data.size(), indices.size()))) {
    reject(call, "batch_dims is " + std::to_string(count));
  }
  return as_size(count);
}

}  // namespace

Inferred infer_gather_nd(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& data = tensor_info(call, inputs, 0);
  const DatumInfo& indices = tensor_info(call, inputs, 1, {DataType::int64});
  const std::size_t batch = batch_dims(call, data.dims, indices.dims);
  const int64_t depth = indices.dims.back();
  if (depth < 1 || as_size(depth) + batch > data.dims.size() ||
      !std::equal(data.dims.begin(), data.dims.begin() + static_cast<std::ptrdiff_t>(batch), indices.dims.begin())) {
    reject(call, "indices " + to_string(indices.dims) + " do not fit data " + to_string(data.dims));
  }
  Dims dims(indices.dims.begin(), indices.dims.end() - 1);
  dims.insert(dims.end(), data.dims.begin() + static_cast<std::ptrdiff_t>(batch) + depth, data.dims.end());
  return one(call, data.type, std::move(dims));
}

void gather_nd(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& data = tensor_at(inputs, 0);
  const Tensor& indices = tensor_at(inputs, 1);
  const Tensor& out = outputs[0]->tensor;
  if (out.element_count() == 0) return;
  const std::size_t batch = batch_dims(call, data.dims(), indices.dims());
  const auto depth = as_size(indices.dims().back());
  const std::size_t lead = indices.dims().size() - 1;
  const auto skip = static_cast<std::ptrdiff_t>(batch + depth), head = static_cast<std::ptrdiff_t>(lead);
  const Dims slice_dims(data.dims().begin() + skip, data.dims().end());
  const Dims from_strides(data.strides().begin() + skip, data.strides().end());
  const Dims to_strides(out.strides().begin() + head, out.strides().end());
  const SliceCopier slices(out.type(), slice_dims, to_strides, from_strides);
  const int64_t size = element_stride(out.type());
  for_each_index(Dims(indices.dims().begin(), indices.dims().end() - 1), [&](const Dims& index) {
    int64_t to = 0, from = 0, at = 0;
    for (std::size_t i = 0; i < lead; ++i) {
      at += index[i] * indices.strides()[i];
      to += index[i] * out.strides()[i];
      if (i < batch) from += index[i] * data.strides()[i];
    }
    for (std::size_t i = 0; i < depth; ++i) {
      const int64_t coordinate = indices.data<int64_t>()[at + static_cast<int64_t>(i) * indices.strides()[lead]];
      from += checked_index(call, coordinate, data.dims()[batch + i]) * data.strides()[batch + i];
    }
    slices.copy(out.bytes() + to * size, data.bytes() + from * size);
  });
}

}  // namespace relayout::kernels
