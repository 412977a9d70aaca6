#pragma once

#include <cstddef>
#include <string>

#include "relayout/verify.h"
#include "verify/candidate.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

/// "output 'y', sample 2"
[[nodiscard]] std::string place_of(const Pair& pair, const Reference& reference, std::size_t output, std::size_t sample);
/// Addition to the size of a difference that no node alone accounts for.
inline constexpr const char* kChoice = ", though no node alone differs: a choice among nearly equal numbers falls either way";

/// Outputs that differ where a result that jumps stands upstream, though each node alone makes what the original makes: the same in every
/// sample that differs so. Returns whether there were any; their figures are to be summed up again.
[[nodiscard]] bool acquit_choices(const Pair& pair, const Reference& reference, Candidate& candidate, VerifyResult& result);
/// Lists the nodes behind a difference of the outputs.
void name_wrong_nodes(const Pair& pair, const Reference& reference, const Candidate& candidate, VerifyResult& result);
/// Judges what the proof leaves unexplained at its nodes; returns whether that vouches for the outputs.
[[nodiscard]] bool judge_unexplained(const Pair& pair, const Reference& reference, VerifyResult& result);
/// Judges constants that differ by more than rounding and that no sample feels with values beside those of the samples, where no operand
/// is always zero or small. The verdict is "inconclusive" where neither those values nor the samples feel them.
void judge_hidden(const Pair& pair, const Reference& reference, VerifyResult& result);
/// If b computes in narrow numbers, constants that differ by more than rounding to them must show at their nodes: the verdict is
/// "inconclusive" where they do not, as there the rounding of results hides them.
void judge_rounded(const Pair& pair, VerifyResult& result);
/// Constants that differ by more than rounding to the narrow type of one of both models, where several products make the values that show
/// them: inconclusive.
void judge_diluted(const Pair& pair, VerifyResult& result);
/// Judges operators that differ, and whose nodes make the same bits over all samples, with values that the samples do not have: where those
/// show the difference, the verdict is "inconclusive", as inputs that reach them may exist or not.
void judge_unreached(const Pair& pair, const Reference& reference, VerifyResult& result);
/// Differences within an If, Loop or Scan whose graph no sample enters make the verdict "inconclusive".
void judge_unentered(const Pair& pair, const Reference& reference, VerifyResult& result);
/// Inconclusive where a node that one model has alone decides by sizes, data or equal numbers what no sample decides otherwise.
void judge_untold(const Pair& pair, const Reference& reference, VerifyResult& result);
/// Outputs whose values show nothing (a head that starts at zero) are the same where node by node everything unexplained is.
void trust_nodes(const Reference& reference, VerifyResult& result);

}  // namespace relayout
