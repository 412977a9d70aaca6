// Builds output files as lists of pieces of known sizes, and writes them with several threads, never a whole tensor at once.

#include "model/segments.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/positions.h"
#include "base/threads.h"
#include "model/tensor_data.h"
#include "relayout/types.h"

namespace relayout {

namespace {

/// Bytes up to which a tensor is computed at once, as its bytes take less memory than its description.
constexpr int64_t kSmallTensor = 256;

/// Bytes up to which neighbours are joined. Longer literals would be copied repeatedly while they grow.
constexpr std::size_t kLongestLiteral = (std::size_t{64} << 10) - 1;  // and a terminating zero

}  // namespace

int64_t Segment::size() const {
  if (const auto* literal = std::get_if<std::string>(&content)) return static_cast<int64_t>(literal->size());
  if (const auto* bytes = std::get_if<Bytes>(&content)) return bytes->size();
  return std::get<std::unique_ptr<TensorData>>(content)->byte_size();
}

std::string* Segments::open_literal(std::size_t more) {
  auto* const last = list_.empty() ? nullptr : std::get_if<std::string>(&list_.back().content);
  return last != nullptr && last->size() + more <= kLongestLiteral ? last : nullptr;
}

void Segments::literal(std::string_view bytes) {
  if (bytes.empty()) return;
  size_ += static_cast<int64_t>(bytes.size());
  if (open_literal(bytes.size()) == nullptr) join_short_copy();
  std::string* const last = open_literal(bytes.size());
  if (last == nullptr) {
    list_.push_back({std::string(bytes)});
    return;
  }
  // Doubling would exceed the limit.
  if (last->size() + bytes.size() > kLongestLiteral / 2) last->reserve(kLongestLiteral);
  last->append(bytes);
}

/// Joins a few bytes of a file between two literals with the first: a separate piece would take more memory than the bytes.
void Segments::join_short_copy() {
  constexpr int64_t kShort = 256;
  if (list_.size() < 2) return;
  const auto* const between = std::get_if<Bytes>(&list_.back().content);
  auto* const before = std::get_if<std::string>(&list_[list_.size() - 2].content);
  if (between == nullptr || before == nullptr || between->size() > kShort) return;
  const std::size_t length = before->size(), more = as_size(between->size());
  if (length + more > kLongestLiteral) return;
  before->resize(length + more);
  between->read(0, std::as_writable_bytes(std::span(*before).subspan(length)));
  list_.pop_back();
}

void Segments::copy(const std::shared_ptr<const File>& file, int64_t begin, int64_t end) {
  if (begin == end) return;
  size_ += end - begin;
  if (!list_.empty()) {
    auto* const last = std::get_if<Bytes>(&list_.back().content);
    if (last != nullptr && last->file() == file && last->file_offset() + last->size() == begin) {
      *last = Bytes::of_file(file, last->file_offset(), last->size() + end - begin);
      return;
    }
  }
  list_.push_back({Bytes::of_file(file, begin, end - begin)});
}

void Segments::bytes(const Bytes& bytes) {
  if (bytes.file()) return copy(bytes.file(), bytes.file_offset(), bytes.file_offset() + bytes.size());
  if (bytes.size() == 0) return;
  size_ += bytes.size();
  list_.push_back({bytes});
}

void Segments::tensor(const TensorData& data) {
  if (data.is_plain()) return bytes(data.source());
  if (data.byte_size() == 0) return;
  if (data.byte_size() <= kSmallTensor && traits(data.type()).bits >= 8) {
    std::string bytes(as_size(data.byte_size()), '\0');
    data.read_rows(0, data.dims().empty() ? 1 : data.dims()[0], std::as_writable_bytes(std::span(bytes)));
    return literal(bytes);
  }
  size_ += data.byte_size();
  list_.emplace_back().content = std::make_unique<TensorData>(data);
}

void Segments::append(Segments&& other) {
  if (other.list_.empty()) return;
  // Only the first piece may have to be joined; the others were joined when they were added to `other`.
  const int64_t first_size = other.list_.front().size();
  Segment& first = other.list_.front();
  const auto* const literal_bytes = std::get_if<std::string>(&first.content);
  if (literal_bytes != nullptr && open_literal(literal_bytes->size()) == nullptr) join_short_copy();
  if (literal_bytes != nullptr && open_literal(literal_bytes->size()) != nullptr) {
    literal(*literal_bytes);
  } else if (const auto* stored = std::get_if<Bytes>(&first.content)) {
    bytes(*stored);
  } else {
    size_ += first_size;
    list_.push_back(std::move(first));
  }
  list_.insert(list_.end(), std::make_move_iterator(other.list_.begin() + 1), std::make_move_iterator(other.list_.end()));
  size_ += other.size_ - first_size;
  other.list_.clear();
  other.size_ = 0;
}

bool Segments::is_copy(const std::shared_ptr<const File>& file, int64_t begin, int64_t end) const {
  if (size_ != end - begin) return false;
  if (list_.empty()) return begin == end;
  const auto* const only = std::get_if<Bytes>(&list_.front().content);
  return list_.size() == 1 && only != nullptr && only->file() == file && only->file_offset() == begin;
}

// Writes segments to the output file with several threads, without ever holding a whole tensor.
namespace {

/// Tasks end at multiples of this, since file systems write whole pages faster; a task fits into a core's cache.
constexpr int64_t kBlock = int64_t{1} << 19;
constexpr int64_t kPage = 4096;                     ///< bytes of a block of usual file systems
constexpr int64_t kCopyRun = int64_t{1} << 20;      ///< bytes from which the kernel copies
constexpr int64_t kCutRow = int64_t{1} << 15;       ///< bytes up to which a tensor's row may be cut: it is then produced twice
constexpr int64_t kHugeRow = int64_t{16} << 20;     ///< bytes from which a tensor's row is written in pieces
constexpr int64_t kSmallOutput = int64_t{4} << 20;  ///< bytes up to which one thread is enough
constexpr int kPipe = 1 << 20;                      ///< bytes that a pipe should hold: any user may ask for these

/// A range of the output, produced by one worker and written at once.
struct Task {
  int64_t begin = 0, end = 0;
  std::size_t segment = 0;  ///< the segment that contains `begin`
  bool copied = false;      ///< by the kernel
};

/// The size of the smallest part in which a segment can be produced.
int64_t granule(const Segment& segment) {
  const auto* const tensor = std::get_if<std::unique_ptr<TensorData>>(&segment.content);
  if (tensor == nullptr) return 1;
  const TensorData& data = **tensor;
  const int64_t rows = data.dims().empty() ? 1 : data.dims()[0];
  if (traits(data.type()).bits < 8) return data.byte_size();
  return data.byte_size() / rows;
}

/// Whether the kernel copies the segment to this place: only whole pages can be shared, others are read and written faster.
bool is_kernel_copy(const Segment& segment, int64_t place) {
  const auto* const bytes = std::get_if<Bytes>(&segment.content);
  return bytes != nullptr && bytes->file() != nullptr && bytes->file()->descriptor() >= 0 && bytes->size() >= kCopyRun &&
         (bytes->file_offset() - place) % kPage == 0;
}

class TaskList {
 public:
  explicit TaskList(const Segments& segments) {
    for (const Segment& segment : segments.list()) add(segment);
    close();
  }
  [[nodiscard]] const std::vector<Task>& tasks() const noexcept { return tasks_; }
  [[nodiscard]] int64_t start(std::size_t segment) const { return starts_[segment]; }
  /// The bytes that the kernel does not copy.
  [[nodiscard]] int64_t produced() const noexcept { return produced_; }

