#pragma once

#include <memory>

#include "base/file.h"
#include "relayout/diff.h"

namespace relayout {

/// Reads a JSON file: trace events as an object with "traceEvents" or as an array, a profile of TensorRT, a profile of relayout.
[[nodiscard]] Trace read_json_trace(const std::shared_ptr<File>& file, const TraceOptions& options);

/// read_trace() of an open file.
[[nodiscard]] Trace read_trace_file(const std::shared_ptr<File>& file, const TraceOptions& options);

}  // namespace relayout
