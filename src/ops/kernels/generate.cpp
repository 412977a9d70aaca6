// Makes tensors from shapes, attributes and streams of random numbers.
#include <onnx/onnx_pb.h>

#include <cmath>

#include "base/positions.h"
#include "base/random.h"
#include "model/node.h"
#include "model/origin.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

__extension__ using Wide = __int128;

DataType type_of(const OpCall& call, const onnx::TensorProto& tensor) {
  const DataTypeTraits* found = find_traits(tensor.data_type());
  if (found == nullptr) reject(call, "a tensor attribute has type number " + std::to_string(tensor.data_type()));
  return found->type;
}

template <class T, class Values>
Tensor tensor_from(DataType type, Dims dims, const Values& values) {
  Tensor tensor(type, std::move(dims));
  std::ranges::copy(values, tensor.data<T>());
  return tensor;
}

/// A sparse tensor as a dense one: indices are flat (rank 1) or one row of coordinates per value.
Tensor densified(const OpCall& call, const onnx::SparseTensorProto& sparse) {
  const Model& model = call.node.graph().model();
  const Dims dims(sparse.dims().begin(), sparse.dims().end());
  checked_count(call, dims);
  const Tensor values = contiguous(load_tensor(model, sparse.values()));
  const Tensor indices = contiguous(load_tensor(model, sparse.indices()));
  const int64_t count = values.element_count();
  const auto rank = static_cast<int64_t>(dims.size());
  const bool flat = indices.rank() == 1 && indices.dims()[0] == count;
  const bool rows = indices.rank() == 2 && indices.dims()[0] == count && indices.dims()[1] == rank;
  if (indices.type() != DataType::int64 || (!flat && !rows)) reject(call, "indices of a sparse tensor do not fit its values");
  Tensor dense(values.type(), dims);
  fill_zero(dense);
  const Dims strides = contiguous_strides(dims);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = flat ? indices.data<int64_t>()[i] : 0;
    if (flat && (at < 0 || at >= dense.element_count())) reject(call, "an index of a sparse tensor is out of range");
    for (int64_t d = 0; rows && d < rank; ++d) {
      const int64_t position = indices.data<int64_t>()[i * rank + d];
      const auto axis = as_size(d);
      if (position < 0 || position >= dims[axis]) reject(call, "an index of a sparse tensor is out of range");
      at += position * strides[axis];
    }
    copy_elements(1, dense.view({}, {}, at), values.view({}, {}, i));
  }
  return dense;
}

}  // namespace

/// Type and dims from any of the attribute forms.
Inferred infer_constant(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 0, 0);
  const Attributes& attributes = call.attributes;
  const auto count = [](const auto& values) { return Dims{static_cast<int64_t>(values.size())}; };
  if (const onnx::TensorProto* value = attributes.tensor("value")) {
    return one(call, type_of(call, *value), Dims(value->dims().begin(), value->dims().end()));
  }
  if (attributes.has("sparse_value")) {
    const onnx::SparseTensorProto& value = call.node.attribute("sparse_value")->sparse_tensor();
    return one(call, type_of(call, value.values()), Dims(value.dims().begin(), value.dims().end()));
  }
  if (attributes.has("value_float")) return results(call, tensor_of(DataType::float32, {}));
  if (attributes.has("value_floats")) return results(call, tensor_of(DataType::float32, count(attributes.reals("value_floats"))));
  if (attributes.has("value_int")) return results(call, tensor_of(DataType::int64, {}));
  if (attributes.has("value_ints")) return results(call, tensor_of(DataType::int64, count(attributes.integers("value_ints"))));
  if (attributes.has("value_string")) return results(call, tensor_of(DataType::string, {}));
  if (attributes.has("value_strings")) return results(call, tensor_of(DataType::string, count(attributes.texts("value_strings"))));
  reject(call, "no value attribute");
}

void constant(const OpCall& call, InputData, OutputData outputs) {
  const Attributes& attributes = call.attributes;
  const Tensor& out = outputs[0]->tensor;
  Tensor value;
  if (const onnx::TensorProto* tensor = attributes.tensor("value"))
    value = load_tensor(call.node.graph().model(), *tensor);
  else if (attributes.has("sparse_value"))
    value = densified(call, call.node.attribute("sparse_value")->sparse_tensor());
  else if (const auto number = attributes.real("value_float"))
    value = tensor_from<float>(DataType::float32, {}, std::vector{*number});
  else if (attributes.has("value_floats"))
    value = tensor_from<float>(DataType::float32, out.dims(), attributes.reals("value_floats"));
  else if (const auto integer = attributes.integer("value_int"))
    value = tensor_from<int64_t>(DataType::int64, {}, std::vector{*integer});
  else if (attributes.has("value_ints"))
    value = tensor_from<int64_t>(DataType::int64, out.dims(), attributes.integers("value_ints"));
  else if (attributes.has("value_string"))
    value = tensor_from<std::string>(DataType::string, {}, std::vector{attributes.text("value_string", "")});
  else
    value = tensor_from<std::string>(DataType::string, out.dims(), attributes.texts("value_strings"));
  copy_elements(call.threads, out, value);
}

