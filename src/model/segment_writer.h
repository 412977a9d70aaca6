#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "model/segments.h"

namespace relayout {

struct StreamOptions {
  int threads = 2;
  bool flush_early = false;  ///< starts writing to the disk at once, for a file that will be flushed
  /// Called with the bytes just written, from one thread at a time.
  std::function<void(int64_t)> progress;
};

/// Writes the segments to a file from its beginning on, in tasks of about half a megabyte of whole tensor rows. Nothing larger is
/// held in memory but a row (of less than 16 MiB). Error{io} names the file `name`; Error{interrupted} after a signal.
void write_file(const Segments& segments, int descriptor, const std::string& name, const StreamOptions& options);
/// The same in order and from one thread, for what is no file.
void write_pipe(const Segments& segments, int descriptor, const std::string& name);
/// All bytes, for tests and textual models.
[[nodiscard]] std::string concatenate(const Segments& segments);

}  // namespace relayout
