// Computes pools and means of f32 in either layout.

#include "base/machine.h"
#include "base/positions.h"
#include "base/vectorize.h"
#include "exec/kernels/fast_math.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

RELAYOUT_VECTORIZE void maximum_into(float* out, const float* in, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = out[i] > in[i] || out[i] != out[i] ? out[i] : in[i];
}

RELAYOUT_VECTORIZE void sum_into(float* out, const float* in, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] += in[i];
}

struct KeepLarger {
  [[gnu::always_inline]] void operator()(float& total, float x) const { total = larger(total, x); }
  /// The processor's maximum drops NaN, which is kept in an array of its own, where no later step waits for it.
  template <int kWidth>
  struct Lanes {
    float best[kWidth], lost[kWidth] = {};
    [[gnu::always_inline]] void start(const float* x) {
      std::memcpy(best, x, sizeof best);
      RELAYOUT_KEEP_LOOP for (int lane = 0; lane < kWidth; ++lane) lost[lane] = x[lane] != x[lane] ? x[lane] : 0;
    }
    [[gnu::always_inline]] void take(const float* x) {
      RELAYOUT_KEEP_LOOP for (int lane = 0; lane < kWidth; ++lane) best[lane] = best[lane] > x[lane] ? best[lane] : x[lane];
      RELAYOUT_KEEP_LOOP for (int lane = 0; lane < kWidth; ++lane) lost[lane] = x[lane] != x[lane] ? x[lane] : lost[lane];
    }
    [[gnu::always_inline]] void finish(float* out) {
      RELAYOUT_KEEP_LOOP for (int lane = 0; lane < kWidth; ++lane) best[lane] = lost[lane] != lost[lane] ? lost[lane] : best[lane];
      std::memcpy(out, best, sizeof best);
    }
  };
};
struct AddTo {
  [[gnu::always_inline]] void operator()(float& total, float x) const { total += x; }
  template <int kWidth>
  struct Lanes {
    float total[kWidth];
    [[gnu::always_inline]] void start(const float* x) { std::memcpy(total, x, sizeof total); }
    [[gnu::always_inline]] void take(const float* x) {
      RELAYOUT_KEEP_LOOP for (int lane = 0; lane < kWidth; ++lane) total[lane] += x[lane];
    }
    [[gnu::always_inline]] void finish(float* out) { std::memcpy(out, total, sizeof total); }
  };
};

/// out[i] = address(0)[i], address(1)[i] … combined. The last lanes overlap the ones before: elements computed twice are the same. Written
/// as loops over an array: vector types are lowered for the baseline before the function is cloned for better processors. With more than
/// two vectors of an instruction set, GCC 14 keeps the array in memory: 32 lanes took three times as long with AVX2 as 16.
template <int kWidth, class Combine, class Address>
[[gnu::always_inline]] inline void combine_lanes(float* out, const Address& address, int64_t terms, int64_t count) {
  for (int64_t i = 0; i < count; i += kWidth) {
    const int64_t at = i + kWidth <= count ? i : count - kWidth;
    typename Combine::template Lanes<kWidth> lanes;
    lanes.start(address(0) + at);
    for (int64_t term = 1; term < terms; ++term) lanes.take(address(term) + at);
    lanes.finish(out + at);
  }
}

template <class Address, class Combine>
[[gnu::always_inline]] inline void combine_all(float* out, const Address& address, int64_t terms, int64_t count, const Combine& combine) {
  if (count >= 16) return combine_lanes<16, Combine>(out, address, terms, count);
  if (count >= 8) return combine_lanes<8, Combine>(out, address, terms, count);
  if (count >= 4) return combine_lanes<4, Combine>(out, address, terms, count);
  for (int64_t i = 0; i < count; ++i) {
    float total = address(0)[i];
    for (int64_t term = 1; term < terms; ++term) combine(total, address(term)[i]);
    out[i] = total;
  }
}

/// out[i] = in[tap · distance + i · stride] combined over all taps.
template <class Combine>
[[gnu::always_inline]] inline void combine_taps(float* out, const float* in, int64_t taps, int64_t distance, int64_t stride, int64_t count,
                                                const Combine& combine) {
  if (stride == 1) return combine_all(out, [=](int64_t tap) { return in + tap * distance; }, taps, count, combine);
  const auto run = [&](auto step) {
    for (int64_t i = 0; i < count; ++i) out[i] = in[i * step];
    for (int64_t tap = 1; tap < taps; ++tap) {
      const float* const from = in + tap * distance;
      for (int64_t i = 0; i < count; ++i) combine(out[i], from[i * step]);
    }
  };
  if (stride == 2) return run(std::integral_constant<int64_t, 2>{});
  run(stride);
}

