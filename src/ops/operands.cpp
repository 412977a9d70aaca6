// Checks and reads the operands of kernels, with the messages that all kernels share.

#include "ops/operands.h"

#include <numeric>

#include "base/positions.h"
#include "ops/call.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

std::string input_name(std::size_t index) {
  return "input " + std::to_string(index);
}

}  // namespace

void reject(const OpCall& call, const std::string& what) {
  fail(ErrorKind::invalid, "node " + call.node.label() + ": " + what);
}

void refuse(const OpCall& call, const std::string& what) {
  fail(ErrorKind::unsupported, "node " + call.node.label() + ": " + what);
}

const DatumInfo* optional_info(InputInfos inputs, std::size_t index) {
  return index < inputs.size() ? inputs[index] : nullptr;
}

const DatumInfo& tensor_info(const OpCall& call, InputInfos inputs, std::size_t index, TypeSet types) {
  const DatumInfo* info = optional_info(inputs, index);
  if (info == nullptr) reject(call, input_name(index) + " is missing");
  if (info->kind != Datum::Kind::tensor) reject(call, input_name(index) + " is not a tensor");
  if (!types.has(info->type)) reject(call, input_name(index) + " has type " + std::string(name_of(info->type)) + ", which is not allowed");
  return *info;
}

const DatumInfo* optional_tensor_info(const OpCall& call, InputInfos inputs, std::size_t index, TypeSet types) {
  if (optional_info(inputs, index) == nullptr) return nullptr;
  return &tensor_info(call, inputs, index, types);
}

const DatumInfo& sequence_info(const OpCall& call, InputInfos inputs, std::size_t index) {
  const DatumInfo* info = optional_info(inputs, index);
  if (info == nullptr) reject(call, input_name(index) + " is missing");
  if (info->kind != Datum::Kind::sequence) reject(call, input_name(index) + " is not a sequence");
  return *info;
}

void require_same_type(const OpCall& call, const DatumInfo& a, const DatumInfo& b) {
  if (a.type == b.type) return;
  reject(call, "operands have types " + std::string(name_of(a.type)) + " and " + std::string(name_of(b.type)));
}

std::pair<const DatumInfo&, const DatumInfo&> two_of_one_type(const OpCall& call, InputInfos inputs, TypeSet types) {
  const DatumInfo& first = tensor_info(call, inputs, 0, types);
  const DatumInfo& second = tensor_info(call, inputs, 1, types);
  require_same_type(call, first, second);
  return {first, second};
}

void require_inputs(const OpCall& call, InputInfos inputs, std::size_t least, std::size_t most) {
  if (inputs.size() >= least && inputs.size() <= most) return;
  reject(call, std::to_string(inputs.size()) + " inputs, expected " + std::to_string(least) +
                   (most == least ? "" : " to " + std::to_string(most)));
}

DatumInfo tensor_of(DataType type, Dims dims) {
  DatumInfo info;
  info.type = type;
  info.dims = std::move(dims);
  return info;
}

Inferred one(const OpCall& call, DataType type, Dims dims) {
  checked_count(call, dims);
  return results(call, tensor_of(type, std::move(dims)));
}

std::vector<DatumInfo> results(const OpCall& call, DatumInfo first) {
  std::vector<DatumInfo> all(std::max<std::size_t>(call.node.outputs().size(), 1));
  all.front() = std::move(first);
  return all;
}

std::optional<std::vector<int64_t>> known_integers(const OpCall& call, const DatumInfo& info) {
  if (info.dims.size() > 1) reject(call, "an operand that holds sizes or axes has rank " + std::to_string(info.dims.size()));
  if (info.value == nullptr) return std::nullopt;
  return integers_of(call, *info.value);
}

std::vector<int64_t> integers_of(const OpCall& call, const Tensor& tensor) {
  if (!kIntegerTypes.has(tensor.type())) reject(call, "an operand that holds integers has type " + std::string(name_of(tensor.type())));
  return truncated_integers_of(tensor);
}

std::vector<int64_t> truncated_integers_of(const Tensor& tensor) {
  const Tensor dense = contiguous(tensor);
  std::vector<int64_t> values(as_size(dense.element_count()));
  load(dense.type(), dense.bytes(), 1, static_cast<int64_t>(values.size()), values.data());
  return values;
}

std::vector<double> reals_of(const Tensor& tensor) {
  const Tensor dense = contiguous(tensor);
  std::vector<double> values(as_size(dense.element_count()));
  load(dense.type(), dense.bytes(), 1, static_cast<int64_t>(values.size()), values.data());
  return values;
}

double real_of(const OpCall& call, const Tensor& tensor) {
  if (tensor.element_count() != 1) reject(call, "an operand of dims " + to_string(tensor.dims()) + " should be a scalar");
  return load_one<double>(tensor.type(), tensor.bytes());
}

int64_t integer_of(const OpCall& call, const Tensor& tensor) {
  if (tensor.element_count() != 1) reject(call, "an operand of dims " + to_string(tensor.dims()) + " should be a scalar");
  if (!kIntegerTypes.has(tensor.type())) reject(call, "a scalar operand has type " + std::string(name_of(tensor.type())));
  return load_one<int64_t>(tensor.type(), tensor.bytes());
}

