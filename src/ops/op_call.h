// Interface of kernels: what `infer`, `compute` and `view` of an operator receive and must return.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/attributes.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"

// The interface of kernels. The table of operators (ops/op.h) refers to the kernels, and they know nothing of it.

namespace relayout {

/// One node about to be inferred or computed.
struct OpCall {
  const Node& node;
  Attributes attributes;
  int64_t opset;  ///< imported version of the node's domain
  int threads = 1;
  uint64_t seed = 0;  ///< for Random*
  explicit OpCall(const Node& n, int64_t version) : node(n), attributes(n), opset(version) {}
};

/// Types and dims of all outputs (an absent output's entry is ignored). Nothing when an input's contents are needed and `inputs[i]->value`
/// is null: the planner asks again at run time, when all are present. Absent inputs are null.
/// Throws Error{invalid} when the operands do not fit the operator.
using Infer = std::optional<std::vector<DatumInfo>> (*)(const OpCall& call, std::span<const DatumInfo* const> inputs);

/// Computes the outputs. Inputs may have any strides. Tensor outputs are allocated as inferred and may have any strides too; they never
/// overlap an input, unless the op is `in_place` and the first input has the same desc. Null outputs are not wanted; the first is always
/// present. Sequences and optionals are filled by the kernel. Floating-point sums run in double.
using Compute = void (*)(const OpCall& call, std::span<const Datum* const> inputs, std::span<Datum* const> outputs);

/// For rule `view`: output number `index` as strides over the first input's elements, or nothing when this needs a copy.
using View = std::optional<Tensor> (*)(const OpCall& call, std::span<const Datum* const> inputs, const DatumInfo& output,
                                       std::size_t index);

}  // namespace relayout
