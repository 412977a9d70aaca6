// Softmax of short and of long lines, against the formula in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

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

}  // namespace
}  // namespace relayout::test
