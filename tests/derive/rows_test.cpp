// Tests each row of derive alone: tangents against central differences, gradients as adjoints of tangents, Jacobians by both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>

#include "relayout/error.h"
#include "support/derivatives.h"

namespace relayout::test {
namespace {

class DeriveRows : public testing::TestWithParam<RowCase> {};

TEST_P(DeriveRows, TangentsAreLimitsOfDifferences) {
  Derived forward(GetParam(), Derivative::jvp);
  const Data directions = forward.directions();
  const std::vector<Datum> made = forward.derived(directions);
  constexpr double kStep = 1e-5;
  const std::vector<Datum> after = forward.original(forward.moved_inputs(directions, kStep));
  const std::vector<Datum> before = forward.original(forward.moved_inputs(directions, -kStep));
  std::size_t next = after.size();
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i].tensor.type() != DataType::float64) continue;
    const Datum& tangent = made.at(next++);
    ASSERT_EQ(tangent.tensor.dims(), after[i].tensor.dims());
    const Datum difference = moved(after[i], before[i], -1);
    const Datum error = moved(tangent, difference, -1 / (2 * kStep));
    EXPECT_LE(size_of(error), 2e-8 * (1 + size_of(tangent)));
  }
}

TEST_P(DeriveRows, GradientsAreAdjoint) {
  if (GetParam().only_forward) {
    EXPECT_THROW(Derived(GetParam(), Derivative::vjp), Error);
    return;
  }
  Derived forward(GetParam(), Derivative::jvp), backward(GetParam(), Derivative::vjp);
  const Data directions = forward.directions();
  const std::vector<Datum> tangents = forward.derived(directions);
  const std::size_t count = forward.model().graph().outputs().size();
  Data cotangents;
  double there = 0, back = 0, scale = 0;
  std::size_t next = count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& name = forward.model().graph().outputs()[i]->name();
    if (forward.model().graph().outputs()[i]->declared()->type != DataType::float64) continue;
    const Datum& tangent = tangents.at(next++);
    const Datum cotangent = random_tensor(DataType::float64, tangent.tensor.dims(), name, -1, 1);
    there += dot(tangent, cotangent);
    scale += size_of(tangent) * size_of(cotangent);
    cotangents[name + ".cotangent"] = cotangent;
  }
  const std::vector<Datum> gradients = backward.derived(cotangents);
  for (std::size_t i = 0; i < backward.reals().size(); ++i) {
    back += dot(gradients.at(count + i), directions.at(backward.reals()[i] + ".tangent"));
  }
  EXPECT_NEAR(there, back, 1e-12 * (1 + scale));
}

/// The gradient of the sum of y = f(x) at chosen numbers.
std::vector<double> slopes_at(const std::string& nodes, const std::vector<double>& numbers) {
  const std::string count = std::to_string(numbers.size());
  Derived back({"edges", "g (double[" + count + "] x) => (double y) { " + nodes + " y = ReduceSum <keepdims = 0> (f) }"}, Derivative::vjp);
  Tensor at(DataType::float64, {std::ssize(numbers)});
  std::ranges::copy(numbers, at.data<double>());
  const Datum one = random_tensor(DataType::float64, {}, "one", 1, 1);
  const Tensor made = contiguous(back.derived_at({{"y.cotangent", one}}, {{"x", Datum(std::move(at))}}).at(1).tensor);
  return {made.data<double>(), made.data<double>() + made.element_count()};
}

