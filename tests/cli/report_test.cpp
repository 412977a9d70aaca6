// Tests the reports with results made by hand.
#include "cli/common/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/convert/convert.h"
#include "cli/inspect/inspect.h"
#include "cli/verify/report.h"
#include "relayout/convert.h"
#include "relayout/findings.h"
#include "relayout/inspect.h"
#include "relayout/layout.h"
#include "relayout/types.h"
#include "report/json.h"

namespace relayout::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

Finding finding(std::string pass, std::string op_type, std::string node, Verdict verdict = Verdict::done, Reason reason = Reason::count_) {
  return {std::move(pass), std::move(op_type), std::move(node), verdict, reason, ""};
}

ConvertResult densenet() {
  ConvertResult result;
  result.input = "densenet121.onnx";
  result.output = "d.onnx";
  result.passes = {"fold-batch-norm", "remove-unused", "conv-weights-layout"};
  result.layout = WeightsLayout::channels_last;
  result.nodes_before = 431;
  result.nodes_after = 489;
  result.bytes_before = 32'400'000;
  result.bytes_after = 32'300'000;
  result.seconds = 0.02;
  result.written = true;
  result.all_folded = false;
  for (int i = 0; i < 59; ++i) result.findings.push_back(finding("fold-batch-norm", "BatchNormalization", "n" + std::to_string(i)));
  for (int i = 0; i < 62; ++i) {
    const std::string name = "/features/denseblock1/denselayer" + std::to_string(i) + "/norm1";
    result.findings.push_back(finding("fold-batch-norm", "BatchNormalization", name, Verdict::skipped, Reason::nonlinear_between));
  }
  for (int i = 0; i < 236; ++i) result.findings.push_back(finding("remove-unused", "initializer", "w" + std::to_string(i)));
  for (int i = 0; i < 59; ++i) result.findings.push_back(finding("conv-weights-layout", "Conv", "c" + std::to_string(i)));
  for (int i = 0; i < 61; ++i) {
    result.findings.push_back(finding("conv-weights-layout", "Conv", "p", Verdict::not_applicable, Reason::both_layouts));
  }
  return result;
}

/// The screen of a conversion.
std::string convert_text(const ConvertResult& result, const ReportStyle& style) {
  const std::string verdict = result.verification ? text_of(verify_report(*result.verification, false), style) : "";
  return text_of(conversion_report(result), style) + verdict;
}

TEST(ConvertReport, OneScreenWithTheRefusalsByReason) {
  EXPECT_EQ(convert_text(densenet(), {}),
            "densenet121.onnx → d.onnx                       431 → 489 nodes · 32.4 → 32.3 MB · 0.02 s\n"
            "  fold-batch-norm       59 of 121 BatchNormalizations\n"
            "      62 stay: nonlinear-between   an operator between does not commute with the affine\n"
            "        /features/denseblock1/denselayer0/norm1, /features/denseblock1/denselayer1/norm1, 60 more (-v)\n"
            "  remove-unused         236 initializers\n"
            "  conv-weights-layout   59 of 120 weights moved to channels-last, 61 are the same in both layouts\n"
            "There are 58 more nodes: each weight that is moved needs a Transpose. --layout keep folds only.\n");
}

TEST(ConvertReport, NumbersNearZeroAreNoAlarm) {
  ConvertResult result = densenet();
  result.passes = {"precision"};
  result.precision = DataType::float16;
  Finding weight = finding("precision", "weight", "w");
  weight.detail = "of 512 values 3 become 0";
  result.findings = {weight, finding("precision", "Conv", "c")};
  // Half of 2^-24, the smallest number above 0 in float16.
  EXPECT_THAT(convert_text(result, {}),
              HasSubstr("1 weight has numbers near 0 that fp16 rounds by up to 3.0e-08 each, to 0 or to fewer bits: "
                        "this is usual, and verify --precision fp16 measures what it costs\n"));
  result.precision = DataType::bfloat16;  // half of 2^-133
  EXPECT_THAT(convert_text(result, {}), HasSubstr("bf16 rounds by up to 4.6e-41 each"));
}

TEST(ConvertReport, AModelWithoutGainIsReported) {
  ConvertResult result = densenet();
  std::erase_if(result.findings, [](const Finding& one) { return one.pass == "fold-batch-norm"; });
  EXPECT_THAT(convert_text(result, {}),
              HasSubstr("\nNothing was folded; there are 58 more nodes: each weight that is moved needs a Transpose. "
                        "--layout keep leaves the weights as they are.\n"));
  result.written = false;
  EXPECT_THAT(convert_text(result, {}), HasSubstr("Nothing would be folded; there would be 58 more nodes"));
  result.findings.clear();
  result.nodes_after = result.nodes_before;
  EXPECT_THAT(convert_text(result, {}), HasSubstr("\nNothing changes in this model.\n"));
  // Casts of --precision are not counted as Transposes.
  result = densenet();
  result.nodes_after = result.nodes_before + 60;
  EXPECT_THAT(convert_text(result, {}), Not(HasSubstr("more node")));
  // Nor are those of --io.
  result = densenet();
  result.findings.push_back(finding("export-io", "input", "x"));
  EXPECT_THAT(convert_text(result, {}), Not(HasSubstr("more node")));
  // Folds that outweigh the Transposes are a gain.
  result = densenet();
  result.nodes_after = 400;
  EXPECT_THAT(convert_text(result, {}), Not(HasSubstr("more node")));
  EXPECT_THAT(convert_text(result, {}), Not(HasSubstr("Nothing")));
}

