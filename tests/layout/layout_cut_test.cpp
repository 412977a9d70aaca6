#include "layout/layout_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "base/indexed.h"
#include "base/random.h"
#include "support/many.h"

namespace relayout::test {
namespace {

using ::testing::ElementsAre;

/// A problem from a seed: a graph of `ops` operators, each reading earlier values.
class RandomProblem {
 public:
  RandomProblem(uint64_t seed, int ops, int orders) : random_(seed, "labelling"), orders_(orders) {
    for (int i = 0; i < ops; ++i) add_op(layout::OperatorId{i});
  }
  [[nodiscard]] const layout::LayoutCut& problem() const { return problem_; }

 private:
  int64_t from(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_.below(next_++, static_cast<uint64_t>(high - low + 1)));
  }
  int any_order() { return static_cast<int>(from(0, orders_)); }

  void add_op(layout::OperatorId op) {
    layout::LayoutCut::Op entry{from(-6, 12), std::nullopt};
    if (from(0, 9) == 0) entry.mode = from(0, 1) == 1;
    problem_.ops.add(entry);
    if (problem_.values.empty() || from(0, 5) == 0) problem_.values.push_back({layout::OperatorId::none, any_order(), from(0, 12), {}});
    const int64_t inputs = from(1, 3);
    for (int64_t i = 0; i < inputs; ++i) {
      auto& value = problem_.values[static_cast<std::size_t>(from(0, static_cast<int64_t>(problem_.values.size()) - 1))];
      value.readers.push_back({op, any_order()});
    }
    problem_.values.push_back({op, any_order(), from(0, 12), {}});
    if (from(0, 4) == 0) problem_.values.back().readers.push_back({layout::OperatorId::none, any_order()});
  }

