#pragma once

#include <string>
#include <string_view>

namespace relayout {

/// Every chart is on a page twice, drawn for wide windows and for phones; the style sheet of verdict_page.cpp shows one of them.
enum class Room { broad, slim };

template <class Draw>
std::string in_both_rooms(const Draw& draw) {
  return draw(Room::broad) + draw(Room::slim);
}

/// A number with one decimal.
[[nodiscard]] std::string coordinate(double value);
/// The opening tag of a chart of this size; `says` is its text alternative.
[[nodiscard]] std::string open_chart(Room room, double width, double height, std::string_view says);

}  // namespace relayout
