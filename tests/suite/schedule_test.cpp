// Tests the dealing of cases to the parts of a suite: properties over random suites, and the balance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <cmath>

#include "base/random.h"
#include "relayout/suite.h"

namespace relayout {
namespace {

using testing::ElementsAre;
using Names = std::vector<std::string>;

struct Suite {
  Names names;
  CaseDurations durations;
};

/// Up to 60 cases, of which about `known` percent have durations over four orders of magnitude.
Suite random_suite(uint64_t seed, double known) {
  const RandomStream random(seed, "suite");
  Suite out;
  const auto count = static_cast<std::size_t>(random.uniform(0) * 60);
  for (std::size_t i = 0; i < count; ++i) {
    out.names.push_back((i % 3 == 0 ? "node/Ä_" : "node/ı_") + std::to_string(1000 + i));
    if (random.uniform(2 * i + 1) * 100 < known) out.durations[out.names.back()] = std::pow(10.0, random.uniform(2 * i + 2) * 4 - 2);
  }
  std::ranges::sort(out.names);
  return out;
}

TEST(Deal, PartsAreDisjointAndTheirUnionIsAll) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Suite suite = random_suite(seed, seed % 2 == 0 ? 0 : 70);
    const int64_t parts = 1 + static_cast<int64_t>(seed % 9);
    std::vector<std::size_t> all;
    for (int64_t index = 1; index <= parts; ++index) {
      const auto part = deal(suite.names, {index, parts}, suite.durations);
      all.insert(all.end(), part.begin(), part.end());
    }
    std::ranges::sort(all);
    ASSERT_EQ(all.size(), suite.names.size()) << "seed " << seed;
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i) << "seed " << seed;
  }
}

TEST(Deal, LocalesDoNotMatter) {
  const Suite suite = random_suite(5, 70);
  const auto dealt = deal(suite.names, {2, 3}, suite.durations);
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* const locale : {"C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8"}) {
    if (std::setlocale(LC_ALL, locale) == nullptr) continue;
    EXPECT_EQ(deal(suite.names, {2, 3}, suite.durations), dealt) << locale;
  }
  std::setlocale(LC_ALL, before.c_str());
}

TEST(Deal, LongestFirstIntoTheLightestPart) {
  const Names names{"a", "b", "c", "d", "e"};
  const CaseDurations durations{{"a", 1}, {"b", 5}, {"c", 4}, {"d", 3}, {"e", 3}};
  // b → 1, c → 2, d → 2 (4 < 5), e → 1 (5 < 7), a → 2 (7 < 8).
  EXPECT_THAT(deal(names, {1, 2}, durations), ElementsAre(1, 4));
  EXPECT_THAT(deal(names, {2, 2}, durations), ElementsAre(2, 3, 0));
}

TEST(Deal, UnknownCasesCountAsTheMedianOfTheKnown) {
  const Names names{"a", "b", "c", "d"};
  // The median of 1, 2 and 9 is 2: d comes after b, which takes equally long.
  EXPECT_THAT(deal(names, {1, 1}, {{"a", 1}, {"b", 2}, {"c", 9}}), ElementsAre(2, 1, 3, 0));
  // Names outside the suite have no effect.
  EXPECT_THAT(deal(names, {1, 1}, {{"a", 1}, {"b", 2}, {"c", 9}, {"y", 100}, {"z", 100}}), ElementsAre(2, 1, 3, 0));
}

TEST(Deal, InTurnWithoutDurations) {
  EXPECT_THAT(deal({"a", "b", "c", "d", "e"}, {2, 3}, {}), ElementsAre(1, 4));
  EXPECT_THAT(deal({"a", "b"}, {3, 3}, {}), ElementsAre());
  EXPECT_THAT(deal({"a", "b"}, {3, 3}, {{"a", 1}}), ElementsAre());
  EXPECT_THAT(deal({}, {1, 3}, {{"a", 1}}), ElementsAre());
}

/// Graham 1966: any list schedule is at most 2 - 1/m of the best one, which is at least the mean and the longest case.
TEST(Deal, IsWithinGrahamsBound) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Suite suite = random_suite(seed, 100);
    if (suite.names.empty()) continue;
    const int64_t parts = 2 + static_cast<int64_t>(seed % 5);
    double longest = 0, sum = 0, most = 0;
    for (const auto& [name, seconds] : suite.durations) {
      sum += seconds;
      most = std::max(most, seconds);
    }
    for (int64_t index = 1; index <= parts; ++index) {
      double load = 0;
      for (const std::size_t i : deal(suite.names, {index, parts}, suite.durations)) load += suite.durations.find(suite.names[i])->second;
      longest = std::max(longest, load);
    }
    const double least = std::max(sum / static_cast<double>(parts), most);
    EXPECT_LE(longest, least * (2 - 1 / static_cast<double>(parts)) * (1 + 1e-6)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace relayout
