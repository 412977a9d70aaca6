// Tests Softmax of short and long lines, and of columns side by side, against the formula in double.

#include <cmath>
#include <limits>

#include "base/random.h"
#include "exec/model_builder.h"
#include "relayout/execute.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

/// ONNX Softmax: e^x over its sum, of each line.
std::vector<double> softmax(const std::vector<float>& x, std::size_t length) {
  std::vector<double> out(x.begin(), x.end());
  for (std::size_t line = 0; line < x.size(); line += length) {
    const double most =
        *std::max_element(x.begin() + static_cast<std::ptrdiff_t>(line), x.begin() + static_cast<std::ptrdiff_t>(line + length));
    double sum = 0;
    for (std::size_t k = line; k < line + length; ++k) sum += out[k] = std::exp(out[k] - most);
    for (std::size_t k = line; k < line + length; ++k) out[k] /= sum;
  }
  return out;
}

TEST(Softmax, OfLinesOfAnyLengthIsTheFormulaInDouble) {
  for (const int64_t length : {1, 2, 3, 7, 15, 16, 17, 40}) {
    for (const int64_t lines : {1, 63, 64, 65, 30'011}) {
      std::vector<float> x = normal_values(lines * length, RandomStream(11, "softmax"), 0);
      for (float& value : x) value *= 8;
      ModelBuilder builder;
      builder.input("x", {lines, length}).node("Softmax", {"x"}, {"y"}).integer("axis", 1).output("y");
      const auto model = builder.build();
      const std::vector<double> wanted = softmax(x, static_cast<std::size_t>(length));
      for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
        const std::vector<float> got = values_of(run_in(mode, *model, {{"x", tensor_of({lines, length}, x)}}, 2).outputs.at(0));
        for (std::size_t i = 0; i < got.size(); ++i) {
          ASSERT_NEAR(got[i], wanted[i], 4e-7 + 4e-6 * wanted[i]) << to_string(mode) << ' ' << lines << " × " << length << ' ' << i;
        }
      }
    }
  }
}

/// Elements of one line are `columns` apart.
TEST(Softmax, OfColumnsSideBySideIsTheFormulaInDouble) {
  for (const int64_t length : {2, 5, 16, 17, 196, 1000}) {
    for (const int64_t columns : {2, 3, 4, 12, 16, 21, 63, 64, 65, 200}) {
      constexpr int64_t kBlocks = 3;
      const Dims dims{kBlocks, length, columns};
      std::vector<float> x = normal_values(element_count(dims), RandomStream(12, "columns"), 0), lines(x.size());
      for (float& value : x) value *= 8;
      const auto place = [&](int64_t block, int64_t k, int64_t column) {
        return static_cast<std::size_t>((block * length + k) * columns + column);
      };
      const auto each = [&](const auto& visit) {
        std::size_t at = 0;
        for (int64_t block = 0; block < kBlocks; ++block) {
          for (int64_t column = 0; column < columns; ++column) {
            for (int64_t k = 0; k < length; ++k) visit(at++, place(block, k, column));
          }
        }
      };
      each([&](std::size_t at, std::size_t from) { lines[at] = x[from]; });
      const std::vector<double> wanted = softmax(lines, static_cast<std::size_t>(length));
      ModelBuilder builder;
      builder.input("x", dims).node("Softmax", {"x"}, {"y"}).integer("axis", 1).output("y");
      const auto model = builder.build();
      ExecuteOptions options;
      options.threads = 2;
      Executor executor(model->graph(), options);
      const std::vector<float> got = values_of(executor.run({{"x", tensor_of(dims, x)}}).at(0).tensor);
      ASSERT_EQ(executor.plan_info().steps.front().implementation, "own");
      each([&](std::size_t at, std::size_t from) {
        ASSERT_NEAR(got[from], wanted[at], 4e-7 + 4e-6 * wanted[at]) << to_string(dims) << ' ' << from;
      });
    }
  }
}

/// A line with a NaN is NaN, as is one of −∞ only; its neighbours are not.
TEST(Softmax, OfColumnsKeepsNanToItsColumn) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  ModelBuilder builder;
  builder.input("x", {2, 4}).node("Softmax", {"x"}, {"y"}).integer("axis", 0).output("y");
  const std::vector<float> x{1, kNan, -kInfinity, -kInfinity, 1, 0, -kInfinity, 3};
  const std::vector<float> got = values_of(run_in(Mode::optimized, *builder.build(), {{"x", tensor_of({2, 4}, x)}}).outputs.at(0));
  for (const std::size_t i : {1U, 2U, 5U, 6U}) EXPECT_TRUE(std::isnan(got[i])) << i;
  EXPECT_EQ((std::vector<float>{got[0], got[3], got[4], got[7]}), (std::vector<float>{0.5F, 0, 0.5F, 1}));
}

}  // namespace
}  // namespace relayout::test
