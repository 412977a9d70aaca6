// Compares the elements of two constants, and measures distances in units of their type.
#include "proof/tensors.h"

#include <cstring>
#include <limits>

#include "base/half.h"
#include "base/interrupt.h"
#include "base/numbers.h"
#include "base/positions.h"
#include "model/tensor_data.h"
#include "ops/constants.h"
#include "ops/operands.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::proof {

// Floating-point types.
namespace {

/// Fraction bits, and the exponent of the smallest normal number.
struct Precision {
  int fraction, least;
};

Precision precision_of(DataType type) noexcept {
  switch (type) {
    case DataType::float64:
      return {52, -1022};
    case DataType::float16:
      return {10, -14};
    case DataType::bfloat16:
      return {7, -126};
    default:
      return {23, -126};
  }
}

}  // namespace

bool is_real(DataType type) noexcept {
  return type == DataType::float32 || type == DataType::float64 || type == DataType::float16 || type == DataType::bfloat16;
}

double ulp(double value, DataType type) noexcept {
  if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
  const Precision precision = precision_of(type);
  const int exponent = value == 0 ? precision.least : std::max(std::ilogb(value), precision.least);
  return std::ldexp(1.0, exponent - precision.fraction);
}

double spacing(double value, long double other, DataType type) noexcept {
  const double above = ulp(value, type);
  if (!std::isfinite(value) || std::abs(other) >= std::abs(static_cast<long double>(value))) return above;
  int exponent = 0;
  const bool is_power = std::abs(std::frexp(value, &exponent)) == 0.5;
  return is_power && exponent - 1 > precision_of(type).least ? above / 2 : above;
}

int fraction_bits(DataType type) noexcept {
  return precision_of(type).fraction;
}

std::vector<double> to_doubles(const Tensor& tensor) {
  return relayout::reals_of(tensor);
}

void to_doubles(DataType type, const std::byte* elements, std::size_t count, double* out) {
  const auto widen = [&]<class T>(const T* from, auto convert) {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<double>(convert(from[i]));
  };
  switch (type) {
    case DataType::float64:
      return widen(reinterpret_cast<const double*>(elements), [](double x) { return x; });
    case DataType::float16:
      return widen(reinterpret_cast<const uint16_t*>(elements), half_to_float);
    case DataType::bfloat16:
      return widen(reinterpret_cast<const uint16_t*>(elements), bfloat16_to_float);
    default:
      return widen(reinterpret_cast<const float*>(elements), [](float x) { return x; });
  }
}

// Differences of constants.
namespace {

constexpr int64_t kPiece = int64_t{1} << 20;

using Buffer = std::unique_ptr<std::byte[]>;

Buffer make_buffer(int64_t size) {
  return std::make_unique_for_overwrite<std::byte[]>(as_size(size));
}

double integer_at(DataType type, const std::byte* element) {
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, element, sizeof value);
    return static_cast<double>(value);
  };
  switch (type) {
    case DataType::int8:
      return read(int8_t{});
    case DataType::int16:
      return read(int16_t{});
    case DataType::int32:
      return read(int32_t{});
    case DataType::int64:
      return read(int64_t{});
    case DataType::uint16:
      return read(uint16_t{});
    case DataType::uint32:
      return read(uint32_t{});
    case DataType::uint64:
      return read(uint64_t{});
    default:
      return read(uint8_t{});
  }
}

double value_at(DataType type, const std::byte* element) {
  if (!is_real(type)) return integer_at(type, element);
  double out = 0;
  to_doubles(type, element, 1, &out);
  return out;
}

/// The second type if it holds fewer digits; else undefined.
DataType narrower(DataType first, DataType second) {
  return fraction_bits(second) < fraction_bits(first) ? second : DataType::undefined;
}

/// Whether a number of a type is another one, rounded to nearest.
bool is_rounded(double right, double found, DataType to) {
  if (!std::isfinite(right) || !std::isfinite(found)) return std::isnan(right) && std::isnan(found);
  return std::abs(found - right) <= kHalfUnit * spacing(found, static_cast<long double>(right), to);
}

