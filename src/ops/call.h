#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "ops/op_call.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

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
