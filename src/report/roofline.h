#pragma once

#include <string>
#include <vector>

namespace relayout {

/// A piece of work: operations per byte, 10⁹ operations per second, share of the total time.
struct SvgWork {
  std::string label;
  double intensity = 0, rate = 0, share = 0;
};
/// Draws work as circles with areas proportional to time, below the roofline of the machine: its peak `rate`, and `gigabytes` per second.
/// Both axes are logarithmic.
[[nodiscard]] std::string svg_roofline(const std::vector<SvgWork>& work, double rate, double gigabytes);

}  // namespace relayout
