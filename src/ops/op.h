#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/attributes.h"
#include "ops/traits.h"
#include "relayout/datum.h"

namespace relayout {

/// How an operator lives with layouts. No default: an entry without a rule does not compile.
enum class LayoutRule : uint8_t {
  agnostic,     ///< all full-rank operands and results share one order
  wants,        ///< faster in channels-last: convolutions
  axis_mapped,  ///< same order on both sides, its axis attribute is logical
  view,         ///< moves no data: the order is mapped by strides
  barrier,      ///< reads and writes contiguous order only
  shape_only,   ///< reads no data
};

/// One node about to be inferred or computed.
struct OpCall {
  const Node& node;
  Attributes attributes;
  int64_t opset;  ///< imported version of the node's domain
  int threads = 1;
  uint64_t seed = 0;  ///< for Random*
  explicit OpCall(const Node& n, int64_t version) : node(n), attributes(n), opset(version) {}
};

/// Types and dims of all outputs (an absent output's entry is ignored). Nothing when an input's contents are needed and
/// `inputs[i]->value` is null: the planner asks again at run time, when all are there. Absent inputs are null.
/// Throws Error{invalid} when the operands do not fit the operator.
using Infer = std::optional<std::vector<DatumInfo>> (*)(const OpCall& call, std::span<const DatumInfo* const> inputs);

/// Computes the outputs. Inputs may have any strides; tensor outputs are allocated as inferred and may have any strides too
/// (never overlapping an input, unless the op is `in_place` and the first input has the same desc); null outputs are not wanted; the first
/// is always there. Sequences and optionals are filled by the kernel. Floating-point sums run in double.
using Compute = void (*)(const OpCall& call, std::span<const Datum* const> inputs, std::span<Datum* const> outputs);

/// For rule `view`: output number `index` as strides over the first input's elements, or nothing when this needs a copy.
using View = std::optional<Tensor> (*)(const OpCall& call, std::span<const Datum* const> inputs, const DatumInfo& output,
                                       std::size_t index);

class Body;

/// Writes the body of one node of an operator that is a composition of standard ones (ops/body.h). Error{unsupported} for a form of it
/// that has none.
using WriteBody = void (*)(Body& body);

/// One line of the op table: what there is to know of an operator. Other folders keep no lists of such facts, only their own
/// decisions.
struct Op {
  std::string_view name;
  int since;     ///< first opset of its domain that has it
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
/// The operator of a node, also of another domain (ops/composed.h); nullptr for what no table has, and where the model has a function of
/// that name.
[[nodiscard]] const Op* find_op(const Node& node);
/// The same, only if it has a kernel: nullptr for control flow and for nodes with nested graphs.
[[nodiscard]] const Op* find_kernel(const Node& node);
/// What is known of a node's operator: Traits::none() for one that is not in the table.
[[nodiscard]] Traits traits_of(const Node& node);
[[nodiscard]] inline bool has_trait(const Node& node, Trait trait) {
  return traits_of(node).has(trait);
}
/// The whole table of the default domain, by name.
[[nodiscard]] std::span<const Op> op_table();

}  // namespace relayout
