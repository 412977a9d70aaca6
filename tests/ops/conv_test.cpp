#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

/// A convolution by its definition (ONNX Conv 22), any rank, on row-major doubles.
struct Definition {
  Dims x, w;
  Dims strides, dilations, before, after;
  int64_t group = 1;
};

Dims index_of(int64_t flat, const Dims& dims) {
  Dims index(dims.size());
  for (std::size_t i = dims.size(); i-- > 0;) {
    index[i] = flat % dims[i];
    flat /= dims[i];
  }
  return index;
}

int64_t flat_of(const Dims& index, const Dims& dims) {
  int64_t flat = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) flat = flat * dims[i] + index[i];
  return flat;
}

Dims conv_dims(const Definition& d) {
  Dims dims{d.x[0], d.w[0]};
  for (std::size_t i = 0; i + 2 < d.x.size(); ++i) {
    dims.push_back((d.x[i + 2] + d.before[i] + d.after[i] - (d.w[i + 2] - 1) * d.dilations[i] - 1) / d.strides[i] + 1);
  }
  return dims;
}

std::vector<double> conv_by_definition(const Definition& d, const std::vector<double>& x, const std::vector<double>& w,
                                       const std::vector<double>& bias) {
  const Dims dims = conv_dims(d);
  std::vector<double> y(static_cast<std::size_t>(element_count(dims)));
  const int64_t taps = element_count(d.w) / d.w[0];
  const Dims tap_dims(d.w.begin() + 1, d.w.end());
  for (int64_t flat = 0; flat < element_count(dims); ++flat) {
    const Dims out = index_of(flat, dims);
    double sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(out[1])];
    for (int64_t t = 0; t < taps; ++t) {
      const Dims tap = index_of(t, tap_dims);
      Dims in{out[0], out[1] / (d.w[0] / d.group) * d.w[1] + tap[0]};
      bool inside = true;
      for (std::size_t i = 0; i + 2 < dims.size(); ++i) {
        in.push_back(out[i + 2] * d.strides[i] - d.before[i] + tap[i + 1] * d.dilations[i]);
        inside = inside && in.back() >= 0 && in.back() < d.x[i + 2];
      }
      if (inside) sum += x[static_cast<std::size_t>(flat_of(in, d.x))] * w[static_cast<std::size_t>(out[1] * taps + t)];
    }
    y[static_cast<std::size_t>(flat)] = sum;
  }
  return y;
}

std::string list_text(const Dims& values) {
  return to_string(values);
}

