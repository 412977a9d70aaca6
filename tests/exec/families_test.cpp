// Tests small instances of the families of models that people convert: each must run whole, with the same results in all modes.

#include <gtest/gtest.h>

#include <cmath>

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
        then_branch = t () => (float[A] a) { a = ReduceMax<axes = [1, 2, 3], keepdims = 0>(pooled) },
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

/// Numbers that are easy to compute anywhere: sin(1.3 i + 0.7 k + 0.1) to three decimals, halved.
std::vector<double> wave(int64_t count, int k) {
  std::vector<double> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = std::round(std::sin(1.3 * static_cast<double>(i) + 0.7 * k + 0.1) * 1000) / 1000 * 0.5;
  }
  return out;
}

/// Initializer number k is filled with wave k, the input with wave 99. `wanted` holds every n-th value of the output, 24 or slightly fewer,
/// computed independently of relayout: loops over numpy arrays in double (checked against ONNX Runtime to 1e-6).
void expect_values(const std::string& body, const Dims& x_dims, const Dims& y_dims, const std::vector<double>& wanted) {
  TextModel text(body, R"(<ir_version: 8, opset_import: ["" : 20]>)");
  int number = 0;
  std::vector<std::pair<std::string, int64_t>> weights;
  for (const auto& tensor : text.message().graph().initializer()) {
    weights.emplace_back(tensor.name(), element_count(Dims(tensor.dims().begin(), tensor.dims().end())));
  }
  for (const auto& [name, count] : weights) text.set(name, wave(count, number++));
  const auto model = text.load();
  const Tensor x = tensor_of_values(DataType::float32, x_dims, wave(element_count(x_dims), 99));
  for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
    ExecuteOptions options;
    options.mode = mode;
    const Tensor y = Executor(model->graph(), options).run({{"x", x}})[0].tensor;
    ASSERT_EQ(y.dims(), y_dims) << to_string(mode);
    const std::vector<double> got = numbers_of(y);
    const std::size_t step = (got.size() + 23) / 24;
    ASSERT_EQ(wanted.size(), (got.size() + step - 1) / step);
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i * step], wanted[i], 1e-5) << to_string(mode) << " at " << i * step;
  }
}

TEST(Families, VisionTransformer) {
  expect_values(R"(
    net (float[1,3,8,8] x) => (float[1,5] y)
    <float[12,3,4,4] wp, float[12] bp, float[1,1,12] token, float[1,5,12] position, float[12] g1, float[12] b1, float[12,36] wq, float[36] bq,
     float[12,12] wo, float[12] bo, float[12] g2, float[12] b2, float[12,24] w1, float[24] c1, float[24,12] w2, float[12] c2, float[12] g3,
     float[12] b3, float[5,12] wh, float[5] bh> {
      p = Conv<strides = [4, 4]>(x, wp, bp)
      flat = Constant<value = int64[3] {0, 12, -1}>()
      pf = Reshape(p, flat)
      pt = Transpose<perm = [0, 2, 1]>(pf)
      tokens = Concat<axis = 1>(token, pt)
      x0 = Add(tokens, position)
      n1 = LayerNormalization(x0, g1, b1)
      qkv0 = MatMul(n1, wq)
      qkv = Add(qkv0, bq)
      heads = Constant<value = int64[5] {1, 5, 3, 3, 4}>()
      split = Reshape(qkv, heads)
      order = Transpose<perm = [2, 0, 3, 1, 4]>(split)
      zero = Constant<value = int64 {0}>()
      one = Constant<value = int64 {1}>()
      two = Constant<value = int64 {2}>()
      q = Gather<axis = 0>(order, zero)
      k = Gather<axis = 0>(order, one)
      v = Gather<axis = 0>(order, two)
      kt = Transpose<perm = [0, 1, 3, 2]>(k)
      s0 = MatMul(q, kt)
      half = Constant<value = float {0.5}>()
      s = Mul(s0, half)
      a = Softmax<axis = -1>(s)
      o0 = MatMul(a, v)
      ot = Transpose<perm = [0, 2, 1, 3]>(o0)
      back = Constant<value = int64[3] {1, 5, 12}>()
      of = Reshape(ot, back)
      o1 = MatMul(of, wo)
      o = Add(o1, bo)
      x1 = Add(x0, o)
      n2 = LayerNormalization(x1, g2, b2)
      h0 = MatMul(n2, w1)
      h1 = Add(h0, c1)
      h = Gelu(h1)
      m0 = MatMul(h, w2)
      m = Add(m0, c2)
      x2 = Add(x1, m)
      n3 = LayerNormalization(x2, g3, b3)
      class = Gather<axis = 1>(n3, zero)
      y = Gemm<transB = 1>(class, wh, bh)
    })",
                {1, 3, 8, 8}, {1, 5}, {1.37271433, -0.697019295, 1.08106726, -1.81514276, 1.26681211});
}

