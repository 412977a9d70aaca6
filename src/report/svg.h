#pragma once

#include <optional>
#include <string>
#include <vector>

namespace relayout {

/// Charts as inline SVG for html_page(): no script, colours from its style sheet, and text equivalent to the marks. Axes are logarithmic;
/// 0 is at the left or lower edge.

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
/// `names`: names of the places on the x axis, shown on hover.
[[nodiscard]] std::string svg_lines(const std::vector<SvgLine>& lines, const std::vector<SvgMark>& marks,
                                    const std::vector<std::string>& names, const std::string& x_title);

/// A piece of work: operations per byte, 10⁹ operations per second, share of the total time.
struct SvgWork {
  std::string label;
  double intensity = 0, rate = 0, share = 0;
};
/// Draws work as circles with areas proportional to time, below the roofline of the machine: its peak `rate`, and `gigabytes` per second.
[[nodiscard]] std::string svg_roofline(const std::vector<SvgWork>& work, double rate, double gigabytes);

/// Draws counts as columns of logarithmic height.
[[nodiscard]] std::string svg_histogram(const std::vector<std::pair<std::string, double>>& columns, const std::string& x_title);

}  // namespace relayout