DataType type_attribute(const OpCall& call, std::string_view name, DataType otherwise, TypeSet allowed) {
  const int64_t number = call.attributes.integer(name, static_cast<int64_t>(otherwise));
  const DataTypeTraits* const found = find_traits(number);
  if (found == nullptr || !allowed.has(found->type)) reject(call, std::string(name) + " is " + std::to_string(number));
  return found->type;
}

std::size_t normal_axis(const OpCall& call, int64_t axis, std::size_t rank) {
  const auto place = checked_axis(axis, rank);
  if (!place) reject(call, "axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  return *place;
}

std::vector<std::size_t> normal_axes(const OpCall& call, std::span<const int64_t> axes, std::size_t rank) {
  std::vector<std::size_t> normal;
  std::vector<bool> seen(rank, false);
  for (const int64_t axis : axes) {
    normal.push_back(normal_axis(call, axis, rank));
    if (seen[normal.back()]) reject(call, "axis " + std::to_string(axis) + " is given twice");
    seen[normal.back()] = true;
  }
  return normal;
}

Dims broadcast_dims(const OpCall& call, std::span<const int64_t> a, std::span<const int64_t> b) {
  const std::span<const int64_t> longer = a.size() >= b.size() ? a : b;
  const std::span<const int64_t> shorter = a.size() >= b.size() ? b : a;
  Dims dims(longer.begin(), longer.end());
  const std::size_t lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    int64_t& dim = dims[lead + i];
    if (dim == 1)
      dim = shorter[i];
    else if (shorter[i] != 1 && shorter[i] != dim)
      reject(call, "dims " + to_string(a) + " and " + to_string(b) + " do not broadcast");
  }
  return dims;
}

int64_t checked_count(const OpCall& call, std::span<const int64_t> dims) {
  int64_t count = 1;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) reject(call, "a result would have dims " + to_string(dims));
    if (dim == 0)
      empty = true;
    else
      count = checked_product(call, count, dim);
  }
  return empty ? 0 : count;
}

int64_t checked_sum(const OpCall& call, int64_t a, int64_t b) {
  const auto sum = checked_add(a, b);
  if (!sum) reject(call, "sizes overflow");
  return *sum;
}

int64_t checked_product(const OpCall& call, int64_t a, int64_t b) {
  const auto product = checked_mul(a, b);
  if (!product) reject(call, "sizes overflow");
  return *product;
}

namespace {

template <class Key>
std::vector<std::size_t> ascending(const Key* keys, std::size_t count) {
  std::vector<std::size_t> out(count);
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::ranges::sort(out, {}, [&](std::size_t i) { return keys[i]; });
  const auto is_same = [&](std::size_t i, std::size_t j) { return keys[i] == keys[j]; };
  if (std::ranges::adjacent_find(out, is_same) != out.end()) fail(ErrorKind::invalid, "a map has a key twice");
  return out;
}

Tensor reordered(const Tensor& vector, const std::vector<std::size_t>& order) {
  Tensor out(vector.type(), vector.dims());
  for (std::size_t i = 0; i < order.size(); ++i) {
    copy_elements(1, out.view({1}, {1}, static_cast<int64_t>(i)), vector.view({1}, {1}, static_cast<int64_t>(order[i])));
  }
  return out;
}

}  // namespace

Datum map_of(const Tensor& keys, const Tensor& values) {
  const Tensor dense = contiguous(keys);
  const auto count = as_size(dense.element_count());
  const auto order =
      dense.type() == DataType::string ? ascending(dense.data<std::string>(), count) : ascending(dense.data<int64_t>(), count);
  Datum out;
  out.kind = Datum::Kind::map;
  out.elements = {reordered(dense, order), reordered(contiguous(values), order)};
  return out;
}

bool present(InputData inputs, std::size_t index) {
  return index < inputs.size() && inputs[index] != nullptr;
}

const Tensor& tensor_at(InputData inputs, std::size_t index) {
  if (!present(inputs, index)) fail(ErrorKind::defect, "a kernel was called without " + input_name(index));
  return inputs[index]->tensor;
}

Tensor part_of(const Tensor& tensor, std::size_t axis, int64_t begin, int64_t count) {
  Dims dims = tensor.dims();
  dims[axis] = count;
  const bool empty = std::ranges::find(dims, 0) != dims.end();
  return tensor.view(std::move(dims), tensor.strides(), empty ? 0 : begin * tensor.strides()[axis]);
}

const Tensor* wanted(OutputData outputs, std::size_t index) {
  return index < outputs.size() && outputs[index] != nullptr ? &outputs[index]->tensor : nullptr;
}

DenseOutput::DenseOutput(const Tensor& target)
    : target_(target), dense_(target.is_contiguous() ? target : Tensor(target.type(), target.dims())) {}

void DenseOutput::finish(int threads) const {
  if (dense_.bytes() != target_.bytes()) copy_elements(threads, target_, dense_);
}

}  // namespace relayout
