#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "relayout/types.h"

namespace relayout {

/// Which elements of a tensor have a scale in common.
struct ScaleSharing {
  enum class How : uint8_t {
    axis,          ///< those of one place along `axis`, or all
    blocks,        ///< `block` places along `axis`
    rows,          ///< of a matrix [K, N], `block` rows of a column; the scales of a column lie together
    column_major,  ///< `block` elements of a matrix that is read column after column
    leading,       ///< as many in a row as there are for each
  };
  How how = How::axis;
  int64_t axis = 0, block = 1;
  bool is_transposed = false;  ///< of a matrix: this speaks of the elements of the transposed one

  /// The number of an element's scale, by the number of the element.
  using Places = std::function<std::size_t(int64_t)>;
  /// nullptr where a tensor of these dims cannot have `count` scales so.
  [[nodiscard]] Places places(const Dims& dims, int64_t count) const;

 private:
  [[nodiscard]] Places along_axis(const Dims& dims, int64_t count) const;
  [[nodiscard]] Places in_matrix(const Dims& dims, int64_t count) const;
};

}  // namespace relayout
