// Tests derive on the command line: what it writes and says, and what it refuses.

#include "command/command_test.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "report/json.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;

class DeriveCommand : public CommandTest {
 protected:
  DeriveCommand() {
    write_file(
        folder_ / "net.onnxtxt",
        "<ir_version: 10, opset_import: [\"\" : 18]> g (float[N, 2] x, float[2, 3] w) => (float[N, 3] y) { a = MatMul (x, w) y = Tanh "
        "(a) }");
    write_file(folder_ / "random.onnxtxt",
               "<ir_version: 10, opset_import: [\"\" : 18]> g (float[N, 2] x) => (float[N, 2] y) { a = Bernoulli (x) y = Mul (a, x) }");
  }
};

TEST_F(DeriveCommand, WritesTangents) {
  const ProcessResult result = run({"derive", "jvp", "net.onnxtxt", "--wrt", "x", "-o", "jvp.onnx"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("x.tangent"));
  EXPECT_THAT(result.out, HasSubstr("y.tangent"));
  EXPECT_EQ(Model::load(folder_ / "jvp.onnx")->graph().inputs().size(), 3);
}

TEST_F(DeriveCommand, WritesGradients) {
  const Json report = Json::parse(run({"derive", "vjp", "net.onnxtxt", "-o", "vjp.onnx", "--json"}).out, "report");
  EXPECT_EQ(report.find("outputs")->size(), 2);
  const auto model = Model::load(folder_ / "vjp.onnx");
  EXPECT_EQ(model->graph().outputs().back()->name(), "w.gradient");
}

TEST_F(DeriveCommand, WritesJacobiansAndHessians) {
  EXPECT_EQ(run({"derive", "jacobian", "net.onnxtxt", "--of", "y", "--wrt", "x", "-o", "jacobian.onnx"}).code, 0);
  const auto jacobian = Model::load(folder_ / "jacobian.onnx");
  EXPECT_EQ(jacobian->graph().inputs().size(), 2);
  EXPECT_EQ(jacobian->graph().outputs().back()->name(), "y.jacobian.x");
  EXPECT_EQ(jacobian->graph().outputs().back()->declared()->dims, (Dims{-1, 3, 2}));
  EXPECT_EQ(run({"derive", "hessian", "net.onnxtxt", "--wrt", "w", "-o", "hessian.onnx"}).code, 0);
  EXPECT_EQ(Model::load(folder_ / "hessian.onnx")->graph().outputs().back()->declared()->dims, (Dims{2, 3, 2, 3}));
  EXPECT_EQ(run({"derive", "jacobian", "net.onnxtxt", "--hvp", "-o", "a.onnx"}).code, 2);
}

TEST_F(DeriveCommand, WritesGradientsPerSample) {
  write_file(folder_ / "loss.onnxtxt",
             "<ir_version: 10, opset_import: [\"\" : 18]> g (float[N, 2] x) => (float l) <float[2, 3] w = {1, 2, 3, 4, 5, 6}> { a = MatMul "
             "(x, w) b = Tanh (a) l = ReduceMean <keepdims = 0> (b) }");
  const ProcessResult result = run({"derive", "per-sample-gradients", "loss.onnxtxt", "-o", "gradients.onnx"});
  EXPECT_EQ(result.code, 0) << result.err;
  const auto model = Model::load(folder_ / "gradients.onnx");
  EXPECT_EQ(model->graph().outputs().back()->name(), "w.gradient");
  EXPECT_EQ(model->graph().outputs().back()->declared()->dims, (Dims{-1, 2, 3}));
  EXPECT_EQ(run({"derive", "per-sample-gradients", "net.onnxtxt", "--wrt", "w", "-o", "a.onnx"}).code, 4);
}

TEST_F(DeriveCommand, VerifyJudgesByCentralDifferences) {
  write_file(folder_ / "loss.onnxtxt",
             "<ir_version: 10, opset_import: [\"\" : 18]> g (float[N, 2] x) => (float l) <float[2, 3] w = {0.1, 0.2, -0.3, 0.4, 0.5, 0.2}> "
             "{ a = MatMul "
             "(x, w) b = Tanh (a) c = Exp (b) l = ReduceMean <keepdims = 0> (c) }");
  for (const std::vector<std::string>& transform : std::vector<std::vector<std::string>>{{"jvp", "--wrt", "x,w,b"},
                                                                                         {"vjp", "--wrt", "x,w,b"},
                                                                                         {"hessian", "--hvp", "--wrt", "x,w"},
                                                                                         {"jacobian", "--wrt", "x,w"},
                                                                                         {"hessian", "--wrt", "x,b"},
                                                                                         {"per-sample-gradients"}}) {
    std::vector<std::string> words{"derive"};
    words.insert(words.end(), transform.begin(), transform.end());
    words.insert(words.begin() + 2, "loss.onnxtxt");
    words.insert(words.end(), {"-o", "derived.textproto"});
    EXPECT_EQ(run(words).code, 0);
    const ProcessResult right = run({"verify", "loss.onnxtxt", "--derivative", "derived.textproto"});
    EXPECT_EQ(right.code, 0) << transform.front() << right.out << right.err;
    // The same with another derivative of the exponential function, or of the mean.
    std::string text = read_file(folder_ / "derived.textproto");
    const std::size_t at = text.rfind("op_type: \"Mul\"");
    ASSERT_NE(at, std::string::npos);
    text.replace(at, 14, "op_type: \"Add\"");
    write_file(folder_ / "wrong.textproto", text);
    const ProcessResult wrong = run({"verify", "loss.onnxtxt", "--derivative", "wrong.textproto"});
    EXPECT_EQ(wrong.code, 1) << transform.front() << wrong.out << wrong.err;
  }
  EXPECT_EQ(run({"verify", "loss.onnxtxt", "--derivative", "loss.onnxtxt"}).code, 2);
}

TEST_F(DeriveCommand, VerifyMeasuresTheRoundingOfShortDifferences) {
  // A kink at 1 + 2e-8, so that only steps count in which a large addend drowns the sixth digit of the differences.
  const auto write = [&](const std::string& name, const std::string& slope) {
    write_file(
        folder_ / (name + ".onnxtxt"),
        "<ir_version: 10, opset_import: [\"\" : 18]> g (double[1] x) => (double[1] y) { k = Constant <value = double {1.00000002}> () l = "
        "Constant <value = double {1000}> () s = Constant <value = double {" +
            slope + "}> () a = Sub (x, k) b = Relu (a) c = Mul (x, s) d = Add (b, c) y = Add (d, l) }");
    EXPECT_EQ(run({"derive", "jvp", name + ".onnxtxt", "-o", name + ".onnx"}).code, 0);
    return run({"verify", "right.onnxtxt", "--derivative", name + ".onnx", "--input", "x=1", "--samples", "1"});
  };
  const ProcessResult right = write("right", "1");
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  EXPECT_THAT(right.out, HasSubstr("of the differences' rounding"));
  const ProcessResult wrong = write("wrong", "1.0009");
  EXPECT_EQ(wrong.code, 1) << wrong.out << wrong.err;
  EXPECT_THAT(wrong.out, HasSubstr("WRONG   'y.tangent'"));
}

TEST_F(DeriveCommand, RaisesOldOpsets) {
  write_file(
      folder_ / "old.onnxtxt",
      "<ir_version: 7, opset_import: [\"\" : 11]> g (float[N, 1, 2] x) => (float[N, 1] y) { a = Squeeze <axes = [1]> (x) b = Unsqueeze "
      "<axes = [1]> (a) c = ReduceSum <axes = [2], keepdims = 0> (b) y = Exp (c) }");
  EXPECT_EQ(run({"derive", "jvp", "old.onnxtxt", "-o", "raised.onnx"}).code, 0);
  const ProcessResult result = run({"verify", "old.onnxtxt", "--derivative", "raised.onnx"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST_F(DeriveCommand, RaisesASoftmaxOfSeveralAxes) {
  write_file(
      folder_ / "old.onnxtxt",
      "<ir_version: 7, opset_import: [\"\" : 11]> g (float[N, 2, 3] x) => (float[N, 2, 3] y, float[N, 2, 3] z) { a = Softmax <axis = 1> "
      "(x) y = Mul (a, a) b = LogSoftmax <axis = 2> (x) z = Mul (b, x) }");
  EXPECT_EQ(run({"derive", "vjp", "old.onnxtxt", "-o", "raised.onnx"}).code, 0);
  const ProcessResult result = run({"verify", "old.onnxtxt", "--derivative", "raised.onnx"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST_F(DeriveCommand, RefusesARecurrentNetOfFreeLength) {
  write_file(
      folder_ / "free.onnxtxt",
      "<ir_version: 10, opset_import: [\"\" : 18]> g (float[T, N, 1] x, float[1, 1, 1] w, float[1, 1, 1] r) => (float[T, 1, N, 1] y) { y "
      "= RNN <hidden_size = 1> (x, w, r) }");
  const ProcessResult result = run({"derive", "jvp", "free.onnxtxt", "-o", "a.onnx"});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("the length of its sequence is free"));
}

TEST_F(DeriveCommand, EntersTheOnlyBranchOfAnIf) {
  // As exporters write a squeeze of a dim that may be 1.
  const auto write = [&](const std::string& dims) {
    write_file(folder_ / "if.onnxtxt",
               "<ir_version: 10, opset_import: [\"\" : 18]> g (float[" + dims +
                   "] x) => (float y) { s = Shape <start = 2, end = 3> (x) o = Constant <value_ints = [1]> () e = Equal (s, o) c = Squeeze "
                   "(e) a = Tanh (x) t = Constant <value_ints = [2]> () b = If (c) <then_branch = p () => (float[N, 3] q) { q = Squeeze "
                   "(a, t) }, else_branch = d () => (float[N, 3, 1] r) { r = Identity (a) }> y = ReduceSumSquare <keepdims = 0> (b) }");
  };
  write("N, 3, 1");
  EXPECT_EQ(run({"derive", "vjp", "if.onnxtxt", "-o", "if.onnx"}).code, 0);
  const ProcessResult result = run({"verify", "if.onnxtxt", "--derivative", "if.onnx"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST_F(DeriveCommand, DerivesBothBranchesOfAnIf) {
  write_file(
      folder_ / "choice.onnxtxt",
      "<ir_version: 10, opset_import: [\"\" : 18]> g (bool c, float[N, 1, 6] x, float[3, 6] w) => (float[N] y) { s = Sin (x) b = If (c) "
      "<then_branch = p () => (float[N, 3] q) { f = Flatten (s) q = Gemm <transB = 1> (f, w) }, else_branch = d () => (float[N, 3] r) "
      "<int64[3] k = "
      "{0, 1, 3}> { m = MaxPool <kernel_shape = [2], strides = [2]> (s) e = Exp (m) r = Flatten (e) }> o = Constant <value_ints = [1]> () "
      "y = "
      "ReduceSumSquare <keepdims = 0> (b, o) }");
  for (const std::vector<std::string>& transform : std::vector<std::vector<std::string>>{
           {"jvp"}, {"vjp"}, {"vjp", "--wrt", "s"}, {"jacobian", "--wrt", "w"}, {"hessian", "--wrt", "w"}, {"hessian", "--hvp"}}) {
    std::vector<std::string> words{"derive", transform.front(), "choice.onnxtxt", "-o", "derived.onnx"};
    words.insert(words.end(), transform.begin() + 1, transform.end());
    const ProcessResult made = run(words);
    ASSERT_EQ(made.code, 0) << made.err;
    for (const char* condition : {"c=0", "c=1"}) {
      const ProcessResult result = run({"verify", "choice.onnxtxt", "--derivative", "derived.onnx", "--input", condition});
      EXPECT_EQ(result.code, 0) << transform.front() << result.out << result.err;
    }
  }
  // Which samples a branch keeps apart is not followed.
  EXPECT_EQ(run({"derive", "per-sample-gradients", "choice.onnxtxt", "--wrt", "w", "-o", "a.onnx"}).code, 4);
}

TEST_F(DeriveCommand, RefusesByName) {
  const ProcessResult unsupported = run({"derive", "jvp", "random.onnxtxt", "-o", "a.onnx"});
  EXPECT_EQ(unsupported.code, 4);
  EXPECT_THAT(unsupported.err, HasSubstr("Bernoulli"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.onnx"));
  EXPECT_EQ(run({"derive", "jvp", "net.onnxtxt", "--wrt", "z", "-o", "a.onnx"}).code, 2);
  EXPECT_EQ(run({"derive", "jpv", "net.onnxtxt", "-o", "a.onnx"}).code, 2);
}

}  // namespace
}  // namespace relayout::test
