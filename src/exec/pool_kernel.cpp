#include "exec/pool_kernel.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "exec/kernel.h"
#include "exec/vectorize.h"
#include "relayout/tensor.h"

namespace relayout {
namespace {

RELAYOUT_VECTORIZE void maximum_into(float* out, const float* in, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = out[i] > in[i] || out[i] != out[i] ? out[i] : in[i];
}

RELAYOUT_VECTORIZE void maximum_into(float* out, const float* in, int64_t step, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const float x = in[i * step];
    out[i] = out[i] > x || out[i] != out[i] ? out[i] : x;
  }
}

RELAYOUT_VECTORIZE void sum_into(float* out, const float* in, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] += in[i];
}

RELAYOUT_VECTORIZE void sum_into(float* out, const float* in, int64_t step, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] += in[i * step];
}

RELAYOUT_VECTORIZE void divide_by(float* out, float divisor, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] /= divisor;
}

/// Taps [first, last) of the kernel lie within the input, `padded` of them within the padded input.
struct Reach {
  int64_t first, last, start, padded;
};

class PoolKernel : public Kernel {
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
  }

  void bind(std::size_t operand, std::byte* data) override {
    if (operand == 0) {
      source_ = reinterpret_cast<const float*>(data);
    } else {
      destination_ = reinterpret_cast<float*>(data);
    }
  }
  [[nodiscard]] std::string implementation() const override { return "own"; }

  void run() override {
    const int64_t per_row = output_[2] * (channels_inside_ ? channels_ : 1) * window_.kernel[0] * window_.kernel[1] * window_.kernel[2];
    if (channels_inside_) {
      const int64_t rows = batch_ * output_[0] * output_[1];
      team_.divide(rows, 65536 / per_row + 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) pool_pixels(row);
      });
    } else {
      const int64_t rows = batch_ * channels_ * output_[0] * output_[1];
      team_.divide(rows, 65536 / per_row + 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) pool_line(row);
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

  [[nodiscard]] float divisor(const Reach& d, const Reach& h, const Reach& w) const {
    if (window_.count_padding) return static_cast<float>(d.padded * h.padded * w.padded);
    return static_cast<float>((d.last - d.first) * (h.last - h.first) * (w.last - w.first));
  }

  /// One row of pixels with all their channels.
  void pool_pixels(int64_t row) {
    const int64_t plane = output_[0] * output_[1];
    const float* const image = source_ + row / plane * input_[0] * input_[1] * input_[2] * channels_;
    const Reach& d = reach_[0][static_cast<std::size_t>(row % plane / output_[1])];
    const Reach& h = reach_[1][static_cast<std::size_t>(row % output_[1])];
    float* out = destination_ + row * output_[2] * channels_;
    for (int64_t o = 0; o < output_[2]; ++o, out += channels_) {
      const Reach& w = reach_[2][static_cast<std::size_t>(o)];
      bool is_first = true;
      for (int64_t kd = d.first; kd < d.last; ++kd) {
        for (int64_t kh = h.first; kh < h.last; ++kh) {
          const int64_t line = (d.start + kd * window_.dilations[0]) * input_[1] + h.start + kh * window_.dilations[1];
          for (int64_t kw = w.first; kw < w.last; ++kw) {
            const float* const in = image + (line * input_[2] + w.start + kw * window_.dilations[2]) * channels_;
            if (is_first) {
              std::copy_n(in, channels_, out);
              is_first = false;
            } else if (window_.average) {
              sum_into(out, in, channels_);
            } else {
              maximum_into(out, in, channels_);
            }
          }
        }
      }
      if (window_.average) divide_by(out, divisor(d, h, w), channels_);
    }
  }

  /// One row of one channel. Tap after tap over the outputs that it reaches.
  void pool_line(int64_t row) {
    const int64_t plane = output_[0] * output_[1];
    const float* const image = source_ + row / plane * input_[0] * input_[1] * input_[2];
    const Reach& d = reach_[0][static_cast<std::size_t>(row % plane / output_[1])];
    const Reach& h = reach_[1][static_cast<std::size_t>(row % output_[1])];
    float* const out = destination_ + row * output_[2];
    std::fill_n(out, output_[2], window_.average ? 0.0F : -std::numeric_limits<float>::infinity());
    for (int64_t kd = d.first; kd < d.last; ++kd) {
      for (int64_t kh = h.first; kh < h.last; ++kh) {
        const int64_t line = (d.start + kd * window_.dilations[0]) * input_[1] + h.start + kh * window_.dilations[1];
        for (int64_t kw = 0; kw < window_.kernel[2]; ++kw) add_tap(out, image + line * input_[2], kw);
      }
    }
    if (!window_.average) return;
    for (int64_t o = 0; o < output_[2]; ++o) out[o] /= divisor(d, h, reach_[2][static_cast<std::size_t>(o)]);
  }

  void add_tap(float* out, const float* line, int64_t tap) {
    const int64_t stride = window_.strides[2];
    const int64_t offset = tap * window_.dilations[2] - window_.before[2];  // input = output · stride + offset
    const int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    const int64_t behind = offset >= input_[2] ? 0 : (input_[2] - 1 - offset) / stride + 1;
    const int64_t count = std::min(behind, output_[2]) - first;
    if (count <= 0) return;
    const float* const in = line + first * stride + offset;
    if (window_.average) {
      if (stride == 1) return sum_into(out + first, in, count);
      return sum_into(out + first, in, stride, count);
    }
    if (stride == 1) return maximum_into(out + first, in, count);
    maximum_into(out + first, in, stride, count);
  }

  PoolWindow window_;
  Team team_;
  int64_t batch_, channels_;
  bool channels_inside_ = false;
  int64_t input_[3], output_[3];
  std::vector<Reach> reach_[3];
  const float* source_ = nullptr;
  float* destination_ = nullptr;
};

