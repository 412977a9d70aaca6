#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "proof/side.h"

namespace relayout::proof {

/// Certain dims of values: from declared graph inputs (which are contracts), constants and operators, never from declared inner shapes.
/// Unknown operators give none.
class Shapes {
 public:
  explicit Shapes(Side& side) : side_(side) {}
  /// Dims, with -1 for each unknown one; empty if the rank is unknown.
  [[nodiscard]] std::optional<Dims> of(Ref ref);

 private:
  using Shape = std::optional<Dims>;
  [[nodiscard]] Shape of_source(Ref ref);
  [[nodiscard]] Shape of_node(Ref output);

  Side& side_;
  std::unordered_map<Ref, Shape, RefHash> shapes_;
};

/// Pads of a Pad by axis of its operand: begins, then ends. Empty if they are not constant.
[[nodiscard]] std::optional<std::vector<int64_t>> paddings(Side& side, Ref output, const AttributeReader& attributes,
                                                           const std::optional<Dims>& dims);

}  // namespace relayout::proof
