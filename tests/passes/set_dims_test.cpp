// Tests that sizes of inputs change with the constants that hold them: a free batch computes what its samples compute alone.
#include <gmock/gmock.h>

#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/compute.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

PassOptions freeing(int64_t axis = 0) {
  PassOptions options;
  options.dims.free[{"x", axis}] = "N";
  return options;
}

PassOptions setting(const Dims& dims) {
  PassOptions options;
  options.dims.shapes["x"] = dims;
  return options;
}

PassResult changed(const TextModel& before, const PassOptions& options) {
  return run({"set-dims"}, before, options);
}

std::string shape_of(const onnx::ValueInfoProto& info) {
  std::string out;
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    out += (out.empty() ? "" : ",") + (dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.has_dim_param() ? dim.dim_param() : "?");
  }
  return out;
}
std::string input_of(const PassResult& result) {
  return shape_of(result.model->message().graph().input(0));
}
std::string output_of(const PassResult& result) {
  return shape_of(result.model->message().graph().output(0));
}

Tensor numbers(const Dims& dims, int64_t first = 0) {
  Tensor out(DataType::float32, dims);
  for (int64_t i = 0; i < out.element_count(); ++i) out.data<float>()[i] = static_cast<float>((first + i) * 37 % 101) / 50 - 1;
  return out;
}

std::vector<float> floats(const Tensor& tensor) {
  const Tensor dense = contiguous(tensor);
  return {dense.data<float>(), dense.data<float>() + dense.element_count()};
}