RELAYOUT_VECTORIZE void maximum_of_taps(float* out, const float* in, int64_t taps, int64_t distance, int64_t stride, int64_t count) {
  combine_taps(out, in, taps, distance, stride, count, KeepLarger{});
}

RELAYOUT_VECTORIZE void sum_of_taps(float* out, const float* in, int64_t taps, int64_t distance, int64_t stride, int64_t count) {
  combine_taps(out, in, taps, distance, stride, count, AddTo{});
}

/// Combines a list of lines element by element.
RELAYOUT_VECTORIZE void maximum_of_lines(float* out, const float* const* lines, int64_t count, int64_t width) {
  combine_all(out, [=](int64_t line) { return lines[line]; }, count, width, KeepLarger{});
}

RELAYOUT_VECTORIZE void sum_of_lines(float* out, const float* const* lines, int64_t count, int64_t width) {
  combine_all(out, [=](int64_t line) { return lines[line]; }, count, width, AddTo{});
}

/// Adjacent pixels of `width` channels each; from one pixel to the next all taps move by `step`.
struct PixelRun {
  int64_t pixels, step, width;
  bool is_far = false;  ///< the pixels come from beyond a core's own cache
};

/// Taps read a line of several pixels, then the next line of each: in an order that processors do not foresee.
template <class Combine>
[[gnu::always_inline]] inline void combine_pixels(float* out, const float* const* taps, int64_t count, const PixelRun& run,
                                                  const Combine& combine) {
  constexpr int64_t kLine = kLineBytes / int64_t{sizeof(float)};
  for (int64_t pixel = 0; pixel < run.pixels; ++pixel) {
    const int64_t offset = pixel * run.step;
    for (int64_t tap = 0; run.is_far && tap < count; ++tap) {
      for (int64_t i = 0; i < run.width; i += kLine) __builtin_prefetch(taps[tap] + offset + 2 * run.step + i);
    }
    combine_all(out + pixel * run.width, [=](int64_t tap) { return taps[tap] + offset; }, count, run.width, combine);
  }
}

RELAYOUT_VECTORIZE void maximum_of_pixels(float* out, const float* const* taps, int64_t count, const PixelRun& run) {
  combine_pixels(out, taps, count, run, KeepLarger{});
}

/// Where largest elements are: the taps as positions in a channel, the first position of each channel in the image, of the image in the
/// tensor, and the step from one pixel to the next.
struct Placing {
  const int32_t* taps;
  const int64_t* channels;
  int64_t image;
  int32_t step;
};

/// The largest elements of one pixel, and their places. The last lanes overlap the ones before, as in combine_lanes().
template <int kWidth>
[[gnu::always_inline]] inline void largest_lanes(float* out, int64_t* places, const float* const* taps, int64_t count, const PixelRun& run,
                                                 const Placing& of, int64_t pixel) {
  const auto moved = static_cast<int32_t>(pixel) * of.step;
  for (int64_t i = 0; i < run.width; i += kWidth) {
    const int64_t at = i + kWidth <= run.width ? i : run.width - kWidth;
    float best[kWidth];
    int32_t found[kWidth];
    std::memcpy(best, taps[0] + pixel * run.step + at, sizeof best);
    RELAYOUT_KEEP_LOOP for (int lane = 0; lane < kWidth; ++lane) found[lane] = of.taps[0];
    for (int64_t tap = 1; tap < count; ++tap) {
      const float* const x = taps[tap] + pixel * run.step + at;
      const int32_t place = of.taps[tap];
      RELAYOUT_KEEP_LOOP for (int lane = 0; lane < kWidth; ++lane) {
        const int32_t takes = -(static_cast<int32_t>(!(x[lane] <= best[lane])) & static_cast<int32_t>(best[lane] == best[lane]));
        found[lane] = (found[lane] & ~takes) | (place & takes);
        best[lane] = takes != 0 ? x[lane] : best[lane];
      }
    }
    std::memcpy(out + at, best, sizeof best);
    RELAYOUT_KEEP_LOOP for (int lane = 0; lane < kWidth; ++lane) places[at + lane] =
        of.image + moved + of.channels[at + lane] + found[lane];
  }
}

