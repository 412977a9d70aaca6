// Tests conversions that change sizes, names, weights or versions as users run them, and their verification.

#include "command/command_test.h"
#include "support/process.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Edits : public CommandTest {
 protected:
  Edits() {
    write_file(folder_ / "net.onnx",
               TextModel("g (float[1,2,6,6] x) => (float[1,3] y) <float[4,2,3,3] W, float[3,4] F, int64[2] t = {1, 4}> "
                         "{ c = Conv (x, W)  r = Relu (c)  p = GlobalAveragePool (r)  f = Reshape (p, t)  y = Gemm <transB = 1> (f, F) }")
                   .name_nodes()
                   .bytes());
    write_file(folder_ / "last.onnx",
               TextModel("g (float[2,3,4] x) => (float[3,4] y) <int64 i = {1}> { y = Gather (x, i) }").name_nodes().bytes());
    write_file(folder_ / "free.onnx", TextModel("g (float[N,3] x) => (float[N,3] y) { y = Sigmoid (x) }").name_nodes().bytes());
  }

  /// Runs convert, which must succeed, and returns its output.
  std::string convert(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "convert");
    const ProcessResult result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    return result.out;
  }
};

TEST_F(Edits, AFreeBatchIsVerifiedAtSeveralSizes) {
  EXPECT_THAT(convert({"net.onnx", "-o", "out.onnx", "--free-dim", "x:0=N", "--verify"}), HasSubstr("set-dims"));
  EXPECT_EQ(run({"verify", "net.onnx", "out.onnx"}).code, 0);
  // Copies of the original for other sizes are made by the same options.
  convert({"net.onnx", "-o", "three.onnx", "--set-shape", "x=3,2,6,6", "--verify"});
  EXPECT_EQ(run({"verify", "three.onnx", "out.onnx"}).code, 0);
  EXPECT_EQ(run({"verify", "out.onnx", "three.onnx", "--allow-interface"}).code, 0);
  convert({"out.onnx", "-o", "one.onnx", "--set-dim", "N=1", "--verify"});
  EXPECT_EQ(run({"verify", "net.onnx", "one.onnx"}).code, 0);
  convert({"free.onnx", "-o", "fixed.onnx", "--set-dim", "N=4", "--verify"});
}

TEST_F(Edits, TheNodeThatFixesASizeIsNamed) {
  expect_refusal(run({"convert", "last.onnx", "-o", "out.onnx", "--free-dim", "x:0=N"}), 4,
                 "last.onnx: --free-dim x:0=N: node 'Gather_0' (Gather) fixes the size: ");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.onnx"));
  expect_refusal(run({"convert", "net.onnx", "--free-dim", "x=N"}), 2, "NAME:AXIS=N");
  expect_refusal(run({"convert", "net.onnx", "--free-dim", "x:4=N"}), 2, "the input has 4 dims");
  expect_refusal(run({"convert", "net.onnx", "--set-dim", "N=1"}), 2, "N");
  expect_refusal(run({"convert", "net.onnx", "--set-shape", "x=1,2"}), 2, "the input has 4 dims");
  expect_refusal(run({"convert", "free.onnx", "--free-dim", "x:0=M"}), 2, "free already");
}

TEST_F(Edits, NamesOfOneCallAreThoseOfTheGivenFile) {
  const std::string said = convert({"net.onnx", "-o", "out.onnx", "--rename", "x=images", "--rename", "y=scores", "--free-dim", "x:0=N",
                                    "--io", "nhwc:x", "--share-weights", "--verify"});
  EXPECT_THAT(said, HasSubstr("rename"));
  EXPECT_THAT(said, HasSubstr("same"));
  convert({"net.onnx", "-o", "named.onnx", "--rename", "x=images", "--verify"});
  EXPECT_EQ(run({"verify", "net.onnx", "named.onnx", "--rename", "x=images"}).code, 0);
  expect_refusal(run({"convert", "net.onnx", "--rename", "x=r"}), 4, "the model has a value 'r' already");
  expect_refusal(run({"convert", "net.onnx", "--rename", "z=q"}), 2, "no input, output or dim 'z'");
}

TEST_F(Edits, ScrambledWeightsComputeSomethingElse) {
  convert({"net.onnx", "-o", "out.onnx", "--scramble", "3"});
  EXPECT_EQ(run({"verify", "net.onnx", "out.onnx"}).code, 1);
  expect_refusal(run({"convert", "net.onnx", "--scramble", "3", "--verify"}), 2, "--scramble");
}

TEST_F(Edits, OpsetsAreConvertedAndVerified) {
  EXPECT_THAT(convert({"net.onnx", "-o", "out.onnx", "--opset", "20"}), HasSubstr("same"));
  EXPECT_THAT(run({"inspect", "out.onnx"}).out, HasSubstr("20"));
  EXPECT_THAT(convert({"net.onnx", "-o", "again.onnx", "--opset", "17", "--ir-version", "9"}), HasSubstr("same"));
  expect_refusal(run({"convert", "net.onnx", "-o", "no.onnx", "--opset", "99"}), 4, "--opset 99");
  expect_refusal(run({"convert", "net.onnx", "-o", "no.onnx", "--ir-version", "3"}), 4,
                 "initializers that are no inputs need IR version 4");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "no.onnx"));
}

}  // namespace
}  // namespace relayout::test
