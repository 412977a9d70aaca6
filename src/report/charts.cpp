// Draws charts with logarithmic axes, and shares of a whole as nested parts or stacked bars.

#include "report/charts.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/numbers.h"
#include "report/page.h"
#include "report/table.h"

namespace relayout {

std::string coordinate(double value) {
  return fixed(value, 1);
}

namespace {

/// "<rect x='1.0' …/>": an element without contents.
std::string svg_element(const std::string& name, const std::string& attributes) {
  return "<" + name + " " + attributes + "/>\n";
}

std::string svg_box(double x, double y, double width, double height, const std::string& style) {
  return svg_element("rect", "x='" + coordinate(x) + "' y='" + coordinate(y) + "' width='" + coordinate(width) + "' height='" +
                                 coordinate(height) + "' class='" + style + "'");
}

/// "1e-7", the label of a mark.
std::string power_text(int power) {
  return "1e" + std::to_string(power);
}

}  // namespace

std::string open_chart(Room room, double width, double height, std::string_view says) {
  return "<svg class='" + std::string(room == Room::slim ? "slim" : "broad") + "' viewBox='0 0 " + coordinate(width) + " " +
         coordinate(height) + "' role='img' aria-label='" + escape_markup(says) + "'>\n";
}

std::string svg_segment(double x1, double y1, double x2, double y2, const std::string& style) {
  return svg_element("line", "x1='" + coordinate(x1) + "' y1='" + coordinate(y1) + "' x2='" + coordinate(x2) + "' y2='" + coordinate(y2) +
                                 "' class='" + style + "'");
}

std::string svg_label(double x, double y, const std::string& text, const std::string& style) {
  return "<text x='" + coordinate(x) + "' y='" + coordinate(y) + "' class='" + style + "'>" + escape_markup(text) + "</text>\n";
}

void LogAxis::take(double value) {
  if (!(value > 0) || !std::isfinite(value)) return;
  const double power = std::log10(value);
  const int below = static_cast<int>(std::floor(power)), above = static_cast<int>(std::ceil(power));
  lowest = empty ? below : std::min(lowest, below);
  highest = empty ? above : std::max(highest, above);
  empty = false;
}

void LogAxis::finish() {
  if (highest <= lowest) highest = lowest + 1;
}

double LogAxis::place(double value) const {
  if (std::isnan(value) || value == INFINITY) return 1;
  if (!(value > 0)) return 0;
  return std::clamp((std::log10(value) - lowest) / (highest - lowest), 0.0, 1.0);
}

int LogAxis::step() const {
  return std::max(1, (highest - lowest + 7) / 8);
}

// What charts have in common.
namespace {

/// The area of a chart between its margins, with a logarithmic axis on one side or both.
struct Frame {
  Room room = Room::broad;
  double left = 0, right = 0, top = 0, bottom = 0;  ///< margins
  double height = 0;                                ///< of all
  double width = drawing_width(room);
  LogAxis across = {}, up = {};

  [[nodiscard]] bool is_slim() const { return room == Room::slim; }
  [[nodiscard]] double floor() const { return height - bottom; }
  [[nodiscard]] double x(double value) const { return left + (width - left - right) * across.place(value); }
  [[nodiscard]] double y(double value) const { return floor() - (floor() - top) * up.place(value); }

  /// The grid of the x axis, with its labels so far below the area.
  [[nodiscard]] std::string across_grid(double below) const {
    std::string out;
    for (int power = across.lowest; power <= across.highest; power += is_slim() ? 2 * across.step() : across.step()) {
      const double at = x(std::pow(10.0, power));
      out += svg_segment(at, top, at, floor(), "grid") + svg_label(at, floor() + below, power_text(power), "label middle");
    }
    return out;
  }

  /// The grid of the y axis; `has_zero`: its lowest place is that of 0.
  [[nodiscard]] std::string up_grid(bool has_zero = false) const {
    std::string out;
    for (int power = up.lowest; power <= up.highest; power += up.step()) {
      const double at = y(std::pow(10.0, power));
      const std::string text = has_zero && power == up.lowest ? "0" : power_text(power);
      out += svg_segment(left, at, width - right, at, "grid") + svg_label(left - 6, at + 4, text, "label end");
    }
    return out;
  }
};

/// The frame of a chart with two axes.
Frame axes_frame(Room room) {
  const bool is_slim = room == Room::slim;
  return {.room = room, .left = is_slim ? 44.0 : 60.0, .right = is_slim ? 10.0 : 20.0};
}

// Bars beside their floors and bounds.

class BarChart : Frame {
 public:
  BarChart(const std::vector<SvgBar>& bars, Room r)
      : Frame{.room = r, .top = 8, .bottom = 28, .height = 36 + kRow * static_cast<double>(bars.size())}, bars_(bars) {
    left = is_slim() ? 110 : 170;
    right = is_slim() ? 108 : 130;
    for (const SvgBar& bar : bars) {
      for (const double value : {bar.value, bar.floor.value_or(0), bar.bound.value_or(0)}) across.take(value);
    }
    across.finish();
  }

