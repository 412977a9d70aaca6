#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/positions.h"
#include "ops/call.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

/// An axis of a value, counted from the front or from the back (0 is the last): the rank is not always known.
struct Axis {
  int64_t index = 0;
  bool from_back = false;
};

/// The axis as counted from the front; −1 when that needs an unknown rank (−1), or there is no such axis.
[[nodiscard]] int64_t from_front(Axis axis, int64_t rank);
/// Whether two axes of a value of this rank (−1: not known) are the same axis.
[[nodiscard]] bool is_same(Axis a, Axis b, int64_t rank);

/// Dims of which some may be uncertain: −1 for each that is, nothing when the rank is.
using PartialDims = std::optional<Dims>;

/// Product of two dims; −1 when one is uncertain or the product does not fit.
[[nodiscard]] int64_t times(int64_t a, int64_t b) noexcept;
/// Product of dims; −1 when one is uncertain or the product does not fit.
[[nodiscard]] int64_t product_of(std::span<const int64_t> dims) noexcept;

/// Contents of which some elements may be uncertain.
struct PartialContents {
  Tensor values;              ///< contiguous; elements that are not certain may be anything
  std::vector<bool> certain;  ///< of each element
  /// From a tensor whose elements are all certain.
  PartialContents(const Tensor& tensor)  // NOLINT(google-explicit-constructor): a tensor is one
      : values(contiguous(tensor)), certain(as_size(values.element_count()), true) {}
  [[nodiscard]] bool is_complete() const {
    return std::ranges::all_of(certain, [](bool one) { return one; });
  }
};

/// A node's operands, for callers that know how to resolve them: in a graph, or in a function for one call of it.
class PartialOperands {
 public:
  virtual ~PartialOperands() = default;
  [[nodiscard]] virtual bool has(std::size_t input) = 0;
  [[nodiscard]] virtual PartialDims dims(std::size_t input) = 0;
  /// Undefined where it is not certain.
  [[nodiscard]] virtual DataType type(std::size_t input) = 0;
  /// Contents of at most kMostContents elements, of which some may be uncertain; nothing for anything else.
  [[nodiscard]] virtual std::optional<PartialContents> contents(std::size_t input) = 0;
};

/// Certain facts about the dims of an output of `call.node` (whose attributes are those of the call). Nothing for an unknown operator.
[[nodiscard]] PartialDims partial_dims(const OpCall& call, std::size_t output, PartialOperands& operands);

/// Certain facts about the contents of an output of `call.node`, where they are few. An operator that moves elements moves certain ones, an
/// elementwise one computes with them, and Shape returns the certain dims. Nothing for operators that are never evaluated
/// (why_never_evaluated) and for other results.
[[nodiscard]] std::optional<PartialContents> partial_contents(const OpCall& call, std::size_t output, PartialOperands& operands);

}  // namespace relayout
