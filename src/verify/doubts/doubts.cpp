// Looks for reasons of doubt that samples do not show, one after the other.
#include "verify/doubts/doubts.h"

#include <optional>

#include "relayout/verify.h"
#include "verify/judge.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

void judge_doubts(const Pair& pair, const Reference& reference, VerifyResult& result) {
  if (!result.proof) return;
  using Look = std::optional<Doubt> (*)(const Pair&, const Reference&, const VerifyResult&);
  for (const Look look : {Look{find_open_order}, Look{find_overflow_by_constants}, Look{find_coarse_cast}, Look{find_lost_guard}}) {
    if (result.outcome != Outcome::same) return;
    if (const auto found = look(pair, reference, result)) doubt(result, found->text);
  }
}

}  // namespace relayout
