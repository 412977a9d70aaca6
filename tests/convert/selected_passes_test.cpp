#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "convert/convert.h"
#include "passes/pass.h"
#include "relayout/convert.h"
#include "relayout/error.h"
#include "relayout/layout.h"
#include "relayout/types.h"

namespace relayout {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> names_of(const ConvertOptions& options) {
  std::vector<std::string> out;
  for (const passes::Pass* pass : selected_passes(options)) out.emplace_back(pass->name);
  return out;
}

std::string complaint(const ConvertOptions& options) {
  try {
    (void)selected_passes(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(SelectedPasses, DefaultsAreThoseOfTheTable) {
  std::vector<std::string> expected;
  for (const passes::Pass& pass : passes::pass_table()) {
    if (pass.on_by_default()) expected.emplace_back(pass.name);
  }
  EXPECT_EQ(names_of({}), expected);
  EXPECT_THAT(expected, Contains("fold-batch-norm"));
  EXPECT_THAT(expected, Contains("conv-weights-layout"));
}

TEST(SelectedPasses, RunInTheOrderOfTheTable) {
  EXPECT_THAT(names_of({.passes = {"conv-weights-layout", "fold-batch-norm"}}), ElementsAre("fold-batch-norm", "conv-weights-layout"));
}

TEST(SelectedPasses, SimplifyAddsPasses) {
  EXPECT_THAT(names_of({}), Not(Contains("fold-constants")));
  EXPECT_THAT(names_of({.rewrite = {.simplify = true}}), Contains("fold-constants"));
  EXPECT_THAT(names_of({.rewrite = {.simplify = true}}), Contains("remove-identity"));
  EXPECT_THAT(names_of({.skip = {"fold-constants"}, .rewrite = {.simplify = true}}), Not(Contains("fold-constants")));
  EXPECT_THAT(names_of({.passes = {"fold-batch-norm"}, .rewrite = {.simplify = true}}), ElementsAre("fold-batch-norm"));
}

TEST(SelectedPasses, NoneIsIdentity) {
  EXPECT_THAT(names_of({.passes = {"none"}}), ElementsAre());
  EXPECT_THAT(complaint({.passes = {"none", "remove-unused"}}), HasSubstr("'none'"));
}

TEST(SelectedPasses, SkipNoFoldAndKeepLeaveOut) {
  EXPECT_THAT(names_of({.skip = {"remove-unused"}}), Not(Contains("remove-unused")));
  EXPECT_THAT(names_of({.rewrite = {.fold = false}}), Not(Contains("fold-batch-norm")));
  EXPECT_THAT(names_of({.rewrite = {.fold = false}}), Contains("conv-weights-layout"));
  EXPECT_THAT(names_of({.rewrite = {.layout = WeightsLayout::keep}}), Not(Contains("conv-weights-layout")));
  EXPECT_THAT(names_of({.rewrite = {.layout = WeightsLayout::contiguous}}), Contains("conv-weights-layout"));
}

TEST(SelectedPasses, UnknownNamesSuggestTheNearest) {
  EXPECT_THAT(complaint({.passes = {"fold-bachnorm"}}), HasSubstr("did you mean 'fold-batch-norm'?"));
  EXPECT_THAT(complaint({.skip = {"xyzzy"}}), HasSubstr("unknown pass 'xyzzy'"));
}

TEST(SelectedPasses, ContradictionsAreRefused) {
  EXPECT_THAT(complaint({.rewrite = {.layout = WeightsLayout::contiguous, .export_io = true}}), HasSubstr("exclude each other"));
  EXPECT_THAT(complaint({.rewrite = {.layout = WeightsLayout::contiguous, .export_transposes = true}}), HasSubstr("exclude each other"));
  EXPECT_THAT(complaint({.rewrite = {.io_precision = true}}), HasSubstr("needs --precision"));
}

}  // namespace
}  // namespace relayout