  [[nodiscard]] std::string draw() const {
    std::string out = open_chart(room, width, height, "error against floor and bound") + across_grid(18);
    std::vector<std::string> names;
    for (const SvgBar& bar : bars_) names.push_back(bar.label);
    names = shortened_apart(names, is_slim() ? 15 : 26);
    for (std::size_t i = 0; i < bars_.size(); ++i) out += row(bars_[i], names[i], top + kRow * static_cast<double>(i));
    return out + "</svg>\n";
  }

 private:
  static constexpr double kRow = 26;

  [[nodiscard]] std::string row(const SvgBar& bar, const std::string& name, double at) const {
    const auto tick = [&](double value, const char* style) { return svg_segment(x(value), at + 3, x(value), at + 23, style); };
    std::string out = svg_label(left - 8, at + 17, name, "label end") +
                      svg_box(left, at + 6, std::max(x(bar.value) - left, 1.0), 14, bar.bad ? "bad" : "good");
    if (bar.floor) out += tick(*bar.floor, "floor");
    if (bar.bound) out += tick(*bar.bound, "bound");
    return out + svg_label(width - right + 10, at + 17, bar.note);
  }

  const std::vector<SvgBar>& bars_;
};

}  // namespace

std::string svg_bars(const std::vector<SvgBar>& bars) {
  return in_both_rooms([&](Room room) { return BarChart(bars, room).draw(); });
}

// Counts of elements by their error.
namespace {

class Histogram : Frame {
 public:
  using Columns = std::vector<std::pair<std::string, double>>;

  Histogram(const Columns& columns, Room r)
      : Frame{.room = r, .left = 10, .right = 14, .top = 20, .bottom = 40, .height = 180}, columns_(columns) {
    for (const auto& [name, count] : columns) most_ = std::max(most_, count);
    step_ = (width - left - right) / static_cast<double>(std::max<std::size_t>(columns.size(), 8));
  }

  [[nodiscard]] std::string draw(const std::string& x_title) const {
    std::string out = open_chart(room, width, height, "error histogram");
    for (std::size_t i = 0; i < columns_.size(); ++i) out += column(i);
    return out + svg_label(width / 2, height - 8, shortened(x_title, is_slim() ? 52 : 100), "label middle") + "</svg>\n";
  }

 private:
  [[nodiscard]] std::string column(std::size_t i) const {
    const auto& [name, count] = columns_[i];
    const double share = count > 0 ? (1 + std::log10(count)) / (1 + std::log10(most_)) : 0;
    const double tall = (floor() - top) * share, at = left + step_ * static_cast<double>(i);
    std::string out = svg_box(at + 2, floor() - tall, step_ - 4, tall, "plain");
    if (is_named(i)) out += svg_label(at + step_ / 2, floor() + 14, name, "label middle small");
    const std::string text = count < 1e4 ? fixed(count, 0) : scientific(count);
    if (count > 0 && is_counted(i)) out += svg_label(at + step_ / 2, floor() - tall - 4, text, "label middle small");
    return out;
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
  double step_ = 0, most_ = 1;
};

}  // namespace

std::string svg_histogram(const std::vector<std::pair<std::string, double>>& columns, const std::string& x_title) {
  return in_both_rooms([&](Room room) { return Histogram(columns, room).draw(x_title); });
}

// Errors by depth, with marked places.
namespace {

class LineChart : Frame {
 public:
  /// The names of marks are on a line above the plot, where they cover nothing.
  LineChart(const std::vector<SvgLine>& lines, bool has_marks, Room r) : Frame(axes_frame(r)), lines_(lines) {
    top = has_marks ? 42 : 24;
    bottom = 36;
    height = top + 240 + bottom;
    for (const SvgLine& one : lines) {
      count_ = std::max(count_, one.values.size());
      for (const auto& value : one.values) {
        up.take(value.value_or(0));
        has_zero_ = has_zero_ || value == 0.0;
      }
    }
    up.finish();
    if (has_zero_) --up.lowest;  // 0 has a separate place below all powers
    step_ = (width - left - right) / static_cast<double>(std::max<std::size_t>(count_ - 1, 1));
  }

  [[nodiscard]] std::string draw(const std::vector<SvgMark>& marks, const std::vector<std::string>& names,
                                 const std::string& x_title) const {
    std::string out = open_chart(room, width, height, "error by depth") + up_grid(has_zero_) + curves();
    for (const SvgMark& one : marks) out += mark(one);
    for (std::size_t i = 0; i < std::min(names.size(), count_); ++i) out += description(i, names[i]);
    return out + svg_label((width + left) / 2, height - 8, shortened(x_title, is_slim() ? 46 : 100), "label middle") + "</svg>\n";
  }