TEST(ConvertReport, AffinesThatStayAreSummedUp) {
  ConvertResult result = densenet();
  result.passes.emplace_back("fold-affine");
  result.findings.push_back(finding("fold-affine", "Mul", "m"));
  result.findings.push_back(finding("fold-affine", "Div", "gelu", Verdict::skipped, Reason::operator_output_shared));
  EXPECT_THAT(convert_text(result, {}), HasSubstr("  fold-affine           1 of 2 scales and shifts, 1 stays (-v says why)\n"));
  EXPECT_THAT(convert_text(result, {}), Not(HasSubstr("gelu")));
  EXPECT_THAT(convert_text(result, {.verbose = true}),
              testing::ContainsRegex("1 of 2 scales and shifts\n[^\n]*done: m [^\n]*\n[^\n]*1 stays[^\n]*\n *gelu\n"));
}

TEST(ConvertReport, QuietIsTheFirstLine) {
  EXPECT_EQ(convert_text(densenet(), {.form = Form::quiet}),
            "densenet121.onnx → d.onnx                       431 → 489 nodes · 32.4 → 32.3 MB · 0.02 s\n");
}

TEST(ConvertReport, NamesTheDataFiles) {
  ConvertResult result = densenet();
  result.data = {{"d.onnx.data", 44'700'000, false}, {"densenet.data", 46'900'000, true}};
  result.left_behind = {{"old.data", 1000, true}};
  const std::string text = convert_text(result, {});
  EXPECT_THAT(text, HasSubstr("  data   d.onnx.data, 44.7 MB\n"));
  EXPECT_THAT(text, HasSubstr("  data   densenet.data, 46.9 MB: a file of densenet121.onnx, which the result needs too\n"));
  EXPECT_THAT(text, HasSubstr("  data   old.data, 1.0 kB: no longer needed by this model\n"));
  const Json json = convert_json(result);
  EXPECT_EQ(json.find("data_files")->size(), 2U);
  EXPECT_EQ(json.find("data_files_left_behind")->at(0)->find("path")->text(), "old.data");
}

TEST(NextSteps, CommandsAreBrokenSoThatAShellJoinsThem) {
  const NextSteps next{.verify = verify_command("-a model.onnx", "b.onnx", {.images_last = true}), .undo = undo_command("x.cl.onnx", {})};
  EXPECT_EQ(next_text(next, {}),
            "Channels-last weights are for runtimes that map weights as they are stored; others run as before.\n"
            "Before quantizing or pruning: relayout convert --layout contiguous x.cl.onnx -o x.contiguous.onnx\n"
            "Next: relayout verify --io nhwc './-a model.onnx' b.onnx\n");
  EXPECT_EQ(next_text({.verify = {}, .undo = {}, .note = "The same with --verify."}, {}), "The same with --verify.\n");
  EXPECT_THAT(next_text(next, {.width = 60}),
              HasSubstr("Before quantizing or pruning: relayout convert --layout \\\n    contiguous x.cl.onnx -o x.contiguous.onnx\n"));
  EXPECT_EQ(next_text({}, {}), "");
}

TEST(ConvertReport, VerboseNamesEveryRefusal) {
  const std::string text = convert_text(densenet(), {.verbose = true});
  EXPECT_THAT(text, HasSubstr("denselayer61/norm1"));
  EXPECT_THAT(text, Not(HasSubstr("more (-v)")));
}

TEST(ConvertReport, ARefusalNamesWhatIsInTheWay) {
  ConvertResult result = densenet();
  for (Finding& one : result.findings) {
    if (one.reason == Reason::nonlinear_between) one.detail = "'/relu/Relu' (Relu)";
  }
  Finding branch = finding("fold-batch-norm", "BatchNormalization", "n1", Verdict::skipped, Reason::concat_branch);
  branch.detail = "operand 'c' of '/cat' (Concat): the operator's output has another reader";
  result.findings.push_back(branch);
  const std::string text = convert_text(result, {});
  EXPECT_THAT(text, HasSubstr("62 stay: nonlinear-between   Relu between does not commute with the affine\n"));
  EXPECT_THAT(text, HasSubstr("\n        n1: operand 'c' of '/cat' (Concat): the operator's output has another reader\n"));
  result.findings[60].detail = "'/pool/MaxPool' (MaxPool)";
  EXPECT_THAT(convert_text(result, {}), HasSubstr("62 stay: nonlinear-between   an operator between does not commute with the affine\n"));
}

