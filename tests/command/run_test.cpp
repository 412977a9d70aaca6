// Tests `relayout run` on the command line: values as text and document, exit codes, refusals.

#include "command/command_test.h"
#include "report/json.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class RunCommand : public CommandTest {
 protected:
  RunCommand() {
    write_file(folder_ / "net.onnxtxt",
               R"(<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { a = Exp (x)  y = Sub (a, a) })");
  }
};

TEST_F(RunCommand, ShowsChosenValues) {
  const ProcessResult text = run({"run", "net.onnxtxt", "--input", "x=1,2", "--tensors", "a", "--stats", "--save", "a.npz"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(StartsWith("net.onnxtxt   as-written · 2 values in "), HasSubstr("a      f32[2]  2.718  7.389  5.054"),
                              HasSubstr("saved 1 value, ")));
  const Json report = Json::parse(run({"run", "net.onnxtxt", "--input", "x=1,2", "--json", "--require-finite"}).out, "report");
  EXPECT_EQ(report.text("schema"), "relayout.run/1");
  EXPECT_EQ(report.find("tensors")->at(0)->text("name"), "y");
  EXPECT_EQ(report.find("finite")->dump(), "true");
  EXPECT_EQ(run({"run", "net.onnxtxt", "--quiet"}).out, "");
}

TEST_F(RunCommand, NamesTheFirstNodeThatIsNotFinite) {
  const ProcessResult text = run({"run", "net.onnxtxt", "--input", "x=1,99", "--require-finite"});
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.out, HasSubstr("not finite   'a' f32[2], made by node 'a' (Exp): 1 ∞ of 2 numbers, the others 2.718 … 2.718\n"
                                  "  reads x  1 … 99\n"));
  const Json fault =
      *Json::parse(run({"run", "net.onnxtxt", "--input", "x=1,99", "--require-finite", "--json"}).out, "r").find("first_fault");
  EXPECT_EQ(fault.text("op_type"), "Exp");
  EXPECT_EQ(fault.find("operands")->at(0)->find("statistics")->find("max")->number(), 99);
  const ProcessResult rounded = run({"run", "net.onnxtxt", "--input", "x=1,12", "--require-finite", "--as", "fp16"});
  EXPECT_EQ(rounded.code, 1);
  EXPECT_THAT(rounded.out, HasSubstr("out of range   'a' f32[2], made by node 'a' (Exp): 2.718 … 1.628e+05, beyond f16"));
}

TEST_F(RunCommand, Refuses) {
  expect_refusal(run({"run", "net.onnxtxt", "--tensors", "b"}), 2, "--tensors 'b': no value has a name like that");
  expect_refusal(run({"run", "net.onnxtxt", "--as", "fp16"}), 2, "--as");
  expect_refusal(run({"run", "net.onnxtxt", "--save", "there/a.npz"}), 5, "there/a.npz");
  expect_refusal(run({"run", "net.onnxtxt", "--input", "z=1"}), 2, "z");
}

}  // namespace
}  // namespace relayout::test
