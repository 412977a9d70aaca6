#include "layout/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/error.h"
#include "relayout/model.h"

namespace relayout::layout {
namespace {

using testing::HasSubstr;
using Sizes = std::map<std::string, int64_t>;

/// The weights are inputs: only their position matters.
std::unique_ptr<Model> model_of(const std::string& inputs, const std::string& nodes) {
  return Model::from_text("<ir_version: 8, opset_import: [\"\" : 17]> g (" + inputs +
                          ", float[4, 3, 3, 3] w, float[4, 3, 3, 3, 3] v) => (float y) { " + nodes + " }");
}

std::string refusal(const Model& model, const ShapeOptions& sizes, std::string_view option = "--dim") {
  try {
    check_sizes(sizes, size_names(model.graph()), option);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return std::string(error.what()) + " | " + error.hint();
  }
  return "accepted";
}

TEST(Sizes, ImagesUpstreamOfConvolutionsHavePublishedSizes) {
  EXPECT_EQ(image_sizes(model_of("float[N, 3, H, W] x, float[M] m", "s = Sub (x, m) y = Conv (s, w)")->graph()),
            (Sizes{{"H", 224}, {"W", 224}}));
  EXPECT_EQ(image_sizes(model_of("float[N, 3, T, H, 64] x", "y = Conv (x, v)")->graph()), (Sizes{{"T", 16}, {"H", 112}}));
  // A mask of the same rank is no image, nor is a value that a convolution reads in a different order.
  EXPECT_EQ(image_sizes(model_of("float[N, 1, S, S] x", "y = Softmax (x)")->graph()), Sizes());
  EXPECT_EQ(image_sizes(model_of("float[N, H, W, 3] x", "t = Transpose <perm = [0, 3, 1, 2]> (x) y = Conv (t, w)")->graph()), Sizes());
  // Fewer axes than what they are broadcast to.
  EXPECT_EQ(image_sizes(model_of("float m", "e = Add (v, m) y = Transpose <perm = [4, 3, 2, 1, 0]> (e)")->graph()), Sizes());
}

TEST(Sizes, UnknownNamesAreRefused) {
  const auto model = model_of("float[N, 3, height, width] image", "y = Conv (image, w)");
  EXPECT_EQ(refusal(*model, {.dims = {{"height", 64}}, .shapes = {{"image", {1, 3, 8, 8}}}}), "accepted");
  EXPECT_THAT(refusal(*model, {.dims = {{"heigth", 64}}, .shapes = {}}),
              HasSubstr("--dim heigth: no input has a free dimension of this name, only 'N', 'height', 'width' | did you mean 'height'?"));
  EXPECT_THAT(refusal(*model, {.dims = {}, .shapes = {{"imgae", {1}}}}),
              HasSubstr("--shape imgae: the model has no input of this name, only 'image', 'w', 'v' | did you mean 'image'?"));
}

TEST(Sizes, WhereAllDimsAreFixedAnotherOptionSetsThem) {
  const auto model = model_of("float[1, 3, 8, 8] image", "y = Conv (image, w)");
  EXPECT_THAT(refusal(*model, {.dims = {{"N", 4}}, .shapes = {}}, "--set-dim"),
              HasSubstr("--set-dim N: no input has a free dimension of this name | --set-shape image=4,3,8,8 sets a fixed one"));
  EXPECT_THAT(
      refusal(*model, {.dims = {{"N", 4}}, .shapes = {}}),
      HasSubstr("--dim N: no input has a free dimension of this name | convert --set-shape image=4,3,8,8 makes a model of other dims"));
}

}  // namespace
}  // namespace relayout::layout
