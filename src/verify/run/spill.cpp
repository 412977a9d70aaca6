// Stores tensor values in a temporary file and reads them back, with the error where that file cannot be written or read. Two models'
// values need not be in memory at once.
#include "verify/run/spill.h"

#include <unistd.h>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/positions.h"
#include "base/text.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Fails unless the error number is 0.
void check(int error, const std::string& directory, const std::string& what) {
  if (error == 0) return;
  fail(ErrorKind::io, "temporary file in " + escape(directory) + ": " + what + ": " + system_message(error), kTemporaryHint);
}

}  // namespace

Spill::~Spill() {
  if (descriptor_ >= 0) (void)::close(descriptor_);
}

void Spill::open() {
  directory_ = temporary_directory();
  descriptor_ = open_temporary_file();
}

void Spill::append(const void* bytes, std::size_t size) {
  if (descriptor_ < 0) open();
  check(write_all_at(descriptor_, {static_cast<const std::byte*>(bytes), size}, size_), directory_, "cannot write");
  size_ += static_cast<int64_t>(size);
}

void Spill::read_at(int64_t offset, void* bytes, std::size_t size) const {
  check(read_all_at(descriptor_, {static_cast<std::byte*>(bytes), size}, offset), directory_, "cannot read");
}

Spill::Stored Spill::write(const Datum& datum) {
  Stored stored;
  stored.kind = datum.kind;
  for (const Datum& element : datum.elements) stored.elements.push_back(write(element));
  if (datum.kind != Datum::Kind::tensor || !datum.tensor) return stored;
  const Tensor dense = contiguous(datum.tensor);
  stored.type = dense.type();
  stored.dims = dense.dims();
  stored.offset = size_;
  const auto count = as_size(dense.element_count());
  if (dense.type() == DataType::string) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::string& text = dense.data<std::string>()[i];
      const uint64_t length = text.size();
      append(&length, sizeof length);
      append(text.data(), text.size());
    }
  } else {
    append(dense.bytes(), count * memory_size(dense.type()));
  }
  stored.size = size_ - stored.offset;
  return stored;
}

Datum Spill::read(const Stored& stored) const {
  Datum datum;
  datum.kind = stored.kind;
  for (const Stored& element : stored.elements) datum.elements.push_back(read(element));
  if (stored.type == DataType::undefined) return datum;
  datum.tensor = Tensor(stored.type, stored.dims);
  if (stored.type != DataType::string) {
    read_at(stored.offset, datum.tensor.bytes(), as_size(stored.size));
    return datum;
  }
  int64_t offset = stored.offset;
  const auto count = as_size(datum.tensor.element_count());
  for (std::size_t i = 0; i < count; ++i) {
    uint64_t length = 0;
    read_at(offset, &length, sizeof length);
    offset += static_cast<int64_t>(sizeof length);
    std::string& text = datum.tensor.data<std::string>()[i];
    text.resize(length);
    read_at(offset, text.data(), length);
    offset += static_cast<int64_t>(length);
  }
  return datum;
}

}  // namespace relayout
