// Declares how a model must change when dims of its inputs get another size.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

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

/// The changes to a graph, or why there are none.
struct SizeChange {
  std::vector<SizedOperand> operands;
  /// Dims of values that change: the new ones, −1 for those that vary with the size; `follows` for those that are it.
  struct Declared {
    Dims dims;
    std::vector<bool> follows;
  };
  std::unordered_map<const Value*, Declared> declared;
  const Node* obstacle = nullptr;  ///< the node that fixes the size; nullptr: none
  std::string why = {};
};

/// Follows a size through a graph from its inputs. Where all nodes keep the parts of the size apart, as samples of a batch, each part of
/// the results is what the graph computes from this part alone. Otherwise nodes that are defined for any size may mix the parts, as
/// convolutions do along an image, and constants are changed where only one reading of them is possible.
[[nodiscard]] SizeChange follow_size(const Graph& graph, const NewSize& change);

}  // namespace relayout::passes
