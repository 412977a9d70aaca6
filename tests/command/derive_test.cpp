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