TEST(DeriveEdges, CornersAndTiesAreThoseOfPyTorch) {
  using testing::ElementsAre;
  const std::string limits = "l = Constant <value = double {-1.0}> () h = Constant <value = double {1.0}> () ";
  EXPECT_THAT(slopes_at("f = Relu (x)", {-1, 0, 1, INFINITY, -INFINITY, 5e-324}), ElementsAre(0, 0, 1, 1, 0, 1));
  EXPECT_THAT(slopes_at("f = Abs (x)", {-1, 0, 1, -INFINITY}), ElementsAre(-1, 0, 1, -1));
  EXPECT_THAT(slopes_at(limits + "f = Clip (x, l, h)", {-2, -1, 0, 1, INFINITY}), ElementsAre(0, 0, 1, 0, 0));
  EXPECT_THAT(slopes_at(limits + "f = Clip (x, l)", {-2, -1, 0, 2}), ElementsAre(0, 0, 1, 1));
  const std::string zero_and_six = "l = Constant <value = double {0.0}> () h = Constant <value = double {6.0}> () ";
  EXPECT_THAT(slopes_at(zero_and_six + "f = Clip (x, l, h)", {-1, 0, 5e-324, 3, std::nextafter(6, 0), 6, 7}),
              ElementsAre(0, 0, 1, 1, 1, 0, 0));
  EXPECT_THAT(slopes_at(zero_and_six + "f = Clip (x, h, l)", {-1, 0, 3, 6, 7}), testing::Each(0));
  EXPECT_THAT(slopes_at(zero_and_six + "i = Div (h, l) f = Clip (x, l, i)", {-1, 0, 1e300, INFINITY}), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(slopes_at(limits + "f = Max (x, h)", {0, 1, 2}), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(slopes_at("f = LeakyRelu <alpha = 0.5> (x)", {-INFINITY, -1, 0, 1}), ElementsAre(0.5, 0.5, 0.5, 1));
  EXPECT_THAT(slopes_at("f = HardSwish (x)", {-INFINITY, -3, 0, 3, INFINITY}), ElementsAre(0, 0, 0.5, 1, 1));
  EXPECT_THAT(slopes_at("f = HardSigmoid <alpha = 0.25> (x)", {-2, 0, 2, INFINITY}), ElementsAre(0, 0.25, 0, 0));
  EXPECT_THAT(slopes_at("f = ReduceMax (x)", {1, 3, 3}), ElementsAre(0, 0.5, 0.5));
  EXPECT_THAT(slopes_at("s = Constant <value_ints = [1, 1, 4]> () a = Reshape (x, s) f = MaxPool <kernel_shape = [2], strides = [2]> (a)",
                        {2, 2, 1, 3}),
              ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(slopes_at("s = Constant <value_ints = [1, 1, 6]> () a = Relu (x) b = Reshape (a, s) c = Relu (b) "
                        "f = MaxPool <kernel_shape = [2], strides = [2]> (c)",
                        {-1, -2, 2, 2, -1, 3}),
              ElementsAre(0, 0, 1, 0, 0, 1));
}

/// The product of a Jacobian, with the batch in front of both or in full, with a direction; added to `sum`.
void add_product(const Datum& jacobian, const Datum& direction, Tensor& sum) {
  const Tensor matrix = contiguous(jacobian.tensor), vector = contiguous(direction.tensor);
  const auto samples = std::ssize(matrix.dims()) == std::ssize(sum.dims()) + std::ssize(vector.dims()) ? int64_t{1} : matrix.dims().at(0);
  const int64_t rows = sum.element_count() / samples, columns = vector.element_count() / samples;
  ASSERT_EQ(matrix.element_count(), samples * rows * columns);
  for (int64_t n = 0; n < samples; ++n) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t k = 0; k < columns; ++k) {
        sum.data<double>()[n * rows + i] += matrix.data<double>()[(n * rows + i) * columns + k] * vector.data<double>()[n * columns + k];
      }
    }
  }
}

TEST_P(DeriveRows, JacobiansTimesDirectionsAreTangents) {
  Derived forward(GetParam(), Derivative::jvp);
  const Data directions = forward.directions();
  const std::vector<Datum> tangents = forward.derived(directions);
  Derived whole(GetParam(), Derivative::jacobian);
  const std::vector<Datum> made = whole.derived({});
  const auto& outputs = forward.model().graph().outputs();
  std::size_t next = outputs.size(), next_tangent = outputs.size();
  for (const Value* output : outputs) {
    if (output->declared()->type != DataType::float64) continue;
    const Datum& tangent = tangents.at(next_tangent++);
    Tensor sum(DataType::float64, tangent.tensor.dims());
    std::fill_n(sum.data<double>(), sum.element_count(), 0.0);
    for (const std::string& name : whole.reals()) add_product(made.at(next++), directions.at(name + ".tangent"), sum);
    EXPECT_LE(size_of(moved(Datum(std::move(sum)), tangent, -1)), 1e-12 * (1 + size_of(tangent)));
  }
}

