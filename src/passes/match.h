#pragma once

#include <string>
#include <variant>

#include "relayout/findings.h"

namespace relayout::passes {

/// A refusal: the reason and what is in the way. Not applicable: the candidate is fine as it is, for this reason.
struct Skip {
  Reason reason;
  std::string detail = {};
  Verdict verdict = Verdict::skipped;
};
/// Not a candidate at all: no finding is written.
struct NotApplicable {};

/// Everything a rewrite needs, or why not. Matchers only read; applying cannot refuse.
template <class Rewrite>
using Match = std::variant<Rewrite, Skip, NotApplicable>;

}  // namespace relayout::passes
