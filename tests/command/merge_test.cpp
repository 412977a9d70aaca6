// Tests merge on the command line: ensembles, batched ones, chains, and what it refuses.

#include <cmath>

#include "command/command_test.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "support/evaluate.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MergeCommand : public CommandTest {
 protected:
  MergeCommand() {
    write_net("a", "1, 2, 3, 4, 5, 6", "0.5, 0, 0");
    write_net("b", "-1, 1, 0, 2, 0, 3", "0, 0, 9");
    write_net("c", "3, 2, 1, 0, -1, -2", "0, 0, 8");
  }

  void write_net(const std::string& name, const std::string& w, const std::string& b, const std::string& activation = "Relu") {
    write_file(folder_ / (name + ".onnxtxt"),
               "<ir_version: 10, opset_import: [\"\" : 18]> g (float[N, 2] x) => (float[N, 3] y) <float[2, 3] w = {" + w +
                   "}, float[3] b = {" + b + "}, float[2] s = {1, 2}> { m = Mul (x, s) a = Gemm (m, w, b) y = " + activation + " (a) }");
  }

  std::vector<double> outputs_of(const std::string& file, std::size_t output = 0) {
    Tensor x(DataType::float32, {2, 2});
    for (int i = 0; i < 4; ++i) x.data<float>()[i] = static_cast<float>(i) - 1;
    const std::vector<Datum> made = evaluate(Model::load(folder_ / file)->graph(), {{"x", x}});
    const Tensor out = contiguous(made.at(output).tensor);
    std::vector<double> numbers;
    for (int64_t i = 0; i < out.element_count(); ++i) {
      numbers.push_back(out.type() == DataType::int64 ? static_cast<double>(out.data<int64_t>()[i]) : double{out.data<float>()[i]});
    }
    return numbers;
  }

  std::vector<std::string> merged(std::vector<std::string> arguments, const std::string& out) {
    arguments.insert(arguments.begin(), "merge");
    arguments.insert(arguments.end(), {"-o", out});
    const ProcessResult result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    std::vector<std::string> names;
    const auto model = Model::load(folder_ / out);
    for (const Value* output : model->graph().outputs()) names.push_back(output->name());
    return names;
  }
};

TEST_F(MergeCommand, EnsemblesCombineTheirParts) {
  const std::vector<double> a = outputs_of("a.onnxtxt"), b = outputs_of("b.onnxtxt"), c = outputs_of("c.onnxtxt");
  for (const char* form : {"--combine=mean", "--batched"}) {
    EXPECT_THAT(merged({"ensemble", "a.onnxtxt", "b.onnxtxt", "c.onnxtxt", form}, "mean.onnx"), ElementsAre("y"));
    const std::vector<double> mean = outputs_of("mean.onnx");
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(mean.at(i), (a[i] + b[i] + c[i]) / 3, 1e-5);
  }
}

TEST_F(MergeCommand, EnsemblesHaveSeveralOutputs) {
  const std::vector<double> a = outputs_of("a.onnxtxt"), b = outputs_of("b.onnxtxt"), c = outputs_of("c.onnxtxt");
  std::vector<std::string> arguments = {"ensemble", "a.onnxtxt", "b.onnxtxt", "c.onnxtxt", "--combine", "vote,sum,max,variance,std,stack"};
  for (const bool is_batched : {false, true}) {
    if (is_batched) arguments.emplace_back("--batched");
    EXPECT_THAT(merged(arguments, "all.onnx"), ElementsAre("y", "y.sum", "y.max", "y.variance", "y.std", "y.stack"));
    EXPECT_EQ(Model::load(folder_ / "all.onnx")->graph().outputs().back()->declared()->dims, (Dims{3, -1, 3}));
    const auto at = [&](std::size_t output, std::size_t i) { return outputs_of("all.onnx", output).at(i); };
    EXPECT_THAT(outputs_of("all.onnx"), ElementsAre(2, 2));
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double mean = (a[i] + b[i] + c[i]) / 3;
      const double variance = ((a[i] - mean) * (a[i] - mean) + (b[i] - mean) * (b[i] - mean) + (c[i] - mean) * (c[i] - mean)) / 3;
      EXPECT_NEAR(at(1, i), a[i] + b[i] + c[i], 1e-5);
      EXPECT_NEAR(at(2, i), std::max({a[i], b[i], c[i]}), 1e-5);
      EXPECT_NEAR(at(3, i), variance, 1e-4);
      EXPECT_NEAR(at(4, i), std::sqrt(variance), 1e-4);
      EXPECT_NEAR(at(5, a.size() + i), b[i], 1e-5);
    }
  }
}

