// Result of a pass's matcher: a rewrite, a refusal with reason and detail, or no candidate (without a finding).

#pragma once

#include <string>
#include <variant>

#include "relayout/findings.h"

namespace relayout::passes {

/// A refusal: the reason and the obstacle. With verdict not_applicable: the candidate is fine as it is, for this reason.
struct Skip {
  Reason reason;
  std::string detail = {};
  Verdict verdict = Verdict::skipped;
};
/// Not a candidate at all: no finding is written.
struct NotApplicable {};

/// Everything that a rewrite needs, or the reason against it. Matchers only read; applying cannot refuse.
template <class Rewrite>
using Match = std::variant<Rewrite, Skip, NotApplicable>;

}  // namespace relayout::passes
