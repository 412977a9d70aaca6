// Tests that verify proves what convert writes for shapes of trained models, and finds a wrong number in it.

#include <cmath>

#include "command/command_test.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

/// Nodes between an input x of [N, W, 24] and a convolution or product, in front of which the target of a Reshape is computed.
struct Front {
  std::string name;
  std::string nodes;  ///< from x to a
};
void PrintTo(const Front& front, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest calls it
  *out << front.name;
}

const std::string kMoments =
    "m = ReduceMean <axes = [-1]> (x) d = Sub (x, m) q = Mul (d, d) v = ReduceMean <axes = [-1]> (q) e = Add (v, eps) ";

class OwnConversions : public CommandTest, public ::testing::WithParamInterface<Front> {
 protected:
  static constexpr const char* kHead =
      "g (float[N,W,24] x, float[N,1,1,W] image) => (y) <float[24] w, float[24] b, float[32,24,1,1] k, float[32,24,1] l, float[24,32] p, "
      "float[32] g, float[32] h, float[32] i, float[32] var, int64[1] three = {3}, int64[1] four = {4}, int64[1] zero = {0}, int64[1] one "
      "= "
      "{1}, int64[1] all = {-1}, int64[1] channels = {24}, float eps = {1e-5}, float half = {0.5}> { dims = Shape (image) width = Slice "
      "(dims, "
      "three, four) ";

  /// Holds what convert writes against the model, in three ways, and against itself with a wrong number.
  void expect_proved(const std::string& nodes) {
    write_file(folder_ / "net.onnx", TextModel(kHead + nodes + " }").name_nodes().bytes());
    const std::vector<std::vector<std::string>> ways{{}, {"--simplify"}, {"--io", "nhwc"}};
    for (const std::vector<std::string>& words : ways) {
      std::vector<std::string> convert{"convert", "net.onnx", "-o", "out.onnx"}, check{"verify", "net.onnx", "out.onnx", "--strict"};
      convert.insert(convert.end(), words.begin(), words.end());
      if (words.size() == 2) check.insert(check.end(), words.begin(), words.end());
      const ProcessResult made = run(convert);
      ASSERT_EQ(made.code, 0) << made.err;
      const ProcessResult same = run(check);
      EXPECT_EQ(same.code, 0) << nodes << "\n" << same.out << same.err;
      EXPECT_THAT(same.out, testing::HasSubstr("nothing unexplained")) << nodes;
    }
    expect_wrong_bias_found();
  }

 private:
  void expect_wrong_bias_found() {
    onnx::ModelProto model = load_model(folder_ / "out.onnx");
    for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
      if (tensor.dims_size() != 1 || tensor.dims(0) != 32 || tensor.data_type() != onnx::TensorProto::FLOAT) continue;
      float number = 0;
      std::memcpy(&number, tensor.raw_data().data(), sizeof number);
      number += 0.1F;
      std::memcpy(tensor.mutable_raw_data()->data(), &number, sizeof number);
    }
    save_model(model, folder_ / "wrong.onnx");
    EXPECT_EQ(run({"verify", "net.onnx", "wrong.onnx", "--io", "nhwc"}).code, 1);
  }
};

TEST_P(OwnConversions, ThroughAComputedTargetIntoAConvolution) {
  expect_proved(
      GetParam().nodes +
      " t = Concat <axis = 0> (zero, one, width, channels) r = Reshape (a, t) s = Transpose <perm = [0, 3, 1, 2]> (r) c = Conv (s, k) "
      "y = BatchNormalization (c, g, h, i, var)");
}

TEST_P(OwnConversions, ThroughAComputedTargetIntoAConvolutionOfOneAxis) {
  expect_proved(
      GetParam().nodes +
      " t = Concat <axis = 0> (zero, width, channels) r = Reshape (a, t) s = Transpose <perm = [0, 2, 1]> (r) c = Conv (s, l) y = "
      "BatchNormalization (c, g, h, i, var)");
}

TEST_P(OwnConversions, ThroughAComputedTargetIntoAProduct) {
  expect_proved(GetParam().nodes +
                " t = Concat <axis = 0> (all, channels) r = Reshape (a, t) c = MatMul (r, p) y = BatchNormalization (c, g, h, i, var)");
}

INSTANTIATE_TEST_SUITE_P(
    Trained, OwnConversions,
    ::testing::Values(Front{"a factor and a shift", "f = Mul (x, w) a = Add (f, b)"}, Front{"a factor", "f = Mul (x, w) a = Identity (f)"},
                      Front{"a shift", "f = Identity (x) a = Add (b, f)"},
                      Front{"a written-out LayerNormalization", kMoments + "s0 = Sqrt (e) n = Div (d, s0) f = Mul (n, w) a = Add (f, b)"},
                      Front{"one by a power", kMoments + "s0 = Pow (e, half) n = Div (d, s0) f = Mul (w, n) a = Add (b, f)"},
                      Front{"one without a shift", kMoments + "s0 = Sqrt (e) r0 = Reciprocal (s0) n = Mul (d, r0) a = Mul (n, w)"},
                      Front{"a LayerNormalization", "a = LayerNormalization (x, w, b)"}));

/// An If whose graphs have a constant of the name of one outside, as some tools write it.
TEST_F(CommandTest, AConstantOfABranchHidesOneOutside) {
  write_file(folder_ / "net.onnx",
             TextModel("g (float[N,4] x) => (float[N,4] y) <float factor = {2}, float nought = {0}> { s = Add (x, factor) t = ReduceSum "
                       "<keepdims = 0> (s) c = Greater (t, nought) y = If (c) <then_branch = a () => (p) <float inner = {3}> { p = Mul (x, "
                       "inner) }, else_branch = b () => (q) <float other = {5}> { q = Mul (x, other) }> }")
                 .name_nodes()
                 .edit([](onnx::ModelProto& model) {
                   for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
                     for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
                       if (!attribute.has_g()) continue;
                       attribute.mutable_g()->mutable_initializer(0)->set_name("factor");
                       attribute.mutable_g()->mutable_node(0)->set_input(1, "factor");
                     }
                   }
                 })
                 .bytes());
  const ProcessResult same = run({"verify", "net.onnx", "net.onnx", "--run-identical"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.err, testing::HasSubstr("hides a value of the same name outside"));
  for (const auto& [number, result] : {std::pair{"1", "3"}, {"-3", "-15"}}) {
    const ProcessResult ran = run({"run", "net.onnx", "--dim", "N=1", "--input", std::string("x=") + number, "--stats"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, testing::ContainsRegex("y .*" + std::string(result))) << ran.out;
  }
  for (const char* const words : {"--simplify", "--layout=keep"}) {
    ASSERT_EQ(run({"convert", "net.onnx", "-o", "out.onnx", words}).code, 0);
    EXPECT_EQ(run({"verify", "net.onnx", "out.onnx", "--run-identical"}).code, 0);
  }
}

}  // namespace
}  // namespace relayout::test