/// Numbers that were rounded to a type: those of a constant all of whose numbers are below its normal ones may have lost their value.
class Rounded {
 public:
  /// Undefined: no number is rounded.
  explicit Rounded(DataType type) : type_(type) {}
  [[nodiscard]] bool any() const { return type_ != DataType::undefined; }
  /// Whether the second number is the first, rounded.
  [[nodiscard]] bool are_one(double right, double found) {
    if (!any() || !is_rounded(right, found, type_)) return false;
    if (std::abs(right) > std::abs(right_)) right_ = right, found_ = found;
    return true;
  }
  /// Adds the largest number if the type does not hold it.
  void note_lost(Difference& difference) const {
    constexpr double kMostLost = 0.1;
    const double least = std::ldexp(1.0, precision_of(type_).least);  // of the normal ones
    if (any() && std::abs(right_) < least && std::abs(found_ - right_) > kMostLost * std::abs(right_)) difference.note(right_, found_);
  }

 private:
  DataType type_;
  double right_ = 0, found_ = 0;  ///< the largest number
};

/// Counts elements below 8 bits in bytes.
void compare_piece(DataType type, Rounded& rounded, std::span<const std::byte> a, std::span<const std::byte> b, Difference& difference) {
  if (!rounded.any() && std::ranges::equal(a, b)) return;
  const std::size_t size = memory_size(type);
  for (std::size_t at = 0; at + size <= a.size(); at += size) {
    const bool are_equal = std::memcmp(a.data() + at, b.data() + at, size) == 0;
    if (are_equal && !rounded.any()) continue;
    const double right = value_at(type, a.data() + at), found = value_at(type, b.data() + at);
    if (!rounded.are_one(right, found) && !are_equal) difference.note(right, found);
  }
}

Difference compare_bytes(DataType type, const Bytes& a, const Bytes& b) {
  Difference out;
  Rounded none(DataType::undefined);
  const int64_t size = std::min(kPiece, a.size());
  const Buffer piece_a = make_buffer(size);
  const Buffer piece_b = make_buffer(size);
  for (int64_t offset = 0; offset < a.size(); offset += size) {
    check_interrupt();
    const auto count = as_size(std::min(size, a.size() - offset));
    a.read(offset, {piece_a.get(), count});
    b.read(offset, {piece_b.get(), count});
    compare_piece(type, none, {piece_a.get(), count}, {piece_b.get(), count}, out);
  }
  return out;
}

Difference compare_rows(const TensorData& a, const TensorData& b) {
  Rounded rounded(narrower(a.source_type(), b.source_type()));
  Difference out;
  if (a.byte_size() == 0) return out;
  const int64_t rows = a.dims().empty() ? 1 : a.dims()[0];
  // Rows of types below 8 bits may end within a byte.
  const bool is_packed = traits(a.type()).bits < 8;
  const int64_t step = is_packed ? rows : rows_per_piece(a);
  const int64_t row = is_packed ? 0 : a.byte_size() / rows;
  const int64_t size = is_packed ? a.byte_size() : row * step;
  const Buffer piece_a = make_buffer(size);
  const Buffer piece_b = make_buffer(size);
  for (int64_t begin = 0; begin < rows; begin += step) {
    check_interrupt();
    const int64_t count = std::min(step, rows - begin);
    const auto bytes = as_size(is_packed ? size : row * count);
    a.read_rows(begin, count, {piece_a.get(), bytes});
    b.read_rows(begin, count, {piece_b.get(), bytes});
    compare_piece(a.type(), rounded, {piece_a.get(), bytes}, {piece_b.get(), bytes}, out);
  }
  rounded.note_lost(out);
  return out;
}

Difference compare_strings(const Tensor& a, const Tensor& b) {
  Difference out;
  for (int64_t i = 0; i < a.element_count(); ++i) {
    if (a.data<std::string>()[i] == b.data<std::string>()[i]) continue;
    ++out.values;
    out.largest = std::numeric_limits<double>::quiet_NaN();
  }
  return out;
}

}  // namespace

