#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/error.h"
#include "suite/suite.h"

namespace relayout {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Names = std::vector<std::string>;

std::vector<std::string> shown(const std::vector<ModelPairing>& pairings) {
  std::vector<std::string> out;
  for (const ModelPairing& one : pairings) {
    out.push_back(one.original + " > " + one.counterpart + (one.fault.empty() ? "" : " !"));
  }
  return out;
}

TEST(Counterparts, AreFoundByTheDefaultNames) {
  const Names originals{"a.onnx", "v/b.onnx", "v/c.onnx"};
  EXPECT_THAT(shown(pair_models(originals, {"a.cl.onnx", "v/b.onnx", "v/c.cl.onnx"}, "", false)),
              ElementsAre("a.onnx > a.cl.onnx", "v/b.onnx > v/b.onnx", "v/c.onnx > v/c.cl.onnx"));
}

TEST(Counterparts, NoModelOfEitherTreeIsLost) {
  const auto pairings = pair_models({"a.onnx", "b.onnx"}, {"a.cl.onnx", "a.onnx", "z.onnx"}, "", false);
  ASSERT_THAT(shown(pairings), ElementsAre("a.onnx >  !", "b.onnx >  !", " > z.onnx !"));
  EXPECT_THAT(pairings[0].fault, HasSubstr("'a.cl.onnx' and 'a.onnx' are both counterparts of it"));
  EXPECT_THAT(pairings[1].fault, HasSubstr("no counterpart 'b.cl.onnx'"));
  EXPECT_THAT(pairings[2].fault, HasSubstr("it has no original"));
}

TEST(Counterparts, PatternsLeadToThem) {
  EXPECT_THAT(
      shown(pair_models({"a.onnx", "v/b.onnx"}, {"a.onnx", "a.opt.onnx", "v/b.opt.onnx", "v/c.opt.onnx"}, "{stem}.opt.onnx", false)),
      ElementsAre("a.onnx > a.opt.onnx", "v/b.onnx > v/b.opt.onnx", " > v/c.opt.onnx !"));
  EXPECT_THAT(shown(pair_models({"a.onnx", "v/b.onnx"}, {"out/a_int8.onnx", "out/b_int8.onnx"}, "out/{name}_int8.onnx", false)),
              ElementsAre("a.onnx > out/a_int8.onnx", "v/b.onnx > out/b_int8.onnx"));
  EXPECT_THAT(shown(pair_models({"v/b.onnx"}, {"v/small/b.onnx"}, "{dir}/small/{name}.onnx", false)),
              ElementsAre("v/b.onnx > v/small/b.onnx"));
}

TEST(Counterparts, OneTreeMayHoldBoth) {
  EXPECT_THAT(shown(pair_models({"a.cl.onnx", "a.onnx", "b.onnx"}, {"a.cl.onnx", "a.onnx", "b.onnx"}, "", true)),
              ElementsAre("a.onnx > a.cl.onnx", "b.onnx >  !"));
  // A pattern that leads from the converted model to itself: that is no original, unless no other model leads to it.
  const Names models{"a.cl.onnx", "a.onnx", "lost.cl.onnx"};
  EXPECT_THAT(shown(pair_models(models, models, "{stem}.cl.onnx", true)), ElementsAre("a.onnx > a.cl.onnx", "lost.cl.onnx >  !"));
  // The counterpart of a counterpart is not forgotten.
  const Names chain{"a.cl.cl.onnx", "a.cl.onnx", "a.onnx"};
  EXPECT_THAT(shown(pair_models(chain, chain, "", true)), ElementsAre("a.cl.cl.onnx >  !", "a.onnx > a.cl.onnx"));
}

TEST(Counterparts, RefusesInvalidPatterns) {
  for (const char* const pattern : {"{stem", "{base}.onnx"})
    EXPECT_THROW((void)pair_models({"a.onnx"}, {}, pattern, false), Error) << pattern;
}

}  // namespace
}  // namespace relayout
