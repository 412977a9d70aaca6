// Declares one line of the op table, and how operator, kernel and traits of a node are looked up.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "ops/call.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

/// A fact about an operator that follows from its definition and holds for every version of it. "The result" is its first output.
enum class Trait : uint64_t {
  same_dims = 1ULL << 0U,      ///< the result has the dims of input 0
  broadcasts = 1ULL << 1U,     ///< the result has the dims of all inputs, broadcast as in numpy (before opset 7: of input 0)
  same_type = 1ULL << 2U,      ///< the result has the element type of input 0 (of sequences: their tensors have)
  makes_boolean = 1ULL << 3U,  ///< the result is of type bool
  makes_int64 = 1ULL << 4U,    ///< the result is of type int64: indices, counts, dims
  keeps_order = 1ULL << 5U,    ///< the result has the elements of input 0 in the same row-major order
  permutes = 1ULL << 6U,       ///< the result has each element of input 0 exactly once
  casts = 1ULL << 7U,          ///< element i of the result is element i of input 0, converted to another type
  one_is_itself = 1ULL << 8U,  ///< any number of inputs; with a single one the result is that input
  affine = 1ULL << 9U,         ///< x → a·x + b for one operand x when the others are constants
  multiplies = 1ULL << 10U,    ///< adds up products of the elements of two operands
  random = 1ULL << 11U,        ///< draws numbers
  quantizes = 1ULL << 12U,     ///< converts to or from quantized numbers
  quantized = 1ULL << 13U,     ///< computes with quantized numbers
  jumps = 1ULL << 14U,    ///< a result may change by much where an operand changes by rounding: steps, choices (not: indices of MaxPool)
  chooses = 1ULL << 15U,  ///< jumps, and computes before it decides: of equal operands two correct evaluations may decide differently
  costly = 1ULL << 16U,   ///< takes far longer than reading its operands and writing its results: products, searches, interpolation
  control_flow = 1ULL << 17U,  ///< runs nested graphs; has no kernel
  elementwise = 1ULL << 18U,   ///< element i of the result is computed from elements i of the operands, for every i in the same way
  exact = 1ULL << 19U,         ///< nothing is rounded: each element of the results is an element of the operands, its negative, or given
  contracts = 1ULL << 20U,     ///< of one operand; results are no further apart than the elements that they are computed from, by default
  linear = 1ULL << 21U,       ///< absorbs affines: linear in input 0 and in input 1, one of which is a weight, by channels; a bias is added
  identity = 1ULL << 22U,     ///< the result is input 0 (of Dropout: where it does not train)
  clips = 1ULL << 23U,        ///< the result is input 0 with elements beyond a range set to its ends; an end may be infinite
  averages = 1ULL << 24U,     ///< each element of the result is a mean of elements of one channel of input 0
  normalizes = 1ULL << 25U,   ///< divides deviations from a mean of the data by their spread, and scales and shifts by operands
  transposed = 1ULL << 26U,   ///< a convolution that adds each element of input 0 to many of the result: its weight is [I, O/groups, k…]
  post_op = 1ULL << 27U,      ///< oneDNN applies it to a convolution's result before that is stored; not Exp, which turns NaN into infinity
                              ///< there, and not Gelu, which turns infinity into NaN
  dense = 1ULL << 28U,        ///< the executor's kernel for f32 is oneDNN's, or like it: it takes input 0 without gaps only
  piecewise = 1ULL << 29U,    ///< the definition has a rule of its own for some numbers: a limit, a kink, a comparison, the end of a domain
                              ///< or of a type. Numbers that are all subject to one rule do not test the others
  pools = 1ULL << 30U,        ///< each element of the result is computed from elements of one channel of input 0: of a window, or of all
  homogeneous = 1ULL << 31U,  ///< elementwise, of one operand: f(a·x) = a·f(x) for every a ≥ 0
  searches = 1ULL << 32U,     ///< finds the largest or smallest of several numbers; the choice among equal ones is defined
  tests = 1ULL << 33U,        ///< distinguishes NaN or infinities from all other numbers
  indexes = 1ULL << 34U,      ///< input 1 holds positions within input 0: along its axis; without one, each row holds a position for each
                              ///< axis after the first `batch_dims`
  recurrent = 1ULL << 35U,    ///< computes a state from the one before, step by step: RNN, GRU, LSTM
  fills = 1ULL << 36U,        ///< elements of the result may be in no operand: zeros, or a number of an attribute or operand
  batched = 1ULL << 37U,      ///< input 0 is [N, C, D1 …], each of N is treated alike, and N is a dim of no other operand
  softmax = 1ULL << 38U,      ///< exponentials by their sum along an axis, or the logarithm of that
  increases = 1ULL << 39U,    ///< of one operand: where an element is larger, that of the result is, the others being equal (not: stays)
};

