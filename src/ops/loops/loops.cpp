// Merges the dims over which several strided tensors are iterated together, and the limits: 12 tensors, 32 dims ("a tensor of more than …
// dims").
#include "ops/loops/loops.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "relayout/error.h"
#include "relayout/types.h"

namespace relayout {

Loops merge_dims(std::span<const int64_t> dims, const std::vector<Dims>& strides, std::span<const std::size_t> order) {
  Loops out;
  out.strides.resize(strides.size());
  for (const std::size_t dim : order) {
    bool merges = !out.dims.empty();
    for (std::size_t t = 0; merges && t < strides.size(); ++t) merges = out.strides[t].back() == strides[t][dim] * dims[dim];
    if (merges) {
      out.dims.back() *= dims[dim];
      for (std::size_t t = 0; t < strides.size(); ++t) out.strides[t].back() = strides[t][dim];
    } else {
      out.dims.push_back(dims[dim]);
      for (std::size_t t = 0; t < strides.size(); ++t) out.strides[t].push_back(strides[t][dim]);
    }
  }
  return out;
}

Loops simplify(const Dims& dims, const std::vector<Dims>& strides, std::size_t leader) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1) order.push_back(i);
  }
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return std::abs(strides[leader][a]) > std::abs(strides[leader][b]); });
  Loops out = merge_dims(dims, strides, order);
  if (out.dims.empty()) {
    out.dims.push_back(1);
    for (Dims& tensor : out.strides) tensor.push_back(0);
  }
  if (out.dims.size() > kMostLoopDims) fail(ErrorKind::unsupported, "a tensor of more than " + std::to_string(kMostLoopDims) + " dims");
  return out;
}

int64_t outer_count(const Loops& loops, std::size_t levels) {
  return std::accumulate(loops.dims.begin(), loops.dims.begin() + static_cast<std::ptrdiff_t>(levels), int64_t{1}, std::multiplies<>());
}

}  // namespace relayout
