// Draws bars on a logarithmic axis: errors against their bounds, and counts of elements by their error.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "report/charts.h"
#include "report/table.h"

namespace relayout {

// Bars beside their floors and bounds.
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

// Counts of elements by their error.
namespace {

class Histogram {
 public:
  using Columns = std::vector<std::pair<std::string, double>>;

  Histogram(const Columns& columns, Room room) : columns_(columns), room_(room) {
    for (const auto& [name, count] : columns) most_ = std::max(most_, count);
    step_ = (width_ - kLeft - kRight) / static_cast<double>(std::max<std::size_t>(columns.size(), 8));
  }

  [[nodiscard]] std::string draw(const std::string& x_title) const {
    std::string out = open_chart(room_, width_, kHeight, "error histogram");
    for (std::size_t i = 0; i < columns_.size(); ++i) out += column(i);
    return out + svg_label(width_ / 2, kHeight - 8, shortened(x_title, is_slim() ? 52 : 100), "label middle") + "</svg>\n";
  }

 private:
  static constexpr double kHeight = 180, kLeft = 10, kRight = 14, kTop = 20, kBottom = 40;

  [[nodiscard]] bool is_slim() const { return room_ == Room::slim; }

  [[nodiscard]] std::string column(std::size_t i) const {
    const auto& [name, count] = columns_[i];
    const double share = count > 0 ? (1 + std::log10(count)) / (1 + std::log10(most_)) : 0;
    const double height = (kHeight - kTop - kBottom) * share, x = kLeft + step_ * static_cast<double>(i);
    std::string out = svg_element("rect", "x='" + coordinate(x + 2) + "' y='" + coordinate(kHeight - kBottom - height) + "' width='" +
                                              coordinate(step_ - 4) + "' height='" + coordinate(height) + "' class='plain'");
    if (is_named(i)) out += svg_label(x + step_ / 2, kHeight - kBottom + 14, name, "label middle small");
    if (count > 0 && is_counted(i)) {
      out += svg_label(x + step_ / 2, kHeight - kBottom - height - 4, count_text(count), "label middle small");
    }
    return out;
  }

  static std::string count_text(double count) {
    return count < 1e4 ? coordinate(count).substr(0, coordinate(count).size() - 2) : scientific(count);
  }

  // With more columns, every fourth has room for its name, and some for their counts.
  [[nodiscard]] bool is_named(std::size_t i) const { return columns_.size() <= (is_slim() ? 8 : 12) || is_labelled(i, 4); }
  [[nodiscard]] bool is_counted(std::size_t i) const {
    return columns_.size() <= (is_slim() ? 8 : 16) || is_labelled(i, is_slim() ? 4 : 2);
  }
  /// The last column is always labelled: it has the largest error.
  [[nodiscard]] bool is_labelled(std::size_t i, std::size_t each) const {
    const std::size_t after = columns_.size() - 1 - i;
    return after == 0 || (i % each == 0 && after >= std::min<std::size_t>(each, is_slim() ? 4 : 3));
  }

  const Columns& columns_;
  Room room_;
  double width_ = drawing_width(room_), step_ = 0, most_ = 1;
};

}  // namespace

std::string svg_histogram(const std::vector<std::pair<std::string, double>>& columns, const std::string& x_title) {
  return in_both_rooms([&](Room room) { return Histogram(columns, room).draw(x_title); });
}

}  // namespace relayout
