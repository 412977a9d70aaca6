#include "ops/loops/strided.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

Tensor counted(const Dims& dims) {
  Tensor tensor(DataType::int64, dims);
  std::iota(tensor.data<int64_t>(), tensor.data<int64_t>() + tensor.element_count(), int64_t{0});
  return tensor;
}

/// Runs of a loop, as (offset of the first operand, count).
std::vector<std::pair<int64_t, int64_t>> runs_of(const Tensor& first, std::vector<Operand> others) {
  std::vector<Operand> operands{operand(first)};
  operands.insert(operands.end(), others.begin(), others.end());
  std::vector<std::pair<int64_t, int64_t>> runs;
  StridedLoop(first.dims(), operands).run([&](std::byte* const* data, const int64_t*, int64_t count) {
    runs.emplace_back((data[0] - first.bytes()) / operand(first).size, count);
  });
  return runs;
}

using Runs = std::vector<std::pair<int64_t, int64_t>>;

TEST(StridedLoop, MergesContiguousDims) {
  const Tensor x = counted({2, 3, 4});
  EXPECT_EQ(runs_of(x, {}), (Runs{{0, 24}}));
  EXPECT_EQ(runs_of(x, {operand(x)}), (Runs{{0, 24}}));
}

TEST(StridedLoop, FollowsTheFirstOperandsMemory) {
  const Tensor x = counted({2, 3, 4});
  const Tensor turned = x.transposed(std::vector<int64_t>{2, 0, 1});
  EXPECT_EQ(runs_of(turned, {operand(turned)}), (Runs{{0, 24}}));
  EXPECT_EQ(runs_of(turned, {operand(counted({4, 2, 3}))}).size(), 6U);
}

TEST(StridedLoop, BroadcastKeepsRunsOfTheResult) {
  const Tensor out = counted({2, 3, 4, 5}), channel = counted({3, 1, 1});
  EXPECT_EQ(runs_of(out, {broadcast_operand(channel, out.dims())}).front().second, 20);
  EXPECT_EQ(runs_of(out, {broadcast_operand(counted({1}), out.dims())}), (Runs{{0, 120}}));
}

TEST(StridedLoop, EmptyAndScalar) {
  EXPECT_TRUE(runs_of(Tensor(DataType::int64, {2, 0, 3}), {}).empty());
  EXPECT_EQ(runs_of(counted({}), {}), (Runs{{0, 1}}));
  EXPECT_EQ(runs_of(counted({1, 1}), {}), (Runs{{0, 1}}));
}

TEST(StridedLoop, ThreadsSeeEveryElementOnce) {
  for (const Dims& dims : {Dims{700000}, Dims{3, 250000}, Dims{1000, 3, 5, 50}}) {
    const Tensor x = counted(dims);
    const Tensor view = dims.size() > 2 ? x.view({1000, 3, 5, 25}, {750, 250, 50, 2}) : x;
    std::vector<std::atomic<uint8_t>> seen(static_cast<std::size_t>(x.element_count()));
    StridedLoop(view.dims(), {operand(view)}).run(4, [&](std::byte* const* data, const int64_t* strides, int64_t count) {
      const auto* values = reinterpret_cast<const int64_t*>(data[0]);
      for (int64_t i = 0; i < count; ++i) ++seen[static_cast<std::size_t>(values[i * strides[0]])];
    });
    EXPECT_EQ(std::count_if(seen.begin(), seen.end(), [](const auto& s) { return s == 1; }), view.element_count());
  }
}

TEST(CopyElements, BroadcastsTransposesAndReverses) {
  const Tensor x = counted({2, 3});
  Tensor out(DataType::int64, {3, 2});
  copy_elements(1, out, x.transposed(std::vector<int64_t>{1, 0}));
  EXPECT_EQ(std::vector<int64_t>(out.data<int64_t>(), out.data<int64_t>() + 6), (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
  copy_elements(1, out, x.view({1, 2}, {3, -1}, 1));
  EXPECT_EQ(std::vector<int64_t>(out.data<int64_t>(), out.data<int64_t>() + 6), (std::vector<int64_t>{1, 0, 1, 0, 1, 0}));
}

TEST(FillZero, LeavesGapsAlone) {
  const Tensor x = counted({6});
  fill_zero(x.view({3}, {2}));
  EXPECT_EQ(std::vector<int64_t>(x.data<int64_t>(), x.data<int64_t>() + 6), (std::vector<int64_t>{0, 1, 0, 3, 0, 5}));
}

}  // namespace
}  // namespace relayout
