// Tests parts of models: each node alone and all that lead to each value compute what they do in the whole; what is kept, refusals.
#include "relayout/extract.h"

#include <gmock/gmock.h>
#include <onnx/checker.h>

#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/model_cache.h"
#include "support/refusal.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/inputs.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;

const std::string kHead = R"(<ir_version: 8, opset_import: ["" : 17, "my" : 1]>)";

/// Captures, a function, a quantizer, a node with two outputs, free dims.
const char* const kMixed = R"(
  g (float[N,4] x, bool c) => (float[N,2] y) <float[4,4] w, float s = {0.1}, uint8 z = {128}, float[4] unread> {
    a = MatMul (x, w)
    q = QuantizeLinear (a, s, z)
    d = DequantizeLinear (q, s, z)
    f = my.twice (d)
    l, r = Split <axis = 1> (f)
    k = Neg (l)
    i = If (c) <then_branch = t () => (p) { h = Add (l, k)  p = Abs (h) }, else_branch = e () => (m) { m = Identity (r) }>
    y = Mul (i, r)
  }
  <domain: "my", opset_import: ["" : 17]>
  twice (v) => (o) { o = Add (v, v) }
  <domain: "my", opset_import: ["" : 17]>
  other (v) => (o) { o = Neg (v) })";

class ExtractTest : public testing::Test {
 protected:
  std::filesystem::path save(const TextModel& model) {
    write_file(folder_ / "net.onnx", model.bytes());
    return folder_ / "net.onnx";
  }

  ExtractResult cut(const std::vector<std::string>& from, const std::vector<std::string>& to, const std::string& name = "part.onnx") {
    ExtractOptions options;
    options.from = from;
    options.to = to;
    return extract(net_.empty() ? folder_ / "net.onnx" : net_, folder_ / name, options);
  }

  onnx::ModelProto part(const std::string& name = "part.onnx") {
    onnx::ModelProto message;
    EXPECT_TRUE(message.ParseFromString(read_file(folder_ / name)));
    return message;
  }

  /// All values that a model makes from these inputs.
  static std::map<std::string, Datum> values_of(const Model& model, const Inputs& inputs) {
    std::map<std::string, Datum> out(inputs.begin(), inputs.end());
    ExecuteOptions options;
    options.mode = Mode::as_written;
    options.watch = [&](const Computed& computed) {
      for (std::size_t k = 0; computed.node != nullptr && k < computed.data.size(); ++k) {
        const Value* const value = computed.node->output(k);
        if (value == nullptr || &value->graph() != &model.graph() || !computed.data[k].tensor) continue;
        Tensor copy(computed.data[k].tensor.type(), computed.data[k].tensor.dims());
        std::memcpy(copy.bytes(), contiguous(computed.data[k].tensor).bytes(), bytes_of(copy));
        out[value->name()] = copy;
      }
    };
    Executor executor(model.graph(), options);
    (void)executor.run(inputs);
    return out;
  }
  static std::size_t bytes_of(const Tensor& tensor) {
    return static_cast<std::size_t>(tensor.element_count()) * memory_size(tensor.type());
  }

  /// Compares the outputs of a part with the values of the whole, bit for bit.
  void expect_same(const std::map<std::string, Datum>& whole, const std::string& what) {
    onnx::checker::check_model((folder_ / "part.onnx").string(), true);
    const auto model = Model::load(folder_ / "part.onnx");
    Inputs inputs;
    for (const Value* const input : model->graph().inputs()) {
      ASSERT_TRUE(whole.contains(input->name())) << what << " reads " << input->name();
      const auto declared = input->declared();
      ASSERT_TRUE(declared && declared->has_shape && declared->type != DataType::undefined) << what;
      inputs[input->name()] = whole.at(input->name());
    }
    ExecuteOptions options;
    options.mode = Mode::as_written;
    Executor executor(model->graph(), options);
    const Outputs outputs = executor.run(inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Tensor &made = outputs[i].tensor, &wanted = whole.at(model->graph().outputs()[i]->name()).tensor;
      EXPECT_EQ(made.type(), wanted.type()) << what;
      ASSERT_EQ(made.dims(), wanted.dims()) << what;
      EXPECT_EQ(std::memcmp(contiguous(made).bytes(), wanted.bytes(), bytes_of(made)), 0) << what;
    }
  }

