#pragma once

#include "relayout/verify.h"
#include "verify/candidate.h"
#include "verify/floors.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

/// Explains an output of the reference that differed between two runs: by random nodes, or else as a defect.
void report_repeatability(const Pair& pair, const Reference& reference, VerifyResult& result);

/// Explains runs in double precision far from the reference as written: a defect only if a node alone errs, fed the values as written.
void explain_suspicions(const Pair& pair, const Reference& reference, const Floors& floors, VerifyResult& result);

/// Checks optimized execution of a model that is right as written: a difference is a defect only if a node errs alone.
void check_optimized(const Pair& pair, const Reference& reference, Floors& floors, const Candidate& written, VerifyResult& result);

}  // namespace relayout
