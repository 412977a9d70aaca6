// Tests parts of a value along one axis, taken by Slice, Split, or Gather: the same part, and near misses.

#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

/// x [4, 4, 4]: dims do not reveal the sliced axis.
Example parts(const std::string& nodes, const std::vector<int64_t>& sizes = {1, 3}) {
  Example out("g (float[4,4,4] x) => (y) { " + nodes + " }");
  for (const int64_t i : {0, 1, 2, 3, 4}) out.add("n" + std::to_string(i), std::vector<int64_t>{i});
  out.add("last", std::vector<int64_t>{-1}).add("most", std::vector<int64_t>{INT64_MAX}).add("sizes", sizes);
  return out.edit([](onnx::ModelProto& model) {
    onnx::TensorProto& index = *model.mutable_graph()->add_initializer();
    index.set_name("index");
    index.set_data_type(onnx::TensorProto::INT64);
    index.add_int64_data(1);
  });
}

TEST(ProofOfSelections, SliceIsAResultOfSplit) {
  const Example before = parts("a = Slice (x, n0, n1, n2) b = Slice (x, n1, most, n2) y = Sub (a, b)");
  const ProofResult result = prove(before, parts("a, b = Split <axis = 2> (x, sizes) y = Sub (a, b)"));
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.rewritten, 1);
  EXPECT_TRUE(is_proved(prove(before, parts("a, b = Split <axis = -1> (x, sizes) y = Sub (a, b)"))));
  EXPECT_TRUE(is_proved(prove(parts("a, b = Split <axis = 2> (x, sizes) y = Sub (a, b)"), before)));
  EXPECT_FALSE(prove(before, parts("a, b = Split <axis = 1> (x, sizes) y = Sub (a, b)")).proved);
  EXPECT_FALSE(prove(before, parts("b, a = Split <axis = 2> (x, sizes) y = Sub (a, b)")).proved);
  EXPECT_FALSE(prove(before, parts("a, b = Split <axis = 2> (x, sizes) y = Sub (a, b)", {3, 1})).proved);
  for (const auto& sizes : std::vector<std::vector<int64_t>>{{INT64_MIN, INT64_MIN}, {-1, 5}, {1, 2}, {1, INT64_MAX}}) {
    EXPECT_FALSE(prove(before, parts("a, b = Split <axis = 2> (x, sizes) y = Sub (a, b)", sizes)).proved) << sizes[0];
  }
  EXPECT_FALSE(prove(before, parts("r = Relu (x) a, b = Split <axis = 2> (r, sizes) y = Sub (a, b)")).proved);
  EXPECT_FALSE(prove(parts("a = Slice (x, n0, n4, n2, n2) y = Relu (a)"), parts("a, b = Split <axis = 2> (x) y = Relu (a)")).proved)
      << "every other element";
  EXPECT_TRUE(is_proved(prove(parts("a = Slice (x, n2, n4, n2) y = Relu (a)"), parts("b, a = Split <axis = 2> (x) y = Relu (a)"))));
}

TEST(ProofOfSelections, SliceOfAllThereIs) {
  const Example without = parts("y = Relu (x)");
  EXPECT_TRUE(is_proved(prove(parts("a = Slice (x, n0, most, n2) y = Relu (a)"), without)));
  EXPECT_TRUE(is_proved(prove(parts("a = Slice (x, n0, n4, n2) y = Relu (a)"), without)));
  EXPECT_FALSE(prove(parts("a = Slice (x, n0, n3, n2) y = Relu (a)"), without).proved);
  EXPECT_FALSE(prove(parts("a = Slice (x, n1, most, n2) y = Relu (a)"), without).proved);
  EXPECT_FALSE(prove(parts("a = Slice (x, last, n0, n2, last) y = Relu (a)"), without).proved) << "backwards";
}

TEST(ProofOfSelections, GatherIsASqueezedPart) {
  const Example before = parts("a = Gather <axis = 1> (x, index) y = Relu (a)");
  EXPECT_TRUE(is_proved(prove(before, parts("s = Slice (x, n1, n2, n1) a = Squeeze (s, n1) y = Relu (a)"))));
  EXPECT_TRUE(is_proved(prove(before, parts("p, s, q = Split <axis = 1> (x, sizes) a = Squeeze (s, n1) y = Relu (a)", {1, 1, 2}))));
  EXPECT_FALSE(prove(before, parts("s = Slice (x, n1, n2, n1) y = Relu (s)")).proved) << "the axis is still there";
  EXPECT_FALSE(prove(before, parts("s = Slice (x, n2, n3, n1) a = Squeeze (s, n1) y = Relu (a)")).proved);
  EXPECT_FALSE(prove(before, parts("s = Slice (x, n1, n2, n2) a = Squeeze (s, n2) y = Relu (a)")).proved);
  EXPECT_FALSE(prove(before, parts("p, s, q = Split <axis = 1> (x, sizes) a = Squeeze (q, n1) y = Relu (a)", {1, 2, 1})).proved);
  EXPECT_FALSE(prove(before, parts("a = Gather <axis = 0> (x, index) y = Relu (a)")).proved);
}

TEST(ProofOfSelections, AlignedCornersMeetAtTheSameLengths) {
  const auto model = [](const std::string& attributes, const std::string& operands, const std::string& dims = "1,1,5,4") {
    return Example(
        "g (float[" + dims +
        "] x) => (y) <float[4] s = {1, 1, 1.5, 2}, float[4] t = {1, 1, 1.4, 2}, float[4] u = {1, 1, 1.6, 2}, int64[4] n = {1, 1, 7, 8}> "
        "{ y = Resize <" +
        attributes + "> (x, " + operands + ") }");
  };
  for (const std::string mode : {"nearest", "linear", "cubic"}) {
    const std::string aligned = "mode = \"" + mode + "\", coordinate_transformation_mode = \"align_corners\"";
    EXPECT_TRUE(is_proved(prove(model(aligned, ", s"), model(aligned, ", t")))) << mode;
    EXPECT_TRUE(is_proved(prove(model(aligned, ", s"), model(aligned, ", , n")))) << mode;
    EXPECT_TRUE(is_proved(prove(model(aligned, ", , n"), model(aligned, ", t")))) << mode;
    EXPECT_FALSE(prove(model(aligned, ", s"), model(aligned, ", u")).proved) << mode << ", another length";
    EXPECT_FALSE(prove(model(aligned, ", s", "1,1,L,4"), model(aligned, ", t", "1,1,L,4")).proved) << mode << ", any length";
    const std::string other = "mode = \"" + mode + "\"";
    EXPECT_FALSE(prove(model(other, ", s"), model(other, ", t")).proved) << mode << ", the scale itself";
    EXPECT_FALSE(prove(model(aligned, ", s"), model(other, ", t")).proved) << mode;
  }
}

}  // namespace
}  // namespace relayout::test
