// Tests that converting twice is converting once, where one pass makes work for another.

#include "passes/pass.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/types.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

PassOptions simplified(DataType type = DataType::undefined) {
  PassOptions options;
  options.simplify = true;
  options.precision = type;
  return options;
}

/// All passes that the options select.
PassResult converted(const TextModel& before, const PassOptions& options) {
  std::vector<std::string> names;
  for (const passes::Pass& pass : passes::pass_table()) {
    if (pass.wanted(options)) names.emplace_back(pass.name);
  }
  return run(names, before, options);
}

PassResult expect_once(const TextModel& before, const PassOptions& options) {
  PassResult result = converted(before, options);
  const PassResult again = converted(TextModel::of(result.bytes), options);
  EXPECT_TRUE(again.bytes == result.bytes) << to_text(*result.model) << "\ntwice:\n" << to_text(*again.model);
  return result;
}

TextModel text(const std::string& body) {
  return {body, R"(<ir_version: 10, opset_import: ["" : 22]>)"};
}

/// Makes an initializer of two dims sparse, with one element.
TextModel with_sparse(TextModel model, const std::string& name) {
  return model.edit([&](onnx::ModelProto& message) {
    auto& graph = *message.mutable_graph();
    auto& sparse = *graph.add_sparse_initializer();
    for (int i = 0; i < graph.initializer_size(); ++i) {
      if (graph.initializer(i).name() != name) continue;
      *sparse.mutable_dims() = graph.initializer(i).dims();
      graph.mutable_initializer()->DeleteSubrange(i, 1);
      break;
    }
    sparse.mutable_values()->set_name(name);
    sparse.mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
    sparse.mutable_values()->add_dims(1);
    sparse.mutable_values()->add_float_data(2);
    sparse.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
    sparse.mutable_indices()->add_dims(1);
    sparse.mutable_indices()->add_int64_data(3);
  });
}

TEST(Twice, WeightsOfConvolutionsThroughCasts) {
  for (const std::string& body : std::vector<std::string>{
           "g (float[1,3,7,9] x) => (float[1,4,5,7] y) <float16[4,3,3,3] h> { w = Cast <to = 1> (h)  y = Conv (x, w) }",
           "g (float[1,3,7,9] x) => (float[1,4,5,7] y) <bfloat16[4,3,3,3] h> { w = Cast <to = 1> (h)  y = Conv (x, w) }",
           "g (float[1,3,7,9] x) => (float[1,4,9,11] y) <float16[3,4,3,3] h> { w = Cast <to = 1> (h)  y = ConvTranspose (x, w) }",
           "g (float[1,3,5,7,9] x) => (float[1,4,3,5,7] y) <float16[4,3,3,3,3] h> { w = Cast <to = 1> (h)  y = Conv (x, w) }",
           "g (float16[1,3,7,9] x) => (float16[1,4,5,7] y) <float[4,3,3,3] f> { w = Cast <to = 10> (f)  y = Conv (x, w) }",
           "g (float[1,3,7,9] x) => (float[1,4,5,7] y, float[1,4,5,7] z) <float16[4,3,3,3] h> { w = Cast <to = 1> (h)  y = Conv (x, w)  v "
           "= "
           "Cast <to = 1> (h)  z = Conv (x, v) }",
           "g (float[1,3,7,9] x) => (float[1,4,5,7] y) <float16[4,3,3,3] h> { d = Cast <to = 11> (h)  w = Cast <to = 1> (d)  y = Conv (x, "
           "w) }",
           "g (float[1,4,7,9] x) => (float[1,4,5,7] y, float[4,4,4,4] z) <float[3,3,4,4] s, float[4,4,2,2] k> { w = Transpose <perm = [3, "
           "2, 0, 1]> (s)  y = Conv (x, w)  z = Conv <pads = [1, 1, 1, 1]> (w, k) }"}) {
    SCOPED_TRACE(body);
    (void)expect_once(text(body), simplified());
    (void)expect_once(text(body), simplified(DataType::float16));
    (void)expect_once(text(body), simplified(DataType::bfloat16));
  }
}

TEST(Twice, ATransposeOfAnotherOperandIsFolded) {
  const PassResult result = expect_once(
      text("g (float[2,3] x) => (float[2,4] y) <float16[4,3] h> { t = Transpose (h)  w = Cast <to = 1> (t)  y = MatMul (x, w) }"),
      simplified());
  EXPECT_EQ(result.count("Transpose"), 0);
}

