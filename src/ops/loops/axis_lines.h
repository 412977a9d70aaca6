#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/positions.h"
#include "base/vectorize.h"
#include "ops/loops/strided.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

/// The elements of one line of an operand: dims and strides of the axes along the line, in logical order.
struct AxisLine {
  Dims dims, strides;
  /// Elements in logical order, as a domain.
  template <class Domain>
  void read(DataType type, const std::byte* data, Domain* out) const;
  template <class Domain>
  void write(DataType type, std::byte* data, const Domain* from) const;
};

/// The result of a reduction as operand over the input's dims, with stride 0 along reduced dims; `out` has those dims only with `keeps`.
[[nodiscard]] Operand reduced_operand(const Tensor& out, const std::vector<bool>& reduced, bool keeps);
[[nodiscard]] Dims reduced_dims(const Dims& dims, const std::vector<bool>& reduced, bool keeps);

/// Cuts tensors of the same dims into lines along some of their axes, for Softmax, reductions, TopK, CumSum and normalizations. Operands
/// that lack an axis have stride 0 there.
class AxisLines {
 public:
  AxisLines(const Dims& dims, const std::vector<bool>& along);
  [[nodiscard]] int64_t length() const noexcept { return length_; }  ///< elements of a line
  [[nodiscard]] int64_t count() const noexcept { return count_; }    ///< lines
  /// Calls visit(addresses of each operand's line, shapes of the lines); lines are distributed over threads.
  void for_each(int threads, std::vector<Operand> operands,
                const std::function<void(std::byte* const*, const std::vector<AxisLine>&)>& visit) const;

 private:
  Dims dims_;
  std::vector<bool> along_;
  int64_t length_ = 1, count_ = 1;
};

/// Replaces each line along some axes of x by transform(values), in a domain; `out` has the dims of x.
template <class Domain = double, class Transform>
void map_lines(int threads, const Tensor& x, const Tensor& out, const std::vector<bool>& along, const Transform& transform) {
  const AxisLines lines(x.dims(), along);
  lines.for_each(threads, {operand(out), operand(x)}, [&](std::byte* const* data, const std::vector<AxisLine>& line) {
    std::vector<Domain> values(as_size(lines.length()));
    line[1].read(x.type(), data[1], values.data());
    transform(values);
    line[0].write(out.type(), data[0], values.data());
  });
}

/// The first of `total` and the values in the order `better`; NaN if any of them is NaN.
template <class T, class Better>
RELAYOUT_VECTORIZE static T extreme_of(const T* values, int64_t count, T total, Better better) {
  using Flag = std::conditional_t<sizeof(T) == sizeof(int64_t), int64_t, int32_t>;
  constexpr int64_t kLanes = 64 / static_cast<int64_t>(sizeof(T));
  T lanes[kLanes];
  Flag strange[kLanes] = {};
  std::fill_n(lanes, kLanes, total);
  const auto take = [&](int64_t lane, T value) {
    if constexpr (std::is_floating_point_v<T>) strange[lane] |= static_cast<Flag>(value != value);
    lanes[lane] = better(value, lanes[lane]) ? value : lanes[lane];
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    RELAYOUT_KEEP_LOOP
    for (int64_t lane = 0; lane < kLanes; ++lane) take(lane, values[i + lane]);
  }
  if (i > 0 && i < count) {  // reading some twice changes nothing
    RELAYOUT_KEEP_LOOP
    for (int64_t lane = 0; lane < kLanes; ++lane) take(lane, values[count - kLanes + lane]);
    i = count;
  }
  for (int64_t lane = 0; i < count; ++i, ++lane) take(lane, values[i]);
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    RELAYOUT_KEEP_LOOP
    for (int64_t lane = 0; lane < width; ++lane) {
      strange[lane] |= strange[lane + width];
      lanes[lane] = better(lanes[lane + width], lanes[lane]) ? lanes[lane + width] : lanes[lane];
    }
  }
  if constexpr (std::is_floating_point_v<T>) return strange[0] != 0 || total != total ? std::numeric_limits<T>::quiet_NaN() : lanes[0];
  return lanes[0];
}

}  // namespace relayout
