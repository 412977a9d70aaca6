#pragma once

#include <onnx/onnx_pb.h>

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/op_call.h"
#include "ops/partial_dims.h"
#include "relayout/datum.h"
#include "relayout/graph.h"

namespace relayout {

struct Op;

/// The body of a function with the attributes of one call filled in: a graph of its own.
struct FunctionInstance {
  std::unique_ptr<onnx::FunctionProto> message;
  std::unique_ptr<Graph> graph;
};

/// The computation of a node whose operator has a body, as standard operators; some bodies depend on types and ranks of the operands.
/// Error{unsupported} for a form that has no body, Error{invalid} for attributes that the operator does not take.
[[nodiscard]] FunctionInstance compose(const Op& op, const Node& call, PartialOperands& operands);

/// Infer and Compute of every operator with a body, by inferring and computing the nodes of its body.
[[nodiscard]] std::optional<std::vector<DatumInfo>> infer_composed(const OpCall& call, std::span<const DatumInfo* const> inputs);
void compute_composed(const OpCall& call, std::span<const Datum* const> inputs, std::span<Datum* const> outputs);

/// The operators with bodies, sorted by domain and name: those of other domains, and those that ONNX Runtime adds to the default one.
[[nodiscard]] std::span<const Op> composed_table();
[[nodiscard]] const Op* find_composed(std::string_view domain, std::string_view name);

}  // namespace relayout
