// Selects elements by their contents, so that the size of a result may depend on its operand.

#include <cmath>
#include <numeric>

#include "base/positions.h"
#include "ops/call.h"
#include "ops/kernels/gather.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/window.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

/// Stores values as one column of a matrix of positions.
void store_column(const Tensor& out, int64_t column, const Dims& values) {
  auto* to = out.data<int64_t>() + column * out.strides()[1];
  for (std::size_t i = 0; i < values.size(); ++i) to[static_cast<int64_t>(i) * out.strides()[0]] = values[i];
}

/// Calls visit(index) for the elements that are not zero, in row-major order.
template <class Visit>
void for_each_non_zero(const Tensor& x, const Visit& visit) {
  const int64_t size = element_stride(x.type());
  for_each_index(x.dims(), [&](const Dims& index) {
    uint8_t is_set = 0;
    load(x.type(), x.bytes() + offset_of(index, x.strides()) * size, 1, 1, &is_set);
    if (is_set != 0) visit(index);
  });
}

}  // namespace

Inferred infer_non_zero(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kNumericTypes | kBooleanTypes | kSmallTypes);
  if (x.value == nullptr) return std::nullopt;
  int64_t count = 0;
  for_each_non_zero(*x.value, [&](const Dims&) { ++count; });
  return one(call, DataType::int64, {static_cast<int64_t>(x.dims.size()), count});
}

void non_zero(const OpCall&, InputData inputs, OutputData outputs) {
  int64_t column = 0;
  for_each_non_zero(tensor_at(inputs, 0), [&](const Dims& index) { store_column(outputs[0]->tensor, column++, index); });
}

namespace {

/// Positions where a condition is true; elements beyond `size` do not count.
std::vector<int64_t> chosen_positions(const Tensor& condition, int64_t size) {
  const Tensor dense = contiguous(condition);
  const int64_t length = std::min(size, dense.element_count());
  std::vector<int64_t> positions(as_size(length));
  std::size_t count = 0;
  for (int64_t i = 0; i < length; ++i) {
    positions[count] = i;
    count += dense.data<uint8_t>()[i] != 0 ? 1 : 0;
  }
  positions.resize(count);
  return positions;
}

}  // namespace

Inferred infer_compress(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& x = tensor_info(call, inputs, 0);
  const DatumInfo& condition = tensor_info(call, inputs, 1, kBooleanTypes);
  if (condition.dims.size() != 1) reject(call, "the condition has rank " + std::to_string(condition.dims.size()));
  const auto axis = call.attributes.integer("axis");
  const int64_t size = axis ? x.dims[normal_axis(call, *axis, x.dims.size())] : checked_count(call, x.dims);
  if (condition.value == nullptr) return std::nullopt;
  const auto count = static_cast<int64_t>(chosen_positions(*condition.value, size).size());
  Dims dims = x.dims;
  if (axis)
    dims[normal_axis(call, *axis, dims.size())] = count;
  else
    dims = {count};
  return results(call, tensor_of(x.type, std::move(dims)));
}

/// Without an axis the input is flattened.
void compress(const OpCall& call, InputData inputs, OutputData outputs) {
  Tensor x = tensor_at(inputs, 0);
  std::size_t axis = 0;
  if (const auto given = call.attributes.integer("axis")) {
    axis = normal_axis(call, *given, x.dims().size());
  } else {
    const int64_t count = x.element_count();
    x = contiguous(x).view({count}, {1});
  }
  const std::vector<int64_t> positions = chosen_positions(tensor_at(inputs, 1), x.dims()[axis]);
  take(call, x, axis, positions, outputs[0]->tensor);
}

namespace {

/// Result of Unique: the first position and the number of each distinct slice, and for each slice the index of its distinct one.
struct Distinct {
  std::vector<int64_t> first, inverse, counts;
};

template <class T>
bool is_less(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>)
    return a < b || (!std::isnan(a) && std::isnan(b));
  else
    return a < b;
}

/// Indices of slices of `length` elements each, sorted by their elements; equal slices keep their order.
template <class T>
std::vector<int64_t> sorted_slices(const std::vector<T>& elements, int64_t slices, int64_t length) {
  std::vector<int64_t> order(as_size(slices));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (length == 1) {  // adjacent elements sort several times faster
    std::vector<std::pair<T, int64_t>> pairs;
    pairs.reserve(elements.size());
    for (const int64_t i : order) pairs.emplace_back(element_at(elements, i), i);
    std::ranges::sort(pairs, [](const auto& a, const auto& b) {
      return is_less(a.first, b.first) || (a.second < b.second && !is_less(b.first, a.first));
    });
    std::ranges::transform(pairs, order.begin(), [](const auto& pair) { return pair.second; });
    return order;
  }
  const auto slice = [&](int64_t i) { return elements.begin() + static_cast<std::ptrdiff_t>(i * length); };
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
    return std::lexicographical_compare(slice(a), slice(a) + length, slice(b), slice(b) + length, is_less<T>);
  });
  return order;
}

