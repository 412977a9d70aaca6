#pragma once

#include <memory>

#include "base/file.h"
#include "relayout/diff.h"

namespace relayout {

/// read_trace() of an open file.
[[nodiscard]] Trace read_trace_file(const std::shared_ptr<File>& file, const TraceOptions& options);

}  // namespace relayout
