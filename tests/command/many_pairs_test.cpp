// Tests many models per call, each against its original, and the program started by a loader, as an installed tree starts it.
#include <elf.h>

#include <cstddef>
#include <cstring>

#include "command/command_test.h"
#include "report/json.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class ManyPairs : public CommandTest {
 protected:
  void SetUp() override {
    onnx::ModelProto model = conv_batch_norm();
    for (const char* const name : {"good.onnx", "bad.onnx"}) save_model(model, folder_ / name);
    for (const char* const name : {"good.onnx", "bad.onnx"}) ASSERT_EQ(run({"convert", name}).code, 0);
    model = load_model(folder_ / "bad.cl.onnx");
    model.mutable_graph()->mutable_initializer(0)->mutable_raw_data()->at(3) ^= 1;
    save_model(model, folder_ / "bad.cl.onnx");
    write_file(folder_ / "text.onnx", "no model");
    write_file(folder_ / "text.cl.onnx", "no model");
  }
};

TEST_F(ManyPairs, AllThatAreTheSame) {
  const ProcessResult result = run({"verify", "--original", "{stem}.onnx", "good.cl.onnx", "good.cl.onnx", "--github"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("same   good.cl.onnx   against good.onnx\n"));
  EXPECT_THAT(result.out, HasSubstr("2 models: 2 same   exit 0\n"));
  EXPECT_EQ(result.err, "");
}

TEST_F(ManyPairs, OneReportOfAll) {
  const ProcessResult result = run({"verify", "--original", "{stem}.onnx", "bad.cl.onnx", "good.cl.onnx", "text.cl.onnx", "--github",
                                    "--markdown", "r.md", "--junit", "r.xml"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.out, HasSubstr("3 models: 1 same, 1 different, 1 failed   exit 3\n"));
  EXPECT_THAT(result.err, HasSubstr("::error file=bad.cl.onnx,title=relayout verify::"));
  EXPECT_THAT(result.err, HasSubstr("::error file=text.cl.onnx,"));
  EXPECT_THAT(result.err, Not(HasSubstr("file=good.cl.onnx")));
  EXPECT_THAT(read_file(folder_ / "r.md"), HasSubstr("| ✅ passed | <code>relayout verify good.onnx good.cl.onnx</code>"));
  EXPECT_THAT(read_file(folder_ / "r.md"), HasSubstr("| ❌ failed | <code>relayout verify bad.onnx bad.cl.onnx</code>"));
  const std::string xml = read_file(folder_ / "r.xml");
  std::size_t suites = 0;
  for (std::size_t at = 0; (at = xml.find("<testsuite ", at)) != std::string::npos; ++at) ++suites;
  EXPECT_EQ(suites, 3U);
}

TEST_F(ManyPairs, AWrongPatternIsOneLine) {
  expect_refusal(run({"verify", "--original", "{foo}.onnx", "bad.cl.onnx", "good.cl.onnx"}), 2,
                 "pattern '{foo}.onnx': '{foo}' is none of {stem}, {stem%SUFFIX}, {name}, {dir}");
}

TEST_F(ManyPairs, AHintIsPrintedOnceAfterAllModels) {
  write_file(
      folder_ / "free.onnxtxt",
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,F] x) => (float[7,11,C] y) <int64[3] s = {7, 11, -1}> { y = Reshape (x, s) }");
  for (const char* const name : {"a.onnx", "b.onnx", "c.onnx"}) ASSERT_EQ(run({"convert", "free.onnxtxt", "-o", name}).code, 0);
  const ProcessResult result = run({"verify", "--original", "free.onnxtxt", "a.onnx", "b.onnx", "c.onnx", "--run-identical"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(line_count(result.err), 4U) << result.err;
  EXPECT_TRUE(result.err.ends_with("\nhint: give its size: --dim F=SIZE\n")) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("--dim")));
}

TEST_F(ManyPairs, OneDocumentOfAll) {
  const ProcessResult result = run({"verify", "--original", "{stem}.onnx", "bad.cl.onnx", "nothing.cl.onnx", "--json"});
  EXPECT_EQ(result.code, 5);
  const Json document = Json::parse(result.out, "report");
  EXPECT_EQ(document.find("schema")->text(), "relayout.verify-pairs/1");
  const Json pairs = *document.find("pairs");
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs.at(0)->find("verdict")->text(), "different");
  EXPECT_EQ(pairs.at(1)->find("exit_code")->number(), 5);
  EXPECT_THAT(*pairs.at(1)->find("reason")->text(), HasSubstr("nothing.onnx"));
}

TEST_F(ManyPairs, RefusesConflictingOptions) {
  expect_refusal(run({"verify", "--original", "{stem}.onnx"}), 2, "models to be judged");
  expect_refusal(run({"verify", "--original", "{stem}.onnx", "good.cl.onnx", "--html", "r.html"}), 2, "--html");
}

TEST_F(ManyPairs, OnePairHasTheSameReports) {
  const ProcessResult result = run({"verify", "bad.onnx", "bad.cl.onnx", "--markdown", "r.md", "--github"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("::error file=bad.cl.onnx,"));
  EXPECT_THAT(read_file(folder_ / "r.md"), HasSubstr("❌ failed"));
}

TEST_F(ManyPairs, VersionAsADocument) {
  const Json document = Json::parse(run({"--version", "--json"}).out, "version");
  EXPECT_THAT(run({"--version"}).out,
              HasSubstr("relayout " + *document.find("version")->text() + " (ONNX " + *document.find("onnx")->text()));
  expect_refusal(run({"--version", "--other"}), 2, "--json");
}

/// The loader that the program names: the segment of type PT_INTERP.
std::string loader_of(const std::string& program) {
  const std::string file = read_file(program);
  Elf64_Ehdr head{};
  std::memcpy(&head, file.data(), sizeof head);
  for (std::size_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment{};
    std::memcpy(&segment, file.data() + head.e_phoff + i * head.e_phentsize, sizeof segment);
    if (segment.p_type == PT_INTERP) return file.substr(segment.p_offset, segment.p_filesz - 1);
  }
  return {};
}

TEST_F(ManyPairs, SuiteOfAProgramThatALoaderStarted) {
  if (!read_file(program()).starts_with("\x7f"
                                        "ELF"))
    GTEST_SKIP() << program() << " is started by a script";
  const std::string loader = loader_of(program()), launcher = (folder_ / "launch er").string();
  ASSERT_TRUE(fs::exists(loader)) << loader;
  write_file(launcher, "#!/bin/sh\nexec " + loader + " --argv0 \"$0\" '" + program() + "' \"$@\"\n");
  fs::permissions(launcher, fs::perms::owner_all);
  const std::string tree = source_folder() + "/testdata";
  const ProcessResult good = run_process({launcher, "verify", "--suite", tree}, {.directory = folder_.path()});
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_THAT(good.out, HasSubstr("1 of 1 case passed"));
  // A program that cannot start itself again reports it: a child that is the loader alone would be counted as a crash.
  expect_refusal(run_process({loader, "--argv0", "relayout", program(), "verify", "--suite", tree}), 5, "cannot start itself again");
}

}  // namespace
}  // namespace relayout::test
