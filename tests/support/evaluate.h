#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/graph.h"

namespace relayout::test {

/// How tensors lie in memory while kernels are tested.
enum class Arrangement {
  contiguous,
  channels_last,  ///< dim 1 innermost
  reversed,       ///< the first dim innermost
  gapped,         ///< contiguous order with unused elements between rows and between neighbours
};

/// The same elements in new memory, arranged so.
[[nodiscard]] Tensor arranged(const Tensor& tensor, Arrangement arrangement);
/// New memory for a result, filled with a byte pattern that no test expects.
[[nodiscard]] Tensor allocate(DataType type, const Dims& dims, Arrangement arrangement);

struct EvaluateOptions {
  Arrangement inputs = Arrangement::contiguous;
  Arrangement outputs = Arrangement::contiguous;
  int threads = 1;
  bool views = false;  ///< take an op's view where it has one
};

/// Runs one node on data by its own kernel. Operands that infer() needs are known to it.
[[nodiscard]] std::vector<Datum> run_node(const Node& node, const std::vector<const Datum*>& inputs, const EvaluateOptions& options = {});

/// Runs a graph node by node with the own kernels of the op table: no plan, no control flow. Throws Error{unsupported} for an operator
/// that the table does not have. Values of the graph's outputs, in order.
[[nodiscard]] std::vector<Datum> evaluate(const Graph& graph, std::map<std::string, Datum> inputs, const EvaluateOptions& options = {});

}  // namespace relayout::test