TEST_F(MergeCommand, OutputsWithChannelsAreCombinedWhereTheyAre) {
  const auto numbers = [](int count, int seed) {
    std::string out;
    for (int i = 0; i < count; ++i) out += (i == 0 ? "" : ", ") + std::to_string(std::sin(seed + 1.7 * i));
    return out;
  };
  std::vector<std::string> parts;
  for (int part = 0; part < 3; ++part) {
    parts.push_back("p" + std::to_string(part) + ".onnxtxt");
    write_file(folder_ / parts.back(),
               "<ir_version: 10, opset_import: [\"\" : 18]> g (float[N, 2, 4, 5] x) => (float[N, 3, 3, 4] y) <float[4, 2, 2, 2] v = {" +
                   numbers(32, part) + "}, float[4] s = {" + numbers(4, part + 3) + "}, float[3, 4, 1, 1] w = {" + numbers(12, part + 7) +
                   "}> { a = Conv (x, v, s) b = Tanh (a) y = Conv (b, w) }");
  }
  Tensor x(DataType::float32, {2, 2, 4, 5});
  for (int i = 0; i < x.element_count(); ++i) x.data<float>()[i] = static_cast<float>(std::cos(i));
  const auto outputs = [&](const std::string& file) {
    std::vector<Tensor> out;
    for (const Datum& one : evaluate(Model::load(folder_ / file)->graph(), {{"x", x}})) out.push_back(contiguous(one.tensor));
    return out;
  };
  for (const char* combine : {"mean,sum,max", "mean,stack"}) {
    (void)merged({"ensemble", parts[0], parts[1], parts[2], "--batched", "--combine", combine}, "all.onnx");
    const auto model = Model::load(folder_ / "all.onnx");
    EXPECT_EQ(std::ranges::count_if(model->graph().nodes(), [](const Node& node) { return node.is("Conv"); }), 2);
    const bool is_stacked = std::string_view(combine).ends_with("stack");
    EXPECT_EQ(std::ranges::any_of(model->graph().nodes(), [](const Node& node) { return node.is("Transpose"); }), is_stacked);
    const std::vector<Tensor> made = outputs("all.onnx"), a = outputs(parts[0]), b = outputs(parts[1]), c = outputs(parts[2]);
    ASSERT_EQ(made[0].dims(), (Dims{2, 3, 3, 4}));
    for (int64_t i = 0; i < made[0].element_count(); ++i) {
      const auto at = [&](const std::vector<Tensor>& of) { return double{of[0].data<float>()[i]}; };
      EXPECT_NEAR(at(made), (at(a) + at(b) + at(c)) / 3, 1e-5);
      if (is_stacked) {
        EXPECT_NEAR(made[1].data<float>()[2 * made[0].element_count() + i], at(c), 1e-5);
      } else {
        EXPECT_NEAR(made[1].data<float>()[i], at(a) + at(b) + at(c), 1e-5);
        EXPECT_NEAR(made[2].data<float>()[i], std::max({at(a), at(b), at(c)}), 1e-5);
      }
    }
  }
}

TEST_F(MergeCommand, EqualWeightsAreStoredOnce) {
  (void)merged({"ensemble", "a.onnxtxt", "b.onnxtxt", "--batched"}, "two.onnx");
  const auto two = Model::load(folder_ / "two.onnx");
  EXPECT_NE(two->graph().find("s"), nullptr);
  EXPECT_EQ(two->graph().find("w"), nullptr);
  EXPECT_EQ(std::ranges::count_if(two->graph().nodes(), [](const Node& node) { return node.is("MatMul"); }), 1);
}

