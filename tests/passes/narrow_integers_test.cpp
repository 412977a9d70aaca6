// Tests integers of 64 bits in 32: which values change, which do not, and that the numbers are those of the original.
#include <gmock/gmock.h>

#include "ops/constants.h"
#include "relayout/datum.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/tensor.h"
#include "support/compute.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

PassResult narrowed(const TextModel& model) {
  PassOptions options;
  options.narrow_integers = true;
  PassResult out = run({"narrow-integers"}, model, options);
  EXPECT_TRUE(run({"narrow-integers"}, TextModel::of(out.bytes), options).bytes == out.bytes) << to_text(*out.model);
  return out;
}

template <class Number>
Datum ids(DataType type, const Dims& dims, const std::vector<int64_t>& numbers) {
  Tensor out(type, dims);
  for (std::size_t i = 0; i < numbers.size(); ++i) out.data<Number>()[i] = static_cast<Number>(numbers[i]);
  return Datum(out);
}

/// Results of both models for the same numbers, as bytes.
void expect_same_numbers(const TextModel& before, const PassResult& after, const Dims& dims, const std::vector<int64_t>& numbers) {
  const auto wanted = compute(*before.load(), {{"x", ids<int64_t>(DataType::int64, dims, numbers)}});
  const auto found = compute(*after.model, {{"x", ids<int32_t>(DataType::int32, dims, numbers)}});
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].tensor.type(), wanted[i].tensor.type());
    ASSERT_EQ(found[i].tensor.dims(), wanted[i].tensor.dims());
    EXPECT_EQ(std::memcmp(found[i].tensor.bytes(), wanted[i].tensor.bytes(),
                          static_cast<std::size_t>(*bytes_in_memory(found[i].tensor.type(), found[i].tensor.dims()))),
              0);
  }
}

TEST(NarrowIntegers, TokensAndPositions) {
  const TextModel model(
      "g (int64[1,L] x) => (float[1,L,2] y) <float[5,2] words = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, float[4,2] places = {1, 0, 2, 0, 3, 0, 4, "
      "0}, int64[1,4] p = {3, 2, 1, 0}, int64[1] zero = {0}, int64 one = {1}, int64[1] axis = {1}> { s = Shape (x)  l = Gather (s, one)  e "
      "= Unsqueeze (l, zero)  q = Slice (p, zero, e, axis)  w = Gather (words, x)  r = Gather (places, q)  y = Add (w, r) }");
  const PassResult result = narrowed(model);
  const std::string text = to_text(*result.model);
  EXPECT_THAT(text, HasSubstr("int32[1,L] x"));
  EXPECT_THAT(text, HasSubstr("int32[1,4] p"));
  // The ends of the Slice are computed from a Shape, and stay.
  EXPECT_THAT(text, HasSubstr("int64 one"));
  EXPECT_THAT(text, HasSubstr("int64[1] zero"));
  EXPECT_EQ(result.count("Cast"), 0);
  EXPECT_TRUE(result.reasons().empty()) << result.details();
  EXPECT_LT(result.bytes.size(), model.bytes().size());
  expect_same_numbers(model, result, {1, 3}, {4, 0, -1});
}

TEST(NarrowIntegers, ArithmeticStaysWide) {
  // 2147483647 + 2 is no number of 32 bits.
  const TextModel model(
      "g (int64[3] x) => (float[3] y, int64[3] z) <int64 two = {2}> { a = Add (x, two)  y = Cast <to = 1> (a)  z = "
      "Identity (x) }");
  const PassResult result = narrowed(model);
  EXPECT_EQ(result.count("Cast"), 2);
  EXPECT_THAT(result.reasons(), ElementsAre(Reason::overflow, Reason::operator_output_visible));
  EXPECT_THAT(to_text(*result.model), HasSubstr("int64 two"));
  expect_same_numbers(model, result, {3}, {2147483647, -2147483647 - 1, 5});
}

