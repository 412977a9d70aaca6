// Tests the counts of remaining reads, of values and of their buffers.
#include <gtest/gtest.h>

#include "base/indexed.h"
#include "exec/kernels/kernel.h"
#include "exec/lower/fuse.h"
#include "exec/program.h"

namespace relayout::exec {
namespace {

constexpr ValueId kFirst{0}, kSecond{1};
constexpr BufferId kShared{2}, kOwn{5}, kNone{7};

ReadCounts two_values(int first, int second) {
  IdVector<ValueId, int> counts(2);
  counts[kFirst] = first;
  counts[kSecond] = second;
  return ReadCounts(counts);
}

TEST(ReadCounts, ABufferHasTheReadsOfAllValuesInIt) {
  ReadCounts reads = two_values(2, 3);
  reads.settle(kFirst, kShared);
  reads.settle(kSecond, kShared);
  reads.settle(kSecond, kOwn);
  EXPECT_EQ(reads.in(kShared), 5);
  EXPECT_EQ(reads.in(kOwn), 3);
  EXPECT_EQ(reads.in(kNone), 0);
  reads.add(kSecond, -1);
  EXPECT_EQ(reads.of(kSecond), 2);
  EXPECT_EQ(reads.in(kShared), 4);
  EXPECT_EQ(reads.in(kOwn), 2);
}

TEST(ReadCounts, AValueCountsOnceInABuffer) {
  ReadCounts reads = two_values(2, 0);
  reads.settle(kFirst, kShared);
  reads.settle(kFirst, kShared);
  EXPECT_EQ(reads.in(kShared), 2);
  reads.add(kFirst, -2);
  EXPECT_EQ(reads.in(kShared), 0);
}

TEST(ReadCounts, ABufferSettledLaterHasTheRemainingReads) {
  ReadCounts reads = two_values(3, 0);
  reads.add(kFirst, -2);
  reads.settle(kFirst, kOwn);
  EXPECT_EQ(reads.in(kOwn), 1);
}

}  // namespace
}  // namespace relayout::exec
