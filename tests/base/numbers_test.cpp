// Tests numbers as text: digits, zero, non-finite values.
#include "base/numbers.h"

#include <gtest/gtest.h>

#include <limits>

namespace relayout::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Numbers, FixedAndSignificantDigits) {
  EXPECT_EQ(fixed(3.14159, 2), "3.14");
  EXPECT_EQ(fixed(1e30, 0), "1000000000000000019884624838656");
  EXPECT_EQ(significant(0.0314159, 3), "0.0314");
  EXPECT_EQ(significant(3.14159e-7, 2), "3.1e-07");
  EXPECT_EQ(significant(5, 6), "5");
}

TEST(Numbers, ThreeDigitsAreRoundedBeforeTheyAreCounted) {
  EXPECT_EQ(three_digits(1.234), "1.23");
  EXPECT_EQ(three_digits(9.994), "9.99");
  EXPECT_EQ(three_digits(9.997), "10.0");
  EXPECT_EQ(three_digits(99.97), "100");
  EXPECT_EQ(three_digits(-12.34), "-12.3");
}

TEST(Numbers, Percent) {
  EXPECT_EQ(percent_text(0.125), "12.5 %");
  EXPECT_EQ(percent_text(1), "100.0 %");
  EXPECT_EQ(share_text(0.98766), "98.77 %");
  EXPECT_EQ(share_text(0.999999), "99.99 %");
  EXPECT_EQ(share_text(1), "100 %");
}

TEST(Numbers, Decibels) {
  EXPECT_EQ(decibels(12.34), "12.3 dB");
  EXPECT_EQ(decibels(kInfinity), "no loss");
  EXPECT_EQ(decibels(-kInfinity), "nothing left");
}

TEST(Numbers, Scientific) {
  EXPECT_EQ(scientific(1.23e-6), "1.2e-06");
  EXPECT_EQ(scientific(0), "0");
  EXPECT_EQ(scientific(-kInfinity), "-∞");
}

TEST(Numbers, ShortestReadsBackAsTheSameValueOfItsType) {
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(0.1F), "0.1");
  EXPECT_EQ(shortest(static_cast<double>(0.1F)), "0.10000000149011612");
  EXPECT_EQ(shortest(1e300), "1e+300");
  EXPECT_EQ(shortest(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(shortest(kInfinity), "inf");
}

TEST(Numbers, ExactNumbersTakeTheDigitsOfFloat32WhereTheyCan) {
  EXPECT_EQ(exact_number(static_cast<double>(0.1F)), "0.1");
  EXPECT_EQ(exact_number(0.1), "0.1");
  EXPECT_EQ(exact_number(0.30000000000000004), "0.30000000000000004");
}

TEST(Numbers, Seconds) {
  EXPECT_EQ(seconds_text(4.21), "4.2 s");
  EXPECT_EQ(seconds_text(63.4), "63 s");
}

TEST(Numbers, Bytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(102'549'000), "102.5 MB");
  EXPECT_EQ(format_bytes(999'999'999), "1.0 GB");
}

TEST(Numbers, Counts) {
  EXPECT_EQ(format_count(7), "7");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(-123456), "-123,456");
  EXPECT_EQ(format_count(100), "100");
  EXPECT_EQ(counted(1, "weight"), "1 weight");
  EXPECT_EQ(counted(0, "weight"), "0 weights");
  EXPECT_EQ(counted(2000, "weight"), "2,000 weights");
  EXPECT_EQ(counted(1, "element is", "elements are"), "1 element is");
  EXPECT_EQ(counted(1234, "element is", "elements are"), "1,234 elements are");
}

TEST(Numbers, AbbreviatedCountsNeverShow1000OfAUnit) {
  EXPECT_EQ(short_count(0), "0");
  EXPECT_EQ(short_count(999), "999");
  EXPECT_EQ(short_count(1000), "1.0 k");
  EXPECT_EQ(short_count(999'949), "999.9 k");
  EXPECT_EQ(short_count(999'951), "1.0 M");
  EXPECT_EQ(macs_text(12), "12 MAC");
  EXPECT_EQ(macs_text(10'580), "10.6 kMAC");
  EXPECT_EQ(macs_text(999'600), "1.00 MMAC");
  EXPECT_EQ(macs_text(301'000'000), "301 MMAC");
}

}  // namespace
}  // namespace relayout::test
