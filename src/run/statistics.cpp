// Counts zeros, infinities and NaN of a value, and computes the range, mean and deviation of its finite numbers.
#include <cmath>

#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/run.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "run/watcher.h"
#include "verify/run/elements.h"

namespace relayout {
namespace {

/// From here on, numbers round to infinity in f16 (ties to even).
constexpr double kInfiniteInF16 = 65520;

/// Moments of a part, merged with those of others (Chan, Golub, LeVeque: Updating Formulae for Computing Sample Variances).
struct Moments {
  double count = 0, mean = 0, squares = 0;
  void merge(const Moments& other) {
    if (other.count == 0) return;
    const double all = count + other.count, apart = other.mean - mean;
    squares += other.squares + apart * apart * count * other.count / all;
    mean += apart * other.count / all;
    count = all;
  }
};

class Counter {
 public:
  void add(const Datum& datum) {
    for (const Datum& element : datum.elements) add(element);
    if (datum.kind != Datum::Kind::tensor || !datum.tensor || datum.tensor.type() == DataType::string) return;
    is_numeric_ = true;
    const Tensor tensor = real_parts(datum.tensor);
    out_.elements += tensor.element_count();
    for_each_chunk(tensor, [this](int64_t, std::span<const double> values) { add(values); });
  }

  [[nodiscard]] std::optional<TensorStatistics> result() {
    if (!is_numeric_) return std::nullopt;
    out_.mean = all_.mean;
    out_.deviation = all_.count > 0 ? std::sqrt(all_.squares / all_.count) : 0;
    return out_;
  }

 private:
  void add(std::span<const double> values) {
    Moments part;
    double sum = 0;
    const auto is_first = [this] { return all_.count == 0; };
    double least = is_first() ? HUGE_VAL : out_.least, greatest = is_first() ? -HUGE_VAL : out_.greatest;
    for (const double value : values) {
      if (!std::isfinite(value)) {
        ++(std::isnan(value) ? out_.nans : value > 0 ? out_.above : out_.below);
        continue;
      }
      part.count += 1;
      sum += value;
      out_.zeros += value == 0 ? 1 : 0;
      out_.beyond_f16 += std::fabs(value) >= kInfiniteInF16 ? 1 : 0;
      least = std::min(least, value);
      greatest = std::max(greatest, value);
    }
    if (part.count == 0) return;
    part.mean = sum / part.count;
    for (const double value : values) {
      if (std::isfinite(value)) part.squares += (value - part.mean) * (value - part.mean);
    }
    out_.least = least;
    out_.greatest = greatest;
    all_.merge(part);
  }

  TensorStatistics out_;
  Moments all_;
  bool is_numeric_ = false;
};

}  // namespace

std::optional<TensorStatistics> statistics_of(const Datum& datum) {
  Counter counter;
  counter.add(datum);
  return counter.result();
}

}  // namespace relayout