/// Gradients of a loss per sample are those of each sample alone.
void expect_gradients_of_each(const RowCase& net, const std::vector<std::string>& weights) {
  Derived alone(net, {.what = Derivative::vjp, .wrt = weights, .of = {"l"}});
  Derived each(net, {.what = Derivative::per_sample_gradients, .wrt = weights, .of = {"l"}});
  const std::vector<Datum> made = each.derived({});
  const std::size_t first = made.size() - weights.size();
  for (int64_t n = 0; n < kFree.at("N"); ++n) {
    Data inputs = each.inputs();
    for (auto& [name, datum] : inputs) {
      const bool is_weight = std::ranges::find(weights, name) != weights.end();
      if (!is_weight) datum = sample_of(datum, n);
    }
    const std::vector<Datum> expected = alone.derived_at({{"l.cotangent", ones_like(alone.original(inputs).at(0))}}, inputs);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const Datum& gradient = expected.at(expected.size() - weights.size() + i);
      const Datum own = sample_of(made.at(first + i), n);
      ASSERT_EQ(own.tensor.dims(), batch_of_one(gradient).tensor.dims());
      EXPECT_GT(size_of(gradient), 0);
      EXPECT_LE(size_of(moved(own, batch_of_one(gradient), -1)), 1e-12 * (1 + size_of(gradient))) << weights[i];
    }
  }
}

TEST(DerivePerSample, GradientsAreThoseOfEachSampleAlone) {
  const std::string convolutions =
      "(double[N, 4, 7, 7] x, double[8, 2, 3, 3] w, double[8] b, double[8] s, double[8, 3, 2, 2] t, double[5, 3] v) => (double l) { a = "
      "Conv "
      "<group = 2, pads = [1, 1, 1, 1], strides = [2, 1]> (x, w, b) n = InstanceNormalization (a, s, b) c = Softplus (n) d = MaxPool "
      "<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (c) e = ConvTranspose <strides = [2, 2]> (d, t) f = "
      "GlobalAveragePool (e) h = Flatten (f) y = Gemm <transB = 1> (h, v) p = LogSoftmax (y) q = Mul (p, p) l = ";
  for (const char* end : {"ReduceMean <keepdims = 0> (q) }", "ReduceSum <keepdims = 0> (q) }"}) {
    expect_gradients_of_each({"convolutions", "g " + convolutions + end}, {"w", "b", "s", "t", "v"});
  }
  expect_gradients_of_each(
      {"attention",
       "g (double[N, 3, 4] x, double[4, 4] q, double[4, 8] k, double[4] s, double[4] b) => (double[N] l) { n = "
       "LayerNormalization (x, s, b) a = MatMul (n, q) c = MatMul (n, k) d, e = Split <num_outputs = 2, axis = -1> (c) "
       "f = Transpose <perm = [0, 2, 1]> (d) g1 = MatMul (a, f) h = Softmax (g1) i = MatMul (h, e) j = Mul (i, s) m = "
       "Constant <value_ints = [1, 2]> () l = ReduceSumSquare <keepdims = 0> (j, m) }"},
      {"q", "k", "s", "b"});
}

/// The same numbers in double.
Datum widened(const Datum& narrow) {
  const Tensor all = contiguous(narrow.tensor);
  Tensor out(DataType::float64, all.dims());
  std::copy_n(all.data<float>(), all.element_count(), out.data<double>());
  return Datum(std::move(out));
}

/// In f32 derivatives read the statistics that a LayerNormalization gives; in double, where these would be f32, they compute their own.
TEST(DeriveStatistics, OfF32AreThoseThatTheNodeGives) {
  const auto net = [](const std::string& type) {
    return RowCase{type,
                   "g (" + type + "[N, 3, 4] x, " + type + "[4, 4] w, " + type + "[4] s, " + type + "[4] b) => (" + type +
                       "[N] l) { a = MatMul (x, w) n = LayerNormalization (a, s, b) t = Tanh (n) m = Constant <value_ints = [1, 2]> () "
                       "l = ReduceSumSquare <keepdims = 0> (t, m) }"};
  };
  using Asked = Derived::Asked;
  for (const Asked& asked : {Asked{Derivative::jacobian, {"x", "w"}}, Asked{Derivative::hessian, {"x"}, {"l"}},
                             Asked{Derivative::per_sample_gradients, {"w", "s", "b"}, {"l"}}}) {
    Derived narrow(net("float"), asked), wide(net("double"), asked);
    Data inputs;
    for (const auto& [name, datum] : narrow.inputs()) inputs[name] = widened(datum);
    const std::vector<Datum> made = narrow.derived({}), expected = wide.derived_at({}, inputs);
    ASSERT_EQ(made.size(), expected.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
      EXPECT_GT(size_of(expected[i]), 0);
      EXPECT_LE(size_of(moved(widened(made[i]), expected[i], -1)), 1e-5 * (1 + size_of(expected[i])));
    }
  }
}

