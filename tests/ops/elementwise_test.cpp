#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor f32(const std::vector<double>& values) {
  return tensor_of_values(DataType::float32, {static_cast<int64_t>(values.size())}, values);
}
Tensor f64(const std::vector<double>& values) {
  return tensor_of_values(DataType::float64, {static_cast<int64_t>(values.size())}, values);
}
template <class T>
Tensor integers(DataType type, const std::vector<T>& values) {
  Tensor tensor(type, {static_cast<int64_t>(values.size())});
  std::ranges::copy(values, tensor.data<T>());
  return tensor;
}
template <class T>
std::vector<T> contents(const Tensor& tensor) {
  return {tensor.data<T>(), tensor.data<T>() + tensor.element_count()};
}

/// Formulas of the operators' specifications.
struct Formula {
  const char* op;
  double (*f)(double);
};

double clamp01(double x) {
  return x < 0 ? 0 : x > 1 ? 1 : x;
}

const std::vector<Formula> kFormulas{
    {"Abs", [](double x) { return std::abs(x); }},
    {"Celu <alpha = 2.0>", [](double x) { return std::fmax(0, x) + std::fmin(0, 2 * (std::exp(x / 2) - 1)); }},
    {"Celu <alpha = -2.0>", [](double x) { return std::fmax(0, x) + std::fmin(0, -2 * (std::exp(x / -2) - 1)); }},
    {"Elu <alpha = 2.0>", [](double x) { return x < 0 ? 2 * (std::exp(x) - 1) : x; }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"Gelu", [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
    {"Gelu <approximate = \"tanh\">",
     [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))); }},
    {"HardSigmoid <alpha = 0.25, beta = 0.5>", [](double x) { return clamp01(0.25 * x + 0.5); }},
    {"HardSwish", [](double x) { return x * clamp01(x / 6 + 0.5); }},
    {"LeakyRelu <alpha = 0.25>", [](double x) { return x < 0 ? 0.25 * x : x; }},
    {"Mish", [](double x) { return x * std::tanh(std::log(1 + std::exp(x))); }},
    {"Neg", [](double x) { return -x; }},
    {"Relu", [](double x) { return x < 0 ? 0 : x; }},
    {"Selu <alpha = 2.0, gamma = 3.0>", [](double x) { return x > 0 ? 3 * x : 3 * (2 * std::exp(x) - 2); }},
    {"Shrink <bias = 0.5, lambd = 1.5>", [](double x) { return x < -1.5  ? x + 0.5
                                                               : x > 1.5 ? x - 0.5
                                                                         : 0; }},
    {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"Sign", [](double x) { return x > 0   ? 1.0
                                   : x < 0 ? -1.0
                                           : 0.0; }},
    {"Softplus", [](double x) { return std::log(1 + std::exp(x)); }},
    {"Softsign", [](double x) { return x / (1 + std::abs(x)); }},
    {"ThresholdedRelu <alpha = 1.5>", [](double x) { return x > 1.5 ? x : 0; }},
};

TEST(Unary, FormulasOfTheTexts) {
  const std::vector<double> x{-30, -6.5, -3, -2.5, -1.5, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 6.5, 30};
  for (const Formula& formula : kFormulas) {
    const std::vector<double> y = numbers_of(run_one(formula.op, {f64(x)}));
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(y[i], formula.f(x[i]), 1e-12 * (1 + std::abs(formula.f(x[i])))) << formula.op << " " << x[i];
  }
}

/// x · Φ(x), with Φ(−8) = erfc(8 / √2) / 2 from mpmath with 30 digits.
TEST(Unary, GeluKeepsItsDigitsFarBelowZero) {
  EXPECT_NEAR(numbers_of(run_one("Gelu", {f64({-8})}))[0], -8 * 6.220960574271785e-16, 1e-28);
}

