// Reduces a tensor along any axes, with sums in double, reading elements in memory order.

#include <cmath>

#include "base/machine.h"
#include "base/positions.h"
#include "base/threads.h"
#include "base/vectorize.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/window.h"
#include "ops/loops/axis_lines.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/op_history.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

/// The dims that are reduced: all when no axes are given, none with noop_with_empty_axes. Nothing when the axes are not known yet.
std::optional<std::vector<bool>> reduced_axes(const OpCall& call, InputInfos inputs, std::size_t rank) {
  const bool by_input = argument_is_operand(call.node.op_type(), call.opset);
  std::vector<int64_t> axes;
  if (!by_input) {
    axes = call.attributes.integers("axes");
  } else if (const DatumInfo* info = optional_tensor_info(call, inputs, 1, kIndexTypes)) {
    auto values = known_integers(call, *info);
    if (!values) return std::nullopt;
    axes = std::move(*values);
  }
  const bool none = axes.empty() && by_input && call.attributes.integer("noop_with_empty_axes", 0) != 0;
  std::vector<bool> reduced(rank, axes.empty() && !none);
  for (const std::size_t axis : normal_axes(call, axes, rank)) reduced[axis] = true;
  return reduced;
}

/// Input and output over the input's dims; the output has stride 0 along reduced dims.
struct Reduction {
  Tensor x, out;
  std::vector<bool> reduced;
  Operand out_operand;
  int64_t length = 1;  ///< elements that are folded into one
};

Reduction reduction_of(const OpCall& call, InputData inputs, OutputData outputs) {
  Reduction result{tensor_at(inputs, 0), outputs[0]->tensor, {}, {}, 1};
  const std::size_t rank = result.x.dims().size();
  result.reduced = *reduced_axes(call, KnownInfos(inputs).get(), rank);
  result.out_operand = reduced_operand(result.out, result.reduced, call.attributes.integer("keepdims", 1) != 0);
  for (std::size_t i = 0; i < rank; ++i) {
    if (result.reduced[i]) result.length *= result.x.dims()[i];
  }
  return result;
}

/// The dims of a reduction in loop order.
struct ReductionLoops {
  Dims kept, kept_in, kept_out;  ///< sizes, strides of x and of the output
  Dims reduced, reduced_in;
  bool across = false;  ///< the innermost loop is over the last kept dim, not over the last reduced one
};

/// Shorter lines are folded element by element, for many outputs in parallel lanes.
constexpr int64_t kShortLine = 16;

/// Sorts both groups by the input's strides and merges adjacent reduced dims; the group with the smallest stride is innermost.
ReductionLoops loops_of(const Reduction& reduction) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < reduction.reduced.size(); ++i) order.push_back(i);
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return std::abs(reduction.x.strides()[a]) > std::abs(reduction.x.strides()[b]); });
  ReductionLoops loops;
  for (const std::size_t i : order) {
    const int64_t size = reduction.x.dims()[i], stride = reduction.x.strides()[i];
    if (size == 1) continue;
    loops.across = !reduction.reduced[i];
    if (!reduction.reduced[i]) {
      const int64_t out_stride = reduction.out_operand.strides[i];
      if (!loops.kept.empty() && loops.kept_in.back() == stride * size && loops.kept_out.back() == out_stride * size) {
        loops.kept.back() *= size;
        loops.kept_in.back() = stride;
        loops.kept_out.back() = out_stride;
        continue;
      }
      loops.kept.push_back(size);
      loops.kept_in.push_back(stride);
      loops.kept_out.push_back(reduction.out_operand.strides[i]);
    } else if (!loops.reduced.empty() && loops.reduced_in.back() == stride * size) {
      loops.reduced.back() *= size;
      loops.reduced_in.back() = stride;
    } else {
      loops.reduced.push_back(size);
      loops.reduced_in.push_back(stride);
    }
  }
  if (loops.reduced.empty() || loops.reduced.back() < kShortLine) loops.across = true;
  if (loops.kept.empty()) {
    loops.across = false;
    loops.kept = loops.kept_in = loops.kept_out = {1};
  }
  if (loops.reduced.empty()) loops.reduced = loops.reduced_in = {1};
  return loops;
}

