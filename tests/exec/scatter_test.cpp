// Tests ScatterND by constant indices, which the executor copies where they name a view, against the specification's loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exec/draw.h"
#include "exec/model_builder.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

struct Scatter {
  Dims data, rows;  ///< rows: dims of the indices but for the last
  std::vector<int64_t> indices;
  int64_t depth = 0;

  [[nodiscard]] Dims index_dims() const {
    Dims out = rows;
    out.push_back(depth);
    return out;
  }
  [[nodiscard]] Dims update_dims() const {
    Dims out = rows;
    out.insert(out.end(), data.begin() + depth, data.end());
    return out;
  }
};

/// ONNX ScatterND: for each row of indices in turn, data[row] = updates[row].
std::vector<float> scattered(const Scatter& one, std::vector<float> data, const std::vector<float>& updates) {
  const int64_t slice = element_count(Dims(one.data.begin() + one.depth, one.data.end()));
  for (int64_t row = 0; row < element_count(one.rows); ++row) {
    int64_t place = 0;
    for (int64_t i = 0; i < one.depth; ++i) {
      const int64_t dim = one.data[static_cast<std::size_t>(i)], at = one.indices[static_cast<std::size_t>(row * one.depth + i)];
      place = place * dim + (at < 0 ? at + dim : at);
    }
    for (int64_t i = 0; i < slice; ++i) {
      data[static_cast<std::size_t>(place * slice + i)] = updates[static_cast<std::size_t>(row * slice + i)];
    }
  }
  return data;
}

std::vector<float> numbers(int64_t count, float first) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = first + static_cast<float>(i);
  return out;
}

/// The implementation of the node ("own": the operator's kernel); fails if a mode gives a different result.
std::string implementation_of(const Scatter& one, bool data_is_read_again = false) {
  const std::vector<float> data = numbers(element_count(one.data), 1), updates = numbers(element_count(one.update_dims()), -1e6F);
  ModelBuilder builder;
  builder.input("d", one.data).input("u", one.update_dims()).constant("i", one.index_dims(), one.indices);
  builder.node("Neg", {"d"}, {"a"}).node("Neg", {"u"}, {"v"}).node("ScatterND", {"a", "i", "v"}, {"s"}).node("Neg", {"s"}, {"y"});
  builder.output("y");
  if (data_is_read_again) builder.node("Abs", {"a"}, {"z"}).output("z");
  const auto model = builder.build();
  const std::vector<float> wanted = scattered(one, data, updates);
  std::string out;
  for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
    const RunResult got = run_in(mode, *model, {{"d", tensor_of(one.data, data)}, {"u", tensor_of(one.update_dims(), updates)}}, 2);
    EXPECT_EQ(values_of(got.outputs.at(0)), wanted) << to_string(mode);
    if (data_is_read_again) {
      EXPECT_EQ(values_of(got.outputs.at(1)), data) << to_string(mode);
    }
    for (const StepInfo& step : got.info.steps) {
      if (step.op_type == "ScatterND") out = step.implementation;
    }
  }
  return out;
}

/// Indices of data[begin : begin + count · step : step] over the first dims.
Scatter slice_of(const Dims& data, const Dims& begin, const Dims& count, const Dims& step) {
  Scatter out{data, count, {}, static_cast<int64_t>(begin.size())};
  for (int64_t row = 0; row < element_count(count); ++row) {
    Dims index(begin.size());
    int64_t rest = row;
    for (std::size_t i = begin.size(); i-- > 0; rest /= count[i]) index[i] = begin[i] + rest % count[i] * step[i];
    out.indices.insert(out.indices.end(), index.begin(), index.end());
  }
  return out;
}

TEST(Scatter, OfASliceIsACopy) {
  EXPECT_EQ(implementation_of(slice_of({4, 5, 6}, {1, 2, 0}, {2, 3, 6}, {1, 1, 1})), "copy");
  EXPECT_EQ(implementation_of(slice_of({4, 5, 6}, {1, 2, 0}, {2, 3, 6}, {1, 1, 1}), true), "copy");
  EXPECT_EQ(implementation_of(slice_of({9, 8, 3}, {0, 1}, {5, 4}, {2, 2})), "copy");
  EXPECT_EQ(implementation_of(slice_of({3, 7}, {-2}, {2}, {1})), "copy");
  EXPECT_EQ(implementation_of(slice_of({3, 7}, {2}, {1}, {1}), true), "copy");
}