/// Terms that are added in f32 before the sum goes on in f64.
constexpr int64_t kSumBlock = 64;

RELAYOUT_VECTORIZE void widen_into(double* out, const float* in, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] += static_cast<double>(in[i]);
}

RELAYOUT_VECTORIZE double sum_of(const float* in, int64_t count) {
  constexpr int64_t kLanes = 32;
  double total = 0;
  int64_t i = 0;
  while (i + kLanes <= count) {
    float lanes[kLanes] = {};
    for (int64_t block = 0; block < 4 && i + kLanes <= count; ++block, i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += in[i + lane];
    }
    for (const float lane : lanes) total += static_cast<double>(lane);
  }
  for (; i < count; ++i) total += static_cast<double>(in[i]);
  return total;
}

class SpatialMeanKernel : public Kernel {
 public:
  SpatialMeanKernel(const TensorDesc& source, Team team) : team_(team), batch_(source.dims[0]), channels_(source.dims[1]) {
    for (std::size_t i = 2; i < source.dims.size(); ++i) points_ *= source.dims[i];
    channels_inside_ = source.strides[1] == 1 && points_ > 1 && channels_ > 1;
  }

  void bind(std::size_t operand, std::byte* data) override {
    if (operand == 0) {
      source_ = reinterpret_cast<const float*>(data);
    } else {
      destination_ = reinterpret_cast<float*>(data);
    }
  }
  [[nodiscard]] std::string implementation() const override { return "own"; }

  void run() override {
    if (!channels_inside_) {
      team_.divide(batch_ * channels_, 65536 / points_ + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          destination_[i] = static_cast<float>(sum_of(source_ + i * points_, points_) / static_cast<double>(points_));
        }
      });
      return;
    }
    const int64_t slices = (channels_ + kSlice - 1) / kSlice;
    team_.divide(batch_ * slices, 65536 / (points_ * kSlice) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) mean_of_slice(i / slices, i % slices * kSlice);
    });
  }

 private:
  static constexpr int64_t kSlice = 256;

  void mean_of_slice(int64_t image, int64_t channel) {
    const int64_t count = std::min(kSlice, channels_ - channel);
    const float* const in = source_ + image * points_ * channels_ + channel;
    double totals[kSlice] = {};
    float sums[kSlice];
    for (int64_t block = 0; block < points_; block += kSumBlock) {
      std::copy_n(in + block * channels_, count, sums);
      for (int64_t point = block + 1; point < std::min(block + kSumBlock, points_); ++point) sum_into(sums, in + point * channels_, count);
      widen_into(totals, sums, count);
    }
    float* const out = destination_ + image * channels_ + channel;
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(totals[i] / static_cast<double>(points_));
  }

  Team team_;
  int64_t batch_, channels_, points_ = 1;
  bool channels_inside_ = false;
  const float* source_ = nullptr;
  float* destination_ = nullptr;
};

}  // namespace

std::unique_ptr<Kernel> make_pool_kernel(const TensorDesc& source, const TensorDesc& destination, const PoolWindow& window, Team team) {
  return std::make_unique<PoolKernel>(source, destination, window, team);
}

std::unique_ptr<Kernel> make_spatial_mean_kernel(const TensorDesc& source, Team team) {
  return std::make_unique<SpatialMeanKernel>(source, team);
}

}  // namespace relayout
