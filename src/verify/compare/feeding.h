#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/run/bounds.h"
#include "verify/run/session.h"

namespace relayout {

/// The kinds of numbers fed to nodes compared one by one (exact, by_depth, shaken, odd, of one magnitude, near, middle, far, tied, of one
/// sign, NaN, infinities), and which of them are free or on an edge; the same for both models.
enum class Feeding : uint8_t {
  exact,     ///< the original's values
  by_depth,  ///< as `exact`, and another run with b's own values, for errors by depth
  shaken,    ///< values slightly off the original's: constants that zeros hide then have an effect
  odd,       ///< inputs that may hold any integer are integers that floating-point types do not hold, and their neighbours
  /// Inputs (unless given by the user) and results of linear operators are replaced by numbers of either sign: near one
  /// (rules::kNearPowers) and zeros, up to 2000 (rules::kMiddlePowers), or of all magnitudes (rules::kFarPowers); the same in every type.
  /// All other values are computed by the original from those. This reaches branches that the samples do not reach. Numbers of one small
  /// magnitude (rules::kSmallPowers and so on) let what is added to them count by its own size.
  small,
  tiny,
  faint,
  faintest,
  near,
  middle,
  far,
  /// The original's values with numbers that some operators treat apart. `tied`: a value's elements are replaced by a few of its own
  /// numbers, so that many are equal. The others: some elements and whole rows are NaN, infinity or minus infinity, where inputs could lead
  /// to them. Masks are then all 0 (NaN, minus infinity) or all 1 (infinity).
  tied,
  /// Inputs (unless given by the user) and results of linear operators are replaced by numbers of one sign, which are far from 0 and from a
  /// padding near it.
  negative,
  positive,
  not_a_number,
  infinite,
  minus_infinite,
};

/// Whether the original's values are replaced by numbers that do not follow from the inputs.
[[nodiscard]] constexpr bool is_free(Feeding feeding) noexcept {
  return feeding >= Feeding::small && feeding <= Feeding::far;
}

/// Whether all numbers are replaced by those of one sign.
[[nodiscard]] constexpr bool is_of_one_sign(Feeding feeding) noexcept {
  return feeding == Feeding::negative || feeding == Feeding::positive;
}

/// Whether equal numbers, numbers of one sign, NaN or infinities are placed among the original's values.
[[nodiscard]] constexpr bool is_edge(Feeding feeding) noexcept {
  return feeding >= Feeding::tied;
}

/// What a comparison node by node gets: both models, options, the sample's inputs and masks, the kind of feeding, B's 16-bit type, progress
/// and observers.
struct LayerTask {
  const Side* a = nullptr;
  const Side* b = nullptr;
  const VerifyOptions* options = nullptr;
  DataType grain = DataType::undefined;  ///< the 16-bit type in which b computes but a does not
  OpenSession open = open_session;
  std::function<void()> progress;  ///< called before each run, if set
  std::function<Inputs()> inputs;
  std::set<std::string> plain_integers;  ///< inputs that may hold any integer
  std::set<std::string> masks;           ///< inputs of zeros and ones that select the elements that count
  /// Called with each value of either model as its readers get it, including inputs, if set.
  std::function<void(const Value& value, const Datum& datum)> watch;
  int sample = 0;
  Feeding feeding = Feeding::exact;

  /// The coarser of a value's own type and the type in which b computes.
  [[nodiscard]] DataType type_of_floor(DataType type) const { return relayout::type_of_floor(type, grain); }
};

}  // namespace relayout
