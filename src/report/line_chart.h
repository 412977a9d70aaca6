#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace relayout {

/// Points of a line from left to right; a missing value is a gap.
struct SvgLine {
  std::string label;
  std::vector<std::optional<double>> values;
  bool dashed = false;
};
/// A highlighted place on the x axis.
struct SvgMark {
  std::size_t at = 0;
  std::string label;
};
/// Draws lines over a common x axis; the y axis is logarithmic. `names`: names of the places on the x axis, shown on hover.
[[nodiscard]] std::string svg_lines(const std::vector<SvgLine>& lines, const std::vector<SvgMark>& marks,
                                    const std::vector<std::string>& names, const std::string& x_title);

}  // namespace relayout
