#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "proof/side.h"

namespace relayout::proof {

/// Certain dims of values: from declared graph inputs (those are contracts), constants and operators, never from a
/// declared inner shape. Where an operator is not known here, nothing is.
class Shapes {
 public:
  explicit Shapes(Side& side) : side_(side) {}
  /// Dims, -1 for each that is not certain; nothing when the rank is not.
  [[nodiscard]] std::optional<Dims> of(Ref ref);

 private:
  using Shape = std::optional<Dims>;
  [[nodiscard]] Shape of_source(Ref ref);
  [[nodiscard]] Shape of_node(Ref output);

  Side& side_;
  std::unordered_map<Ref, Shape, RefHash> shapes_;
};

/// Pads of a Pad: by axis of its operand, beginnings and then ends. Nothing when it is not constant.
[[nodiscard]] std::optional<std::vector<int64_t>> paddings(Side& side, Ref output, const AttributeReader& attributes,
                                                           const std::optional<Dims>& dims);

}  // namespace relayout::proof
