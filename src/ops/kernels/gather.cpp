// Takes and writes elements by computed indices.
#include "ops/kernels/gather.h"

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

// Updates written by indices.
namespace {

enum class Combine { replace, add, multiply, maximum, minimum };

Combine combine_of(const OpCall& call) {
  const std::string name = call.attributes.text("reduction", "none");
  if (name == "none") return Combine::replace;
  if (name == "add") return Combine::add;
  if (name == "mul") return Combine::multiply;
  if (name == "max") return Combine::maximum;
  if (name == "min") return Combine::minimum;
  reject(call, "reduction is none of none, add, mul, max, min");
}

template <class T>
T combined(Combine how, T old, T update) {
  using Arithmetic = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  const auto a = static_cast<Arithmetic>(old), b = static_cast<Arithmetic>(update);
  switch (how) {
    case Combine::replace:
      return update;
    case Combine::add:
      return static_cast<T>(a + b);
    case Combine::multiply:
      return static_cast<T>(a * b);
    case Combine::maximum:
      return update > old || update != update ? update : old;
    case Combine::minimum:
      return update < old || update != update ? update : old;
  }
  return update;
}

/// Combines to[place(i)] with from[i · from_stride], one i after the other; both have the type, places are in elements. Every combination
/// is one operation, so that the exact domain rounds as the wide one would.
template <class PlaceOf>
void combine_elements(Combine how, DataType type, std::byte* to, const std::byte* from, int64_t from_stride, int64_t count,
                      const PlaceOf& place_of) {
  if (how == Combine::replace) {
    return with_storage(type, [&]<class T>(const T&) {
      for (int64_t i = 0; i < count; ++i) reinterpret_cast<T*>(to)[place_of(i)] = reinterpret_cast<const T*>(from)[i * from_stride];
    });
  }
  with_exact_domain(type, [&]<class Domain>(Domain) {
    const int64_t size = element_stride(type);
    ChunkReader<Domain> reader;
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      const int64_t length = std::min(kChunk, count - begin);
      const Domain* const updates = reader.read(type, from + begin * from_stride * size, from_stride, length);
      for (int64_t i = 0; i < length; ++i) {
        std::byte* const element = to + place_of(begin + i) * size;
        if (is_native<Domain>(type)) {
          auto& value = *reinterpret_cast<Domain*>(element);
          value = combined(how, value, updates[i]);
        } else {
          store_one(type, element, combined(how, load_one<Domain>(type, element), updates[i]));
        }
      }
    }
  });
}

struct Scattering {
  const Tensor &indices, &updates, &out;
  Combine how;
};

/// Copies the data to the output, which the updates then change.
Scattering begin_scatter(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& out = outputs[0]->tensor;
  copy_elements(call.threads, out, tensor_at(inputs, 0));
  return {tensor_at(inputs, 1), tensor_at(inputs, 2), out, combine_of(call)};
}

struct ScatterInfos {
  const DatumInfo &data, &indices, &updates;
};

ScatterInfos scatter_infos(const OpCall& call, InputInfos inputs, TypeSet index_types) {
  require_inputs(call, inputs, 3, 3);
  const TypeSet types = combine_of(call) == Combine::replace ? kAllTypes : kNumericTypes;
  const ScatterInfos out{tensor_info(call, inputs, 0, types), tensor_info(call, inputs, 1, index_types), tensor_info(call, inputs, 2)};
  require_same_type(call, out.data, out.updates);
  return out;
}

}  // namespace

Inferred infer_scatter_elements(const OpCall& call, InputInfos inputs) {
  const auto& [data, indices, updates] = scatter_infos(call, inputs, kIndexTypes);
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", 0), data.dims.size());
  bool fits = indices.dims == updates.dims && indices.dims.size() == data.dims.size();
  for (std::size_t i = 0; fits && i < data.dims.size(); ++i) fits = i == axis || indices.dims[i] <= data.dims[i];
  if (!fits) {
    reject(call,
           "indices " + to_string(indices.dims) + " and updates " + to_string(updates.dims) + " do not fit data " + to_string(data.dims));
  }
  return results(call, tensor_of(data.type, data.dims));
}

/// Processes elements in row-major order of the indices: of equal indices the last wins, or all are combined.
void scatter_elements(const OpCall& call, InputData inputs, OutputData outputs) {
  const auto& [indices, updates, out, how] = begin_scatter(call, inputs, outputs);
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", 0), out.dims().size());
  const Tensor chosen = contiguous(indices);
  Dims rest_strides = out.strides();
  rest_strides[axis] = 0;
  const IndexedAxis along{out.dims()[axis], out.strides()[axis]};
  const int64_t index_size = element_stride(chosen.type());
  const StridedLoop loop(indices.dims(), {operand(chosen), operand(updates), {out.bytes(), element_stride(out.type()), rest_strides}});
  loop.run([&](std::byte* const* data, const int64_t* strides, int64_t count) {
    ChunkReader<int64_t> reader;
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      const int64_t length = std::min(kChunk, count - begin);
      const int64_t* const at = reader.read(chosen.type(), data[0] + begin * strides[0] * index_size, strides[0], length);
      const int64_t size = element_stride(out.type());
      combine_elements(how, out.type(), data[2] + begin * strides[2] * size, data[1] + begin * strides[1] * size, strides[1], length,
                       [&](int64_t i) { return i * strides[2] + checked_index(call, at[i], along.size) * along.stride; });
    }
  });
}

