// Common parts of charts on pages: the outermost tag, and the format of numbers.
#include "report/chart.h"

#include <string>
#include <string_view>

#include "base/numbers.h"
#include "report/markup.h"

namespace relayout {

std::string coordinate(double value) {
  return fixed(value, 1);
}

std::string open_chart(Room room, double width, double height, std::string_view says) {
  return "<svg class='" + std::string(room == Room::slim ? "slim" : "broad") + "' viewBox='0 0 " + coordinate(width) + " " +
         coordinate(height) + "' role='img' aria-label='" + escape_markup(says) + "'>\n";
}

}  // namespace relayout
