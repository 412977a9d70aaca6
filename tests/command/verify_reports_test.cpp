// What verify writes into files.
#include "command_test.h"

namespace relayout::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class VerifyReports : public CommandTest {
 protected:
  void SetUp() override {
    onnx::ModelProto model = conv_batch_norm();
    save_model(model, folder_ / "a.onnx");
    initializer(model, "b").mutable_raw_data()->at(3) ^= 1;
    save_model(model, folder_ / "wrong.onnx");
  }
};

TEST_F(VerifyReports, JunitOfADifference) {
  EXPECT_EQ(run({"verify", "a.onnx", "wrong.onnx", "--junit", "r.xml"}).code, 1);
  const std::string xml = read_file(folder_ / "r.xml");
  EXPECT_THAT(xml, HasSubstr("<testcase classname=\"relayout.verify.wrong\" name=\"y sample 0\" file=\"wrong.onnx\""));
  EXPECT_THAT(xml, HasSubstr("<failure message="));
  EXPECT_THAT(xml, Not(HasSubstr("errors=\"1\"")));
}

TEST_F(VerifyReports, JunitOfWhatCouldNotRun) {
  write_file(folder_ / "text.onnx", "this is no model");
  EXPECT_EQ(run({"verify", "a.onnx", "text.onnx", "--junit", "r.xml"}).code, 3);
  const std::string xml = read_file(folder_ / "r.xml");
  EXPECT_THAT(xml, HasSubstr("errors=\"1\""));
  EXPECT_THAT(xml, HasSubstr("exit 3</error>"));
}

TEST_F(VerifyReports, AReportThatCannotBeWrittenIsExit5) {
  expect_refusal(run({"verify", "a.onnx", "a.onnx", "--junit", "no/such/r.xml"}), 5, "no/such/r.xml: cannot write");
}

}  // namespace
}  // namespace relayout::test
