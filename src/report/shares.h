#pragma once

#include <string>
#include <vector>

namespace relayout {

// Parts of a whole as inline SVG, by their widths: shades and lines part them, so that they show in black and white; what is too narrow for
// its name tells it when it is pointed at.

/// A part of a whole, and what it is made of.
struct Share {
  std::string name;
  double value = 0;  ///< at least the sum of its parts
  std::string note;  ///< said beside the name when it is pointed at
  std::vector<Share> parts;
};

/// The whole above its parts, these above theirs. Parts below a thousandth of the whole are one nameless part.
[[nodiscard]] std::string svg_icicle(const Share& whole);

/// Wholes one below the other on a common scale, each as a row of its parts; parts of one name have one shade.
[[nodiscard]] std::string svg_stacks(const std::vector<Share>& wholes);

}  // namespace relayout
