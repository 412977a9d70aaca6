// Draws work per byte against speed, below the limits of the machine.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "report/charts.h"
#include "report/page.h"

namespace relayout {
namespace {

class Roofline {
 public:
  Roofline(const std::vector<SvgWork>& work, double rate, double gigabytes, Room room)
      : work_(work), rate_(rate), gigabytes_(gigabytes), room_(room) {
    across_.take(ridge_);
    up_.take(rate);
    for (const SvgWork& one : work) {
      across_.take(one.intensity);
      up_.take(one.rate);
    }
    across_.finish();
    up_.finish();
  }

  [[nodiscard]] std::string draw() const {
    std::string out = open_chart(room_, width_, kHeight, "operations per second by operations per byte, below the machine's limits");
    out += rates() + intensities() + roof();
    for (const SvgWork& one : work_) out += circle(one);
    return out + svg_label((width_ + left_) / 2, kHeight - 6, "GFLOP/s by FLOP per byte moved", "label middle") + "</svg>\n";
  }

 private:
  static constexpr double kHeight = 320, kTop = 12, kBottom = 40;

  [[nodiscard]] bool is_slim() const { return room_ == Room::slim; }
  [[nodiscard]] double x(double value) const { return left_ + (width_ - left_ - right_) * across_.place(value); }
  [[nodiscard]] double y(double value) const { return kHeight - kBottom - (kHeight - kTop - kBottom) * up_.place(value); }

  /// The grid of the y axis.
  [[nodiscard]] std::string rates() const {
    std::string out;
    for (int power = up_.lowest; power <= up_.highest; power += up_.step()) {
      const double at = y(std::pow(10.0, power));
      out += svg_segment(left_, at, width_ - right_, at, "grid") + svg_label(left_ - 6, at + 4, power_text(power), "label end");
    }
    return out;
  }

  /// The grid of the x axis.
  [[nodiscard]] std::string intensities() const {
    std::string out;
    for (int power = across_.lowest; power <= across_.highest; power += is_slim() ? 2 * across_.step() : across_.step()) {
      const double at = x(std::pow(10.0, power));
      out +=
          svg_segment(at, kTop, at, kHeight - kBottom, "grid") + svg_label(at, kHeight - kBottom + 16, power_text(power), "label middle");
    }
    return out;
  }

  [[nodiscard]] std::string roof() const {
    const double lowest = std::max(std::pow(10.0, across_.lowest), std::pow(10.0, up_.lowest) / gigabytes_);
    return svg_segment(x(lowest), y(lowest * gigabytes_), x(ridge_), y(rate_), "floor") +
           svg_segment(x(ridge_), y(rate_), width_ - right_, y(rate_), "floor");
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
  Room room_;
  double width_ = drawing_width(room_), left_ = is_slim() ? 44 : 60, right_ = is_slim() ? 10 : 20;
  LogAxis across_, up_;
};

}  // namespace

std::string svg_roofline(const std::vector<SvgWork>& work, double rate, double gigabytes) {
  return in_both_rooms([&](Room room) { return Roofline(work, rate, gigabytes, room).draw(); });
}

}  // namespace relayout
