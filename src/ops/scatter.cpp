#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>

#include "ops/dtypes.h"
#include "ops/gather.h"
#include "ops/kernels.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "ops/strided.h"
#include "ops/window.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
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

/// One element of `to` combined with one of `from`; both have the type.
void combine_element(Combine how, DataType type, std::byte* to, const std::byte* from) {
  if (how == Combine::replace) {
    with_storage(type, [&]<class T>(const T&) { *reinterpret_cast<T*>(to) = *reinterpret_cast<const T*>(from); });
    return;
  }
  with_wide_domain(
      type, [&]<class Domain>(Domain) { store_one(type, to, combined(how, load_one<Domain>(type, to), load_one<Domain>(type, from))); });
}

TypeSet scatter_types(Combine how) {
  return how == Combine::replace ? kAllTypes : kNumericTypes;
}

int64_t dot(const Dims& index, const Dims& strides) {
  int64_t sum = 0;
  for (std::size_t i = 0; i < index.size(); ++i) sum += index[i] * strides[i];
  return sum;
}

}  // namespace

Inferred infer_scatter_elements(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 3, 3);
  const DatumInfo& data = tensor_info(call, inputs, 0, scatter_types(combine_of(call)));
  const DatumInfo& indices = tensor_info(call, inputs, 1, kIndexTypes);
  const DatumInfo& updates = tensor_info(call, inputs, 2);
  require_same_type(call, data, updates);
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", 0), data.dims.size());
  bool fits = indices.dims == updates.dims && indices.dims.size() == data.dims.size();
  for (std::size_t i = 0; fits && i < data.dims.size(); ++i) fits = i == axis || indices.dims[i] <= data.dims[i];
  if (!fits) {
    reject(call,
           "indices " + to_string(indices.dims) + " and updates " + to_string(updates.dims) + " do not fit data " + to_string(data.dims));
  }
  return results(call, tensor_of(data.type, data.dims));
}

/// Elements are taken in row-major order of the indices: the last of equal indices wins, or all are combined.
void scatter_elements(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& indices = tensor_at(inputs, 1);
  const Tensor& updates = tensor_at(inputs, 2);
  const Tensor& out = outputs[0]->tensor;
  copy_elements(call.threads, out, tensor_at(inputs, 0));
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", 0), out.dims().size());
  const Combine how = combine_of(call);
  const int64_t size = element_stride(out.type());
  Dims rest_strides = out.strides();
  rest_strides[axis] = 0;
  for_each_index(indices.dims(), [&](const Dims& index) {
    const std::byte* const at = indices.bytes() + dot(index, indices.strides()) * element_stride(indices.type());
    const int64_t position = checked_index(call, load_one<int64_t>(indices.type(), at), out.dims()[axis]);
    std::byte* const to = out.bytes() + (dot(index, rest_strides) + position * out.strides()[axis]) * size;
    combine_element(how, out.type(), to, updates.bytes() + dot(index, updates.strides()) * size);
  });
}

Inferred infer_scatter_nd(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 3, 3);
  const DatumInfo& data = tensor_info(call, inputs, 0, scatter_types(combine_of(call)));
  const DatumInfo& indices = tensor_info(call, inputs, 1, {DataType::int64});
  const DatumInfo& updates = tensor_info(call, inputs, 2);
  require_same_type(call, data, updates);
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
  const Tensor& indices = tensor_at(inputs, 1);
  const Tensor& updates = tensor_at(inputs, 2);
  const Tensor& out = outputs[0]->tensor;
  copy_elements(call.threads, out, tensor_at(inputs, 0));
  if (updates.element_count() == 0) return;
  const Combine how = combine_of(call);
  const int64_t size = element_stride(out.type());
  const std::size_t depth = static_cast<std::size_t>(indices.dims().back()), lead = indices.dims().size() - 1;
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
    for_each_index(slice_dims, [&](const Dims& inner) {
      std::byte* const element = out.bytes() + (to + dot(inner, to_strides)) * size;
      combine_element(how, out.type(), element, updates.bytes() + (from + dot(inner, from_strides)) * size);
    });
  });
}

}  // namespace relayout::kernels
