#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

/// Elements of a tensor that share a scale.
struct ScaleSharing {
  enum class How : uint8_t {
    axis,          ///< elements of one place along `axis`, or all
    blocks,        ///< `block` places along `axis`
    rows,          ///< of a matrix [K, N], `block` rows of a column; the scales of a column are adjacent
    column_major,  ///< `block` elements of a matrix in column-major order
    leading,       ///< consecutive elements, equally many for each scale
  };
  How how = How::axis;
  int64_t axis = 0, block = 1;
  bool is_transposed = false;  ///< of a matrix: the other fields describe its transpose

  /// Sharing by the attributes `axis` and `block_size` of QuantizeLinear and DequantizeLinear.
  [[nodiscard]] static ScaleSharing of(const Node& node);

  /// Index of an element's scale, by the index of the element.
  using Places = std::function<std::size_t(int64_t)>;
  /// nullptr if a tensor of these dims cannot have `count` scales in this way.
  [[nodiscard]] Places places(const Dims& dims, int64_t count) const;

 private:
  [[nodiscard]] Places along_axis(const Dims& dims, int64_t count) const;
  [[nodiscard]] Places in_matrix(const Dims& dims, int64_t count) const;
};

}  // namespace relayout
