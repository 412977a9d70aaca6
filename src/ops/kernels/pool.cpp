// Computes pools over windows and over whole images.

#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/positions.h"
#include "base/threads.h"
#include "base/vectorize.h"
#include "ops/call.h"
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

/// The data of a pool: an input and output [N, C, spatial…] of any strides.
struct Pool {
  Tensor x, out;
  Window window;
  Dims input, output;  ///< spatial
};

bool uses_ceil(const OpCall& call) {
  return call.attributes.integer("ceil_mode", 0) != 0;
}

Window pool_window(const OpCall& call, const Dims& input) {
  return window_of(call, input, {});
}

Dims pool_outputs(const OpCall& call, const Window& window, const Dims& input) {
  return window_outputs(call, window, input, uses_ceil(call));
}

Pool pool_of(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  Pool pool{x, outputs[0]->tensor, {}, spatial_dims(call, x.dims()), {}};
  pool.window = pool_window(call, pool.input);
  pool.output = spatial_dims(call, pool.out.dims());
  return pool;
}

/// Outputs of an inner loop: channels at one position, or positions of one line of one channel, whichever are stored more densely. At most
/// kChunk.
struct Run {
  bool channels = false;
  int64_t n = 0, c = 0, count = 0;
  Dims index;  ///< of the first output position
};

/// Calls visit(run) for all outputs; lines are distributed over threads.
template <class Visit>
void for_each_run(const Pool& pool, int threads, const Visit& visit) {
  const Tensor& out = pool.out;
  const int64_t images = out.dims()[0], channels = out.dims()[1];
  if (out.element_count() == 0) return;
  const bool inside = channels > 1 && std::abs(out.strides()[1]) < std::abs(out.strides().back());
  const Dims lines(pool.output.begin(), pool.output.end() - 1);
  const int64_t line_count = element_count(lines), width = pool.output.back();
  const int64_t outer = inside ? images : images * channels;
  const double work = static_cast<double>(out.element_count()) * static_cast<double>(pool.window.taps()) / kParallelElements;
  const int useful = static_cast<int>(std::clamp(work, 1.0, static_cast<double>(std::max(threads, 1))));
  parallel_for(outer * line_count, useful, [&](int64_t task) {
    const int64_t which = task / line_count;
    Run run{inside, inside ? which : which / channels, inside ? 0 : which % channels, 0, Dims(pool.output.size(), 0)};
    int64_t rest = task % line_count;
    for (std::size_t axis = lines.size(); axis-- > 0;) {
      run.index[axis] = rest % lines[axis];
      rest /= lines[axis];
    }
    int64_t& moving = inside ? run.c : run.index.back();
    const int64_t length = inside ? channels : width;
    for (int64_t line = 0; line < (inside ? width : 1); ++line) {
      if (inside) run.index.back() = line;
      for (moving = 0; moving < length; moving += run.count) {
        run.count = std::min(kChunk, length - moving);
        visit(static_cast<const Run&>(run));
      }
    }
  });
}

/// Number of taps of dim `i` at output position `index` that are before input position `limit`.
int64_t taps_before(const Window& window, std::size_t i, int64_t index, int64_t limit) {
  const int64_t distance = limit - (index * window.strides[i] - window.before[i]);
  return std::clamp<int64_t>(distance <= 0 ? 0 : (distance - 1) / window.dilations[i] + 1, 0, window.kernel[i]);
}

/// The inputs of one tap for a run: the outputs [begin, end) read the inputs from `offset` on, `step` apart; their flat positions in the
/// input's plane begin at `flat`, `flat_step` apart.
struct TapRun {
  int64_t begin = 0, end = 0, offset = 0, step = 0, flat = 0, flat_step = 0;
};

template <class Take>
void for_each_tap(const Pool& pool, const Run& run, const Take& take) {
  const Window& window = pool.window;
  const std::size_t rank = run.index.size(), last = rank - 1;
  Dims first(rank), counts(rank);
  for (std::size_t i = 0; i < rank; ++i) {  // only taps that are inside somewhere
    const int64_t end_index = run.index[i] + (i == last && !run.channels ? run.count - 1 : 0);
    first[i] = taps_before(window, i, end_index, 0);
    counts[i] = std::max<int64_t>(taps_before(window, i, run.index[i], pool.input[i]) - first[i], 0);
  }
  for_each_index(counts, [&](const Dims& k) {
    TapRun tap{0, run.count, 0, pool.x.strides()[1], 0, 0};
    for (std::size_t i = 0; i < rank; ++i) {
      int64_t position = run.index[i] * window.strides[i] - window.before[i] + (first[i] + k[i]) * window.dilations[i];
      if (i == last && !run.channels) {
        const Span inside = steps_within(position, window.strides[i], pool.input[i], run.count);
        tap.begin = inside.begin;
        tap.end = inside.end;
        position += tap.begin * window.strides[i];
        tap.step = window.strides[i] * pool.x.strides()[i + 2];
        tap.flat_step = window.strides[i];
      }
      tap.offset += position * pool.x.strides()[i + 2];
      tap.flat = tap.flat * pool.input[i] + position;
    }
    if (tap.begin < tap.end) take(tap);
  });
}

