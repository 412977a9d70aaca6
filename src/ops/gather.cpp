#include "ops/gather.h"

#include "ops/kernels.h"

namespace relayout {

void gather_elements(const OpCall& call, const Tensor& out, const Operand& data, const Tensor& indices, const Dims& index_strides,
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
        for (int64_t i = 0; i < count; ++i) to[i * strides[0]] = from[i * strides[1]];
        return;
      }
      std::array<int64_t, kChunk> chosen;
      for (int64_t begin = 0; begin < count; begin += kChunk) {
        const int64_t length = std::min(kChunk, count - begin);
        load(index_type, operands[2] + begin * strides[2] * index_size, strides[2], length, chosen.data());
        for (int64_t i = 0; i < length; ++i) {
          const int64_t at = checked_index(call, chosen[static_cast<std::size_t>(i)], along.size) * along.stride;
          to[(begin + i) * strides[0]] = from[(begin + i) * strides[1] + at];
        }
      }
    });
  });
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

/// Over the result's dims: the data does not move along the indices' dims, the indices only along theirs.
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
  gather_elements(call, out, {data.bytes(), element_stride(data.type()), data_strides}, indices, index_strides, along);
}

}  // namespace relayout::kernels
