// Draws the bar chart of HTML pages: errors on a logarithmic axis, each bar against its floor (line) and its bound (broken line).
#include "report/bar_chart.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "report/short_names.h"
#include "report/svg.h"

namespace relayout {
namespace {

class BarChart {
 public:
  BarChart(const std::vector<SvgBar>& bars, Room room) : bars_(bars), room_(room), bottom_(kTop + kRow * static_cast<double>(bars.size())) {
    for (const SvgBar& bar : bars) {
      axis_.take(bar.value);
      axis_.take(bar.floor.value_or(0));
      axis_.take(bar.bound.value_or(0));
    }
    axis_.finish();
  }

  [[nodiscard]] std::string draw() const {
    std::string out = open_chart(room_, width_, bottom_ + kFoot, "error against floor and bound") + grid();
    const std::vector<std::string> names = labels();
    double y = kTop;
    for (std::size_t i = 0; i < bars_.size(); ++i) {
      out += row(bars_[i], names[i], y);
      y += kRow;
    }
    return out + "</svg>\n";
  }

 private:
  static constexpr double kRow = 26, kTop = 8, kFoot = 28;

  [[nodiscard]] bool is_slim() const { return room_ == Room::slim; }
  [[nodiscard]] double x(double value) const { return left_ + (width_ - left_ - right_) * axis_.place(value); }

  [[nodiscard]] std::vector<std::string> labels() const {
    std::vector<std::string> out;
    for (const SvgBar& bar : bars_) out.push_back(bar.label);
    return shortened_apart(out, is_slim() ? 15 : 26);
  }

  [[nodiscard]] std::string grid() const {
    std::string out;
    for (int power = axis_.lowest; power <= axis_.highest; power += is_slim() ? 2 * axis_.step() : axis_.step()) {
      const double at = x(std::pow(10.0, power));
      out += svg_segment(at, kTop, at, bottom_, "grid") + svg_label(at, bottom_ + 18, power_text(power), "label middle");
    }
    return out;
  }

  [[nodiscard]] std::string row(const SvgBar& bar, const std::string& name, double y) const {
    std::string out = svg_label(left_ - 8, y + 17, name, "label end");
    out += svg_element("rect", "x='" + coordinate(left_) + "' y='" + coordinate(y + 6) + "' width='" +
                                   coordinate(std::max(x(bar.value) - left_, 1.0)) + "' height='14' class='" + (bar.bad ? "bad" : "good") +
                                   "'");
    if (bar.floor) out += svg_segment(x(*bar.floor), y + 3, x(*bar.floor), y + 23, "floor");
    if (bar.bound) out += svg_segment(x(*bar.bound), y + 3, x(*bar.bound), y + 23, "bound");
    return out + svg_label(width_ - right_ + 10, y + 17, bar.note);
  }

  const std::vector<SvgBar>& bars_;
  Room room_;
  double bottom_;
  double width_ = drawing_width(room_), left_ = is_slim() ? 110 : 170, right_ = is_slim() ? 108 : 130;
  LogAxis axis_;
};

}  // namespace

std::string svg_bars(const std::vector<SvgBar>& bars) {
  return in_both_rooms([&](Room room) { return BarChart(bars, room).draw(); });
}

}  // namespace relayout
