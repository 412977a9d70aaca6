// Fuzzes the wire walk: it refuses the bytes, or its records fit the file.

#include <cstdlib>

#include "model/wire.h"
#include "relayout/error.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace relayout;
  const auto file = File::from_bytes(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  try {
    const wire::Walk walked = wire::walk(*file);
    for (const wire::Elided& elided : walked.elided) require(elided.offset >= 0 && elided.length <= file->size() - elided.offset);
    for (const wire::Message& message : walked.messages) {
      int64_t last = 0;
      for (const wire::Item& item : walked.items_of(message)) {
        require(item.start >= last && item.start < item.payload() && item.payload() <= item.end && item.end <= file->size());
        last = item.end;
      }
    }
    // Every byte of the file belongs to an item of the model.
    int64_t covered = 0;
    if (!walked.messages.empty()) {
      for (const wire::Item& item : walked.items_of(walked.messages.back())) covered += item.end - item.start;
    }
    require(covered == file->size());
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::invalid || error.kind() == ErrorKind::unsupported);
  }
  return 0;
}
