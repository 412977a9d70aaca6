#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "base/random.h"
#include "model/tensor_data.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Element by element, from the definition.
std::vector<std::byte> by_definition(std::size_t size, const std::vector<std::byte>& source, const Dims& dims, const Dims& permutation) {
  Dims out_dims;
  for (const int64_t axis : permutation) out_dims.push_back(dims[static_cast<std::size_t>(axis)]);
  const Dims strides = contiguous_strides(dims);
  std::vector<std::byte> out(source.size());
  const int64_t count = element_count(dims);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, from = 0;
    for (std::size_t axis = out_dims.size(); axis-- > 0;) {
      from += rest % out_dims[axis] * strides[static_cast<std::size_t>(permutation[axis])];
      rest /= out_dims[axis];
    }
    std::memcpy(out.data() + i * static_cast<int64_t>(size), source.data() + from * static_cast<int64_t>(size), size);
  }
  return out;
}

void check(std::size_t size, const Dims& dims, const Dims& permutation) {
  const auto bytes = static_cast<std::size_t>(element_count(dims)) * size;
  std::vector<std::byte> source(bytes), target(bytes);
  const RandomStream random(1, "permute");
  for (std::size_t i = 0; i < bytes; ++i) source[i] = static_cast<std::byte>(random.bits(i));
  permute(size, source.data(), dims, permutation, target.data());
  ASSERT_TRUE(target == by_definition(size, source, dims, permutation))
      << size << " bytes, " << to_string(dims) << " by " << to_string(permutation);
}

TEST(Permute, AllOrdersOfFourDims) {
  Dims permutation{0, 1, 2, 3};
  do {
    for (const std::size_t size : {1U, 2U, 4U, 8U, 16U}) check(size, {3, 5, 2, 7}, permutation);
  } while (std::ranges::next_permutation(permutation).found);
}

TEST(Permute, AllOrdersOfFiveDimsWithOnes) {
  Dims permutation{0, 1, 2, 3, 4};
  do {
    check(4, {2, 1, 3, 1, 4}, permutation);
    check(4, {1, 1, 5, 1, 1}, permutation);
  } while (std::ranges::next_permutation(permutation).found);
}

TEST(Permute, SizesAroundTheTiles) {
  for (int64_t rows = 1; rows <= 21; ++rows) {
    for (int64_t columns = 1; columns <= 9; ++columns) {
      for (const std::size_t size : {2U, 4U}) check(size, {3, rows, columns}, {0, 2, 1});
    }
  }
}

TEST(Permute, SizesAroundTheBlocks) {
  for (const int64_t rows : {1, 15, 16, 17, 63, 64, 65, 130}) {
    for (const int64_t columns : {1, 2, 9, 63, 64, 65, 129}) check(4, {2, rows, columns}, {0, 2, 1});
  }
}

TEST(Permute, DistancesThatShareCacheSets) {
  check(4, {1, 1024, 9}, {0, 2, 1});     // writes a page apart
  check(4, {1, 20, 1024}, {0, 2, 1});    // reads a page apart
  check(4, {1, 1024, 1024}, {0, 2, 1});  // both
  check(2, {1, 2048, 2048}, {0, 2, 1});
}

TEST(Permute, EmptyAndScalar) {
  check(4, {}, {});
  check(4, {0, 3}, {1, 0});
  check(8, {7}, {0});
}

}  // namespace
}  // namespace relayout