TEST(Unary, NanSurvives) {
  for (const char* op :
       {"Relu",    "Abs",  "Celu",     "Elu",      "Exp",  "Gelu",  "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "Selu",
        "Sigmoid", "Sign", "Softplus", "Softsign", "Tanh", "Floor", "Round",       "Sqrt",      "Log",       "Erf",  "Reciprocal"}) {
    EXPECT_TRUE(std::isnan(numbers_of(run_one(op, {f32({kNan})}))[0])) << op;
  }
  EXPECT_TRUE(std::isnan(numbers_of(
      run_one("Clip", {f32({kNan}), tensor_of_values(DataType::float32, {}, {0}), tensor_of_values(DataType::float32, {}, {1})}))[0]));
}

TEST(Unary, NanIsOnNeitherSideOfABound) {  // "otherwise 0", as in the function bodies
  for (const char* op : {"Shrink", "ThresholdedRelu"}) EXPECT_EQ(numbers_of(run_one(op, {f32({kNan})})), std::vector<double>{0}) << op;
}

TEST(Unary, SignOfZeroAndLimits) {
  EXPECT_TRUE(std::signbit(numbers_of(run_one("Relu", {f32({-0.0})}))[0]));
  EXPECT_TRUE(std::signbit(numbers_of(run_one("Neg", {f32({0.0})}))[0]));
  EXPECT_TRUE(std::signbit(numbers_of(run_one("Ceil", {f32({-0.5})}))[0]));
  EXPECT_EQ(numbers_of(run_one("Sigmoid", {f32({-kInfinity, kInfinity})})), (std::vector<double>{0, 1}));
  EXPECT_EQ(numbers_of(run_one("Softplus", {f32({-kInfinity, kInfinity, 1000})})), (std::vector<double>{0, kInfinity, 1000}));
  EXPECT_EQ(numbers_of(run_one("Gelu", {f32({kInfinity, 3e38})})), (std::vector<double>{kInfinity, static_cast<double>(3e38F)}));
  EXPECT_EQ(numbers_of(run_one("Exp", {f32({-kInfinity, 1000})})), (std::vector<double>{0, kInfinity}));
  EXPECT_EQ(numbers_of(run_one("Reciprocal", {f32({0.0, -0.0})})), (std::vector<double>{kInfinity, -kInfinity}));
  EXPECT_EQ(numbers_of(run_one("Mul", {f32({1e-44}), f32({1})}))[0], static_cast<double>(1e-44F));  // subnormals stay
}

TEST(Unary, RoundsHalfToEven) {
  EXPECT_EQ(numbers_of(run_one("Round", {f32({0.5, 1.5, 2.5, -0.5, -1.5, 2.4, -2.6})})), (std::vector<double>{0, 2, 2, 0, -2, 2, -3}));
}

TEST(Unary, IntegersWrap) {
  EXPECT_EQ(contents<int32_t>(run_one("Neg", {integers<int32_t>(DataType::int32, {INT32_MIN, 5})})), (std::vector<int32_t>{INT32_MIN, -5}));
  EXPECT_EQ(contents<int8_t>(run_one("Abs", {integers<int8_t>(DataType::int8, {-128, -5, 7})})), (std::vector<int8_t>{-128, 5, 7}));
  EXPECT_EQ(contents<int64_t>(run_one("Abs", {integers<int64_t>(DataType::int64, {INT64_MIN})})), (std::vector<int64_t>{INT64_MIN}));
  EXPECT_EQ(contents<uint8_t>(run_one("BitwiseNot", {integers<uint8_t>(DataType::uint8, {0, 5})})), (std::vector<uint8_t>{255, 250}));
  EXPECT_EQ(contents<int64_t>(run_one("Relu", {integers<int64_t>(DataType::int64, {-3, 9007199254740993})})),
            (std::vector<int64_t>{0, 9007199254740993}));
}

