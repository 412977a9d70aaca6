#pragma once

#include <cstddef>
#include <string>

#include "relayout/verify.h"
#include "verify/candidate.h"
#include "verify/nodes/compare_nodes.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

/// "output 'y', sample 2"
[[nodiscard]] std::string place_of(const Pair& pair, const Reference& reference, std::size_t output, std::size_t sample);
/// Follows the size of a difference that no node alone accounts for.
inline constexpr const char* kChoice = ", though no node alone differs: a choice among nearly equal numbers falls either way";

/// If all differing outputs are downstream of a result that jumps, and in their samples each node alone computes the original's result,
/// sets them to `same`. Returns whether it did; the figures then have to be summed up again.
[[nodiscard]] bool acquit_choices(const Pair& pair, const Reference& reference, Candidate& candidate, VerifyResult& result);
/// Lists the nodes that cause a difference of the outputs.
void name_wrong_nodes(const Pair& pair, const Reference& reference, const Candidate& candidate, VerifyResult& result);
/// Judges unexplained differences at their nodes; returns whether the nodes vouch for the outputs.
[[nodiscard]] bool judge_unexplained(const Pair& pair, const Reference& reference, VerifyResult& result);
/// Judges constants that differ by more than rounding and whose nodes stay within their floors, by values slightly off the samples', so
/// that no operand is always zero or small. The verdict is "different" if those values show the constant, and "inconclusive" if neither
/// they nor the samples do.
void judge_hidden(const Pair& pair, const Reference& reference, VerifyResult& result);
/// If b computes in a narrow type, a constant that differs by more than rounding to it has to show at its nodes. Otherwise the verdict is
/// "inconclusive", as the rounding of results hides it.
void judge_rounded(const Pair& pair, VerifyResult& result);
/// Inconclusive if a constant differs by more than rounding to the narrow type of either model, and shows only in values computed from
/// several products, or in none.
void judge_diluted(const Pair& pair, VerifyResult& result);
/// Judges operators that differ, but whose nodes compute the same bits over all samples, by values that the samples do not have. If those
/// show the difference, the verdict is "inconclusive", as inputs that lead to such values may or may not exist.
void judge_unreached(const Pair& pair, const Reference& reference, VerifyResult& result);
/// Differences within an If, Loop or Scan whose graph no sample enters make the verdict "inconclusive".
void judge_unentered(const Pair& pair, EnteredGraphs& entered, VerifyResult& result);
/// Inconclusive if a node of one model alone decides by sizes, data or equal numbers, and no sample shows its other decision.
void judge_unsampled(const Pair& pair, const Reference& reference, EnteredGraphs& entered, VerifyResult& result);
/// Sets outputs whose values show nothing (a head that starts at zero) to `same`, as their nodes vouch for them.
void trust_nodes(const Reference& reference, VerifyResult& result);

}  // namespace relayout
