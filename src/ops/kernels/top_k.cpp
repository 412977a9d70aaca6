// Finds the largest or smallest elements of lines, with the order of equal elements that ONNX requires.

#include "base/machine.h"
#include "base/positions.h"
#include "base/vectorize.h"
#include "ops/call.h"
#include "ops/kernels/gather.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/axis_lines.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
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

/// A buffer for a line; short lines do not allocate.
template <class T>
class LineBuffer {
 public:
  explicit LineBuffer(int64_t count) {
    if (count > kChunk) far_ = std::make_unique_for_overwrite<T[]>(as_size(count));
  }
  [[nodiscard]] T* data() noexcept { return far_ ? far_.get() : near_.data(); }

 private:
  std::array<T, kChunk> near_;
  std::unique_ptr<T[]> far_;
};

/// Position of the first element for which `wanted` is true, or `count`.
template <class T, class Wanted>
RELAYOUT_VECTORIZE static int64_t position_of(const T* values, int64_t count, Wanted wanted) {
  constexpr int64_t kBlock = 64;
  int64_t begin = 0;
  for (; begin + kBlock <= count; begin += kBlock) {
    int32_t found = 0;
    for (int64_t i = 0; i < kBlock; ++i) found |= static_cast<int32_t>(wanted(values[begin + i]));
    if (found != 0) break;
  }
  while (begin < count && !wanted(values[begin])) ++begin;
  return begin;
}

/// Position of the largest (or smallest) element of a line; the first NaN wins, as in numpy.
template <class T>
int64_t best_position(const T* values, int64_t count, bool largest, bool last) {
  const T best = largest ? extreme_of(values, count, values[0], std::greater<>{}) : extreme_of(values, count, values[0], std::less<>{});
  if (best != best) return position_of(values, count, [](T value) { return value != value; });
  if (!last) return position_of(values, count, [best](T value) { return value == best; });
  int64_t at = count - 1;
  while (values[at] != best) --at;
  return at;
}

/// Runs f on a line's elements in memory, or in a buffer.
template <class F>
void with_line(const Tensor& x, const AxisLine& line, const std::byte* data, int64_t length, const F& f) {
  if (x.type() == DataType::float32 && line.strides[0] == 1) return f(reinterpret_cast<const float*>(data));
  with_wide_domain(x.type(), [&]<class Domain>(Domain) {
    LineBuffer<Domain> buffer(length);
    line.read(x.type(), data, buffer.data());
    f(static_cast<const Domain*>(buffer.data()));
  });
}

template <class T>
[[gnu::always_inline]] inline bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return value != value;
  else
    return false;
}

/// Updates the best of each line with its element k.
template <class T>
RELAYOUT_VECTORIZE void select_row(const void* row, int32_t k, bool largest, bool last, int64_t lines, void* best, int32_t* at) {
  const auto run = [&, values = static_cast<const T*>(row), kept = static_cast<T*>(best)](const auto& is_better) {
    RELAYOUT_INDEPENDENT for (int64_t i = 0; i < lines; ++i) {
      const T value = values[i], before = kept[i];
      const bool taken = (is_better(value, before) || is_nan(value)) && !is_nan(before);
      kept[i] = taken ? value : before;
      at[i] = taken ? k : at[i];
    }
  };
  if (largest && last) return run(std::greater_equal<>{});
  if (largest) return run(std::greater<>{});
  if (last) return run(std::less_equal<>{});
  run(std::less<>{});
}

/// The best position along a dim, for many lines in parallel lanes. The first NaN wins.
void select_across(int threads, const Tensor& x, std::size_t axis, const Operand& out, bool largest, bool last) {
  Dims dims = x.dims();
  const auto length = static_cast<int32_t>(dims[axis]);
  const int64_t step = x.strides()[axis], size = element_stride(x.type());
  dims[axis] = 1;
  const auto [type, select] = with_native_type(x.type(), []<class T>(T) { return std::pair(&kChunkType<T>, &select_row<T>); });
  const StridedLoop loop(dims, {operand(x), out});
  loop.run(threads, [&](std::byte* const* data, const int64_t* strides, int64_t count) {
    alignas(kLineBytes) ChunkBytes best, buffer;
    std::array<int32_t, kChunk> at;
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      const int64_t lines = std::min(kChunk, count - begin);
      const auto row = [&](int32_t k) {
        return type->read(x.type(), data[0] + (begin * strides[0] + k * step) * size, strides[0], lines, buffer.data());
      };
      std::memcpy(best.data(), row(0), as_size(lines * type->bytes));
      std::fill_n(at.data(), lines, 0);
      for (int32_t k = 1; k < length; ++k) select(row(k), k, largest, last, lines, best.data(), at.data());
      auto* const to = reinterpret_cast<int64_t*>(data[1]) + begin * strides[1];
      for (int64_t i = 0; i < lines; ++i) to[i * strides[1]] = element_at(at, i);
    }
  });
}

/// Whether lines are processed in parallel lanes: where their elements are far apart, or where lines are short.
bool goes_across(const Tensor& x, std::size_t axis) {
  constexpr int64_t kShortLine = 32, kFewLines = 8;
  return (x.strides()[axis] >= kFewLines || x.dims()[axis] < kShortLine) && x.dims()[axis] <= INT32_MAX;
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
  if (goes_across(x, axis)) return select_across(call.threads, x, axis, reduced_operand(out, along, keeps), largest, last);
  lines.for_each(
      call.threads, {reduced_operand(out, along, keeps), operand(x)}, [&](std::byte* const* data, const std::vector<AxisLine>& line) {
        with_line(x, line[1], data[1], lines.length(),
                  [&](const auto* values) { store_one(DataType::int64, data[0], best_position(values, lines.length(), largest, last)); });
      });
}

