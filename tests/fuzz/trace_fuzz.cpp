// Fuzzes traces: any bytes are read or refused, and the second time gives the same.

#include <cstdlib>

#include "base/file.h"
#include "profile/json_stream.h"
#include "profile/read_trace.h"
#include "relayout/diff.h"
#include "relayout/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace relayout;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    const Trace trace = read_trace_file(File::from_bytes(bytes, "fuzz"), {});
    if (trace.operations.empty() && trace.outside == 0) return 0;
    for (const OperationDifference& row : diff_traces(trace, trace)) {
      if (row.counts != CountClass::unchanged || row.difference_us() != 0) std::abort();
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::defect || error.kind() == ErrorKind::usage) std::abort();
  }
  return 0;
}