TEST(Unary, TestsOfFloats) {
  EXPECT_EQ(numbers_of(run_one("IsNaN", {f32({1, kNan, kInfinity})})), (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(numbers_of(run_one("IsInf", {f32({kNan, kInfinity, -kInfinity})})), (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(numbers_of(run_one("IsInf <detect_negative = 0>", {f32({kNan, kInfinity, -kInfinity})})), (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(numbers_of(run_one("IsInf <detect_positive = 0>", {f32({kNan, kInfinity, -kInfinity})})), (std::vector<double>{0, 0, 1}));
}

TEST(Binary, IntegersNeverPassThroughFloats) {
  const auto run32 = [](const char* op, int32_t a, int32_t b) {
    return contents<int32_t>(run_one(op, {integers<int32_t>(DataType::int32, {a}), integers<int32_t>(DataType::int32, {b})}))[0];
  };
  EXPECT_EQ(run32("Mul", 16777217, 3), 50331651);
  EXPECT_EQ(run32("Add", INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(run32("Div", -7, 2), -3);
  EXPECT_EQ(run32("Div", INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(run32("Mod", -7, 3), 2);
  EXPECT_EQ(run32("Mod", 7, -3), -2);
  EXPECT_EQ(run32("Mod <fmod = 1>", -7, 3), -1);
  EXPECT_EQ(run32("Mod", INT32_MIN, -1), 0);
  const auto run64 = [](const char* op, int64_t a, int64_t b) {
    return contents<int64_t>(run_one(op, {integers<int64_t>(DataType::int64, {a}), integers<int64_t>(DataType::int64, {b})}))[0];
  };
  EXPECT_EQ(run64("Sub", 9007199254740993, 1), 9007199254740992);
  EXPECT_EQ(run64("Div", INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(run64("Max", 9007199254740993, 9007199254740992), 9007199254740993);
  EXPECT_EQ(run64("Pow", 3, 39), 4052555153018976267);
  EXPECT_EQ(run64("Pow", -2, 63), INT64_MIN);
  const auto unsigned64 = [](const char* op, uint64_t a, uint64_t b) {
    return contents<uint64_t>(run_one(op, {integers<uint64_t>(DataType::uint64, {a}), integers<uint64_t>(DataType::uint64, {b})}))[0];
  };
  EXPECT_EQ(unsigned64("Div", UINT64_MAX, 2), UINT64_MAX / 2);
  EXPECT_EQ(unsigned64("Max", UINT64_MAX, 1), UINT64_MAX);
  EXPECT_EQ(unsigned64("BitShift <direction = \"RIGHT\">", UINT64_MAX, 63), 1U);
  EXPECT_EQ(unsigned64("BitShift <direction = \"LEFT\">", 1, 64), 0U);
}

TEST(Binary, DivisionByZeroNamesTheNode) {
  for (const char* op : {"Div", "Mod"}) {
    try {
      (void)run_one(op, {integers<int32_t>(DataType::int32, {1, 2}), integers<int32_t>(DataType::int32, {1, 0})});
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid);
      EXPECT_NE(std::string(error.what()).find("output 'y0' (" + std::string(op) + ")"), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(numbers_of(run_one("Div", {f32({1, -1}), f32({0, 0})})), (std::vector<double>{kInfinity, -kInfinity}));
}

TEST(Binary, MaximumAndMinimumKeepNan) {
  for (const char* op : {"Max", "Min"}) {
    const std::vector<double> y = numbers_of(run_one(op, {f32({kNan, 1, 3}), f32({2, kNan, 4})}));
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1])) << op;
  }
}

TEST(Binary, PowHasTheTypeOfTheBase) {
  EXPECT_EQ(contents<int32_t>(run_one("Pow", {integers<int32_t>(DataType::int32, {2, 9}), f32({3, 0.5})})), (std::vector<int32_t>{8, 3}));
  EXPECT_EQ(numbers_of(run_one("Pow", {f32({2, 0.5}), integers<int64_t>(DataType::int64, {-1, 2})})), (std::vector<double>{0.5, 0.25}));
}

TEST(Binary, MeanAndSumRoundOnce) {
  EXPECT_EQ(numbers_of(run_one("Sum", {f32({16777216}), f32({1}), f32({1})}))[0], 16777218);
  EXPECT_EQ(numbers_of(run_one("Mean", {f32({3e38}), f32({3e38})}))[0], static_cast<double>(3e38F));
}

TEST(Binary, AxisBroadcastOfOpset6) {
  const Tensor a = tensor_of_values(DataType::float32, {2, 3, 2}, std::vector<double>(12, 0)), b = f32({1, 2, 3});
  EXPECT_EQ(numbers_of(run_one("Add <broadcast = 1, axis = 1>", {a, b}, 6)), (std::vector<double>{1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3}));
  EXPECT_THROW((void)run_one("Add <broadcast = 1, axis = 2>", {a, b}, 6), Error);
  EXPECT_THROW((void)run_one("Add", {a, f32({1, 2})}, 6), Error);
  EXPECT_EQ(numbers_of(run_one("Add <broadcast = 1>", {a, f32({1, 2})}, 6)), (std::vector<double>{1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}));
}

TEST(Binary, RejectsInvalidOperands) {
  EXPECT_THROW((void)run_one("Add", {f32({1, 2}), f32({1, 2, 3})}), Error);
  EXPECT_THROW((void)run_one("Add", {f32({1}), f64({1})}), Error);
  EXPECT_THROW((void)run_one("Add", {f32({1})}), Error);
  EXPECT_THROW((void)run_one("And", {f32({1}), f32({1})}), Error);
  EXPECT_THROW((void)run_one("BitShift", {integers<uint8_t>(DataType::uint8, {1}), integers<uint8_t>(DataType::uint8, {1})}), Error);
  EXPECT_THROW((void)run_one("Mod", {f32({1}), f32({1})}), Error);
}

TEST(Clip, BoundsOfAllForms) {
  const Tensor x = f32({-3, 0, 3}), one = tensor_of_values(DataType::float32, {}, {1}),
               minus = tensor_of_values(DataType::float32, {}, {-1});
  EXPECT_EQ(numbers_of(run_one("Clip", {x, minus, one})), (std::vector<double>{-1, 0, 1}));
  EXPECT_EQ(numbers_of(run_one("Clip", {x, Tensor(), one})), (std::vector<double>{-3, 0, 1}));
  EXPECT_EQ(numbers_of(run_one("Clip", {x})), (std::vector<double>{-3, 0, 3}));
  EXPECT_EQ(numbers_of(run_one("Clip", {x, one, minus})), (std::vector<double>{-1, -1, -1}));  // crossed: the upper bound
  EXPECT_EQ(numbers_of(run_one("Clip <min = -1.0, max = 1.0>", {x}, 6)), (std::vector<double>{-1, 0, 1}));
  EXPECT_THROW((void)run_one("Clip", {x, f32({1, 2})}), Error);
}

TEST(Where, ChoosesAndBroadcasts) {
  const Tensor condition = tensor_of_values(DataType::boolean, {2, 1}, {1, 0});
  EXPECT_EQ(numbers_of(run_one("Where", {condition, f32({1, 2, 3}), f32({7})})), (std::vector<double>{1, 2, 3, 7, 7, 7}));
  EXPECT_THROW((void)run_one("Where", {f32({1}), f32({1}), f32({1})}), Error);
}

TEST(PRelu, SlopeOfOpset6IsAlongChannels) {
  const Tensor x = tensor_of_values(DataType::float32, {1, 2, 2}, {-1, 1, -1, -2});
  EXPECT_EQ(numbers_of(run_one("PRelu", {x, f32({2, 3})}, 6)), (std::vector<double>{-2, 1, -3, -6}));
  EXPECT_EQ(numbers_of(run_one("PRelu", {x, f32({2, 3})}, 16)), (std::vector<double>{-2, 1, -2, -6}));
}

TEST(Compare, StringsAndBooleans) {
  Tensor a(DataType::string, {2}), b(DataType::string, {2});
  a.data<std::string>()[0] = b.data<std::string>()[0] = "x";
  a.data<std::string>()[1] = "y";
  EXPECT_EQ(numbers_of(run_one("Equal", {a, b})), (std::vector<double>{1, 0}));
  const Tensor t = tensor_of_values(DataType::boolean, {2}, {1, 0}), u = tensor_of_values(DataType::boolean, {2}, {1, 1});
  EXPECT_EQ(numbers_of(run_one("Equal", {t, u})), (std::vector<double>{1, 0}));
  EXPECT_EQ(numbers_of(run_one("Xor", {t, u})), (std::vector<double>{0, 1}));
  EXPECT_EQ(numbers_of(run_one("Less", {f32({kNan, 1}), f32({1, kNan})})), (std::vector<double>{0, 0}));
}

TEST(Cast, TableOfTheText) {
  EXPECT_EQ(contents<int8_t>(run_one("Cast <to = 3>", {integers<int16_t>(DataType::int16, {200, -1})})), (std::vector<int8_t>{-56, -1}));
  EXPECT_EQ(contents<int32_t>(run_one("Cast <to = 6>", {f32({2.9, -2.9})})), (std::vector<int32_t>{2, -2}));
  EXPECT_EQ(numbers_of(run_one("Cast <to = 9>", {f32({0.0, -0.0, 0.5, kNan})})), (std::vector<double>{0, 0, 1, 1}));
  EXPECT_EQ(contents<int64_t>(run_one("Cast <to = 7>", {integers<uint64_t>(DataType::uint64, {UINT64_MAX})})), std::vector<int64_t>{-1});
  EXPECT_EQ(numbers_of(run_one("Cast <to = \"INT32\">", {f32({2.5})}, 1)), std::vector<double>{2});
  const Tensor f8 = run_one("Cast <to = 17, saturate = 0>", {f32({1000, 1})}, 19);
  EXPECT_TRUE(std::isnan(numbers_of(f8)[0]));
  EXPECT_EQ(numbers_of(run_one("Cast <to = 17>", {f32({1000, 1})}, 19)), (std::vector<double>{448, 1}));
  EXPECT_THROW((void)run_one("Cast <to = 99>", {f32({1})}), Error);
  EXPECT_THROW((void)run_one("Cast", {f32({1})}), Error);
}

TEST(Cast, Strings) {
  Tensor texts(DataType::string, {6});
  const char* const kTexts[] = {"3.14", "1e-5", "+7", "-INF", "NaN", " 12 "};
  for (std::size_t i = 0; i < 6; ++i) texts.data<std::string>()[i] = kTexts[i];
  const std::vector<double> numbers = numbers_of(run_one("Cast <to = 1>", {texts}));
  EXPECT_EQ(numbers[0], static_cast<double>(3.14F));
  EXPECT_EQ(numbers[1], static_cast<double>(1e-5F));
  EXPECT_EQ(numbers[2], 7);
  EXPECT_EQ(numbers[3], -kInfinity);
  EXPECT_TRUE(std::isnan(numbers[4]));
  EXPECT_EQ(numbers[5], 12);
  const Tensor back = run_one("Cast <to = 8>", {f32({0.1, -2, kInfinity, kNan})});
  EXPECT_EQ(contents<std::string>(back), (std::vector<std::string>{"0.1", "-2", "INF", "NaN"}));
  texts.data<std::string>()[0] = "three";
  EXPECT_THROW((void)run_one("Cast <to = 1>", {texts}), Error);
}

TEST(BitCast, KeepsTheBits) {
  EXPECT_EQ(contents<int32_t>(run_one("BitCast <to = 6>", {f32({1, -0.0})}, 26)), (std::vector<int32_t>{0x3F800000, INT32_MIN}));
  EXPECT_THROW((void)run_one("BitCast <to = 7>", {f32({1})}, 26), Error);
}

}  // namespace
}  // namespace relayout::test
