// Tests stored outputs of quantized models: elements at a boundary between two steps may be on either, and no others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/datum.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "support/network.h"
#include "tensors.h"
#include "verified.h"
#include "verify/inputs/data_file.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using test::Network;
using ::testing::HasSubstr;

/// Quantizes x by 1/8 to u8, and dequantizes it.
Network quantizer() {
  Network n(1);
  n.input("x", {"6"}).output("q", {"6"}, onnx::TensorProto::UINT8).output("y", {"6"});
  n.floats("scale", {}, {0.125F});
  auto& zero = *n.graph().add_initializer();
  zero.set_name("zero");
  zero.set_data_type(onnx::TensorProto::UINT8);
  zero.set_raw_data(std::string(1, '\0'));
  n.node("QuantizeLinear", {"x", "scale", "zero"}, {"q"}), n.node("DequantizeLinear", {"q", "scale", "zero"}, {"y"});
  return n;
}

/// One run of quantizer() with stored outputs.
DataCase verified_with(const std::vector<double>& x, const std::vector<int64_t>& q) {
  const Folder folder;
  std::vector<double> y;
  for (const int64_t step : q) y.push_back(0.125 * static_cast<double>(step));
  save_data_set(folder.path(), 0, {Datum(floats({6}, x))}, {Datum(integers({6}, q, DataType::uint8)), Datum(floats({6}, y))}, {"x"},
                {"q", "y"});
  VerifyOptions options;
  options.mode = Mode::as_written;
  options.threads = 1;
  return verify_data(folder.write("model.onnx", quantizer().bytes()), folder.path(), options).cases.front();
}

// 0.3125 / 0.125 is 2.5, which rounds to 2; a larger quotient by one ULP would be 3.
const std::vector<double> kWithOneBoundary{0.1, 0.3125, 1.01, 2, 3.3, 5};

TEST(Stored, V82AnElementAtABoundaryMayBeOnTheNeighbouringStep) {
  EXPECT_EQ(verified_with(kWithOneBoundary, {1, 2, 8, 16, 26, 40}).status, "passed");
  const DataCase flipped = verified_with(kWithOneBoundary, {1, 3, 8, 16, 26, 40});
  EXPECT_EQ(flipped.status, "passed") << flipped.message;
  EXPECT_EQ(flipped.flips, 1);
  EXPECT_THAT(flipped.flips_node, HasSubstr("QuantizeLinear"));
}

TEST(Stored, V82TwoStepsAreADifference) {
  const DataCase far = verified_with(kWithOneBoundary, {1, 4, 8, 16, 26, 40});
  EXPECT_EQ(far.status, "failed");
  EXPECT_THAT(far.message, HasSubstr("output 'q': 1 element differs"));
}

TEST(Stored, V82WithoutABoundaryADifferentStepIsADifference) {
  const DataCase wrong = verified_with({0.1, 0.3, 1.01, 2, 3.3, 5}, {1, 3, 8, 16, 26, 40});
  EXPECT_EQ(wrong.status, "failed");
  EXPECT_EQ(wrong.flips, 0);
}

}  // namespace
}  // namespace relayout
