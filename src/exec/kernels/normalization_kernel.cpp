// Normalizes lines of f32, or channels that are side by side.
#include <numeric>

#include "base/positions.h"
#include "base/vectorize.h"
#include "exec/kernels/fast_math.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"

namespace relayout::exec {
namespace {

/// Elements whose sum is one term of a line's sum: the same for any number of threads.
constexpr int64_t kPiece = 8192;

RELAYOUT_VECTORIZE double sum_of_squares(const float* in, int64_t count, float mean) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    RELAYOUT_KEEP_LOOP for (int64_t lane = 0; lane < kLanes; ++lane) {
      const auto difference = static_cast<double>(in[i + lane] - mean);
      lanes[lane] += difference * difference;
    }
  }
  for (; i < count; ++i) {
    const auto difference = static_cast<double>(in[i] - mean);
    lanes[0] += difference * difference;
  }
  return std::accumulate(lanes, lanes + kLanes, 0.0);
}

RELAYOUT_VECTORIZE void scale_differences(float* out, const float* in, int64_t count, float mean, float scale, float shift) {
  for (int64_t i = 0; i < count; ++i) out[i] = (in[i] - mean) * scale + shift;
}

/// Factor and addend for a line of known mean and sum of squares. Differences are taken from the mean in f32. Its rounding error (`rest`)
/// is corrected in the variance and in the shift.
struct Moments {
  float center;
  double rest;
  explicit Moments(double mean) : center(static_cast<float>(mean)), rest(mean - static_cast<double>(center)) {}
  [[nodiscard]] double inverse(double mean_of_squares, float epsilon) const {
    return 1 / std::sqrt(std::max(mean_of_squares - rest * rest, 0.0) + static_cast<double>(epsilon));
  }
  [[nodiscard]] float shift(double scale, float shift) const { return static_cast<float>(static_cast<double>(shift) - rest * scale); }
};

class LineNormalizationKernel : public Kernel {
 public:
  LineNormalizationKernel(const LineNormalizationShape& shape, Team team)
      : shape_(shape), team_(team), terms_(as_size((shape.length + kPiece - 1) / kPiece)) {}

  void bind(std::size_t operand, std::byte* data) override { data_[operand] = reinterpret_cast<float*>(data); }
  [[nodiscard]] std::string implementation() const override { return "own"; }

  void run() override {
    if (shape_.lines < team_.threads) {
      for (int64_t line = 0; line < shape_.lines; ++line) normalize(line, team_, terms_);
      return;
    }
    team_.divide(shape_.lines, kElementsPerPart / shape_.length + 1, [&](int64_t begin, int64_t end) {
      std::vector<double> terms(terms_.size());
      for (int64_t line = begin; line < end; ++line) normalize(line, {}, terms);
    });
  }

 private:
  /// Sum of sum(begin, count) over all pieces of a line.
  template <class Sum>
  double total(const Team& team, std::vector<double>& terms, const Sum& sum) const {
    team.divide(std::ssize(terms), kElementsPerPart / kPiece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) element_at(terms, i) = sum(i * kPiece, std::min(kPiece, shape_.length - i * kPiece));
    });
    return std::accumulate(terms.begin(), terms.end(), 0.0);
  }

  void normalize(int64_t line, const Team& team, std::vector<double>& terms) const {
    const float* const in = data_[0] + line * shape_.length;
    const auto count = static_cast<double>(shape_.length);
    const Moments moments(total(team, terms, [&](int64_t begin, int64_t length) { return sum_of(in + begin, length); }) / count);
    const double squares =
        total(team, terms, [&](int64_t begin, int64_t length) { return sum_of_squares(in + begin, length, moments.center); });
    const double inverse = moments.inverse(squares / count, shape_.epsilon);
    float* const out = data_[3] + line * shape_.length;
    const int64_t run_length = shape_.length / shape_.runs;
    team.divide(shape_.length, kElementsPerPart, [&](int64_t begin, int64_t end) {
      for (int64_t run = begin / run_length; run * run_length < end; ++run) {
        const int64_t parameter = (line * shape_.runs + run) % shape_.parameters;
        const int64_t first = std::max(begin, run * run_length), last = std::min(end, (run + 1) * run_length);
        const double scale = inverse * static_cast<double>(data_[1][parameter]);
        const float shift = moments.shift(scale, data_[2][parameter]);
        scale_differences(out + first, in + first, last - first, moments.center, static_cast<float>(scale), shift);
      }
    });
  }

  LineNormalizationShape shape_;
  Team team_;
  std::vector<double> terms_;
  std::array<float*, 4> data_{};
};

