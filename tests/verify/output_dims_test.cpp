// Tests that outputs of other dims are different, also behind operators that choose among nearly equal numbers, and only those.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/verify.h"
#include "verified.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using ::testing::HasSubstr;

/// Computes `z`, f32 or i64 [N, 4, 6] or what a resize makes of it, from x.
struct Chooser {
  std::string what, type, nodes;
};
const std::vector<Chooser> kChoosers = {
    {"TopK", "float", "k = Constant<value_ints = [6]>()\n z, i = TopK<axis = 2>(x, k)\n"},
    {"TopK's indices", "int64", "k = Constant<value_ints = [6]>()\n v, z = TopK<axis = 2>(x, k)\n"},
    {"ArgMax", "int64", "e = Constant<value_ints = [1, 1, 6]>()\n m = ArgMax<axis = 2, keepdims = 1>(x)\n z = Tile(m, e)\n"},
    {"Cast to integers", "int64", "z = Cast<to = 7>(x)\n"},
    {"Floor", "float", "z = Floor(x)\n"},
    {"a comparison", "int64", "l = Constant<value_float = 0.25>()\n g = Greater(x, l)\n z = Cast<to = 7>(g)\n"},
    {"nearest neighbours", "float", "s = Constant<value_floats = [1.0, 1.0, 2.0]>()\n z = Resize<mode = \"nearest\">(x, , s)\n"},
    {"a quantizer", "float", "s = Constant<value_float = 0.05>()\n q = QuantizeLinear(x, s, p)\n z = DequantizeLinear(q, s, p)\n"},
    {"sizes by a choice", "float",
     "h = Shape(x)\n f = Cast<to = 1>(h)\n g = Floor(f)\n t = Cast<to = 7>(g)\n r = Reshape(x, t)\n z = Tanh(r)\n"},
};

std::string model(const Chooser& chooser, const std::string& last) {
  return "<ir_version: 9, opset_import: [\"\" : 18]>\ng (float[N, 4, 6] x) => (" + chooser.type + " y) <uint8 p = {128}> {\n" +
         chooser.nodes + last + "\n}\n";
}

VerifyResult verified_texts(const std::string& a, const std::string& b, bool outputs_only = false) {
  const Folder folder;
  VerifyOptions options;
  options.threads = 1;
  options.outputs_only = outputs_only;
  return verify(folder.write("a.onnxtxt", a), folder.write("b.onnxtxt", b), options);
}

constexpr const char* kPlain = "y = Identity(z)";

TEST(OutputDims, OtherDimsBehindAChoiceAreDifferent) {
  for (const Chooser& chooser : kChoosers) {
    for (const char* const last : {"y = Transpose<perm = [0, 2, 1]>(z)", "a = Constant<value_ints = [0]>()\n y = Unsqueeze(z, a)",
                                   "a = Constant<value_ints = [-1]>()\n y = Reshape(z, a)", "y = Flatten(z)"}) {
      for (const bool outputs_only : {false, true}) {
        const VerifyResult result = verified_texts(model(chooser, kPlain), model(chooser, last), outputs_only);
        EXPECT_EQ(result.outcome, Outcome::different) << chooser.what << ", " << last << "\n" << summary(result);
        EXPECT_EQ(result.defect, "") << chooser.what;
        EXPECT_THAT(result.outputs.front().reason, HasSubstr(", was ")) << summary(result);
        EXPECT_TRUE(result.outputs.front().samples.front().other_structure);
      }
    }
  }
}

TEST(OutputDims, DimsThatAreKeptOrNotAreDifferent) {
  const auto reduced = [](const std::string& op, const std::string& type, int keep) {
    return "<ir_version: 9, opset_import: [\"\" : 13]>\ng (float[N, 4, 6] x) => (" + type + " y) { y = " + op +
           "<axis = 1, keepdims = " + std::to_string(keep) + ">(x) }";
  };
  for (const char* const op : {"ArgMax", "ArgMin"}) {
    const VerifyResult result = verified_texts(reduced(op, "int64", 1), reduced(op, "int64", 0));
    EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
  }
}

