// Tests NonMaxSuppression against the operator's specification in whole numbers, one pair of boxes at a time.
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "base/random.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

/// y1, x1, y2, x2, the lower corner first.
using Corners = std::array<int64_t, 4>;

int64_t area(const Corners& box) {
  return (box[2] - box[0]) * (box[3] - box[1]);
}

/// Whether the intersection of two boxes is more than two fifths of their union.
bool overlap(const Corners& a, const Corners& b) {
  const int64_t height = std::min(a[2], b[2]) - std::max(a[0], b[0]), width = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (height <= 0 || width <= 0) return false;
  return 5 * height * width > 2 * (area(a) + area(b) - height * width);
}

TEST(NonMaxSuppression, KeepsBoxesThatNoBetterBoxOverlaps) {
  for (const int64_t count : {1, 64, 65, 700}) {
    for (const bool is_centered : {false, true}) {
      const RandomStream random(static_cast<uint64_t>(count), "boxes");
      uint64_t next = 0;
      const auto draw = [&](uint64_t below) { return static_cast<int64_t>(random.below(next++, below)); };
      std::vector<Corners> boxes;
      std::vector<double> numbers, scores(static_cast<std::size_t>(count));
      for (int64_t i = 0; i < count; ++i) {
        const int64_t height = 2 * draw(20), width = 2 * draw(20), y = draw(400), x = draw(400);
        boxes.push_back({y, x, y + height, x + width});
        const auto add = [&](int64_t a, int64_t b, int64_t c, int64_t d) {
          for (const int64_t value : {a, b, c, d}) numbers.push_back(static_cast<double>(value));
        };
        if (is_centered) {
          add(x + width / 2, y + height / 2, width, height);
        } else if (draw(2) == 0) {
          add(y, x, y + height, x + width);
        } else {
          add(y + height, x, y, x + width);  // corners may come in any order
        }
      }
      std::iota(scores.begin(), scores.end(), 1.0);
      for (std::size_t i = scores.size(); i > 1; --i) std::swap(scores[i - 1], scores[static_cast<std::size_t>(draw(i))]);
      std::vector<std::size_t> order(scores.size()), kept;
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
      for (const std::size_t box : order) {
        if (std::ranges::none_of(kept, [&](std::size_t other) { return overlap(boxes[box], boxes[other]); })) kept.push_back(box);
      }
      std::vector<double> wanted;
      for (const std::size_t box : kept) wanted.insert(wanted.end(), {0, 0, static_cast<double>(box)});
      const std::string op = "NonMaxSuppression <center_point_box = " + std::to_string(is_centered ? 1 : 0) + ">";
      const auto got = run_one(
          op, {tensor_of_values(DataType::float32, {1, count, 4}, numbers), tensor_of_values(DataType::float32, {1, 1, count}, scores),
               tensor_of_values(DataType::int64, {1}, {static_cast<double>(count)}), tensor_of_values(DataType::float32, {1}, {0.4})});
      EXPECT_EQ(numbers_of(got), wanted) << count << ' ' << is_centered;
    }
  }
}

}  // namespace
}  // namespace relayout::test
