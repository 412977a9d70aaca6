#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>

#include "model/origin.h"
#include "model/tensor_data.h"
#include "ops/body.h"
#include "ops/call.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/op_cases.h"
#include "support/paths.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

/// The elements of an initializer, strings too.
Tensor stored_contents(const Value& value) {
  const Initializer& initializer = *value.initializer();
  return initializer.data ? initializer.data->load() : load_tensor(value.graph().model(), *initializer.message);
}

/// Cases with the results of ONNX Runtime, written by onnxruntime_operators.py; RELAYOUT_OPERATOR_CASES names a folder with more.
std::filesystem::path folder() {
  const char* const given = std::getenv("RELAYOUT_OPERATOR_CASES");  // NOLINT(concurrency-mt-unsafe): no thread changes it
  return given != nullptr ? std::filesystem::path(given) : std::filesystem::path(source_folder()) / "testdata/operators";
}

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() == ".onnx") out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

/// Allowed difference between two correct evaluations, relative to the range or to 1, the magnitude of the operands; ONNX Runtime's Erf and
/// Exp are polynomials.
constexpr double kF32 = 4e-6, kF16 = 4e-3, kBf16 = 2e-2, kF64 = 1e-12;
/// One in this number of quantized results may be rounded the other way, by one level.
constexpr std::size_t kRoundedOtherwise = 20;

double bound_of(DataType type) {
  switch (type) {
    case DataType::float32:
      return kF32;
    case DataType::float64:
      return kF64;
    case DataType::float16:
      return kF16;
    case DataType::bfloat16:
      return kBf16;
    default:
      return 0;
  }
}

std::vector<std::string> texts_of(const Tensor& tensor) {
  return {tensor.data<std::string>(), tensor.data<std::string>() + tensor.element_count()};
}

/// Empty if equal, otherwise a description of the difference.
std::string difference(const Tensor& got, const Tensor& wanted) {
  if (got.type() != wanted.type()) return "type " + std::string(name_of(got.type()));
  if (got.dims() != wanted.dims()) return "other dims";
  if (got.type() == DataType::string) return texts_of(got) == texts_of(wanted) ? "" : "other strings";
  const std::vector<double> x = numbers_of(got), y = numbers_of(wanted);
  double range = 1, worst = 0;
  std::size_t levels = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(y[i])) range = std::max(range, std::fabs(y[i]));
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) return "not finite in one of both";
    worst = std::max(worst, std::fabs(x[i] - y[i]));
    ++levels;
  }
  const double bound = bound_of(got.type());
  if (bound == 0) return worst > 1 || levels > 1 + x.size() / kRoundedOtherwise ? std::to_string(levels) + " elements differ" : "";
  return worst > bound * range ? "error/range " + std::to_string(worst / range) : "";
}

class ComposedCases : public testing::TestWithParam<Mode> {};

TEST_P(ComposedCases, AreThoseOfOnnxRuntime) {
  for (const auto& file : files()) {
    const auto model = Model::load(file);
    const Graph& graph = model->graph();
    ASSERT_TRUE(Executor::unsupported(graph).empty()) << file << Executor::unsupported(graph).front().why;
    Inputs inputs;
    for (const Value* input : graph.inputs()) inputs[input->name()] = Datum(stored_contents(*input));
    ExecuteOptions options;
    options.mode = GetParam();
    const Outputs got = Executor(graph, options).run(inputs);
    for (std::size_t k = 0; k < got.size(); ++k) {
      const std::string& name = graph.outputs()[k]->name();
      const Value* const expected = graph.find(name + ".expected");
      ASSERT_NE(expected, nullptr) << name;
      const std::string what = difference(got[k].tensor, stored_contents(*expected));
      EXPECT_EQ(what, "") << file.filename() << " " << name << ": " << graph.outputs()[k]->producer()->whole_message().ShortDebugString();
    }
  }
}