Inferred infer_scatter_nd(const OpCall& call, InputInfos inputs) {
  const auto& [data, indices, updates] = scatter_infos(call, inputs, {DataType::int64});
  if (indices.dims.empty() || data.dims.empty()) reject(call, "data or indices are scalars");
  const int64_t depth = indices.dims.back();
  if (depth < 0 || depth > static_cast<int64_t>(data.dims.size())) {
    reject(call, "indices of " + std::to_string(depth) + " coordinates for data " + to_string(data.dims));
  }
  Dims expected(indices.dims.begin(), indices.dims.end() - 1);
  expected.insert(expected.end(), data.dims.begin() + depth, data.dims.end());
  if (updates.dims != expected) reject(call, "updates have dims " + to_string(updates.dims) + ", expected " + to_string(expected));
  return results(call, tensor_of(data.type, data.dims));
}

void scatter_nd(const OpCall& call, InputData inputs, OutputData outputs) {
  const auto& [indices, updates, out, how] = begin_scatter(call, inputs, outputs);
  if (updates.element_count() == 0) return;
  const int64_t size = element_stride(out.type());
  const std::size_t depth = as_size(indices.dims().back()), lead = indices.dims().size() - 1;
  const auto split = static_cast<std::ptrdiff_t>(depth);
  const Dims slice_dims(out.dims().begin() + split, out.dims().end());
  const Dims to_strides(out.strides().begin() + split, out.strides().end());
  const Dims from_strides(updates.strides().begin() + static_cast<std::ptrdiff_t>(lead), updates.strides().end());
  const SliceCopier slices(out.type(), slice_dims, to_strides, from_strides);
  for_each_index(Dims(indices.dims().begin(), indices.dims().end() - 1), [&](const Dims& index) {
    int64_t to = 0, from = 0, at = 0;
    for (std::size_t i = 0; i < lead; ++i) {
      at += index[i] * indices.strides()[i];
      from += index[i] * updates.strides()[i];
    }
    for (std::size_t i = 0; i < depth; ++i) {
      const int64_t coordinate = indices.data<int64_t>()[at + static_cast<int64_t>(i) * indices.strides()[lead]];
      to += checked_index(call, coordinate, out.dims()[i]) * out.strides()[i];
    }
    if (how == Combine::replace) return slices.copy(out.bytes() + to * size, updates.bytes() + from * size);
    if (slices.dense_bytes() > 0) {
      return combine_elements(how, out.type(), out.bytes() + to * size, updates.bytes() + from * size, 1, slices.dense_bytes() / size,
                              [](int64_t i) { return i; });
    }
    const StridedLoop loop(slice_dims, {{out.bytes() + to * size, size, to_strides}, {updates.bytes() + from * size, size, from_strides}});
    loop.run([&](std::byte* const* data, const int64_t* strides, int64_t count) {
      combine_elements(how, out.type(), data[0], data[1], strides[1], count, [&](int64_t i) { return i * strides[0]; });
    });
  });
}

Inferred infer_tensor_scatter(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 3);
  const DatumInfo &cache = tensor_info(call, inputs, 0), &update = tensor_info(call, inputs, 1);
  require_same_type(call, cache, update);
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", -2), cache.dims.size());
  if (axis == 0) reject(call, "axis is the batch");
  Dims fitting = update.dims;
  if (fitting.size() == cache.dims.size()) fitting[axis] = cache.dims[axis];
  if (fitting != cache.dims || update.dims[axis] > cache.dims[axis]) {
    reject(call, "an update of dims " + to_string(update.dims) + " for a cache of dims " + to_string(cache.dims));
  }
  const DatumInfo* const indices = optional_tensor_info(call, inputs, 2, {DataType::int64});
  if (indices != nullptr && indices->dims != Dims{cache.dims[0]}) reject(call, "write_indices have dims " + to_string(indices->dims));
  return one(call, cache.type, cache.dims);
}

void tensor_scatter(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor &cache = tensor_at(inputs, 0), &update = tensor_at(inputs, 1), &out = outputs[0]->tensor;
  copy_elements(call.threads, out, cache);
  if (update.element_count() == 0) return;
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", -2), cache.dims().size());
  const std::string mode = call.attributes.text("mode", "linear");
  if (mode != "linear" && mode != "circular") reject(call, "mode is none of linear, circular");
  const std::vector<int64_t> starts =
      present(inputs, 2) ? integers_of(call, tensor_at(inputs, 2)) : std::vector<int64_t>(as_size(cache.dims()[0]), 0);
  const int64_t size = cache.dims()[axis], length = update.dims()[axis];
  Dims slice = update.dims();
  slice[0] = slice[axis] = 1;
  for (int64_t batch = 0; batch < cache.dims()[0]; ++batch) {
    const int64_t start = element_at(starts, batch);
    if (start < 0 || (mode == "linear" && start > size - length)) reject(call, "write index " + std::to_string(start) + " is out of range");
    for (int64_t i = 0; i < length; ++i) {
      const int64_t to = (start % size + i) % size;
      copy_elements(call.threads, out.view(slice, out.strides(), batch * out.strides()[0] + to * out.strides()[axis]),
                    update.view(slice, update.strides(), batch * update.strides()[0] + i * update.strides()[axis]));
    }
  }
}

}  // namespace relayout::kernels
