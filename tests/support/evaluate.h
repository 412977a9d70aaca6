#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/graph.h"

namespace relayout::test {

/// Memory layout of tensors in tests of kernels.
enum class Arrangement {
  contiguous,
  channels_last,  ///< dim 1 innermost
  reversed,       ///< the first dim innermost
  gapped,         ///< contiguous order with unused elements between rows and between neighbours
};

/// The same elements in new memory, in this arrangement.
[[nodiscard]] Tensor arranged(const Tensor& tensor, Arrangement arrangement);
/// New memory for a result, filled with a byte pattern that no test expects.
[[nodiscard]] Tensor allocate(DataType type, const Dims& dims, Arrangement arrangement);

struct EvaluateOptions {
  Arrangement inputs = Arrangement::contiguous;
  Arrangement outputs = Arrangement::contiguous;
  int threads = 1;
  bool views = false;  ///< use the view of an operator where it has one
};

/// Runs one node on data with relayout's kernel. infer() knows the operands that it needs.
[[nodiscard]] std::vector<Datum> run_node(const Node& node, const std::vector<const Datum*>& inputs, const EvaluateOptions& options = {});

/// Runs a graph node by node with the kernels of the op table: no plan, no control flow. Throws Error{unsupported} for an operator without
/// a kernel. Returns the values of the graph's outputs, in order.
[[nodiscard]] std::vector<Datum> evaluate(const Graph& graph, std::map<std::string, Datum> inputs, const EvaluateOptions& options = {});

}  // namespace relayout::test