// Adjacent rows whose elements have separate sums, means, scales and shifts; the last row may end early.

RELAYOUT_VECTORIZE void add_rows(double* totals, const float* in, int64_t count, int64_t row) {
  for (; count >= 4 * row; in += 4 * row, count -= 4 * row) {
    const float *const second = in + row, *const third = second + row, *const fourth = third + row;
    RELAYOUT_INDEPENDENT
    for (int64_t i = 0; i < row; ++i) {
      const double a = static_cast<double>(in[i]) + static_cast<double>(second[i]);
      const double b = static_cast<double>(third[i]) + static_cast<double>(fourth[i]);
      totals[i] += a + b;
    }
  }
  for (; count > 0; in += row, count -= row) {
    RELAYOUT_INDEPENDENT
    for (int64_t i = 0; i < std::min(row, count); ++i) totals[i] += static_cast<double>(in[i]);
  }
}

RELAYOUT_VECTORIZE void add_terms(double* totals, const double* terms, int64_t count) {
  RELAYOUT_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) totals[i] += terms[i];
}

[[gnu::always_inline]] inline double square_of(float difference) {
  return static_cast<double>(difference) * static_cast<double>(difference);
}

RELAYOUT_VECTORIZE void add_squares(double* totals, const float* in, int64_t count, const float* means, int64_t row) {
  for (; count >= 4 * row; in += 4 * row, count -= 4 * row) {
    const float *const second = in + row, *const third = second + row, *const fourth = third + row;
    RELAYOUT_INDEPENDENT
    for (int64_t i = 0; i < row; ++i) {
      const double a = square_of(in[i] - means[i]) + square_of(second[i] - means[i]);
      const double b = square_of(third[i] - means[i]) + square_of(fourth[i] - means[i]);
      totals[i] += a + b;
    }
  }
  for (; count > 0; in += row, count -= row) {
    RELAYOUT_INDEPENDENT
    for (int64_t i = 0; i < std::min(row, count); ++i) totals[i] += square_of(in[i] - means[i]);
  }
}

/// Parameters by element of a row.
struct RowParameters {
  std::vector<float> mean, scale, shift;
};

RELAYOUT_VECTORIZE void scale_rows(float* out, const float* in, int64_t count, const RowParameters& parameters) {
  const auto row = std::ssize(parameters.mean);
  const float *const means = parameters.mean.data(), *const scales = parameters.scale.data(), *const shifts = parameters.shift.data();
  for (; count > 0; in += row, out += row, count -= row) {
    RELAYOUT_INDEPENDENT
    for (int64_t i = 0; i < std::min(row, count); ++i) out[i] = (in[i] - means[i]) * scales[i] + shifts[i];
  }
}

class ChannelNormalizationKernel : public Kernel {
  static constexpr int64_t kShortestRow = 64, kFewestRows = 16;  ///< least size of a piece: sums of many channels take memory, too

 public:
  ChannelNormalizationKernel(const ChannelNormalizationShape& shape, Team team)
      : shape_(shape),
        team_(team),
        elements_(shape.positions * shape.channels),
        row_(shape.channels * std::max<int64_t>(kShortestRow / shape.channels, 1)),
        piece_(row_ * std::max(kPiece / row_, kFewestRows)),
        terms_(as_size((elements_ + piece_ - 1) / piece_ * row_)),
        parameters_{std::vector<float>(as_size(row_)), std::vector<float>(as_size(row_)), std::vector<float>(as_size(row_))} {}