/// The largest elements, of equal ones the first, and their places; NaN counts as largest.
RELAYOUT_VECTORIZE void largest_of_pixels(float* out, int64_t* places, const float* const* taps, int64_t count, const PixelRun& run,
                                          const Placing& of) {
  constexpr int kWidth = 8;
  for (int64_t pixel = 0; pixel < run.pixels; ++pixel, out += run.width, places += run.width) {
    if (run.width < kWidth) {
      largest_lanes<1>(out, places, taps, count, run, of, pixel);
    } else {
      largest_lanes<kWidth>(out, places, taps, count, run, of, pixel);
    }
  }
}

RELAYOUT_VECTORIZE void sum_of_pixels(float* out, const float* const* taps, int64_t count, const PixelRun& run) {
  combine_pixels(out, taps, count, run, AddTo{});
}

RELAYOUT_VECTORIZE void divide_by(float* out, float divisor, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] /= divisor;
}

RELAYOUT_VECTORIZE void divide_by_products(float* out, float factor, const float* factors, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] /= factor * factors[i];
}

/// Taps [first, last) of the kernel are within the input, `padded` taps within the padded input.
struct Reach {
  int64_t first, last, start, padded;
  [[nodiscard]] bool takes_as(const Reach& other) const { return first == other.first && last == other.last && padded == other.padded; }
};

class PoolKernel : public FloatKernel {
  static constexpr int64_t kOwnCache = 1 << 20;

 public:
  PoolKernel(const TensorDesc& source, const TensorDesc& destination, const PoolWindow& window, Team team)
      : window_(three_dims(window)),
        team_(team),
        batch_(source.dims[0]),
        channels_(source.dims[1]),
        channels_inside_(channels_ > 1 && source.strides[1] == 1 && destination.strides[1] == 1) {
    const std::size_t missing = 5 - source.dims.size();
    for (std::size_t i = 0; i < 3; ++i) {
      const bool there = i >= missing;
      input_[i] = there ? source.dims[i - missing + 2] : 1;
      output_[i] = there ? destination.dims[i - missing + 2] : 1;
      for (int64_t o = 0; o < output_[i]; ++o) reach_[i].push_back(reach(i, o));
    }
    const int64_t reached = (output_[2] - 1) * window_.strides[2] + (window_.kernel[2] - 1) * window_.dilations[2] + 1;
    padded_width_ = std::max(reached, window_.before[2] + input_[2]);
    for (int64_t i = 0; window_.gives_places && i < channels_; ++i) channel_begins_.push_back(i * input_[0] * input_[1] * input_[2]);
    is_far_ = channels_ * int64_t{sizeof(float)} > kLineBytes && element_count(source.dims) * int64_t{sizeof(float)} > kOwnCache;
    for (const Reach& w : reach_[2]) divisors_.push_back(static_cast<float>(counted(w)));
  }

  void bind(std::size_t operand, std::byte* data) override {
    if (operand == 2) {
      places_ = reinterpret_cast<int64_t*>(data);
    } else {
      FloatKernel::bind(operand, data);
    }
  }

  void run() override {
    const int64_t per_row = output_[2] * (channels_inside_ ? channels_ : 1) * window_.kernel[0] * window_.kernel[1] * window_.kernel[2];
    if (channels_inside_) {
      const int64_t rows = batch_ * output_[0] * output_[1];
      team_.divide(rows, 65536 / per_row + 1, [&](int64_t begin, int64_t end) {
        std::vector<const float*> taps(as_size(window_.taps()));
        std::vector<int32_t> positions(taps.size());
        for (int64_t row = begin; row < end; ++row) pool_pixels(row, taps, positions);
      });
    } else {
      const int64_t rows = batch_ * channels_ * output_[0] * output_[1];
      team_.divide(rows, 65536 / per_row + 1, [&](int64_t begin, int64_t end) {
        std::vector<float> line(as_size(padded_width_), window_.average ? 0.0F : -std::numeric_limits<float>::infinity());
        std::vector<const float*> lines(as_size(window_.kernel[0] * window_.kernel[1]));
        for (int64_t row = begin; row < end; ++row) pool_line(row, line, lines);
      });
    }
  }

 private:
  static PoolWindow three_dims(PoolWindow window) {
    while (window.kernel.size() < 3) {
      for (Dims* dims : {&window.kernel, &window.strides, &window.dilations}) dims->insert(dims->begin(), 1);
      for (Dims* dims : {&window.before, &window.after}) dims->insert(dims->begin(), 0);
    }
    return window;
  }

