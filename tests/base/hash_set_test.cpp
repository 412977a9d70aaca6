// Tests the set of hashes against std::set. 0 marks free places inside and is taken for 1.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/hash.h"

namespace relayout {
namespace {

TEST(HashSet, BehavesAsASet) {
  std::mt19937_64 random(1);
  for (const std::size_t range : {3U, 100U, 5000U}) {
    HashSet hashes;
    std::set<std::size_t> expected;
    if (range == 100) hashes.reserve(50);
    for (int step = 0; step < 20000; ++step) {
      const std::size_t hash = 2 + random() % range;
      EXPECT_EQ(hashes.empty(), expected.empty());
      ASSERT_EQ(hashes.insert(hash), expected.insert(hash).second);
    }
  }
}

TEST(HashSet, ZeroIsTakenForOne) {
  HashSet hashes;
  EXPECT_TRUE(hashes.insert(0));
  EXPECT_FALSE(hashes.insert(0));
  EXPECT_FALSE(hashes.insert(1));
  EXPECT_FALSE(hashes.empty());
}

}  // namespace
}  // namespace relayout
