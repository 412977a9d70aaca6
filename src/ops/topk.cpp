#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/axis_lines.h"
#include "ops/dtypes.h"
#include "ops/kernels.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "ops/strided.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

std::vector<bool> only(std::size_t axis, std::size_t rank) {
  std::vector<bool> along(rank, false);
  along[axis] = true;
  return along;
}

/// NaN is larger than every number, as numpy sorts.
template <class T>
bool is_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a < b || (a == a && b != b);
  else
    return a < b;
}

/// Position of the largest (or smallest) element of a line; the first NaN wins, as in numpy.
template <class T>
int64_t best_position(const std::vector<T>& values, bool largest, bool last) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != values[i]) return static_cast<int64_t>(i);
    const bool better = largest ? values[i] > values[best] : values[i] < values[best];
    if (better || (last && values[i] == values[best])) best = i;
  }
  return static_cast<int64_t>(best);
}

/// The best position along a dim for many lines side by side, which lie closer together than the elements of one. The first NaN wins.
void select_across(int threads, const Tensor& x, std::size_t axis, const Operand& out, bool largest, bool last) {
  Dims dims = x.dims();
  const int64_t length = dims[axis], step = x.strides()[axis];
  dims[axis] = 1;
  const StridedLoop loop(dims, {operand(x), out});
  loop.run(threads, [&](std::byte* const* data, const int64_t* strides, int64_t count) {
    std::array<float, kChunk> best;
    std::array<int64_t, kChunk> at;
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      const auto lines = static_cast<std::size_t>(std::min(kChunk, count - begin));
      const float* const first = reinterpret_cast<const float*>(data[0]) + begin * strides[0];
      for (std::size_t i = 0; i < lines; ++i) best[i] = first[static_cast<int64_t>(i) * strides[0]];
      at.fill(0);
      for (int64_t k = 1; k < length; ++k) {
        const float* const row = first + k * step;
        with_step(strides[0], [&](auto lane_step) {
          for (std::size_t i = 0; i < lines; ++i) {
            const float value = row[static_cast<int64_t>(i) * lane_step];
            const bool better = largest ? value > best[i] : value < best[i];
            const bool equal = last && value == best[i];
            const bool taken = (better || equal || value != value) && best[i] == best[i];
            best[i] = taken ? value : best[i];
            at[i] = taken ? k : at[i];
          }
        });
      }
      store(DataType::int64, data[1] + begin * strides[1] * element_stride(DataType::int64), strides[1], static_cast<int64_t>(lines),
            at.data());
    }
  });
}

void select_best(const OpCall& call, InputData inputs, OutputData outputs, bool largest) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& out = outputs[0]->tensor;
  if (out.element_count() == 0) return;
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", 0), x.dims().size());
  const bool keeps = call.attributes.integer("keepdims", 1) != 0;
  const bool last = call.attributes.integer("select_last_index", 0) != 0;
  const auto along = only(axis, x.dims().size());
  const AxisLines lines(x.dims(), along);
  if (x.type() == DataType::float32 && x.strides()[axis] != 1) {
    return select_across(call.threads, x, axis, reduced_operand(out, along, keeps), largest, last);
  }
  with_wide_domain(x.type(), [&]<class Domain>(Domain) {
    lines.for_each(call.threads, {reduced_operand(out, along, keeps), operand(x)},
                   [&](std::byte* const* data, const std::vector<AxisLine>& line) {
                     std::vector<Domain> values(static_cast<std::size_t>(lines.length()));
                     line[1].read(x.type(), data[1], values.data());
                     store_one(DataType::int64, data[0], best_position(values, largest, last));
                   });
  });
}

/// K of TopK: an attribute in opset 1, then an input.
std::optional<int64_t> requested_count(const OpCall& call, InputInfos inputs) {
  constexpr int64_t kInputOpset = 10;
  if (call.opset < kInputOpset) {
    const auto k = call.attributes.integer("k");
    if (!k) reject(call, "attribute 'k' is missing");
    return k;
  }
  const DatumInfo& k = tensor_info(call, inputs, 1, {DataType::int64});
  if (k.value == nullptr) return std::nullopt;
  return integer_of(call, *k.value);
}

}  // namespace

Inferred infer_arg(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kNumericTypes);
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", 0), x.dims.size());
  Dims dims = reduced_dims(x.dims, only(axis, x.dims.size()), call.attributes.integer("keepdims", 1) != 0);
  if (x.dims[axis] == 0 && checked_count(call, dims) != 0) reject(call, "nothing to choose from along axis " + std::to_string(axis));
  return results(call, tensor_of(DataType::int64, std::move(dims)));
}

void arg_max(const OpCall& call, InputData inputs, OutputData outputs) {
  select_best(call, inputs, outputs, true);
}
void arg_min(const OpCall& call, InputData inputs, OutputData outputs) {
  select_best(call, inputs, outputs, false);
}

Inferred infer_top_k(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 2);
  const DatumInfo& x = tensor_info(call, inputs, 0, kNumericTypes);
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", -1), x.dims.size());
  const auto k = requested_count(call, inputs);
  if (!k) return std::nullopt;
  if (*k < 0 || *k > x.dims[axis]) reject(call, "K is " + std::to_string(*k) + " of " + std::to_string(x.dims[axis]));
  Dims dims = x.dims;
  dims[axis] = *k;
  std::vector<DatumInfo> all = results(call, tensor_of(x.type, dims));
  if (all.size() > 1) all[1] = tensor_of(DataType::int64, std::move(dims));
  return all;
}

/// Largest (or smallest) first; among equals the lower index first. sorted = 0 allows any order, this one included.
void top_k(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", -1), x.dims().size());
  const bool largest = call.attributes.integer("largest", 1) != 0;
  const auto k = static_cast<std::size_t>(*requested_count(call, KnownInfos(inputs).get()));
  const Tensor *values_out = wanted(outputs, 0), *indices_out = wanted(outputs, 1);
  const AxisLines lines(x.dims(), only(axis, x.dims().size()));
  // The outputs are shorter along the axis: their lines are addressed by base and stride alone.
  const auto base = [](const Tensor* out) { return out == nullptr ? Operand{} : operand(*out); };
  std::vector<Operand> operands{operand(x), base(values_out), base(indices_out)};
  for (Operand& each : operands) each.strides.resize(x.dims().size(), 0);
  with_wide_domain(x.type(), [&]<class Domain>(Domain) {
    lines.for_each(call.threads, std::move(operands), [&](std::byte* const* data, const std::vector<AxisLine>& line) {
      std::vector<Domain> values(static_cast<std::size_t>(lines.length()));
      line[0].read(x.type(), data[0], values.data());
      std::vector<int64_t> order(values.size());
      std::iota(order.begin(), order.end(), int64_t{0});
      const auto before = [&](int64_t a, int64_t b) {
        const Domain left = values[static_cast<std::size_t>(a)], right = values[static_cast<std::size_t>(b)];
        if (is_less(left, right)) return !largest;
        if (is_less(right, left)) return largest;
        return a < b;
      };
      std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(), before);
      std::vector<Domain> chosen;
      for (std::size_t i = 0; i < k; ++i) chosen.push_back(values[static_cast<std::size_t>(order[i])]);
      const auto count = static_cast<int64_t>(k);
      if (values_out != nullptr) store(x.type(), data[1], line[1].strides[0], count, chosen.data());
      if (indices_out != nullptr) store(DataType::int64, data[2], line[2].strides[0], count, order.data());
    });
  });
}

}  // namespace relayout::kernels
