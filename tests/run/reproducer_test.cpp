// Tests reproducers: a node at fault alone fails as the whole does, with the values that it had there.
#include "relayout/reproducer.h"

#include <gmock/gmock.h>

#include "relayout/error.h"
#include "relayout/verify.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class ReproducerTest : public testing::Test {
 protected:
  std::vector<Reproducer> reproduce(const std::string& a, const std::string& b) {
    write_file(folder_ / "a.onnx", TextModel(a).bytes());
    write_file(folder_ / "b.onnx", TextModel(b).bytes());
    VerifyOptions options;
    options.save_data = folder_ / "samples";
    std::filesystem::remove_all(options.save_data);
    return save_reproducers(verify(folder_ / "a.onnx", folder_ / "b.onnx", options), options, folder_ / "repro");
  }
  static std::string net(const std::string& slope) {
    return "g (float[N,4] x) => (float[N,4] y) <float[4,4] w, float[4,4] u> { a = MatMul (x, w)  b = LeakyRelu <alpha = " + slope +
           "> (a)  c = MatMul (b, u)  y = Tanh (c) }";
  }
  TemporaryFolder folder_;
};

TEST_F(ReproducerTest, TheNodeAloneFails) {
  const auto made = reproduce(net("0.1"), net("0.2"));
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].op_type, "LeakyRelu");
  EXPECT_EQ(made[0].reason, "");
  EXPECT_TRUE(made[0].differs);
  EXPECT_EQ(made[0].nodes_a, 1);
  EXPECT_EQ(made[0].nodes_b, 1);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "repro" / "1" / "test_data_set_0" / "output_0.pb"));
  EXPECT_THAT(
      read_file(folder_ / "repro" / "1" / "README.txt"),
      AllOf(HasSubstr("(LeakyRelu)"), HasSubstr("relayout verify a.onnx b.onnx --match position --input a=test_data_set_0/input_0.pb")));
  EXPECT_THAT(refusal_of(ErrorKind::usage, [&] { return reproduce(net("0.1"), net("0.2")); }), HasSubstr("is there already"));
}

TEST_F(ReproducerTest, ARegionReachesToTheValuesThatBothHave) {
  const auto made = reproduce("g (float[2,4] x) => (float[2,4] y) <float[4] s> { a = Exp (x)  p = Mul (a, s)  q = Neg (p)  y = Tanh (q) }",
                              "g (float[2,4] x) => (float[2,4] y) <float[4] s> { a = Exp (x)  r = Neg (a)  q = Mul (s, a)  y = Tanh (q) }");
  ASSERT_FALSE(made.empty());
  EXPECT_TRUE(made[0].differs) << made[0].reason;
  EXPECT_EQ(made[0].nodes_a, 2);
  EXPECT_EQ(made[0].nodes_b, 1);
}

TEST_F(ReproducerTest, NothingIsWrittenForModelsThatAgree) {
  EXPECT_THAT(reproduce(net("0.1"), net("0.1")), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "repro"));
}

}  // namespace
}  // namespace relayout::test