TEST(Families, SwinTransformer) {
  expect_values(R"(
    net (float[1,6,6,8] x) => (float[1,3,3,10] y)
    <float[8] g1, float[8] b1, float[8,24] wq, float[24] bq, float[1,2,9,9] position, float[8,8] wo, float[8] bo, float[8] g2, float[8] b2,
     float[8,16] w1, float[16] c1, float[16,8] w2, float[8] c2, float[32] g3, float[32] b3, float[32,10] wm> {
      n1 = LayerNormalization(x, g1, b1)
      i0 = Constant<value = int64[1] {0}>()
      i1 = Constant<value = int64[1] {1}>()
      i2 = Constant<value = int64[1] {2}>()
      far = Constant<value = int64[1] {1000}>()
      minus1 = Constant<value = int64[1] {-1}>()
      top = Slice(n1, i0, i1, i1)
      below = Slice(n1, i1, far, i1)
      rows = Concat<axis = 1>(below, top)
      left = Slice(rows, i0, i1, i2)
      right = Slice(rows, i1, far, i2)
      shifted = Concat<axis = 2>(right, left)
      windows6 = Constant<value = int64[6] {1, 2, 3, 2, 3, 8}>()
      w6 = Reshape(shifted, windows6)
      wt = Transpose<perm = [0, 1, 3, 2, 4, 5]>(w6)
      windows3 = Constant<value = int64[3] {4, 9, 8}>()
      windows = Reshape(wt, windows3)
      qkv0 = MatMul(windows, wq)
      qkv = Add(qkv0, bq)
      heads = Constant<value = int64[5] {4, 9, 3, 2, 4}>()
      split = Reshape(qkv, heads)
      order = Transpose<perm = [2, 0, 3, 1, 4]>(split)
      parts = Constant<value = int64[3] {1, 1, 1}>()
      q5, k5, v5 = Split<axis = 0>(order, parts)
      q = Squeeze(q5, i0)
      k = Squeeze(k5, i0)
      v = Squeeze(v5, i0)
      half = Constant<value = float {0.5}>()
      qs = Mul(q, half)
      kt = Transpose<perm = [0, 1, 3, 2]>(k)
      s0 = MatMul(qs, kt)
      s1 = Add(s0, position)
      six = Constant<value = int64 {6}>()
      zero = Constant<value = int64 {0}>()
      one = Constant<value = int64 {1}>()
      places = Range(zero, six, one)
      five = Constant<value = int64 {5}>()
      wraps = Equal(places, five)
      region = Cast<to = 1>(wraps)
      column = Unsqueeze(region, i1)
      row = Unsqueeze(region, i0)
      two = Constant<value = float {2.0}>()
      column2 = Mul(column, two)
      regions = Add(column2, row)
      r4 = Constant<value = int64[4] {2, 3, 2, 3}>()
      regions4 = Reshape(regions, r4)
      regionst = Transpose<perm = [0, 2, 1, 3]>(regions4)
      r2 = Constant<value = int64[2] {4, 9}>()
      regions2 = Reshape(regionst, r2)
      across = Unsqueeze(regions2, i1)
      down = Unsqueeze(regions2, i2)
      same = Equal(across, down)
      free = Constant<value = float {0.0}>()
      barred = Constant<value = float {-100.0}>()
      mask3 = Where(same, free, barred)
      mask = Unsqueeze(mask3, i1)
      s = Add(s1, mask)
      a = Softmax<axis = -1>(s)
      o0 = MatMul(a, v)
      ot = Transpose<perm = [0, 2, 1, 3]>(o0)
      o3 = Reshape(ot, windows3)
      o1 = MatMul(o3, wo)
      o2 = Add(o1, bo)
      grid6 = Constant<value = int64[6] {1, 2, 2, 3, 3, 8}>()
      og = Reshape(o2, grid6)
      ogt = Transpose<perm = [0, 1, 3, 2, 4, 5]>(og)
      grid4 = Constant<value = int64[4] {1, 6, 6, 8}>()
      whole = Reshape(ogt, grid4)
      last = Slice(whole, minus1, far, i1)
      before = Slice(whole, i0, minus1, i1)
      rows2 = Concat<axis = 1>(last, before)
      lastc = Slice(rows2, minus1, far, i2)
      beforec = Slice(rows2, i0, minus1, i2)
      unshifted = Concat<axis = 2>(lastc, beforec)
      x1 = Add(x, unshifted)
      n2 = LayerNormalization(x1, g2, b2)
      h0 = MatMul(n2, w1)
      h1 = Add(h0, c1)
      h = Gelu(h1)
      m0 = MatMul(h, w2)
      m = Add(m0, c2)
      x2 = Add(x1, m)
      starts00 = Constant<value = int64[2] {0, 0}>()
      starts10 = Constant<value = int64[2] {1, 0}>()
      starts01 = Constant<value = int64[2] {0, 1}>()
      starts11 = Constant<value = int64[2] {1, 1}>()
      ends = Constant<value = int64[2] {6, 6}>()
      axes = Constant<value = int64[2] {1, 2}>()
      steps = Constant<value = int64[2] {2, 2}>()
      p00 = Slice(x2, starts00, ends, axes, steps)
      p10 = Slice(x2, starts10, ends, axes, steps)
      p01 = Slice(x2, starts01, ends, axes, steps)
      p11 = Slice(x2, starts11, ends, axes, steps)
      merged = Concat<axis = -1>(p00, p10, p01, p11)
      n3 = LayerNormalization(merged, g3, b3)
      y = MatMul(n3, wm)
    })",
                {1, 6, 6, 8}, {1, 3, 3, 10},
                {-0.198362048, 0.0285471908, 0.223677139,  0.377993801, 1.14907696,   -0.53497058,  -0.462310921, 0.101301433,
                 0.2657196,    -0.439246683, 0.688879804,  0.440825529, -0.276268944, 0.575002874,  0.796561896,  -0.606911006,
                 0.0256811244, 0.630058822,  -0.877398254, -1.03431056, 0.141574323,  -0.905389607, -0.990055338});
}

