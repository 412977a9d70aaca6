// Charts as inline SVG.
#include "report/svg.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "report/markup.h"
#include "report/short_names.h"

namespace relayout {
namespace {

std::string number(double value) {
  std::array<char, 64> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 1).ptr};
}

std::string scientific(double value) {
  if (value == 0) return "0";
  std::array<char, 64> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific, 1).ptr};
}

/// Whole powers of ten around what is positive and finite.
struct LogScale {
  int lowest = -8, highest = 0;
  bool empty = true;

  void take(double value) {
    if (!(value > 0) || !std::isfinite(value)) return;
    const double power = std::log10(value);
    const int below = static_cast<int>(std::floor(power)), above = static_cast<int>(std::ceil(power));
    lowest = empty ? below : std::min(lowest, below);
    highest = empty ? above : std::max(highest, above);
    empty = false;
  }
  void finish() {
    if (highest <= lowest) highest = lowest + 1;
  }
  /// 0 … 1
  [[nodiscard]] double place(double value) const {
    if (std::isnan(value) || value == INFINITY) return 1;
    if (!(value > 0)) return 0;
    return std::clamp((std::log10(value) - lowest) / (highest - lowest), 0.0, 1.0);
  }
  [[nodiscard]] int step() const { return std::max(1, (highest - lowest + 7) / 8); }
};

std::string element(const std::string& name, const std::string& attributes) {
  return "<" + name + " " + attributes + "/>\n";
}
std::string line(double x1, double y1, double x2, double y2, const std::string& style) {
  return element("line",
                 "x1='" + number(x1) + "' y1='" + number(y1) + "' x2='" + number(x2) + "' y2='" + number(y2) + "' class='" + style + "'");
}
std::string label(double x, double y, const std::string& text, const std::string& style = "label") {
  return "<text x='" + number(x) + "' y='" + number(y) + "' class='" + style + "'>" + escape_markup(text) + "</text>\n";
}
std::string open(double width, double height, const std::string& says) {
  return "<svg viewBox='0 0 " + number(width) + " " + number(height) + "' role='img' aria-label='" + escape_markup(says) + "'>\n";
}

std::vector<std::string> labels_of(const std::vector<SvgBar>& bars) {
  constexpr std::size_t kLongest = 26;
  std::vector<std::string> out;
  for (const SvgBar& bar : bars) out.push_back(bar.label);
  return shortened_apart(out, kLongest);
}

}  // namespace

std::string svg_bars(const std::vector<SvgBar>& bars) {
  constexpr double kWidth = 760, kLeft = 170, kRight = 130, kRow = 26, kTop = 8, kFoot = 28;
  LogScale scale;
  for (const SvgBar& bar : bars) {
    scale.take(bar.value);
    scale.take(bar.floor.value_or(0));
    scale.take(bar.bound.value_or(0));
  }
  scale.finish();
  const double bottom = kTop + kRow * static_cast<double>(bars.size());
  const auto x = [&](double value) { return kLeft + (kWidth - kLeft - kRight) * scale.place(value); };
  std::string out = open(kWidth, bottom + kFoot, "error against floor and bound");
  for (int power = scale.lowest; power <= scale.highest; power += scale.step()) {
    const double at = x(std::pow(10.0, power));
    out += line(at, kTop, at, bottom, "grid") + label(at, bottom + 18, "1e" + std::to_string(power), "label middle");
  }
  double y = kTop;
  const std::vector<std::string> labels = labels_of(bars);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const SvgBar& bar = bars[i];
    out += label(kLeft - 8, y + 17, labels[i], "label end");
    out += element("rect", "x='" + number(kLeft) + "' y='" + number(y + 6) + "' width='" + number(std::max(x(bar.value) - kLeft, 1.0)) +
                               "' height='14' class='" + (bar.bad ? "bad" : "good") + "'");
    if (bar.floor) out += line(x(*bar.floor), y + 3, x(*bar.floor), y + 23, "floor");
    if (bar.bound) out += line(x(*bar.bound), y + 3, x(*bar.bound), y + 23, "bound");
    out += label(kWidth - kRight + 10, y + 17, bar.note);
    y += kRow;
  }
  return out + "</svg>\n";
}