TEST(DerivePerSample, PoolsInARowTakeElementsOfTheirOwnSample) {
  expect_gradients_of_each(
      {"pools",
       "g (double[N, 2, 9, 9] x, double[3, 2, 2, 2] w, double[3, 3, 1, 1] v) => (double[N] l) { a = Conv (x, w) b = MaxPool <kernel_shape "
       "= [2, "
       "2]> (a) c = Conv (b, v) d = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (c) m = Constant <value_ints = [1, 2, 3]> () l = "
       "ReduceSumSquare <keepdims = 0> (d, m) }"},
      {"w", "v"});
}

TEST(DerivePerSample, SamplesMayLieAlongOtherAxes) {
  // As attention moves them: [N, 3, 4] → [3, N, 4] → [3, N × 2, 2] → [N × 2, 3, 2], and rows [3 × N, 4].
  expect_gradients_of_each(
      {"moved",
       "g (double[N, 3, 4] x, double[4, 4] w, double[4, 4] v) => (double[N] l) { a = Transpose <perm = [1, 0, 2]> (x) b = MatMul (a, w) n "
       "= "
       "Shape <start = 1, end = 2> (a) h = Constant <value_ints = [2]> () three = Constant <value_ints = [3]> () m = Mul (n, h) s = Concat "
       "<axis "
       "= 0> (three, m, h) c = Reshape (b, s) d = Transpose <perm = [1, 0, 2]> (c) e = Transpose <perm = [0, 2, 1]> (d) f = MatMul (d, e) "
       "i = "
       "Softmax (f) j = MatMul (i, d) k = Transpose <perm = [1, 0, 2]> (j) o = Mul (three, n) four = Constant <value_ints = [4]> () p = "
       "Concat "
       "<axis = 0> (o, four) q = Reshape (k, p) r = Gemm (q, v) t = Concat <axis = 0> (three, n, four) u = Reshape (r, t) z = Constant "
       "<value_ints = [0, 2]> () l = ReduceSumSquare <keepdims = 0> (u, z) }"},
      {"w", "v"});
}

TEST(DerivePerSample, LookUpsMayCountTheirOwnSamplesPlaces) {
  // As masks of tokens are looked up: row n × M + m of [N × M, 4] for each n and m.
  const auto net = [](const std::string& places) {
    return RowCase{"looked_up",
                   "g (double[N, M, 4] x, double[4, 2] w) => (double[N] l) { f = Flatten <axis = 2> (x) zero = Constant <value_int = 0> () "
                   "one = Constant <value_int = 1> () first = Constant <value_ints = [1]> () n = Shape <start = 0, end = 1> (x) m = Shape "
                   "<start = 1, end = 2> (x) r = Squeeze (n) s = Squeeze (m) samples = Range (zero, r, one) tokens = Range (zero, s, one) "
                   "column = Unsqueeze (samples, first) begins = Mul (column, s) inside = Add (begins, tokens) " +
                       places +
                       " g = Gather (f, p) a = MatMul (g, w) axes = Constant <value_ints = [1, 2]> () l = ReduceSumSquare <keepdims = 0> "
                       "(a, axes) }"};
  };
  expect_gradients_of_each(net("p = Identity (inside)"), {"w"});
  const RowCase others = net("all = Mul (r, s) last = Sub (all, one) p = Sub (last, inside)");
  EXPECT_THROW(Derived(others, {.what = Derivative::per_sample_gradients, .wrt = {"w"}, .of = {"l"}}), Error);
}

TEST(DerivePerSample, SamplesOutOfPlaceAreRefused) {
  // The first axis of [4, N] is no batch, and a softmax along the axis of samples mixes them.
  for (const char* nodes : {"s = Constant <value_ints = [4, -1]> () b = Reshape (a, s) z = Constant <value_ints = [0]> ()",
                            "c = Transpose <perm = [1, 0]> (a) b = Softmax (c) z = Constant <value_ints = [0]> ()"}) {
    const RowCase mixing{"mixing", std::string("g (double[N, 4] x, double[4, 4] w) => (double[N] l) { a = MatMul (x, w) ") + nodes +
                                       " l = ReduceSumSquare <keepdims = 0> (b, z) }"};
    EXPECT_THROW(Derived(mixing, {.what = Derivative::per_sample_gradients, .wrt = {"w"}, .of = {"l"}}), Error);
  }
}

TEST(DerivePerSample, BatchStatisticsAreRefused) {
  const RowCase mixing{"mixing",
                       "g (double[N, 3] x, double[3, 2] w) => (double l) { a = MatMul (x, w) b = Softmax <axis = 0> (a) l = ReduceSum "
                       "<keepdims = 0> (b) }"};
  EXPECT_THROW(Derived(mixing, {.what = Derivative::per_sample_gradients, .wrt = {"w"}, .of = {"l"}}), Error);
}

