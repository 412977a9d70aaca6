// Tests merging reports of parts: any partition gives the whole, and other sets of parts are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "relayout/error.h"
#include "relayout/suite.h"
#include "suite/suite.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Parts = std::vector<SuitePart>;

constexpr const char* kStatuses[] = {"passed", "failed", "unsupported", "crashed"};

/// A run over all cases.
SuiteResult whole_run(std::size_t count) {
  SuiteResult out;
  out.tree = "tree";
  out.version = "1.0";
  out.options = {"--seed", "1"};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = "case" + std::to_string(1000 + i);
    names.push_back(name);
    out.cases.push_back({name, kStatuses[i % 4], 0.25, i % 4 == 0 ? "" : "why", {}, ""});
    if (i % 8 == 1) out.cases.back().expected = "failed";
  }
  out.stale = {"gone"};
  out.whole = extent_of(names);
  out.planned = static_cast<int64_t>(count);
  out.seconds = 0.25 * static_cast<double>(count);
  return out;
}

/// The report of some of the cases.
SuiteResult part_of(const SuiteResult& whole, std::vector<SuiteCase> cases, const Shard& shard) {
  SuiteResult out = whole;
  out.shard = shard;
  out.cases = std::move(cases);
  out.planned = static_cast<int64_t>(out.cases.size());
  out.seconds = 0.25 * static_cast<double>(out.cases.size());
  return out;
}

/// The cases dealt out at random; some parts may be empty.
Parts random_partition(const SuiteResult& whole, std::size_t count, uint64_t seed) {
  const RandomStream random(seed, "partition");
  std::vector<std::vector<SuiteCase>> dealt(count);
  for (std::size_t i = 0; i < whole.cases.size(); ++i) {
    dealt[static_cast<std::size_t>(random.uniform(i) * static_cast<double>(count))].push_back(whole.cases[i]);
  }
  Parts out;
  for (std::size_t k = 0; k < count; ++k) {
    const Shard shard{static_cast<int64_t>(k) + 1, static_cast<int64_t>(count), "X=1"};
    out.push_back({"part" + std::to_string((k * 7) % count) + ".json", part_of(whole, dealt[k], shard)});
  }
  std::rotate(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(seed % count), out.end());
  return out;
}

void expect_equal(const SuiteResult& a, const SuiteResult& b) {
  ASSERT_EQ(a.cases.size(), b.cases.size());
  for (std::size_t i = 0; i < a.cases.size(); ++i) {
    EXPECT_EQ(a.cases[i].name, b.cases[i].name);
    EXPECT_EQ(a.cases[i].status, b.cases[i].status);
    EXPECT_EQ(a.cases[i].message, b.cases[i].message);
    EXPECT_EQ(a.cases[i].expected, b.cases[i].expected);
  }
  EXPECT_EQ(a.shard, b.shard);
  EXPECT_EQ(a.planned, b.planned);
  EXPECT_EQ(a.whole.digest, b.whole.digest);
  EXPECT_EQ(a.stale, b.stale);
  EXPECT_EQ(a.options, b.options);
  EXPECT_DOUBLE_EQ(a.seconds, b.seconds);
  EXPECT_EQ(exit_code(a), exit_code(b));
}

