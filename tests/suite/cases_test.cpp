#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/error.h"
#include "relayout/suite.h"
#include "suite/suite.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class Cases : public testing::Test {
 protected:
  void add(const std::string& file) {
    fs::create_directories((folder_ / file).parent_path());
    write_file(folder_ / file, "");
  }
  static std::vector<std::string> names(const std::vector<SuiteEntry>& entries) {
    std::vector<std::string> out;
    for (const SuiteEntry& entry : entries) out.push_back(entry.name);
    return out;
  }
  TemporaryFolder folder_;
};

TEST_F(Cases, AreFoldersLinksAndLightModels) {
  for (const char* const file :
       {"t/b/model.onnx", "t/b/deep/model.onnx", "t/light.onnx", "t/light_output_0.pb", "t/other.onnx", "far/model.onnx"})
    add(file);
  fs::create_directory_symlink(folder_ / "far", folder_ / "t/linked");
  EXPECT_THAT(names(find_cases({folder_ / "t"})), ElementsAre("b", "b/deep", "light", "linked"));
  EXPECT_EQ(find_cases({folder_ / "t"})[2].model, folder_ / "t/light.onnx");
  EXPECT_EQ(find_cases({folder_ / "t"})[3].data, folder_ / "t/linked");
}

TEST_F(Cases, OfNamesAreThoseOfTheTree) {
  for (const char* const file : {"t/model.onnx", "t/b/model.onnx", "t/light.onnx", "t/light_output_0.pb", "model.onnx"}) add(file);
  const SuiteTrees trees{folder_ / "t"};
  const auto all = find_cases(trees);
  EXPECT_THAT(names(all), ElementsAre("b", "light", "t"));
  const auto some = find_cases(trees, {"t", "light", "b", "t"});
  ASSERT_THAT(names(some), ElementsAre("b", "light", "t"));
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(some[i].model, all[i].model);
    EXPECT_EQ(some[i].data, all[i].data);
  }
}

TEST_F(Cases, TwoOfOneNameAreRefused) {
  for (const char* const file : {"t/b/model.onnx", "t/b.onnx", "t/b_output_0.pb"}) add(file);
  try {
    (void)find_cases({folder_ / "t"});
    ADD_FAILURE() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid);
    EXPECT_THAT(error.what(), testing::HasSubstr("two cases are called 'b'"));
  }
  add("t/t/model.onnx"), add("t/model.onnx");  // the tree itself is a case by its own name
  fs::remove_all(folder_ / "t/b");
  EXPECT_THROW((void)find_cases({folder_ / "t"}), Error);
}

TEST_F(Cases, NamesDoNotLeadOutOfTheTree) {
  for (const char* const file : {"t/b/model.onnx", "model.onnx"}) add(file);
  const SuiteTrees trees{folder_ / "t"};
  for (const std::string& name : {std::string(".."), std::string("../t/b"), std::string("b/"), std::string("./b"), std::string("."),
                                  std::string(), std::string("b/../b"), (folder_ / "t/b").string()}) {
    EXPECT_THROW((void)find_cases(trees, {name}), Error) << name;
  }
}

TEST_F(Cases, OfPairsHaveBothModels) {
  for (const char* const file : {"o/a.onnx", "o/v/b.onnx", "o/lost.onnx", "c/a.cl.onnx", "c/v/b.onnx", "c/odd.onnx", "o/notes.txt"})
    add(file);
  const auto entries = find_cases({folder_ / "o", folder_ / "c", ""});
  ASSERT_THAT(names(entries), ElementsAre("a.onnx", "lost.onnx", "unpaired:odd.onnx", "v/b.onnx"));
  EXPECT_EQ(entries[0].other, folder_ / "c/a.cl.onnx");
  EXPECT_EQ(entries[3].other, folder_ / "c/v/b.onnx");
  EXPECT_TRUE(entries[0].fault.empty());
  EXPECT_FALSE(entries[1].fault.empty());
  EXPECT_FALSE(entries[2].fault.empty());
}

TEST_F(Cases, ATreeInsideTheOtherIsNotItsPart) {
  for (const char* const file : {"o/a.onnx", "o/converted/a.cl.onnx"}) add(file);
  EXPECT_THAT(names(find_cases({folder_ / "o", folder_ / "o/converted", ""})), ElementsAre("a.onnx"));
}

TEST_F(Cases, OneTreeOfBoth) {
  for (const char* const file : {"o/a.onnx", "o/a.cl.onnx"}) add(file);
  EXPECT_THAT(names(find_cases({folder_ / "o", folder_ / "o", ""})), ElementsAre("a.onnx"));
}

TEST(Extent, DistinguishesLists) {
  EXPECT_EQ(extent_of({"a", "b"}).cases, 2);
  EXPECT_NE(extent_of({"a", "b"}).digest, extent_of({"ab"}).digest);
  // printf 'a\0b\0' | sha256sum
  EXPECT_EQ(extent_of({"a", "b"}).digest, "8fb20ef63ced4145fc2e983ffe597d1dcff39154c3bf21f0fa9dde6a0c50fdc9");
}

}  // namespace
}  // namespace relayout::test
