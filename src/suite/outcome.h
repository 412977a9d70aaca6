#pragma once

#include "relayout/suite.h"
#include "suite/child.h"

namespace relayout {

/// Status and message of a case, from the child that ran it within `timeout` seconds.
[[nodiscard]] SuiteCase case_of(const SuiteEntry& entry, const ChildResult& child, double timeout);
/// Whether a run with other timing, memory or disk space would have the same result.
[[nodiscard]] bool is_verdict(const SuiteCase& one, const ChildResult& child);

}  // namespace relayout
