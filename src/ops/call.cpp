// Runs one operator, and decides whether its results follow from known operands.
// The constant evaluator, layout plans and the executor share this, so that they agree on constants.

#include "ops/call.h"

#include "ops/constants.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

KnownInfos::KnownInfos(std::span<const Datum* const> inputs) : KnownInfos(inputs.size()) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr) set(i, info_of(*inputs[i]));
  }
}

bool follows_from(const Op& op, const Node& node, const TellsOf& is_known) {
  if (op.traits.has(Trait::random)) return false;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    if (node.input(i) != nullptr && op.traits.reads(i) == Reads::elements && !is_known(i)) return false;
  }
  return true;
}

bool is_computed_early(const std::vector<DatumInfo>& outputs, const TellsOf& is_wanted) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!is_wanted(i)) continue;
    if (outputs[i].kind != Datum::Kind::tensor) return false;
    const auto bytes = bytes_in_memory(outputs[i].type, outputs[i].dims);
    if (!bytes || *bytes > kEarlyBytes) return false;
  }
  return true;
}

Tensor without_elements(DataType type, const Dims& dims) {
  return {TensorDesc{type, dims, contiguous_strides(dims)}, nullptr, nullptr};
}

std::vector<Datum> compute(const Op& op, const OpCall& call, std::span<const Datum* const> inputs, const std::vector<DatumInfo>& outputs,
                           const TellsOf& is_wanted) {
  std::vector<Datum> results(outputs.size());
  std::vector<Datum*> pointers(outputs.size(), nullptr);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!is_wanted(i)) continue;
    results[i].kind = outputs[i].kind;
    if (outputs[i].kind == Datum::Kind::tensor) results[i].tensor = Tensor(outputs[i].type, outputs[i].dims);
    pointers[i] = &results[i];
  }
  op.compute(call, inputs, pointers);
  return results;
}

std::vector<Datum> infer_and_compute(const Op& op, const OpCall& call, std::span<const Datum* const> inputs, const TellsOf& is_wanted) {
  const auto outputs = op.infer(call, KnownInfos(inputs).get());
  if (!outputs) fail(ErrorKind::defect, call.node.label() + ": its outputs cannot be inferred though its inputs are there");
  return compute(op, call, inputs, *outputs, is_wanted);
}

}  // namespace relayout