  RandomStream random_;
  uint64_t next_ = 0;
  int64_t orders_;
  layout::LayoutCut problem_;
};

/// The definition, written once more: the losses, and one copy for each order that a reader needs and in which the value is not held.
int64_t cost_by_definition(const layout::LayoutCut& problem, uint32_t modes) {
  const auto in_mode_1 = [&](layout::OperatorId op) { return op == layout::OperatorId::none || ((modes >> index_of(op)) & 1) != 0; };
  int64_t out = 0;
  for (const layout::OperatorId op : problem.ops.ids()) {
    const int64_t gain = problem.ops[op].gain;
    out += in_mode_1(op) ? std::max<int64_t>(-gain, 0) : std::max<int64_t>(gain, 0);
  }
  for (const layout::LayoutCut::Value& value : problem.values) {
    std::set<int> needed;
    for (const auto& reader : value.readers) needed.insert(in_mode_1(reader.op) ? reader.order : 0);
    needed.erase(in_mode_1(value.op) ? value.order : 0);
    out += static_cast<int64_t>(needed.size()) * value.copy_cost;
  }
  return out;
}

void expect_exact(const layout::LayoutCut& problem, const std::string& what) {
  const layout::Modes found = solve(problem);
  uint32_t bits = 0;
  for (const layout::OperatorId op : found.ids()) bits |= static_cast<uint32_t>(found[op] ? 1 : 0) << index_of(op);
  int64_t best = INT64_MAX;
  uint32_t in_any_best = 0;
  for (uint32_t modes = 0; modes < (1U << problem.ops.size()); ++modes) {
    bool allowed = true;
    for (const layout::OperatorId op : problem.ops.ids()) {
      if (problem.ops[op].mode) allowed &= *problem.ops[op].mode == (((modes >> index_of(op)) & 1) != 0);
    }
    if (!allowed) continue;
    const int64_t cost = cost_by_definition(problem, modes);
    if (cost < best) in_any_best = 0;
    if (cost <= best) in_any_best |= modes;
    best = std::min(best, cost);
  }
  EXPECT_EQ(cost_by_definition(problem, bits), best) << what;
  EXPECT_EQ(layout::cost(problem, found), best) << what;
  EXPECT_EQ(bits, in_any_best) << what << ": of several best ones the largest, which is their union";
}

TEST(LayoutCut, ExactAgainstBruteForce) {
  for (uint64_t seed = 0; seed < 1200; ++seed) {
    const int orders = seed % 3 == 0 ? 1 : 3;
    expect_exact(RandomProblem(seed, 2 + static_cast<int>(seed % 9), orders).problem(), "seed " + std::to_string(seed));
  }
}

/// x → c1 → {c2, B}, c2 → out, B a barrier.
layout::LayoutCut worked_example(int64_t gain1, int64_t gain2, bool nhwc) {
  layout::LayoutCut out;
  const layout::OperatorId none = layout::OperatorId::none, c1 = out.ops.add(gain1, std::nullopt), c2 = out.ops.add(gain2, std::nullopt);
  out.values = {{none, nhwc ? 1 : 0, 10, {{c1, 1}}}, {c1, 1, 8, {{c2, 1}, {none, 0}}}, {c2, 1, 8, {{none, 0}}}};
  return out;
}

TEST(LayoutCut, WorkedExample) {
  const auto cost_of = [](const layout::LayoutCut& problem) { return cost(problem, solve(problem)); };
  EXPECT_EQ(cost_of(worked_example(6, 9, false)), 15);
  EXPECT_THAT(layout::solve(worked_example(6, 9, false)), ElementsAre(false, false));
  EXPECT_EQ(cost_of(worked_example(20, 20, false)), 26);
  EXPECT_THAT(layout::solve(worked_example(20, 20, false)), ElementsAre(true, true));
  EXPECT_EQ(cost_of(worked_example(12, 9, true)), 16);
  EXPECT_EQ(layout::cost(worked_example(12, 9, true), layout::Modes(2, false)), 31);
}

TEST(LayoutCut, Nothing) {
  EXPECT_TRUE(layout::solve({}).empty());
}

/// Chains, dense blocks and far edges of 100,000 operators; the same labels again.
TEST(LayoutCut, L95LargeProblems) {
  constexpr int kOps = kMany;
  const RandomStream random(1, "large");
  const auto chain = [&](int64_t gain, int64_t noise, int64_t cost) {
    layout::LayoutCut out;
    out.values.push_back({layout::OperatorId::none, 0, cost, {}});
    for (int i = 0; i < kOps; ++i) {
      out.values.back().readers.push_back({layout::OperatorId{i}, 1});
      out.ops.add(gain + static_cast<int64_t>(random.below(static_cast<uint64_t>(i), static_cast<uint64_t>(noise))), std::nullopt);
      out.values.push_back({layout::OperatorId{i}, 1, cost, {}});
    }
    out.values.back().readers.push_back({layout::OperatorId::none, 0});
    return out;
  };
  layout::LayoutCut dense;
  for (int i = 0; i < kOps; ++i) {
    dense.ops.add(static_cast<int64_t>(random.below(static_cast<uint64_t>(i), 40)) - 10, std::nullopt);
    dense.values.push_back({layout::OperatorId{i}, 1, 30, {}});
    for (int back = 1; back <= std::min(i, 12); ++back)
      dense.values[static_cast<std::size_t>(i - back)].readers.push_back({layout::OperatorId{i}, 1});
  }
  layout::LayoutCut star;
  star.ops.add(5, std::nullopt);
  star.values.push_back({layout::OperatorId{0}, 1, 1000, {}});
  for (int i = 1; i < kOps; ++i) {
    star.ops.add(i % 2 == 0 ? -1 : 1, std::nullopt);
    star.values[0].readers.push_back({layout::OperatorId{i}, 1});
  }
  layout::LayoutCut far;
  for (int i = 0; i < kOps; ++i) {
    far.ops.add(static_cast<int64_t>(random.below(static_cast<uint64_t>(i), 30)), std::nullopt);
    if (i % 10 == 9) far.ops.back().mode = false;
    far.values.push_back(
        {layout::OperatorId{i}, 1, static_cast<int64_t>(random.below(static_cast<uint64_t>(kOps) + static_cast<uint64_t>(i), 20)), {}});
    for (int k = 0; k < 2 && i > 0; ++k) {
      const auto to =
          random.below(2 * static_cast<uint64_t>(kOps) + 2 * static_cast<uint64_t>(i) + static_cast<uint64_t>(k), static_cast<uint64_t>(i));
      far.values[to].readers.push_back({layout::OperatorId{i}, 1});
    }
  }
  for (const layout::LayoutCut& problem : {chain(1, 3, 1'000'000'000), chain(-2, 5, 3), dense, star, far}) {
    const auto start = std::chrono::steady_clock::now();
    const layout::Modes modes = solve(problem);
    RecordProperty("seconds", std::to_string(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()));
    EXPECT_TRUE(std::ranges::equal(solve(problem), modes));
    // No single change improves it.
    EXPECT_LE(cost(problem, modes), cost(problem, layout::Modes(problem.ops.size(), false)));
  }
}

}  // namespace
}  // namespace relayout::test
