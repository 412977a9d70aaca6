// Searches for a simple change that would make two different outputs agree, or for the place of their difference.
#include <numeric>

#include "base/half.h"
#include "base/numbers.h"
#include "base/positions.h"
#include "ops/operands.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/run/distance.h"

namespace relayout {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 22;
constexpr std::size_t kMaxPermutedRank = 5;
constexpr std::size_t kMaxNamedIndices = 6;

/// Two tensors of one type and shape, as numbers.
class ValuePair {
 public:
  ValuePair(const Tensor& a, const Tensor& b, double tolerance)
      : type_(a.type()), dims_(a.dims()), a_(reals_of(a)), b_(reals_of(b)), tolerance_(tolerance) {}

  [[nodiscard]] std::string hint() const {
    for (const auto look : {&ValuePair::transposed, &ValuePair::exchanged, &ValuePair::factor, &ValuePair::offset, &ValuePair::narrowed,
                            &ValuePair::border, &ValuePair::slices}) {
      std::string found = (this->*look)();
      if (!found.empty()) return found;
    }
    return {};
  }

 private:
  [[nodiscard]] bool near(double x, double y) const { return x == y || std::fabs(x - y) <= tolerance_ || (std::isnan(x) && std::isnan(y)); }
  [[nodiscard]] bool differs(std::size_t i) const { return !near(a_[i], b_[i]); }

  /// b is a with axes permuted.
  [[nodiscard]] std::string transposed() const {
    if (dims_.size() < 2 || dims_.size() > kMaxPermutedRank) return {};
    std::vector<int64_t> permutation(dims_.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    const Dims strides = contiguous_strides(dims_);
    while (std::ranges::next_permutation(permutation).found) {
      Dims permuted_dims, permuted_strides;
      for (const int64_t axis : permutation) {
        permuted_dims.push_back(dims_[as_size(axis)]);
        permuted_strides.push_back(strides[as_size(axis)]);
      }
      if (permuted_dims == dims_ && equals_permuted(permuted_strides)) return "equal after Transpose " + to_string(permutation);
    }
    return {};
  }

  [[nodiscard]] bool equals_permuted(const Dims& strides) const {
    Dims index(dims_.size(), 0);
    int64_t offset = 0;
    for (const double value : b_) {
      if (!near(a_[as_size(offset)], value)) return false;
      for (std::size_t axis = dims_.size(); axis-- > 0;) {
        offset += strides[axis];
        if (++index[axis] < dims_[axis]) break;
        offset -= strides[axis] * dims_[axis];
        index[axis] = 0;
      }
    }
    return true;
  }

  /// Extents before, along and after an axis: element (o, index, i) is at (o · length + index) · inner + i.
  struct Axis {
    int64_t outer, length, inner;
  };
  [[nodiscard]] Axis axis(std::size_t number) const {
    Axis out{1, dims_[number], 1};
    for (std::size_t i = 0; i < dims_.size(); ++i)
      (i < number ? out.outer : i > number ? out.inner : out.length) *= i == number ? 1 : dims_[i];
    return out;
  }
  template <class F>
  [[nodiscard]] static bool all_of_slice(const Axis& axis, int64_t index, int64_t other, const F& holds) {
    for (int64_t o = 0; o < axis.outer; ++o) {
      for (int64_t i = 0; i < axis.inner; ++i) {
        if (!holds(as_size((o * axis.length + index) * axis.inner + i), as_size((o * axis.length + other) * axis.inner + i))) {
          return false;
        }
      }
    }
    return true;
  }
  [[nodiscard]] std::vector<int64_t> differing_slices(std::size_t number) const {
    const Axis along = axis(number);
    std::vector<int64_t> out;
    for (int64_t i = 0; i < along.length; ++i) {
      if (!all_of_slice(along, i, i, [this](std::size_t x, std::size_t /*same*/) { return !differs(x); })) out.push_back(i);
    }
    return out;
  }

  /// Slices of one axis are exchanged.
  [[nodiscard]] std::string exchanged() const {
    constexpr std::size_t kMost = 64;
    for (std::size_t number = 0; number < dims_.size(); ++number) {
      const std::vector<int64_t> differing = differing_slices(number);
      if (differing.size() < 2 || differing.size() > kMost) continue;
      const Axis along = axis(number);
      const bool all_found = std::ranges::all_of(differing, [&](int64_t i) {
        return std::ranges::any_of(differing, [&](int64_t k) {
          return i != k && all_of_slice(along, i, k, [this](std::size_t x, std::size_t y) { return near(a_[y], b_[x]); });
        });
      });
      if (all_found) return "slices " + listed(differing) + " of axis " + std::to_string(number) + " are exchanged";
    }
    return {};
  }

  /// b is a times a constant.
  [[nodiscard]] std::string factor() const {
    double dot = 0, norm = 0;
    for (std::size_t i = 0; i < a_.size(); ++i) {
      dot += a_[i] * b_[i];
      norm += a_[i] * a_[i];
    }
    const double by = dot / norm;
    return std::isfinite(by) && a_.size() > 1 && explains([by](double x) { return by * x; }) ? "B is " + significant(by, 6) + " × A" : "";
  }

  /// b is a plus a constant.
  [[nodiscard]] std::string offset() const {
    double sum = 0;
    for (std::size_t i = 0; i < a_.size(); ++i) sum += b_[i] - a_[i];
    const double by = sum / static_cast<double>(a_.size());
    return std::isfinite(by) && a_.size() > 1 && explains([by](double x) { return x + by; })
               ? "B is A " + std::string(by < 0 ? "− " : "+ ") + significant(std::fabs(by), 6)
               : "";
  }

  /// Whether `f` of a is everywhere within the tolerance of b, or a hundred times nearer to it than both a and 0.
  template <class F>
  [[nodiscard]] bool explains(const F& f) const {
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < a_.size(); ++i) {
      worst = std::max(worst, std::fabs(a_[i] - b_[i]));
      largest = std::max(largest, std::fabs(b_[i]));
    }
    const double most = std::max(tolerance_, std::min(worst, largest) / 100);
    if (!(worst > most)) return false;
    for (std::size_t i = 0; i < a_.size(); ++i) {
      if (!(std::fabs(f(a_[i]) - b_[i]) <= most)) return false;
    }
    return true;
  }