/// Folds a line with several totals, so that no addition waits for the previous one.
template <class Domain, class Value, class Fold, class Combine>
RELAYOUT_VECTORIZE static Domain fold_line(const Value* values, int64_t count, Domain start, Domain total, Fold fold, Combine combine) {
  constexpr int64_t kLanes = kShortLine / 2;
  int64_t i = 0;
  Domain lanes[kLanes];
  if (count >= kShortLine) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = start;
    for (; i + kLanes <= count; i += kLanes) {
      RELAYOUT_KEEP_LOOP
      for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = fold(lanes[lane], static_cast<Domain>(values[i + lane]));
    }
  }
  const bool has_lanes = i > 0;
  for (; i < count; ++i) total = fold(total, static_cast<Domain>(values[i]));
  if (has_lanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) total = combine(total, lanes[lane]);
  }
  return total;
}

/// totals[i] = fold(totals[i], values[row · row_stride + i · stride]), row by row.
template <class Domain, class Value, class Fold>
RELAYOUT_VECTORIZE static void fold_rows(const Value* values, int64_t rows, int64_t row_stride, int64_t stride, int64_t count,
                                         Domain* totals, Fold fold) {
  for (int64_t row = 0; row < rows; ++row, values += row_stride) {
    if (stride == 1) {
      for (int64_t i = 0; i < count; ++i) totals[i] = fold(totals[i], static_cast<Domain>(values[i]));
    } else {
      for (int64_t i = 0; i < count; ++i) totals[i] = fold(totals[i], static_cast<Domain>(values[i * stride]));
    }
  }
}

/// Strides and sizes of a loop over rows of elements.
struct Rows {
  int64_t rows, row_stride, stride, count;
};

/// A fold of elements, for any element type. Totals are an array of the type in which they are computed.
class Folding {
 public:
  explicit Folding(const ChunkType& totals) : totals_(totals) {}
  virtual ~Folding() = default;
  Folding(const Folding&) = delete;
  Folding& operator=(const Folding&) = delete;

  [[nodiscard]] const ChunkType& totals() const { return totals_; }
  /// Whether elements of this type are folded directly from memory.
  [[nodiscard]] virtual bool takes(DataType type) const = 0;
  [[nodiscard]] virtual bool takes_any_order() const = 0;
  virtual void start(void* totals, int64_t count) const = 0;
  /// Folds values[row · row_stride + i · stride] into totals[i], row by row.
  virtual void fold_rows(DataType type, const void* values, const Rows& rows, void* totals) const = 0;
  /// Folds `count` neighbouring values into one total.
  virtual void fold_line(DataType type, const void* values, int64_t count, void* total) const = 0;
  virtual void finish(void* totals, int64_t count) const = 0;

 private:
  ChunkType totals_;
};

/// Folds by a rule, fold(total, element) from `start` on, and applies `finish` to each total.
template <class Domain, class Rule, class Finish>
class RuleFolding final : public Folding {
 public:
  RuleFolding(Rule rule, Finish finish) : Folding(kChunkType<Domain>), rule_(std::move(rule)), finish_(std::move(finish)) {}

  [[nodiscard]] bool takes(DataType type) const override {
    return is_native<Domain>(type) || (Rule::kTakesFloats && type == DataType::float32);
  }
  [[nodiscard]] bool takes_any_order() const override { return Rule::kTakesAnyOrder; }
  void start(void* totals, int64_t count) const override { std::fill_n(static_cast<Domain*>(totals), count, rule_.start); }
  void fold_rows(DataType type, const void* values, const Rows& rows, void* totals) const override {
    with_values(type, values, [&](const auto* from) {
      relayout::kernels::fold_rows(from, rows.rows, rows.row_stride, rows.stride, rows.count, static_cast<Domain*>(totals), rule_.fold);
    });
  }
  void fold_line(DataType type, const void* values, int64_t count, void* total) const override {
    auto* const result = static_cast<Domain*>(total);
    with_values(type, values, [&](const auto* from) { *result = rule_.run(from, count, *result); });
  }
  void finish(void* totals, int64_t count) const override {
    auto* const results = static_cast<Domain*>(totals);
    for (int64_t i = 0; i < count; ++i) results[i] = finish_(results[i]);
  }

 private:
  template <class F>
  static void with_values(DataType type, const void* values, const F& f) {
    if constexpr (Rule::kTakesFloats) {
      if (type == DataType::float32) return f(static_cast<const float*>(values));
    }
    f(static_cast<const Domain*>(values));
  }

  Rule rule_;
  Finish finish_;
};

/// fold(total, element) from `start`, the neutral element of combine(total, total).
template <class Domain, class Fold, class Combine>
struct SumRule {
  static constexpr bool kTakesFloats = std::is_same_v<Domain, double>;  ///< f32 directly from memory
  static constexpr bool kTakesAnyOrder = false;
  Domain start;
  Fold fold;
  Combine combine;

