#pragma once

#include <cstdint>

namespace relayout {

/// Operands of the nodes of two models while they are compared one by one; the same for both models.
enum class Feeding : uint8_t {
  exact,     ///< the original's values
  by_depth,  ///< the same, and once more b's own values, for errors by depth
  shaken,    ///< values a little beside the original's: constants that values of zero keep from being felt are felt then
  /// In the place of inputs and of what linear operators make, numbers of either sign near one (rules::kNearPowers) and zeros, up to a
  /// thousand (rules::kMiddlePowers), or of all magnitudes (rules::kFarPowers), and the same in every type; everywhere else what the
  /// original makes of those. Branches that the samples do not reach are taken then.
  near,
  middle,
  far,
  /// The original's values with what operators treat apart: each value made of a few of its own numbers, so that many are equal; or some
  /// elements and whole rows NaN, infinity or minus infinity, where inputs could make them so. Masks are then all 0 (NaN, minus infinity)
  /// or all 1 (infinity).
  tied,
  not_a_number,
  infinite,
  minus_infinite,
};

/// Whether the original's values give way to others that do not follow from the inputs.
[[nodiscard]] constexpr bool is_free(Feeding feeding) noexcept {
  return feeding >= Feeding::near && feeding <= Feeding::far;
}

/// Whether the original's values are fed with equal numbers, NaN or infinities among them.
[[nodiscard]] constexpr bool is_edge(Feeding feeding) noexcept {
  return feeding >= Feeding::tied;
}

}  // namespace relayout
