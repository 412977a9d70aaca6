// Normalizes lines of f32 by their own mean and variance.
#include "exec/kernels/normalization_kernel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/positions.h"
#include "base/vectorize.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/line_math.h"

namespace relayout::exec {
namespace {

/// Elements whose sum is one term of a line's: the same for any number of threads.
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
  /// sum(begin, count) over all pieces of a line.
  template <class Sum>
  double total(const Team& team, std::vector<double>& terms, const Sum& sum) const {
    team.divide(std::ssize(terms), kElementsPerPart / kPiece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) element_at(terms, i) = sum(i * kPiece, std::min(kPiece, shape_.length - i * kPiece));
    });
    return std::accumulate(terms.begin(), terms.end(), 0.0);
  }

  /// Differences are from the mean in f32; what rounding took from it is given back to the variance and to the shift.
  void normalize(int64_t line, const Team& team, std::vector<double>& terms) const {
    const float* const in = data_[0] + line * shape_.length;
    const auto count = static_cast<double>(shape_.length);
    const double mean = total(team, terms, [&](int64_t begin, int64_t length) { return sum_of(in + begin, length); }) / count;
    const auto center = static_cast<float>(mean);
    const double rest = mean - static_cast<double>(center);
    const double squares =
        total(team, terms, [&](int64_t begin, int64_t length) { return sum_of_squares(in + begin, length, center); }) / count;
    const double inverse = 1 / std::sqrt(std::max(squares - rest * rest, 0.0) + static_cast<double>(shape_.epsilon));
    const int64_t channel = line % shape_.channels;
    const double scale = inverse * static_cast<double>(data_[1][channel]);
    const double shift = static_cast<double>(data_[2][channel]) - rest * scale;
    float* const out = data_[3] + line * shape_.length;
    team.divide(shape_.length, kElementsPerPart, [&](int64_t begin, int64_t end) {
      scale_differences(out + begin, in + begin, end - begin, center, static_cast<float>(scale), static_cast<float>(shift));
    });
  }

  LineNormalizationShape shape_;
  Team team_;
  std::vector<double> terms_;
  std::array<float*, 4> data_{};
};

}  // namespace

std::unique_ptr<Kernel> make_line_normalization_kernel(const LineNormalizationShape& shape, Team team) {
  return std::make_unique<LineNormalizationKernel>(shape, team);
}

}  // namespace relayout::exec