/// Calls the kernels directly, as for constants of a graph and shape inference, without the executor.
TEST(ComposedKernels, AreThoseOfOnnxRuntime) {
  for (const auto& file : files()) {
    const auto model = Model::load(file);
    for (const Node& node : model->graph().nodes()) {
      const Op* const op = find_kernel(node);
      ASSERT_NE(op, nullptr) << node.label();
      std::vector<Datum> data;
      for (const Value* input : node.inputs()) data.push_back(input == nullptr ? Datum() : Datum(stored_contents(*input)));
      std::vector<const Datum*> operands;
      for (std::size_t i = 0; i < data.size(); ++i) operands.push_back(node.input(i) == nullptr ? nullptr : &data[i]);
      const auto made =
          infer_and_compute(*op, OpCall(node, node.opset()), operands, [&](std::size_t k) { return node.output(k) != nullptr; });
      for (std::size_t k = 0; k < node.outputs().size(); ++k) {
        if (node.output(k) == nullptr) continue;
        const Value* const expected = model->graph().find(node.output(k)->name() + ".expected");
        EXPECT_EQ(difference(made[k].tensor, stored_contents(*expected)), "") << node.whole_message().ShortDebugString();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, ComposedCases, testing::Values(Mode::reference, Mode::as_written, Mode::optimized));

/// A model of classical machine learning of one float input.
std::unique_ptr<Model> classical_model(const std::string& graph) {
  return Model::from_text("<ir_version: 9, opset_import: [\"\" : 18, \"ai.onnx.ml\" : 1]>\n" + graph);
}

// ONNX Runtime gives the same; its Python interface has no maps of arrays, so that they are written here.
TEST(ComposedMaps, AreMadeOfRowsAndReadByKeys) {
  const auto zip = classical_model("g (float[2, 3] x) => (y) { y = ai.onnx.ml.ZipMap <classlabels_strings = [\"b\", \"a\", \"c\"]> (x) }");
  const Outputs rows = Executor(zip->graph(), {}).run({{"x", Datum(tensor_of_values(DataType::float32, {2, 3}, {1, 2, 3, 4, 5, 6}))}});
  ASSERT_EQ(rows.front().elements.size(), 2U);
  const Datum& row = rows.front().elements.back();
  EXPECT_EQ(row.kind, Datum::Kind::map);
  EXPECT_EQ(texts_of(row.elements.front().tensor), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(numbers_of(row.elements.back().tensor), (std::vector<double>{5, 4, 6}));

  const auto dict = classical_model(
      "g (map(string, float) x) => (float[1, 4] y) { y = ai.onnx.ml.DictVectorizer <string_vocabulary = [\"c\", \"z\", \"a\", \"b\"]> (x) "
      "}");
  EXPECT_EQ(numbers_of(Executor(dict->graph(), {}).run({{"x", row}}).front().tensor), (std::vector<double>{6, 0, 5, 4}));
}

TEST(ComposedTable, EveryOperatorHasACase) {
  std::set<std::string> seen;
  for (const auto& file : files()) {
    const auto model = Model::load(file);
    for (const Node& node : model->graph().nodes()) seen.insert(std::string(node.domain()) + ":" + node.op_type());
  }
  for (const Op& op : composed_table()) {
    if (op.domain == Body::kOwnDomain || op.name == "DictVectorizer" || op.name == "ZipMap") continue;  // parts of bodies, and maps
    EXPECT_TRUE(seen.contains(std::string(op.domain) + ":" + std::string(op.name))) << op.name;
  }
}

TEST(ComposedTable, EveryLineIsComplete) {
  ASSERT_FALSE(composed_table().empty());
  for (const Op& op : composed_table()) {
    EXPECT_EQ(find_composed(op.domain, op.name), &op);
    EXPECT_TRUE(op.body == nullptr || op.domain != Body::kOwnDomain) << op.name;
    EXPECT_EQ(op.body != nullptr, op.infer == infer_composed) << op.name;
    EXPECT_NE(op.infer, nullptr) << op.name;
    EXPECT_NE(op.compute, nullptr) << op.name;
    EXPECT_GE(op.reviewed, op.since) << op.name;
    EXPECT_EQ(op.domain.empty() && find_op(op.name) != nullptr, false) << op.name;
  }
}

/// The names in the manual's table of operators under a heading.
std::set<std::string> names_in_manual(const std::string& heading) {
  std::ifstream file(std::filesystem::path(source_folder()) / "src/cli/manual/operators.md");
  std::set<std::string> out;
  bool is_in_table = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| " + heading + " |")) is_in_table = true;
    if (!line.starts_with("|")) is_in_table = false;
    if (!is_in_table || line.find("`com.microsoft`") != std::string::npos) continue;
    for (std::size_t begin = line.find('`'); begin != std::string::npos; begin = line.find('`', begin)) {
      const std::size_t end = line.find('`', begin + 1);
      out.insert(line.substr(begin + 1, end - begin - 1));
      begin = end + 1;
    }
  }
  return out;
}

TEST(ComposedTable, IsThatOfTheManual) {
  const std::set<std::string> listed = names_in_manual("these run"), left_out = names_in_manual("these do not run");
  std::set<std::string> there;
  for (const Op& op : composed_table()) {
    if (op.domain == "com.microsoft") there.emplace(op.name);
  }
  EXPECT_EQ(listed, there);
  EXPECT_FALSE(left_out.empty());
  for (const std::string& name : left_out) EXPECT_EQ(find_composed("com.microsoft", name), nullptr) << name;
}

/// Checks on each case the properties that hold for every operator by its traits.
TEST(ComposedTable, TraitsHold) {
  for (const auto& file : files()) {
    const auto model = Model::load(file);
    for (const Node& node : model->graph().nodes()) {
      const Tensor first = stored_contents(*node.input(0));
      const Tensor made = stored_contents(*model->graph().find(node.output(0)->name() + ".expected"));
      EXPECT_TRUE(!has_trait(node, Trait::same_dims) || made.dims() == first.dims()) << node.label();
      EXPECT_TRUE(!has_trait(node, Trait::same_type) || made.type() == first.type()) << node.label();
    }
  }
}

constexpr const char* kHead = R"(<ir_version: 8, opset_import: ["" : 14, "com.microsoft" : 1, "com.microsoft.nchwc" : 1]>)";

std::vector<Unsupported> unsupported(const char* text) {
  return Executor::unsupported(TextModel(text, kHead).load()->graph());
}

TEST(ComposedOperators, RefuseUnsupportedAttributesAndOperands) {
  const auto activation =
      unsupported(R"(g (float[1,2,4,4] x, float[2,2,3,3] w) => (y) { y = com.microsoft.FusedConv<activation = "Snake">(x, w) })");
  ASSERT_EQ(activation.size(), 1U);
  EXPECT_NE(activation[0].why.find("activation 'Snake'"), std::string::npos) << activation[0].why;
  struct Refused {
    const char* graph;
    const char* why;
  };
  const std::vector<Refused> refused = {
      {"g (float[2,32] a, uint8[4,1,16] b, float[4,1] s, int32[32] i) => (y) { y = com.microsoft.MatMulNBits<N = 4, K = 32, block_size = "
       "32>(a, "
       "b, s, , i) }",
       "input g_idx"},
      {"g (float[2,32] a, uint8[4,1,16] b, float[4,1] s) => (y) { y = com.microsoft.MatMulNBits<N = 4, K = 32, block_size = 24>(a, b, s) }",
       "block_size is 24"},
      {"g (float[2,32] a, uint8[4,1,16] b, float[4,1] s) => (y) { y = com.microsoft.MatMulNBits<K = 32, block_size = 32>(a, b, s) }",
       "no N"},
      {"g (float[1,2,4] x, float[4,12] w, float[12] b, int64[2] d, int32[1,2] m) => (y) { n = Reshape(m, d)  k = Cast<to = 6>(n)  "
       "y = com.microsoft.Attention<num_heads = 2>(x, w, b, k) }",
       ""},
      {"g (float[1,2,4] x, float[4,12] w, float[12] b, int64[N] d, int32[1,2] m) => (y) { n = Reshape(m, d)  "
       "y = com.microsoft.Attention<num_heads = 2>(x, w, b, n) }",
       "the rank of its mask is not known"},
      {"g (float[1,2,4] x, float[4,12] w, float[12] b) => (y) { y = com.microsoft.Attention<num_heads = 4611686018427387904>(x, w, b) }",
       "num_heads is 4611686018427387904"},
      {"g (float[1,2,4] x, float[4] s) => (y, z) { y, z = SimplifiedLayerNormalization<axis = -1000000000000>(x, s) }",
       "axis is -1000000000000"},
      {"g (float[2,4] x) => (y) { y = Softmax<along = 1>(x) }", "no attribute 'along' in opset 14"},
      {"g (float[2,4] x, int64[1] a) => (y) { y = ReduceMean(x, a) }", "at most 1 input in opset 14"},
      {"g (float[2,4] x) => (y) { y = Softmax<axis = 1, __note = 1>(x) }", ""},
  };
  for (const Refused& one : refused) {
    const auto found = unsupported(one.graph);
    EXPECT_EQ(found.empty() ? "" : found.front().why, one.why) << one.graph;
  }
  const auto blocked = unsupported(R"(g (float[1,8,4,4] x) => (y) { y = com.microsoft.nchwc.ReorderInput(x) })");
  ASSERT_EQ(blocked.size(), 1U);
  EXPECT_NE(blocked[0].why.find("ORT_ENABLE_EXTENDED"), std::string::npos) << blocked[0].why;
}

/// z = 2 (x - 1) by an operator that needs the rank of its operand t.
std::string scaled(const std::string& makes_t) {
  return "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx.ml\" : 3, \"f\" : 1]>\n g (float[1,2] x, bool c) => (float[1,2] z) { " +
         makes_t + " z = ai.onnx.ml.Scaler <offset = [1.0], scale = [2.0]> (t) }\n";
}

TEST(ComposedOperators, KnowRanksThroughBranchesAndCalls) {
  const std::string function = R"(<domain: "f", opset_import: ["" : 17, "ai.onnx.ml" : 3]> pass (a) => (b) {
      o = ai.onnx.ml.Scaler <offset = [1.0], scale = [1.0]> (a)  b = ai.onnx.ml.Scaler <offset = [-1.0], scale = [1.0]> (o) })";
  const auto with_if = [](const std::string& other) {
    return scaled("t = If (c) <then_branch = t () => (float[] u) { u = Identity (x) }, else_branch = e () => (float[] v) { " + other +
                  " }>");
  };
  for (const std::string& text : {with_if("v = Neg (x)"), scaled("t = f.pass (x)") + function}) {
    const auto model = Model::from_text(text);
    EXPECT_TRUE(Executor::unsupported(model->graph()).empty()) << text;
    Inputs inputs;
    inputs["x"] = Datum(tensor_of_values(DataType::float32, {1, 2}, {3, 5}));
    inputs["c"] = Datum(tensor_of_values(DataType::boolean, {}, {1}));
    EXPECT_EQ(numbers_of(Executor(model->graph(), {}).run(inputs)[0].tensor), (std::vector<double>{4, 8})) << text;
  }
  const auto why_not = [](const char* other) {
    const std::string text =
        std::string("g (float[1,2,4] x, float[4,12] w, float[12] b, int64[N] d, int32[1,2] m, bool c) => (y) { n = If (c) ") +
        "<then_branch = t () => (int32[] u) { u = Identity (m) }, else_branch = e () => (int32[] v) { " + other +
        " }> y = com.microsoft.Attention<num_heads = 2>(x, w, b, n) }";
    const auto found = unsupported(text.c_str());
    return found.empty() ? "" : found.front().why;
  };
  EXPECT_EQ(why_not("v = Neg (m)"), "");
  EXPECT_EQ(why_not("v = Reshape (m, d)"), "the rank of its mask is not known");
}

/// A debugger observes the call's outputs like those of other nodes, and may write over them.
TEST(ComposedOperators, OutputsOfCallsAreObserved) {
  const auto model = TextModel(R"(g (float[2] x) => (float[2] z) { y = com.microsoft.Gelu(x)  z = Neg(y) })", kHead).load();
  ExecuteOptions options;
  options.mode = Mode::as_written;
  int seen = 0;
  options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
    if (node.domain() != "com.microsoft") return;
    ++seen;
    outputs[0].tensor.data<float>()[0] = 5;
  };
  Inputs inputs;
  inputs["x"] = Datum(tensor_of_values(DataType::float32, {2}, {1, 100}));
  const Outputs out = Executor(model->graph(), options).run(inputs);
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(numbers_of(out[0].tensor), (std::vector<double>{-5, -100}));
}

