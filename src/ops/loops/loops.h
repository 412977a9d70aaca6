#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "relayout/types.h"

namespace relayout {

/// Dims over which several tensors are iterated together, outermost first, and each tensor's strides in elements.
struct Loops {
  Dims dims;
  std::vector<Dims> strides;  ///< per tensor
};

/// Dims and tensors that an iteration tracks without allocating.
inline constexpr std::size_t kMostLoopDims = 32;
inline constexpr std::size_t kMostLoopTensors = 12;

/// Dims in the given order, outermost first; neighbours that form one dim in every tensor are merged.
[[nodiscard]] Loops merge_dims(std::span<const int64_t> dims, const std::vector<Dims>& strides, std::span<const std::size_t> order);

/// Sorts dims by `leader`'s strides (largest outside), drops dims of size 1, and merges neighbours that form one dim in every tensor.
/// Error{unsupported} when more than kMostLoopDims remain.
[[nodiscard]] Loops simplify(const Dims& dims, const std::vector<Dims>& strides, std::size_t leader);

/// Calls work(offsets) for each combination of the outer `levels` dims with index in [begin, end) of their product, row-major;
/// offsets are in elements, one per tensor.
template <class Work>
void for_each_outer(const Loops& loops, std::size_t levels, int64_t begin, int64_t end, const Work& work) {
  const std::size_t tensors = loops.strides.size();
  std::array<int64_t, kMostLoopTensors> offsets{};
  std::array<int64_t, kMostLoopDims> index{};
  int64_t rest = begin;
  for (std::size_t level = levels; level-- > 0;) {
    index[level] = rest % loops.dims[level];
    rest /= loops.dims[level];
    for (std::size_t t = 0; t < tensors; ++t) offsets[t] += index[level] * loops.strides[t][level];
  }
  for (int64_t i = begin; i < end; ++i) {
    work(std::span<const int64_t>(offsets.data(), tensors));
    for (std::size_t level = levels; level-- > 0;) {
      const bool wraps = ++index[level] == loops.dims[level];
      for (std::size_t t = 0; t < tensors; ++t) {
        offsets[t] += loops.strides[t][level] * (wraps ? 1 - loops.dims[level] : 1);
      }
      if (!wraps) break;
      index[level] = 0;
    }
  }
}

/// Product of the first `levels` dims.
[[nodiscard]] int64_t outer_count(const Loops& loops, std::size_t levels);

}  // namespace relayout