TEST(Scatter, OfEverythingInOrderIsAView) {
  EXPECT_EQ(implementation_of(slice_of({2, 3, 4}, {0, 0, 0}, {2, 3, 4}, {1, 1, 1})), "view");
  EXPECT_EQ(implementation_of(slice_of({2, 3, 4}, {0, 0}, {2, 3}, {1, 1}), true), "view");
}

TEST(Scatter, OfEverythingInAnotherOrderIsACopy) {
  // data[i, j] = updates[j, i].
  Scatter one{{3, 4}, {4, 3}, {}, 2};
  for (int64_t j = 0; j < 4; ++j) {
    for (int64_t i = 0; i < 3; ++i) one.indices.insert(one.indices.end(), {i, j});
  }
  EXPECT_EQ(implementation_of(one), "copy");
}

TEST(Scatter, OfOtherPlacesIsTheOperatorsKernel) {
  EXPECT_EQ(implementation_of({{5}, {3}, {0, 1, 3}, 1}), "own");
  EXPECT_EQ(implementation_of({{5}, {3}, {1, 1, 1}, 1}), "own");                       // the last wins
  EXPECT_EQ(implementation_of({{4, 3}, {3}, {3, 2, 1}, 1}), "own");                    // backwards
  EXPECT_EQ(implementation_of({{2, 2}, {2, 2}, {0, 0, 0, 1, 0, 1, 1, 0}, 2}), "own");  // places 0, 1, 1, 2
}

/// Rows that step through the data at random: any copy gives the result of the loop.
TEST(Scatter, OfDrawnPlacesIsTheLoop) {
  Draw draw(5, "scatter");
  for (int i = 0; i < 200; ++i) {
    Scatter one;
    for (int64_t rank = draw.from(1, 3); rank > 0; --rank) one.data.push_back(draw.from(2, 6));
    one.depth = draw.from(1, static_cast<int64_t>(one.data.size()));
    const int64_t places = element_count(Dims(one.data.begin(), one.data.begin() + one.depth));
    one.rows = {draw.from(1, 3), draw.from(1, 4)};
    const int64_t first = draw.from(0, places - 1), down = draw.from(-2, 5), right = draw.from(-2, 3);
    for (int64_t row = 0; row < element_count(one.rows); ++row) {
      int64_t place = (first + row / one.rows[1] * down + row % one.rows[1] * right) % places;
      if (place < 0) place += places;
      if (draw.yes(40)) place = draw.from(0, places - 1);
      Dims index(static_cast<std::size_t>(one.depth));
      for (std::size_t k = index.size(); k-- > 0; place /= one.data[k]) index[k] = place % one.data[k];
      one.indices.insert(one.indices.end(), index.begin(), index.end());
    }
    ASSERT_FALSE(implementation_of(one, draw.yes()).empty());
    ASSERT_FALSE(HasFailure()) << "draw " << i;
  }
}

/// The updates are a part of the data, which then must not be overwritten by the result: rows shifted by one element.
TEST(Scatter, OfAPartOfTheDataIsTheLoop) {
  constexpr int64_t kRows = 300, kColumns = 12;
  const Scatter one = slice_of({kRows, kColumns}, {0, 1}, {kRows, kColumns - 1}, {1, 1});
  ModelBuilder builder;
  builder.input("x", one.data).constant("i", one.index_dims(), one.indices);
  builder.constant<int64_t>("begin", {1}, {0}).constant<int64_t>("end", {1}, {kColumns - 1}).constant<int64_t>("axis", {1}, {1});
  builder.node("Neg", {"x"}, {"a"}).node("Slice", {"a", "begin", "end", "axis"}, {"u"}).node("ScatterND", {"a", "i", "u"}, {"s"});
  builder.node("Neg", {"s"}, {"y"}).output("y");
  const auto model = builder.build();
  const std::vector<float> x = numbers(kRows * kColumns, 1);
  std::vector<float> wanted = x;
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = i % kColumns == 0 ? x[i] : x[i - 1];
  for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
    EXPECT_EQ(values_of(run_in(mode, *model, {{"x", tensor_of(one.data, x)}}, 2).outputs.at(0)), wanted) << to_string(mode);
  }
}

TEST(Scatter, ARowOutsideTheDataIsAnError) {
  ModelBuilder builder;
  builder.input("d", {4}).input("u", {2}).constant<int64_t>("i", {2, 1}, {3, 4}).node("ScatterND", {"d", "i", "u"}, {"y"}).output("y");
  const auto model = builder.build();
  for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
    EXPECT_THROW((void)run_in(mode, *model, {{"d", tensor_of({4}, {1, 2, 3, 4})}, {"u", tensor_of({2}, {5, 6})}}), Error)
        << to_string(mode);
  }
}

}  // namespace
}  // namespace relayout::test
