// Tests derivatives of small models against what their formulas give: those of the tutorials of torch.func, and those of the manual.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/derivatives.h"

namespace relayout::test {
namespace {

std::vector<double> numbers_of(const Datum& datum) {
  const Tensor all = contiguous(datum.tensor);
  return {all.data<double>(), all.data<double>() + all.element_count()};
}

/// predict(W, b, x) = tanh(x Wᵀ + b)
const RowCase& predict() {
  static const RowCase net{"predict",
                           "g (double[16] x, double[16, 16] w, double[16] b) => (double[16] y) { t = Transpose (w) a = MatMul (x, t) c = "
                           "Add (a, b) y = Tanh (c) }",
                           -0.5, 0.5};
  return net;
}

TEST(DeriveTutorial, JacobiansOfPredict) {
  Derived jacobian(predict(), Derivative::jacobian);
  const std::vector<Datum> made = jacobian.derived({});
  EXPECT_EQ(made.at(1).tensor.dims(), (Dims{16, 16}));
  EXPECT_EQ(made.at(2).tensor.dims(), (Dims{16, 16, 16}));
  EXPECT_EQ(made.at(3).tensor.dims(), (Dims{16, 16}));
  const auto y = numbers_of(made.at(0)), by_x = numbers_of(made.at(1)), by_b = numbers_of(made.at(3));
  const auto w = numbers_of(jacobian.inputs().at("w"));
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t k = 0; k < 16; ++k) {
      EXPECT_NEAR(by_x.at(i * 16 + k), (1 - y.at(i) * y.at(i)) * w.at(i * 16 + k), 1e-14);
      EXPECT_NEAR(by_b.at(i * 16 + k), i == k ? 1 - y.at(i) * y.at(i) : 0, 1e-14);
    }
  }
}

TEST(DeriveTutorial, HessianProductsOfPredict) {
  Derived product(predict(), {.what = Derivative::hvp, .wrt = {"x"}});
  const Datum vector = random_tensor(DataType::float64, {16}, "v", -1, 1);
  const std::vector<Datum> made = product.derived({{"x.vector", vector}});
  const auto y = numbers_of(made.at(0)), hvp = numbers_of(made.at(1)), v = numbers_of(vector), w = numbers_of(product.inputs().at("w"));
  // The second derivative of the sum is Wᵀ diag(−2 y (1 − y²)) W.
  for (std::size_t k = 0; k < 16; ++k) {
    double expected = 0;
    for (std::size_t i = 0; i < 16; ++i) {
      double along = 0;
      for (std::size_t m = 0; m < 16; ++m) along += w.at(i * 16 + m) * v.at(m);
      expected += w.at(i * 16 + k) * -2 * y.at(i) * (1 - y.at(i) * y.at(i)) * along;
    }
    EXPECT_NEAR(hvp.at(k), expected, 1e-13);
  }
}

/// u = tanh(x A) B: the gains of a controller at each state.
TEST(DeriveExample, GainsOfAControlNet) {
  const RowCase net{"control",
                    "g (double[N, 3] x, double[3, 4] a, double[4, 2] b) => (double[N, 2] u) { h = MatMul (x, a) t = Tanh (h) u = "
                    "MatMul (t, b) }"};
  Derived gains(net, {.what = Derivative::jacobian, .wrt = {"x"}, .of = {"u"}});
  const Datum made = gains.derived({}).at(1);
  ASSERT_EQ(made.tensor.dims(), (Dims{2, 2, 3}));
  const auto j = numbers_of(made), x = numbers_of(gains.inputs().at("x")), a = numbers_of(gains.inputs().at("a"));
  const auto b = numbers_of(gains.inputs().at("b"));
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t u = 0; u < 2; ++u) {
      for (std::size_t i = 0; i < 3; ++i) {
        double expected = 0;
        for (std::size_t k = 0; k < 4; ++k) {
          double h = 0;
          for (std::size_t m = 0; m < 3; ++m) h += x.at(n * 3 + m) * a.at(m * 4 + k);
          expected += a.at(i * 4 + k) * (1 - std::tanh(h) * std::tanh(h)) * b.at(k * 2 + u);
        }
        EXPECT_NEAR(j.at((n * 2 + u) * 3 + i), expected, 1e-14);
      }
    }
  }
}

/// The gradient of a classifier's loss at one sample is the outer product of the sample and its error.
TEST(DeriveExample, NormsOfGradientsPerSample) {
  const RowCase net{"classifier",
                    "g (double[N, 3] x, double[3, 4] w, int64[N, 1] label) => (double l) { z = MatMul (x, w) p = LogSoftmax (z) c = "
                    "GatherElements <axis = 1> (p, label) n = Neg (c) l = ReduceMean <keepdims = 0> (n) }"};
  Derived each(net, {.what = Derivative::per_sample_gradients, .wrt = {"w"}, .of = {"l"}});
  const Datum made = each.derived({}).at(1);
  ASSERT_EQ(made.tensor.dims(), (Dims{2, 3, 4}));
  const auto gradients = numbers_of(made), x = numbers_of(each.inputs().at("x")), w = numbers_of(each.inputs().at("w"));
  for (std::size_t n = 0; n < 2; ++n) {
    std::vector<double> share(4);
    double sum = 0, norm = 0, of_x = 0, of_error = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      double z = 0;
      for (std::size_t i = 0; i < 3; ++i) z += x.at(n * 3 + i) * w.at(i * 4 + k);
      share.at(k) = std::exp(z);
      sum += share.at(k);
    }
    for (std::size_t k = 0; k < 4; ++k) of_error += std::pow(share.at(k) / sum - (k == 0 ? 1 : 0), 2);
    for (std::size_t i = 0; i < 3; ++i) of_x += x.at(n * 3 + i) * x.at(n * 3 + i);
    for (std::size_t i = 0; i < 12; ++i) norm += gradients.at(n * 12 + i) * gradients.at(n * 12 + i);
    EXPECT_NEAR(norm, of_x * of_error, 1e-13);
  }
}

}  // namespace
}  // namespace relayout::test
