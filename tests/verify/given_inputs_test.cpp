#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/error.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "support/temporary_folder.h"
#include "tensors.h"
#include "verify/inputs/input_file.h"
#include "verify/inputs/inputs.h"

namespace relayout {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::values_of;

class GivenInputs : public ::testing::Test {
 protected:
  GivenInputs()
      : model_(Model::from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
            g (uint8[N] x, uint8[2] m, uint8[2] z) => (uint8[N] y) { y = Identity (x) })")) {}

  /// Writes a file of bytes, which are the elements.
  void write(const std::string& name, const std::vector<uint8_t>& bytes) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    test::write_file(folder_ / name, std::string(bytes.begin(), bytes.end()));
  }
  [[nodiscard]] InputMaker maker() const { return {model_->graph(), options_}; }
  [[nodiscard]] static Tensor value(const InputMaker& maker, const std::string& name, int sample) {
    return maker.make(maker.dims(sample).assign({sample, 4, 0}), sample).at(name).tensor;
  }
  std::string refusal(int samples = 1) const {
    try {
      InputMaker inputs = maker();
      inputs.prepare(samples);
    } catch (const Error& error) {
      return error.what();
    }
    return "no refusal";
  }

  std::unique_ptr<Model> model_;
  test::TemporaryFolder folder_;
  VerifyOptions options_;
};

TEST_F(GivenInputs, AFileOfTheFolderForEachSampleInNameOrder) {
  write("x/b.raw", {2, 2, 2});
  write("x/a.raw", {1});
  write("x/c.raw", {3, 3});
  write("x/.hidden", {9});
  write("x/inside/d.raw", {4});
  write("m.raw", {7, 7});
  options_.inputs = {{"x", folder_ / "x"}, {"m", folder_ / "m.raw"}};
  InputMaker inputs = maker();
  EXPECT_EQ(inputs.given().in_folders(), 3);
  EXPECT_FALSE(inputs.is_always_the_same());
  inputs.prepare(3);
  EXPECT_THAT(values_of(value(inputs, "x", 0)), ElementsAre(1));
  EXPECT_THAT(values_of(value(inputs, "x", 1)), ElementsAre(2, 2, 2)) << "a free dim is as long as its file says";
  EXPECT_THAT(values_of(value(inputs, "x", 2)), ElementsAre(3, 3));
  EXPECT_THAT(values_of(value(inputs, "x", 3)), ElementsAre(1)) << "further samples begin again";
  EXPECT_THAT(values_of(value(inputs, "m", 2)), Each(7));
  EXPECT_EQ(inputs.given().paths(1).at("x"), folder_ / "x/b.raw");
  EXPECT_EQ(inputs.given().paths(1).size(), 1) << "of folders only";
}

TEST_F(GivenInputs, FoldersNeedEqualNumbersOfFiles) {
  write("m/0.raw", {1, 1});
  write("m/1.raw", {2, 2});
  write("z/0.raw", {3, 3});
  options_.inputs = {{"m", folder_ / "m"}, {"z", folder_ / "z"}};
  EXPECT_THAT(refusal(), HasSubstr("--input z has 1 file, --input m has 2"));
  write("z/1.raw", {4, 4});
  const InputMaker inputs = maker();
  EXPECT_THAT(values_of(value(inputs, "m", 1)), Each(2));
  EXPECT_THAT(values_of(value(inputs, "z", 1)), Each(4));
}

TEST_F(GivenInputs, FilesThatDoNotFitAreNamed) {
  std::filesystem::create_directory(folder_ / "m");
  options_.inputs = {{"m", folder_ / "m"}};
  EXPECT_THAT(refusal(), HasSubstr("m: no file in this folder"));
  write("m/0.raw", {1, 1});
  write("m/1.raw", {1, 1, 1});
  EXPECT_THAT(refusal(2), HasSubstr("m/1.raw: has 3 bytes"));
  EXPECT_EQ(refusal(1), "no refusal") << "only the first one is taken";
  write("x/0.raw", {1, 1});
  write("x/1.raw", {1, 1, 1});
  options_.inputs = {{"x", folder_ / "x"}};
  options_.dims = {{"N", 2}};
  EXPECT_THAT(refusal(2), HasSubstr("x/1.raw"));
}

}  // namespace
}  // namespace relayout
