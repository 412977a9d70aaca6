// Computes running sums and products along an axis.

#include "base/vectorize.h"
#include "ops/call.h"
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

/// Running totals along an axis: sums or products of floats in double, of integers modulo 2^64.
struct Cumulation {
  bool is_product = false, exclusive = false, reverse = false;
  std::size_t axis = 0;
};

/// Folds values[i] into totals[i]; out[i] is the total after (exclusive: before) that.
template <class Domain>
[[gnu::always_inline]] inline void fold(const Cumulation& how, Domain* totals, const Domain* values, Domain* out, int64_t count) {
  const auto run = [&](const auto& combine) {
    RELAYOUT_INDEPENDENT for (int64_t i = 0; i < count; ++i) {
      const Domain before = totals[i], after = combine(before, values[i]);
      totals[i] = after;
      out[i] = how.exclusive ? before : after;
    }
  };
  if (how.is_product) return run([](Domain a, Domain b) { return a * b; });
  run([](Domain a, Domain b) { return a + b; });
}

RELAYOUT_VECTORIZE void fold_row(const Cumulation& how, double* totals, const double* values, double* out, int64_t count) {
  fold(how, totals, values, out, count);
}

RELAYOUT_VECTORIZE void fold_row(const Cumulation& how, uint64_t* totals, const uint64_t* values, uint64_t* out, int64_t count) {
  fold(how, totals, values, out, count);
}

/// Line by line, where strides forbid [outer, length, inner] or the axis is innermost.
template <class Domain>
void accumulate_lines(const OpCall& call, const Cumulation& how, const Tensor& x, const Tensor& out) {
  std::vector<bool> along(x.dims().size(), false);
  along[how.axis] = true;
  map_lines<Domain>(call.threads, x, out, along, [&](std::vector<Domain>& values) {
    if (how.reverse) std::ranges::reverse(values);
    auto total = static_cast<Domain>(how.is_product ? 1 : 0);
    for (Domain& value : values) fold(how, &total, &value, &value, 1);
    if (how.reverse) std::ranges::reverse(values);
  });
}

/// Row by row of the elements inside the axis: x and out are [outer, length, inner].
template <class Domain>
void accumulate_rows(const Cumulation& how, const Tensor& x, const Tensor& out) {
  const Dims &dims = x.dims(), &from = x.strides(), &to = out.strides();
  const int64_t size = element_stride(x.type());
  ChunkReader<Domain> reader;
  std::array<Domain, kChunk> totals, results;
  for (int64_t outer = 0; outer < dims[0]; ++outer) {
    for (int64_t begin = 0; begin < dims[2]; begin += kChunk) {
      const int64_t count = std::min(kChunk, dims[2] - begin);
      totals.fill(static_cast<Domain>(how.is_product ? 1 : 0));
      for (int64_t step = 0; step < dims[1]; ++step) {
        const int64_t i = how.reverse ? dims[1] - 1 - step : step;
        const auto at = [&](const Dims& strides) { return (outer * strides[0] + i * strides[1] + begin * strides[2]) * size; };
        const Domain* const values = reader.read(x.type(), x.bytes() + at(from), from[2], count);
        fold_row(how, totals.data(), values, results.data(), count);
        store(out.type(), out.bytes() + at(to), to[2], count, results.data());
      }
    }
  }
}

/// As accumulate_rows(), for elements adjacent in memory, of one type in x and out.
template <class Total, class T>
RELAYOUT_VECTORIZE void accumulate_block(const Cumulation& how, const T* x, int64_t x_step, T* out, int64_t out_step, int64_t length,
                                         int64_t count, Total* totals) {
  const auto run = [&](const auto& combine) {
    for (int64_t step = 0; step < length; ++step, x += x_step, out += out_step) {
      RELAYOUT_INDEPENDENT for (int64_t i = 0; i < count; ++i) {
        const Total before = totals[i], after = combine(before, static_cast<Total>(x[i]));
        totals[i] = after;
        out[i] = static_cast<T>(how.exclusive ? before : after);
      }
    }
  };
  if (how.is_product) return run([](Total a, Total b) { return a * b; });
  run([](Total a, Total b) { return a + b; });
}

template <class Total, class T>
void accumulate_blocks(const Cumulation& how, const Tensor& x, const Tensor& out) {
  const Dims &dims = x.dims(), &from = x.strides(), &to = out.strides();
  const int64_t last = how.reverse ? dims[1] - 1 : 0, turn = how.reverse ? -1 : 1;
  std::array<Total, kChunk> totals;
  for (int64_t outer = 0; outer < dims[0]; ++outer) {
    for (int64_t begin = 0; begin < dims[2]; begin += kChunk) {
      const int64_t count = std::min(kChunk, dims[2] - begin);
      std::fill_n(totals.data(), count, static_cast<Total>(how.is_product ? 1 : 0));
      accumulate_block(how, x.data<T>() + outer * from[0] + last * from[1] + begin, turn * from[1],
                       out.data<T>() + outer * to[0] + last * to[1] + begin, turn * to[1], dims[1], count, totals.data());
    }
  }
}

template <class Domain>
void accumulate(const OpCall& call, const Cumulation& how, const Tensor& x, const Tensor& out) {
  const Dims& dims = x.dims();
  const auto split = dims.begin() + static_cast<std::ptrdiff_t>(how.axis);
  const Dims rows{element_count({dims.begin(), split}), dims[how.axis], element_count({split + 1, dims.end()})};
  const auto from = reshape_strides(x.desc(), rows), to = reshape_strides(out.desc(), rows);
  if (!from || !to) return accumulate_lines<Domain>(call, how, x, out);
  const Tensor x_rows = x.view(rows, *from), out_rows = out.view(rows, *to);
  const bool is_dense = rows[2] == 1 || ((*from)[2] == 1 && (*to)[2] == 1);
  with_native_type(x.type(), [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T> == std::is_floating_point_v<Domain>) {
      if (is_dense && is_native<T>(x.type())) return accumulate_blocks<Domain, T>(how, x_rows, out_rows);
    }
    if (rows[2] == 1) return accumulate_lines<Domain>(call, how, x, out);
    accumulate_rows<Domain>(how, x_rows, out_rows);
  });
}

void accumulate(const OpCall& call, InputData inputs, OutputData outputs, bool is_product) {
  const Tensor &x = tensor_at(inputs, 0), &out = outputs[0]->tensor;
  const Cumulation how{is_product, call.attributes.integer("exclusive", 0) != 0, call.attributes.integer("reverse", 0) != 0,
                       normal_axis(call, integer_of(call, tensor_at(inputs, 1)), x.dims().size())};
  if (traits(x.type()).is_float) return accumulate<double>(call, how, x, out);
  accumulate<uint64_t>(call, how, x, out);
}

}  // namespace

Inferred infer_cumulative(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& x = tensor_info(call, inputs, 0, kNumericTypes);
  (void)tensor_info(call, inputs, 1, kIndexTypes);
  return results(call, tensor_of(x.type, x.dims));
}

void cum_sum(const OpCall& call, InputData inputs, OutputData outputs) {
  accumulate(call, inputs, outputs, false);
}

void cum_prod(const OpCall& call, InputData inputs, OutputData outputs) {
  accumulate(call, inputs, outputs, true);
}

}  // namespace relayout::kernels
