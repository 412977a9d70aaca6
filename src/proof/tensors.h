#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/tensor_data.h"
#include "ops/constants.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"

namespace relayout::proof {

/// The most by which rounding to nearest, possibly twice, may be off, in units in the last place.
inline constexpr double kHalfUnit = 0.501;

/// Whether folds support the type: float32, float64, float16, bfloat16.
[[nodiscard]] bool is_real(DataType type) noexcept;
/// Distance of a stored value from its neighbour on the side away from zero; infinity for values that are not finite.
[[nodiscard]] double ulp(double value, DataType type) noexcept;
/// Distance of a stored value from its neighbour on the side of `other`: half an ulp() below a power of two.
[[nodiscard]] double spacing(double value, long double other, DataType type) noexcept;
/// Fraction bits: 23 for float32.
[[nodiscard]] int fraction_bits(DataType type) noexcept;
/// Elements of a tensor of a real type.
[[nodiscard]] std::vector<double> to_doubles(const Tensor& tensor);
/// Widens dense elements in memory.
void to_doubles(DataType type, const std::byte* elements, std::size_t count, double* out);

/// The number of wrong elements and the largest difference: relative to the right value, and absolute.
struct Difference {
  int64_t values = 0;
  double largest = 0, absolute = 0;
  double beyond_half = 0;  ///< the largest relative one above 2⁻²³, two steps of float16's smallest numbers, which may round to zero
  void note(double expected, double found);
  /// "(3 values, up to 5.0e-02 relative)"
  [[nodiscard]] std::string text() const;
};

/// Number of rows of a tensor per read: about 1 MiB, at least one row.
[[nodiscard]] int64_t rows_per_piece(const TensorData& data);

/// The type in which the model stores the numbers of a constant, which the proof may read as a wider one.
[[nodiscard]] DataType stored_type(const Constant& constant) noexcept;

/// The byte-by-byte difference of two constants of the same type and dims, strings included; read in pieces. Where the second is stored in
/// a narrower type, its elements may be the first's rounded to it. Empty if types or dims differ.
[[nodiscard]] std::optional<Difference> difference(const Constant& a, const Constant& b);

/// The difference of a 16-bit constant and a wider one beyond one ULP of the narrow type. Elements do not count if they round or flush to
/// zero or to a smallest number, or are beyond the range of the narrow type, which every converter replaces in its own way. Empty for other
/// types, and if dims differ.
[[nodiscard]] std::optional<Difference> difference_beyond_rounding(const Constant& a, const Constant& b);

/// "is f16[4, 3], was f32[4, 3]"
[[nodiscard]] std::string forms_text(const Constant& a, const Constant& b);
/// Records the types if they differ.
void name_types(const Constant& a, const Constant& b, Unexplained& issue);

}  // namespace relayout::proof
