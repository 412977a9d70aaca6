#pragma once

#include <string>
#include <vector>

namespace relayout {

// Parts of a whole as inline SVG, in proportional widths. Shades and lines separate them, also in black and white. A part too narrow for
// its name shows it on hover.

/// A part of a whole, with its own parts.
struct Share {
  std::string name;
  double value = 0;  ///< at least the sum of its parts
  std::string note;  ///< shown next to the name on hover
  std::vector<Share> parts;
};

/// Draws a whole above its parts, and these above theirs. Parts below a thousandth of the whole are merged into a nameless part.
[[nodiscard]] std::string svg_icicle(const Share& whole);

/// Draws wholes one below the other on a common scale, each as a row of its parts. Parts of the same name have the same shade.
[[nodiscard]] std::string svg_stacks(const std::vector<Share>& wholes);

}  // namespace relayout
