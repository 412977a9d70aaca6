// Graphs built from random bytes, as the fuzz target of the same name builds them, through passes, planner and executor.
#include <gtest/gtest.h>

#include "base/random.h"
#include "relayout/model.h"
#include "support/many.h"
#include "support/random_graph.h"

namespace relayout::test {
namespace {

constexpr uint64_t kParts = 8, kGraphs = kMany * 4 / 1000;

class AnyGraph : public testing::TestWithParam<uint64_t> {};

TEST_P(AnyGraph, ComesThroughConversionAndEveryMode) {
  for (uint64_t seed = GetParam(); seed < kGraphs; seed += kParts) {
    const RandomStream random(seed, "graph");
    std::vector<uint8_t> bytes(40 + random.below(0, 160));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(random.below(i + 1, 256));
    const RandomGraph graph(bytes);
    ASSERT_EQ(find_fault(graph), "") << "seed " << seed << "\n" << to_text(*graph.model());
  }
}
INSTANTIATE_TEST_SUITE_P(Bytes, AnyGraph, testing::Range<uint64_t>(0, kParts));

TEST(RandomGraphs, NeedNoBytes) {
  EXPECT_EQ(find_fault(RandomGraph(std::vector<uint8_t>())), "");
}

TEST(RandomGraphs, DifferByTheirBytes) {
  const std::vector<uint8_t> zeros(64, 0), ones(64, 1);
  EXPECT_NE(RandomGraph(zeros).message().SerializeAsString(), RandomGraph(ones).message().SerializeAsString());
}

}  // namespace
}  // namespace relayout::test
