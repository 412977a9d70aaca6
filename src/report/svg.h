#pragma once

#include <optional>
#include <string>
#include <vector>

namespace relayout {

/// Charts as inline SVG for html_page(): no script, colours from its style sheet, and text equivalent to the marks. Axes are logarithmic;
/// 0 is at the left or lower edge.

/// Draws counts as columns of logarithmic height.
[[nodiscard]] std::string svg_histogram(const std::vector<std::pair<std::string, double>>& columns, const std::string& x_title);

}  // namespace relayout