TEST(OutputDims, ElementsOfASequenceHaveDims) {
  const auto sequence = [](const std::string& last) {
    return "<ir_version: 9, opset_import: [\"\" : 18]>\ng (float[N, 4, 6] x) => (seq(float) y) { f = Floor(x)\n " + last +
           "\n y = SequenceConstruct(f, z) }";
  };
  const VerifyResult result = verified_texts(sequence("z = Identity(f)"), sequence("z = Flatten(f)"));
  EXPECT_EQ(result.outcome, Outcome::different) << summary(result);
  EXPECT_THAT(result.outputs.front().reason, HasSubstr("element 1"));
}

TEST(OutputDims, AnotherSpellingOfTheSameDimsIsTheSame) {
  for (const Chooser& chooser : kChoosers) {
    for (const char* const last : {"y = Transpose<perm = [0, 1, 2]>(z)", "a = Constant<value_ints = [0, 0, -1]>()\n y = Reshape(z, a)",
                                   "w = Transpose<perm = [0, 2, 1]>(z)\n y = Transpose<perm = [0, 2, 1]>(w)"}) {
      const VerifyResult result = verified_texts(model(chooser, kPlain), model(chooser, last));
      EXPECT_EQ(result.outcome, Outcome::same) << chooser.what << ", " << last << "\n" << summary(result);
    }
  }
}

/// A model whose output is `declared` and computed by `nodes`.
std::string declaring(const std::string& declared, const std::string& nodes) {
  return "<ir_version: 9, opset_import: [\"\" : 18]>\ng (float[N, 2, 3] x) => (" + declared + " y) { " + nodes + " }";
}

TEST(OutputDims, ADeclarationThatItsOwnModelContradictsIsNoDifferenceWhereRepaired) {
  for (const auto& [wrong, right, nodes] : std::vector<std::array<std::string, 3>>{
           {"float", "float[N, 2, 3]", "y = Relu(x)"},
           {"float[N]", "float[N, 2, 3]", "y = Relu(x)"},
           {"float[N, 3, 2]", "float[N, 2, 3]", "y = Floor(x)"},
           {"int64", "int64[N, 3]", "y = ArgMax<axis = 1, keepdims = 0>(x)"},
           {"float[7]", "float", "y = ReduceSum<keepdims = 0>(x)"},
       }) {
    const VerifyResult repaired = verified_texts(declaring(wrong, nodes), declaring(right, nodes));
    EXPECT_EQ(repaired.outcome, Outcome::same) << wrong << "\n" << summary(repaired);
    EXPECT_THAT(repaired.remarks, ::testing::Contains(HasSubstr("as B declares"))) << summary(repaired);
    const VerifyResult broken = verified_texts(declaring(right, nodes), declaring(wrong, nodes));
    EXPECT_EQ(broken.outcome, Outcome::different) << wrong << "\n" << summary(broken);
  }
  const VerifyResult both = verified_texts(declaring("float", "y = Relu(x)"), declaring("float[N, 3, 2]", "y = Relu(x)"));
  EXPECT_EQ(both.outcome, Outcome::different) << summary(both);
}

TEST(OutputDims, AnotherRightDeclarationIsTheSame) {
  const std::string nodes = "y = Relu(x)", right = "float[N, 2, 3]";
  for (const std::string other : {"float[M, 2, 3]", "float[N, 2, W]", "float[batch, channels, width]"}) {
    for (const auto& [a, b] : {std::pair{right, other}, {other, right}}) {
      const VerifyResult result = verified_texts(declaring(a, nodes), declaring(b, nodes));
      EXPECT_EQ(result.outcome, Outcome::same) << a << " " << b << "\n" << summary(result);
    }
    const VerifyResult wrong = verified_texts(declaring(right, nodes), declaring(other, "y = Abs(x)"));
    EXPECT_EQ(wrong.outcome, Outcome::different) << other << "\n" << summary(wrong);
  }
}

}  // namespace
}  // namespace relayout