  void bind(std::size_t operand, std::byte* data) override { data_[operand] = reinterpret_cast<float*>(data); }
  [[nodiscard]] std::string implementation() const override { return "own"; }

  void run() override {
    for (int64_t image = 0; image < shape_.images; ++image) normalize(data_[0] + image * elements_, data_[3] + image * elements_);
  }

 private:
  /// Sums of sum(totals of a row, first element, count) over all pieces, by group of channels.
  template <class Sum>
  std::vector<double> totals(const Sum& sum) {
    std::ranges::fill(terms_, 0.0);
    const int64_t pieces = std::ssize(terms_) / row_;
    team_.divide(pieces, std::max<int64_t>(kElementsPerPart / piece_, 1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) sum(terms_.data() + i * row_, i * piece_, std::min(piece_, elements_ - i * piece_));
    });
    for (int64_t i = 1; i < pieces; ++i) add_terms(terms_.data(), terms_.data() + i * row_, row_);
    std::vector<double> out(as_size(shape_.channels / shape_.group));
    for (int64_t i = 0; i < row_; ++i) element_at(out, i % shape_.channels / shape_.group) += element_at(terms_, i);
    return out;
  }

  void normalize(const float* in, float* out) {
    const auto count = static_cast<double>(shape_.positions * shape_.group);
    std::vector<Moments> moments;
    for (const double sum : totals([&](double* to, int64_t first, int64_t length) { add_rows(to, in + first, length, row_); })) {
      moments.emplace_back(sum / count);
    }
    const auto each = [&](std::vector<float>& values, const auto& value_of) {
      for (int64_t i = 0; i < row_; ++i) element_at(values, i) = value_of(i % shape_.channels);
    };
    const auto moments_of = [&](int64_t channel) -> const Moments& { return element_at(moments, channel / shape_.group); };
    each(parameters_.mean, [&](int64_t channel) { return moments_of(channel).center; });
    const std::vector<double> squares =
        totals([&](double* to, int64_t first, int64_t length) { add_squares(to, in + first, length, parameters_.mean.data(), row_); });
    const int64_t channels_per_parameter = shape_.channels / shape_.parameters;
    const auto scale_of = [&](int64_t channel) {
      const double inverse = moments_of(channel).inverse(element_at(squares, channel / shape_.group) / count, shape_.epsilon);
      return inverse * static_cast<double>(data_[1][channel / channels_per_parameter]);
    };
    each(parameters_.scale, [&](int64_t channel) { return static_cast<float>(scale_of(channel)); });
    each(parameters_.shift,
         [&](int64_t channel) { return moments_of(channel).shift(scale_of(channel), data_[2][channel / channels_per_parameter]); });
    const int64_t pieces = (elements_ + piece_ - 1) / piece_;
    team_.divide(pieces, std::max<int64_t>(kElementsPerPart / piece_, 1), [&](int64_t begin, int64_t end) {
      const int64_t first = begin * piece_;
      scale_rows(out + first, in + first, std::min(end * piece_, elements_) - first, parameters_);
    });
  }

  ChannelNormalizationShape shape_;
  Team team_;
  int64_t elements_;           ///< of an image
  int64_t row_, piece_;        ///< elements: a row has one or more whole positions, a piece whole rows
  std::vector<double> terms_;  ///< by piece and element of a row
  RowParameters parameters_;
  std::array<float*, 4> data_{};
};

}  // namespace

std::unique_ptr<Kernel> make_line_normalization_kernel(const LineNormalizationShape& shape, Team team) {
  return std::make_unique<LineNormalizationKernel>(shape, team);
}

std::unique_ptr<Kernel> make_channel_normalization_kernel(const ChannelNormalizationShape& shape, Team team) {
  return std::make_unique<ChannelNormalizationKernel>(shape, team);
}

}  // namespace relayout::exec