 private:
  void add(const Segment& segment) {
    const int64_t unit = granule(segment), end = size_ + segment.size();
    const bool copied = is_kernel_copy(segment, size_);
    starts_.push_back(size_);
    if (!copied) produced_ += segment.size();
    // Such segments are not part of a gathered block.
    const bool alone = unit > kCutRow || copied;
    if (alone) close();
    while (size_ < end) {
      const int64_t room = unit > kCutRow ? std::max(unit, kBlock / unit * unit) : kBlock - size_ % kBlock;
      if (open_.begin == open_.end) open_ = {size_, size_, starts_.size() - 1, copied};
      open_.end = size_ = std::min(end, size_ + room);
      if (alone || size_ % kBlock == 0) close();
    }
  }
  void close() {
    if (open_.end > open_.begin) tasks_.push_back(open_);
    open_ = {};
  }

  std::vector<Task> tasks_;
  std::vector<int64_t> starts_;
  int64_t size_ = 0, produced_ = 0;
  Task open_;
};

/// Produces bytes [begin, begin + out.size()) of a tensor, whose first and last row may be cut.
void produce_rows(const Segment& segment, int64_t begin, std::span<std::byte> out) {
  const TensorData& data = *std::get<std::unique_ptr<TensorData>>(segment.content);
  const int64_t unit = granule(segment);
  const int64_t rows_of_unit = unit == data.byte_size() && !data.dims().empty() ? data.dims()[0] : 1;
  std::vector<std::byte> cut;
  while (!out.empty()) {
    const int64_t row = begin / unit, from = begin % unit;
    auto part = as_size(unit - from);
    if (from == 0 && out.size() >= part) {
      part *= out.size() / part;
      data.read_rows(row * rows_of_unit, static_cast<int64_t>(part) / unit * rows_of_unit, out.first(part));
    } else {
      part = std::min(part, out.size());
      cut.resize(as_size(unit));
      data.read_rows(row * rows_of_unit, rows_of_unit, cut);
      std::memcpy(out.data(), cut.data() + from, part);
    }
    begin += static_cast<int64_t>(part);
    out = out.subspan(part);
  }
}

/// Produces bytes [begin, begin + out.size()) of a segment.
void produce(const Segment& segment, int64_t begin, std::span<std::byte> out) {
  if (const auto* literal = std::get_if<std::string>(&segment.content)) {
    std::memcpy(out.data(), literal->data() + begin, out.size());
  } else if (const auto* bytes = std::get_if<Bytes>(&segment.content)) {
    bytes->read(begin, out);
  } else {
    produce_rows(segment, begin, out);
  }
}

/// Gathers the bytes of a task in `buffer`.
std::span<const std::byte> gather(const Segments& segments, const TaskList& tasks, const Task& task, ByteBuffer& buffer) {
  const std::span<std::byte> out = buffer.room(task.end - task.begin);
  int64_t at = task.begin;
  for (std::size_t i = task.segment; at < task.end; ++i) {
    const Segment& segment = segments.list()[i];
    const int64_t begin = at - tasks.start(i);
    const int64_t part = std::min(segment.size() - begin, task.end - at);
    produce(segment, begin, out.subspan(as_size(at - task.begin), as_size(part)));
    at += part;
  }
  return out;
}

class FileWriter {
 public:
  FileWriter(const Segments& segments, int descriptor, const std::string& name, const StreamOptions& options)
      : segments_(segments), tasks_(segments), descriptor_(descriptor), name_(name), options_(options) {}

