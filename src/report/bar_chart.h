#pragma once

#include <optional>
#include <string>
#include <vector>

namespace relayout {

/// One bar, with its floor and bound for comparison.
struct SvgBar {
  std::string label;
  double value = 0;
  std::optional<double> floor, bound;  ///< drawn as a tick, and as a line that should not be exceeded
  bool bad = false;
  std::string note;  ///< text after the bar
};
/// Draws bars one below the other on a logarithmic axis.
[[nodiscard]] std::string svg_bars(const std::vector<SvgBar>& bars);

}  // namespace relayout
