#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace relayout {

/// A fact about an operator that follows from its definition and holds for every version of it. "The result" is its first output.
enum class Trait : uint32_t {
  same_dims = 1U << 0U,      ///< the result has the dims of input 0
  broadcasts = 1U << 1U,     ///< the result has the dims of all inputs, broadcast as in numpy (before opset 7: of input 0)
  same_type = 1U << 2U,      ///< the result has the element type of input 0 (of sequences: their tensors have)
  makes_boolean = 1U << 3U,  ///< the result is of type bool
  makes_int64 = 1U << 4U,    ///< the result is of type int64: indices, counts, dims
  keeps_order = 1U << 5U,    ///< the result has the elements of input 0 in the same row-major order
  permutes = 1U << 6U,       ///< the result has each element of input 0 exactly once
  casts = 1U << 7U,          ///< element i of the result is element i of input 0, converted to another type
  one_is_itself = 1U << 8U,  ///< any number of inputs; with a single one the result is that input
  affine = 1U << 9U,         ///< x → a·x + b for one operand x when the others are constants
  multiplies = 1U << 10U,    ///< adds up products of the elements of two operands
  random = 1U << 11U,        ///< draws numbers
  quantizes = 1U << 12U,     ///< converts to or from quantized numbers
  quantized = 1U << 13U,     ///< computes with quantized numbers
  jumps = 1U << 14U,         ///< a result may change by much where an operand changes by rounding: steps, choices (not: indices of MaxPool)
  chooses = 1U << 15U,       ///< jumps, and computes before it decides: of equal operands two correct evaluations may decide differently
  costly = 1U << 16U,        ///< takes far longer than reading its operands and writing its results: products, searches, interpolation
  control_flow = 1U << 17U,  ///< runs nested graphs; has no kernel
  elementwise = 1U << 18U,   ///< element i of the result is computed of the elements at its place, for every i in the same way
  exact = 1U << 19U,         ///< nothing is rounded: each element of the results is an element of the operands, its negative, or given
  contracts = 1U << 20U,     ///< of one operand; results are no further apart than the elements that they are computed of, by default
  linear = 1U << 21U,        ///< takes up affines: linear in input 0 and in input 1, one of which is a weight, by channels; a bias is added
  identity = 1U << 22U,      ///< the result is input 0 (of Dropout: where it does not train)
  clips = 1U << 23U,         ///< the result is input 0 with what lies beyond a range set to its ends; an end may be infinite
  averages = 1U << 24U,      ///< each element of the result is a mean of elements of one channel of input 0
  normalizes = 1U << 25U,    ///< divides deviations from a mean of the data by their spread, and scales and shifts by operands
  transposed = 1U << 26U,    ///< a convolution that adds each element of input 0 to many of the result: its weight is [I, O/groups, k…]
  post_op = 1U << 27U,       ///< oneDNN applies it to a convolution's result before that is stored; not Exp, which makes infinity of NaN
                             ///< there, and not Gelu, which makes NaN of infinity
  dense = 1U << 28U,         ///< the executor's kernel for f32 is oneDNN's, or made like it: it takes input 0 without gaps only
  piecewise = 1U << 29U,     ///< the definition has a rule of its own for some numbers: a limit, a kink, a comparison, the end of a domain
                             ///< or of a type; numbers that are all subject to one rule show nothing of the others
};

/// The function of the elements of an operator's operands, which are broadcast. Of any number of operands, all in one row.
enum class Arithmetic : uint8_t { none, add, subtract, multiply, divide, minimum, maximum, mean, negate };

/// The use that an operator makes of one of its inputs.
enum class Reads : uint8_t { elements, dims, type };

