// Small instances of the families of models that people convert: each must run whole, in all modes, and say the same.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "relayout/execute.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/op_cases.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

Tensor image(const Dims& dims, uint64_t seed = 1) {
  const RandomStream random(seed, "family", 0);
  std::vector<double> values(static_cast<std::size_t>(element_count(dims)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = random.normal(i);
  return tensor_of_values(DataType::float32, dims, values);
}

/// Plain kernels in double are the yardstick; plans are run twice, and with 2 threads.
void expect_same_in_all_modes(const std::string& body, const std::vector<Inputs>& runs) {
  const auto model = TextModel(body).load();
  ASSERT_TRUE(Executor::unsupported(model->graph()).empty());
  ExecuteOptions plain;
  plain.mode = Mode::reference;
  Executor yardstick(model->graph(), plain);
  for (const Mode mode : {Mode::as_written, Mode::optimized}) {
    for (const int threads : {1, 2}) {
      ExecuteOptions options;
      options.mode = mode;
      options.threads = threads;
      Executor executor(model->graph(), options);
      for (const Inputs& inputs : runs) {
        const Outputs wanted = yardstick.run(inputs), got = executor.run(inputs);
        for (std::size_t k = 0; k < wanted.size(); ++k) {
          ASSERT_EQ(got[k].tensor.dims(), wanted[k].tensor.dims()) << to_string(mode) << " output " << k;
          const std::vector<double> a = numbers_of(wanted[k].tensor), b = numbers_of(got[k].tensor);
          double range = 0;
          for (const double value : a) range = std::max(range, std::fabs(value));
          for (std::size_t i = 0; i < a.size(); ++i)
            ASSERT_NEAR(b[i], a[i], 1e-5 * range) << to_string(mode) << " output " << k << " at " << i;
        }
      }
    }
  }
}

TEST(Families, DetectionWithBoxesThatDependOnTheImage) {
  const std::string body = R"(
    net (float[1,3,32,32] x) => (float[N,4] kept, float[M] best, float[R,8,2,2] pooled, float[K] last)
    <float[8,3,3,3] w, float[8] wb, float[4,8,1,1] wbox, float[1,8,1,1] wscore> {
      f = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w, wb)
      g = Relu(f)
      rawbox = Conv(g, wbox)
      rawscore = Conv(g, wscore)
      shape4 = Constant<value = int64[3] {1, 4, -1}>()
      shape1 = Constant<value = int64[3] {1, 1, -1}>()
      b4 = Reshape(rawbox, shape4)
      bt = Transpose<perm = [0, 2, 1]>(b4)
      scores0 = Reshape(rawscore, shape1)
      little = Constant<value = float {0.02}>()
      scores1 = Mul(scores0, little)
      scores = Sigmoid(scores1)
      eight = Constant<value = float {8.0}>()
      boxes = Mul(bt, eight)
      most = Constant<value = int64 {20}>()
      overlap = Constant<value = float {0.4}>()
      least = Constant<value = float {0.3}>()
      chosen = NonMaxSuppression(boxes, scores, most, overlap, least)
      two = Constant<value = int64 {2}>()
      index = Gather<axis = 1>(chosen, two)
      axes0 = Constant<value = int64[1] {0}>()
      flatboxes = Squeeze(boxes, axes0)
      kept = Gather<axis = 0>(flatboxes, index)
      axes01 = Constant<value = int64[2] {0, 1}>()
      flatscores = Squeeze(scores, axes01)
      keptscores = Gather<axis = 0>(flatscores, index)
      count = Shape(keptscores)
      three = Constant<value = int64[1] {3}>()
      k = Min(count, three)
      best, at = TopK(keptscores, k)
      zero = Constant<value = int64 {0}>()
      batch = Mul(index, zero)
      pooled = RoiAlign<output_height = 2, output_width = 2, sampling_ratio = 2, spatial_scale = 0.5>(g, kept, batch)
      number = Size(index)
      some = Greater(number, zero)
      last = If(some) <
        then_branch = t () => (float[A] a) { axes123 = Constant<value = int64[3] {1, 2, 3}>() a = ReduceMax<keepdims = 0>(pooled, axes123) },
        else_branch = e () => (float[B] b) { b = Identity(keptscores) }
      >
    })";
  expect_same_in_all_modes(body, {{{"x", image({1, 3, 32, 32})}}, {{"x", image({1, 3, 32, 32}, 2)}}});
}