 private:
  [[nodiscard]] double place(std::size_t i) const { return left + step_ * static_cast<double>(i); }

  /// The lines, and the legend in a row above the plot.
  [[nodiscard]] std::string curves() const {
    std::string out;
    double legend = left;
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
      if (one.values[i]) out += (drawing ? "L" : "M") + coordinate(place(i)) + " " + coordinate(y(*one.values[i]));
      drawing = one.values[i].has_value();
    }
    return out;
  }

  [[nodiscard]] std::string mark(const SvgMark& one) const {
    const double at = place(one.at);
    const std::string edge = coordinate(top);
    return svg_segment(at, top, at, floor(), "mark") +
           svg_element("path", "d='M" + coordinate(at - 6) + " " + edge + "L" + coordinate(at + 6) + " " + edge + "L" + coordinate(at) +
                                   " " + coordinate(top + 10) + "Z' class='bad'") +
           mark_label(one.label, at);
  }

  /// Centred above the mark, where there is room on both sides.
  [[nodiscard]] std::string mark_label(const std::string& label, double at) const {
    constexpr double kCharacter = 7.5;
    const std::string text = shortened(label, static_cast<std::size_t>((width - left - right) / kCharacter));
    const double half = kCharacter * static_cast<double>(display_width(text)) / 2;
    return svg_label(std::clamp(at, left + half, std::max(left + half, width - right - half)), top - 8, text, "label middle");
  }

  /// A description of a place, shown on hover.
  [[nodiscard]] std::string description(std::size_t i, const std::string& name) const {
    const double wide = std::max(step_, 1.0);
    std::string out = "<rect x='" + coordinate(place(i) - wide / 2) + "' y='" + coordinate(top) + "' width='" + coordinate(wide) +
                      "' height='" + coordinate(floor() - top) + "' class='hit'><title>" + escape_markup(name);
    for (const SvgLine& one : lines_) {
      if (i < one.values.size() && one.values[i]) out += "\n" + escape_markup(one.label) + " " + scientific(*one.values[i]);
    }
    return out + "</title></rect>\n";
  }

  const std::vector<SvgLine>& lines_;
  double step_ = 0;        ///< from one place on the x axis to the next
  std::size_t count_ = 1;  ///< places on the x axis
  bool has_zero_ = false;
};

}  // namespace

std::string svg_lines(const std::vector<SvgLine>& lines, const std::vector<SvgMark>& marks, const std::vector<std::string>& names,
                      const std::string& x_title) {
  return in_both_rooms([&](Room room) { return LineChart(lines, !marks.empty(), room).draw(marks, names, x_title); });
}

// Work per byte against speed, below the limits of the machine.
namespace {

class Roofline : Frame {
 public:
  Roofline(const std::vector<SvgWork>& work, double rate, double gigabytes, Room r)
      : Frame(axes_frame(r)), work_(work), rate_(rate), gigabytes_(gigabytes) {
    top = 12;
    bottom = 40;
    height = 320;
    across.take(ridge_);
    up.take(rate);
    for (const SvgWork& one : work) {
      across.take(one.intensity);
      up.take(one.rate);
    }
    across.finish();
    up.finish();
  }

  [[nodiscard]] std::string draw() const {
    std::string out = open_chart(room, width, height, "operations per second by operations per byte, below the machine's limits");
    out += up_grid() + across_grid(16) + roof();
    for (const SvgWork& one : work_) out += circle(one);
    return out + svg_label((width + left) / 2, height - 6, "GFLOP/s by FLOP per byte moved", "label middle") + "</svg>\n";
  }

 private:
  [[nodiscard]] std::string roof() const {
    const double lowest = std::max(std::pow(10.0, across.lowest), std::pow(10.0, up.lowest) / gigabytes_);
    return svg_segment(x(lowest), y(lowest * gigabytes_), x(ridge_), y(rate_), "floor") +
           svg_segment(x(ridge_), y(rate_), width - right, y(rate_), "floor");
  }

  [[nodiscard]] std::string circle(const SvgWork& one) const {
    constexpr double kSmallest = 2;              // radius for no time
    const double largest = is_slim() ? 28 : 40;  // radius for the total time
    const double radius = std::max(kSmallest, largest * std::sqrt(std::clamp(one.share, 0.0, 1.0)));
    return "<circle cx='" + coordinate(x(one.intensity)) + "' cy='" + coordinate(y(one.rate)) + "' r='" + coordinate(radius) +
           "' class='work'><title>" + escape_markup(one.label) + "</title></circle>\n";
  }

