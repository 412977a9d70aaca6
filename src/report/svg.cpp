// Holds what all charts share: frame, lines, labels, and logarithmic axes.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "base/numbers.h"
#include "report/charts.h"
#include "report/page.h"

namespace relayout {

std::string coordinate(double value) {
  return fixed(value, 1);
}

std::string open_chart(Room room, double width, double height, std::string_view says) {
  return "<svg class='" + std::string(room == Room::slim ? "slim" : "broad") + "' viewBox='0 0 " + coordinate(width) + " " +
         coordinate(height) + "' role='img' aria-label='" + escape_markup(says) + "'>\n";
}

std::string svg_element(const std::string& name, const std::string& attributes) {
  return "<" + name + " " + attributes + "/>\n";
}

std::string svg_segment(double x1, double y1, double x2, double y2, const std::string& style) {
  return svg_element("line", "x1='" + coordinate(x1) + "' y1='" + coordinate(y1) + "' x2='" + coordinate(x2) + "' y2='" + coordinate(y2) +
                                 "' class='" + style + "'");
}

std::string svg_label(double x, double y, const std::string& text, const std::string& style) {
  return "<text x='" + coordinate(x) + "' y='" + coordinate(y) + "' class='" + style + "'>" + escape_markup(text) + "</text>\n";
}

void LogAxis::take(double value) {
  if (!(value > 0) || !std::isfinite(value)) return;
  const double power = std::log10(value);
  const int below = static_cast<int>(std::floor(power)), above = static_cast<int>(std::ceil(power));
  lowest = empty ? below : std::min(lowest, below);
  highest = empty ? above : std::max(highest, above);
  empty = false;
}

void LogAxis::finish() {
  if (highest <= lowest) highest = lowest + 1;
}

double LogAxis::place(double value) const {
  if (std::isnan(value) || value == INFINITY) return 1;
  if (!(value > 0)) return 0;
  return std::clamp((std::log10(value) - lowest) / (highest - lowest), 0.0, 1.0);
}

int LogAxis::step() const {
  return std::max(1, (highest - lowest + 7) / 8);
}

std::string power_text(int power) {
  return "1e" + std::to_string(power);
}

}  // namespace relayout