  /// Every value as the end of a part, and every node as a part of its own.
  void expect_parts(const TextModel& text) { expect_parts_of(save(text)); }
  void expect_parts_of(const std::filesystem::path& net) {
    net_ = net;
    const auto model = Model::load(net_);
    const InputMaker maker(model->graph(), {}, nullptr, {false, {}, true});
    std::map<std::string, Datum> whole;
    (void)maker.first_accepted([&](const Inputs& inputs) { whole = values_of(*model, inputs); });
    for (const Node& node : model->graph().nodes()) {
      if (node.is("Constant")) continue;
      std::vector<std::string> operands, results;
      for (const Value* const operand : node.inputs()) {
        if (operand != nullptr && whole.contains(operand->name())) operands.push_back(operand->name());
      }
      for (const Value* const output : node.outputs()) {
        if (output == nullptr || !whole.contains(output->name())) continue;
        results.push_back(output->name());
        (void)cut({}, {output->name()});
        expect_same(whole, "all up to " + output->name());
      }
      if (operands.empty() || results.empty()) continue;
      EXPECT_GE(cut(operands, results).nodes, 1) << node.label();
      expect_same(whole, node.label());
    }
  }

  TemporaryFolder folder_;
  std::filesystem::path net_;  ///< empty: net.onnx in the folder
};

TEST_F(ExtractTest, PartsComputeWhatTheyDoInTheWhole) {
  expect_parts({kMixed, kHead});
  expect_parts(R"(g (float[2] x, int64 n) => (float[2] y, float[K,2] ys) {
    go = Constant <value = bool {1}> ()
    b = Exp (x)
    y, ys = Loop (n, go, x) <body = body (int64 i, bool c, float[2] v) => (bool c2, float[2] v2, float[2] v3) {
      c2 = Identity (c)  v2 = Add (v, b)  v3 = Identity (v2) }>
  })");
  expect_parts(R"(g (float[N,3] x) => (int64[M,K] y) { s = Shape (x)  z = NonZero (x)  t = Transpose (z)  u = Cast <to = 7> (t)
    v = ReduceSum <keepdims = 0> (s)  y = Add (u, v) })");
}

/// With an If, in 8 bits, a transformer with external data, a network with external data.
TEST_F(ExtractTest, PartsOfRealModelsComputeWhatTheyDoInTheWhole) {
  for (const char* const name : {"real/silero-op15", "real/voicefilter", "real/khmersm", "resnet18_external"}) {
    const std::filesystem::path path = cached_model(name);
    if (!path.empty()) expect_parts_of(path);
  }
}

TEST_F(ExtractTest, KeepsWhatIsNeededAndNothingElse) {
  save({kMixed, kHead});
  const ExtractResult first = cut({}, {"q"});
  EXPECT_EQ(first.nodes, 2);
  EXPECT_EQ(first.initializers, 3);
  EXPECT_EQ(first.functions, 0);
  EXPECT_EQ(first.functions_before, 2);
  ASSERT_EQ(first.outputs.size(), 1U);
  EXPECT_EQ(first.outputs[0].type, "u8 [?, 4]");
  EXPECT_THAT(part().graph().input(0).name(), "x");
  EXPECT_EQ(cut({"d"}, {"f"}).functions, 1);
  EXPECT_EQ(part().functions(0).name(), "twice");
}

