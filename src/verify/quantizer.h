#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ops/constants.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "verify/inputs/range.h"

namespace relayout {

/// The grid of a QuantizeLinear or DequantizeLinear with constant parameters: integers lowest … highest, (q − zero) · scale each.
class Quantizer {
 public:
  /// Nothing where scale or zero point are no constants, the integers come in blocks, or the type is none of integers.
  [[nodiscard]] static std::optional<Quantizer> of(const Node& node, Constants& constants);

  /// Whether elements beyond the ends of the grid become its ends, or go on in its steps: then rounding alone is lost.
  enum class Ends { saturate, open };
  /// Rounds the elements of a contiguous tensor of real numbers in place; false where its dims do not suit the parameters.
  bool round(const Tensor& tensor, Ends ends) const;
  /// The numbers that it takes at every place along its axis.
  [[nodiscard]] Range range() const;
  /// Elements that lie beyond the ends.
  [[nodiscard]] int64_t count_beyond(const Tensor& tensor) const;

 private:
  template <class Visit>
  bool for_each(const Tensor& tensor, const Visit& visit) const;

  std::vector<double> scales_, zeros_;  ///< one, or one for each place along `axis_`
  int64_t axis_ = 0;
  double lowest_ = 0, highest_ = 0;
};

/// The QuantizeLinear that everything reads a value through; nullptr where something reads it as it is, or nothing does.
[[nodiscard]] const Node* quantizer_behind(const Value& value);

/// What quantizers take of the inputs that they read, moved perhaps on the way.
[[nodiscard]] std::map<std::string, Range> ranges_of_inputs(const Graph& graph);

}  // namespace relayout
