#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "layout/graph_shapes.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {

/// Dims of inputs that have one fixed size and get another, or become free together.
struct NewSize {
  std::vector<std::pair<const Value*, std::size_t>> axes;  ///< input and axis
  int64_t old_size = 0;
  std::optional<int64_t> size = {};  ///< nothing: free
};

/// A constant operand that holds the old size.
struct SizedOperand {
  const Node* node = nullptr;
  std::size_t input = 0;
  std::vector<int64_t> contents = {};
  std::vector<float> scales = {};  ///< of a Resize whose operand `sizes` these replace
};

/// Whether parts of the size stay apart, or nodes that are defined for any size may mix them.
enum class Parts : uint8_t { apart, mixed };

/// Thrown where a node fixes the size.
struct Refused {
  const Node* node;
  std::string why;
};

/// What a graph makes of a new size of its inputs.
struct SizeWalk {
  std::unordered_map<const Node*, SizedOperand>
      operands;                                 ///< new contents of constant operands; those of Reshape are the dims of its result
  std::unordered_map<const Value*, Dims> dims;  ///< new dims of the values that change
  std::unique_ptr<layout::Shapes> old;          ///< with the old size
};
[[nodiscard]] SizeWalk walk_size(const Graph& graph, const NewSize& change, Parts parts, int64_t size);

/// Axes where dims of the same rank differ.
[[nodiscard]] std::vector<std::size_t> moving_axes(const Dims& a, const Dims& b);

}  // namespace relayout::passes
