// Declares the charts of HTML pages, as inline SVG.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace relayout {

// Parts of pictures as inline SVG on pages of html_page(): no script, colours from its style sheet, and text equivalent to the marks.

/// Every picture is on a page twice, drawn for wide windows and for phones; the style sheet of report.cpp shows one of them.
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

/// One bar, with its floor and bound for comparison.
struct SvgBar {
  std::string label;
  double value = 0;
  std::optional<double> floor, bound;  ///< drawn as a tick, and as a line that should not be exceeded
  bool bad = false;
  std::string note;  ///< text after the bar
};
/// Draws bars one below the other on a logarithmic axis.
[[nodiscard]] std::string svg_bars(const std::vector<SvgBar>& bars);

/// Points of a line from left to right; a missing value is a gap.
struct SvgLine {
  std::string label;
  std::vector<std::optional<double>> values;
  bool dashed = false;
};
/// A highlighted place on the x axis.
struct SvgMark {
  std::size_t at = 0;
  std::string label;
};
/// Draws lines over a common x axis; the y axis is logarithmic. `names`: names of the places on the x axis, shown on hover.
[[nodiscard]] std::string svg_lines(const std::vector<SvgLine>& lines, const std::vector<SvgMark>& marks,
                                    const std::vector<std::string>& names, const std::string& x_title);

/// Draws counts as columns of logarithmic height.
[[nodiscard]] std::string svg_histogram(const std::vector<std::pair<std::string, double>>& columns, const std::string& x_title);

/// A piece of work: operations per byte, 10⁹ operations per second, share of the total time.
struct SvgWork {
  std::string label;
  double intensity = 0, rate = 0, share = 0;
};
/// Draws work as circles with areas proportional to time, below the roofline of the machine: its peak `rate`, and `gigabytes` per second.
/// Both axes are logarithmic.
[[nodiscard]] std::string svg_roofline(const std::vector<SvgWork>& work, double rate, double gigabytes);

// Parts of a whole as inline SVG, in proportional widths. Shades and lines separate them, also in black and white. A part too narrow for
// its name shows it on hover.

/// A part of a whole, with its own parts.
struct Share {
  std::string name;
  double value = 0;  ///< at least the sum of its parts
  std::string note;  ///< shown next to the name on hover
  std::vector<Share> parts;
};

/// Draws a whole above its parts, and these above theirs. Parts below a thousandth of the whole are merged into a nameless part.
[[nodiscard]] std::string svg_icicle(const Share& whole);

/// Draws wholes one below the other on a common scale, each as a row of its parts. Parts of the same name have the same shade.
[[nodiscard]] std::string svg_stacks(const std::vector<Share>& wholes);

}  // namespace relayout
