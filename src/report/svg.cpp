// Draws charts as inline SVG.
#include "report/svg.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "report/chart.h"
#include "report/display_width.h"
#include "report/markup.h"
#include "report/short_names.h"

namespace relayout {
namespace {

std::string draw_histogram(const std::vector<std::pair<std::string, double>>& columns, const std::string& x_title, Room room) {
  constexpr double kHeight = 180, kLeft = 10, kRight = 14, kTop = 20, kBottom = 40;
  const bool is_slim = room == Room::slim;
  const double width = drawing_width(room);
  // With more columns, every fourth has room for its name, and some for their counts.
  const std::size_t all_named = is_slim ? 8 : 12, all_counted = is_slim ? 8 : 16, counted = is_slim ? 4 : 2;
  // The last column is always labelled: it has the largest error.
  const auto is_labelled = [&](std::size_t i, std::size_t each) {
    const std::size_t after = columns.size() - 1 - i;
    return after == 0 || (i % each == 0 && after >= std::min<std::size_t>(each, is_slim ? 4 : 3));
  };
  double most = 1;
  for (const auto& [name, count] : columns) most = std::max(most, count);
  const double step = (width - kLeft - kRight) / static_cast<double>(std::max<std::size_t>(columns.size(), 8));
  std::string out = open_chart(room, width, kHeight, "error histogram");
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& [name, count] = columns[i];
    const double share = count > 0 ? (1 + std::log10(count)) / (1 + std::log10(most)) : 0;
    const double height = (kHeight - kTop - kBottom) * share, x = kLeft + step * static_cast<double>(i);
    out += svg_element("rect", "x='" + coordinate(x + 2) + "' y='" + coordinate(kHeight - kBottom - height) + "' width='" +
                                   coordinate(step - 4) + "' height='" + coordinate(height) + "' class='plain'");
    if (columns.size() <= all_named || is_labelled(i, 4))
      out += svg_label(x + step / 2, kHeight - kBottom + 14, name, "label middle small");
    if (count > 0 && (columns.size() <= all_counted || is_labelled(i, counted))) {
      out += svg_label(x + step / 2, kHeight - kBottom - height - 4,
                       count < 1e4 ? coordinate(count).substr(0, coordinate(count).size() - 2) : scientific(count), "label middle small");
    }
  }
  return out + svg_label(width / 2, kHeight - 8, shortened(x_title, is_slim ? 52 : 100), "label middle") + "</svg>\n";
}

}  // namespace

std::string svg_histogram(const std::vector<std::pair<std::string, double>>& columns, const std::string& x_title) {
  return in_both_rooms([&](Room room) { return draw_histogram(columns, x_title, room); });
}

}  // namespace relayout
