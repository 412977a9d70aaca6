#include "exec/arena.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace relayout::exec {
namespace {

void expect_disjoint(const std::vector<Lifetime>& lifetimes, const ArenaLayout& layout, uint64_t seed) {
  for (std::size_t a = 0; a < lifetimes.size(); ++a) {
    EXPECT_EQ(layout.offsets[a] % 64, 0);
    EXPECT_LE(layout.offsets[a] + lifetimes[a].bytes, layout.bytes);
    for (std::size_t b = 0; b < a; ++b) {
      const bool together = lifetimes[a].first <= lifetimes[b].last && lifetimes[b].first <= lifetimes[a].last;
      const bool overlap =
          layout.offsets[a] < layout.offsets[b] + lifetimes[b].bytes && layout.offsets[b] < layout.offsets[a] + lifetimes[a].bytes;
      ASSERT_FALSE(together && overlap) << "seed " << seed << " buffers " << a << " and " << b;
    }
  }
}

TEST(Arena, NoTwoLiveBuffersOverlap) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const RandomStream random(seed, "arena");
    std::vector<Lifetime> lifetimes(1 + random.below(0, 60));
    for (std::size_t i = 0; i < lifetimes.size(); ++i) {
      const auto first = static_cast<int64_t>(random.below(4 * i + 1, 80));
      const auto length = static_cast<int64_t>(random.below(4 * i + 2, seed % 3 == 0 ? 80 : 4));
      lifetimes[i] = {1 + static_cast<int64_t>(random.below(4 * i + 3, 5000)), first, first + length};
    }
    expect_disjoint(lifetimes, lay_out_arena(lifetimes), seed);
  }
}

TEST(Arena, AChainNeedsItsTwoLargestNeighbours) {
  const std::vector<Lifetime> chain = {{640, 0, 1}, {1280, 1, 2}, {64, 2, 3}, {1280, 3, 4}, {640, 4, 5}};
  EXPECT_EQ(lay_out_arena(chain).bytes, 1280 + 640);
}

TEST(Arena, NothingTakesNothing) {
  EXPECT_EQ(lay_out_arena({}).bytes, 0);
  const std::vector<Lifetime> empty = {{0, 0, 3}, {0, 1, 2}};
  const ArenaLayout layout = lay_out_arena(empty);
  EXPECT_NE(layout.offsets[0], layout.offsets[1]) << "empty tensors have addresses of their own";
}

TEST(Arena, MemoryOfHugePagesBeginsWithOne) {
  constexpr uintptr_t kPage = 4096, kHugePage = 2 << 20;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(ArenaMemory(100).data()) % kPage, 0U);
  for (const int64_t bytes : {int64_t{2} << 20, (int64_t{2} << 20) + 1, int64_t{7'000'001}}) {
    const ArenaMemory memory(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % kHugePage, 0U) << bytes;
    memory.data()[bytes - 1] = std::byte{1};
  }
}

TEST(Arena, HundredThousandBuffersInAMoment) {
  std::vector<Lifetime> lifetimes;
  for (int64_t i = 0; i < 100'000; ++i) lifetimes.push_back({100 + i % 977, i, i + 1 + i % 3});
  lifetimes.push_back({50, 0, 100'002});
  EXPECT_LT(lay_out_arena(lifetimes).bytes, 10'000);
  std::vector<Lifetime> all_at_once(20'000, Lifetime{64, 0, 100'000});
  EXPECT_EQ(lay_out_arena(all_at_once).bytes, 64 * 20'000);
}

}  // namespace
}  // namespace relayout::exec
