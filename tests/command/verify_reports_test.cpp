// Tests the files that verify writes.
#include <csignal>
#include <cstddef>

#include "command/browser.h"
#include "command/command_test.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
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

TEST_F(VerifyReports, JunitOfARefusedModel) {
  write_file(folder_ / "text.onnx", "this is no model");
  EXPECT_EQ(run({"verify", "a.onnx", "text.onnx", "--junit", "r.xml"}).code, 3);
  const std::string xml = read_file(folder_ / "r.xml");
  EXPECT_THAT(xml, HasSubstr("errors=\"1\""));
  EXPECT_THAT(xml, HasSubstr("exit 3</error>"));
}

TEST_F(VerifyReports, HtmlIsOnePageWithoutTheNetwork) {
  EXPECT_EQ(run({"verify", "a.onnx", "wrong.onnx", "--html", "r.html"}).code, 1);
  const std::string html = read_file(folder_ / "r.html");
  EXPECT_THAT(html, HasSubstr("✗ different"));
  EXPECT_THAT(html, HasSubstr("First wrong node"));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("://")));
}

TEST_F(VerifyReports, HtmlIsDrawnByABrowserWideAndNarrow) {
  ASSERT_EQ(run({"verify", "a.onnx", "wrong.onnx", "--html", "r.html"}).code, 1);
  expect_drawn(folder_, "r.html");
}

TEST_F(VerifyReports, LongTablesOfAPageAreSearched) {
  const std::string chromium = browser();
  if (chromium.empty()) GTEST_SKIP() << "no Chromium on this machine: the page is not searched";
  std::string nodes;
  for (int i = 0; i < 24; ++i) nodes += "v" + std::to_string(i + 1) + (i % 2 == 0 ? " = Tanh (v" : " = Neg (v") + std::to_string(i) + ")  ";
  write_file(folder_ / "long.onnx", TextModel("g (float[2] v0) => (float[2] v24) { " + nodes + "}").bytes());
  ASSERT_EQ(run({"verify", "long.onnx", "long.onnx", "--run-identical", "--layers", "--html", "r.html"}).code, 0);
  EXPECT_EQ(rows_found(chromium, folder_, "r.html", ""), "24 rows, said ");
  EXPECT_EQ(rows_found(chromium, folder_, "r.html", "neg"), "12 rows, said 12 of 24");
  EXPECT_EQ(rows_found(chromium, folder_, "r.html", "V2 tanh"), "2 rows, said 2 of 24");
}

TEST_F(VerifyReports, SavedDataIsReadAgain) {
  EXPECT_EQ(run({"verify", "a.onnx", "wrong.onnx", "--save-data", "cases", "--samples", "2"}).code, 1);
  EXPECT_EQ(run({"verify", "a.onnx", "--data", "cases"}).code, 0);
  EXPECT_EQ(run({"verify", "wrong.onnx", "--data", "cases"}).code, 1);
  expect_refusal(run({"verify", "a.onnx", "wrong.onnx", "--save-data", "cases"}), 2, "test_data_set_0 is there already");
}

TEST_F(VerifyReports, DataIsAFolderOfSetsOrOneOfThem) {
  ASSERT_EQ(run({"verify", "a.onnx", "a.onnx", "--run-identical", "--save-data", "cases", "--samples", "2"}).code, 0);
  EXPECT_THAT(run({"verify", "a.onnx", "--data", "cases"}).out, HasSubstr("4 of 4 passed"));
  EXPECT_THAT(run({"verify", "a.onnx", "--data", "cases/test_data_set_1"}).out, HasSubstr("2 of 2 passed"));
  fs::create_directory(folder_ / "none");
  expect_refusal(run({"verify", "a.onnx", "--data", "none"}), 3, "none: no test_data_set_N and no output_0.pb in it");
  expect_refusal(run({"verify", "a.onnx", "--data", "a.onnx"}), 5, "a.onnx: Not a directory");
  expect_refusal(run({"verify", "a.onnx", "--data", "nowhere"}), 5, "nowhere: No such file or directory");
  fs::remove(folder_ / "cases/test_data_set_1/output_0.pb");
  const ProcessResult half = run({"verify", "a.onnx", "--data", "cases"});
  EXPECT_EQ(half.code, 1);
  EXPECT_THAT(half.out, AllOf(HasSubstr("outputs: the model has 1, the folder has 0"), HasSubstr("2 of 4 passed")));
}

TEST_F(VerifyReports, OptionsForIdenticalFilesAreChecked) {
  EXPECT_EQ(run({"verify", "a.onnx", "a.onnx"}).code, 0);
  expect_refusal(run({"verify", "a.onnx", "a.onnx", "--dim", "N=3"}), 2, "--dim N: no input has a free dimension of this name");
  expect_refusal(run({"verify", "a.onnx", "a.onnx", "--input", "nope=none.npy"}), 2, "nope");
  const std::string input = load_model(folder_ / "a.onnx").graph().input(0).name();
  expect_refusal(run({"verify", "a.onnx", "a.onnx", "--input", input + "=none.npy"}), 5, "none.npy: No such file or directory");
}

