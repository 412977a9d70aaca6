// Tests walks over several strided tensors at once against plain nested counting.
#include <gtest/gtest.h>

#include "base/random.h"
#include "ops/loops/strided.h"
#include "relayout/types.h"

namespace relayout {
namespace {

using Offsets = std::vector<std::vector<int64_t>>;

/// Offsets of every index, one list per index, by the definition.
Offsets by_definition(const Dims& dims, const std::vector<Dims>& strides) {
  Offsets out(1, std::vector<int64_t>(strides.size(), 0));
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    Offsets longer;
    for (const auto& offsets : out) {
      for (int64_t i = 0; i < dims[axis]; ++i) {
        auto& moved = longer.emplace_back(offsets);
        for (std::size_t t = 0; t < strides.size(); ++t) moved[t] += i * strides[t][axis];
      }
    }
    out = std::move(longer);
  }
  return out;
}

Offsets walked(const Loops& loops, std::size_t parts) {
  Offsets out;
  const int64_t count = outer_count(loops, loops.dims.size());
  for (std::size_t part = 0; part < parts; ++part) {
    const auto begin = count * static_cast<int64_t>(part) / static_cast<int64_t>(parts);
    const auto end = count * static_cast<int64_t>(part + 1) / static_cast<int64_t>(parts);
    for_each_outer(loops, loops.dims.size(), begin, end, [&](std::span<const int64_t> at) { out.emplace_back(at.begin(), at.end()); });
  }
  return out;
}

TEST(Loops, EveryIndexIsVisitedOnceUnderAnyStrides) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const RandomStream random(seed, "loops");
    const std::size_t rank = random.below(0, 5);
    Dims dims;
    std::vector<Dims> strides(3);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      dims.push_back(1 + static_cast<int64_t>(random.below(1 + axis, 4)));
      for (std::size_t t = 0; t < strides.size(); ++t) {
        strides[t].push_back(static_cast<int64_t>(random.below(100 + 10 * axis + t, 40)) - 10);
      }
    }
    Offsets expected = by_definition(dims, strides), found = walked(simplify(dims, strides, seed % 3), 1 + seed % 4);
    std::ranges::sort(expected);
    std::ranges::sort(found);
    EXPECT_EQ(found, expected) << "seed " << seed;
  }
}

TEST(Loops, DimsThatEveryTensorWalksAsOneAreMerged) {
  // [2, 3, 4], contiguous, and with the last two dims swapped in memory.
  const Loops same = simplify({2, 3, 4}, {{12, 4, 1}, {12, 4, 1}}, 0);
  EXPECT_EQ(same.dims, Dims{24});
  const Loops apart = simplify({2, 3, 4}, {{12, 4, 1}, {12, 1, 3}}, 1);
  EXPECT_EQ(apart.dims, (Dims{2, 4, 3}));
  EXPECT_EQ(apart.strides, (std::vector<Dims>{{12, 1, 4}, {12, 3, 1}}));
  EXPECT_EQ(simplify({1, 1}, {{7, 7}}, 0).dims, Dims{1});
}

}  // namespace
}  // namespace relayout