TEST_F(ExtractTest, WhatNestedGraphsReadBecomesAnInput) {
  save({kMixed, kHead});
  const ExtractResult result = cut({"c", "r"}, {"y"});
  ASSERT_EQ(result.inputs.size(), 4U);
  EXPECT_EQ(result.inputs[2].captured_by, "i");
  EXPECT_EQ(result.nodes, 2);
  // What is made of named values alone is part of it.
  EXPECT_EQ(cut({"c", "r", "l"}, {"y"}).nodes, 3);
}

TEST_F(ExtractTest, AnOutputOfANodeThatStaysCanBeAnInput) {
  save("g (float[4] x) => (float[2] y) { l, r = Split <axis = 0> (x)  y = Add (l, r) }");
  EXPECT_EQ(cut({"x", "l"}, {"y"}).nodes, 2);
  const onnx::ModelProto message = part();
  EXPECT_THAT(message.graph().node(0).output(0), testing::Ne("l"));
  onnx::checker::check_model(message, true);
}

TEST_F(ExtractTest, WeightsCanBeInputs) {
  save({kMixed, kHead});
  EXPECT_EQ(cut({"x", "w"}, {"a"}).initializers, 0);
  EXPECT_EQ(part().graph().input(1).type().tensor_type().elem_type(), 1);
  onnx::checker::check_model(part(), true);
}

TEST_F(ExtractTest, ExternalDataOfThePartAloneIsCopied) {
  TextModel model("g (float[4] x) => (float[4] y) <float[4] u, float[4] v> { a = Add (x, u)  y = Add (a, v) }");
  const std::string whole = model.message().graph().initializer(0).raw_data() + model.message().graph().initializer(1).raw_data();
  model.edit([](onnx::ModelProto& message) {
    for (int i = 0; i < 2; ++i) {
      onnx::TensorProto& tensor = *message.mutable_graph()->mutable_initializer(i);
      tensor.clear_raw_data();
      tensor.set_data_location(onnx::TensorProto::EXTERNAL);
      const std::pair<std::string, std::string> entries[] = {{"location", "w.bin"}, {"offset", std::to_string(16 * i)}, {"length", "16"}};
      for (const auto& [key, value] : entries) {
        auto& entry = *tensor.add_external_data();
        entry.set_key(key);
        entry.set_value(value);
      }
    }
  });
  write_file(folder_ / "w.bin", whole);
  save(model);
  EXPECT_EQ(cut({"a"}, {"y"}).data.size(), 1U);
  EXPECT_EQ(read_file(folder_ / "part.onnx.data"), whole.substr(16));
}

TEST_F(ExtractTest, Refuses) {
  save({kMixed, kHead});
  const auto refusal = [&](const std::vector<std::string>& from, const std::vector<std::string>& to) {
    return refusal_of(ErrorKind::usage, [&] { return cut(from, to); });
  };
  EXPECT_THAT(refusal({}, {"h"}), HasSubstr("--to 'h': the main graph has no value of this name"));
  EXPECT_THAT(refusal({"dd"}, {"y"}), HasSubstr("--from 'dd'"));
  EXPECT_THAT(refusal({"i"}, {"y"}), HasSubstr("depends on input 'x', which is not named"));
  EXPECT_THAT(refusal({"y"}, {"d"}), HasSubstr("--to 'd' is upstream of --from 'y'"));
  EXPECT_THAT(refusal({"x", "k"}, {"d"}), HasSubstr("--from 'k': no value of --to depends on it"));
  EXPECT_THAT(refusal({"d"}, {"d"}), HasSubstr("nothing is between"));
  EXPECT_THAT(refusal({}, {"x"}), HasSubstr("no node makes it"));
  save(TextModel(kMixed, kHead).edit([](onnx::ModelProto& message) { message.mutable_graph()->mutable_node(0)->set_name("first"); }));
  EXPECT_THAT(refusal({"first"}, {"y"}), HasSubstr("--from 'first' is a node, not a value"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "part.onnx"));
}

}  // namespace
}  // namespace relayout::test
