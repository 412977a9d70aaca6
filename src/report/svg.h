#pragma once

#include <string>
#include <string_view>

namespace relayout {

// Parts of pictures as inline SVG on pages of html_page(): no script, colours from its style sheet, and text equivalent to the marks.

/// Every picture is on a page twice, drawn for wide windows and for phones; the style sheet of verdict_page.cpp shows one of them.
enum class Room { broad, slim };

template <class Draw>
std::string in_both_rooms(const Draw& draw) {
  return draw(Room::broad) + draw(Room::slim);
}

/// Width of a chart with axes. At 380 one unit is about a pixel of a phone, so that labels have the size of the page's text.
[[nodiscard]] constexpr double drawing_width(Room room) {
  return room == Room::slim ? 380 : 760;
}

/// A number with one decimal.
[[nodiscard]] std::string coordinate(double value);
/// The opening tag of a picture of this size; `says` is its text alternative.
[[nodiscard]] std::string open_chart(Room room, double width, double height, std::string_view says);
/// "<rect x='1.0' …/>": an element without contents.
[[nodiscard]] std::string svg_element(const std::string& name, const std::string& attributes);
/// A straight line. Styles are classes of the style sheet.
[[nodiscard]] std::string svg_segment(double x1, double y1, double x2, double y2, const std::string& style);
/// Text that begins at x, or as its style says.
[[nodiscard]] std::string svg_label(double x, double y, const std::string& text, const std::string& style = "label");

/// A logarithmic axis between whole powers of ten around the positive finite values; 0 is at its lower end.
struct LogAxis {
  int lowest = -8, highest = 0;
  bool empty = true;

  void take(double value);
  /// To be called after the last value.
  void finish();
  /// Position of a value on the axis, in [0, 1].
  [[nodiscard]] double place(double value) const;
  /// Powers from one mark to the next.
  [[nodiscard]] int step() const;
};

/// "1e-7", the label of a mark.
[[nodiscard]] std::string power_text(int power);

}  // namespace relayout