Inferred infer_constant_of_shape(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const auto dims = known_integers(call, tensor_info(call, inputs, 0, {DataType::int64}));
  const onnx::TensorProto* value = call.attributes.tensor("value");
  if (value != nullptr && element_count(Dims(value->dims().begin(), value->dims().end())) != 1)
    reject(call, "attribute 'value' is not one element");
  if (!dims) return std::nullopt;
  return one(call, value == nullptr ? DataType::float32 : type_of(call, *value), *dims);
}

void constant_of_shape(const OpCall& call, InputData, OutputData outputs) {
  const Tensor& out = outputs[0]->tensor;
  const onnx::TensorProto* value = call.attributes.tensor("value");
  if (value == nullptr) return fill_zero(out);
  copy_elements(call.threads, out, load_tensor(call.node.graph().model(), *value).view({}, {}));
}

namespace {

/// Number of elements of Range: max(⌈(limit − start) / delta⌉, 0).
int64_t range_count(const OpCall& call, const Tensor& start, const Tensor& limit, const Tensor& delta) {
  if (!traits(start.type()).is_float) {
    const int64_t step = integer_of(call, delta);
    if (step == 0) reject(call, "delta is 0");
    const Wide length = Wide{integer_of(call, limit)} - integer_of(call, start);
    if ((length > 0) != (step > 0) || length == 0) return 0;
    const Wide count = (length + (step > 0 ? Wide{step} - 1 : Wide{step} + 1)) / step;
    if (count > INT64_MAX) reject(call, "too many elements");
    return static_cast<int64_t>(count);
  }
  const double step = real_of(call, delta);
  const double count = std::ceil((real_of(call, limit) - real_of(call, start)) / step);
  if (step == 0 || std::isnan(count)) reject(call, "delta is 0 or an operand is NaN");
  constexpr double kLimit = 0x1p62;
  if (count > kLimit) reject(call, "too many elements");
  return count > 0 ? static_cast<int64_t>(count) : 0;
}

}  // namespace

Inferred infer_range(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 3, 3);
  const DatumInfo& start = tensor_info(call, inputs, 0, kNumericTypes);
  for (std::size_t i = 0; i < 3; ++i) {
    const DatumInfo& info = tensor_info(call, inputs, i, kNumericTypes);
    require_same_type(call, start, info);
    if (element_count(info.dims) != 1) reject(call, "an operand has dims " + to_string(info.dims));
  }
  if (inputs[0]->value == nullptr || inputs[1]->value == nullptr || inputs[2]->value == nullptr) return std::nullopt;
  return one(call, start.type, {range_count(call, *inputs[0]->value, *inputs[1]->value, *inputs[2]->value)});
}

void range(const OpCall&, InputData inputs, OutputData outputs) {
  const Tensor& out = outputs[0]->tensor;
  const auto fill = [&]<class Domain>(Domain) {
    using Step = std::conditional_t<std::is_integral_v<Domain>, uint64_t, double>;
    const auto start = static_cast<Step>(load_one<Domain>(out.type(), tensor_at(inputs, 0).bytes()));
    const auto step = static_cast<Step>(load_one<Domain>(out.type(), tensor_at(inputs, 2).bytes()));
    std::array<Domain, kChunk> values;
    for (int64_t begin = 0; begin < out.dims()[0]; begin += kChunk) {
      const int64_t count = std::min(kChunk, out.dims()[0] - begin);
      for (int64_t i = 0; i < count; ++i) element_at(values, i) = static_cast<Domain>(start + static_cast<Step>(begin + i) * step);
      store(out.type(), out.bytes() + begin * out.strides()[0] * element_stride(out.type()), out.strides()[0], count, values.data());
    }
  };
  with_wide_domain(out.type(), fill);
}

Inferred infer_eye_like(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const TypeSet types = kNumericTypes | kBooleanTypes;
  const DatumInfo& x = tensor_info(call, inputs, 0, types);
  if (x.dims.size() != 2) reject(call, "dims " + to_string(x.dims) + " are not of a matrix");
  return results(call, tensor_of(type_attribute(call, "dtype", x.type, types), x.dims));
}

