// Finds numbers that keep an operand away from the edge of a domain and that one model alone has, or that its type does not hold.
#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "base/numbers.h"
#include "model/node_name.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/doubts/doubts.h"
#include "verify/doubts/extreme_runs.h"
#include "verify/doubts/guarded_ways.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {
namespace {

/// Whether 1 / guard exceeds the largest number of float16.
bool may_overflow_narrow(double guard) {
  constexpr double kMost = 65504;
  return guard * kMost < 1;
}

const char* words_of(Extreme extreme) {
  constexpr std::array kWords{"zeros", "equal numbers", "numbers far apart", "numbers far below 0"};
  return kWords[static_cast<std::size_t>(extreme)];
}

std::string describe(const EdgeMismatch& found, Extreme extreme, const Node* guard, const Pair& pair) {
  const std::string maker_side = found.is_of_a ? "A" : "B", other_side = found.is_of_a ? "B" : "A";
  const std::string by = guard == nullptr ? "" : " (by node " + guard->label() + ")";
  const std::string what = !found.other_peak ? "its results are infinite or NaN, those of " + other_side + " are not"
                                             : "its results are up to " + significant(found.peak, 2) + ", those of " + other_side +
                                                   " up to " + significant(*found.other_peak, 2);
  return "node " + found.maker->label() + " of " + maker_side + ": fed " + words_of(extreme) + ", " + what + by +
         ", and no sample holds such numbers" + (pair.proved ? "; the proof leaves this open" : "") + " (--input gives your own)";
}

}  // namespace

std::optional<Doubt> find_lost_guard(const Pair& pair, const Reference& reference, const VerifyResult&) {
  const GuardedWays a(*pair.a.model), b(*pair.b.model);
  const Node *const of_a = a.first_alone(b), *const of_b = b.first_alone(a);
  const bool is_other = of_a != nullptr || of_b != nullptr;
  const bool may_overflow = pair.grain == DataType::float16 && may_overflow_narrow(b.least_guard());
  if (!is_other && !may_overflow) return std::nullopt;
  const auto doubt_by = [&](const EdgeMismatch& found, Extreme extreme) {
    return Doubt{reported_name(*found.maker), describe(found, extreme, found.is_of_a ? of_b : of_a, pair)};
  };
  for (const Extreme extreme : {Extreme::zeros, Extreme::equal, Extreme::apart, Extreme::low}) {
    if (!is_other && extreme > Extreme::equal) break;
    const auto found = compare_finite(pair, reference, extreme, has_edge, {&a, &b});
    if (found) return doubt_by(*found, extreme);
  }
  const auto found = is_other && !pair.proved ? compare_roots(pair, reference, {&a, &b}) : std::nullopt;
  return found ? std::optional(doubt_by(*found, Extreme::zeros)) : std::nullopt;
}

}  // namespace relayout