template <class T>
Distinct distinct_slices(const std::vector<T>& elements, int64_t slices, int64_t length, bool sorted) {
  const auto slice = [&](int64_t i) { return elements.begin() + static_cast<std::ptrdiff_t>(i * length); };
  const auto less = [&](int64_t a, int64_t b) {
    return std::lexicographical_compare(slice(a), slice(a) + length, slice(b), slice(b) + length, is_less<T>);
  };
  std::vector<int64_t> order = sorted_slices(elements, slices, length);
  std::vector<int64_t> leaders;  // first position of each run of equals, in sorted order
  std::vector<std::size_t> run(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || less(order[i - 1], order[i])) leaders.push_back(order[i]);
    element_at(run, order[i]) = leaders.size() - 1;
  }
  std::vector<std::size_t> ranks(leaders.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  if (!sorted) std::ranges::sort(ranks, {}, [&](std::size_t i) { return leaders[i]; });
  std::vector<int64_t> place(ranks.size());
  Distinct result;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    place[ranks[i]] = static_cast<int64_t>(i);
    result.first.push_back(leaders[ranks[i]]);
  }
  result.counts.assign(ranks.size(), 0);
  for (const std::size_t each : run) {
    result.inverse.push_back(place[each]);
    ++element_at(result.counts, place[each]);
  }
  return result;
}

/// The input, dense, with the axis moved to the front (flat without an axis).
Tensor slices_of(const OpCall& call, const Tensor& x) {
  const auto axis = call.attributes.integer("axis");
  if (!axis) return contiguous(x).view({x.element_count()}, {1});
  std::vector<int64_t> order(x.dims().size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto at = order.begin() + static_cast<std::ptrdiff_t>(normal_axis(call, *axis, order.size()));
  std::rotate(order.begin(), at, at + 1);
  return contiguous(x.transposed(order));
}

Distinct distinct_of(const OpCall& call, const Tensor& x) {
  const Tensor dense = slices_of(call, x);
  const bool sorted = call.attributes.integer("sorted", 1) != 0;
  const int64_t slices = dense.dims()[0], length = slices == 0 ? 0 : dense.element_count() / slices;
  const auto total = as_size(dense.element_count());
  if (x.type() == DataType::string) {
    const auto* texts = dense.data<std::string>();
    return distinct_slices(std::vector<std::string>(texts, texts + total), slices, length, sorted);
  }
  return with_wide_domain(x.type(), [&]<class Domain>(Domain) {
    std::vector<Domain> elements(total);
    load(dense.type(), dense.bytes(), 1, static_cast<int64_t>(total), elements.data());
    return distinct_slices(elements, slices, length, sorted);
  });
}

}  // namespace

Inferred infer_unique(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kNumericTypes | kBooleanTypes | kStringTypes | kSmallTypes);
  const auto axis = call.attributes.integer("axis");
  if (axis) (void)normal_axis(call, *axis, x.dims.size());
  if (x.value == nullptr) return std::nullopt;
  const Distinct distinct = distinct_of(call, *x.value);
  const auto count = static_cast<int64_t>(distinct.first.size());
  Dims dims = x.dims;
  if (axis)
    dims[normal_axis(call, *axis, dims.size())] = count;
  else
    dims = {count};
  std::vector<DatumInfo> all = results(call, tensor_of(x.type, std::move(dims)));
  for (std::size_t i = 1; i < all.size(); ++i) {
    all[i] = tensor_of(DataType::int64, {i == 2 ? static_cast<int64_t>(distinct.inverse.size()) : count});
  }
  return all;
}

void unique(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Distinct distinct = distinct_of(call, x);
  if (const Tensor* out = wanted(outputs, 0)) {
    const auto axis = call.attributes.integer("axis");
    const Tensor source = axis ? x : contiguous(x).view({x.element_count()}, {1});
    take(call, source, axis ? normal_axis(call, *axis, x.dims().size()) : 0, distinct.first, *out);
  }
  const std::array<const std::vector<int64_t>*, 3> others{&distinct.first, &distinct.inverse, &distinct.counts};
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (const Tensor* out = wanted(outputs, i + 1))
      store(DataType::int64, out->bytes(), out->strides()[0], out->dims()[0], others[i]->data());
  }
}

namespace {

std::size_t one_hot_axis(const OpCall& call, std::size_t rank) {
  return normal_axis(call, call.attributes.integer("axis", -1), rank + 1);
}

}  // namespace

Inferred infer_one_hot(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 3, 3);
  const DatumInfo& indices = tensor_info(call, inputs, 0, kNumericTypes);
  const DatumInfo& depth = tensor_info(call, inputs, 1, kNumericTypes);
  const DatumInfo& values = tensor_info(call, inputs, 2);
  if (values.dims != Dims{2}) reject(call, "values have dims " + to_string(values.dims) + ", expected [2]");
  if (element_count(depth.dims) != 1) reject(call, "depth is not a scalar");
  const std::size_t axis = one_hot_axis(call, indices.dims.size());
  if (depth.value == nullptr) return std::nullopt;
  Dims dims = indices.dims;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), truncated_integers_of(*depth.value).front());
  return one(call, values.type, std::move(dims));
}

/// An index with −depth ≤ i < depth sets one element; other indices set none.
void one_hot(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& indices = tensor_at(inputs, 0);
  const Tensor& values = tensor_at(inputs, 2);
  const Tensor& out = outputs[0]->tensor;
  copy_elements(call.threads, out, values.view({}, {}));
  const std::size_t axis = one_hot_axis(call, indices.dims().size());
  const int64_t depth = out.dims()[axis], axis_stride = out.strides()[axis];
  Dims rest = out.strides();
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis));
  with_storage(out.type(), [&]<class T>(const T&) {
    const T on = values.data<T>()[values.strides()[0]];
    for_each_index(indices.dims(), [&](const Dims& index) {
      const auto at =
          load_one<int64_t>(indices.type(), indices.bytes() + offset_of(index, indices.strides()) * element_stride(indices.type()));
      if (at < -depth || at >= depth) return;
      out.data<T>()[offset_of(index, rest) + from_front(at, depth) * axis_stride] = on;
    });
  });
}

}  // namespace relayout::kernels
