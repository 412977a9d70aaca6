#pragma once

#include <string>
#include <utility>
#include <vector>

namespace relayout {

/// Draws counts as columns of logarithmic height.
[[nodiscard]] std::string svg_histogram(const std::vector<std::pair<std::string, double>>& columns, const std::string& x_title);

}  // namespace relayout
