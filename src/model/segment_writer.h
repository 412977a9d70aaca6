#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "model/segments.h"

namespace relayout {

struct StreamOptions {
  int threads = 2;
  bool flush_early = false;  ///< start writing to the disk at once, for a file that will be flushed
  /// Called with the number of bytes just written, by one thread at a time.
  std::function<void(int64_t)> progress;
};

/// Writes the segments to a file from its beginning, in tasks of about half a megabyte of whole tensor rows. Holds nothing larger in memory
/// than one row (of less than 16 MiB). Error{io} names the file `name`; Error{interrupted} after a signal.
void write_file(const Segments& segments, int descriptor, const std::string& name, const StreamOptions& options);
/// Writes the segments in order by one thread, for outputs that are not regular files.
void write_pipe(const Segments& segments, int descriptor, const std::string& name);
/// The concatenated bytes, for tests and textual models.
[[nodiscard]] std::string concatenate(const Segments& segments);

}  // namespace relayout
