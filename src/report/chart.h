#pragma once

#include <string>
#include <string_view>

namespace relayout {

/// Every chart stands twice on a page, drawn for wide windows and for those of a phone; the style sheet of verdict_page.cpp shows one.
enum class Room { broad, slim };

template <class Draw>
std::string in_both_rooms(const Draw& draw) {
  return draw(Room::broad) + draw(Room::slim);
}

/// A number with one decimal.
[[nodiscard]] std::string coordinate(double value);
/// The tag that begins a chart of this size; `says` stands for it where it cannot be seen.
[[nodiscard]] std::string open_chart(Room room, double width, double height, std::string_view says);

}  // namespace relayout