TEST(NarrowIntegers, MovedComparedAndCast) {
  const TextModel model(
      "g (int64[2,3] x) => (float[3,2] y, bool[2,3] e, float[2,3] k) <int64[2,3] pad = {7, 7, 7, 7, 7, 7}, int64[2] d = {3, 2}, int64 big "
      "= "
      "{4294967296}, int64 limit = {2}> { c = Less (x, limit)  w = Where (c, pad, x)  r = Reshape (w, d)  y = Cast <to = 1> (r)  e = "
      "Equal (x, big)  b = Cast <to = 7> (c)  v = Where (c, b, x)  k = Cast <to = 1> (v) }");
  const PassResult result = narrowed(model);
  const std::string text = to_text(*result.model);
  EXPECT_THAT(text, HasSubstr("int32[2,3] pad"));
  EXPECT_THAT(text, HasSubstr("int64[2] d"));
  EXPECT_THAT(text, HasSubstr("int64 big"));
  EXPECT_THAT(text, HasSubstr("b = Cast <to: int = 6> (c)"));
  EXPECT_THAT(result.reasons(), ElementsAre(Reason::overflow)) << result.details();  // 2^32 is no number of 32 bits
  EXPECT_EQ(result.count("Cast"), 4);
  expect_same_numbers(model, result, {2, 3}, {1, 2, 3, -4, 0, 2147483647});
}

TEST(NarrowIntegers, CastsThatEndInIt) {
  const TextModel model(
      "g (int64[2] x) => (float[2,2] y, int32[2] z) <float[3,2] w = {1, 2, 3, 4, 5, 6}> { i = Cast <to = 6> (x)  j = Cast <to = 7> (i)  "
      "y = Gather (w, j)  z = Cast <to = 6> (x) }");
  const PassResult result = narrowed(model);
  EXPECT_EQ(result.count("Cast"), 1) << to_text(*result.model);  // of the output
  expect_same_numbers(model, result, {2}, {2, 1});
}

TEST(NarrowIntegers, SharedConstantsServeBoth) {
  const TextModel model(
      "g (int64[2,1] x) => (float[1,2] y) <int64[2] d = {1, 2}> { e = Less (x, d)  k = Cast <to = 1> (x)  y = Reshape (k, "
      "d)  n = Not (e) }");
  const PassResult result = narrowed(model);
  EXPECT_THAT(to_text(*result.model), HasSubstr("int64[2] d"));
  EXPECT_THAT(to_text(*result.model), HasSubstr("int32[2] d.i32"));
  expect_same_numbers(model, result, {2, 1}, {1, 5});
}

TEST(NarrowIntegers, GraphsInsideReadCasts) {
  const TextModel model(
      "g (int64[2] x, bool c) => (int64[2] y) { y = If (c) <then_branch = a () => (int64[2] t) { t = Add (x, x) }, "
      "else_branch = b () => (int64[2] e) { e = Neg (x) }> }");
  const PassResult result = narrowed(model);
  EXPECT_EQ(result.count("Cast"), 1);
  EXPECT_THAT(to_text(*result.model), HasSubstr("Add (x.i64, x.i64)"));
}

TEST(NarrowIntegers, WhatOperatorsWantInInt64) {
  const TextModel model(
      "g (int64[2] x, float[6] v) => (a, b) { a = Reshape (v, x)  m = Trilu (x)  u = Unsqueeze (x, m)  b = Cast <to = 1> "
      "(u) }");
  const PassResult result = narrowed(model);
  EXPECT_THAT(result.reasons(), testing::UnorderedElementsAre(Reason::type_not_allowed, Reason::no_kernel)) << result.details();
  // An input that is an output too keeps its type.
  const PassResult kept = narrowed("g (int64[2] x) => (int64[2] x, float[2] y) { y = Cast <to = 1> (x) }");
  EXPECT_THAT(kept.reasons(), ElementsAre(Reason::operator_output_visible));
  EXPECT_THAT(to_text(*kept.model), Not(HasSubstr("int32")));
}

}  // namespace
}  // namespace relayout::test
