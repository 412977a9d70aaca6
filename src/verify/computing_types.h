#pragma once

#include <cstdint>
#include <string>

#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

/// Floating-point types of 16 bits and fewer.
[[nodiscard]] bool is_narrow(DataType type) noexcept;

/// How much of a model computes in narrow floating-point types.
struct NarrowWork {
  DataType coarsest = DataType::undefined;  ///< undefined: nothing does
  int64_t nodes = 0;                        ///< that round their result to such a type; operators that only move elements do not
  int64_t constants = 0;                    ///< of such a type that a Cast makes wider before they are used
  int64_t linear = 0, linear_in_all = 0;    ///< convolutions and matrix products among the nodes, and in the whole model
  std::string first;                        ///< label of the first of the nodes, or of the first Cast of a constant
  std::string first_linear;                 ///< label of the first convolution or matrix product among the nodes
};
[[nodiscard]] NarrowWork narrow_work(const Graph& graph);

/// Whether b computes in a coarser type than a does anywhere.
[[nodiscard]] bool is_coarser(const NarrowWork& b, const NarrowWork& a) noexcept;

/// "B computes 57 of 60 convolutions and matrix products in f16 (first: 'conv1' (Conv)), A does not".
[[nodiscard]] std::string describe(const NarrowWork& b);

}  // namespace relayout
