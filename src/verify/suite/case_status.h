#pragma once

#include "relayout/suite.h"
#include "verify/suite/child.h"

namespace relayout {

/// Status and message of a case, by the child that ran it within `timeout` seconds.
[[nodiscard]] SuiteCase case_of(const SuiteEntry& entry, const ChildResult& child, double timeout);
/// Whether a program of other timing, memory or disk would have come to the same.
[[nodiscard]] bool is_verdict(const SuiteCase& one, const ChildResult& child);

}  // namespace relayout