TEST(DeriveJacobian, IsInFullWhereSamplesMix) {
  const RowCase mixing{"mixing", "g (double[N, 3] x) => (double[N, 3] y, double[N, 3] z) { y = Softmax <axis = 0> (x) z = Softmax (x) }"};
  Derived whole(mixing, Derivative::jacobian);
  const std::vector<Datum> made = whole.derived({});
  EXPECT_EQ(made.at(2).tensor.dims(), (Dims{2, 3, 2, 3}));
  EXPECT_EQ(made.at(3).tensor.dims(), (Dims{2, 3, 3}));
}

TEST(DeriveHessian, IsWholeAndAgreesWithItsProducts) {
  const RowCase net{"net",
                    "g (double[N, 4] x, double[4, 3] w) => (double[N] y) { a = MatMul (x, w) b = Tanh (a) m = Constant <value_ints = "
                    "[1]> () c = ReduceLogSumExp <keepdims = 0> (b, m) y = Mul (c, c) }"};
  Derived whole(net, {.what = Derivative::hessian, .wrt = {"x", "w"}}), product(net, {.what = Derivative::hvp, .wrt = {"x"}});
  const std::vector<Datum> made = whole.derived({});
  EXPECT_EQ(made.at(1).tensor.dims(), (Dims{2, 4, 4}));
  EXPECT_EQ(made.at(2).tensor.dims(), (Dims{4, 3, 4, 3}));
  const Datum direction = random_tensor(DataType::float64, {2, 4}, "d", -1, 1);
  const Datum expected = product.derived({{"x.vector", direction}}).at(1);
  Tensor sum(DataType::float64, {2, 4});
  std::fill_n(sum.data<double>(), sum.element_count(), 0.0);
  add_product(made.at(1), direction, sum);
  EXPECT_LE(size_of(moved(Datum(std::move(sum)), expected, -1)), 1e-12 * (1 + size_of(expected)));
}

/// Products with the Hessian of the sum of y: by differences of gradients, and the same from both sides.
void expect_symmetric_limit(const RowCase& net) {
  Derived second(net, Derivative::hvp), first(net, Derivative::vjp);
  const Data directions = second.directions();
  const auto as_vectors = [](const Data& data) {
    Data out;
    for (const auto& [name, datum] : data) out[name.substr(0, name.find('.')) + ".vector"] = datum;
    return out;
  };
  Data others;
  for (const auto& [name, datum] : directions) others[name] = random_tensor(DataType::float64, datum.tensor.dims(), name + "2", -1, 1);
  const std::vector<Datum> along = second.derived(as_vectors(directions)), across = second.derived(as_vectors(others));
  Data ones;
  ones["y.cotangent"] = ones_like(second.original(second.inputs()).at(0));
  constexpr double kStep = 1e-5;
  const std::vector<Datum> after = first.derived_at(ones, first.moved_inputs(directions, kStep));
  const std::vector<Datum> before = first.derived_at(ones, first.moved_inputs(directions, -kStep));
  double there = 0, back = 0;
  for (std::size_t i = 0; i < second.reals().size(); ++i) {
    const std::string name = second.reals()[i] + ".tangent";
    there += dot(along.at(i + 1), others.at(name));
    back += dot(across.at(i + 1), directions.at(name));
    const Datum error = moved(along[i + 1], moved(after.at(i + 1), before.at(i + 1), -1), -1 / (2 * kStep));
    EXPECT_LE(size_of(error), 1e-7 * (1 + size_of(along[i + 1]))) << name;
  }
  EXPECT_NEAR(there, back, 1e-11 * (1 + std::fabs(there)));
}

TEST(DeriveHessian, IsSymmetricAndTheLimitOfDifferences) {
  expect_symmetric_limit(
      {"net",
       "g (double[N, 2, 6, 6] x, double[3, 2, 3, 3] w, double[12, 4] v) => (double[N, 4] y) { a = Conv <pads = [1, 1, 1, 1]> (x, w) b = "
       "Softplus (a) c = MaxPool <kernel_shape = [3, 3], strides = [3, 3]> (b) d = Flatten (c) e = MatMul (d, v) y = LogSoftmax (e) }"});
  for (const RowCase& branches : row_cases()) {
    if (branches.name.starts_with("If_pool")) expect_symmetric_limit(branches);
  }
}

INSTANTIATE_TEST_SUITE_P(, DeriveRows, testing::ValuesIn(row_cases()), [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace relayout::test
