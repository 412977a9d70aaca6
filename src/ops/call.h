#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/node.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

// The interface of kernels. The table of operators (ops/op.h) refers to the kernels, and they know nothing of it.

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

struct Op;

/// Known facts about a node's operands, in the form that Infer takes.
class KnownInfos {
 public:
  /// For `count` operands, all absent until they are set.
  explicit KnownInfos(std::size_t count) : infos_(count), pointers_(count, nullptr) {}
  /// From data that is present.
  explicit KnownInfos(std::span<const Datum* const> inputs);
  KnownInfos(const KnownInfos&) = delete;
  KnownInfos& operator=(const KnownInfos&) = delete;

  void set(std::size_t input, DatumInfo info) {
    infos_[input] = std::move(info);
    pointers_[input] = &infos_[input];
  }
  [[nodiscard]] std::span<const DatumInfo* const> get() const noexcept { return pointers_; }

 private:
  std::vector<DatumInfo> infos_;
  std::vector<const DatumInfo*> pointers_;
};

/// A yes-or-no question about input or output number `index` of a node.
using TellsOf = std::function<bool(std::size_t index)>;

/// Whether the results of a node follow from the inputs for which `is_known` is true and from absent inputs: `op` draws no numbers and
/// reads no elements of other inputs.
[[nodiscard]] bool follows_from(const Op& op, const Node& node, const TellsOf& is_known);

/// Whether results that follow from constants are computed once, before anything runs: tensors of at most kEarlyBytes. Layout plans and the
/// executor share this decision, so that both treat the same values as constants.
[[nodiscard]] bool is_computed_early(const std::vector<DatumInfo>& outputs, const TellsOf& is_wanted);

/// A stand-in for an operand of which only type and dims are read.
[[nodiscard]] Tensor without_elements(DataType type, const Dims& dims);

/// Computes the wanted results into new memory; `outputs` are the inferred types and dims.
[[nodiscard]] std::vector<Datum> compute(const Op& op, const OpCall& call, std::span<const Datum* const> inputs,
                                         const std::vector<DatumInfo>& outputs, const TellsOf& is_wanted);
/// Infers the results, then computes the wanted ones. Error{defect} when they cannot be inferred though all operands are present.
[[nodiscard]] std::vector<Datum> infer_and_compute(const Op& op, const OpCall& call, std::span<const Datum* const> inputs,
                                                   const TellsOf& is_wanted);

}  // namespace relayout