TEST_F(VerifyReports, LayersAreATable) {
  const ProcessResult result = run({"verify", "a.onnx", "wrong.onnx", "--layers"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("first wrong node"));
  EXPECT_THAT(result.out, HasSubstr("in place"));
  expect_refusal(run({"verify", "a.onnx", "--data", ".", "--layers"}), 2, "--layers and --data exclude each other");
  expect_refusal(
      run({"verify", "a.onnx", "--data", ".", "--io", "nhwc"}), 2,
      "--io and --data exclude each other: stored inputs and outputs are those of MODEL's own interface; compare it with its original "
      "instead: relayout verify A B");
}

TEST_F(VerifyReports, ImagesAndTheirOptions) {
  write_file(folder_ / "p.ppm", "P6 1 1 255\n\xFF\x80\x01");
  EXPECT_EQ(run({"verify", "a.onnx", "a.onnx", "--run-identical", "--input", "x=p.ppm", "--mean", "0.4,0.5,0.4", "--std", "0.2"}).code, 0);
  std::filesystem::create_directory(folder_ / "epoch=3");
  std::filesystem::copy_file(folder_ / "p.ppm", folder_ / "epoch=3/p.ppm");
  EXPECT_EQ(run({"verify", "a.onnx", "a.onnx", "--run-identical", "--input", "x=epoch=3/p.ppm"}).code, 0);
  expect_refusal(run({"verify", "a.onnx", "a.onnx", "--input", "x=p.ppm", "--std", "0"}), 2, "--std 0: must be more than 0");
  expect_refusal(run({"verify", "a.onnx", "a.onnx", "--input", "x=p.ppm", "--mean", "red"}), 2, "'red' is not a number");
  expect_refusal(run({"verify", "a.onnx", "a.onnx", "--input", "x=p.ppm", "--resize", "1,2,3"}), 2,
                 "--resize 1,2,3: one size, or height and width");
}

TEST_F(VerifyReports, AFolderHasAFileForEachSample) {
  std::filesystem::create_directory(folder_ / "frames");
  for (const char* const name : {"1.ppm", "2.ppm", "3.ppm"})
    write_file(folder_ / "frames" / name, "P6 1 1 255\n\xFF\x80" + std::string(name, 1));
  const ProcessResult all = run({"verify", "a.onnx", "a.onnx", "--run-identical", "--input", "x=frames"});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("3 samples from frames/"));
  const ProcessResult two = run({"verify", "a.onnx", "wrong.onnx", "--input", "x=frames", "--samples", "2", "--json"});
  EXPECT_EQ(two.code, 1) << two.err;
  EXPECT_THAT(two.out, HasSubstr("\"x\": \"frames/2.ppm\""));
  EXPECT_THAT(two.out, Not(HasSubstr("frames/3.ppm")));
  expect_refusal(run({"verify", "a.onnx", "a.onnx", "--run-identical", "--input", "x=frames", "--samples", "4"}), 2, "frames has 3 files");
  expect_refusal(run({"profile", "a.onnx", "--input", "x=frames"}), 2, "--input takes a file here");
  write_file(folder_ / "frames/2.npy", "no array");
  expect_refusal(run({"verify", "a.onnx", "a.onnx", "--run-identical", "--input", "x=frames"}), 3, "frames/2.npy");
}

TEST_F(VerifyReports, OptionsOfImagesNeedAnImageToApplyTo) {
  const std::vector<std::string> verify{"verify", "a.onnx", "a.onnx", "--run-identical", "--input"};
  const auto with = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = verify;
    all.insert(all.end(), words.begin(), words.end());
    return run(all);
  };
  write_file(folder_ / "p.ppm", "P6 1 1 255\n\xFF\x80\x01");
  write_file(folder_ / "x.bin", std::string(std::size_t{3} * 8 * 8 * 4, '\0'));
  expect_refusal(with({"x=x.bin", "--mean", "0.5"}), 2, "--mean has no effect: no --input is an image");
  expect_refusal(with({"x=x.bin", "--std", "0.5"}), 2, "--std has no effect: no --input is an image");
  expect_refusal(with({"x=x.bin", "--resize", "8"}), 2, "--resize has no effect: no --input is an image");
  expect_refusal(with({"x=p.ppm", "--resize", "8"}), 2, "--resize has no effect: the model fixes height and width");
  EXPECT_EQ(with({"x=p.ppm", "--mean", "0.5"}).code, 0);
}

TEST_F(VerifyReports, V70InterruptedInTheMiddleLeavesNothing) {
  std::filesystem::create_directory(folder_ / "tmp");
  const ProcessResult result = run({"verify", "a.onnx", "wrong.onnx", "--samples", "100000", "--junit", "r.xml", "--html", "r.html"},
                                   {.environment = {{"TMPDIR", (folder_ / "tmp").string()}}, .signal_after = {{0.7, SIGINT}}});
  EXPECT_EQ(result.code, 130) << result.out << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "tmp"));
  EXPECT_THAT(folder_.entries(), testing::ElementsAre("a.onnx", "tmp/", "wrong.onnx"));
}

TEST_F(VerifyReports, V71WhereValuesDoNotFitIsExit5) {
  const ProcessResult result = run_process({"/bin/sh", "-c", "ulimit -f 1; exec \"$0\" verify a.onnx wrong.onnx --samples 64", program()},
                                           {.directory = folder_.path()});
  expect_refusal(result, 5, "temporary");
}

TEST_F(VerifyReports, AReportThatCannotBeWrittenIsExit5) {
  expect_refusal(run({"verify", "a.onnx", "a.onnx", "--junit", "no/such/r.xml"}), 5, "no/such/r.xml: cannot write");
}

}  // namespace
}  // namespace relayout::test