/// A function in the model takes precedence over the operator of its name.
TEST(ComposedOperators, FunctionsOfTheModelComeFirst) {
  const auto model = Model::from_text(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[1] x) => (float[1] y) { y = com.microsoft.Gelu(x) }
    <domain: "com.microsoft", opset_import: ["" : 17]> Gelu (a) => (b) { b = Neg(a) })");
  EXPECT_EQ(find_op(model->graph().nodes().front()), nullptr);
  Inputs inputs;
  inputs["x"] = Datum(tensor_of_values(DataType::float32, {1}, {3}));
  EXPECT_EQ(numbers_of(Executor(model->graph(), {}).run(inputs)[0].tensor), std::vector<double>{-3});
}

/// The overload also selects the function of a node: a function of a different overload leaves the operator as it is.
TEST(ComposedOperators, FunctionsOfAnotherOverloadAreOthers) {
  const auto model = Model::from_text(R"(<ir_version: 10, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[1] x) => (float[1] y, float[1] z) { y = com.microsoft.QuickGelu(x)  z = com.microsoft.QuickGelu:negative(x) }
    <domain: "com.microsoft", overload: "negative", opset_import: ["" : 17]> QuickGelu (a) => (b) { b = Neg(a) })");
  EXPECT_NE(find_op(model->graph().nodes().front()), nullptr);
  EXPECT_EQ(find_op(model->graph().nodes().back()), nullptr);
  Inputs inputs;
  inputs["x"] = Datum(tensor_of_values(DataType::float32, {1}, {3}));
  const Outputs out = Executor(model->graph(), {}).run(inputs);
  EXPECT_NEAR(numbers_of(out[0].tensor)[0], 3 / (1 + std::exp(-1.702 * 3)), 1e-6);
  EXPECT_EQ(numbers_of(out[1].tensor), std::vector<double>{-3});
}

}  // namespace
}  // namespace relayout::test