/// An element of a line, ordered by lower keys first, then lower indices.
struct Ranked {
  uint64_t key;
  int64_t index;
  bool operator<(const Ranked& other) const { return key != other.key ? key < other.key : index < other.index; }
};

/// A key with the order of the values, NaN above all numbers and −0 equal to 0; reversed when the largest is first.
template <class T>
[[gnu::always_inline]] inline uint64_t rank_key(T value, bool largest) {
  constexpr uint64_t kSign = uint64_t{1} << 63U;
  uint64_t key = 0;
  if constexpr (std::is_floating_point_v<T>) {
    const auto bits = std::bit_cast<uint64_t>(static_cast<double>(value) + 0.0);
    key = (bits & kSign) != 0 ? ~bits : bits | kSign;
    key = value != value ? UINT64_MAX : key;
  } else {
    key = static_cast<uint64_t>(value) ^ (std::is_signed_v<T> ? kSign : 0);
  }
  return largest ? ~key : key;
}

/// Writes the first `k` of a line to `ranked`, which has room for the whole line; a small `k` is kept sorted during the scan.
template <class T>
void rank_line(const T* values, int64_t count, int64_t k, bool largest, Ranked* ranked) {
  constexpr int64_t kFew = 64;
  const auto at = [&](int64_t i) { return Ranked{rank_key(values[i], largest), i}; };
  if (k == 1 && largest) {
    ranked[0].index = best_position(values, count, true, false);
    return;
  }
  if (k == 1) {
    Ranked best = at(0);
    for (int64_t i = 1; i < count; ++i) {  // no branch: the better one is unpredictable
      const Ranked next = at(i);
      const bool taken = next.key < best.key;
      best.key = taken ? next.key : best.key;
      best.index = taken ? next.index : best.index;
    }
    ranked[0] = best;
    return;
  }
  if (k > kFew || 2 * k > count) {
    for (int64_t i = 0; i < count; ++i) ranked[i] = at(i);
    std::partial_sort(ranked, ranked + k, ranked + count);
    return;
  }
  for (int64_t i = 0; i < k; ++i) ranked[i] = at(i);
  std::sort(ranked, ranked + k);
  if (k == 0) return;
  for (int64_t i = k; i < count; ++i) {
    const Ranked next = at(i);
    if (next.key >= ranked[k - 1].key) continue;
    int64_t place = k - 1;
    for (; place > 0 && next.key < ranked[place - 1].key; --place) ranked[place] = ranked[place - 1];
    ranked[place] = next;
  }
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

/// Largest (or smallest) first; of equals the lower index first. sorted = 0 allows any order, including this one.
void top_k(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", -1), x.dims().size());
  const bool largest = call.attributes.integer("largest", 1) != 0;
  const int64_t k = *requested_count(call, KnownInfos(inputs).get());
  const Tensor *values_out = wanted(outputs, 0), *indices_out = wanted(outputs, 1);
  if (x.dims()[axis] == 1 && k == 1) {
    if (values_out != nullptr) copy_elements(call.threads, *values_out, x);
    if (indices_out != nullptr) fill_zero(*indices_out);
    return;
  }
  if (k == 1 && largest && x.element_count() > 0 && goes_across(x, axis)) {
    const Dims& dims = (values_out != nullptr ? values_out : indices_out)->dims();
    const Tensor indices = indices_out != nullptr ? *indices_out : Tensor(DataType::int64, dims);
    select_across(call.threads, x, axis, operand(indices), true, false);
    if (values_out == nullptr) return;
    Operand from = operand(x);
    from.strides[axis] = 0;
    return gather_along(call, *values_out, from, indices, indices.strides(), {x.dims()[axis], x.strides()[axis]});
  }
  const AxisLines lines(x.dims(), only(axis, x.dims().size()));
  // The outputs are shorter along the axis: their lines are addressed by base and stride alone.
  const auto base = [](const Tensor* out) { return out == nullptr ? Operand{} : operand(*out); };
  std::vector<Operand> operands{operand(x), base(values_out), base(indices_out)};
  for (Operand& each : operands) each.strides.resize(x.dims().size(), 0);
  with_wide_domain(x.type(), [&]<class Domain>(Domain) {
    lines.for_each(call.threads, std::move(operands), [&](std::byte* const* data, const std::vector<AxisLine>& line) {
      LineBuffer<Domain> value_buffer(lines.length()), chosen_buffer(k);
      LineBuffer<Ranked> ranked_buffer(lines.length());
      Domain *const values = value_buffer.data(), *const chosen = chosen_buffer.data();
      Ranked* const ranked = ranked_buffer.data();
      line[0].read(x.type(), data[0], values);
      rank_line(values, lines.length(), k, largest, ranked);
      if (values_out != nullptr) {
        for (int64_t i = 0; i < k; ++i) chosen[i] = values[ranked[i].index];
        store(x.type(), data[1], line[1].strides[0], k, chosen);
      }
      if (indices_out == nullptr) return;
      auto* const indices = reinterpret_cast<int64_t*>(data[2]);
      for (int64_t i = 0; i < k; ++i) indices[i * line[2].strides[0]] = ranked[i].index;
    });
  });
}

}  // namespace relayout::kernels