Dims joined(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<double> whole_numbers(const RandomStream& random, const Dims& dims) {
  std::vector<double> values(static_cast<std::size_t>(element_count(dims)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(random.below(i, 9)) - 4;
  return values;
}

/// Random shapes of rank 3 to 5 with all dims different. Whole numbers make every sum exact, so that the answer is unique.
TEST(Conv, MatchesTheDefinitionOnRandomShapes) {
  for (uint64_t trial = 0; trial < 150; ++trial) {
    const RandomStream random(trial, "conv");
    const std::size_t rank = 1 + random.below(0, 3);
    uint64_t next = 1;
    const auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(random.below(next++, static_cast<uint64_t>(high - low + 1)));
    };
    Definition d;
    d.group = pick(1, 3);
    d.w = {d.group * pick(1, 3), pick(1, 3)};
    d.x = {pick(1, 2), d.group * d.w[1]};
    for (std::size_t i = 0; i < rank; ++i) {
      d.w.push_back(pick(1, 3));
      d.strides.push_back(pick(1, 3));
      d.dilations.push_back(pick(1, 2));
      d.before.push_back(pick(-1, 3));
      d.after.push_back(pick(-1, 3));
      d.x.push_back((d.w.back() - 1) * d.dilations.back() + 3 + pick(0, 4) + static_cast<int64_t>(i));
    }
    const std::vector<double> x = whole_numbers(RandomStream(trial, "x"), d.x), w = whole_numbers(RandomStream(trial, "w"), d.w);
    const std::vector<double> bias = whole_numbers(RandomStream(trial, "b"), {d.w[0]});
    const std::string attributes = "Conv <group = " + std::to_string(d.group) + ", strides = " + list_text(d.strides) +
                                   ", dilations = " + list_text(d.dilations) + ", pads = " + list_text(joined(d.before, d.after)) + ">";
    SCOPED_TRACE("trial " + std::to_string(trial) + ": " + attributes + " x " + to_string(d.x) + " w " + to_string(d.w));
    const Tensor y = run_one(attributes, {tensor_of_values(DataType::float32, d.x, x), tensor_of_values(DataType::float32, d.w, w),
                                          tensor_of_values(DataType::float32, {d.w[0]}, bias)});
    ASSERT_EQ(y.dims(), conv_dims(d));
    ASSERT_EQ(numbers_of(y), conv_by_definition(d, x, w, bias));
  }
}

/// Larger than one block of the product in rows, columns and depth.
TEST(Conv, MatchesTheDefinitionBeyondOneBlock) {
  const Definition d{{1, 40, 9, 13}, {600, 40, 3, 3}, {1, 1}, {1, 1}, {1, 0}, {1, 2}, 1};
  const std::vector<double> x = whole_numbers(RandomStream(1, "x"), d.x), w = whole_numbers(RandomStream(1, "w"), d.w);
  const Tensor y =
      run_one("Conv <pads = [1, 0, 1, 2]>", {tensor_of_values(DataType::float32, d.x, x), tensor_of_values(DataType::float32, d.w, w)});
  EXPECT_EQ(numbers_of(y), conv_by_definition(d, x, w, {}));
}

TEST(Conv, AutoPadOfTheText) {
  const Tensor w = tensor_of_values(DataType::float32, {1, 1, 4}, {1, 10, 100, 1000});
  const Tensor x = tensor_of_values(DataType::float32, {1, 1, 5}, {1, 2, 3, 4, 5});
  // ⌈5 / 2⌉ = 3 outputs; total padding (3 − 1) · 2 + 4 − 5 = 3: one before and two after, or the other way round.
  EXPECT_EQ(numbers_of(run_one("Conv <auto_pad = \"SAME_UPPER\", strides = [2]>", {x, w})), (std::vector<double>{3210, 5432, 54}));
  EXPECT_EQ(numbers_of(run_one("Conv <auto_pad = \"SAME_LOWER\", strides = [2]>", {x, w})), (std::vector<double>{2100, 4321, 543}));
  EXPECT_EQ(numbers_of(run_one("Conv <auto_pad = \"VALID\", strides = [2], pads = [7, 7]>", {x, w})), (std::vector<double>{4321}));
}

TEST(Conv, SumsInDoubleAndRoundsOnce) {
  // 2^24 + 1 − 2^24 in f32 would lose the 1.
  const Tensor x = tensor_of_values(DataType::float32, {1, 3, 1}, {16777216, 1, -16777216});
  const Tensor w = tensor_of_values(DataType::float32, {1, 3, 1}, {1, 1, 1});
  EXPECT_EQ(numbers_of(run_one("Conv", {x, w})), std::vector<double>{1});
}

TEST(Conv, EmptyBatchAndEmptyDims) {
  const Tensor w = tensor_of_values(DataType::float32, {2, 1, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run_one("Conv", {Tensor(DataType::float32, {0, 1, 5}), w}).dims(), (Dims{0, 2, 3}));
  EXPECT_EQ(run_one("Conv", {Tensor(DataType::float32, {1, 1, 0}), w}).dims(), (Dims{1, 2, 0}));
}

void expect_invalid(const std::string& op, const std::vector<Datum>& inputs, const std::string& says) {
  try {
    (void)run_one(op, inputs);
    FAIL() << op << " did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid) << error.what();
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("(Conv"), std::string::npos) << error.what();
  }
}

TEST(Conv, RejectsInvalidOperands) {
  const Tensor x = tensor_of_values(DataType::float32, {1, 4, 5, 6}, {});
  const auto w = [](const Dims& dims) { return Tensor(DataType::float32, dims); };
  expect_invalid("Conv", {x, w({2, 4, 3})}, "weights of dims");
  expect_invalid("Conv", {x, w({2, 3, 3, 3})}, "do not fit");
  expect_invalid("Conv <group = 3>", {x, w({3, 1, 3, 3})}, "do not fit");
  expect_invalid("Conv <group = 0>", {x, w({2, 4, 3, 3})}, "group 0");
  expect_invalid("Conv", {x, w({2, 4, 6, 3})}, "spans 6 elements");
  expect_invalid("Conv", {x, w({2, 4, 0, 3})}, "weights have dims");
  expect_invalid("Conv <strides = [0, 1]>", {x, w({2, 4, 3, 3})}, "strides has entry 0");
  expect_invalid("Conv <strides = [1]>", {x, w({2, 4, 3, 3})}, "strides has 1 entries");
  expect_invalid("Conv <dilations = [9223372036854775807, 1]>", {x, w({2, 4, 3, 3})}, "dilations has entry");
  expect_invalid("Conv <pads = [1, 1, 1]>", {x, w({2, 4, 3, 3})}, "pads [1, 1, 1] must have two entries");
  expect_invalid("Conv <kernel_shape = [2, 3]>", {x, w({2, 4, 3, 3})}, "not that of the weights");
  expect_invalid("Conv <auto_pad = \"SOME\">", {x, w({2, 4, 3, 3})}, "auto_pad");
  expect_invalid("Conv", {x, w({2, 4, 3, 3}), w({3})}, "bias of dims [3]");
  expect_invalid("Conv", {x, Tensor(DataType::float64, {2, 4, 3, 3})}, "types f32 and f64");
  expect_invalid("Conv", {Tensor(DataType::int32, {1, 4, 5, 6}), Tensor(DataType::int32, {2, 4, 3, 3})}, "type i32");
  expect_invalid("Conv", {x}, "1 inputs");
}

/// out[o] = Σ x[i] · w[k] over i · stride + k · dilation − before = o: the definition, scattering.
std::vector<double> conv_transpose_by_definition(const Definition& d, const Dims& dims, const std::vector<double>& x,
                                                 const std::vector<double>& w) {
  std::vector<double> y(static_cast<std::size_t>(element_count(dims)), 0.0);
  const Dims w_dims = d.w;
  for (int64_t i = 0; i < element_count(d.x); ++i) {
    const Dims in = index_of(i, d.x);
    for (int64_t k = 0; k < element_count(w_dims); ++k) {
      const Dims tap = index_of(k, w_dims);
      if (tap[0] != in[1]) continue;
      Dims out{in[0], in[1] / (d.x[1] / d.group) * d.w[1] + tap[1]};
      bool inside = true;
      for (std::size_t s = 0; s + 2 < dims.size(); ++s) {
        out.push_back(in[s + 2] * d.strides[s] + tap[s + 2] * d.dilations[s] - d.before[s]);
        inside = inside && out.back() >= 0 && out.back() < dims[s + 2];
      }
      if (inside) y[static_cast<std::size_t>(flat_of(out, dims))] += x[static_cast<std::size_t>(i)] * w[static_cast<std::size_t>(k)];
    }
  }
  return y;
}

TEST(ConvTranspose, MatchesTheDefinitionOnRandomShapes) {
  for (uint64_t trial = 0; trial < 150; ++trial) {
    const RandomStream random(trial, "transpose");
    const std::size_t rank = 1 + random.below(0, 3);
    uint64_t next = 1;
    const auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(random.below(next++, static_cast<uint64_t>(high - low + 1)));
    };
    Definition d;
    d.group = pick(1, 3);
    d.x = {pick(1, 2), d.group * pick(1, 3)};
    d.w = {d.x[1], pick(1, 3)};
    Dims output_padding, dims{d.x[0], d.w[1] * d.group};
    for (std::size_t i = 0; i < rank; ++i) {
      d.w.push_back(pick(1, 4));
      d.strides.push_back(pick(1, 4));
      d.dilations.push_back(pick(1, 3));
      d.x.push_back(pick(2, 5) + static_cast<int64_t>(i));
      output_padding.push_back(pick(0, d.strides.back() - 1));
      const int64_t full = d.strides.back() * (d.x.back() - 1) + output_padding.back() + (d.w.back() - 1) * d.dilations.back() + 1;
      d.before.push_back(pick(-1, std::min<int64_t>(2, full / 3)));
      d.after.push_back(pick(-1, std::min<int64_t>(2, full / 3)));
      dims.push_back(full - d.before.back() - d.after.back());
    }
    const std::vector<double> x = whole_numbers(RandomStream(trial, "x"), d.x), w = whole_numbers(RandomStream(trial, "w"), d.w);
    const std::string attributes = "ConvTranspose <group = " + std::to_string(d.group) + ", strides = " + list_text(d.strides) +
                                   ", dilations = " + list_text(d.dilations) + ", output_padding = " + list_text(output_padding) +
                                   ", pads = " + list_text(joined(d.before, d.after)) + ">";
    SCOPED_TRACE("trial " + std::to_string(trial) + ": " + attributes + " x " + to_string(d.x) + " w " + to_string(d.w));
    const Tensor y = run_one(attributes, {tensor_of_values(DataType::float32, d.x, x), tensor_of_values(DataType::float32, d.w, w)});
    ASSERT_EQ(y.dims(), dims);
    ASSERT_EQ(numbers_of(y), conv_transpose_by_definition(d, dims, x, w));
  }
}

TEST(ConvTranspose, OutputShapeSharesThePads) {
  const Tensor x = tensor_of_values(DataType::float32, {1, 1, 3}, {1, 2, 3}),
               w = tensor_of_values(DataType::float32, {1, 1, 4}, {1, 10, 100, 1000});
  // Full: 2 · 2 + 4 = 8 elements. 7 of them: one is cut at the begin, with SAME_UPPER at the end.
  const std::vector<double> full{1, 10, 102, 1020, 203, 2030, 300, 3000};
  EXPECT_EQ(numbers_of(run_one("ConvTranspose <strides = [2]>", {x, w})), full);
  EXPECT_EQ(numbers_of(run_one("ConvTranspose <strides = [2], output_shape = [7]>", {x, w})),
            std::vector<double>(full.begin() + 1, full.end()));
  EXPECT_EQ(numbers_of(run_one("ConvTranspose <strides = [2], output_shape = [7], auto_pad = \"SAME_UPPER\">", {x, w})),
            std::vector<double>(full.begin(), full.end() - 1));
  // More than the full size: zeros at the end.
  EXPECT_EQ(numbers_of(run_one("ConvTranspose <strides = [2], output_shape = [9]>", {x, w})),
            (std::vector<double>{1, 10, 102, 1020, 203, 2030, 300, 3000, 0}));
}

TEST(ConvTranspose, ValidSplitsThePaddingAsNotset) {
  const Tensor w = tensor_of_values(DataType::float32, {1, 1, 4}, {1, 10, 100, 1000});
  const Tensor x = tensor_of_values(DataType::float32, {1, 1, 3}, {1, 2, 3});
  const std::vector<double> full{1, 10, 102, 1020, 203, 2030, 300, 3000};
  for (const char* const automatic : {"NOTSET", "VALID", "SAME_LOWER"}) {
    const std::string op = "ConvTranspose <strides = [2], output_shape = [5], auto_pad = \"" + std::string(automatic) + "\">";
    EXPECT_EQ(numbers_of(run_one(op, {x, w})), std::vector<double>(full.begin() + 2, full.end() - 1)) << op;
  }
  EXPECT_EQ(numbers_of(run_one("ConvTranspose <strides = [2], auto_pad = \"VALID\">", {x, w})), full);
}

TEST(ConvTranspose, SameHasNoLessThanNoPadding) {
  // Windows that do not meet: 8 elements are all there are, not 3 · 3 (ONNX's shape inference, ONNX Runtime).
  const Tensor w = tensor_of_values(DataType::float32, {1, 1, 2}, {1, 10}), x = tensor_of_values(DataType::float32, {1, 1, 3}, {1, 2, 3});
  const std::vector<double> full{1, 10, 0, 2, 20, 0, 3, 30};
  for (const char* const automatic : {"SAME_UPPER", "SAME_LOWER"}) {
    const std::string op = "ConvTranspose <strides = [3], auto_pad = \"" + std::string(automatic) + "\"";
    EXPECT_EQ(numbers_of(run_one(op + ">", {x, w})), full);
    EXPECT_EQ(run_one(op + ", output_padding = [2]>", {x, w}).dims(), (Dims{1, 1, 9}));
  }
}

TEST(ConvTranspose, OutputShapeHoldsSpatialDims) {
  const Tensor x(DataType::float32, {1, 2, 4, 4}), w(DataType::float32, {2, 3, 3, 3});
  for (const char* const shape : {"[7, 9, 8, 9]", "[1, 3, 8, 9]", "[3, 8, 9]", "[8]"}) {
    expect_invalid("ConvTranspose <strides = [2, 2], output_shape = " + std::string(shape) + ">", {x, w}, "output_shape [");
  }
}

TEST(ConvTranspose, InfinitiesStayWhereTheyBelong) {
  // Positions that no tap reaches are zero, not 0 · ∞.
  const Tensor x = tensor_of_values(DataType::float32, {1, 1, 2}, {1, 2}), w = tensor_of_values(DataType::float32, {1, 1, 1}, {INFINITY});
  EXPECT_EQ(numbers_of(run_one("ConvTranspose <strides = [3]>", {x, w})), (std::vector<double>{INFINITY, 0, 0, INFINITY}));
}

}  // namespace
}  // namespace relayout::test
