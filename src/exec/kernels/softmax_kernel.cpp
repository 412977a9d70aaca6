// Computes softmax where oneDNN is slow or drops NaN.
#include <numeric>

#include "base/positions.h"
#include "base/vectorize.h"
#include "exec/kernels/fast_math.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "ops/kernels/window.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Σ e^(in − maximum), each lane in double.
RELAYOUT_VECTORIZE double sum_of_exponentials(const float* in, float maximum, int64_t count) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += static_cast<double>(exponential(in[i + lane] - maximum));
  }
  for (; i < count; ++i) lanes[0] += static_cast<double>(exponential(in[i] - maximum));
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

RELAYOUT_VECTORIZE void less(float* out, const float* in, double shift, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(static_cast<double>(in[i]) - shift);
}

class LogSoftmaxKernel : public FloatKernel {
 public:
  LogSoftmaxKernel(int64_t length, int64_t lines, Team team) : length_(length), lines_(lines), team_(team) {}

  void run() override {
    team_.divide(lines_, kElementsPerPart / length_ + 1, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        const float* const in = source_ + line * length_;
        const float maximum = maximum_of(in, length_);
        const double shift = static_cast<double>(maximum) + std::log(sum_of_exponentials(in, maximum, length_));
        less(destination_ + line * length_, in, shift, length_);
      }
    });
  }

 private:
  int64_t length_, lines_;
  Team team_;
};

constexpr int64_t kLinesTogether = 64;
/// Element k of all lines, one line after the other, then element k + 1.
using ShortLines = float[kShortSoftmax][kLinesTogether];

RELAYOUT_VECTORIZE void softmax_of_short_lines(ShortLines& lines, int64_t length) {
  float most[kLinesTogether], sums[kLinesTogether] = {};
  std::copy_n(lines[0], kLinesTogether, most);
  for (int64_t k = 1; k < length; ++k) {
    for (int64_t i = 0; i < kLinesTogether; ++i) most[i] = larger(most[i], lines[k][i]);
  }
  for (int64_t k = 0; k < length; ++k) {
    for (int64_t i = 0; i < kLinesTogether; ++i) {
      lines[k][i] = exponential(lines[k][i] - most[i]);
      sums[i] += lines[k][i];
    }
  }
  for (int64_t k = 0; k < length; ++k) {
    for (int64_t i = 0; i < kLinesTogether; ++i) lines[k][i] /= sums[i];
  }
}

class ShortSoftmaxKernel : public FloatKernel {
 public:
  ShortSoftmaxKernel(int64_t length, int64_t lines, Team team) : length_(length), lines_(lines), team_(team) {}

  void run() override {
    team_.divide(lines_, kElementsPerPart / length_ + 1, [&](int64_t begin, int64_t end) {
      ShortLines lines = {};
      for (int64_t line = begin; line < end; line += kLinesTogether) {
        const int64_t count = std::min(kLinesTogether, end - line);
        const float* const in = source_ + line * length_;
        float* const out = destination_ + line * length_;
        for (int64_t i = 0; i < count; ++i) {
          for (int64_t k = 0; k < length_; ++k) lines[k][i] = in[i * length_ + k];
        }
        softmax_of_short_lines(lines, length_);
        for (int64_t i = 0; i < count; ++i) {
          for (int64_t k = 0; k < length_; ++k) out[i * length_ + k] = lines[k][i];
        }
      }
    });
  }

 private:
  int64_t length_, lines_;
  Team team_;
};

/// Columns computed side by side; rows of fewer columns are repeated until they fill whole vectors, and several of those.
constexpr int64_t kMostColumns = 64, kMostWidth = kMostColumns * kLanes, kFewestLanes = 64;
/// Lines whose sums are in f32; these sums are added in double.
constexpr int64_t kLinesPerSum = 16;

/// Columns of a matrix side by side: `lines` of `width` elements, `step` apart, followed by `rest` < width elements. Element i of a line
/// belongs to column i % columns.
struct Columns {
  int64_t lines, width, step, rest, columns;
};

