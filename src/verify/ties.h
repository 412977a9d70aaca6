#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "relayout/types.h"
#include "verify/session.h"

namespace relayout {

/// The node whose choice among nearly equal numbers an exact output shows: ArgMax, TopK, a comparison, a rounding, NonMaxSuppression.
struct Decider {
  const Node* node = nullptr;
  int output = 0;
};
/// Looked for behind operators that keep elements in order; nothing when the output shows no such choice.
[[nodiscard]] std::optional<Decider> decider_of(const Value& output);

/// Scores of a decider in one sample of the reference.
struct DeciderOperand {
  Tensor value;            ///< nothing where absent
  double tolerance = 0;    ///< how far two correct evaluations of it may lie apart; 0 for what is given
  double share_below = 0;  ///< of a quantizer: the candidate rounds each element less so much of itself
};

/// Whether each element in which two results of the decider differ was as good as decided the other way.
struct TieVerdict {
  bool explained = false;
  int64_t ties = 0;  ///< elements (NonMaxSuppression: boxes) that differ
  std::string text;  ///< of the first tie, or of the first element that no tie explains
};
[[nodiscard]] TieVerdict explain_ties(const Decider& decider, const std::vector<DeciderOperand>& operands, const Tensor& reference,
                                      const Tensor& candidate);

/// The operands of a decider in a run of `a` over one sample, with their tolerances from `draws` runs with moved weights:
/// by ULPs of `grain` where the other model computes in that coarser type.
[[nodiscard]] std::vector<DeciderOperand> decider_operands(const Side& a, const Decider& decider, const std::function<Inputs()>& inputs,
                                                           const ExecuteOptions& execute, int draws, DataType grain = DataType::undefined);

}  // namespace relayout
