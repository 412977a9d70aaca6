#pragma once

#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/run/session.h"

namespace relayout {

struct Pair;

/// The node whose choice among nearly equal numbers an exact output shows: ArgMax, TopK's indices, a comparison, a rounding,
/// NonMaxSuppression. Searched for upstream through operators that keep elements in order; nullptr if the output shows no such choice.
[[nodiscard]] const Node* decider_of(const Value& output);

/// Operand of a decider in one sample of the reference.
struct DeciderOperand {
  Tensor value;            ///< empty: absent
  double tolerance = 0;    ///< largest distance between two correct evaluations of it; 0 for inputs and constants
  double share_below = 0;  ///< of a quantizer: the candidate rounds each element minus this share of itself
};

/// Whether each element in which two results of the decider differ could as well have been decided the other way.
struct TieVerdict {
  bool explained = false;
  int64_t ties = 0;  ///< elements (NonMaxSuppression: boxes) that differ
  std::string text;  ///< of the first tie, or of the first element that no tie explains
};
[[nodiscard]] TieVerdict explain_ties(const Node& decider, const std::vector<DeciderOperand>& operands, const Tensor& reference,
                                      const Tensor& candidate);

/// The operands of a decider in a run of a over one sample, with their tolerances from `draws` runs with perturbed weights (in a quantized
/// model, moved inputs and dequantized values too): by ULPs of the pair's grain if b computes in that coarser type.
[[nodiscard]] std::vector<DeciderOperand> decider_operands(const Pair& pair, const Node& decider, const std::function<Inputs()>& inputs,
                                                           int draws);

}  // namespace relayout