TEST(Twice, IdentitiesInFrontOfCastsThatPrecisionMakes) {
  for (const std::string& branch : std::vector<std::string>{"p = Identity (m)", "p = Dropout (m)", "i = Identity (m)  p = Identity (i)",
                                                            "i = Relu (m)  p = Identity (i)",
                                                            "p = If (k) <then_branch = tt () => (float[2,4] pp) { pp = Identity (m) }, "
                                                            "else_branch = ee () => (float[2,4] qq) { qq = Neg (m) "
                                                            "}>"}) {
    SCOPED_TRACE(branch);
    const TextModel before = text(
        "g (bool k, float[2,4] x) => (float[2,4] y) <float[4,4] W> { m = MatMul (x, W)  y = If (k) <then_branch = t () => (float[2,4] p) "
        "{ " +
        branch + " }, else_branch = e () => (float[2,4] q) { q = Mul (m, m) }> }");
    const PassResult result = expect_once(before, simplified(DataType::bfloat16));
    (void)expect_once(before, simplified(DataType::float16));
    EXPECT_EQ(result.count("Identity") + result.count("Dropout"), 0);
  }
}

TEST(Twice, ConstantsInFrontOfCastsThatPrecisionMakes) {
  const std::string head = "g (float[2,4] x) => (float[2,4] y) <float[4,4] W, float[4,4] V, float[4] B> ";
  for (const std::string& body :
       std::vector<std::string>{"{ y = MatMul (x, W) }", "{ y = Gemm (x, W, B) }", "{ y = Gemm <transB = 1> (x, W) }",
                                "{ m = MatMul (x, V)  y = MatMul (m, W) }", "{ m = MatMul (x, W)  n = MatMul (x, V)  y = Add (m, n) }",
                                "{ e = Exp (W)  m = MatMul (x, W)  y = MatMul (m, e) }"}) {
    SCOPED_TRACE(body);
    const TextModel sparse = with_sparse(text(head + body), "W");
    EXPECT_EQ(expect_once(sparse, simplified(DataType::bfloat16)).count("Cast"), 2) << "of input and output alone";
    (void)expect_once(sparse, simplified(DataType::float16));
  }
}

TEST(Twice, RefusalsAreToldOnce) {
  const PassResult result =
      converted(with_sparse(text("g (float[2,4] x) => (float[2,4] y) <float[4,4] W> { e = Exp (x)  y = MatMul (e, W) }"), "W"),
                simplified(DataType::bfloat16));
  int told = 0;
  for (const Finding& finding : result.findings) told += finding.reason == Reason::fragile ? 1 : 0;
  EXPECT_EQ(told, 1);
}

TEST(Twice, BordersOfTheLayoutPlan) {
  PassOptions options;
  options.export_transposes = true;
  for (const std::string& body : std::vector<std::string>{
           "g (float[1,2,H,8] x, float[4,4,2,2] w) => (float[1,4,P,Q] y) <float[4,2,1,1] v> { c = Conv <strides = [2, 2]> (x, v)  r = Relu "
           "(c)  d = Conv (r, w)  y = AveragePool <kernel_shape = [2, 2], pads = [1, 1, 1, 1]> (d) }",
           "g (float[1,3,H,W] x) => (float[1,4,P,Q] y) <float[4,3,3,3] v> { y = Conv (x, v) }",
           "g (float[N,3,H,W] x) => (float[N,4,P,Q] y) <float[4,3,3,3] v, float[4,4,3,3] w> { c = Conv (x, v)  y = Conv (c, w) }",
           "g (float[1,3,H,W] x) => (float[1,4,P,Q] y) <float[4,3,3,3] v, float s = {0.5}> { n = Mul (x, s)  c = Conv (n, v)  y = Relu (c) "
           "}",
           "g (float[1,3,D,H,W] x) => (float[1,4,O,P,Q] y) <float[4,3,3,3,3] v> { y = Conv (x, v) }",
           "g (float[1,H,W,3] x) => (float[1,4,P,Q] y) <float[4,3,3,3] v> { t = Transpose <perm = [0, 3, 1, 2]> (x)  y = Conv (t, v) }"}) {
    for (const LayoutChoice choice : {LayoutChoice::automatic, LayoutChoice::always}) {
      SCOPED_TRACE(body);
      options.choice = choice;
      options.simplify = false;
      (void)expect_once(text(body), options);
      options.simplify = true;
      (void)expect_once(text(body), options);
    }
  }
}

}  // namespace
}  // namespace relayout::test