/// All that is known of one operator: a set of traits, and facts about single inputs. Has no default, so that each entry of the op table
/// states what it is.
class Traits {
 public:
  constexpr Traits(Trait one) noexcept : flags_(static_cast<uint32_t>(one)) {}   // NOLINT(google-explicit-constructor): one is a set
  constexpr Traits(Arithmetic arithmetic) noexcept : arithmetic_(arithmetic) {}  // NOLINT(google-explicit-constructor): as above
  /// Of an operator that none of the traits describes.
  [[nodiscard]] static constexpr Traits none() noexcept { return Traits(0U); }
  /// Each element of the results is an element of input `input` (or of another input that this is said of) or a fill value, and which one
  /// does not depend on their contents. Of Dropout: of its first result, where it does not train.
  [[nodiscard]] static constexpr Traits moves(std::size_t input) noexcept { return none().with(&Traits::moved_, 1U << input); }
  [[nodiscard]] static constexpr Traits moves_all() noexcept { return none().with(&Traits::moved_, ~0U); }
  /// Of input `input` only type and dims are looked at.
  [[nodiscard]] static constexpr Traits reads_dims(std::size_t input) noexcept { return none().with(&Traits::dims_only_, 1U << input); }
  /// Of input `input` only the type is looked at.
  [[nodiscard]] static constexpr Traits reads_type(std::size_t input) noexcept { return none().with(&Traits::type_only_, 1U << input); }
  /// No correct evaluation rounds input `input`: a bound, a threshold, an exponent, a scale of sizes, or where a step is.
  [[nodiscard]] static constexpr Traits takes_exactly(std::size_t input) noexcept { return none().with(&Traits::exactly_, 1U << input); }
  [[nodiscard]] static constexpr Traits takes_all_exactly() noexcept { return none().with(&Traits::exactly_, ~0U); }

  /// Input `input` is the weight of a convolution with fixed taps: [O, I/groups, k…]; of a transposed one [I, O/groups, k…].
  [[nodiscard]] static constexpr Traits convolves_with(std::size_t input) noexcept {
    return none().with(&Traits::convolution_weight_, 1U << input);
  }

  [[nodiscard]] constexpr bool has(Trait trait) const noexcept { return (flags_ & static_cast<uint32_t>(trait)) != 0; }
  [[nodiscard]] constexpr Arithmetic arithmetic() const noexcept { return arithmetic_; }
  [[nodiscard]] constexpr bool moves_input(std::size_t input) const noexcept { return contains(moved_, input); }
  [[nodiscard]] constexpr bool is_taken_exactly(std::size_t input) const noexcept { return contains(exactly_, input); }
  [[nodiscard]] constexpr Reads reads(std::size_t input) const noexcept {
    return contains(type_only_, input) ? Reads::type : contains(dims_only_, input) ? Reads::dims : Reads::elements;
  }

  /// Which input is the weight of a convolution; nothing for other operators.
  [[nodiscard]] constexpr std::optional<std::size_t> convolution_weight() const noexcept {
    return convolution_weight_ == 0 ? std::nullopt : std::optional<std::size_t>(std::countr_zero(convolution_weight_));
  }

  friend constexpr Traits operator|(Traits a, Traits b) noexcept {
    a.flags_ |= b.flags_;
    a.moved_ |= b.moved_;
    a.dims_only_ |= b.dims_only_;
    a.type_only_ |= b.type_only_;
    a.exactly_ |= b.exactly_;
    a.convolution_weight_ |= b.convolution_weight_;
    if (b.arithmetic_ != Arithmetic::none) a.arithmetic_ = b.arithmetic_;
    return a;
  }

 private:
  constexpr explicit Traits(uint32_t flags) noexcept : flags_(flags) {}
  [[nodiscard]] constexpr Traits with(uint32_t Traits::* inputs, uint32_t bits) const noexcept {
    Traits out = *this;
    out.*inputs |= bits;
    return out;
  }
  /// The last bit stands for all further inputs.
  static constexpr bool contains(uint32_t inputs, std::size_t input) noexcept { return ((inputs >> (input < 31 ? input : 31)) & 1U) != 0; }

  uint32_t flags_ = 0;
  uint32_t moved_ = 0, dims_only_ = 0, type_only_ = 0, exactly_ = 0, convolution_weight_ = 0;
  Arithmetic arithmetic_ = Arithmetic::none;
};

[[nodiscard]] constexpr Traits operator|(Trait a, Trait b) noexcept {
  return Traits(a) | Traits(b);
}

}  // namespace relayout
