// Draws shares of a whole: nested parts, and stacked bars of several wholes on one scale.
#include <algorithm>
#include <unordered_map>

#include "base/numbers.h"
#include "report/charts.h"
#include "report/page.h"
#include "report/table.h"

namespace relayout {
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