  template <class Value>
  [[nodiscard]] Domain run(const Value* values, int64_t count, Domain total) const {
    return kernels::fold_line(values, count, start, total, fold, combine);
  }
};

/// Folds `count` outputs, one kept stride apart, from the input address on.
void fold_across(const Reduction& reduction, const ReductionLoops& loops, const Dims& outer, const std::byte* from, int64_t count,
                 void* totals, const Folding& folding) {
  const DataType type = reduction.x.type();
  const int64_t stride = loops.kept_in.back(), rows = loops.reduced.back(), row_stride = loops.reduced_in.back();
  alignas(kLineBytes) ChunkBytes buffer;
  const auto fold_run = [&](const std::byte* run) {
    if (folding.takes(type)) return folding.fold_rows(type, run, {rows, row_stride, stride, count}, totals);
    for (int64_t row = 0; row < rows; ++row) {
      const std::byte* const at = run + row * row_stride * element_stride(type);
      const void* const values = folding.totals().read(type, at, stride, count, buffer.data());
      folding.fold_rows(folding.totals().native, values, {1, 0, 1, count}, totals);
    }
  };
  if (outer.empty()) return fold_run(from);
  for_each_index(outer, [&](const Dims& index) { fold_run(from + offset_of(index, loops.reduced_in) * element_stride(type)); });
}

/// As fold_along(), for folds in any order: first folds over all reduced dims but the innermost, for its elements in parallel lanes.
void fold_planes(const Reduction& reduction, const ReductionLoops& loops, const Dims& outer, const std::byte* from, int64_t count,
                 std::byte* totals, const Folding& folding) {
  const DataType type = reduction.x.type();
  const int64_t size = element_stride(type), rows = outer.back(), row_stride = loops.reduced_in[outer.size() - 1];
  const Dims around(outer.begin(), outer.end() - 1);
  alignas(kLineBytes) ChunkBytes line;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t begin = 0; begin < loops.reduced.back(); begin += kChunk) {
      const int64_t length = std::min(kChunk, loops.reduced.back() - begin), stride = loops.reduced_in.back();
      const std::byte* const first = from + (i * loops.kept_in.back() + begin * stride) * size;
      folding.start(line.data(), length);
      const auto fold_plane = [&](const std::byte* plane) {
        folding.fold_rows(type, plane, {rows, row_stride, stride, length}, line.data());
      };
      if (around.empty()) {
        fold_plane(first);
      } else {
        for_each_index(around, [&](const Dims& index) { fold_plane(first + offset_of(index, loops.reduced_in) * size); });
      }
      folding.fold_line(type, line.data(), length, totals + i * folding.totals().bytes);
    }
  }
}

/// Folds `count` outputs, one kept stride apart, one after the other.
void fold_along(const Reduction& reduction, const ReductionLoops& loops, const Dims& outer, const std::byte* from, int64_t rows,
                std::byte* totals, const Folding& folding) {
  const DataType type = reduction.x.type(), native = folding.totals().native;
  const int64_t size = element_stride(type), row_bytes = loops.kept_in.back() * size;
  const int64_t length = loops.reduced.back(), stride = loops.reduced_in.back();
  alignas(kLineBytes) ChunkBytes buffer;
  const auto fold_run = [&](const std::byte* run, std::byte* total) {
    if (type != native && folding.takes(type) && stride == 1) return folding.fold_line(type, run, length, total);
    for (int64_t begin = 0; begin < length; begin += kChunk) {
      const int64_t count = std::min(kChunk, length - begin);
      folding.fold_line(native, folding.totals().read(type, run + begin * stride * size, stride, count, buffer.data()), count, total);
    }
  };
  if (!outer.empty() && type == native && folding.takes_any_order()) {
    return fold_planes(reduction, loops, outer, from, rows, totals, folding);
  }
  for (int64_t row = 0; row < rows; ++row, totals += folding.totals().bytes) {
    const std::byte* const begin = from + row * row_bytes;
    if (outer.empty()) {
      fold_run(begin, totals);
    } else {
      for_each_index(outer, [&](const Dims& index) { fold_run(begin + offset_of(index, loops.reduced_in) * size, totals); });
    }
  }
}

/// Number of outputs along the last kept dim in one piece of work, small enough to give every thread some.
int64_t piece_width(const ReductionLoops& loops, int64_t length, int threads) {
  const double work = static_cast<double>(loops.kept.back()) * static_cast<double>(length);
  if (loops.across || threads <= 1 || work < kParallelElements) return kChunk;
  return std::clamp<int64_t>(kParallelElements / 4 / std::max<int64_t>(length, 1), 1, kChunk);
}