/// Maxima and sums of element i over all lines; after join_columns(), over its column.
struct ColumnSums {
  float most[kMostWidth], part[kMostWidth];
  double sums[kMostWidth];
};

RELAYOUT_VECTORIZE void take_largest(float* most, const float* in, const Columns& shape) {
  std::fill_n(most, shape.width, -std::numeric_limits<float>::infinity());
  for (int64_t line = 0; line < shape.lines; ++line, in += shape.step) {
    RELAYOUT_INDEPENDENT for (int64_t i = 0; i < shape.width; ++i) most[i] = larger(most[i], in[i]);
  }
  RELAYOUT_INDEPENDENT for (int64_t i = 0; i < shape.rest; ++i) most[i] = larger(most[i], in[i]);
}

RELAYOUT_VECTORIZE void add_exponentials(float* out, const float* in, const Columns& shape, ColumnSums& known) {
  float *const part = known.part, *const most = known.most;
  std::fill_n(known.sums, shape.width, 0.0);
  const int64_t all = shape.lines + (shape.rest > 0 ? 1 : 0);
  for (int64_t first = 0; first < all; first += kLinesPerSum) {
    std::fill_n(part, shape.width, 0.0F);
    for (int64_t line = first; line < std::min(first + kLinesPerSum, all); ++line, in += shape.step, out += shape.step) {
      const int64_t count = line < shape.lines ? shape.width : shape.rest;
      RELAYOUT_INDEPENDENT for (int64_t i = 0; i < count; ++i) {
        out[i] = exponential(in[i] - most[i]);
        part[i] += out[i];
      }
    }
    for (int64_t i = 0; i < shape.width; ++i) known.sums[i] += static_cast<double>(part[i]);
  }
}

RELAYOUT_VECTORIZE void divide_by(float* out, const float* divisors, const Columns& shape) {
  for (int64_t line = 0; line < shape.lines; ++line, out += shape.step) {
    RELAYOUT_INDEPENDENT for (int64_t i = 0; i < shape.width; ++i) out[i] /= divisors[i];
  }
  RELAYOUT_INDEPENDENT for (int64_t i = 0; i < shape.rest; ++i) out[i] /= divisors[i];
}

/// Joins the elements of each column, and sets all of them to the result.
template <class T, class Join>
void join_columns(T* values, const Columns& shape, const Join& join) {
  for (int64_t first = shape.columns; first < shape.width; first += shape.columns) {
    for (int64_t i = 0; i < shape.columns; ++i) values[i] = join(values[i], values[first + i]);
  }
  for (int64_t i = shape.columns; i < shape.width; ++i) values[i] = values[i - shape.columns];
}

void softmax_of_columns(float* out, const float* in, const Columns& shape, ColumnSums& known) {
  take_largest(known.most, in, shape);
  join_columns(known.most, shape, [](float a, float b) { return larger(a, b); });
  add_exponentials(out, in, shape, known);
  join_columns(known.sums, shape, std::plus<>());
  std::transform(known.sums, known.sums + shape.width, known.part, [](double sum) { return static_cast<float>(sum); });
  divide_by(out, known.part, shape);
}

class ColumnSoftmaxKernel : public FloatKernel {
 public:
  ColumnSoftmaxKernel(int64_t length, int64_t stride, int64_t elements, Team team)
      : length_(length), stride_(stride), blocks_(elements / (length * stride)), team_(team) {}

  void run() override {
    const int64_t least = (stride_ + kMostColumns - 1) / kMostColumns, columns = (stride_ + least * kLanes - 1) / (least * kLanes) * kLanes;
    const int64_t strips = (stride_ + columns - 1) / columns;
    team_.divide(blocks_ * strips, kElementsPerPart / (length_ * columns) + 1, [&](int64_t begin, int64_t end) {
      ColumnSums known;
      for (int64_t at = begin; at < end; ++at) {
        const int64_t first = at % strips * columns, place = at / strips * length_ * stride_ + first;
        softmax_of_columns(destination_ + place, source_ + place, shape_of(std::min(columns, stride_ - first)), known);
      }
    });
  }