/// The arithmetic of an operator on elements of its operands, which are broadcast: a fold in order over any number of operands.
enum class Arithmetic : uint8_t { none, add, subtract, multiply, divide, minimum, maximum, mean, negate };

/// The condition that an operator tests on elements of its operands at one place: on two numbers, or on one or two conditions (of
/// conditions, `equal` is equivalence).
enum class Predicate : uint8_t {
  none,
  equal,
  less,
  less_or_equal,
  greater,
  greater_or_equal,
  logical_and,
  logical_or,
  logical_xor,
  logical_not
};

[[nodiscard]] constexpr bool compares(Predicate predicate) noexcept {
  return predicate >= Predicate::equal && predicate <= Predicate::greater_or_equal;
}

/// The predicate that is true of exchanged operands where this one is true of the given ones; a symmetric predicate is its own. None for
/// `logical_not`, which has one operand.
[[nodiscard]] constexpr Predicate mirrored(Predicate predicate) noexcept {
  using enum Predicate;
  constexpr std::array kMirrored{none, equal, greater, greater_or_equal, less, less_or_equal, logical_and, logical_or, logical_xor, none};
  return kMirrored[static_cast<std::size_t>(predicate)];
}

/// What an operator makes of all elements of input 0 along axes: one number, as ONNX's operators Reduce… do.
enum class Reduces : uint8_t { none, sum, mean, product, maximum, minimum, l1, l2, log_sum, log_sum_exp, sum_square };

/// To which whole number an operator rounds each element; of two that are as near, to the even one.
enum class Rounds : uint8_t { none, to_nearest, down, up };

/// The whole number to which a number is rounded; with Rounds::none the number itself.
[[nodiscard]] double rounded(Rounds how, double number) noexcept;

/// How an operator names the axes of input 0 (of Unsqueeze: of the result) that it works along. An omitted attribute has the default of the
/// operator's schema.
enum class Along : uint8_t {
  none,          ///< along none, or not always along one: Compress and Unique without an axis take all elements
  axis,          ///< by attribute `axis`
  axis_operand,  ///< by the only element of input 1
  axes,          ///< by attribute `axes`, in some versions by input 1; their order does not matter
};

/// Why 16 bits do not do for the numbers of an operator: mixed-precision training and inference keep it in 32 bits everywhere.
enum class Weakness : uint8_t {
  none,
  exponential,  ///< its results leave their range
  logarithm,    ///< near the singularity every bit of the operand counts
  sum,          ///< of many elements: it loses small ones
  variance,     ///< squares and small variances leave the range
  position,     ///< positions above 2048 are no whole numbers
  scale,        ///< decides integers
  steep,        ///< small errors of the operand become large
  feedback,     ///< errors add up from step to step
};

/// The part of an input that an operator reads.
enum class Reads : uint8_t { elements, dims, type };