TEST(ConvertReport, NodesThatTheUserLeavesOutAreCounted) {
  ConvertResult result = densenet();
  for (int i = 0; i < 3; ++i) {
    result.findings.push_back(
        finding("fold-batch-norm", "BatchNormalization", "x" + std::to_string(i), Verdict::skipped, Reason::excluded));
  }
  const std::string text = convert_text(result, {.verbose = true});
  EXPECT_THAT(text, HasSubstr("3 stay: excluded   left out by --only or --exclude\n"));
  EXPECT_THAT(text, Not(HasSubstr("x1")));
}

TEST(ConvertReport, UnwrittenResultsAreMarked) {
  ConvertResult result = densenet();
  result.written = false;
  EXPECT_THAT(convert_text(result, {.verbose = true}), HasSubstr("      planned: n0 (BatchNormalization)\n"));
  EXPECT_THAT(convert_text(result, {.verbose = true}), Not(HasSubstr("done: ")));
  const std::string text = convert_text(result, {});
  EXPECT_THAT(text, HasSubstr("d.onnx (not written)"));
  EXPECT_THAT(text, HasSubstr("59 of 120 weights would move"));
}

TEST(ConvertReport, WithoutAnythingToDo) {
  ConvertResult result;
  result.input = "a b.onnx";
  result.output = "c.onnx";
  result.passes = {"fold-batch-norm"};
  result.nodes_before = result.nodes_after = 1;
  result.bytes_before = 900;
  result.bytes_after = 1100;
  result.written = true;
  const std::string text = convert_text(result, {});
  EXPECT_THAT(text, HasSubstr("1 → 1 node · 900 B → 1.1 kB"));
  EXPECT_THAT(text, HasSubstr("fold-batch-norm   no BatchNormalization to fold"));
}

TEST(ConvertReport, NamesFromFilesAreEscaped) {
  ConvertResult result = densenet();
  result.input = "a\n\x1b[2J.onnx";
  result.findings.push_back(finding("fold-batch-norm", "Batch\nNorm", "n\r", Verdict::skipped, Reason::not_constant));
  const std::string text = convert_text(result, {.verbose = true});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("a\\x0a\\x1b[2J.onnx → "));
}

TEST(ConvertReport, JsonListsEveryFinding) {
  const Json json = convert_json(densenet());
  EXPECT_EQ(json.find("findings")->size(), densenet().findings.size());
  const Json skipped = *json.find("findings")->at(59);
  EXPECT_EQ(skipped.find("verdict")->text(), "skipped");
  EXPECT_EQ(skipped.find("reason")->text(), "nonlinear-between");
  EXPECT_FALSE(json.find("findings")->at(0)->find("reason"));
}

InspectResult mobilenet() {
  InspectResult result;
  result.path = "mobilenet_v2.onnx";
  result.producer = "pytorch 2.6.0";
  result.ir_version = 6;
  result.opset = 11;
  result.nodes = 222;
  result.parameters = 3'504'872;
  result.parameter_bytes = 14'019'488;
  result.op_counts = {
      {"Add", 10}, {"BatchNormalization", 2}, {"Clip", 35}, {"Constant", 70}, {"Conv", 2}, {"A", 1}, {"B", 1}, {"C", 1}, {"D", 1},
      {"E", 1}};
  result.inputs = {{"input", "f32", "[1, 3, 224, 224]"}};
  result.outputs = {{"output", "f32", "[1, 1000]"}};
  result.convolutions = {{"conv1", "Conv", {32, 3, 3, 3}, 1, "contiguous", "folds"}, {"conv2", "Conv", {32, 1, 3, 3}, 32, "both", ""}};
  result.findings = {finding("fold-batch-norm", "BatchNormalization", "bn1"),
                     finding("fold-batch-norm", "BatchNormalization", "bn2", Verdict::skipped, Reason::not_constant),
                     finding("conv-weights-layout", "Conv", "conv1"),
                     finding("conv-weights-layout", "Conv", "conv2", Verdict::not_applicable, Reason::both_layouts)};
  return result;
}