 private:
  [[nodiscard]] Columns shape_of(int64_t columns) const {
    if (columns < stride_) return {length_, columns, stride_, 0, columns};
    const int64_t whole = std::lcm(columns, kLanes), elements = length_ * columns;
    const int64_t width = std::min(whole * std::max<int64_t>(kFewestLanes / whole, 1), elements);
    return {elements / width, width, width, elements % width, columns};
  }

  int64_t length_, stride_, blocks_;
  Team team_;
};

/// A score that the mask forbids becomes −∞ whatever its value, NaN too.
RELAYOUT_VECTORIZE void scale_and_mask(float* scores, float scale, const float* mask, int64_t count) {
  if (mask == nullptr) {
    for (int64_t i = 0; i < count; ++i) scores[i] *= scale;
    return;
  }
  constexpr float kForbidden = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    const float masked = scores[i] * scale + mask[i];
    scores[i] = mask[i] == kForbidden ? kForbidden : masked;
  }
}

RELAYOUT_VECTORIZE void cap(float* scores, float scale, float softcap, int64_t count) {
  const float factor = scale / softcap;
  for (int64_t i = 0; i < count; ++i) scores[i] = softcap * hyperbolic_tangent(scores[i] * factor);
}

RELAYOUT_VECTORIZE double exponentials(float* in, float maximum, int64_t count) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    RELAYOUT_KEEP_LOOP for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float value = exponential(in[i + lane] - maximum);
      in[i + lane] = value;
      lanes[lane] += static_cast<double>(value);
    }
  }
  for (; i < count; ++i) lanes[0] += static_cast<double>(in[i] = exponential(in[i] - maximum));
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

RELAYOUT_VECTORIZE void divide(float* values, float divisor, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] /= divisor;
}

class AttentionSoftmaxKernel : public Kernel {
 public:
  AttentionSoftmaxKernel(AttentionSoftmax spec, Team team) : spec_(std::move(spec)), team_(team) {}

  void bind(std::size_t operand, std::byte* data) override {
    if (operand == (spec_.mask ? 1 : 0)) {
      scores_ = reinterpret_cast<float*>(data);
    } else {
      mask_ = data;
    }
  }
  [[nodiscard]] std::string implementation() const override { return "own"; }

  void run() override {
    const int64_t keys = spec_.dims[3];
    team_.divide(spec_.dims[0] * spec_.dims[1] * spec_.dims[2], kElementsPerPart / keys + 1, [&](int64_t begin, int64_t end) {
      std::vector<float> mask(as_size(keys));
      for (int64_t row = begin; row < end; ++row) soften(row, mask.data());
    });
  }

 private:
  void soften(int64_t row, float* mask) const {
    const int64_t keys = spec_.dims[3], query = row % spec_.dims[2];
    const Span& seen = element_at(spec_.visible, query);
    float* const line = scores_ + row * keys;
    float* const scores = line + seen.begin;
    const int64_t end = spec_.mask ? std::min(seen.end, spec_.mask->dims[3]) : seen.end;
    const int64_t count = std::max<int64_t>(end - seen.begin, 0);
    std::fill(line, scores, 0.0F);
    std::fill(scores + count, line + keys, 0.0F);
    if (count == 0) return;
    if (spec_.softcap > 0) cap(scores, spec_.scale, spec_.softcap, count);
    scale_and_mask(scores, spec_.softcap > 0 ? 1 : spec_.scale, spec_.mask ? mask_line(row, seen.begin, count, mask) : nullptr, count);
    const float maximum = maximum_of(scores, count);
    if (maximum == -std::numeric_limits<float>::infinity()) return std::fill_n(scores, count, 0.0F), void();
    divide(scores, static_cast<float>(exponentials(scores, maximum, count)), count);
  }