/// The message of the refusal.
std::string refusal(Parts parts, const MergeOptions& options = {}) {
  try {
    (void)merge_suites(std::move(parts), options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(MergeSuites, AnyPartitionIsTheWhole) {
  const SuiteResult whole = whole_run(37);
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_equal(merge_suites(random_partition(whole, 1 + seed % 9, seed)), whole);
  }
}

TEST(MergeSuites, MergedPartsAreParts) {
  const SuiteResult whole = whole_run(20);
  Parts parts = random_partition(whole, 5, 3);
  Parts some(parts.begin(), parts.begin() + 3);
  const SuiteResult first = merge_suites(some, {.allow_missing = true});
  EXPECT_LT(first.planned, first.whole.cases);
  expect_equal(merge_suites({{"first", first}, parts[3], parts[4]}), whole);
}

TEST(MergeSuites, NothingIsLost) {
  Parts parts = random_partition(whole_run(37), 5, 1);
  const auto missing = static_cast<int64_t>(parts.back().result.cases.size());
  const Shard shard = parts.back().result.shard;
  parts.pop_back();
  EXPECT_EQ(refusal(parts), std::to_string(missing) + " of 37 cases are missing: no shard " + std::to_string(shard.index) + "/5");
  // A part that a signal ended.
  parts = random_partition(whole_run(37), 3, 1);
  parts[1].result.cases.pop_back();
  parts[1].result.interruption = ErrorKind::terminated;
  EXPECT_THAT(refusal(parts), AllOf(HasSubstr("1 of 37 cases are missing"), HasSubstr(parts[1].name + " was interrupted")));
}

TEST(MergeSuites, NothingIsCountedTwice) {
  Parts parts = random_partition(whole_run(12), 3, 1);
  parts.push_back(parts[0]);
  parts.back().name = "again.json";
  EXPECT_THAT(refusal(parts), AllOf(HasSubstr("case 'case1"), HasSubstr("again.json"), HasSubstr(parts[0].name)));
}

TEST(MergeSuites, DifferingRunsAreNotMerged) {
  const auto spoiled = [](const auto& spoil) {
    Parts parts = random_partition(whole_run(12), 3, 0);
    spoil(parts[1].result);
    return refusal(parts);
  };
  EXPECT_THAT(spoiled([](SuiteResult& one) { one.version = "1.1"; }), HasSubstr("the version of relayout: '1.0' and '1.1'"));
  EXPECT_THAT(spoiled([](SuiteResult& one) { one.options = {"--seed", "2"}; }), HasSubstr("options: '--seed 1' and '--seed 2'"));
  EXPECT_THAT(spoiled([](SuiteResult& one) { one.tree = "other"; }), HasSubstr("the tree"));
  EXPECT_THAT(spoiled([](SuiteResult& one) { one.whole = extent_of({"a"}); }), HasSubstr("suites with different cases"));
  EXPECT_THAT(spoiled([](SuiteResult& one) { one.stale.clear(); }), HasSubstr("exceptions"));
}

TEST(MergeSuites, CasesRunByNameNeedTheList) {
  const SuiteResult whole = whole_run(4);
  Parts parts;
  std::vector<std::string> names;
  for (const SuiteCase& one : whole.cases) {
    SuiteResult part = part_of(whole, {one}, {});
    part.whole = {};
    part.stale.clear();
    parts.push_back({one.name + ".json", part});
    names.push_back(one.name);
  }
  EXPECT_THAT(refusal(parts), HasSubstr("--cases-from"));
  SuiteResult merged = merge_suites(parts, {.names = names});
  merged.stale = whole.stale;
  expect_equal(merged, whole);
  names.emplace_back("another");
  EXPECT_EQ(refusal(parts, {.names = names}), "'another' is missing");
  EXPECT_EQ(merge_suites(parts, {.names = names, .allow_missing = true}).whole.cases, 5);
  EXPECT_THAT(refusal(parts, {.names = std::vector<std::string>{"case1000", "case1001", "case1002"}}),
              HasSubstr("'case1003' is not among"));
}

TEST(MergeSuites, ExceptionsMayBeAppliedLater) {
  const TemporaryFolder folder;
  write_file(folder / "list", "case1001 failed known\nfar failed known\n");
  const SuiteResult merged = merge_suites(random_partition(whole_run(4), 2, 0), {.expected = folder / "list"});
  EXPECT_TRUE(merged.cases[1].is_as_expected());
  EXPECT_THAT(merged.stale, ElementsAre("far"));
}

}  // namespace
}  // namespace relayout::test