  void run() {
    // The kernel copies for one thread at a time; more of them would only wait for each other.
    const int threads = tasks_.produced() < kSmallOutput ? 1 : options_.threads;
    const auto count = static_cast<int64_t>(tasks_.tasks().size());
    std::atomic<int64_t> next{0};
    parallel_for(std::min<int64_t>(threads, count), threads, [&](int64_t) {
      ByteBuffer buffer;
      try {
        for (int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
          check_interrupt();
          run_task(tasks_.tasks()[as_size(i)], buffer);
        }
      } catch (...) {
        next.store(count);
        throw;
      }
    });
  }

 private:
  void run_task(const Task& task, ByteBuffer& buffer) {
    const Segment& first = segments_.list()[task.segment];
    if (granule(first) >= kHugeRow) {
      write_huge_row(first, task);
    } else if (!task.copied || !copy_in_kernel(std::get<Bytes>(first.content), task)) {
      write(gather(segments_, tasks_, task, buffer), task.begin);
    }
    if (options_.flush_early) ::sync_file_range(descriptor_, task.begin, task.end - task.begin, SYNC_FILE_RANGE_WRITE);
    if (options_.progress) {
      const std::lock_guard lock(mutex_);
      options_.progress(task.end - task.begin);
    }
  }

  void write_huge_row(const Segment& segment, const Task& task) {
    const TensorData& data = *std::get<std::unique_ptr<TensorData>>(segment.content);
    const int64_t row = (task.begin - tasks_.start(task.segment)) / granule(segment);
    data.read_row_in_pieces(row, [&](int64_t offset, std::span<const std::byte> bytes) {
      check_interrupt();
      write(bytes, task.begin + offset);
    });
  }

