#pragma once

#include <optional>
#include <string>
#include <vector>

namespace relayout {

/// Charts as inline SVG for html_page(): no script, colours from its style sheet, and text equivalent to the marks. Axes are logarithmic;
/// 0 is at the left or lower edge.

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
