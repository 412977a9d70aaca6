#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/positions.h"
#include "ops/op_call.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

/// Dims as far as they are certain: −1 for each that is not, nothing when the rank is not.
using PartialDims = std::optional<Dims>;

/// Elements of a tensor that is looked into for them.
inline constexpr int64_t kMostContents = 64;

/// Contents as far as they are certain.
struct PartialContents {
  Tensor values;              ///< contiguous; elements that are not certain may be anything
  std::vector<bool> certain;  ///< of each element
  /// Of elements that are all certain.
  PartialContents(const Tensor& tensor)  // NOLINT(google-explicit-constructor): a tensor is one
      : values(contiguous(tensor)), certain(as_size(values.element_count()), true) {}
  [[nodiscard]] bool is_complete() const {
    return std::ranges::all_of(certain, [](bool one) { return one; });
  }
};

/// A node's operands, for callers that know how to resolve them: in a graph, or in a function as one caller sees it.
class PartialOperands {
 public:
  virtual ~PartialOperands() = default;
  [[nodiscard]] virtual bool has(std::size_t input) = 0;
  [[nodiscard]] virtual PartialDims dims(std::size_t input) = 0;
  /// Undefined where it does not follow.
  [[nodiscard]] virtual DataType type(std::size_t input) = 0;
  /// Contents of few elements, as far as they are certain; nothing for anything else.
  [[nodiscard]] virtual std::optional<PartialContents> contents(std::size_t input) = 0;
};

/// What is certain about the dims of an output of `call.node` (whose attributes are those of the call). Where an operator is not known
/// here, nothing is.
[[nodiscard]] PartialDims partial_dims(const OpCall& call, std::size_t output, PartialOperands& operands);

}  // namespace relayout
