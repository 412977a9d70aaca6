// Brings two paired values to one type, dims and order, and measures how far they go together.
#include "verify/compare/datum_pair.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "layout/axis_order.h"
#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/run/bounds.h"
#include "verify/run/data_structure.h"
#include "verify/run/elements.h"

namespace relayout {
namespace {

bool is_narrow(const Tensor& tensor) {
  return tensor && is_narrow(tensor.type());
}

/// The elements in another floating-point type.
Tensor in_type(const Tensor& tensor, DataType type) {
  const Tensor dense = contiguous(tensor);
  Tensor out(type, dense.dims());
  std::vector<double> values(as_size(dense.element_count()));
  load(dense.type(), dense.bytes(), 1, dense.element_count(), values.data());
  store(type, out.bytes(), 1, dense.element_count(), values.data());
  return out;
}

/// The integer type of the same width with the other signedness: quantizers choose either, with zero points half of the range apart.
/// Undefined where there is none.
DataType other_sign(DataType type) {
  constexpr auto kPairs = std::to_array<std::pair<DataType, DataType>>(
      {{DataType::int8, DataType::uint8}, {DataType::int16, DataType::uint16}, {DataType::int4, DataType::uint4}});
  for (const auto& [with_sign, without] : kPairs) {
    if (type == with_sign) return without;
    if (type == without) return with_sign;
  }
  return DataType::undefined;
}

/// The same steps of a quantizer in the type of the other signedness.
Tensor with_other_sign(const Tensor& tensor) {
  const Tensor dense = contiguous(tensor);
  const DataType type = other_sign(dense.type());
  Tensor out(type, dense.dims());
  const double half = std::ldexp(1.0, traits(type).bits - 1) * (traits(type).is_signed ? -1 : 1);
  std::vector<double> values(as_size(dense.element_count()));
  load(dense.type(), dense.bytes(), 1, dense.element_count(), values.data());
  for (double& value : values) value += half;
  store(type, out.bytes(), 1, dense.element_count(), values.data());
  return out;
}

bool are_of_other_signs(const Datum& a, const Datum& b) {
  const bool tensors = a.kind == Datum::Kind::tensor && b.kind == Datum::Kind::tensor && a.tensor && b.tensor;
  return tensors && other_sign(a.tensor.type()) == b.tensor.type();
}

/// Whether two values differ in that one has 16 bits or fewer: that alone is no difference.
bool is_other_precision(const Datum& a, const Datum& b) {
  const bool tensors = a.kind == Datum::Kind::tensor && b.kind == Datum::Kind::tensor && a.tensor && b.tensor;
  return tensors && a.tensor.type() != b.tensor.type() && kRealTypes.has(a.tensor.type()) && kRealTypes.has(b.tensor.type()) &&
         (is_narrow(a.tensor) || is_narrow(b.tensor));
}

bool has_channels(const Datum& value) {
  return value.tensor && value.tensor.dims().size() > 2;
}

}  // namespace

Datum copy_of(const Datum& datum) {
  Datum out;
  out.kind = datum.kind;
  for (const Datum& element : datum.elements) out.elements.push_back(copy_of(element));
  if (!datum.tensor) return out;
  const Tensor dense = contiguous(datum.tensor);
  out.tensor = Tensor(dense.type(), dense.dims());
  if (dense.type() == DataType::string) {
    std::copy_n(dense.data<std::string>(), dense.element_count(), out.tensor.data<std::string>());
  } else {
    std::memcpy(out.tensor.bytes(), dense.bytes(), as_size(dense.element_count()) * memory_size(dense.type()));
  }
  return out;
}

Datum like(const Datum& value, const Datum& other) {
  if (are_of_other_signs(value, other)) return Datum(with_other_sign(value.tensor));
  return is_other_precision(value, other) ? Datum(in_type(value.tensor, other.tensor.type())) : value;
}

Datum through(const Datum& value, DataType narrower) {
  const bool is_real = value.tensor && kRealTypes.has(value.tensor.type());
  return is_real ? Datum(in_type(in_type(value.tensor, narrower), value.tensor.type())) : value;
}

Datum in_dims_of(const Datum& value, const Datum& other) {
  if (!value.tensor || !other.tensor || value.tensor.dims() == other.tensor.dims() ||
      value.tensor.element_count() != other.tensor.element_count()) {
    return value;
  }
  const Tensor dense = contiguous(value.tensor);
  return Datum(dense.view(other.tensor.dims(), contiguous_strides(other.tensor.dims())));
}

Datum channels_last(const Datum& value) {
  if (!has_channels(value)) return value;
  return Datum(contiguous(value.tensor.transposed(layout::to_channels_last(value.tensor.dims().size()))));
}

Datum channels_second(const Datum& value) {
  if (!has_channels(value)) return value;
  return Datum(contiguous(value.tensor.transposed(layout::from_channels_last(value.tensor.dims().size()))));
}

std::pair<Datum, Datum> comparable(const Datum& a, const Datum& b) {
  if (are_of_other_signs(a, b)) return {a, like(b, a)};
  if (!is_other_precision(a, b)) return {a, b};
  return is_narrow(a.tensor) ? std::pair{like(a, b), b} : std::pair{a, like(b, a)};
}

void overwrite(const Datum& to, const Datum& from) {
  const std::vector<Tensor> targets = leaves(to), sources = leaves(like(from, to));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!targets[i] || !targets[i].is_contiguous()) continue;
    const int64_t count = targets[i].element_count();
    if (targets[i].type() == DataType::string) {
      std::copy_n(sources[i].data<std::string>(), count, targets[i].data<std::string>());
    } else {
      std::memcpy(targets[i].bytes(), sources[i].bytes(), as_size(count) * memory_size(targets[i].type()));
    }
  }
}

DataType type_of(const Datum& datum) {
  const std::vector<Tensor> tensors = leaves(datum);
  return tensors.empty() ? DataType::undefined : tensors.front().type();
}

Agreement agreement(const Datum& a, const Datum& b) {
  double count = 0, sum_a = 0, sum_b = 0, square_a = 0, square_b = 0, dot = 0;
  const std::vector<Tensor> left = leaves(a), right = leaves(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!left[i] || !is_measured(left[i].type())) continue;
    for_each_chunk(real_parts(left[i]), real_parts(right[i]), [&](int64_t, std::span<const double> x, std::span<const double> y) {
      for (std::size_t k = 0; k < x.size(); ++k) {
        if (!std::isfinite(x[k]) || !std::isfinite(y[k])) continue;
        ++count;
        sum_a += x[k];
        sum_b += y[k];
        square_a += x[k] * x[k];
        square_b += y[k] * y[k];
        dot += x[k] * y[k];
      }
    });
  }
  const double variance_a = count * square_a - sum_a * sum_a, variance_b = count * square_b - sum_b * sum_b;
  if (!(variance_a > 0) || !(variance_b > 0)) return {1, 0, count};
  const double covariance = count * dot - sum_a * sum_b;
  return {covariance / std::sqrt(variance_a * variance_b), covariance / variance_a - 1, count};
}

}  // namespace relayout
