#pragma once

#include "relayout/verify.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

/// Reports that the reference ran no sample: the meaning depends on the source of the inputs.
void report_rejection(const Pair& pair, const Reference& reference, VerifyResult& result);

}  // namespace relayout
