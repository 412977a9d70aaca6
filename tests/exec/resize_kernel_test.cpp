// Tests linear interpolation of images and volumes in either layout against the specification's formula in double.

#include <cmath>
#include <limits>

#include "base/random.h"
#include "exec/draw.h"
#include "exec/model_builder.h"
#include "relayout/execute.h"
#include "relayout/layout.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

/// ONNX Resize: the position of output `x` of `out` among `in` inputs.
double coordinate(const std::string& mode, int64_t x, int64_t in, int64_t out) {
  const auto place = static_cast<double>(x), scale = static_cast<double>(out) / static_cast<double>(in);
  if (mode == "align_corners") return out == 1 ? 0 : place * static_cast<double>(in - 1) / static_cast<double>(out - 1);
  return mode == "asymmetric" ? place / scale : (place + 0.5) / scale - 0.5;
}

/// Resamples the dim of size `in`, with `inner` elements in the dims after it, to `out`.
std::vector<double> interpolated(const std::vector<double>& x, int64_t in, int64_t out, int64_t inner, const std::string& mode) {
  const int64_t outer = static_cast<int64_t>(x.size()) / in / inner;
  std::vector<double> result;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t p = 0; p < out; ++p) {
      const double at = coordinate(mode, p, in, out), left = std::floor(at), weight = at - left;
      const auto index = [&](double place) { return std::clamp<int64_t>(static_cast<int64_t>(place), 0, in - 1); };
      for (int64_t k = 0; k < inner; ++k) {
        const auto value = [&](double place) { return x[static_cast<std::size_t>((o * in + index(place)) * inner + k)]; };
        result.push_back((1 - weight) * value(left) + weight * value(left + 1));
      }
    }
  }
  return result;
}

std::vector<float> identity(int64_t channels) {
  std::vector<float> out;
  for (int64_t i = 0; i < channels * channels; ++i) out.push_back(i / channels == i % channels ? 1.0F : 0.0F);
  return out;
}

void expect_interpolated(const Dims& dims, const Dims& sizes, const std::string& mode) {
  const std::vector<float> x = normal_values(element_count(dims), RandomStream(3, "resize"), 0);
  std::vector<double> wanted(x.begin(), x.end());
  Dims now = dims;
  for (std::size_t axis = dims.size(); axis-- > 2;) {
    const int64_t inner = element_count(Dims(now.begin() + static_cast<std::ptrdiff_t>(axis) + 1, now.end()));
    wanted = interpolated(wanted, dims[axis], sizes[axis], inner, mode);
    now[axis] = sizes[axis];
  }
  Dims window(dims.size(), 1);
  window[0] = window[1] = dims[1];
  ModelBuilder builder(19);
  builder.input("x", dims).constant("w", window, identity(dims[1]));
  builder.constant<int64_t>("to", {static_cast<int64_t>(sizes.size())}, sizes);
  builder.node("Conv", {"x", "w"}, {"c"}).node("Resize", {"c", "", "", "to"}, {"r"}).text("mode", "linear");
  builder.text("coordinate_transformation_mode", mode).node("Conv", {"r", "w"}, {"y"}).output("y");
  const auto model = builder.build();
  for (const LayoutChoice layout : {LayoutChoice::always, LayoutChoice::never}) {
    ExecuteOptions options;
    options.layout = layout, options.threads = 2;
    Executor executor(model->graph(), options);
    const std::vector<float> got = values_of(executor.run({{"x", tensor_of(dims, x)}}).at(0).tensor);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 2e-6) << to_string(dims) << to_string(sizes) << mode;
  }
}

TEST(Resize, OfDrawnImagesIsTheFormula) {
  Draw draw(7, "resize");
  for (int i = 0; i < 60; ++i) {
    const int64_t rank = draw.from(3, 5), most = rank == 5 ? 6 : 14;
    Dims dims{draw.from(1, 2), draw.from(1, 40)};
    for (int64_t k = 2; k < rank; ++k) dims.push_back(draw.from(1, most));
    Dims sizes = dims;
    for (std::size_t k = 2; k < sizes.size(); ++k) {
      if (!draw.yes(4)) sizes[k] = draw.from(1, 3 * most);
    }
    const std::string mode = draw.yes(3) ? "align_corners" : draw.yes() ? "asymmetric" : "half_pixel";
    ASSERT_NO_FATAL_FAILURE(expect_interpolated(dims, sizes, mode));
  }
}

TEST(Resize, OfLargeImagesIsSharedByThreads) {
  expect_interpolated({1, 64, 40, 30}, {1, 64, 83, 64}, "half_pixel");
  expect_interpolated({2, 3, 60, 50}, {2, 3, 120, 100}, "half_pixel");
  expect_interpolated({1, 2, 200}, {1, 2, 40'001}, "half_pixel");
}

/// Elements of weight 0 are not read: 0 · ∞ would not be 0.
TEST(Resize, DoesNotReadNeighboursWithoutWeight) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  ModelBuilder builder(19);
  builder.input("x", {1, 1, 3}).constant<int64_t>("to", {3}, {1, 1, 5});
  builder.node("Resize", {"x", "", "", "to"}, {"y"}).text("mode", "linear");
  builder.text("coordinate_transformation_mode", "align_corners").output("y");
  const std::vector<float> got =
      values_of(run_in(Mode::optimized, *builder.build(), {{"x", tensor_of({1, 1, 3}, {1, kInfinity, 3})}}).outputs.at(0));
  EXPECT_EQ(got, (std::vector<float>{1, kInfinity, kInfinity, kInfinity, 3}));
}

}  // namespace
}  // namespace relayout::test
