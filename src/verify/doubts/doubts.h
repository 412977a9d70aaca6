#pragma once

#include <optional>
#include <string>

#include "relayout/verify.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

/// A reason for doubt about models that agree over all samples: a node and one printable line.
struct Doubt {
  std::string node;
  std::string text;
};

/// A number that keeps the operand of a division, root or logarithm away from the edge of its domain, in one model alone or in a type that
/// does not hold it; likewise an operand that comes to 0 by underflow in one model alone. Both models are run at the edge.
[[nodiscard]] std::optional<Doubt> find_lost_guard(const Pair& pair, const Reference& reference, const VerifyResult& result);

/// A Cast of integers to floating-point numbers in one model alone, too coarse for numbers that they may hold. Both models get such
/// numbers.
[[nodiscard]] std::optional<Doubt> find_coarse_cast(const Pair& pair, const Reference& reference, const VerifyResult& result);

/// An order of elements that ONNX leaves open, in one model alone, where readers can see it.
[[nodiscard]] std::optional<Doubt> find_open_order(const Pair& pair, const Reference& reference, const VerifyResult& result);

/// An intermediate number that constants alone bring to the end of its type from everyday numbers, in one model alone. Proofs, which are
/// about real numbers, leave this open.
[[nodiscard]] std::optional<Doubt> find_overflow_by_constants(const Pair& pair, const Reference& reference, const VerifyResult& result);

/// Makes the verdict inconclusive by the first of these findings.
void judge_doubts(const Pair& pair, const Reference& reference, VerifyResult& result);

}  // namespace relayout