  /// All values of b are representable in 16 bits.
  [[nodiscard]] std::string narrowed() const {
    if (type_ != DataType::float32 || a_.size() < 4) return {};
    const auto half = [](double x) { return static_cast<double>(half_to_float(double_to_half(x))) == x; };
    const auto brain = [](double x) { return static_cast<double>(bfloat16_to_float(double_to_bfloat16(x))) == x; };
    // Most values of bf16 are values of f16 too.
    if (std::ranges::all_of(b_, brain) && !std::ranges::all_of(a_, brain)) return "all values of B are representable in bf16";
    if (std::ranges::all_of(b_, half) && !std::ranges::all_of(a_, half)) return "all values of B are representable in f16";
    return {};
  }

  /// Spatial axes (from the third on): only elements near an edge differ.
  [[nodiscard]] std::string border() const {
    if (dims_.size() < 3) return {};
    const int64_t least = *std::min_element(dims_.begin() + 2, dims_.end());
    int64_t deepest = -1;
    Dims index(dims_.size(), 0);
    for (std::size_t i = 0; i < a_.size(); ++i) {
      if (differs(i)) {
        int64_t depth = INT64_MAX;
        for (std::size_t axis = 2; axis < dims_.size(); ++axis) depth = std::min({depth, index[axis], dims_[axis] - 1 - index[axis]});
        deepest = std::max(deepest, depth);
      }
      for (std::size_t axis = dims_.size(); axis-- > 0;) {
        if (++index[axis] < dims_[axis]) break;
        index[axis] = 0;
      }
    }
    if (deepest < 0 || 4 * (deepest + 1) > least) return {};
    return "only elements within " + std::to_string(deepest + 1) + " of the border differ";
  }

  /// The axis along which the fewest slices differ.
  [[nodiscard]] std::string slices() const {
    std::string best;
    double best_share = 0.5;
    for (std::size_t number = 0; number < dims_.size(); ++number) {
      const std::vector<int64_t> differing = differing_slices(number);
      const double share = static_cast<double>(differing.size()) / static_cast<double>(dims_[number]);
      // All of a batch but its first element: a model that is right for batches of one.
      const bool beyond_first =
          number == 0 && dims_[0] > 1 && static_cast<int64_t>(differing.size()) == dims_[0] - 1 && differing.front() == 1;
      if (differing.empty() || (share > best_share && !beyond_first)) continue;
      best_share = std::min(share, best_share);
      best = "only " + std::string(differing.size() == 1 ? "slice " : "slices ") + listed(differing) + " of axis " +
             std::to_string(number) + " (of " + std::to_string(dims_[number]) + ") " + (differing.size() == 1 ? "differs" : "differ");
    }
    return best;
  }

  static std::string listed(const std::vector<int64_t>& indices) {
    std::string out;
    for (std::size_t i = 0; i < std::min(indices.size(), kMaxNamedIndices); ++i) {
      const bool last = i > 0 && i + 1 == indices.size();
      out += (i == 0 ? "" : last ? " and " : ", ") + std::to_string(indices[i]);
    }
    return indices.size() > kMaxNamedIndices ? out + " …" : out;
  }

  DataType type_;
  Dims dims_;
  std::vector<double> a_, b_;
  double tolerance_;
};

/// Shapes that differ by a permutation of axes.
std::string shape_hint(const Tensor& a, const Tensor& b, double tolerance) {
  if (a.type() != b.type() || a.dims().size() != b.dims().size() || a.dims().size() > kMaxPermutedRank) return {};
  std::vector<int64_t> permutation(a.dims().size());
  std::iota(permutation.begin(), permutation.end(), 0);
  do {
    const Tensor permuted = a.transposed(permutation);
    if (permuted.dims() == b.dims() && distance(permuted, b).max_abs <= tolerance) return "equal after Transpose " + to_string(permutation);
  } while (std::ranges::next_permutation(permutation).found);
  return {};
}

}  // namespace

std::string hint(const Datum& a, const Datum& b, double tolerance) {
  if (a.kind != Datum::Kind::tensor || b.kind != Datum::Kind::tensor || !a.tensor || !b.tensor) return {};
  if (!traits(a.tensor.type()).is_float || !is_measured(a.tensor.type())) return {};
  const int64_t count = a.tensor.element_count();
  if (count == 0 || count > kMaxElements || b.tensor.element_count() != count) return {};
  if (!structural_difference(a, b).empty()) return shape_hint(a.tensor, b.tensor, tolerance);
  return ValuePair(a.tensor, b.tensor, tolerance).hint();
}

}  // namespace relayout