TEST(Families, TransformerWithCausalMask) {
  expect_same_in_all_modes(R"(
    net (float[2,7,16] x) => (float[2,7,16] y)
    <float[16] g1, float[16] b1, float[16,48] wqkv, float[48] bqkv, float[16,16] wo, float[16] g2, float[16] b2, float[16,64] w1, float[64] c1, float[64,16] w2> {
      n = LayerNormalization(x, g1, b1)
      p = MatMul(n, wqkv)
      qkv = Add(p, bqkv)
      heads = Constant<value = int64[5] {0, 0, 3, 4, 4}>()
      r = Reshape(qkv, heads)
      t = Transpose<perm = [2, 0, 3, 1, 4]>(r)
      parts = Constant<value = int64[3] {1, 1, 1}>()
      q0, k0, v0 = Split<axis = 0>(t, parts)
      axes = Constant<value = int64[1] {0}>()
      q = Squeeze(q0, axes)
      k = Squeeze(k0, axes)
      v = Squeeze(v0, axes)
      kt = Transpose<perm = [0, 1, 3, 2]>(k)
      s = MatMul(q, kt)
      half = Constant<value = float {0.5}>()
      scaled = Mul(s, half)
      full = Shape(scaled)
      ones = ConstantOfShape(full)
      one = Constant<value = float {1.0}>()
      filled = Add(ones, one)
      lower = Trilu<upper = 0>(filled)
      allowed = Cast<to = 9>(lower)
      low = Constant<value = float {-10000.0}>()
      masked = Where(allowed, scaled, low)
      a = Softmax<axis = -1>(masked)
      o = MatMul(a, v)
      ot = Transpose<perm = [0, 2, 1, 3]>(o)
      flat = Constant<value = int64[3] {0, 0, -1}>()
      of = Reshape(ot, flat)
      oo = MatMul(of, wo)
      x1 = Add(x, oo)
      n2 = LayerNormalization(x1, g2, b2)
      h0 = MatMul(n2, w1)
      h = Add(h0, c1)
      root = Constant<value = float {1.4142135}>()
      hr = Div(h, root)
      e = Erf(hr)
      e1 = Add(e, one)
      he = Mul(h, e1)
      gelu = Mul(he, half)
      m = MatMul(gelu, w2)
      y = Add(x1, m)
    })",
                           {{{"x", image({2, 7, 16})}}});
}

TEST(Families, TextRecognitionOfAnyWidth) {
  expect_same_in_all_modes(R"(
    net (float[N,3,16,W] x) => (float[T,N,5] y) <float[6,3,3,3] w, float[6] b, float[2,32,24] lw, float[2,32,8] lr, float[2,64] lb, float[16,5] head> {
      c = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w, b)
      a = HardSwish(c)
      p = MaxPool<kernel_shape = [2, 1], strides = [2, 1]>(a)
      shape = Shape(p)
      i0 = Constant<value = int64[1] {0}>()
      i3 = Constant<value = int64[1] {3}>()
      n = Gather<axis = 0>(shape, i0)
      t = Gather<axis = 0>(shape, i3)
      minus = Constant<value = int64[1] {-1}>()
      sizes = Concat<axis = 0>(n, minus, t)
      flat = Reshape(p, sizes)
      seq = Transpose<perm = [2, 0, 1]>(flat)
      l, h, cc = LSTM<hidden_size = 8, direction = "bidirectional">(seq, lw, lr, lb)
      lt = Transpose<perm = [0, 2, 1, 3]>(l)
      zeros = Constant<value = int64[3] {0, 0, -1}>()
      lf = Reshape(lt, zeros)
      o = MatMul(lf, head)
      y = LogSoftmax<axis = -1>(o)
    })",
                           {{{"x", image({1, 3, 16, 20})}}, {{"x", image({2, 3, 16, 37})}}, {{"x", image({1, 3, 16, 20}, 3)}}});
}

TEST(Families, ChannelsLastFromTensorFlow) {
  expect_same_in_all_modes(R"(
    net (float[1,17,17,3] x) => (float[1,4,4,8] y) <float[8,3,3,3] w, float[8,1,3,3] d, float[8] m, float[8] a> {
      t1 = Transpose<perm = [0, 3, 1, 2]>(x)
      pads = Constant<value = int64[8] {0, 0, 0, 0, 0, 0, 1, 1}>()
      p = Pad(t1, pads)
      c = Conv<strides = [2, 2], kernel_shape = [3, 3], auto_pad = "VALID">(p, w)
      t2 = Transpose<perm = [0, 2, 3, 1]>(c)
      mm = Mul(t2, m)
      s = Add(mm, a)
      zero = Constant<value = float {0.0}>()
      six = Constant<value = float {6.0}>()
      r = Clip(s, zero, six)
      t3 = Transpose<perm = [0, 3, 1, 2]>(r)
      e = Conv<group = 8, strides = [2, 2], auto_pad = "SAME_UPPER">(t3, d)
      y = Transpose<perm = [0, 2, 3, 1]>(e)
    })",
                           {{{"x", image({1, 17, 17, 3})}}});
}

TEST(Families, QuantizedWithScalesAroundEveryOperator) {
  expect_same_in_all_modes(R"(
    net (float[1,4,9,9] x) => (float[1,6,9,9] y) <float[6,4,3,3] w> {
      sx = Constant<value = float {0.05}>()
      zx = Constant<value = uint8 {128}>()
      sw = Constant<value = float {0.03}>()
      zw = Constant<value = int8 {0}>()
      qx = QuantizeLinear(x, sx, zx)
      dx = DequantizeLinear(qx, sx, zx)
      qw = QuantizeLinear(w, sw, zw)
      dw = DequantizeLinear(qw, sw, zw)
      c = Conv<pads = [1, 1, 1, 1]>(dx, dw)
      y = Relu(c)
    })",
                           {{{"x", image({1, 4, 9, 9})}}});
}

}  // namespace
}  // namespace relayout::test
