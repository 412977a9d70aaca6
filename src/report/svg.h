#pragma once

#include <optional>
#include <string>
#include <vector>

namespace relayout {

/// Charts as inline SVG for html_page(): no script, colours from its style sheet, text that says the same as the marks. Values on
/// logarithmic axes; 0 stands at the left or lower edge.

/// One bar of an amount with yardsticks beside it.
struct SvgBar {
  std::string label;
  double value = 0;
  std::optional<double> floor, bound;  ///< a tick, and a line that should not be passed
  bool bad = false;
  std::string note;  ///< behind the bar
};
[[nodiscard]] std::string svg_bars(const std::vector<SvgBar>& bars);

/// Points of a line from left to right; nothing is a gap.
struct SvgLine {
  std::string label;
  std::vector<std::optional<double>> values;
  bool dashed = false;
};
/// A place along the x axis that is pointed out.
struct SvgMark {
  std::size_t at = 0;
  std::string label;
};
/// `names`: what each place along the x axis is, shown when it is pointed at.
[[nodiscard]] std::string svg_lines(const std::vector<SvgLine>& lines, const std::vector<SvgMark>& marks,
                                    const std::vector<std::string>& names, const std::string& x_title);

/// A piece of work: operations per byte, 10⁹ operations per second, its part of the whole time.
struct SvgWork {
  std::string label;
  double intensity = 0, rate = 0, share = 0;
};
/// Work as circles whose areas are its times, below the machine's limits: `rate` at most, and `gigabytes` per second.
[[nodiscard]] std::string svg_roofline(const std::vector<SvgWork>& work, double rate, double gigabytes);

/// Columns of counts, heights in the logarithm.
[[nodiscard]] std::string svg_histogram(const std::vector<std::pair<std::string, double>>& columns, const std::string& x_title);

}  // namespace relayout