/// Per output of a run, the number of taps within the input extended by its pads (`padded`), or within the input alone. Positions that
/// ceil_mode adds after the pads never count.
void count_taps(const Pool& pool, const Run& run, bool padded, double* counts) {
  const auto in_dim = [&](std::size_t i, int64_t index) {
    const Window& window = pool.window;
    const int64_t low = padded ? -window.before[i] : 0;
    const int64_t high = pool.input[i] + (padded ? window.after[i] : 0);
    return static_cast<double>(std::max<int64_t>(taps_before(window, i, index, high) - taps_before(window, i, index, low), 0));
  };
  const std::size_t last = run.index.size() - 1;
  double outer = 1;
  for (std::size_t i = 0; i < last; ++i) outer *= in_dim(i, run.index[i]);
  for (int64_t i = 0; i < run.count; ++i) {
    counts[i] = i > 0 && run.channels ? counts[0] : outer * in_dim(last, run.index[last] + (run.channels ? 0 : i));
  }
}

const std::byte* input_at(const Pool& pool, const Run& run) {
  return pool.x.bytes() + (run.n * pool.x.strides()[0] + run.c * pool.x.strides()[1]) * element_stride(pool.x.type());
}

/// Offset and step of a run's outputs.
int64_t output_offset(const Tensor& out, const Run& run) {
  int64_t offset = run.n * out.strides()[0] + run.c * out.strides()[1];
  for (std::size_t i = 0; i < run.index.size(); ++i) offset += run.index[i] * out.strides()[i + 2];
  return offset;
}
int64_t output_step(const Tensor& out, const Run& run) {
  return run.channels ? out.strides()[1] : out.strides().back();
}

/// Sums of f(x) over windows, in double; `finish(run, sums)` turns them into results.
template <class F, class Finish>
void pool_sums(const OpCall& call, const Pool& pool, const F& f, const Finish& finish) {
  const DataType type = pool.x.type();
  const int64_t size = element_stride(type);
  for_each_run(pool, call.threads, [&](const Run& run) {
    std::array<double, kChunk> sums, values;
    std::fill_n(sums.begin(), run.count, 0.0);
    const std::byte* const from = input_at(pool, run);
    for_each_tap(pool, run, [&](const TapRun& tap) {
      const int64_t count = tap.end - tap.begin;
      load(type, from + tap.offset * size, tap.step, count, values.data());
      double* const to = sums.data() + tap.begin;
      for (int64_t i = 0; i < count; ++i) to[i] += f(element_at(values, i));
    });
    finish(run, sums.data());
    store(type, pool.out.bytes() + output_offset(pool.out, run) * size, output_step(pool.out, run), run.count, sums.data());
  });
}

/// Means: sums divided by the number of taps that count.
void pool_means(const OpCall& call, const Pool& pool, bool with_pads) {
  pool_sums(
      call, pool, [](double x) { return x; },
      [&](const Run& run, double* sums) {
        std::array<double, kChunk> counts;
        count_taps(pool, run, with_pads, counts.data());
        for (int64_t i = 0; i < run.count; ++i) sums[i] /= element_at(counts, i);
      });
}

/// Position of a flat (row-major) index in a plane numbered with the first dim varying fastest.
int64_t column_major_position(const Dims& plane, int64_t flat) {
  int64_t rest = flat, number = 0, scale = element_count(plane);
  for (std::size_t i = plane.size(); i-- > 0;) {
    scale /= plane[i];
    number += rest % plane[i] * scale;
    rest /= plane[i];
  }
  return number;
}

