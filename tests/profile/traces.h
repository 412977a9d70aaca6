#pragma once

#include <zlib.h>

#include <string>

#include "relayout/diff.h"
#include "support/temporary_folder.h"

namespace relayout::test {

/// `body`: events, separated by commas.
inline std::string trace_object(const std::string& body) {
  return R"({"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": [)" + body + "]}";
}

inline std::string event(const std::string& name, double begin, double duration, const std::string& more = R"("cat": "cpu_op")") {
  return R"({"ph": "X", "name": ")" + name + R"(", "ts": )" + std::to_string(begin) + R"(, "dur": )" + std::to_string(duration) + ", " +
         more + R"(, "pid": 1, "tid": 1, "args": {"External id": 1}})";
}

inline std::string span(int number, double begin, double duration) {
  return event("ProfilerStep#" + std::to_string(number), begin, duration, R"("cat": "user_annotation")");
}

inline Trace read_text(const std::string& text, const TraceOptions& options = {}) {
  const TemporaryFolder folder;
  write_file(folder / "trace", text);
  return read_trace(folder / "trace", options);
}

inline std::string gzipped(std::string text) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace relayout::test