  [[nodiscard]] Reach reach(std::size_t dim, int64_t output) const {
    Reach out{window_.kernel[dim], 0, output * window_.strides[dim] - window_.before[dim], 0};
    for (int64_t tap = 0; tap < window_.kernel[dim]; ++tap) {
      const int64_t at = out.start + tap * window_.dilations[dim];
      if (at < input_[dim] + window_.after[dim]) ++out.padded;
      if (at < 0 || at >= input_[dim]) continue;
      out.first = std::min(out.first, tap);
      out.last = tap + 1;
    }
    return out;
  }

  [[nodiscard]] int64_t counted(const Reach& reach) const { return window_.count_padding ? reach.padded : reach.last - reach.first; }
  [[nodiscard]] float divisor(const Reach& d, const Reach& h) const { return static_cast<float>(counted(d) * counted(h)); }

  /// The positions of the taps of a window in a channel of the image.
  void place_taps(const Reach& d, const Reach& h, const Reach& w, std::vector<int32_t>& positions) const {
    int64_t count = 0;
    for (int64_t kd = d.first; kd < d.last; ++kd) {
      for (int64_t kh = h.first; kh < h.last; ++kh) {
        const int64_t line = (d.start + kd * window_.dilations[0]) * input_[1] + h.start + kh * window_.dilations[1];
        for (int64_t kw = w.first; kw < w.last; ++kw) {
          element_at(positions, count++) = static_cast<int32_t>(line * input_[2] + w.start + kw * window_.dilations[2]);
        }
      }
    }
  }

  /// Pools one row of pixels with all their channels, in runs of pixels whose windows cover as much of the input.
  void pool_pixels(int64_t row, std::vector<const float*>& taps, std::vector<int32_t>& positions) {
    const int64_t plane = output_[0] * output_[1];
    const float* const image = source_ + row / plane * input_[0] * input_[1] * input_[2] * channels_;
    const Reach& d = element_at(reach_[0], row % plane / output_[1]);
    const Reach& h = element_at(reach_[1], row % output_[1]);
    float* const out = destination_ + row * output_[2] * channels_;
    for (int64_t begin = 0, end = 1; begin < output_[2]; begin = end++) {
      const Reach& w = element_at(reach_[2], begin);
      while (end < output_[2] && element_at(reach_[2], end).takes_as(w)) ++end;
      int64_t count = 0;
      for (int64_t kd = d.first; kd < d.last; ++kd) {
        for (int64_t kh = h.first; kh < h.last; ++kh) {
          const int64_t line = (d.start + kd * window_.dilations[0]) * input_[1] + h.start + kh * window_.dilations[1];
          for (int64_t kw = w.first; kw < w.last; ++kw) {
            element_at(taps, count++) = image + (line * input_[2] + w.start + kw * window_.dilations[2]) * channels_;
          }
        }
      }
      const PixelRun run{end - begin, window_.strides[2] * channels_, channels_, is_far_};
      float* const target = out + begin * channels_;
      if (window_.gives_places) {
        place_taps(d, h, w, positions);
        const Placing placing{positions.data(), channel_begins_.data(), row / plane * channels_ * input_[0] * input_[1] * input_[2],
                              static_cast<int32_t>(window_.strides[2])};
        largest_of_pixels(target, places_ + (target - destination_), taps.data(), count, run, placing);
      } else if (!window_.average) {
        maximum_of_pixels(target, taps.data(), count, run);
      } else {
        sum_of_pixels(target, taps.data(), count, run);
        divide_by(target, divisor(d, h) * static_cast<float>(counted(w)), run.pixels * channels_);
      }
    }
  }