/// Largest values and their positions. NaN counts as largest; of equals the first wins. An empty window gives the lowest value.
template <class Domain>
void pool_maximum(const OpCall& call, const Pool& pool, const Tensor* positions) {
  const DataType type = pool.x.type();
  const int64_t size = element_stride(type);
  constexpr Domain kLowest =
      std::is_floating_point_v<Domain> ? -std::numeric_limits<Domain>::infinity() : std::numeric_limits<Domain>::lowest();
  const bool column_major = call.attributes.integer("storage_order", 0) != 0;
  for_each_run(pool, call.threads, [&](const Run& run) {
    std::array<Domain, kChunk> best, values;
    std::array<int64_t, kChunk> where;
    std::fill_n(best.begin(), run.count, kLowest);
    std::fill_n(where.begin(), run.count, -1);
    const std::byte* const from = input_at(pool, run);
    for_each_tap(pool, run, [&](const TapRun& tap) {
      const int64_t count = tap.end - tap.begin;
      load(type, from + tap.offset * size, tap.step, count, values.data());
      Domain* const to = best.data() + tap.begin;
      if (positions == nullptr) {
        for (int64_t i = 0; i < count; ++i) {
          const Domain value = element_at(values, i);
          to[i] = value > to[i] || value != value ? value : to[i];
        }
        return;
      }
      int64_t* const at = where.data() + tap.begin;
      for (int64_t i = 0; i < count; ++i) {
        const Domain value = element_at(values, i);
        // Without a branch, which data would decide at random.
        const bool is_larger = bool(at[i] < 0) | bool(value > to[i]) | (bool(value != value) & bool(to[i] == to[i]));
        to[i] = is_larger ? value : to[i];
        at[i] = is_larger ? tap.flat + i * tap.flat_step : at[i];
      }
    });
    store(type, pool.out.bytes() + output_offset(pool.out, run) * size, output_step(pool.out, run), run.count, best.data());
    if (positions == nullptr) return;
    int64_t* const to = positions->data<int64_t>() + output_offset(*positions, run);
    const int64_t plane = element_count(pool.input);
    for (int64_t i = 0; i < run.count; ++i) {
      const int64_t flat = std::max<int64_t>(element_at(where, i), 0);
      const int64_t channel = run.n * pool.x.dims()[1] + run.c + (run.channels ? i : 0);
      to[i * output_step(*positions, run)] = channel * plane + (column_major ? column_major_position(pool.input, flat) : flat);
    }
  });
}

/// Takes one element for each of several windows where it is the largest so far, and its place. Without branches, which data would decide
/// at random.
template <class T>
RELAYOUT_VECTORIZE void take_largest(const T* values, int64_t step, int64_t count, int32_t place, int32_t next, T* best, int32_t* found) {
  RELAYOUT_INDEPENDENT for (int64_t i = 0; i < count; ++i) {
    const T value = values[i * step], had = best[i];
    const bool is_larger = (value > had) | (found[i] < 0) | ((value != value) & (had == had));
    best[i] = is_larger ? value : had;
    found[i] = is_larger ? place + static_cast<int32_t>(i) * next : found[i];
  }
}

/// The same as pool_maximum() for images whose elements need no conversion, of fewer than 2³¹ pixels: windows of several channels side by
/// side, where these lie so, else those of one row.
template <class T>
class ImageMaximum {
 public:
  ImageMaximum(const Pool& pool, const Tensor& positions) : pool_(pool), positions_(positions) {}

  void run(int threads) const {
    const double work = static_cast<double>(pool_.out.element_count()) * static_cast<double>(pool_.window.taps()) / kParallelElements;
    const int useful = static_cast<int>(std::clamp(work, 1.0, static_cast<double>(std::max(threads, 1))));
    parallel_for(pool_.x.dims()[0] * pool_.output[0], useful, [&](int64_t task) {
      const int64_t n = task / pool_.output[0], oy = task % pool_.output[0];
      const Dims &strides = pool_.x.strides(), &dims = pool_.x.dims();
      const bool is_inside = std::abs(strides[1]) < std::abs(strides[3]);
      const int64_t outer = is_inside ? pool_.output[1] : dims[1], inner = is_inside ? dims[1] : pool_.output[1];
      for (int64_t i = 0; i < outer; ++i) {
        for (int64_t at = 0; at < inner; at += kChunk) {
          const int64_t count = std::min(kChunk, inner - at);
          is_inside ? visit(n, at, count, oy, i, 1) : visit(n, i, 1, oy, at, count);
        }
      }
    });
  }