/// All known facts about one operator: a set of traits, and facts about single inputs. Has no default, so that each entry of the op table
/// states its traits.
class Traits {
 public:
  constexpr Traits(Trait one) noexcept : flags_(static_cast<uint64_t>(one)) {}       // NOLINT(google-explicit-constructor): one is a set
  constexpr Traits(Arithmetic arithmetic) noexcept : arithmetic_(arithmetic) {}      // NOLINT(google-explicit-constructor): as above
  constexpr Traits(Predicate predicate) noexcept : predicate_(predicate) {}          // NOLINT(google-explicit-constructor): as above
  constexpr Traits(Along along) noexcept : along_(along) {}                          // NOLINT(google-explicit-constructor): as above
  constexpr Traits(Reduces reduces) noexcept : reduces_(reduces) {}                  // NOLINT(google-explicit-constructor): as above
  constexpr Traits(Rounds rounds) noexcept : rounds_(rounds) {}                      // NOLINT(google-explicit-constructor): as above
  constexpr Traits(Weakness weakness) noexcept : weak_(~0U), weakness_(weakness) {}  // NOLINT(google-explicit-constructor): as above
  /// For an operator that none of the traits describes.
  [[nodiscard]] static constexpr Traits none() noexcept { return Traits(uint64_t{0}); }
  /// Each element of the results is an element of input `input` (or of another input with this fact) or a fill value; the choice does not
  /// depend on their contents. For Dropout: of its first result, when not training.
  [[nodiscard]] static constexpr Traits moves(std::size_t input) noexcept { return none().with(&Traits::moved_, 1U << input); }
  [[nodiscard]] static constexpr Traits moves_all() noexcept { return none().with(&Traits::moved_, ~0U); }
  /// Only type and dims of input `input` are read.
  [[nodiscard]] static constexpr Traits reads_dims(std::size_t input) noexcept { return none().with(&Traits::dims_only_, 1U << input); }
  /// Only the type of input `input` is read.
  [[nodiscard]] static constexpr Traits reads_type(std::size_t input) noexcept { return none().with(&Traits::type_only_, 1U << input); }
  /// No correct evaluation rounds input `input`: a bound, a threshold, an exponent, a scale of sizes, or the position of a step.
  [[nodiscard]] static constexpr Traits takes_exactly(std::size_t input) noexcept { return none().with(&Traits::exactly_, 1U << input); }
  [[nodiscard]] static constexpr Traits takes_all_exactly() noexcept { return none().with(&Traits::exactly_, ~0U); }

  /// Inputs `first` to `last` are dims, counts, positions or axes, which no arithmetic follows.
  [[nodiscard]] static constexpr Traits gives_sizes_by(std::size_t first, std::size_t last) noexcept {
    return none().with(&Traits::sizes_, bits(first, last));
  }
  /// Inputs `first` to `last` are states before the first step, which are zeros where they are absent.
  [[nodiscard]] static constexpr Traits starts_from(std::size_t first, std::size_t last) noexcept {
    return none().with(&Traits::initial_states_, bits(first, last));
  }
  /// Raises each element of input 0 to this power.
  [[nodiscard]] static constexpr Traits raises_to(double exponent) noexcept {
    Traits out = none();
    out.exponent_ = exponent;
    return out;
  }
  /// 16 bits do not do for inputs `first` to `last` alone.
  [[nodiscard]] static constexpr Traits weak_in(Weakness weakness, std::size_t first, std::size_t last) noexcept {
    Traits out = none().with(&Traits::weak_, bits(first, last));
    out.weakness_ = weakness;
    return out;
  }

  /// Input `input` is the weight of a convolution with fixed taps: [O, I/groups, k…]; of a transposed one [I, O/groups, k…].
  [[nodiscard]] static constexpr Traits convolves_with(std::size_t input) noexcept {
    return none().with(&Traits::convolution_weight_, 1U << input);
  }

