#include "exec/softmax_kernel.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/vectorize.h"
#include "exec/fast_math.h"
#include "exec/kernel.h"

namespace relayout {
namespace {

constexpr int64_t kLanes = 16;

RELAYOUT_VECTORIZE float maximum_of(const float* in, int64_t count) {
  float lanes[kLanes];
  for (float& lane : lanes) lane = in[0];
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = lanes[lane] > in[i + lane] ? lanes[lane] : in[i + lane];
  }
  for (; i < count; ++i) lanes[0] = lanes[0] > in[i] ? lanes[0] : in[i];
  float best = lanes[0];
  for (const float lane : lanes) best = best > lane ? best : lane;
  return best;
}

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

class LogSoftmaxKernel : public Kernel {
 public:
  LogSoftmaxKernel(int64_t length, int64_t lines, Team team) : length_(length), lines_(lines), team_(team) {}

  void bind(std::size_t operand, std::byte* data) override {
    if (operand == 0) {
      source_ = reinterpret_cast<const float*>(data);
    } else {
      destination_ = reinterpret_cast<float*>(data);
    }
  }
  [[nodiscard]] std::string implementation() const override { return "own"; }

  void run() override {
    team_.divide(lines_, 16384 / length_ + 1, [&](int64_t begin, int64_t end) {
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
  const float* source_ = nullptr;
  float* destination_ = nullptr;
};

}  // namespace

std::unique_ptr<Kernel> make_log_softmax_kernel(int64_t length, int64_t lines, Team team) {
  return std::make_unique<LogSoftmaxKernel>(length, lines, team);
}

}  // namespace relayout
