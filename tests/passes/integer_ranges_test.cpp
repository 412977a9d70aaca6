// Tests that --precision fp16 keeps numbers that were integers in 32 bits, unless their bound is known to be within the type.
#include <gmock/gmock.h>

#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/types.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;

PassResult narrowed(const std::string& body, DataType type = DataType::float16) {
  PassOptions options;
  options.precision = type;
  const TextModel before(body, R"(<ir_version: 10, opset_import: ["" : 21]>)");
  PassResult result = run({"precision"}, before, options);
  EXPECT_TRUE(run({"precision"}, TextModel::of(result.bytes), options).bytes == result.bytes) << "twice is not once";
  return result;
}

/// How many nodes stay because of the range of the type.
int64_t staying(const PassResult& result) {
  return std::ranges::count(result.reasons(), Reason::overflow);
}

/// Whether the last product is made in 16 bits: a Cast of its result follows.
bool is_product_narrow(const PassResult& result) {
  return result.model->graph().find("z.f16") != nullptr;
}

struct Way {
  std::string operands, constants, nodes;  ///< from operands to f32 'f'
};

/// A product of the integers, in 16 bits where they fit.
std::string product_of(const Way& way) {
  return "g (" + way.operands + ", float[3,5] y) => (float[N,5] z) <" + way.constants + "> { " + way.nodes + " z = MatMul (f, y) }";
}

TEST(IntegerRanges, NumbersWithoutAKnownBoundStay) {
  const std::vector<Way> ways{
      {"int64[2,3] i", "", "f = Cast <to = 1> (i)"},
      {"int32[2,3] i", "", "f = Cast <to = 1> (i)"},
      {"uint16[2,3] i", "", "f = Cast <to = 1> (i)"},
      {"uint8[2,4] a", "uint8[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}", "i = MatMulInteger (a, w)  f = Cast <to = 1> (i)"},
      {"uint8[2,4] a", "uint8[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}",
       "i = MatMulInteger (a, w)  j = Transpose (i)  g = Cast <to = 1> (j)  f = Transpose (g)"},
      {"int32[2,4,3] i", "int64[1] axis = {1}", "s = ReduceSum <keepdims = 0> (i, axis)  f = Cast <to = 1> (s)"},
      {"bool[N,M,3] b", "int64[1] axis = {1}", "c = Cast <to = 1> (b)  s = ReduceSum <keepdims = 0> (c, axis)  f = Identity (s)"},
      {"int64[2,3] i", "int64 axis = {1}", "s = CumSum (i, axis)  f = Cast <to = 1> (s)"},
      {"int64 n", "int64 zero = {0}, int64 one = {1}, int64[2] dims = {-1, 3}",
       "r = Range (zero, n, one)  s = Reshape (r, dims)  f = Cast <to = 1> (s)"},
      {"float n", "float zero = {0}, float one = {1}, int64[2] dims = {-1, 3}", "r = Range (zero, n, one)  f = Reshape (r, dims)"},
      {"float[N,M,K] x", "int64[2] dims = {1, 3}", "s = Shape (x)  r = Reshape (s, dims)  f = Cast <to = 1> (r)"},
      {"float[2,3] x", "", "i = Cast <to = 6> (x)  f = Cast <to = 1> (i)"},
      {"int16[2,3] i, int16[2,3] j", "", "a = Cast <to = 1> (i)  b = Cast <to = 1> (j)  c = Add (a, b)  d = Add (c, b)  f = Relu (d)"},
      {"int32[2,3] i", "double k = {0.5}", "d = Cast <to = 11> (i)  e = Mul (d, k)  f = Cast <to = 1> (e)"},
      {"int32[2,3] i", "float k = {0.01}, float b = {3}", "c = Cast <to = 1> (i)  d = Mul (c, k)  f = Sub (b, d)"},
      {"bool k, int32[2,3] i", "",
       "f = If (k) <then_branch = t () => (float[2,3] p) { p = Cast <to = 1> (i) }, else_branch = e () => (float[2,3] q) { a = Cast <to = "
       "1> (i)  q = Neg (a) }>"},
  };
  for (const Way& way : ways) {
    SCOPED_TRACE(way.nodes);
    const PassResult result = narrowed(product_of(way));
    EXPECT_GT(staying(result), 0);
    EXPECT_FALSE(is_product_narrow(result));
    EXPECT_EQ(staying(narrowed(product_of(way), DataType::bfloat16)), 0) << "every integer is within the range of bf16";
  }
  EXPECT_THAT(narrowed(product_of(ways[3])).details(),
              HasSubstr("'f' was integers, and nothing tells that they are within the range of f16"));
}

TEST(IntegerRanges, NumbersWithAKnownBoundGo) {
  const std::vector<Way> ways{
      {"uint8[2,3] i", "", "f = Cast <to = 1> (i)"},
      {"int8[2,3] i", "", "f = Cast <to = 1> (i)"},
      {"int16[2,3] i", "", "f = Cast <to = 1> (i)"},
      {"bool[2,3] i", "", "f = Cast <to = 1> (i)"},
      {"uint8[2,3] i", "", "j = Cast <to = 7> (i)  f = Cast <to = 1> (j)"},
      {"int64[2,3] i", "int64 low = {0}, int64 high = {1000}", "j = Clip (i, low, high)  f = Cast <to = 1> (j)"},
      {"float[2,3,1000] x", "", "i = ArgMax <axis = 2, keepdims = 0> (x)  f = Cast <to = 1> (i)"},
      {"float[2,3,1000] x", "int64[1] k = {1}, int64[2] dims = {2, 3}", "v, i = TopK (x, k)  j = Reshape (i, dims)  f = Cast <to = 1> (j)"},
      {"int64[2,3] i", "int64 k = {5}", "e = Equal (i, k)  f = Cast <to = 1> (e)"},
      {"bool[2,4,3] b", "int64[1] axis = {1}", "c = Cast <to = 1> (b)  s = ReduceSum <keepdims = 0> (c, axis)  f = Identity (s)"},
      {"int32[2,3] i", "float k = {0.00001}", "c = Cast <to = 1> (i)  f = Mul (c, k)"},
      // The way of accumulators: with a scale that is computed they become activations.
      {"int32[2,3] i, float s", "", "c = Cast <to = 1> (i)  f = Mul (c, s)"},
      {"int32[2,3] i, float[3] s", "float[3] b = {1, 2, 3}", "c = Cast <to = 1> (i)  d = Mul (s, c)  e = Add (d, b)  f = Relu (e)"},
      {"int32[2,3] i", "", "c = Cast <to = 1> (i)  f = Tanh (c)"},
  };
  for (const Way& way : ways) {
    SCOPED_TRACE(way.nodes);
    const PassResult result = narrowed(product_of(way));
    EXPECT_TRUE(is_product_narrow(result));
  }
}

TEST(IntegerRanges, WeightsOfManyDoNotMakeSmallIntegersLarge) {
  const PassResult result =
      narrowed("g (uint8[1,3,8,8] i) => (float[1,4,6,6] z) <float[4,3,3,3] W> { x = Cast <to = 1> (i)  c = Conv (x, W)  z = Relu (c) }");
  EXPECT_EQ(staying(result), 0) << "pixels are activations";
}

}  // namespace
}  // namespace relayout::test
