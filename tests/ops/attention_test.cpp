#include <gtest/gtest.h>

#include <cmath>
#include <exception>
#include <limits>

#include "base/random.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/evaluate.h"
#include "support/op_cases.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

Tensor random_tensor(const Dims& dims, uint64_t seed) {
  const RandomStream random(seed, "attention", 0);
  std::vector<double> values(static_cast<std::size_t>(element_count(dims)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = random.normal(i);
  return tensor_of_values(DataType::float32, dims, values);
}

void expect_near(const Tensor& got, const std::vector<double>& wanted, double bound = 1e-5) {
  const std::vector<double> values = numbers_of(got);
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], wanted[i], bound) << "element " << i;
}

constexpr const char* kHead = R"(<ir_version: 10, opset_import: ["" : 24]>)";

/// The function body in the operator's specification, for equal numbers of heads of keys and queries.
constexpr const char* kByHand = R"(
  net (float[2,3,4,5] q, float[2,3,6,5] k, float[2,3,6,7] v, float[4,6] mask) => (float[2,3,4,7] y, float[2,3,4,6] p) {
    kt = Transpose<perm = [0, 1, 3, 2]>(k)
    raw = MatMul(q, kt)
    scale = Constant<value = float {0.4472135954999579}>()
    scaled = Mul(raw, scale)
    biased = Add(scaled, mask)
    p = Softmax<axis = -1>(biased)
    y = MatMul(p, v)
  })";

class AttentionTest : public testing::Test {
 protected:
  static std::vector<Datum> by_hand(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
    return evaluate(TextModel(kByHand, kHead).load()->graph(), {{"q", q}, {"k", k}, {"v", v}, {"mask", mask}});
  }
  const Tensor q_ = random_tensor({2, 3, 4, 5}, 1), k_ = random_tensor({2, 3, 6, 5}, 2), v_ = random_tensor({2, 3, 6, 7}, 3);
};

TEST_F(AttentionTest, IsItsFunctionBody) {
  const Tensor mask = random_tensor({4, 6}, 4);
  const auto wanted = by_hand(q_, k_, v_, mask);
  const auto got = run_op("Attention <qk_matmul_output_mode = 3>", {q_, k_, v_, mask, Datum(), Datum()}, 24, 4);
  expect_near(got[0].tensor, numbers_of(wanted[0].tensor));
  expect_near(got[3].tensor, numbers_of(wanted[1].tensor));
}

TEST_F(AttentionTest, CausalIsAMaskBelowTheDiagonal) {
  std::vector<double> triangle(24);
  for (std::size_t i = 0; i < triangle.size(); ++i) triangle[i] = i % 6 <= i / 6 ? 0 : -std::numeric_limits<double>::infinity();
  const auto wanted = by_hand(q_, k_, v_, tensor_of_values(DataType::float32, {4, 6}, triangle));
  expect_near(run_one("Attention <is_causal = 1>", {q_, k_, v_}, 24), numbers_of(wanted[0].tensor));
}

TEST_F(AttentionTest, FlatHeadsAreTheSameAsFourDims) {
  const std::vector<double> wanted = numbers_of(run_one("Attention", {q_, k_, v_}, 24).transposed(std::vector<int64_t>{0, 2, 1, 3}));
  const auto flat = [](const Tensor& t) {
    const Tensor moved = contiguous(t.transposed(std::vector<int64_t>{0, 2, 1, 3}));
    const Dims dims{moved.dims()[0], moved.dims()[1], moved.dims()[2] * moved.dims()[3]};
    return moved.view(dims, contiguous_strides(dims));
  };
  expect_near(run_one("Attention <q_num_heads = 3, kv_num_heads = 3>", {flat(q_), flat(k_), flat(v_)}, 24), wanted, 0);
}

TEST_F(AttentionTest, ThePastComesBeforeTheKeys) {
  const auto part = [](const Tensor& t, int64_t begin, int64_t count) {
    Dims dims = t.dims();
    dims[2] = count;
    return contiguous(t.view(dims, t.strides(), begin * t.strides()[2]));
  };
  const auto got =
      run_op("Attention <is_causal = 1>", {q_, part(k_, 2, 4), part(v_, 2, 4), Datum(), part(k_, 0, 2), part(v_, 0, 2)}, 24, 3);
  std::vector<double> mask(24);
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % 6 <= i / 6 + 2 ? 0 : -std::numeric_limits<double>::infinity();
  expect_near(got[0].tensor, numbers_of(by_hand(q_, k_, v_, tensor_of_values(DataType::float32, {4, 6}, mask))[0].tensor));
  EXPECT_EQ(numbers_of(got[1].tensor), numbers_of(k_));
  EXPECT_EQ(numbers_of(got[2].tensor), numbers_of(v_));
}

