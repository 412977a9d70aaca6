// Whether two model files, with their external data, are the same bytes.
#include "verify/identical.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/positions.h"
#include "model/origin.h"

namespace relayout {
namespace {

bool same_bytes(const File& a, const File& b) {
  constexpr int64_t kBuffer = int64_t{1} << 20;
  if (a.size() != b.size()) return false;
  if (!b.path().empty() && a.is_same_as(b.path())) return true;
  std::vector<std::byte> left(as_size(std::min(kBuffer, a.size()))), right(left.size());
  for (int64_t offset = 0; offset < a.size(); offset += kBuffer) {
    check_interrupt();
    const auto size = as_size(std::min(kBuffer, a.size() - offset));
    a.read(offset, std::span(left).first(size));
    b.read(offset, std::span(right).first(size));
    if (std::memcmp(left.data(), right.data(), size) != 0) return false;
  }
  return true;
}

}  // namespace

bool are_identical(const Model& a, const Model& b) {
  const ModelOrigin &left = origin_of(a), &right = origin_of(b);
  if (!left.file || !right.file || !same_bytes(*left.file, *right.file)) return false;
  // Equal model files name the same locations, each relative to its own model.
  const auto files_a = left.external_files(), files_b = right.external_files();
  return files_a.size() == files_b.size() && std::ranges::all_of(files_a, [&](const auto& entry) {
           const auto other = files_b.find(entry.first);
           return other != files_b.end() && same_bytes(*entry.second, *other->second);
         });
}

}  // namespace relayout