void eye_like(const OpCall& call, InputData, OutputData outputs) {
  const Tensor& out = outputs[0]->tensor;
  const int64_t bound = std::max(out.dims()[0], out.dims()[1]);
  const int64_t k = std::clamp(call.attributes.integer("k", 0), -bound, bound);
  fill_zero(out);
  for (int64_t row = std::max<int64_t>(0, -k); row < out.dims()[0] && row + k < out.dims()[1]; ++row) {
    store_one(out.type(), out.bytes() + (row * out.strides()[0] + (row + k) * out.strides()[1]) * element_stride(out.type()), int64_t{1});
  }
}

// Random numbers: the stream depends on seed and output name only, so that two runs agree.
namespace {

/// One stream per node: from attribute seed, else from the run's seed.
RandomStream stream_of(const OpCall& call) {
  constexpr double kScale = 1 << 16;
  const auto seed = call.attributes.real("seed");
  const uint64_t own = seed && std::abs(*seed) < 0x1p40F ? static_cast<uint64_t>(static_cast<int64_t>(double{*seed} * kScale)) : call.seed;
  return {own, call.node.outputs().empty() || call.node.output(0) == nullptr ? "" : call.node.output(0)->name()};
}

/// out[i] = f(i) where i is the row-major number of the element, for any strides.
template <class F>
void generate(const Tensor& out, const F& f) {
  const DenseOutput dense(out);
  const int64_t count = out.element_count();
  std::array<double, kChunk> values;
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t length = std::min(kChunk, count - begin);
    for (int64_t i = 0; i < length; ++i) element_at(values, i) = f(static_cast<uint64_t>(begin + i));
    store(out.type(), dense.tensor().bytes() + begin * element_stride(out.type()), 1, length, values.data());
  }
  dense.finish();
}

}  // namespace

Inferred infer_random(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 0, 0);
  return one(call, type_attribute(call, "dtype", DataType::float32, kRealTypes), call.attributes.integers("shape"));
}

Inferred infer_random_like(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0);
  return results(call, tensor_of(type_attribute(call, "dtype", x.type, kRealTypes), x.dims));
}

void random_normal(const OpCall& call, InputData, OutputData outputs) {
  const double mean = call.attributes.real("mean", 0), scale = call.attributes.real("scale", 1);
  generate(outputs[0]->tensor, [&, stream = stream_of(call)](uint64_t i) { return mean + scale * stream.normal(i); });
}

void random_uniform(const OpCall& call, InputData, OutputData outputs) {
  const double low = call.attributes.real("low", 0), high = call.attributes.real("high", 1);
  generate(outputs[0]->tensor, [&, stream = stream_of(call)](uint64_t i) { return low + (high - low) * stream.uniform(i); });
}

Inferred infer_bernoulli(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  return results(call, tensor_of(type_attribute(call, "dtype", x.type, kNumericTypes | kBooleanTypes), x.dims));
}

void bernoulli(const OpCall& call, InputData inputs, OutputData outputs) {
  const std::vector<double> probabilities = reals_of(tensor_at(inputs, 0));
  generate(outputs[0]->tensor, [&, stream = stream_of(call)](uint64_t i) { return stream.uniform(i) < probabilities[i] ? 1.0 : 0.0; });
}

Inferred infer_multinomial(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  const int64_t samples = call.attributes.integer("sample_size", 1);
  if (x.dims.size() != 2 || x.dims[1] == 0 || samples < 0) reject(call, "dims " + to_string(x.dims) + " or sample_size do not fit");
  return one(call, type_attribute(call, "dtype", DataType::int32, kIndexTypes), {x.dims[0], samples});
}

/// Draws classes by unnormalized log probabilities.
void multinomial(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& out = outputs[0]->tensor;
  const std::vector<double> logs = reals_of(x);
  const auto classes = as_size(x.dims()[1]);
  const auto samples = static_cast<uint64_t>(out.dims()[1]);
  std::vector<double> totals(logs.size());
  for (std::size_t row = 0; row < logs.size(); row += classes) {
    double largest = logs[row], total = 0;
    for (std::size_t i = 0; i < classes; ++i) largest = std::fmax(largest, logs[row + i]);
    for (std::size_t i = 0; i < classes; ++i) totals[row + i] = total += std::exp(logs[row + i] - largest);
  }
  generate(out, [&, stream = stream_of(call)](uint64_t i) {
    const std::size_t row = as_size(i / samples) * classes;
    const double drawn = stream.uniform(i) * totals[row + classes - 1];
    std::size_t chosen = 0;
    while (chosen + 1 < classes && totals[row + chosen] <= drawn) ++chosen;
    return static_cast<double>(chosen);
  });
}

}  // namespace relayout::kernels