 private:
  /// Windows of `channels` channels from `c` on, and of `columns` columns from `ox` on; one of both is 1.
  void visit(int64_t n, int64_t c, int64_t channels, int64_t oy, int64_t ox, int64_t columns) const {
    const Window& window = pool_.window;
    const Dims &from = pool_.x.strides(), &to = pool_.out.strides(), &at = positions_.strides();
    std::array<T, kChunk> best;
    std::array<int32_t, kChunk> found;
    const int64_t count = std::max(channels, columns);
    std::fill_n(best.begin(), count, -std::numeric_limits<T>::infinity());
    std::fill_n(found.begin(), count, -1);
    for (int64_t ky = 0; ky < window.kernel[0]; ++ky) {
      const int64_t y = oy * window.strides[0] - window.before[0] + ky * window.dilations[0];
      if (y < 0 || y >= pool_.input[0]) continue;
      for (int64_t kx = 0; kx < window.kernel[1]; ++kx) {
        const int64_t first = ox * window.strides[1] - window.before[1] + kx * window.dilations[1];
        const Span inside = steps_within(first, window.strides[1], pool_.input[1], columns);
        if (inside.begin >= inside.end) continue;
        const int64_t x = first + inside.begin * window.strides[1];
        const T* const values = pool_.x.data<T>() + n * from[0] + c * from[1] + y * from[2] + x * from[3];
        const auto place = static_cast<int32_t>(y * pool_.input[1] + x);
        if (columns == 1) {
          take_largest(values, from[1], channels, place, 0, best.data(), found.data());
        } else {
          take_largest(values, window.strides[1] * from[3], inside.end - inside.begin, place, static_cast<int32_t>(window.strides[1]),
                       best.data() + inside.begin, found.data() + inside.begin);
        }
      }
    }
    const int64_t pixels = pool_.input[0] * pool_.input[1], own = channels > 1 ? 1 : 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t channel = c + i * own, column = ox + i * (1 - own);
      pool_.out.data<T>()[n * to[0] + channel * to[1] + oy * to[2] + column * to[3]] = element_at(best, i);
      positions_.data<int64_t>()[n * at[0] + channel * at[1] + oy * at[2] + column * at[3]] =
          (n * pool_.x.dims()[1] + channel) * pixels + std::max(element_at(found, i), int32_t{0});
    }
  }

  const Pool& pool_;
  const Tensor& positions_;
};

Pool global_pool_of(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  Pool pool{x, outputs[0]->tensor, {}, spatial_dims(call, x.dims()), {}};
  const std::size_t rank = pool.input.size();
  pool.window = {pool.input, Dims(rank, 1), Dims(rank, 1), Dims(rank, 0), Dims(rank, 0)};
  pool.output.assign(rank, 1);
  return pool;
}

void lp_sums(const OpCall& call, const Pool& pool) {
  // Opset 1 has a floating-point p.
  const double p = call.opset == 1 ? double{call.attributes.real("p", 2.0F)} : static_cast<double>(call.attributes.integer("p", 2));
  const auto raise = [p](double x) { return p == 1 ? std::abs(x) : p == 2 ? x * x : std::pow(std::abs(x), p); };
  const auto root = [p](const Run& run, double* sums) {
    for (int64_t i = 0; i < run.count; ++i) sums[i] = p == 1 ? sums[i] : p == 2 ? std::sqrt(sums[i]) : std::pow(sums[i], 1 / p);
  };
  pool_sums(call, pool, raise, root);
}

}  // namespace

Inferred infer_pool(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kNumericTypes);
  const Dims input = spatial_dims(call, x.dims);
  Dims dims{x.dims[0], x.dims[1]};
  const Dims outputs = pool_outputs(call, pool_window(call, input), input);
  dims.insert(dims.end(), outputs.begin(), outputs.end());
  auto inferred = one(call, x.type, dims);
  if (inferred->size() > 1) (*inferred)[1] = tensor_of(DataType::int64, std::move(dims));
  return inferred;
}

Inferred infer_global_pool(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  Dims dims(x.dims.size(), 1);
  (void)spatial_dims(call, x.dims);
  std::copy_n(x.dims.begin(), 2, dims.begin());
  return one(call, x.type, std::move(dims));
}

void max_pool(const OpCall& call, InputData inputs, OutputData outputs) {
  const Pool pool = pool_of(call, inputs, outputs);
  const Tensor* positions = wanted(outputs, 1);
  const bool is_small = element_count(pool.input) <= std::numeric_limits<int32_t>::max();
  if (positions != nullptr && pool.input.size() == 2 && is_small && call.attributes.integer("storage_order", 0) == 0) {
    if (pool.x.type() == DataType::float32) return ImageMaximum<float>(pool, *positions).run(call.threads);
    if (pool.x.type() == DataType::float64) return ImageMaximum<double>(pool, *positions).run(call.threads);
  }
  with_exact_domain(pool.x.type(), [&]<class Domain>(Domain) { pool_maximum<Domain>(call, pool, positions); });
}

void average_pool(const OpCall& call, InputData inputs, OutputData outputs) {
  pool_means(call, pool_of(call, inputs, outputs), call.attributes.integer("count_include_pad", 0) != 0);
}

void lp_pool(const OpCall& call, InputData inputs, OutputData outputs) {
  lp_sums(call, pool_of(call, inputs, outputs));
}

void global_average_pool(const OpCall& call, InputData inputs, OutputData outputs) {
  pool_means(call, global_pool_of(call, inputs, outputs), false);
}

void global_max_pool(const OpCall& call, InputData inputs, OutputData outputs) {
  const Pool pool = global_pool_of(call, inputs, outputs);
  with_exact_domain(pool.x.type(), [&]<class Domain>(Domain) { pool_maximum<Domain>(call, pool, nullptr); });
}

void global_lp_pool(const OpCall& call, InputData inputs, OutputData outputs) {
  lp_sums(call, global_pool_of(call, inputs, outputs));
}

}  // namespace relayout::kernels