void reduce(const OpCall& call, const Reduction& reduction, const Folding& folding) {
  if (reduction.out.element_count() == 0) return;
  const ReductionLoops loops = loops_of(reduction);
  const int64_t in_size = element_stride(reduction.x.type()), out_size = element_stride(reduction.out.type());
  const int64_t width = piece_width(loops, reduction.length, call.threads);
  const int64_t pieces = (loops.kept.back() + width - 1) / width;
  Dims outer = loops.kept;
  outer.back() = pieces;
  const Dims reduced_outer(loops.reduced.begin(), loops.reduced.end() - 1);
  const double work = static_cast<double>(element_count(loops.kept)) * static_cast<double>(reduction.length) / kParallelElements;
  const int64_t count_of_pieces = element_count(outer);
  const int64_t tasks =
      std::min(count_of_pieces, static_cast<int64_t>(std::clamp(work, 1.0, static_cast<double>(std::max(call.threads, 1)))));
  const auto run_piece = [&](int64_t piece, Dims& index) {
    for (std::size_t axis = outer.size(); axis-- > 0;) {
      index[axis] = piece % outer[axis];
      piece /= outer[axis];
    }
    index.back() *= width;
    const int64_t count = std::min(width, loops.kept.back() - index.back());
    const std::byte* const from = reduction.x.bytes() + offset_of(index, loops.kept_in) * in_size;
    alignas(kLineBytes) ChunkBytes totals;
    folding.start(totals.data(), count);
    if (reduction.length > 0) {
      if (loops.across)
        fold_across(reduction, loops, reduced_outer, from, count, totals.data(), folding);
      else
        fold_along(reduction, loops, reduced_outer, from, count, totals.data(), folding);
    }
    folding.finish(totals.data(), count);
    folding.totals().store(reduction.out.type(), reduction.out.bytes() + offset_of(index, loops.kept_out) * out_size, loops.kept_out.back(),
                           count, totals.data());
  };
  parallel_for(tasks, static_cast<int>(tasks), [&](int64_t task) {
    Dims index(outer.size());
    for (int64_t piece = count_of_pieces * task / tasks; piece < count_of_pieces * (task + 1) / tasks; ++piece) run_piece(piece, index);
  });
}

/// out = finish(all reduced elements, folded by the rule).
template <class Domain, class Rule, class Finish>
void reduce_by(const OpCall& call, const Reduction& reduction, const Rule& rule, const Finish& finish) {
  reduce(call, reduction, RuleFolding<Domain, Rule, Finish>(rule, finish));
}

/// As reduce_by(), for arithmetic folds: integers wrap (as uint64_t), floats run in double.
template <class Fold, class Finish, class Combine = std::plus<>>
void reduce_sum_like(const OpCall& call, InputData inputs, OutputData outputs, int64_t start, const Fold& fold, const Finish& finish,
                     const Combine& combine = {}) {
  const Reduction reduction = reduction_of(call, inputs, outputs);
  if (traits(reduction.x.type()).is_float) {
    return reduce_by<double>(call, reduction, SumRule<double, Fold, Combine>{static_cast<double>(start), fold, combine}, finish);
  }
  reduce_by<uint64_t>(call, reduction, SumRule<uint64_t, Fold, Combine>{static_cast<uint64_t>(start), fold, combine}, finish);
}

/// Sums in double for every type, for results that are roots or logarithms.
template <class Fold, class Finish>
void reduce_real(const OpCall& call, InputData inputs, OutputData outputs, const Fold& fold, const Finish& finish) {
  reduce_by<double>(call, reduction_of(call, inputs, outputs), SumRule<double, Fold, std::plus<>>{0.0, fold, {}}, finish);
}

/// The first of many in the order `better`; NaN if any is NaN.
template <class T, class Better>
struct ExtremeRule {
  static constexpr bool kTakesFloats = false;
  static constexpr bool kTakesAnyOrder = true;
  T start;
  struct Fold {
    [[gnu::always_inline]] T operator()(T total, T x) const {  // no branch: the larger of two is unpredictable
      const T best = Better{}(x, total) ? x : total;
      return x == x ? best : x;
    }
  } fold;

  [[nodiscard]] T run(const T* values, int64_t count, T total) const { return extreme_of(values, count, total, Better{}); }
};