TEST(Families, ConvNeXt) {
  expect_values(R"(
    net (float[1,3,16,16] x) => (float[1,4] y)
    <float[6,3,4,4] ws, float[6] bs, float[6] g0, float[6] b0, float[6,1,7,7] wd, float[6] bd, float[6] g1, float[6] b1, float[6,24] w1,
     float[24] c1, float[24,6] w2, float[6] c2, float[6] gamma, float[6] g2, float[6] b2, float[10,6,2,2] wn, float[10] bn, float[4,10] wh, float[4] bh> {
      s0 = Conv<strides = [4, 4]>(x, ws, bs)
      s1 = Transpose<perm = [0, 2, 3, 1]>(s0)
      s2 = LayerNormalization<epsilon = 0.000001>(s1, g0, b0)
      s = Transpose<perm = [0, 3, 1, 2]>(s2)
      d0 = Conv<group = 6, pads = [3, 3, 3, 3]>(s, wd, bd)
      d1 = Transpose<perm = [0, 2, 3, 1]>(d0)
      d2 = LayerNormalization<epsilon = 0.000001>(d1, g1, b1)
      h0 = MatMul(d2, w1)
      h1 = Add(h0, c1)
      root = Constant<value = float {1.4142135}>()
      h2 = Div(h1, root)
      h3 = Erf(h2)
      one = Constant<value = float {1.0}>()
      h4 = Add(h3, one)
      h5 = Mul(h1, h4)
      half = Constant<value = float {0.5}>()
      h = Mul(h5, half)
      m0 = MatMul(h, w2)
      m1 = Add(m0, c2)
      m2 = Mul(gamma, m1)
      m = Transpose<perm = [0, 3, 1, 2]>(m2)
      r = Add(s, m)
      n0 = Transpose<perm = [0, 2, 3, 1]>(r)
      n1 = LayerNormalization<epsilon = 0.000001>(n0, g2, b2)
      n2 = Transpose<perm = [0, 3, 1, 2]>(n1)
      n = Conv<strides = [2, 2]>(n2, wn, bn)
      p = GlobalAveragePool(n)
      f = Flatten<axis = 1>(p)
      y = Gemm<transB = 1>(f, wh, bh)
    })",
                {1, 3, 16, 16}, {1, 4}, {0.915576584, 0.809996374, -0.0795643025, -1.20802275});
}

TEST(Families, SpeechWithGru) {
  expect_values(R"(
    net (float[N,T,8] x) => (float[U,N,7] y)
    <float[10,8,3] wc, float[10] bc, float[2,18,10] w1, float[2,18,6] r1, float[2,36] b1, float[1,15,12] w2, float[1,15,5] r2, float[1,30] b2,
     float[1,1,5] start, float[5,7] wh, float[7] bh> {
      xt = Transpose<perm = [0, 2, 1]>(x)
      c0 = Conv<strides = [2], pads = [1, 1]>(xt, wc, bc)
      c = Relu(c0)
      t = Transpose<perm = [2, 0, 1]>(c)
      g0, s0 = GRU<hidden_size = 6, direction = "bidirectional", linear_before_reset = 1>(t, w1, r1, b1)
      g1 = Transpose<perm = [0, 2, 1, 3]>(g0)
      join = Constant<value = int64[3] {0, 0, -1}>()
      g = Reshape(g1, join)
      shape = Shape(x)
      i0 = Constant<value = int64[1] {0}>()
      one = Constant<value = int64[1] {1}>()
      batch = Gather<axis = 0>(shape, i0)
      five = Constant<value = int64[1] {5}>()
      size = Concat<axis = 0>(one, batch, five)
      state = Expand(start, size)
      u0, s1 = GRU<hidden_size = 5>(g, w2, r2, b2, , state)
      u = Squeeze(u0, one)
      l0 = MatMul(u, wh)
      l = Add(l0, bh)
      y = LogSoftmax<axis = -1>(l)
    })",
                {2, 13, 8}, {7, 2, 7}, {-1.48081894, -1.53325912, -2.49338456, -2.37686591, -2.55897574, -1.46920057, -3.2787632,
                                        -1.37000601, -1.51645632, -2.49794659, -2.75248868, -2.98286512, -1.13495943, -3.67522084,
                                        -1.33229721, -1.55811833, -2.55218928, -3.12613453, -3.40227235, -1.00835278});
}

}  // namespace
}  // namespace relayout::test