  void write(std::span<const std::byte> bytes, int64_t offset) {
    const std::lock_guard lock(writing_);
    if (const int error = write_all_at(descriptor_, bytes, offset); error != 0) fail_io(name_, system_message(error));
  }

  /// False when this kernel or these file systems do not support it; the caller then reads and writes.
  bool copy_in_kernel(const Bytes& source, const Task& task) {
    if (!kernel_copies_.load(std::memory_order_relaxed)) return false;
    loff_t from = source.file_offset() + task.begin - tasks_.start(task.segment);
    loff_t to = task.begin;
    const std::lock_guard lock(writing_);
    while (to < task.end) {
      const ssize_t copied = ::copy_file_range(source.file()->descriptor(), &from, descriptor_, &to, as_size(task.end - to), 0);
      if (copied < 0 && errno == EINTR) continue;
      if (copied < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO)) {
        fail_io(name_, system_message(errno));
      }
      if (copied <= 0) {
        // Not a full disk: different file systems, no such call, or the end of the source, which reading will report.
        kernel_copies_.store(false, std::memory_order_relaxed);
        return false;
      }
    }
    return true;
  }

  const Segments& segments_;
  TaskList tasks_;
  int descriptor_;
  const std::string& name_;
  const StreamOptions& options_;
  std::mutex mutex_;
  /// One thread writes while the others read and compute. The kernel also admits only one writer, and threads waiting there spin.
  std::mutex writing_;
  std::atomic<bool> kernel_copies_{true};
};

}  // namespace

void write_file(const Segments& segments, int descriptor, const std::string& name, const StreamOptions& options) {
  FileWriter(segments, descriptor, name, options).run();
}

void write_pipe(const Segments& segments, int descriptor, const std::string& name) {
  const TaskList tasks(segments);
  // A pipe of 64 KiB makes writer and reader wait for each other. Other outputs refuse.
  if (segments.size() > kPipe) ::fcntl(descriptor, F_SETPIPE_SZ, kPipe);
  ByteBuffer buffer;
  for (const Task& task : tasks.tasks()) {
    check_interrupt();
    std::span<const std::byte> rest = gather(segments, tasks, task, buffer);
    while (!rest.empty()) {
      const ssize_t written = ::write(descriptor, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) {
        check_interrupt();
        continue;
      }
      if (written < 0 && errno == EPIPE) note_closed_pipe();
      if (written < 0) fail_io(name, system_message(errno));
      rest = rest.subspan(as_size(written));
    }
  }
}

std::string concatenate(const Segments& segments) {
  std::string out(as_size(segments.size()), '\0');
  std::span<std::byte> rest = std::as_writable_bytes(std::span(out));
  for (const Segment& segment : segments.list()) {
    const auto size = as_size(segment.size());
    produce(segment, 0, rest.first(size));
    rest = rest.subspan(size);
  }
  return out;
}

}  // namespace relayout
