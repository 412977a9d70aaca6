// Builds output files as lists of pieces whose sizes are known before a byte is written.
#include "model/segments.h"

#include "base/file.h"
#include "base/positions.h"
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

}  // namespace relayout
