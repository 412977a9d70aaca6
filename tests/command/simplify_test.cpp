// Tests the choice of nodes to fold and its report: --simplify, --only, --exclude, --freeze, --require-all-folded.

#include "command/command_test.h"
#include "report/json.h"
#include "support/fold_models.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Simplify : public CommandTest {
 protected:
  Simplify() {
    save_model(conv_batch_norm(), folder_ / "net.onnx");
    const std::string pair = "c = Conv (x, W, B)  y = BatchNormalization (c, s, b, m, var)";
    write_file(
        folder_ / "two.onnx",
        conv_bn("c = Conv (x, W, B)  n = BatchNormalization (c, s, b, m, var)  r = Relu (n)  y = BatchNormalization (r, s, b, m, var)")
            .name_nodes()
            .bytes());
    write_file(folder_ / "overridable.onnx",
               conv_bn(pair)
                   .edit([](onnx::ModelProto& model) {
                     auto& input = *model.mutable_graph()->add_input();
                     input.set_name("s");
                     input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
                     input.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(4);
                   })
                   .bytes());
    write_file(
        folder_ / "chains.onnx",
        TextModel("g (float[2,3] x) => (float[2,3] y) <float[3] w> { a = Identity (x)  k = Constant <value = float {2}> ()  t = Mul (w, k) "
                  " s = Sigmoid (a)  y = Max (s, t) }")
            .bytes());
  }

  Json findings(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"convert", "--json"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const ProcessResult result = run(all);
    return *Json::parse(result.out, "output").find("models")->at(0)->find("findings");
  }
};

TEST_F(Simplify, EvaluatesConstantsAndRemovesIdentities) {
  const ProcessResult plain = run({"convert", "chains.onnx", "-o", "plain.onnx"});
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_THAT(plain.out, Not(HasSubstr("remove-identity")));
  const ProcessResult result = run({"convert", "chains.onnx", "-o", "simple.onnx", "--simplify"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("5 → 2 nodes"));
  EXPECT_THAT(result.out, HasSubstr("1 Identity"));
  EXPECT_THAT(result.out, HasSubstr("1 Mul"));
  const ProcessResult verified = run({"verify", "chains.onnx", "simple.onnx"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("nothing unexplained"));
  // A second run changes nothing.
  EXPECT_EQ(run({"convert", "simple.onnx", "-o", "again.onnx", "--simplify"}).code, 0);
  EXPECT_EQ(read_file(folder_ / "again.onnx"), read_file(folder_ / "simple.onnx"));
}

TEST_F(Simplify, SkippedPassesAreSkipped) {
  const ProcessResult result = run({"convert", "chains.onnx", "--simplify", "--skip", "remove-identity", "--dry-run"});
  EXPECT_THAT(result.out, HasSubstr("5 → 3 nodes"));
  EXPECT_EQ(run({"convert", "chains.onnx", "--pass", "remove-identity", "--dry-run"}).code, 0);
}

TEST_F(Simplify, F142OnlyAndExclude) {
  EXPECT_THAT(run({"convert", "two.onnx", "--dry-run"}).out, HasSubstr("1 of 2 BatchNormalizations"));
  const ProcessResult excluded = run({"convert", "two.onnx", "--dry-run", "-v", "--exclude", "BatchNormalization_1", "--exclude", "*_3"});
  EXPECT_EQ(excluded.code, 0) << excluded.err;
  EXPECT_THAT(excluded.out, HasSubstr("0 of 2 BatchNormalizations"));
  EXPECT_THAT(excluded.out, HasSubstr("2 stay: excluded"));
  EXPECT_THAT(run({"convert", "two.onnx", "--dry-run", "--only", "Batch*"}).out, HasSubstr("1 of 2 BatchNormalizations"));
}

TEST_F(Simplify, F142PatternsThatMatchNothingAreErrors) {
  expect_refusal(run({"convert", "two.onnx", "--only", "norm*"}), 2, "--only 'norm*'");
  expect_refusal(run({"convert", "two.onnx", "--exclude", "Batch*", "--exclude", "BatchNormalisation_1"}), 2, "'BatchNormalisation_1'");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "two.cl.onnx"));
}

TEST_F(Simplify, F44OverridableInitializersFreeze) {
  const ProcessResult kept = run({"convert", "overridable.onnx", "-o", "kept.onnx"});
  EXPECT_EQ(kept.code, 0) << kept.err;
  EXPECT_THAT(kept.out, HasSubstr("overridable"));
  const ProcessResult frozen = run({"convert", "overridable.onnx", "-o", "frozen.onnx", "--freeze"});
  EXPECT_EQ(frozen.code, 0) << frozen.err;
  EXPECT_THAT(frozen.out, HasSubstr("freeze"));
  EXPECT_THAT(frozen.out, HasSubstr("1 initializer"));
  EXPECT_THAT(frozen.out, HasSubstr("1 of 1 BatchNormalization"));
}

TEST_F(Simplify, RequireAllFoldedListsRemainingNodesWithReasons) {
  const ProcessResult result = run({"convert", "two.onnx", "--require-all-folded"});
  EXPECT_THAT(result.out, Not(HasSubstr("done:"))) << "only what stays is listed";
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(line_count(result.err), 1U);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "two.cl.onnx"));
  EXPECT_THAT(result.out, HasSubstr("BatchNormalization_3: "));
  EXPECT_THAT(result.out, HasSubstr("nonlinear-between"));
  EXPECT_EQ(run({"convert", "two.onnx", "--require-all-folded", "--json"}).code, 1);
}

TEST_F(Simplify, F142RequireAllFoldedIgnoresExcludedNodes) {
  EXPECT_EQ(run({"convert", "two.onnx", "-o", "a.onnx", "--require-all-folded", "--exclude", "BatchNormalization_3"}).code, 0);
  EXPECT_EQ(run({"convert", "two.onnx", "-o", "b.onnx", "--require-all-folded", "--only", "BatchNormalization_1"}).code, 0);
  // The exclusion of a different node is no excuse.
  EXPECT_EQ(run({"convert", "two.onnx", "-o", "c.onnx", "--require-all-folded", "--exclude", "BatchNormalization_1"}).code, 1);
}

TEST_F(Simplify, JsonListsEveryVerdict) {
  const Json list = findings({"two.onnx", "--dry-run"});
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Json entry = *list.at(i);
    const auto word = [&](const char* key) { return entry.find(key) ? entry.find(key)->text().value_or("") : std::string(); };
    if (word("op_type") != "BatchNormalization") continue;
    lines.push_back(word("node") + " " + word("verdict") + " " + word("reason"));
    EXPECT_NE(word("detail"), "");
    EXPECT_EQ(word("text").empty(), word("reason").empty());
  }
  EXPECT_THAT(lines, testing::ElementsAre("BatchNormalization_1 done ", "BatchNormalization_3 skipped nonlinear-between"));
}

TEST_F(Simplify, InspectHasTheSameVerdicts) {
  const Json report = Json::parse(run({"inspect", "two.onnx", "--json"}).out, "output");
  EXPECT_EQ(report.find("findings")->dump(), findings({"two.onnx", "--dry-run"}).dump());
}

}  // namespace
}  // namespace relayout::test