  /// Addends of `count` scores of a row from key `first` on: the mask itself where it is dense f32, else `buffer`.
  const float* mask_line(int64_t row, int64_t first, int64_t count, float* buffer) const {
    const Dims &strides = spec_.mask->strides, &dims = spec_.dims;
    const int64_t query = row % dims[2], head = row / dims[2] % dims[1], image = row / dims[2] / dims[1];
    const int64_t at = image * strides[0] + head * strides[1] + query * strides[2] + first * strides[3];
    if (spec_.mask->type == DataType::boolean) {
      const auto* const from = reinterpret_cast<const uint8_t*>(mask_) + at;
      for (int64_t i = 0; i < count; ++i) buffer[i] = from[i * strides[3]] != 0 ? 0 : -std::numeric_limits<float>::infinity();
      return buffer;
    }
    const auto* const from = reinterpret_cast<const float*>(mask_) + at;
    if (strides[3] == 1) return from;
    for (int64_t i = 0; i < count; ++i) buffer[i] = from[i * strides[3]];
    return buffer;
  }

  AttentionSoftmax spec_;
  Team team_;
  float* scores_ = nullptr;
  const std::byte* mask_ = nullptr;
};

/// The library takes NaN for +∞, so that the other elements of its line are 0: lines that begin with no positive result are checked.
class GuardedSoftmaxKernel : public FloatKernel {
 public:
  GuardedSoftmaxKernel(std::unique_ptr<Kernel> softmax, int64_t length, int64_t lines, Team team)
      : softmax_(std::move(softmax)), length_(length), lines_(lines), team_(team) {}

  void bind(std::size_t operand, std::byte* data) override {
    FloatKernel::bind(operand, data);
    softmax_->bind(operand, data);
  }
  [[nodiscard]] std::string implementation() const override { return softmax_->implementation(); }
  [[nodiscard]] int64_t scratchpad_bytes() const override { return softmax_->scratchpad_bytes(); }
  void bind_scratchpad(std::byte* data) override { softmax_->bind_scratchpad(data); }

  void run() override {
    softmax_->run();
    constexpr int64_t kLinesPerPart = 65536;
    team_.divide(lines_, kLinesPerPart, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin * length_; at < end * length_; at += length_) {
        if (!(destination_[at] > 0) && !is_below_infinity(source_ + at)) {
          std::fill_n(destination_ + at, length_, std::numeric_limits<float>::quiet_NaN());
        }
      }
    });
  }

 private:
  /// Whether all elements of a line are finite numbers or −∞, whose exponential is 0.
  [[nodiscard]] bool is_below_infinity(const float* line) const {
    int64_t below = 0;
    for (int64_t k = 0; k < length_; ++k) below += line[k] <= std::numeric_limits<float>::max() ? 1 : 0;
    return below == length_;
  }

  std::unique_ptr<Kernel> softmax_;
  int64_t length_, lines_;
  Team team_;
};

}  // namespace

std::unique_ptr<Kernel> make_short_softmax_kernel(int64_t length, int64_t lines, Team team) {
  return std::make_unique<ShortSoftmaxKernel>(length, lines, team);
}

std::unique_ptr<Kernel> make_column_softmax_kernel(int64_t length, int64_t stride, int64_t elements, Team team) {
  return std::make_unique<ColumnSoftmaxKernel>(length, stride, elements, team);
}

std::unique_ptr<Kernel> make_guarded_softmax_kernel(std::unique_ptr<Kernel> softmax, int64_t length, int64_t lines, Team team) {
  return std::make_unique<GuardedSoftmaxKernel>(std::move(softmax), length, lines, team);
}

std::unique_ptr<Kernel> make_attention_softmax_kernel(AttentionSoftmax spec, Team team) {
  return std::make_unique<AttentionSoftmaxKernel>(std::move(spec), team);
}

std::unique_ptr<Kernel> make_log_softmax_kernel(int64_t length, int64_t lines, Team team) {
  return std::make_unique<LogSoftmaxKernel>(length, lines, team);
}

}  // namespace relayout::exec