template <class Better>
void reduce_extreme(const OpCall& call, InputData inputs, OutputData outputs) {
  const Reduction reduction = reduction_of(call, inputs, outputs);
  with_native_type(reduction.x.type(), [&]<class T>(T) {
    using Limits = std::numeric_limits<T>;
    constexpr bool kLargest = Better{}(T{1}, T{0});
    T start = kLargest ? Limits::lowest() : Limits::max();
    if constexpr (std::is_floating_point_v<T>) start = kLargest ? -Limits::infinity() : Limits::infinity();
    if (reduction.x.type() == DataType::boolean) start = kLargest ? T{0} : T{1};
    reduce_by<T>(call, reduction, ExtremeRule<T, Better>{start, {}}, [](T total) { return total; });
  });
}

constexpr auto kAsIs = [](auto total) { return total; };

template <class T>
T magnitude(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::abs(x);
  else
    return static_cast<int64_t>(x) < 0 ? 0 - x : x;
}

}  // namespace

Inferred infer_reduce(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 2);
  const DatumInfo& x = tensor_info(call, inputs, 0, kNumericTypes | kBooleanTypes);
  const auto reduced = reduced_axes(call, inputs, x.dims.size());
  if (!reduced) return std::nullopt;
  Dims dims = reduced_dims(x.dims, *reduced, call.attributes.integer("keepdims", 1) != 0);
  return results(call, tensor_of(x.type, std::move(dims)));
}

void reduce_sum(const OpCall& c, InputData in, OutputData out) {
  reduce_sum_like(c, in, out, 0, [](auto total, auto x) { return total + x; }, kAsIs);
}

void reduce_prod(const OpCall& c, InputData in, OutputData out) {
  reduce_sum_like(c, in, out, 1, [](auto total, auto x) { return total * x; }, kAsIs, std::multiplies<>{});
}

void reduce_sum_square(const OpCall& c, InputData in, OutputData out) {
  reduce_sum_like(c, in, out, 0, [](auto total, auto x) { return total + x * x; }, kAsIs);
}

void reduce_l1(const OpCall& c, InputData in, OutputData out) {
  if (tensor_at(in, 0).type() == DataType::uint64) return reduce_sum(c, in, out);
  reduce_sum_like(c, in, out, 0, [](auto total, auto x) { return total + magnitude(x); }, kAsIs);
}

/// Integers divide with truncation.
void reduce_mean(const OpCall& call, InputData inputs, OutputData outputs) {
  const int64_t length = reduction_of(call, inputs, outputs).length;
  const bool is_unsigned = tensor_at(inputs, 0).type() == DataType::uint64;
  reduce_sum_like(
      call, inputs, outputs, 0, [](auto total, auto x) { return total + x; },
      [&](auto total) -> decltype(total) {
        if constexpr (std::is_floating_point_v<decltype(total)>) {
          return total / static_cast<double>(length);
        } else {
          if (length == 0) reject(call, "mean of no integers");
          if (is_unsigned) return total / static_cast<uint64_t>(length);
          return static_cast<uint64_t>(static_cast<int64_t>(total) / length);
        }
      });
}

void reduce_l2(const OpCall& c, InputData in, OutputData out) {
  reduce_real(c, in, out, [](double total, double x) { return total + x * x; }, [](double total) { return std::sqrt(total); });
}

void reduce_log_sum(const OpCall& c, InputData in, OutputData out) {
  reduce_real(c, in, out, [](double total, double x) { return total + x; }, [](double total) { return std::log(total); });
}

/// Subtracts the largest element first, so that no exponential overflows.
void reduce_log_sum_exp(const OpCall& call, InputData inputs, OutputData outputs) {
  const Reduction reduction = reduction_of(call, inputs, outputs);
  const AxisLines lines(reduction.x.dims(), reduction.reduced);
  lines.for_each(call.threads, {reduction.out_operand, operand(reduction.x)},
                 [&](std::byte* const* data, const std::vector<AxisLine>& line) {
                   std::vector<double> values(as_size(lines.length()));
                   if (!values.empty()) line[1].read(reduction.x.type(), data[1], values.data());
                   double largest = -std::numeric_limits<double>::infinity(), sum = 0;
                   for (const double value : values) largest = value > largest || std::isnan(value) ? value : largest;
                   const double shift = std::isinf(largest) ? 0 : largest;
                   for (const double value : values) sum += std::exp(value - shift);
                   store_one(reduction.out.type(), data[0], shift + std::log(sum));
                 });
}

void reduce_max(const OpCall& c, InputData in, OutputData out) {
  reduce_extreme<std::greater<>>(c, in, out);
}
void reduce_min(const OpCall& c, InputData in, OutputData out) {
  reduce_extreme<std::less<>>(c, in, out);
}

}  // namespace relayout::kernels