  /// Pools one row of one channel: the lines under the window are combined into one, between values that stand for the padding; that line
  /// is then combined along itself.
  void pool_line(int64_t row, std::vector<float>& line, std::vector<const float*>& lines) {
    const int64_t plane = output_[0] * output_[1];
    const float* const image = source_ + row / plane * input_[0] * input_[1] * input_[2];
    const Reach& d = element_at(reach_[0], row % plane / output_[1]);
    const Reach& h = element_at(reach_[1], row % output_[1]);
    float* const out = destination_ + row * output_[2];
    int64_t count = 0;
    for (int64_t kd = d.first; kd < d.last; ++kd) {
      for (int64_t kh = h.first; kh < h.last; ++kh) {
        element_at(lines, count++) =
            image + ((d.start + kd * window_.dilations[0]) * input_[1] + h.start + kh * window_.dilations[1]) * input_[2];
      }
    }
    float* const inner = line.data() + window_.before[2];
    const int64_t taps = window_.kernel[2], distance = window_.dilations[2], stride = window_.strides[2];
    if (!window_.average) {
      maximum_of_lines(inner, lines.data(), count, input_[2]);
      maximum_of_taps(out, line.data(), taps, distance, stride, output_[2]);
      return;
    }
    sum_of_lines(inner, lines.data(), count, input_[2]);
    sum_of_taps(out, line.data(), taps, distance, stride, output_[2]);
    divide_by_products(out, divisor(d, h), divisors_.data(), output_[2]);
  }

  PoolWindow window_;
  Team team_;
  int64_t batch_, channels_;
  bool channels_inside_ = false, is_far_ = false;
  int64_t input_[3], output_[3];
  std::vector<int64_t> channel_begins_;  ///< in an image, where places are given
  int64_t* places_ = nullptr;
  int64_t padded_width_ = 0;  ///< of a line with the padding that windows reach on both sides
  std::vector<Reach> reach_[3];
  std::vector<float> divisors_;  ///< number of taps that count, of each window along the last dim
};

RELAYOUT_VECTORIZE void add_into(double* out, const double* in, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] += in[i];
}

RELAYOUT_VECTORIZE void quotients_of(float* out, const double* totals, double divisor, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(totals[i] / divisor);
}

RELAYOUT_VECTORIZE void widen_into(double* out, const float* in, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] += static_cast<double>(in[i]);
}

class SpatialKernel : public FloatKernel {
 public:
  SpatialKernel(const TensorDesc& source, Reduction reduction, Team team)
      : team_(team), maximum_(reduction == Reduction::maximum), batch_(source.dims[0]), channels_(source.dims[1]) {
    for (std::size_t i = 2; i < source.dims.size(); ++i) points_ *= source.dims[i];
    if (reduction == Reduction::mean) divisor_ = static_cast<double>(points_);
    channels_inside_ = source.strides[1] == 1 && points_ > 1 && channels_ > 1;
    slices_ = (channels_ + kSlice - 1) / kSlice;
    const int64_t wanted = std::clamp<int64_t>(points_ * channels_ / kSegmentElements, 1, std::min(kMostSegments, points_ / kSumBlock + 1));
    segments_ = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(wanted)));
    if (channels_inside_ && !maximum_ && segments_ > 1) totals_.resize(as_size(batch_ * segments_ * channels_));
  }

  void run() override {
    if (!channels_inside_) {
      team_.divide(batch_ * channels_, 65536 / points_ + 1, [&](int64_t begin, int64_t end) {
        if (!maximum_ && points_ < kLongLine) {
          return sums_of_lines(destination_ + begin, source_ + begin * points_, end - begin, points_, divisor_);
        }
        for (int64_t i = begin; i < end; ++i) {
          const float* const from = source_ + i * points_;
          destination_[i] = maximum_ ? maximum_of(from, points_) : static_cast<float>(sum_of(from, points_) / divisor_);
        }
      });
    } else if (maximum_) {
      team_.divide(batch_ * slices_, 65536 / (points_ * kSlice) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) maximum_of_slice(i / slices_, i % slices_ * kSlice);
      });
    } else {
      const int64_t least = segments_ > 1 ? kSegmentElements / 2 : 65536;
      team_.divide(batch_ * segments_ * slices_, least / (points_ / segments_ * std::min(kSlice, channels_)) + 1,
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) sum_slice(i / slices_, i % slices_ * kSlice);
                   });
      if (segments_ > 1) {
        for (int64_t image = 0; image < batch_; ++image) combine_segments(image);
      }
    }
  }

 private:
  static constexpr int64_t kSlice = 256;
  /// Elements of a segment. For three times as many, two threads take as long as one (8 µs). But the next step, which scales the image,
  /// takes 7 µs, not 25, when each thread finds its rows in its own cache (efficientnet_b0, [1, 480, 14, 14]; Sapphire Rapids, 2026-11-26).
  static constexpr int64_t kSegmentElements = 32768;
  static constexpr int64_t kMostSegments = 8;

  void maximum_of_slice(int64_t image, int64_t channel) {
    const int64_t count = std::min(kSlice, channels_ - channel);
    const float* const in = source_ + image * points_ * channels_ + channel;
    float* const out = destination_ + image * channels_ + channel;
    std::copy_n(in, count, out);
    for (int64_t point = 1; point < points_; ++point) maximum_into(out, in + point * channels_, count);
  }

  /// Sums one segment of an image (segments are numbered through all images) over kSlice channels.
  void sum_slice(int64_t segment, int64_t channel) {
    const int64_t count = std::min(kSlice, channels_ - channel);
    const int64_t image = segment / segments_, number = segment % segments_;
    const float* const in = source_ + image * points_ * channels_ + channel;
    double totals[kSlice] = {};
    float sums[kSlice];
    const int64_t first = points_ * number / segments_, last = points_ * (number + 1) / segments_;
    for (int64_t block = first; block < last; block += kSumBlock) {
      std::copy_n(in + block * channels_, count, sums);
      for (int64_t point = block + 1; point < std::min(block + kSumBlock, last); ++point) sum_into(sums, in + point * channels_, count);
      widen_into(totals, sums, count);
    }
    if (segments_ == 1) return quotients_of(destination_ + image * channels_ + channel, totals, divisor_, count);
    std::copy_n(totals, count, totals_.data() + segment * channels_ + channel);
  }

  void combine_segments(int64_t image) {
    double* const totals = totals_.data() + image * segments_ * channels_;
    for (int64_t segment = 1; segment < segments_; ++segment) add_into(totals, totals + segment * channels_, channels_);
    quotients_of(destination_ + image * channels_, totals, divisor_, channels_);
  }

  Team team_;
  bool maximum_;
  int64_t batch_, channels_, points_ = 1, slices_ = 1;
  double divisor_ = 1;
  /// Number of parts of the rows of a channels-last image, by its size alone, so that any number of threads gives the same bits. Most steps
  /// divide such images by rows: here, too, each thread reads the rows that it wrote in the step before.
  int64_t segments_ = 1;
  std::vector<double> totals_;  ///< [image, segment, channel]
  bool channels_inside_ = false;
};

