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

/// The elements of a row that are `step` apart, from each of the first `step` ones on: so many parts, `room` apart. Loops over them have no
/// gaps, at which the compiler ends vectors.
template <class T>
RELAYOUT_VECTORIZE void take_apart(const T* row, int64_t width, int64_t step, int64_t room, T* parts) {
  if (step == 2) {
    const int64_t pairs = width / 2;
    RELAYOUT_INDEPENDENT for (int64_t i = 0; i < pairs; ++i) {
      const T even = row[2 * i], odd = row[2 * i + 1];
      parts[i] = even;
      parts[room + i] = odd;
    }
    if (width % 2 == 1) parts[width / 2] = row[width - 1];
    return;
  }
  for (int64_t part = 0; part < step; ++part) {
    for (int64_t i = 0; part + i * step < width; ++i) parts[part * room + i] = row[part + i * step];
  }
}

/// Elements and places, from `first` on, of a row of windows.
template <class T>
RELAYOUT_VECTORIZE void store_places(const T* best, const int32_t* found, int64_t count, int64_t first, T* values, int64_t step,
                                     int64_t* places, int64_t step_of_places) {
  if (step == 1 && step_of_places == 1) {
    RELAYOUT_INDEPENDENT for (int64_t i = 0; i < count; ++i) {
      values[i] = best[i];
      places[i] = first + std::max(found[i], int32_t{0});
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    values[i * step] = best[i];
    places[i * step_of_places] = first + std::max(found[i], int32_t{0});
  }
}

/// The elements that a row of windows has at one place of each, and the place of the first.
template <class T>
struct Tap {
  const T* values = nullptr;
  int32_t place = 0;
  Span inside;  ///< the windows that have it; values and place are of the first of these
};

constexpr int64_t kLanes = 8;

/// The largest elements, and their places, of windows that have all taps, kLanes at a time; the last ones twice.
RELAYOUT_VECTORIZE void take_largest_of_all(std::span<const Tap<float>> taps, Span windows, int32_t next, float* best, int32_t* found) {
  using Values = VectorOf<float, 32>::Type;
  using Places = VectorOf<int32_t, 32>::Type;
  const Places lanes = Places{0, 1, 2, 3, 4, 5, 6, 7} * next;
  for (int64_t at = windows.begin;; at = std::min(at + kLanes, windows.end - kLanes)) {
    Values largest{};
    Places where{};
    for (const Tap<float>& tap : taps) {
      const int64_t skipped = at - tap.inside.begin;
      const Values value = *reinterpret_cast<const Values*>(tap.values + skipped);
      const Places place = lanes + (tap.place + static_cast<int32_t>(skipped) * next);
      const Places is_larger = (value > largest) | ((value != value) & (largest == largest));
      const Places is_taken = &tap == taps.data() ? Places{} == Places{} : is_larger;
      largest = is_taken ? value : largest;
      where = is_taken ? place : where;
    }
    *reinterpret_cast<Values*>(best + at) = largest;
    *reinterpret_cast<Places*>(found + at) = where;
    if (at == windows.end - kLanes) return;
  }
}

/// The same as pool_maximum() for images whose elements need no conversion, of fewer than 2³¹ pixels: the windows of a row side by side.
template <class T>
class ImageMaximum {
 public:
  ImageMaximum(const Pool& pool, const Tensor& positions) : pool_(pool), positions_(positions), x_(contiguous(pool.x)) {
    const Window& window = pool.window;
    for (int64_t kx = 0; kx < window.kernel[1]; ++kx) {
      const int64_t first = kx * window.dilations[1] - window.before[1];
      const Span inside = steps_within(first, step_, width_, columns_);
      if (inside.begin >= inside.end) continue;
      const int64_t at = first + inside.begin * step_;
      across_.push_back({inside, at, at % step_ * room_ + at / step_});
      all_ = {std::max(all_.begin, inside.begin), std::min(all_.end, inside.end)};
    }
    has_blocks_ = std::is_same_v<T, float> && !across_.empty() && all_.end - all_.begin >= kLanes;
  }

  void run(int threads) const {
    const double work = static_cast<double>(pool_.out.element_count()) * static_cast<double>(pool_.window.taps()) / kParallelElements;
    const int useful = static_cast<int>(std::clamp(work, 1.0, static_cast<double>(std::max(threads, 1))));
    const int64_t channels = x_.dims()[1], height = pool_.input[0];
    parallel_for(x_.dims()[0] * channels, useful, [&](int64_t plane) {
      Scratch scratch(*this);
      const int64_t n = plane / channels, c = plane % channels;
      const auto row_of = [&](const Tensor& to, int64_t oy) { return n * to.strides()[0] + c * to.strides()[1] + oy * to.strides()[2]; };
      for (int64_t oy = 0; oy < pool_.output[0]; ++oy) {
        make_row(x_.data<T>() + plane * height * width_, oy, scratch);
        T* const values = pool_.out.data<T>() + row_of(pool_.out, oy);
        int64_t* const places = positions_.data<int64_t>() + row_of(positions_, oy);
        store_places(scratch.best.data(), scratch.found.data(), columns_, plane * height * width_, values, pool_.out.strides()[3], places,
                     positions_.strides()[3]);
      }
    });
  }

 private:
  /// A column of the windows: where they have it, the position of the first of these in a row, and among the parts of a row.
  struct Across {
    Span inside;
    int64_t at, at_in_parts;
  };

  struct Scratch {
    explicit Scratch(const ImageMaximum& of)
        : parts(as_size(of.pool_.window.kernel[0] * of.step_ * of.room_)), best(as_size(of.columns_)), found(as_size(of.columns_)) {}
    std::vector<T> parts, best;
    std::vector<int32_t> found;
    std::vector<Tap<T>> taps;
  };

  void make_row(const T* plane, int64_t oy, Scratch& scratch) const {
    const Window& window = pool_.window;
    scratch.taps.clear();
    for (int64_t ky = 0; ky < window.kernel[0]; ++ky) {
      const int64_t y = oy * window.strides[0] - window.before[0] + ky * window.dilations[0];
      if (y < 0 || y >= pool_.input[0]) continue;
      const T* const row = plane + y * width_;
      T* const parts = scratch.parts.data() + ky * step_ * room_;
      if (step_ > 1) take_apart(row, width_, step_, room_, parts);
      for (const Across& one : across_) {
        scratch.taps.push_back({step_ > 1 ? parts + one.at_in_parts : row + one.at, static_cast<int32_t>(y * width_ + one.at), one.inside});
      }
    }
    const bool has_blocks = has_blocks_ && !scratch.taps.empty();
    if constexpr (std::is_same_v<T, float>) {
      if (has_blocks) take_largest_of_all(scratch.taps, all_, static_cast<int32_t>(step_), scratch.best.data(), scratch.found.data());
    }
    take_ends({0, has_blocks ? all_.begin : columns_}, scratch);
    take_ends({has_blocks ? all_.end : columns_, columns_}, scratch);
  }

  /// Windows of which some reach beyond the image. Pointers are chosen without branches, which data would decide at random.
  void take_ends(Span part, Scratch& scratch) const {
    for (int64_t i = part.begin; i < part.end; ++i) {
      const T* largest = nullptr;
      int32_t place = -1;
      for (const Tap<T>& tap : scratch.taps) {
        const int64_t skipped = i - tap.inside.begin;
        if (skipped < 0 || i >= tap.inside.end) continue;
        const T* const one = tap.values + skipped;
        const T value = *one, had = largest == nullptr ? value : *largest;
        const bool is_larger = (largest == nullptr) | (value > had) | ((value != value) & (had == had));
        largest = is_larger ? one : largest;
        place = is_larger ? tap.place + static_cast<int32_t>(skipped * step_) : place;
      }
      scratch.best[as_size(i)] = largest == nullptr ? -std::numeric_limits<T>::infinity() : *largest;
      scratch.found[as_size(i)] = place;
    }
  }

  const Pool& pool_;
  const Tensor& positions_;
  const Tensor x_;
  const int64_t width_ = pool_.input[1], columns_ = pool_.output[1], step_ = pool_.window.strides[1], room_ = width_ / step_ + 1;
  std::vector<Across> across_;
  Span all_{0, columns_};  ///< the windows that have all columns
  bool has_blocks_ = false;
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
