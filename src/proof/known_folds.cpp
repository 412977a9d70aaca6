// Caches the results of recompute.cpp for weights of at least 64 KiB, so that the weights of a fold are not read again.

#include "proof/known_folds.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "proof/linear.h"
#include "proof/recompute.h"

namespace relayout::proof {
namespace {

/// Smaller weights are read again in less time, and in less memory, than it takes to keep their affines.
constexpr int64_t kLeastKept = int64_t{1} << 16U;

}  // namespace

Recomputed KnownFolds::recompute(const Linear& a, const Around& around_a, const Linear& b, const Around& around_b, bool thorough) {
  if (b.weight.data.byte_size() < kLeastKept) return proof::recompute(a, around_a, b, around_b, thorough);
  std::vector<Known>& of_pair = known_[{a.output, b.output}];
  const auto found = std::ranges::find_if(
      of_pair, [&](const Known& known) { return known.thorough == thorough && known.around_a == around_a && known.around_b == around_b; });
  if (found != of_pair.end()) return found->found;
  of_pair.push_back({around_a, around_b, thorough, proof::recompute(a, around_a, b, around_b, thorough)});
  return of_pair.back().found;
}

}  // namespace relayout::proof
