// Tests the contract of every command: streams, exit codes, help, version, configuration, colors, progress.
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <sstream>

#include "command/command_test.h"
#include "report/json.h"
#include "support/golden.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Contract : public CommandTest {
 protected:
  Contract() { save_model(conv_batch_norm(), folder_ / "net.onnx"); }

  /// The one document on standard output.
  static Json document(const ProcessResult& result) { return Json::parse(result.out, "output"); }
};

TEST_F(Contract, HelpIsGolden) {
  EXPECT_TRUE(is_golden(run({"--help"}).out, golden("help/relayout.txt")));
  for (const char* command : {"convert", "verify", "inspect", "profile", "diff", "derive", "merge", "run", "extract", "report"}) {
    const ProcessResult result = run({command, "--help"});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(is_golden(result.out, golden("help/" + std::string(command) + ".txt")));
    EXPECT_THAT(run({"help", command}).out, testing::StartsWith(result.out));  // the manual continues where --help ends
    EXPECT_THAT(result.out, HasSubstr("Examples:"));
  }
}

TEST_F(Contract, TheManualHasATopicForEachLineOfTheHelp) {
  const std::string help = run({"--help"}).out;
  EXPECT_EQ(run({"help"}).out, help);
  for (const char* topic : {"ci", "files", "layout", "numbers", "operators", "precision", "reasons", "suites", "verdicts"}) {
    EXPECT_THAT(help, HasSubstr("\n  " + std::string(topic) + "  "));
    const ProcessResult result = run({"help", topic});
    EXPECT_EQ(result.code, 0);
    EXPECT_GT(std::ranges::count(result.out, '\n'), 10) << topic;
  }
  // A word that the manual explains within a topic shows that part.
  const std::string doubts = run({"help", "doubts"}).out;
  EXPECT_THAT(doubts, HasSubstr("edge-values"));
  EXPECT_THAT(doubts, testing::Not(HasSubstr("141")));
  EXPECT_EQ(run({"help", "edge-values"}).out, doubts);
  expect_refusal(run({"help", "verdict"}), 2, "did you mean 'verdicts'?");
  expect_refusal(run({"help", "verify", "convert"}), 2, "one command or topic");
}

TEST_F(Contract, ManPagesAreWrittenForEveryCommandAndTopic) {
  EXPECT_EQ(run({"help", "--man", "."}).code, 0);
  for (const char* page : {"relayout.1", "relayout-convert.1", "relayout-verify.1", "relayout-verdicts.7", "relayout-suites.7"}) {
    EXPECT_THAT(read_file(folder_ / page), testing::StartsWith(".TH \"RELAYOUT")) << page;
  }
  expect_refusal(run({"help", "--man", "missing"}), 5, "missing");
}

TEST_F(Contract, HelpFitsAHundredColumns) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--help"},
                                                    {"convert", "--help"},
                                                    {"verify", "--help"},
                                                    {"inspect", "--help"},
                                                    {"profile", "--help"},
                                                    {"diff", "--help"},
                                                    {"run", "--help"},
                                                    {"derive", "--help"},
                                                    {"merge", "--help"},
                                                    {"extract", "--help"},
                                                    {"report", "--help"}}) {
    std::istringstream lines(run(arguments).out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110U) << line;  // bytes: a few signs take more than one
  }
}

