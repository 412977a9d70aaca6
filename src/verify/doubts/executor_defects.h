#pragma once

#include "verify/evidence.h"
#include "verify/finding.h"

namespace relayout {

/// An output of the reference that differed between two runs: a remark if it has random nodes, or else a defect.
[[nodiscard]] VerifyFindings find_unrepeatable_outputs(const Evidence& evidence);

/// A run in double precision that is far from the reference as written: a defect only if a node alone errs, fed the values as written.
[[nodiscard]] VerifyFindings find_reference_difference(const Evidence& evidence);

}  // namespace relayout
