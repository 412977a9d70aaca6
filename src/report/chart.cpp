// The common parts of charts on pages: their outermost tag and their numbers.
#include "report/chart.h"

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "report/markup.h"

namespace relayout {

std::string coordinate(double value) {
  std::array<char, 64> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 1).ptr};
}

std::string open_chart(Room room, double width, double height, std::string_view says) {
  return "<svg class='" + std::string(room == Room::slim ? "slim" : "broad") + "' viewBox='0 0 " + coordinate(width) + " " +
         coordinate(height) + "' role='img' aria-label='" + escape_markup(says) + "'>\n";
}

}  // namespace relayout
