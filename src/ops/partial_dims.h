#pragma once

#include <cstddef>
#include <optional>

#include "ops/op.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

/// Dims as far as they are certain: −1 for each that is not, nothing when the rank is not.
using PartialDims = std::optional<Dims>;

/// A node's operands, for whoever knows how to resolve them: in a graph, or in a function as one caller sees it.
class PartialOperands {
 public:
  virtual ~PartialOperands() = default;
  [[nodiscard]] virtual bool has(std::size_t input) = 0;
  [[nodiscard]] virtual PartialDims dims(std::size_t input) = 0;
  /// Undefined where it does not follow.
  [[nodiscard]] virtual DataType type(std::size_t input) = 0;
  /// Contents of a constant of few elements; nothing for anything else.
  [[nodiscard]] virtual std::optional<Tensor> contents(std::size_t input) = 0;
};

/// What is certain about the dims of an output of `call.node` (whose attributes are those of the call). Where an operator is not known
/// here, nothing is.
[[nodiscard]] PartialDims partial_dims(const OpCall& call, std::size_t output, PartialOperands& operands);

}  // namespace relayout