TEST_F(MergeCommand, RecurrentNetsAreBatchedStepByStep) {
  for (const char* weight : {"0.3", "-0.7"}) {
    write_file(
        folder_ / (std::string("r") + weight + ".onnxtxt"),
        std::string(
            "<ir_version: 10, opset_import: [\"\" : 18]> g (float[3, N, 1] x) => (float[3, 1, N, 1] y) <float[1, 3, 1] w = {1, 2, ") +
            weight + "}, float[1, 3, 1] r = {0.5, " + weight + ", 1}> { y = GRU <hidden_size = 1> (x, w, r) }");
  }
  const std::vector<std::string> parts = {"r0.3.onnxtxt", "r-0.7.onnxtxt"};
  (void)merged({"ensemble", parts[0], parts[1], "--batched"}, "two.onnx");
  const ProcessResult result = run({"verify", "--merged", "two.onnx", parts[0], parts[1]});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST_F(MergeCommand, NetsOfAnotherStructureAreNotBatched) {
  write_net("d", "1, 2, 3, 4, 5, 6", "0, 0, 0", "Tanh");
  const ProcessResult result = run({"merge", "ensemble", "a.onnxtxt", "d.onnxtxt", "--batched", "-o", "out.onnx"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("output 'y' (Relu) and output 'y' (Tanh)"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.onnx"));
  EXPECT_THAT(merged({"ensemble", "a.onnxtxt", "d.onnxtxt"}, "out.onnx"), ElementsAre("y"));
}

TEST_F(MergeCommand, ChainsReadOutputs) {
  write_file(folder_ / "next.onnxtxt",
             "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N, 3] scores, float[3] x) => (float[N, 3] y) { a = Mul (scores, x) y = "
             "Neg (a) }");
  EXPECT_THAT(merged({"chain", "a.onnxtxt", "next.onnxtxt", "--map", "y=scores"}, "chain.onnx"), ElementsAre("next/y"));
  const auto chain = Model::load(folder_ / "chain.onnx");
  ASSERT_EQ(chain->graph().inputs().size(), 2U);
  EXPECT_EQ(chain->graph().inputs().back()->name(), "next/x");
  EXPECT_EQ(run({"merge", "chain", "a.onnxtxt", "next.onnxtxt", "-o", "b.onnx"}).code, 2);
  EXPECT_EQ(run({"merge", "chain", "a.onnxtxt", "a.onnxtxt", "-o", "b.onnx"}).code, 2);
  EXPECT_EQ(run({"merge", "chain", "a.onnxtxt", "next.onnxtxt", "--map", "y=z", "-o", "b.onnx"}).code, 2);
}

TEST_F(MergeCommand, VerifyJudgesMergedFilesByTheirParts) {
  (void)merged({"ensemble", "a.onnxtxt", "b.onnxtxt", "--combine", "mean,std"}, "beside.onnx");
  (void)merged({"ensemble", "a.onnxtxt", "b.onnxtxt", "--combine", "mean,std", "--batched"}, "batched.onnx");
  for (const char* file : {"beside.onnx", "batched.onnx"}) {
    EXPECT_EQ(run({"verify", "--merged", file, "a.onnxtxt", "b.onnxtxt", "--combine", "mean,std"}).code, 0) << file;
    EXPECT_EQ(run({"verify", "--merged", file, "a.onnxtxt", "c.onnxtxt", "--combine", "mean,std"}).code, 1) << file;
    EXPECT_EQ(run({"verify", "--merged", file, "a.onnxtxt", "b.onnxtxt"}).code, 1) << file;
  }
  write_file(folder_ / "next.onnxtxt", "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N, 3] y) => (float[N, 3] z) { z = Neg (y) }");
  (void)merged({"chain", "a.onnxtxt", "next.onnxtxt"}, "chain.onnx");
  EXPECT_EQ(run({"verify", "--chain", "chain.onnx", "a.onnxtxt", "next.onnxtxt"}).code, 0);
  EXPECT_EQ(run({"verify", "--chain", "chain.onnx", "b.onnxtxt", "next.onnxtxt"}).code, 1);
}

TEST_F(MergeCommand, PartsThatDoNotFitAreRefused) {
  write_file(folder_ / "other.onnxtxt", "<ir_version: 10, opset_import: [\"\" : 18]> g (float[N, 3] x) => (float[N, 3] y) { y = Neg (x) }");
  const ProcessResult result = run({"merge", "ensemble", "a.onnxtxt", "other.onnxtxt", "-o", "out.onnx"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("input 'x' f32 [N, 2] is f32 [N, 3] in another part"));
  EXPECT_EQ(run({"merge", "ensemble", "a.onnxtxt", "-o", "out.onnx"}).code, 2);
  EXPECT_EQ(run({"merge", "sum", "a.onnxtxt", "b.onnxtxt", "-o", "out.onnx"}).code, 2);
}

}  // namespace
}  // namespace relayout::test