  [[nodiscard]] constexpr bool has(Trait trait) const noexcept { return (flags_ & static_cast<uint64_t>(trait)) != 0; }
  [[nodiscard]] constexpr Arithmetic arithmetic() const noexcept { return arithmetic_; }
  [[nodiscard]] constexpr Predicate predicate() const noexcept { return predicate_; }
  [[nodiscard]] constexpr Along along() const noexcept { return along_; }
  [[nodiscard]] constexpr Reduces reduces() const noexcept { return reduces_; }
  [[nodiscard]] constexpr Rounds rounds() const noexcept { return rounds_; }
  /// The power to which each element of input 0 is raised: of Sqrt and Reciprocal; 1 for other operators.
  [[nodiscard]] constexpr double exponent() const noexcept { return exponent_; }
  [[nodiscard]] constexpr bool moves_input(std::size_t input) const noexcept { return contains(moved_, input); }
  [[nodiscard]] constexpr bool is_taken_exactly(std::size_t input) const noexcept { return contains(exactly_, input); }
  [[nodiscard]] constexpr Reads reads(std::size_t input) const noexcept {
    return contains(type_only_, input) ? Reads::type : contains(dims_only_, input) ? Reads::dims : Reads::elements;
  }

  [[nodiscard]] constexpr bool gives_sizes(std::size_t input) const noexcept { return contains(sizes_, input); }
  /// Whether any input gives sizes, or has only its dims read.
  [[nodiscard]] constexpr bool reads_sizes() const noexcept { return (sizes_ | dims_only_) != 0; }
  [[nodiscard]] constexpr bool is_initial_state(std::size_t input) const noexcept { return contains(initial_states_, input); }
  [[nodiscard]] constexpr Weakness weakness(std::size_t input) const noexcept {
    return contains(weak_, input) ? weakness_ : Weakness::none;
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
    a.sizes_ |= b.sizes_;
    a.initial_states_ |= b.initial_states_;
    a.weak_ |= b.weak_;
    if (b.weakness_ != Weakness::none) a.weakness_ = b.weakness_;
    if (b.arithmetic_ != Arithmetic::none) a.arithmetic_ = b.arithmetic_;
    if (b.predicate_ != Predicate::none) a.predicate_ = b.predicate_;
    if (b.along_ != Along::none) a.along_ = b.along_;
    if (b.reduces_ != Reduces::none) a.reduces_ = b.reduces_;
    if (b.rounds_ != Rounds::none) a.rounds_ = b.rounds_;
    if (b.exponent_ != 1) a.exponent_ = b.exponent_;
    return a;
  }

 private:
  constexpr explicit Traits(uint64_t flags) noexcept : flags_(flags) {}
  [[nodiscard]] constexpr Traits with(uint32_t Traits::* inputs, uint32_t bits) const noexcept {
    Traits out = *this;
    out.*inputs |= bits;
    return out;
  }
  static constexpr uint32_t bits(std::size_t first, std::size_t last) noexcept {
    uint32_t out = 0;
    for (std::size_t i = first; i <= last; ++i) out |= 1U << i;
    return out;
  }
  /// The last bit stands for all further inputs.
  static constexpr bool contains(uint32_t inputs, std::size_t input) noexcept { return ((inputs >> (input < 31 ? input : 31)) & 1U) != 0; }

  uint64_t flags_ = 0;
  uint32_t moved_ = 0, dims_only_ = 0, type_only_ = 0, exactly_ = 0, convolution_weight_ = 0, sizes_ = 0, weak_ = 0, initial_states_ = 0;
  double exponent_ = 1;
  Arithmetic arithmetic_ = Arithmetic::none;
  Predicate predicate_ = Predicate::none;
  Along along_ = Along::none;
  Reduces reduces_ = Reduces::none;
  Rounds rounds_ = Rounds::none;
  Weakness weakness_ = Weakness::none;
};

/// Combines a trait with another one, or with a fact of another kind.
template <class Fact>
  requires std::is_enum_v<Fact> && std::is_convertible_v<Fact, Traits>
[[nodiscard]] constexpr Traits operator|(Trait a, Fact b) noexcept {
  return Traits(a) | Traits(b);
}