std::string svg_lines(const std::vector<SvgLine>& lines, const std::vector<SvgMark>& marks, const std::vector<std::string>& names,
                      const std::string& x_title) {
  constexpr double kWidth = 760, kHeight = 300, kLeft = 60, kRight = 20, kTop = 24, kBottom = 36;
  LogScale scale;
  std::size_t count = 1;
  for (const SvgLine& one : lines) {
    count = std::max(count, one.values.size());
    for (const auto& value : one.values) scale.take(value.value_or(0));
  }
  scale.finish();
  const double step = (kWidth - kLeft - kRight) / static_cast<double>(std::max<std::size_t>(count - 1, 1));
  const auto x = [&](std::size_t i) { return kLeft + step * static_cast<double>(i); };
  const auto y = [&](double value) { return kHeight - kBottom - (kHeight - kTop - kBottom) * scale.place(value); };
  std::string out = open(kWidth, kHeight, "error by depth");
  for (int power = scale.lowest; power <= scale.highest; power += scale.step()) {
    const double at = y(std::pow(10.0, power));
    out += line(kLeft, at, kWidth - kRight, at, "grid") + label(kLeft - 6, at + 4, "1e" + std::to_string(power), "label end");
  }
  double legend = kLeft;
  int number_of_line = 0;
  for (const SvgLine& one : lines) {
    const std::string style = "line line" + std::to_string(number_of_line++) + (one.dashed ? " dashed" : "");
    std::string path = "d='";
    bool drawing = false;
    for (std::size_t i = 0; i < one.values.size(); ++i) {
      if (!one.values[i]) {
        drawing = false;
        continue;
      }
      path += (drawing ? "L" : "M") + number(x(i)) + " " + number(y(*one.values[i]));
      drawing = true;
    }
    out += element("path", path.append("' class='").append(style).append("'"));
    out += line(legend, 10, legend + 24, 10, style) + label(legend + 30, 14, one.label);
    legend += 60 + 7.0 * static_cast<double>(one.label.size());
  }
  for (const SvgMark& mark : marks) {
    const double at = x(mark.at);
    out += line(at, kTop, at, kHeight - kBottom, "mark");
    out += element("path", "d='M" + number(at - 6) + " " + number(kTop) + "L" + number(at + 6) + " " + number(kTop) + "L" + number(at) +
                               " " + number(kTop + 10) + "Z' class='bad'");
    const bool left = at > kWidth * 0.6;
    out += label(at + (left ? -8 : 8), kTop + 10, shortened(mark.label, 60), left ? "label end" : "label");
  }
  // What each place is, for a pointer that rests on it.
  const double wide = std::max(step, 1.0);
  for (std::size_t i = 0; i < std::min(names.size(), count); ++i) {
    out += "<rect x='" + number(x(i) - wide / 2) + "' y='" + number(kTop) + "' width='" + number(wide) + "' height='" +
           number(kHeight - kTop - kBottom) + "' class='hit'><title>" + escape_markup(names[i]);
    for (const SvgLine& one : lines) {
      if (i < one.values.size() && one.values[i]) out += "\n" + escape_markup(one.label) + " " + scientific(*one.values[i]);
    }
    out += "</title></rect>\n";
  }
  return out + label((kWidth + kLeft) / 2, kHeight - 8, x_title, "label middle") + "</svg>\n";
}

std::string svg_roofline(const std::vector<SvgWork>& work, double rate, double gigabytes) {
  constexpr double kWidth = 760, kHeight = 320, kLeft = 60, kRight = 20, kTop = 12, kBottom = 40;
  constexpr double kLargest = 40, kSmallest = 2;  // radii, of all of the time and of none
  LogScale across, up;
  const double ridge = rate / gigabytes;
  across.take(ridge);
  up.take(rate);
  for (const SvgWork& one : work) {
    across.take(one.intensity);
    up.take(one.rate);
  }
  across.finish();
  up.finish();
  const auto x = [&](double value) { return kLeft + (kWidth - kLeft - kRight) * across.place(value); };
  const auto y = [&](double value) { return kHeight - kBottom - (kHeight - kTop - kBottom) * up.place(value); };
  std::string out = open(kWidth, kHeight, "operations per second by operations per byte, below what the machine allows");
  for (int power = up.lowest; power <= up.highest; power += up.step()) {
    const double at = y(std::pow(10.0, power));
    out += line(kLeft, at, kWidth - kRight, at, "grid") + label(kLeft - 6, at + 4, "1e" + std::to_string(power), "label end");
  }
  for (int power = across.lowest; power <= across.highest; power += across.step()) {
    const double at = x(std::pow(10.0, power));
    out += line(at, kTop, at, kHeight - kBottom, "grid") + label(at, kHeight - kBottom + 16, "1e" + std::to_string(power), "label middle");
  }
  const double left = std::max(std::pow(10.0, across.lowest), std::pow(10.0, up.lowest) / gigabytes);
  out += line(x(left), y(left * gigabytes), x(ridge), y(rate), "floor") + line(x(ridge), y(rate), kWidth - kRight, y(rate), "floor");
  for (const SvgWork& one : work) {
    const double radius = std::max(kSmallest, kLargest * std::sqrt(std::clamp(one.share, 0.0, 1.0)));
    out += "<circle cx='" + number(x(one.intensity)) + "' cy='" + number(y(one.rate)) + "' r='" + number(radius) +
           "' class='work'><title>" + escape_markup(one.label) + "</title></circle>\n";
  }
  return out + label((kWidth + kLeft) / 2, kHeight - 6, "GFLOP/s by FLOP per byte moved", "label middle") + "</svg>\n";
}

std::string svg_histogram(const std::vector<std::pair<std::string, double>>& columns, const std::string& x_title) {
  constexpr double kWidth = 760, kHeight = 180, kLeft = 10, kRight = 14, kTop = 20, kBottom = 40;
  constexpr std::size_t kAllNamed = 12, kAllCounted = 16;  // of more columns every fourth has room for its name, every other for its count
  double most = 1;
  for (const auto& [name, count] : columns) most = std::max(most, count);
  const double step = (kWidth - kLeft - kRight) / static_cast<double>(std::max<std::size_t>(columns.size(), 8));
  std::string out = open(kWidth, kHeight, "error histogram");
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& [name, count] = columns[i];
    const double share = count > 0 ? (1 + std::log10(count)) / (1 + std::log10(most)) : 0;
    const double height = (kHeight - kTop - kBottom) * share, x = kLeft + step * static_cast<double>(i);
    out += element("rect", "x='" + number(x + 2) + "' y='" + number(kHeight - kBottom - height) + "' width='" + number(step - 4) +
                               "' height='" + number(height) + "' class='plain'");
    if (columns.size() <= kAllNamed || i % 4 == 0) out += label(x + step / 2, kHeight - kBottom + 14, name, "label middle small");
    if (count > 0 && (columns.size() <= kAllCounted || i % 2 == 0)) {
      out += label(x + step / 2, kHeight - kBottom - height - 4,
                   count < 1e4 ? number(count).substr(0, number(count).size() - 2) : scientific(count), "label middle small");
    }
  }
  return out + label(kWidth / 2, kHeight - 8, x_title, "label middle") + "</svg>\n";
}

}  // namespace relayout
