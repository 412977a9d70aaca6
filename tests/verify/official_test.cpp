#include "verify/stored/official.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "relayout/datum.h"
#include "relayout/types.h"
#include "tensors.h"

namespace relayout {
namespace {

using testing::floats;
using ::testing::HasSubstr;
using testing::integers;
using testing::sequence;
using testing::strings;
using testing::tensor;

bool official(const Datum& result, const Datum& reference) {
  return official_rule_passes(result, reference, {});
}
StoredComparison stored(const Datum& result, const Datum& reference) {
  return compare_stored(result, reference, {});
}

// Results of the backend test's rule, measured on onnx 1.17.
TEST(OfficialRule, AcceptsTheMeasuredCases) {
  EXPECT_TRUE(official(integers({2}, {1, 0}, DataType::uint8), integers({2}, {1, 0}, DataType::boolean)));
  EXPECT_TRUE(official(floats({}, {3}), floats({8}, std::vector<double>(8, 3))));
  EXPECT_TRUE(official(floats({8}, std::vector<double>(8, 3)), floats({}, {3})));
  EXPECT_TRUE(official(integers({1}, {1000005}), integers({1}, {1000000})));
  EXPECT_TRUE(official(floats({2}, {std::nan(""), 1.0005}), floats({2}, {std::nan(""), 1})));
  EXPECT_TRUE(official(sequence({floats({1}, {1})}), sequence({floats({1}, {1}), floats({1}, {2})})));
  EXPECT_TRUE(official(floats({0}, {}), floats({0}, {})));
}

TEST(OfficialRule, RefusesTheMeasuredCases) {
  EXPECT_FALSE(official(tensor(DataType::float64, {1}, {1}), floats({1}, {1})));
  EXPECT_FALSE(official(floats({1, 5}, std::vector<double>(5, 1)), floats({5}, std::vector<double>(5, 1))));
  EXPECT_FALSE(official(floats({1}, {1.002}), floats({1}, {1})));
  EXPECT_FALSE(official(floats({1}, {1}), floats({1}, {std::numeric_limits<double>::infinity()})));
  EXPECT_FALSE(official(strings({1}, {"a"}), strings({1}, {"b"})));
  EXPECT_FALSE(official(integers({2}, {1, 2}, DataType::uint8), integers({2}, {1, 1}, DataType::boolean)));
  EXPECT_FALSE(official(floats({1}, {1}), sequence({floats({1}, {1})})));
}

TEST(StoredOutputs, TypesShapesAndEverythingNotFloatingAreExact) {
  EXPECT_FALSE(stored(integers({2}, {1, 0}, DataType::uint8), integers({2}, {1, 0}, DataType::boolean)).passed());
  EXPECT_FALSE(stored(floats({}, {3}), floats({1}, {3})).passed());
  EXPECT_FALSE(stored(integers({1}, {1000005}), integers({1}, {1000000})).passed());
  EXPECT_FALSE(stored(strings({1}, {"a"}), strings({1}, {"b"})).passed());
  EXPECT_FALSE(stored(sequence({floats({1}, {1})}), sequence({floats({1}, {1}), floats({1}, {2})})).passed());
  EXPECT_TRUE(stored(integers({2}, {1, 0}, DataType::boolean), integers({2}, {1, 0}, DataType::boolean)).passed());
  EXPECT_TRUE(stored(strings({1}, {"a"}), strings({1}, {"a"})).passed());
}

TEST(StoredOutputs, FloatsPassElementWiseOrByTheRange) {
  // 1e-3 of every element.
  EXPECT_TRUE(stored(floats({3}, {1.0009, 100.09, -10}), floats({3}, {1, 100, -10})).passed());
  EXPECT_FALSE(stored(floats({3}, {1.002, 1, -1}), floats({3}, {1, 1, -1})).passed());
  // A large relative error of a small element that is 9e-6 of the range passes; 2e-5 does not.
  EXPECT_TRUE(stored(floats({3}, {1.8e-5, 1, -1}), floats({3}, {0, 1, -1})).passed());
  EXPECT_FALSE(stored(floats({3}, {4e-5, 1, -1}), floats({3}, {0, 1, -1})).passed());
  // Without a range, the magnitude counts.
  EXPECT_TRUE(stored(floats({2}, {5, 5}), floats({2}, {5, 5})).passed());
  EXPECT_TRUE(stored(floats({2}, {0, 0}), floats({2}, {0, 0})).passed());
  EXPECT_FALSE(stored(floats({2}, {1, 1}), floats({2}, {0, 0})).passed());
}

TEST(StoredOutputs, NonFiniteElementsMustAgree) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(stored(floats({3}, {nan, infinity, 1}), floats({3}, {nan, infinity, 1})).passed());
  EXPECT_FALSE(stored(floats({3}, {nan, infinity, 1}), floats({3}, {0, infinity, 1})).passed());
  EXPECT_FALSE(stored(floats({3}, {0, 5, 1}), floats({3}, {0, infinity, 1})).passed());
  EXPECT_FALSE(stored(floats({3}, {0, -infinity, 1}), floats({3}, {0, infinity, 1})).passed());
}

TEST(StoredOutputs, EightBitFloatsAreCastsAndExact) {
  const auto f8 = [](double first) { return tensor(DataType::float8e4m3fn, {2}, {first, 448}); };
  EXPECT_TRUE(stored(f8(1), f8(1)).passed());
  EXPECT_FALSE(stored(f8(1.125), f8(1)).passed());
}

TEST(StoredOutputs, MessagesNamePlaceAndValues) {
  EXPECT_THAT(stored(floats({2, 2}, {1, 2, 3, 5}), floats({2, 2}, {1, 2, 3, 4})).message,
              HasSubstr("1 of 4 elements is beyond the tolerance, error/range 3.3e-01, worst [1, 1]: 5, stored 4"));
  EXPECT_THAT(stored(floats({1}, {1}), floats({2}, {1, 1})).message, HasSubstr("f32[1], was f32[2]"));
}

}  // namespace
}  // namespace relayout