/// How an operator treats layouts. No default: an entry without a rule does not compile.
enum class LayoutRule : uint8_t {
  agnostic,     ///< all full-rank operands and results share one order
  wants,        ///< faster in channels-last: convolutions
  axis_mapped,  ///< same order on both sides, its axis attribute is logical
  view,         ///< moves no data: the order is mapped by strides
  barrier,      ///< reads and writes contiguous order only
  shape_only,   ///< reads no data
};

class Body;

/// Writes the body of one node of an operator that is a composition of standard ones (ops/body.h). Error{unsupported} for a form that has
/// no body.
using WriteBody = void (*)(Body& body);

/// One line of the op table: the facts about an operator that several rooms ask for. Ranges and inverses are in ops/bounds.cpp.
struct Op {
  std::string_view name;
  int since;     ///< first opset of its domain with the operator
  int reviewed;  ///< newest opset whose text this code was compared with
  LayoutRule layout;
  Traits traits;
  Infer infer;  ///< nullptr for control flow, as compute
  Compute compute;
  View view = nullptr;
  bool in_place = false;  ///< may write its first output over its first input (elementwise)
  std::string_view domain = {};
  WriteBody body = nullptr;  ///< the executor runs the nodes of the body instead
};

/// The operator of the default domain, or nullptr.
[[nodiscard]] const Op* find_op(std::string_view name);
/// The operator of a node, also of another domain (ops/body.h); nullptr for an operator in no table, and for a node that calls a
/// function of the model.
[[nodiscard]] const Op* find_op(const Node& node);
/// The operator of a node if it has a kernel: nullptr for control flow and for nodes with nested graphs.
[[nodiscard]] const Op* find_kernel(const Node& node);
/// The traits of a node's operator: Traits::none() for one that is not in the tables.
[[nodiscard]] Traits traits_of(const Node& node);
[[nodiscard]] inline bool has_trait(const Node& node, Trait trait) {
  return traits_of(node).has(trait);
}
[[nodiscard]] inline Arithmetic arithmetic_of(const Node& node) {
  return traits_of(node).arithmetic();
}
[[nodiscard]] inline Predicate predicate_of(const Node& node) {
  return traits_of(node).predicate();
}
[[nodiscard]] inline Reduces reduces(const Node& node) {
  return traits_of(node).reduces();
}
[[nodiscard]] inline Rounds rounds(const Node& node) {
  return traits_of(node).rounds();
}
/// Whether each element of a value is one of input 0 of its node, whatever the node's other operands are.
[[nodiscard]] bool only_selects(const Value& value);
/// Whether each element of a node's results is one of an operand that is moved, and none depends on several.
[[nodiscard]] bool only_moves(const Node& node);
/// Whether a node passes numbers on within given limits, or the larger or smaller of several: Clip, Max and Min; not Relu, whose limit is
/// not given.
[[nodiscard]] bool limits(const Node& node);
/// Whether a node only moves the elements of input 0 to other axes: Transpose, Reshape, Flatten, Squeeze, Unsqueeze.
[[nodiscard]] bool only_moves_axes(const Node& node);
/// The operand from which a node subtracts the largest of its numbers, or to which it adds its negative, as in a Softmax that is written
/// out; nullptr: none.
[[nodiscard]] const Value* less_its_largest(const Node& node);
/// The whole table of the default domain, by name.
[[nodiscard]] std::span<const Op> op_table();

/// Dims of an operand or result; nullptr where they are not known.
using DimsOf = std::function<const Dims*(const Value*)>;

/// Multiply-accumulates of a convolution, Gemm, MatMul or recurrent operator; 0 for operators with no or few multiplications. Nothing when
/// dims that are needed are unknown or do not fit, or the number exceeds 64 bits.
[[nodiscard]] std::optional<int64_t> macs_of(const Node& node, const DimsOf& dims_of);

}  // namespace relayout
