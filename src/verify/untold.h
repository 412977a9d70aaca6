#pragma once

#include <string>

#include "relayout/verify.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {

/// Why nodes that one model has alone may show elsewhere what they show over no sample: a Slice that takes everything at the sizes of the
/// samples and a part at others, a limit of sizes that other ones reach, a condition that holds at other sizes or that data decides,
/// another comparison of numbers that are never equal, an attribute that some numbers alone feel. One printable line about the first
/// of them; empty where there is none.
[[nodiscard]] std::string find_untold(const Pair& pair, const Reference& reference, const VerifyResult& result);

}  // namespace relayout