class ColumnKernel : public FloatKernel {
 public:
  ColumnKernel(const IndexedLines& shape, Reduction reduction, Team team) : shape_(shape), reduction_(reduction), team_(team) {}

  void run() override {
    // Blocks of wide rows are divided along these.
    const int64_t slices = (shape_.inner + kSlice - 1) / kSlice, grain = kElementsPerPart / (shape_.length * shape_.inner / slices) + 1;
    team_.divide(shape_.outer * slices, grain, [&](int64_t begin, int64_t end) {
      std::vector<const float*> taps(as_size(shape_.length));
      if (slices == 1) return reduce(taps, begin, end - begin, 0, shape_.inner);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % slices * kSlice;
        reduce(taps, i / slices, 1, first, std::min(kSlice, shape_.inner - first));
      }
    });
  }

 private:
  static constexpr int64_t kSlice = 4096;

  void reduce(std::vector<const float*>& taps, int64_t block, int64_t blocks, int64_t first, int64_t width) const {
    const int64_t size = shape_.length * shape_.inner;
    for (int64_t i = 0; i < shape_.length; ++i) element_at(taps, i) = source_ + block * size + i * shape_.inner + first;
    float* const out = destination_ + block * shape_.inner + first;
    const PixelRun run{blocks, size, width};
    if (reduction_ == Reduction::maximum) return maximum_of_pixels(out, taps.data(), shape_.length, run);
    sum_of_pixels(out, taps.data(), shape_.length, run);
    if (reduction_ == Reduction::mean) divide_by(out, static_cast<float>(shape_.length), blocks * width);
  }

  IndexedLines shape_;
  Reduction reduction_;
  Team team_;
};

}  // namespace

std::unique_ptr<Kernel> make_column_kernel(const IndexedLines& shape, Reduction reduction, Team team) {
  return std::make_unique<ColumnKernel>(shape, reduction, team);
}

std::unique_ptr<Kernel> make_pool_kernel(const TensorDesc& source, const TensorDesc& destination, const PoolWindow& window, Team team) {
  return std::make_unique<PoolKernel>(source, destination, window, team);
}

std::unique_ptr<Kernel> make_spatial_kernel(const TensorDesc& source, Reduction reduction, Team team) {
  return std::make_unique<SpatialKernel>(source, reduction, team);
}

}  // namespace relayout::exec