void Difference::note(double expected, double found) {
  ++values;
  const double relative = expected == found ? 0 : expected == 0 ? 1 : std::abs(found - expected) / std::abs(expected);
  if (!(relative <= largest)) largest = relative;
  const double distance = std::abs(found - expected);
  if (!(distance <= absolute)) absolute = distance;
  // Two steps of float16's smallest numbers: converters raise numbers below 1e-7 to 1e-7.
  constexpr double kHalfSteps = 0x1p-23;
  if (!(distance <= kHalfSteps) && !(relative <= beyond_half)) beyond_half = relative;
}

std::string Difference::text() const {
  return "(" + counted(values, "value") + (std::isfinite(largest) ? ", up to " + scientific(largest) + " relative)" : ")");
}

int64_t rows_per_piece(const TensorData& data) {
  const int64_t rows = data.dims().empty() ? 1 : data.dims()[0];
  return std::clamp<int64_t>(kPiece / std::max<int64_t>(data.byte_size() / std::max<int64_t>(rows, 1), 1), 1, std::max<int64_t>(rows, 1));
}

DataType stored_type(const Constant& constant) noexcept {
  return constant.type == DataType::string ? constant.type : constant.data.source_type();
}

std::optional<Difference> difference(const Constant& a, const Constant& b) {
  if (a.type != b.type || a.dims != b.dims) return std::nullopt;
  if (a.type == DataType::string) return compare_strings(contiguous(a.strings), contiguous(b.strings));
  if (a.data.is_plain() && b.data.is_plain()) return compare_bytes(a.type, a.data.source(), b.data.source());
  return compare_rows(a.data, b.data);
}

std::optional<Difference> difference_beyond_rounding(const Constant& a, const Constant& b) {
  const auto is_narrow = [](DataType type) { return is_real(type) && memory_size(type) == 2; };
  if (!is_real(a.type) || !is_real(b.type) || is_narrow(a.type) == is_narrow(b.type) || a.dims != b.dims) return std::nullopt;
  const DataType coarse = is_narrow(a.type) ? a.type : b.type;
  // In float16, converters raise numbers below 1e-7 to 1e-7: two steps of its smallest numbers.
  const double smallest = 2 * ulp(0, coarse);
  const double limit = coarse == DataType::float16 ? 65504 : std::numeric_limits<float>::max();
  Difference out;
  if (b.data.byte_size() == 0) return out;
  const int64_t rows = a.dims.empty() ? 1 : a.dims[0], step = rows_per_piece(a.data);
  const int64_t row_a = a.data.byte_size() / rows, row_b = b.data.byte_size() / rows;
  const Buffer piece_a = make_buffer(row_a * step), piece_b = make_buffer(row_b * step);
  for (int64_t begin = 0; begin < rows; begin += step) {
    check_interrupt();
    const int64_t count = std::min(step, rows - begin);
    a.data.read_rows(begin, count, {piece_a.get(), as_size(row_a * count)});
    b.data.read_rows(begin, count, {piece_b.get(), as_size(row_b * count)});
    for (std::size_t i = 0; i * memory_size(b.type) < as_size(row_b * count); ++i) {
      const double right = value_at(a.type, piece_a.get() + i * memory_size(a.type));
      const double found = value_at(b.type, piece_b.get() + i * memory_size(b.type));
      if (std::abs(right) > limit || std::isnan(right)) continue;
      const bool is_rounded = std::isfinite(found) && std::abs(found - right) <= std::max(smallest, ulp(found, coarse));
      if (!is_rounded) out.note(right, found);
    }
  }
  return out;
}

std::string forms_text(const Constant& a, const Constant& b) {
  const auto form = [](const Constant& constant) { return std::string(name_of(constant.type)) + to_string(constant.dims); };
  return "is " + form(b) + ", was " + form(a);
}

void name_types(const Constant& a, const Constant& b, Unexplained& issue) {
  if (a.type == b.type) return;
  issue.type_a = name_of(a.type);
  issue.type_b = name_of(b.type);
}

}  // namespace relayout::proof