TEST(InspectReport, OneScreen) {
  EXPECT_EQ(inspect_text(mobilenet(), {}),
            "mobilenet_v2.onnx   ONNX opset 11, IR 6, pytorch 2.6.0 · 222 nodes · 3.5 M parameters, 14.0 MB\n"
            "  input    input    f32 [1, 3, 224, 224]\n"
            "  output   output   f32 [1, 1000]\n"
            "  Constant 70 · Clip 35 · Add 10 · BatchNormalization 2 · Conv 2 (1 depthwise) · A 1 · B 1 · C 1 · 2 others\n"
            "  1 of 2 BatchNormalizations will fold · 1 of 2 weights would move to channels-last, 1 is the same in both layouts\n"
            "      1 stays: not-constant   a weight, bias or parameter is computed at run time\n"
            "        bn2\n");
}

TEST(InspectReport, WeightsThatStayHaveAReason) {
  InspectResult result;
  result.findings = {finding("conv-weights-layout", "Conv", "conv1", Verdict::skipped, Reason::overridable)};
  EXPECT_THAT(inspect_text(result, {}), HasSubstr("  0 of 1 weight would move to channels-last\n      1 stays: overridable   "));
  // Each list appears below its own line.
  result.findings.push_back(finding("fold-batch-norm", "BatchNormalization", "bn1", Verdict::skipped, Reason::overridable));
  EXPECT_THAT(inspect_text(result, {}), testing::ContainsRegex("  0 of 1 BatchNormalization will fold\n      1 stays: overridable [^\n]*\n"
                                                               "        bn1\n"
                                                               "  0 of 1 weight would move to channels-last\n      1 stays: overridable "));
}

TEST(InspectReport, VerboseAddsTheConvolutions) {
  EXPECT_THAT(inspect_text(mobilenet(), {.verbose = true}),
              HasSubstr("  convolution  op    weight         groups  layout      BatchNormalization\n"
                        "  conv1        Conv  [32, 3, 3, 3]       1  contiguous  folds\n"
                        "  conv2        Conv  [32, 1, 3, 3]      32  both        –\n"));
}

TEST(InspectReport, UnknownOperatorsAreListed) {
  InspectResult result = mobilenet();
  result.unknown_ops = {"com.example:Foo"};
  EXPECT_THAT(inspect_text(result, {}), HasSubstr("unknown, passed through untouched: com.example:Foo"));
}

TEST(InspectReport, UncountedOperatorsAndMisfitsAreReported) {
  InspectResult result = mobilenet();
  result.macs = 0;
  result.ops_without_macs = {{"loc:Block", 3}};
  EXPECT_THAT(inspect_text(result, {}), testing::AllOf(HasSubstr("not in the number of MACs: loc:Block 3"), Not(HasSubstr("0 MAC"))));
  result.macs.reset();
  result.assumed = {"N = 1"};
  result.misfit = "node '/fc/Gemm' (Gemm): dims [1, 512] and [511, 10] do not multiply";
  EXPECT_THAT(inspect_text(result, {}),
              HasSubstr("  dims do not fit: " + *result.misfit + " at N = 1 (--dim NAME=SIZE and --shape set others)\n"));
}

/// The table marks a lower bound with a sign; 0 for MACs that cannot be counted would read as a model without products.
TEST(InspectReport, TheTableMarksMacsThatAreALeast) {
  InspectResult result = mobilenet();
  result.macs = 36864;
  EXPECT_THAT(inspect_table({result}, {}), testing::AllOf(HasSubstr("  36.9 kMAC  "), Not(HasSubstr("≥"))));
  result.macs_are_least = true;
  result.assumed = {"one iteration of each Loop without a known number"};
  EXPECT_THAT(inspect_table({result}, {}), HasSubstr("  ≥ 36.9 kMAC  "));
  EXPECT_THAT(inspect_text(result, {}), HasSubstr(" · 36.9 kMAC at one iteration of each Loop without a known number\n"));
  result.macs = 0;
  EXPECT_THAT(inspect_table({result}, {}), testing::AllOf(HasSubstr("     ?  "), Not(HasSubstr("0 MAC"))));
}

TEST(InspectReport, JsonHasEverything) {
  const Json json = inspect_json(mobilenet());
  EXPECT_EQ(json.find("schema")->text(), "relayout.inspect/1");
  EXPECT_EQ(json.find("convolutions")->at(1)->find("groups")->number(), 32);
  EXPECT_EQ(json.find("findings")->size(), 4U);
  EXPECT_EQ(json.find("op_counts")->find("Clip")->number(), 35);
}

TEST(InspectReport, JsonHasShapesAsArrays) {
  InspectResult result = mobilenet();
  result.inputs = {{"x", "f32", "[N, 3, ?]", {-1, 3, -1}, {"N", "", ""}}, {"s", "f32", "[]"}, {"t", "f32", ""}};
  const auto shape = [&](std::size_t i) { return inspect_json(result).find("inputs")->at(i)->find("shape")->dump(-1); };
  EXPECT_EQ(shape(0), "[\"N\",3,null]");
  EXPECT_EQ(shape(1), "[]");
  EXPECT_EQ(shape(2), "null");
}

}  // namespace
}  // namespace relayout::cli