/// The free batch is its samples side by side, for each of these numbers of them, and a second run changes nothing.
PassResult expect_batch(const TextModel& before, const Dims& sample) {
  PassResult result = changed(before, freeing());
  EXPECT_TRUE(changed(TextModel::of(result.bytes), freeing()).bytes == result.bytes) << "twice is not once";
  const auto original = before.load();
  for (const int64_t count : {1, 2, 3, 7}) {
    Dims dims = sample;
    dims[0] *= count;
    const Tensor all = numbers(dims);
    const int64_t size = element_count(sample);
    std::vector<float> expected;
    for (int64_t i = 0; i < count; ++i) {
      const auto one = compute(*original, {{"x", Datum(numbers(sample, i * size))}});
      const std::vector<float> part = floats(one.at(0).tensor);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    const auto batch = compute(*result.model, {{"x", Datum(all)}});
    EXPECT_THAT(floats(batch.at(0).tensor), testing::Pointwise(testing::FloatNear(1e-4F), expected)) << count << "\n"
                                                                                                     << to_text(*result.model);
  }
  return result;
}

void expect_refused(const TextModel& model, const PassOptions& options, const std::string& node) {
  try {
    const PassResult result = changed(model, options);
    ADD_FAILURE() << "not refused:\n" << to_text(*result.model);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(std::string(error.what()), testing::HasSubstr("(" + node + ") fixes the size"));
  }
}

TEST(SetDims, ClassifierGetsAFreeBatch) {
  const PassResult result = expect_batch(
      "g (float[1,2,6,6] x) => (float[1,3] y) <float[4,2,3,3] W, float[3,4] F, float[1,4,1,1] v, int64[2] t = {1, 4}> "
      "{ c = Conv (x, W)  r = Relu (c)  s = Add (r, v)  p = GlobalAveragePool (s)  f = Reshape (p, t)  y = Gemm <transB = 1> (f, F) }",
      {1, 2, 6, 6});
  EXPECT_EQ(input_of(result), "N,2,6,6");
  EXPECT_EQ(output_of(result), "N,3");
}

TEST(SetDims, ReshapesWithAnInferredDim) {
  expect_batch("g (float[1,2,3,3] x) => (float[1,4] y) <float[18,4] F, int64[2] t = {1, -1}> { f = Reshape (x, t)  y = MatMul (f, F) }",
               {1, 2, 3, 3});
  expect_batch("g (float[1,2,3,3] x) => (float[1,4] y) <float[18,4] F, int64[2] t = {-1, 18}> { f = Reshape (x, t)  y = MatMul (f, F) }",
               {1, 2, 3, 3});
  expect_batch("g (float[1,2,3,3] x) => (float[1,4] y) <float[18,4] F> { f = Flatten (x)  y = MatMul (f, F) }", {1, 2, 3, 3});
}

TEST(SetDims, HeadsBesideTheBatchStayApart) {
  const std::string weights =
      "<float[8,8] Q, float[8,8] K, int64[4] h = {1, 3, 2, 4}, int64[3] m = {2, 3, 4}, int64[4] a = {1, 2, 3, 4}, "
      "int64[3] o = {1, 3, 8}>";
  const PassResult result = expect_batch(
      "g (float[1,3,8] x) => (float[1,3,8] y) " + weights +
          "{ q = MatMul (x, Q)  k = MatMul (x, K)  qh = Reshape (q, h)  kh = Reshape (k, h)  qt = Transpose <perm = [0,2,1,3]> (qh) "
          "  kt = Transpose <perm = [0,2,1,3]> (kh)  qm = Reshape (qt, m)  km = Reshape (kt, m)  kk = Transpose <perm = [0,2,1]> (km) "
          "  s = MatMul (qm, kk)  w = Softmax <axis = 2> (s)  v = MatMul (w, km)  u = Reshape (v, a)  b = Transpose <perm = [0,2,1,3]> (u) "
          "  y = Reshape (b, o) }",
      {1, 3, 8});
  EXPECT_EQ(output_of(result), "N,3,8");
}

TEST(SetDims, BatchesOfSeveralAndBatchesThatMove) {
  expect_batch("g (float[2,3,4] x) => (float[2,12] y) <int64[2] t = {2, 12}> { a = Relu (x)  y = Reshape (a, t) }", {2, 3, 4});
  expect_batch(
      "g (float[1,4] x) => (float[1,4] y) <int64[3] t = {1, 1, 4}, int64[1] one = {1}> "
      "{ a = Reshape (x, t)  b = Sigmoid (a)  y = Squeeze (b, one) }",
      {1, 4});
  expect_batch(
      "g (float[1,5,3] x) => (float[1,4] y) <float[1,12,3] W, float[1,12,4] R, int64[1] zero = {0}> "
      "{ t = Transpose <perm = [1,0,2]> (x)  a, h = GRU <hidden_size = 4> (t, W, R)  y = Squeeze (h, zero) }",
      {1, 5, 3});
  expect_batch("g (float[1,2,3,3] x) => (float[1,2,6,6] y) <int64[4] s = {1, 2, 6, 6}> { y = Resize <mode = \"nearest\"> (x, , , s) }",
               {1, 2, 3, 3});
  expect_batch(
      "g (float[1,6] x) => (float[1,3] y) <int64[2] b = {0, 0}, int64[2] e = {1, 3}, int64[2] w = {1, 3}> "
      "{ a = Slice (x, b, e)  y = Expand (a, w) }",
      {1, 6});
}

TEST(SetDims, NodesThatMixSamplesFixTheBatch) {
  const auto refused = [](const std::string& outputs, const std::string& body, const std::string& node) {
    expect_refused("g (float[1,3,4] x) => (" + outputs + " y) " + body, freeing(), node);
  };
  refused("float[3,4]", "<int64 i = {0}> { y = Gather <axis = 0> (x, i) }", "Gather");
  refused("float[1,3,4]", "{ y = Softmax <axis = 0> (x) }", "Softmax");
  refused("float[1,3,4]", "<int64[1] a = {0}> { m = ReduceSum (x, a)  y = Sub (x, m) }", "ReduceSum");
  refused("float[3,4]", "<int64[1] a = {0}> { y = Squeeze (x, a) }", "Squeeze");
  refused("float[1,4,4]", "<float[1,1,4] c> { y = Concat <axis = 1> (c, x) }", "Concat");
  refused("float[2,3,4]", "<float[1,3,4] c> { y = Concat <axis = 0> (c, x) }", "Concat");
  refused("float[5,4]", "<int64[2] t = {-1, 4}, float[5,3] F> { a = Reshape (x, t)  y = MatMul (F, a) }", "MatMul");
  refused("float[1,3,4]", "<float[1] n> { s = Shape (x)  i = Cast <to = 1> (s)  z = Slice (x, s, s)  m = ReduceMax (i)  y = Mul (x, m) }",
          "Mul");
  refused("float[1,3,4]", "<int64[1,1,1] i = {2}, float[1,1,1] u> { y = ScatterElements <axis = 1> (x, i, u) }", "ScatterElements");
  refused("float[1,3,4]", "{ y = Einsum <equation = \"bij->bij\"> (x) }", "Einsum");
  expect_refused(
      "g (float[5,1,3] x) => (float[5,1,1,4] y) <float[1,12,3] W, float[1,12,4] R, float[1,1,4] h> "
      "{ y, z = GRU <hidden_size = 4> (x, W, R, , , h) }",
      freeing(1), "GRU");
}

TEST(SetDims, ImagesOfOtherSizes) {
  const TextModel model =
      "g (float[1,2,6,6] x) => (float[1,4,36] y) <float[4,2,3,3] W, int64[3] t = {1, 4, 36}> "
      "{ c = Conv <pads = [1,1,1,1]> (x, W)  y = Reshape (c, t) }";
  const PassResult set = changed(model, setting({3, 2, 8, 5}));
  EXPECT_EQ(input_of(set), "3,2,8,5");
  EXPECT_EQ(output_of(set), "3,4,40");
  EXPECT_EQ(compute(*set.model, {{"x", Datum(numbers({3, 2, 8, 5}))}}).at(0).tensor.dims(), (Dims{3, 4, 40}));
  const PassResult free = changed(model, freeing(2));
  EXPECT_EQ(output_of(free), "1,4,?");
  EXPECT_EQ(compute(*free.model, {{"x", Datum(numbers({1, 2, 9, 6}))}}).at(0).tensor.dims(), (Dims{1, 4, 54}));
  // A window over everything, and a product with weights for every position, were made for this size.
  expect_refused("g (float[1,2,6,6] x) => (float[1,2,1,1] y) { y = AveragePool <kernel_shape = [6,6]> (x) }", freeing(3), "AveragePool");
  expect_refused("g (float[1,2,6,6] x) => (float[1,3] y) <float[72,3] F> { f = Flatten (x)  y = MatMul (f, F) }", freeing(2), "MatMul");
  expect_refused("g (float[1,2,6,6] x) => (float[1,3] y) <float[72,3] F> { f = Flatten (x)  y = MatMul (f, F) }", setting({1, 2, 6, 7}),
                 "MatMul");
}

TEST(SetDims, FreeDimsGetSizes) {
  const TextModel model = "g (float[N,2,H] x) => (float[N,H] y) <int64[1] a = {1}> { r = Relu (x)  y = ReduceSum <keepdims = 0> (r, a) }";
  PassOptions options;
  options.dims.sizes["N"] = 3;
  const PassResult result = changed(model, options);
  EXPECT_EQ(input_of(result), "3,2,H");
  EXPECT_EQ(output_of(result), "3,H");
  EXPECT_EQ(output_of(changed(model, setting({1, 2, 5}))), "1,5");
  options.dims.sizes = {{"M", 1}};
  EXPECT_THROW((void)changed(model, options), Error);
  // A node that takes no other size.
  expect_refused("g (float[N,3] x) => (float[N,4] y) <float[2,4] c, float[3,4] F> { m = MatMul (x, F)  y = Add (m, c) }", setting({3, 3}),
                 "Add");
}

}  // namespace
}  // namespace relayout::test