  const std::vector<SvgWork>& work_;
  double rate_, gigabytes_, ridge_ = rate_ / gigabytes_;
};

}  // namespace

std::string svg_roofline(const std::vector<SvgWork>& work, double rate, double gigabytes) {
  return in_both_rooms([&](Room room) { return Roofline(work, rate, gigabytes, room).draw(); });
}

// Draws shares of a whole: nested parts, and stacked bars of several wholes on one scale.
namespace {

constexpr double kRow = 24, kBar = 34;
constexpr double kLetter = 7.2;      ///< width of a character in the labels' font
constexpr double kLeast = 0.001;     ///< smallest part of the whole: one column of 960
constexpr std::size_t kLevels = 12;  ///< number of levels drawn
constexpr std::size_t kShades = 4;
constexpr std::size_t kShortestLabel = 4;

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

constexpr double width_of(Room room) {
  return room == Room::slim ? 400 : 960;
}

/// A box with its name if it fits, and with the whole text on hover.
std::string frame(const Box& box, std::string_view name, const std::string& title, std::size_t shade) {
  std::string out = "<g><rect class='frame shade" + std::to_string(shade % kShades) + "' x='" + coordinate(box.x) + "' y='" +
                    coordinate(box.y) + "' width='" + coordinate(box.width) + "' height='" + coordinate(box.height - 1) + "'/>";
  const auto room = static_cast<std::size_t>(std::max(0.0, (box.width - 8) / kLetter));
  if (room >= kShortestLabel) {
    out += "<text class='label' x='" + coordinate(box.x + 4) + "' y='" + coordinate(box.y + box.height / 2 + 4) + "'>" +
           escape_markup(shortened(name, room)) + "</text>";
  }
  return out + "<title>" + escape_markup(title) + "</title></g>\n";
}

std::string title_of(const Share& share, double whole) {
  return share.name + ": " + (share.note.empty() ? "" : share.note + ", ") + percent_text(share.value / whole);
}

std::size_t levels_of(const Share& share, std::size_t most) {
  std::size_t below = 0;
  if (most > 1) {
    for (const Share& part : share.parts) below = std::max(below, levels_of(part, most - 1));
  }
  return below + 1;
}

class Icicle {
 public:
  Icicle(double whole, double width) : whole_(whole), width_(width) {}
  std::string draw(const Share& share, double x, std::size_t level, std::size_t shade) {
    const double width = width_ * share.value / whole_;
    std::string out =
        frame({x, static_cast<double>(level) * kRow, width, kRow}, share.name, title_of(share, whole_), level == 0 ? 0 : shade);
    if (level + 1 == kLevels) return out;
    double at = x, narrow = 0;
    int64_t count = 0;
    for (const Share& part : share.parts) {
      if (part.value < kLeast * whole_) {
        narrow += part.value;
        ++count;
        continue;
      }
      out += draw(part, at, level + 1, ++shade);
      at += width_ * part.value / whole_;
    }
    if (narrow < kLeast * whole_) return out;
    const Share rest{format_count(count) + " small", narrow, "", {}};
    return out +
           frame({at, static_cast<double>(level + 1) * kRow, width_ * narrow / whole_, kRow}, rest.name, title_of(rest, whole_), shade + 1);
  }

 private:
  double whole_, width_;
};

std::string draw_stacks(const std::vector<Share>& wholes, double most, Room room) {
  std::unordered_map<std::string, std::size_t> shades;
  std::string body;
  double y = 0;
  for (const Share& whole : wholes) {
    body += "<text class='label' x='0' y='" + coordinate(y + 14) + "'>" + escape_markup(whole.name + "   " + whole.note) + "</text>\n";
    double x = 0;
    for (const Share& part : whole.parts) {
      const std::size_t shade = shades.try_emplace(part.name, shades.size()).first->second;
      const double width = width_of(room) * part.value / most;
      body += frame({x, y + 20, width, kBar}, part.name, title_of(part, whole.value), shade);
      x += width;
    }
    y += kBar + 30;
  }
  return open_chart(room, width_of(room), y, "parts of each, on one scale") + body + "</svg>\n";
}

}  // namespace

std::string svg_icicle(const Share& whole) {
  if (!(whole.value > 0)) return "";
  const double height = static_cast<double>(levels_of(whole, kLevels)) * kRow;
  return in_both_rooms([&](Room room) {
    return open_chart(room, width_of(room), height, "parts of " + whole.name) + Icicle(whole.value, width_of(room)).draw(whole, 0, 0, 0) +
           "</svg>\n";
  });
}

std::string svg_stacks(const std::vector<Share>& wholes) {
  double most = 0;
  for (const Share& whole : wholes) most = std::max(most, whole.value);
  if (!(most > 0)) return "";
  return in_both_rooms([&](Room room) { return draw_stacks(wholes, most, room); });
}

}  // namespace relayout