TEST_F(Contract, VersionNamesTheLibraries) {
  const ProcessResult result = run({"--version"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, testing::MatchesRegex("relayout [0-9.]+ \\(ONNX [0-9.]+, oneDNN [0-9.]+, .+\\)\n"));
}

TEST_F(Contract, CommandsAnswerVersionAndHelpAsDocuments) {
  EXPECT_EQ(run({"convert", "--version"}).out, run({"--version"}).out);
  EXPECT_EQ(run({"verify", "--version", "--json"}).out, run({"--version", "--json"}).out);
  EXPECT_EQ(run({"convert", "--version", "net.onnx"}).code, 2);
  const ProcessResult help = run({"convert", "--help", "--json"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, testing::StartsWith("{"));
  EXPECT_THAT(help.out, HasSubstr("\"help\": \"relayout convert: "));
}

TEST_F(Contract, QuietConversionsPrintTheVerdictOfVerifyAlone) {
  const ProcessResult result = run({"convert", "net.onnx", "-o", "out.onnx", "--verify", "--quiet"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(std::ranges::count(result.out, '\n'), 2) << result.out;
  EXPECT_THAT(result.out, HasSubstr("\nsame "));
}

TEST_F(Contract, SharedDataIsRefusedWhereThereIsNone) {
  expect_refusal(run({"convert", "net.onnx", "-o", "out.onnx", "--share-data"}), 2, "the model has no data files");
  ASSERT_EQ(run({"convert", "net.onnx", "-o", "data.onnx", "--external-data", "always:0"}).code, 0);
  std::filesystem::create_directory(folder_ / "elsewhere");
  expect_refusal(run({"convert", "data.onnx", "-o", "elsewhere/out.onnx", "--share-data"}), 2, "must be in the model's folder");
  EXPECT_EQ(run({"convert", "data.onnx", "-o", "out.onnx", "--share-data"}).code, 0);
}

TEST_F(Contract, AConvertedModelKeepsItsName) {
  ASSERT_EQ(run({"convert", "net.onnx"}).code, 0);
  expect_refusal(run({"convert", "net.cl.onnx"}), 2, "the output is the input");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "net.cl.cl.onnx"));
}

TEST_F(Contract, TruncatedFilesAreReportedAsSuch) {
  const std::string whole = read_file(folder_ / "net.onnx");
  write_file(folder_ / "cut.onnx", whole.substr(0, whole.size() / 2));
  expect_refusal(run({"inspect", "cut.onnx"}), 3, "which has " + std::to_string(whole.size() / 2) + " bytes: it is cut short");
}

TEST_F(Contract, VersionDoesNotLoadOneDnn) {
  const ProcessResult result = run({"--version"}, {.environment = {{"LD_DEBUG", "files"}}});
  EXPECT_THAT(result.err, Not(HasSubstr("libdnnl")));
  EXPECT_THAT(result.err, Not(HasSubstr("libgomp")));
}

TEST_F(Contract, UsageErrorsAreOneLineAndNameTheNearest) {
  expect_refusal(run({}), 2, "--help");
  expect_refusal(run({"covnert", "net.onnx"}), 2, "did you mean 'convert'?");
  expect_refusal(run({"frobnicate"}), 2, "unknown command 'frobnicate'");
  expect_refusal(run({"net.onnx"}), 2, "to see its contents: relayout inspect net.onnx");
  expect_refusal(run({"convert", "net.onnx", "--layuot", "keep"}), 2, "did you mean '--layout'?");
  expect_refusal(run({"inspect", "net.onnx", "--jsn"}), 2, "did you mean '--json'?");
  expect_refusal(run({"verify", "net.onnx", "net.onnx", "--sample", "2"}), 2, "did you mean '--samples'?");
  expect_refusal(run({"convert", "net.onnx", "--pass", "fold-bach-norm"}), 2, "did you mean 'fold-batch-norm'?");
  expect_refusal(run({"convert", "net.onnx", "--layout", "nhwc"}), 2, "channels-last");
  expect_refusal(run({"convert", "net.onnx", "--external-data", "sometimes"}), 2, "'sometimes'");
  expect_refusal(run({"convert"}), 2, "MODEL");
  expect_refusal(run({"inspect"}), 2, "MODEL");
  expect_refusal(run({"inspect", "net.onnx", "net.onnx", "--layout"}), 2, "of one MODEL");
  expect_refusal(run({"--verison"}), 2, "did you mean '--version'?");
  expect_refusal(run({"convert", "net.onnx", "-o", ""}), 2, "--output needs a value");
  expect_refusal(run({"verify", "net.onnx"}), 2, "two models");
  expect_refusal(run({"convert", "net.onnx", "-v", "-q"}), 2, "exclude");
  expect_refusal(run({"convert", "net.onnx", "--fold", "--no-fold"}), 2, "--fold and --no-fold exclude each other");
  const std::vector<std::vector<std::string>> idle = {
      {"--layout", "contiguous"}, {"--include-1d"}, {"--precision", "fp16"}, {"--io", "nhwc"}, {"--emit", "transposes"}};
  const std::vector<std::vector<std::string>> others = {{"--pass", "fold-batch-norm"},
                                                        {"--skip", "conv-weights-layout,precision,export-io,export-transposes"}};
  for (const std::vector<std::string>& option : idle) {
    for (const std::vector<std::string>& passes : others) {
      std::vector<std::string> words = {"convert", "net.onnx"};
      words.insert(words.end(), option.begin(), option.end());
      words.insert(words.end(), passes.begin(), passes.end());
      expect_refusal(run(words), 2, option.front() + " has no effect: ");
    }
  }
  expect_refusal(run({"convert", "net.onnx", "--include-1d", "--layout", "keep"}), 2, "--include-1d has no effect: ");
  EXPECT_THAT(folder_.entries(), ElementsAre("net.onnx"));
}

TEST_F(Contract, AnUnknownOptionHintsAtTheFileOfItsName) {
  std::filesystem::rename(folder_ / "net.onnx", folder_ / "-dash.onnx");
  expect_refusal(run({"inspect", "-dash.onnx"}), 2, "unknown option '-dash.onnx' of inspect; the file of this name is ./-dash.onnx");
  expect_refusal(run({"inspect", "-other.onnx"}), 2, "unknown option '-other.onnx' of inspect\n");
  EXPECT_EQ(run({"inspect", "./-dash.onnx"}).code, 0);
  EXPECT_EQ(run({"inspect", "--", "-dash.onnx"}).code, 0);
}

TEST_F(Contract, DefaultOutputIsNextToTheInput) {
  const ProcessResult result = run({"convert", "net.onnx"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(folder_.entries(), ElementsAre("net.cl.onnx", "net.onnx"));
  EXPECT_TRUE(is_golden(without_times(result.out), golden("convert/net.txt")));
}

TEST_F(Contract, DryRunReportsTheSameAndWritesNothing) {
  const ProcessResult result = run({"convert", "net.onnx", "--dry-run"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(folder_.entries(), ElementsAre("net.onnx"));
  EXPECT_TRUE(is_golden(without_times(result.out), golden("convert/dry_run.txt")));
  const Json dry = document(run({"convert", "net.onnx", "--dry-run", "--json"}));
  const Json wet = document(run({"convert", "net.onnx", "--json"}));
  EXPECT_EQ(dry.find("models")->at(0)->find("findings")->dump(), wet.find("models")->at(0)->find("findings")->dump());
}

TEST_F(Contract, JsonIsOneDocumentWithASchema) {
  const Json report = document(run({"convert", "net.onnx", "--json"}));
  EXPECT_EQ(report.find("schema")->text(), "relayout.convert/1");
  const Json model = *report.find("models")->at(0);
  EXPECT_EQ(model.find("output")->text(), "net.cl.onnx");
  EXPECT_EQ(model.find("all_folded")->dump(), "true");
  EXPECT_EQ(model.find("nodes")->find("before")->number(), 3);
  bool folded = false;
  const Json findings = *model.find("findings");
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Json finding = *findings.at(i);
    folded |= finding.find("pass")->text() == "fold-batch-norm" && finding.find("node")->text() == "norm0" &&
              finding.find("verdict")->text() == "done";
  }
  EXPECT_TRUE(folded);
  const Json inspected = document(run({"inspect", "net.onnx", "--json"}));
  EXPECT_EQ(inspected.find("schema")->text(), "relayout.inspect/1");
  EXPECT_EQ(inspected.find("op_counts")->find("Conv")->number(), 1);
  EXPECT_EQ(inspected.find("findings")->dump(), findings.dump());
}

TEST_F(Contract, JsonOfSeveralListsFailures) {
  write_file(folder_ / "bad.onnx", "text");
  fs::create_directory(folder_ / "out");
  const ProcessResult result = run({"convert", "bad.onnx", "net.onnx", "--out-dir", "out", "--json"});
  EXPECT_EQ(result.code, 3);
  const Json report = document(result);
  EXPECT_EQ(report.find("models")->at(0)->find("error")->find("exit")->number(), 3);
  EXPECT_EQ(report.find("models")->at(1)->find("written")->dump(), "true");
}

TEST_F(Contract, SeveralInputsOfOneNameAreRefused) {
  fs::create_directory(folder_ / "a");
  fs::create_directory(folder_ / "out");
  save_model(conv_batch_norm(), folder_ / "a" / "net.onnx");
  expect_refusal(run({"convert", "net.onnx", "a/net.onnx", "--out-dir", "out"}), 2, "net.cl.onnx");
  expect_refusal(run({"convert", "net.onnx", "a/net.onnx"}), 2, "--out-dir");
  // A dry run writes nothing and needs no folder.
  const ProcessResult dry = run({"convert", "net.onnx", "a/net.onnx", "--simplify", "--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("a/net.onnx → a/net.cl.onnx (not written)"));
  expect_refusal(run({"convert", "net.onnx", "a/net.onnx", "-o", "x.onnx"}), 2, "--out-dir");
}

TEST_F(Contract, RequireAllFoldedWritesNothingWhenOneStays) {
  onnx::ModelProto model = conv_batch_norm();
  model.mutable_graph()->mutable_node(1)->set_input(0, "x");  // no linear operator upstream
  initializer(model, "scale") = float_tensor("scale", {3}, 1);
  initializer(model, "bias") = float_tensor("bias", {3}, 1);
  initializer(model, "mean") = float_tensor("mean", {3}, 1);
  initializer(model, "var") = float_tensor("var", {3}, 1, true);
  save_model(model, folder_ / "stays.onnx");
  const ProcessResult result = run({"convert", "stays.onnx", "--require-all-folded"});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(line_count(result.err), 1U);
  EXPECT_THAT(result.out, HasSubstr("norm0"));
  EXPECT_FALSE(fs::exists(folder_ / "stays.cl.onnx"));
  EXPECT_EQ(run({"convert", "net.onnx", "--require-all-folded"}).code, 0);
  expect_refusal(run({"convert", "net.onnx", "--require-all-folded", "--no-fold", "-o", "x.onnx"}), 2, "is not among the passes");
  EXPECT_FALSE(fs::exists(folder_ / "x.onnx"));
}

TEST_F(Contract, VerifyJudgesTheResultBeforeItGetsItsName) {
  EXPECT_EQ(run({"convert", "net.onnx", "-o", "plain.onnx"}).code, 0);
  const ProcessResult result = run({"convert", "net.onnx", "--verify"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("same"));
  EXPECT_EQ(read_file(folder_ / "net.cl.onnx"), read_file(folder_ / "plain.onnx"));
  const Json report = document(run({"convert", "net.onnx", "--verify", "--dry-run", "--json"}));
  EXPECT_EQ(report.find("models")->at(0)->find("verification")->find("verdict")->text(), "same");
}

TEST_F(Contract, VerifyWithholdsUnconfirmedResults) {
  // An output that is always 0 says nothing about the convolution.
  onnx::ModelProto constant = conv_batch_norm();
  onnx::GraphProto& graph = *constant.mutable_graph();
  graph.mutable_node(2)->set_output(0, "relu");
  *graph.add_initializer() = float_tensor("zero", {1}, 1);
  graph.mutable_initializer(6)->set_raw_data(std::string(4, '\0'));
  add_node(graph, "Mul", {"relu", "zero"}, {"y"}, "mul0");
  save_model(constant, folder_ / "constant.onnx");
  const ProcessResult inconclusive = run({"convert", "constant.onnx", "--verify", "--precision", "fp16"});
  EXPECT_EQ(inconclusive.code, 1) << inconclusive.err;
  EXPECT_THAT(inconclusive.err, HasSubstr("inconclusive"));
  EXPECT_EQ(line_count(inconclusive.err), 1U);

  onnx::ModelProto unknown = conv_batch_norm();
  unknown.mutable_graph()->mutable_node(2)->set_op_type("Quux");
  save_model(unknown, folder_ / "unknown.onnx");
  const ProcessResult unsupported = run({"convert", "unknown.onnx", "--verify", "--precision", "fp16", "-q"});
  EXPECT_EQ(unsupported.code, 4);
  EXPECT_EQ(line_count(unsupported.err), 1U) << unsupported.err;
  EXPECT_THAT(folder_.entries(), ElementsAre("constant.onnx", "net.onnx", "unknown.onnx"));
  // Folds are proved from the files, whatever the outputs show and whichever nodes can run.
  EXPECT_EQ(run({"convert", "constant.onnx", "--verify"}).code, 0);
  EXPECT_EQ(run({"convert", "unknown.onnx", "--verify"}).code, 0);
}

TEST_F(Contract, PassNoneIsIdentity) {
  EXPECT_EQ(run({"convert", "net.onnx", "--pass", "none", "-o", "same.onnx"}).code, 0);
  EXPECT_EQ(read_file(folder_ / "same.onnx"), read_file(folder_ / "net.onnx"));
}

TEST_F(Contract, AssertionsDecideTheExitCode) {
  EXPECT_EQ(run({"inspect", "net.onnx", "--assert", "opset<=99", "--assert", "Conv>0"}).code, 0);
  const ProcessResult result = run({"inspect", "net.onnx", "--assert", "opset=1", "--junit", "a.xml"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("fails  opset=1"));
  EXPECT_THAT(read_file(folder_ / "a.xml"), HasSubstr("opset=1 does not hold"));
  EXPECT_EQ(run({"inspect", "net.onnx", "--assert", "Convolution=1"}).code, 2);
}

TEST_F(Contract, NodesAreListed) {
  const ProcessResult result = run({"inspect", "net.onnx", "--nodes", "--csv", "nodes.csv"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("parameters"));
  EXPECT_THAT(read_file(folder_ / "nodes.csv"), testing::StartsWith("node,op,dims,macs,"));
  // What a spreadsheet would compute is text.
  onnx::ModelProto model = load_model(folder_ / "net.onnx");
  model.mutable_graph()->mutable_node(0)->set_name("=1+1");
  save_model(model, folder_ / "formula.onnx");
  ASSERT_EQ(run({"inspect", "formula.onnx", "--nodes", "--csv", "formula.csv"}).code, 0);
  EXPECT_THAT(read_file(folder_ / "formula.csv"), HasSubstr("\r\n'=1+1,"));
}

TEST_F(Contract, ListPassesExplainsThem) {
  const ProcessResult result = run({"convert", "--list-passes"});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(is_golden(result.out, golden("convert/passes.txt")));
}

TEST_F(Contract, StampIsWrittenOnRequestOnly) {
  EXPECT_EQ(run({"convert", "net.onnx", "-o", "plain.onnx"}).code, 0);
  EXPECT_EQ(load_model(folder_ / "plain.onnx").metadata_props_size(), 0);
  EXPECT_EQ(run({"convert", "net.onnx", "-o", "stamped.onnx", "--stamp"}).code, 0);
  EXPECT_EQ(run({"convert", "stamped.onnx", "-o", "twice.onnx", "--stamp"}).code, 0);
  const onnx::ModelProto stamped = load_model(folder_ / "twice.onnx");
  ASSERT_EQ(stamped.metadata_props_size(), 2);
  EXPECT_EQ(stamped.metadata_props(0).key(), "relayout.version");
  EXPECT_THAT(stamped.metadata_props(1).value(), HasSubstr("fold-batch-norm"));
}

TEST_F(Contract, ConfigurationFile) {
  write_file(folder_ / "relayout.toml", "threads = 1\n[convert]\noutput = \"from_config.onnx\"\nlayout = \"keep\"\n");
  EXPECT_EQ(run({"convert", "net.onnx", "--config", "relayout.toml"}).code, 0);
  EXPECT_TRUE(fs::exists(folder_ / "from_config.onnx"));
  EXPECT_EQ(run({"inspect", "net.onnx", "--config", "relayout.toml"}).code, 0);
  expect_refusal(run({"inspect", "net.onnx", "--config", "none.toml"}), 5, "none.toml");
  // Keys above all sections apply to every command.
  write_file(folder_ / "top.toml", "layout = \"keep\"\n");
  expect_refusal(run({"verify", "net.onnx", "net.onnx", "--config", "top.toml"}), 2, "belong below its section, like [convert]");
  expect_refusal(run({"inspect", "net.onnx", "--config", "top.toml"}), 2, "belong below its section, like [convert]");
  write_file(folder_ / "wrong.toml", "[convert]\nlayuot = 3\n");
  expect_refusal(run({"convert", "net.onnx", "--config", "wrong.toml"}), 2,
                 "wrong.toml:2: unknown option 'layuot' of convert; did you mean 'layout'?");
  write_file(folder_ / "section.toml", "[profil]\nthreads = 1\n");
  expect_refusal(run({"convert", "net.onnx", "--config", "section.toml"}), 2,
                 "section.toml:1: unknown section 'profil'; did you mean 'profile'?");
}

TEST_F(Contract, RulesHoldForConfigurationFilesToo) {
  const auto refused = [&](const std::string& file, std::vector<std::string> words, const std::string& message) {
    write_file(folder_ / "rules.toml", file);
    words.insert(words.end(), {"--config", "rules.toml"});
    expect_refusal(run(words), 2, message);
  };
  const std::string strict = "--strict (rules.toml:2)";
  refused("[verify]\nstrict = true\n", {"verify", "net.onnx", "net.onnx", "--outputs-only"}, "--outputs-only and " + strict + " exclude");
  refused("[verify]\nstrict = true\n", {"verify", "net.onnx", "net.onnx", "--accept", "snr=20"}, "--accept and " + strict + " exclude");
  refused("[verify]\nstrict = true\noutputs-only = true\n", {"verify", "net.onnx", "net.onnx"}, " exclude each other");
  refused("[verify]\nmatch = \"position\"\n", {"verify", "net.onnx", "net.onnx", "--rename", "x=y"}, "--rename and --match (rules.toml:2)");
  refused("[convert]\ncache = \"c\"\n", {"convert", "net.onnx", "--out-dir", "d", "--share-data"},
          "--cache (rules.toml:2) and --share-data");
  refused("[convert]\nin-place = true\n", {"convert", "net.onnx", "-o", "d.onnx"}, "--output and --in-place (rules.toml:2)");
  refused("[convert]\nsimplify = true\n", {"convert", "net.onnx", "-o", "d.onnx", "--pass", "none"},
          "--pass and --simplify (rules.toml:2)");
  refused("quiet = true\n", {"inspect", "net.onnx", "-v"}, "--verbose and --quiet (rules.toml:1) exclude each other");
  // Options of a file that have nothing to do in a call.
  write_file(folder_ / "idle.toml", "[convert]\nio-precision = true\nwhen = \"always\"\n[verify]\nstrict = true\nsamples = 2\n");
  EXPECT_EQ(run({"convert", "net.onnx", "-o", "idle.onnx", "--config", "idle.toml"}).code, 0);
  EXPECT_EQ(run({"convert", "--list-passes", "--config", "idle.toml"}).code, 0);
  EXPECT_EQ(run({"verify", "net.onnx", "net.onnx", "--proof", "--config", "idle.toml"}).code, 0);
  write_file(folder_ / "half.toml", "[convert]\nprecision = \"fp16\"\n");
  EXPECT_EQ(run({"convert", "net.onnx", "-o", "half.onnx", "--io-precision", "--config", "half.toml"}).code, 0);
}

TEST_F(Contract, FiguresOutsideTheirRangeAreRefused) {
  const auto refused = [&](std::vector<std::string> words) { EXPECT_EQ(run(words).code, 2) << words[words.size() - 1]; };
  for (const char* bound : {"top1=-1", "top1=1.5", "top5=-0.1", "match=-1", "match=2", "cosine=2", "cosine=-1", "error=-1", "snr=nan",
                            "snr=inf", "error=nan", "cosine=1e999", "snr="}) {
    refused({"verify", "net.onnx", "net.onnx", "--accept", bound});
  }
  EXPECT_EQ(run({"verify", "net.onnx", "net.onnx", "--accept", "snr=-200,cosine=1,top1=0,error=3"}).code, 0);
  expect_refusal(run({"convert", "net.onnx", "--precision", "fp16", "--io-precision", "fp16", "-o", "h.onnx"}), 2,
                 "--io-precision takes no value: 'fp16'");
  EXPECT_EQ(run({"profile", "net.onnx", "--repeat", "12", "--max-time", "60", "--threads", "1"}).code, 0);
}

TEST_F(Contract, HintsAreBelowTheLineOnATerminalOtherwiseInIt) {
  EXPECT_EQ(run({"frobnicate"}).err, "relayout: unknown command 'frobnicate' (relayout --help lists the commands)\n");
  EXPECT_THAT(run({"frobnicate", "-v"}).err, HasSubstr("\nhint: "));
  EXPECT_THAT(run({"frobnicate"}, {.terminal = true}).out, HasSubstr("\nhint: "));
}

TEST_F(Contract, ErrorsBreakBetweenWordsOnATerminal) {
  const ProcessOptions terminal{.environment = {{"COLUMNS", "60"}, {"TERM", "dumb"}}, .terminal = true};
  const std::string out = run({"convert", "net.onnx", "--exclude", "no_such_layer_anywhere"}, terminal).out;
  EXPECT_THAT(out, HasSubstr("relayout: net.onnx: --exclude 'no_such_layer_anywhere': no\r\n    node has a name like that\r\nhint: "));
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 61U) << line;
}

TEST_F(Contract, ColorsOnTerminalsOnly) {
  EXPECT_THAT(run({"inspect", "net.onnx"}).out, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(run({"inspect", "net.onnx", "--color", "always"}).out, HasSubstr("\x1b["));
  const ProcessOptions terminal{.environment = {{"TERM", "xterm"}, {"NO_COLOR", ""}}, .terminal = true};
  EXPECT_THAT(run({"inspect", "net.onnx"}, terminal).out, HasSubstr("\x1b["));
  EXPECT_THAT(run({"inspect", "net.onnx", "--color", "never"}, terminal).out, Not(HasSubstr("\x1b[")));
  const ProcessOptions no_color{.environment = {{"TERM", "xterm"}, {"NO_COLOR", "1"}}, .terminal = true};
  EXPECT_THAT(run({"inspect", "net.onnx"}, no_color).out, Not(HasSubstr("\x1b[")));
}

TEST_F(Contract, QuietIsSilentButForTheResult) {
  onnx::ModelProto model = conv_batch_norm();
  model.mutable_graph()->mutable_node()->SwapElements(0, 2);
  save_model(model, folder_ / "unsorted.onnx");
  EXPECT_THAT(run({"convert", "unsorted.onnx"}).err, HasSubstr("warning"));
  const ProcessResult quiet = run({"convert", "unsorted.onnx", "-q"});
  EXPECT_EQ(quiet.err, "");
  EXPECT_NE(quiet.out, "");
}

TEST_F(Contract, VerboseTimesTheStages) {
  const ProcessResult result = run({"convert", "net.onnx", "-v"});
  for (const char* stage : {"load: ", "passes: ", "save: "}) EXPECT_THAT(result.err, HasSubstr(stage));
}

}  // namespace
}  // namespace relayout::test
