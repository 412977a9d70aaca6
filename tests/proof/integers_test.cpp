// Tests proofs of integers in 32 bits for integers in 64, and near misses, which overflow or may.

#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

/// With x of 32 bits, which the second model reads through a Cast, as verify puts it there.
bool is_same(const std::string& a, const std::string& b, bool fits = true) {
  Example first("g (int64[2,3] x, bool[2,3] c) => (y) { " + a + " }"),
      second("g (int64[2,3] x, bool[2,3] c) => (y) { i = Cast <to = 6> (x) " + b + " }");
  const auto reads = [](const std::string& text, const char* name) { return text.find(name) != std::string::npos; };
  const auto add = [](Example& example, const char* name, auto last) {
    const std::vector numbers{decltype(last){1}, decltype(last){2}, decltype(last){3}, decltype(last){4}, decltype(last){5}, last};
    example.add(name, {1, 2}).tensor(name).add_dims(3);
    onnx::TensorProto& tensor = example.tensor(name);
    tensor.set_data_type(sizeof(last) == sizeof(int32_t) ? onnx::TensorProto::INT32 : onnx::TensorProto::INT64);
    tensor.set_raw_data(std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(last)));
  };
  for (auto [example, text] : {std::pair(&first, &a), std::pair(&second, &b)}) {
    if (reads(*text, "(w,")) example->add("w", normal("w", {9, 2}));
    if (reads(*text, ", d)")) example->add("d", {6});
    if (reads(*text, ", e)")) example->add("e", {0});
    if (reads(*text, ", ax)")) example->add("ax", std::vector<int64_t>{0, 1});
  }
  if (reads(a, ", k)")) add(first, "k", int64_t{6});
  if (reads(b, ", k)")) add(second, "k", int32_t{6});
  if (reads(b, ", o)")) add(second, "o", int32_t{7});
  ProofOptions options{.digests = false};
  if (fits) options.narrow_inputs = {"x"};
  const auto model_a = first.model(), model_b = second.model();
  return prove(*model_a, *model_b, options).proved;
}

TEST(ProofOfIntegers, MovedPickedComparedAndCast) {
  EXPECT_TRUE(is_same("y = Gather (w, x)", "y = Gather (w, i)"));
  EXPECT_TRUE(is_same("r = Reshape (x, d) y = Gather (w, r)", "r = Reshape (i, d) y = Gather (w, r)"));
  EXPECT_TRUE(is_same("v = Where (c, x, k) y = Cast <to = 1> (v)", "v = Where (c, i, k) y = Cast <to = 1> (v)"));
  EXPECT_TRUE(is_same("y = Less (x, k)", "y = Less (i, k)"));
  EXPECT_TRUE(is_same("b = Cast <to = 7> (c) y = Equal (x, b)", "b = Cast <to = 6> (c) y = Equal (i, b)"));
  EXPECT_TRUE(is_same("y = Neg (x)", "j = Cast <to = 7> (i) y = Neg (j)"));
  EXPECT_TRUE(is_same("y = Shape (x)", "y = Shape (i)"));
  EXPECT_TRUE(is_same("u = Unsqueeze (x, e) v = Unsqueeze (u, e) y = Cast <to = 1> (v)", "v = Unsqueeze (i, ax) y = Cast <to = 1> (v)"));
  EXPECT_TRUE(is_same("r = Reshape (x, d) b = Cast <to = 7> (r) y = Neg (b)", "r = Reshape (i, d) b = Cast <to = 7> (r) y = Neg (b)"));
}

TEST(ProofOfIntegers, NearMisses) {
  EXPECT_FALSE(is_same("y = Gather (w, x)", "y = Gather (w, i)", false));  // numbers of 64 bits lose their upper half
  EXPECT_FALSE(is_same("y = Neg (x)", "j = Cast <to = 7> (i) y = Neg (j)", false));
  EXPECT_FALSE(is_same("v = Where (c, x, k) y = Cast <to = 1> (v)", "v = Where (c, i, o) y = Cast <to = 1> (v)"));
  EXPECT_FALSE(is_same("v = Add (x, k) y = Cast <to = 1> (v)", "v = Add (i, k) y = Cast <to = 1> (v)"));
  EXPECT_FALSE(is_same("v = Mul (x, x) y = Gather (w, v)", "v = Mul (i, i) y = Gather (w, v)"));
  EXPECT_FALSE(is_same("v = Neg (x) y = Cast <to = 1> (v)", "v = Neg (i) y = Cast <to = 1> (v)"));
  EXPECT_FALSE(is_same("v = ReduceSum (x) y = Cast <to = 1> (v)", "v = ReduceSum (i) y = Cast <to = 1> (v)"));
  EXPECT_FALSE(is_same("b = Cast <to = 1> (x) v = Cast <to = 7> (b) y = Gather (w, v)",
                       "b = Cast <to = 1> (i) v = Cast <to = 6> (b) y = Gather (w, v)"));  // 2^31 from 2^31 − 1
  EXPECT_FALSE(is_same("v = ReduceSum (x) y = Neg (v)", "v = ReduceSum (i) j = Cast <to = 7> (v) y = Neg (j)"));
  // A value that is the same by its numbers is not the same by its type.
  EXPECT_FALSE(is_same("g = Gather (w, x) v = Add (x, k) r = ReduceMax <keepdims = 0> (v) f = Cast <to = 1> (r) y = Add (g, f)",
                       "g = Gather (w, i) v = Add (i, k) r = ReduceMax <keepdims = 0> (v) f = Cast <to = 1> (r) y = Add (g, f)"));
}

}  // namespace
}  // namespace relayout::test