TEST_F(AttentionTest, HiddenKeysMayBeNan) {
  Tensor k = contiguous(k_.view(k_.dims(), k_.strides())), v = contiguous(v_.view(v_.dims(), v_.strides()));
  std::vector<double> keys = numbers_of(k_), values = numbers_of(v_);
  for (std::size_t i = 25; i < 30; ++i) keys[i] = NAN;  // the last key of the first head
  for (std::size_t i = 35; i < 42; ++i) values[i] = NAN;
  const Tensor allowed = tensor_of_values(DataType::boolean, {6}, {1, 1, 1, 1, 1, 0});
  const Tensor clean = run_one("Attention", {q_, k_, v_, allowed}, 24);
  const Tensor poisoned = run_one(
      "Attention",
      {q_, tensor_of_values(DataType::float32, k_.dims(), keys), tensor_of_values(DataType::float32, v_.dims(), values), allowed}, 24);
  EXPECT_EQ(numbers_of(poisoned), numbers_of(clean));
  const Tensor nothing = run_one("Attention", {q_, k_, v_, tensor_of_values(DataType::boolean, {1}, {0})}, 24);
  EXPECT_EQ(numbers_of(nothing), std::vector<double>(numbers_of(nothing).size(), 0.0));
}

TEST(RotaryEmbedding, TurnsPairs) {
  const Tensor x = tensor_of_values(DataType::float32, {1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const double c = std::cos(0.5), s = std::sin(0.5);
  const Tensor cosines = tensor_of_values(DataType::float32, {1, 2, 2}, {1, c, c, 1}),
               sines = tensor_of_values(DataType::float32, {1, 2, 2}, {0, s, s, 0});
  expect_near(run_one("RotaryEmbedding", {x, cosines, sines}, 23),
              {1, 2 * c - 4 * s, 3, 2 * s + 4 * c, 5 * c - 7 * s, 6, 5 * s + 7 * c, 8});
  expect_near(run_one("RotaryEmbedding <interleaved = 1>", {x, cosines, sines}, 23),
              {1, 2, 3 * c - 4 * s, 3 * s + 4 * c, 5 * c - 6 * s, 5 * s + 6 * c, 7, 8});
}

TEST(TensorScatter, WritesAtEachSamplesPlace) {
  const Tensor cache = tensor_of_values(DataType::float32, {2, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor update = tensor_of_values(DataType::float32, {2, 2, 1}, {10, 20, 30, 40});
  const Tensor places = tensor_of_values(DataType::int64, {2}, {1, 3});
  EXPECT_EQ(numbers_of(run_one("TensorScatter <mode = \"circular\">", {cache, update, places}, 24)),
            (std::vector<double>{1, 10, 20, 4, 40, 6, 7, 30}));
  EXPECT_THROW((void)run_one("TensorScatter", {cache, update, places}, 24), std::exception);
}

TEST(SwiGLU, GatesByItsFirstOperand) {
  const Tensor gate = tensor_of_values(DataType::float32, {2}, {1, -2}), value = tensor_of_values(DataType::float32, {2}, {3, 4});
  expect_near(run_one("SwiGLU <alpha = 0.5>", {gate, value}, 28), {3 / (1 + std::exp(-0.5)), -8 / (1 + std::exp(1.0))});
}

TEST(LinearAttention, GatedDeltaByHand) {
  // One head, keys and values of one element: S = e^g S + β k (v − e^g S k), o = q S.
  const auto row = [](std::vector<double> values) { return tensor_of_values(DataType::float32, {1, 2, 1}, values); };
  const auto got = run_op("LinearAttention <q_num_heads = 1, kv_num_heads = 1, scale = 1.0>",
                          {row({2, 3}), row({1, 0.5}), row({4, 6}), tensor_of_values(DataType::float32, {1, 1, 1, 1}, {10}),
                           row({std::log(0.5), std::log(0.25)}), row({0.5, 1})},
                          27, 2);
  const double first = 5 + 0.5 * 1 * (4 - 5.0), second = first / 4 + 0.5 * (6 - first / 4 * 0.5);
  expect_near(got[0].tensor, {2 * first, 3 * second});
  expect_near(got[1].tensor, {second});
}

TEST(CausalConvWithState, ContinuesWhereThePastEnded) {
  const auto line = [](std::vector<double> values) {
    const auto size = static_cast<int64_t>(values.size());
    return tensor_of_values(DataType::float32, {1, 1, size}, values);
  };
  const auto got = run_op("CausalConvWithState",
                          {line({3, 4}), line({1, 10, 100}), tensor_of_values(DataType::float32, {1}, {0.5}), line({1, 2})}, 27, 2);
  expect_near(got[0].tensor, {1 + 20 + 300 + 0.5, 2 + 30 + 400 + 0.5});
  EXPECT_EQ(numbers_of(got[1].tensor), (std::vector<double>{3, 4}));
}

}  // namespace
}  // namespace relayout::test
