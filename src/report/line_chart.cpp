// Draws lines of errors by depth, with marked places.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "report/charts.h"
#include "report/page.h"
#include "report/table.h"

namespace relayout {
namespace {

class LineChart {
 public:
  /// The names of marks are on a line above the plot, where they cover nothing.
  LineChart(const std::vector<SvgLine>& lines, bool has_marks, Room room) : lines_(lines), room_(room), top_(has_marks ? 42 : 24) {
    for (const SvgLine& one : lines) take(one);
    axis_.finish();
    if (has_zero_) --axis_.lowest;  // 0 has a separate place below all powers
    step_ = (width_ - left_ - right_) / static_cast<double>(std::max<std::size_t>(count_ - 1, 1));
  }

  [[nodiscard]] std::string draw(const std::vector<SvgMark>& marks, const std::vector<std::string>& names,
                                 const std::string& x_title) const {
    std::string out = open_chart(room_, width_, height_, "error by depth") + grid() + curves();
    for (const SvgMark& one : marks) out += mark(one);
    for (std::size_t i = 0; i < std::min(names.size(), count_); ++i) out += description(i, names[i]);
    return out + svg_label((width_ + left_) / 2, height_ - 8, shortened(x_title, is_slim() ? 46 : 100), "label middle") + "</svg>\n";
  }

 private:
  static constexpr double kBottom = 36, kPlot = 240;

  void take(const SvgLine& one) {
    count_ = std::max(count_, one.values.size());
    for (const auto& value : one.values) {
      axis_.take(value.value_or(0));
      has_zero_ = has_zero_ || value == 0.0;
    }
  }

  [[nodiscard]] bool is_slim() const { return room_ == Room::slim; }
  [[nodiscard]] double x(std::size_t i) const { return left_ + step_ * static_cast<double>(i); }
  [[nodiscard]] double y(double value) const { return height_ - kBottom - (height_ - top_ - kBottom) * axis_.place(value); }

  [[nodiscard]] std::string grid() const {
    std::string out;
    for (int power = axis_.lowest; power <= axis_.highest; power += axis_.step()) {
      const double at = y(std::pow(10.0, power));
      const std::string text = has_zero_ && power == axis_.lowest ? "0" : power_text(power);
      out += svg_segment(left_, at, width_ - right_, at, "grid") + svg_label(left_ - 6, at + 4, text, "label end");
    }
    return out;
  }

  /// The lines, and the legend in a row above the plot.
  [[nodiscard]] std::string curves() const {
    std::string out;
    double legend = left_;
    int number = 0;
    for (const SvgLine& one : lines_) {
      const std::string style = "line line" + std::to_string(number++) + (one.dashed ? " dashed" : "");
      out += svg_element("path", "d='" + path(one) + "' class='" + style + "'");
      out += svg_segment(legend, 10, legend + 24, 10, style) + svg_label(legend + 30, 14, one.label);
      legend += 60 + 7.0 * static_cast<double>(one.label.size());
    }
    return out;
  }

  [[nodiscard]] std::string path(const SvgLine& one) const {
    std::string out;
    bool drawing = false;
    for (std::size_t i = 0; i < one.values.size(); ++i) {
      if (one.values[i]) out += (drawing ? "L" : "M") + coordinate(x(i)) + " " + coordinate(y(*one.values[i]));
      drawing = one.values[i].has_value();
    }
    return out;
  }

  [[nodiscard]] std::string mark(const SvgMark& one) const {
    const double at = x(one.at);
    const std::string top = coordinate(top_);
    return svg_segment(at, top_, at, height_ - kBottom, "mark") +
           svg_element("path", "d='M" + coordinate(at - 6) + " " + top + "L" + coordinate(at + 6) + " " + top + "L" + coordinate(at) + " " +
                                   coordinate(top_ + 10) + "Z' class='bad'") +
           mark_label(one.label, at);
  }

  /// Centred above the mark, where there is room on both sides.
  [[nodiscard]] std::string mark_label(const std::string& label, double at) const {
    constexpr double kCharacter = 7.5;
    const std::string text = shortened(label, static_cast<std::size_t>((width_ - left_ - right_) / kCharacter));
    const double half = kCharacter * static_cast<double>(display_width(text)) / 2;
    return svg_label(std::clamp(at, left_ + half, std::max(left_ + half, width_ - right_ - half)), top_ - 8, text, "label middle");
  }

  /// A description of a place, shown on hover.
  [[nodiscard]] std::string description(std::size_t i, const std::string& name) const {
    const double wide = std::max(step_, 1.0);
    std::string out = "<rect x='" + coordinate(x(i) - wide / 2) + "' y='" + coordinate(top_) + "' width='" + coordinate(wide) +
                      "' height='" + coordinate(height_ - top_ - kBottom) + "' class='hit'><title>" + escape_markup(name);
    for (const SvgLine& one : lines_) {
      if (i < one.values.size() && one.values[i]) out += "\n" + escape_markup(one.label) + " " + scientific(*one.values[i]);
    }
    return out + "</title></rect>\n";
  }

  const std::vector<SvgLine>& lines_;
  Room room_;
  double top_, height_ = top_ + kPlot + kBottom;
  double width_ = drawing_width(room_), left_ = is_slim() ? 44 : 60, right_ = is_slim() ? 10 : 20;
  double step_ = 0;        ///< from one place on the x axis to the next
  std::size_t count_ = 1;  ///< places on the x axis
  bool has_zero_ = false;
  LogAxis axis_;
};

}  // namespace

std::string svg_lines(const std::vector<SvgLine>& lines, const std::vector<SvgMark>& marks, const std::vector<std::string>& names,
                      const std::string& x_title) {
  return in_both_rooms([&](Room room) { return LineChart(lines, !marks.empty(), room).draw(marks, names, x_title); });
}

}  // namespace relayout
