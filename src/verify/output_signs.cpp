// Measures the share of an output's elements at its smallest and largest value, and hashes of its slices by which samples with the same
// bytes are recognised.
#include "verify/output_signs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/positions.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/data_structure.h"
#include "verify/elements.h"

namespace relayout {
namespace {

uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t hash) {
  for (const std::byte byte : bytes) hash = fnv_1a(hash, std::to_integer<uint64_t>(byte));
  return hash;
}

uint64_t hash_slice(const Tensor& dense, int64_t first, int64_t count, uint64_t hash) {
  if (dense.type() == DataType::string) {
    for (int64_t i = first; i < first + count; ++i) {
      const std::string& text = dense.data<std::string>()[i];
      hash = hash_bytes(std::as_bytes(std::span(text)), hash ^ text.size());
    }
    return hash;
  }
  const auto size = static_cast<int64_t>(memory_size(dense.type()));
  return hash_bytes({dense.bytes() + first * size, as_size(count * size)}, hash);
}

}  // namespace

double saturated_share(const Datum& datum) {
  double minimum = std::numeric_limits<double>::infinity(), maximum = -minimum;
  int64_t finite = 0, at_extremes = 0;
  const auto each = [&](const auto& f) {
    for (const Tensor& leaf : leaves(datum)) {
      if (!leaf || !is_measured(leaf.type())) continue;
      for_each_chunk(real_parts(leaf), [&](int64_t, std::span<const double> values) {
        for (const double value : values) {
          if (std::isfinite(value)) f(value);
        }
      });
    }
  };
  each([&](double value) {
    minimum = std::min(minimum, value);
    maximum = std::max(maximum, value);
    ++finite;
  });
  if (finite < 3) return 0;
  each([&](double value) { at_extremes += value == minimum || value == maximum ? 1 : 0; });
  return static_cast<double>(at_extremes) / static_cast<double>(finite);
}

std::vector<uint64_t> slice_hashes(const Datum& datum) {
  constexpr int64_t kMaxSlices = 64;
  std::vector<uint64_t> hashes;
  for (const Tensor& leaf : leaves(datum)) {
    if (!leaf) continue;
    const Tensor dense = contiguous(leaf);
    const int64_t count = dense.element_count();
    const int64_t slices = dense.rank() == 0 ? 1 : dense.dims()[0];
    const int64_t size = slices == 0 ? 0 : count / slices;
    uint64_t basis = kFnvBasis;
    for (std::size_t i = 1; i < dense.dims().size(); ++i) basis = (basis ^ static_cast<uint64_t>(dense.dims()[i])) * 31;
    for (int64_t i = 0; i < std::min(slices, kMaxSlices); ++i) hashes.push_back(hash_slice(dense, i * size, size, basis));
  }
  return hashes;
}

}  // namespace relayout
