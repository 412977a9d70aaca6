#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/tensor_data.h"

namespace relayout {

/// A piece of an output file: literal bytes, bytes to be copied, or a tensor to be computed.
struct Segment {
  std::variant<std::string, Bytes, std::unique_ptr<TensorData>> content;
  [[nodiscard]] int64_t size() const;
};

/// An output file or a part of one, as a list of pieces whose sizes are known before anything is written.
class Segments {
 public:
  /// Appends bytes; short literals are joined.
  void literal(std::string_view bytes);
  /// Appends bytes [begin, end) of a file; adjacent ranges are joined.
  void copy(const std::shared_ptr<const File>& file, int64_t begin, int64_t end);
  void bytes(const Bytes& bytes);
  void tensor(const TensorData& data);
  void append(Segments&& other);

  [[nodiscard]] int64_t size() const noexcept { return size_; }
  [[nodiscard]] const std::vector<Segment>& list() const noexcept { return list_; }
  /// Whether this is only bytes [begin, end) of the file.
  [[nodiscard]] bool is_copy(const std::shared_ptr<const File>& file, int64_t begin, int64_t end) const;

 private:
  /// The last piece, if it is a literal to which `more` bytes can be appended.
  [[nodiscard]] std::string* open_literal(std::size_t more);
  void join_short_copy();

  std::vector<Segment> list_;
  int64_t size_ = 0;
};

struct StreamOptions {
  int threads = 2;
  bool flush_early = false;  ///< start writing to the disk at once, for a file that will be flushed
  /// Called with the number of bytes just written, by one thread at a time.
  std::function<void(int64_t)> progress;
};

/// Writes the segments to a file from its beginning, in tasks that end at multiples of half a megabyte, but within no long row. Holds
/// nothing larger in memory than one row (of less than 16 MiB). Error{io} names the file `name`; Error{interrupted} after a signal.
void write_file(const Segments& segments, int descriptor, const std::string& name, const StreamOptions& options);
/// Writes the segments in order by one thread, for outputs that are not regular files.
void write_pipe(const Segments& segments, int descriptor, const std::string& name);
/// The concatenated bytes, for tests and textual models.
[[nodiscard]] std::string concatenate(const Segments& segments);

}  // namespace relayout
