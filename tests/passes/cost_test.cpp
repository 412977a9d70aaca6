// Tests that the cost of passes is linear in the size of the model. There are no timed assertions, because machines are busy; a cost that
// is not linear would exceed the test's time limit at these sizes.

#include <gtest/gtest.h>

#include "passes/pass.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "support/many.h"

namespace relayout::test {
namespace {

class LongModel {
 public:
  LongModel() {
    message_.set_ir_version(8);
    message_.add_opset_import()->set_version(17);
    input("x", {1, 2, 3, 3});
  }

  onnx::NodeProto& node(const char* op, std::initializer_list<std::string> inputs, const std::string& output) {
    onnx::NodeProto& node = *message_.mutable_graph()->add_node();
    node.set_op_type(op);
    for (const std::string& name : inputs) node.add_input(name);
    node.add_output(output);
    return node;
  }
  void tensor(const std::string& name, std::initializer_list<int64_t> dims, float value = 1.5F) {
    onnx::TensorProto& tensor = *message_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    int64_t count = 1;
    for (const int64_t dim : dims) {
      tensor.add_dims(dim);
      count *= dim;
    }
    std::string bytes;
    for (int64_t i = 0; i < count; ++i) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    tensor.set_raw_data(bytes);
  }
  void input(const std::string& name, std::initializer_list<int64_t> dims) {
    auto& input = *message_.mutable_graph()->add_input();
    input.set_name(name);
    input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : dims) input.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(dim);
  }
  void parameters() {
    for (const char* const name : {"s", "b", "m", "v"}) tensor(name, {2}, 1.0F);
  }
  /// local.Block: a convolution and a BatchNormalization of its inputs.
  void function() {
    message_.set_ir_version(8);
    auto& import = *message_.add_opset_import();
    import.set_domain("local");
    import.set_version(1);
    onnx::FunctionProto& function = *message_.add_functions();
    function.set_name("Block");
    function.set_domain("local");
    function.add_opset_import()->set_version(17);
    for (const char* const input : {"p", "w", "g", "h", "i", "j"}) function.add_input(input);
    function.add_output("q");
    onnx::NodeProto& convolution = *function.add_node();
    convolution.set_op_type("Conv");
    for (const char* const input : {"p", "w"}) convolution.add_input(input);
    convolution.add_output("c");
    onnx::NodeProto& norm = *function.add_node();
    norm.set_op_type("BatchNormalization");
    for (const char* const input : {"c", "g", "h", "i", "j"}) norm.add_input(input);
    norm.add_output("q");
  }
  std::unique_ptr<Model> load(const std::string& output) {
    message_.mutable_graph()->add_output()->set_name(output);
    return Model::from_bytes(message_.SerializeAsString());
  }

 private:
  onnx::ModelProto message_;
};

passes::PassContext run_all(Model& model) {
  std::vector<const passes::Pass*> passes;
  for (const passes::Pass& pass : passes::pass_table()) {
    if (pass.on_by_default() || pass.name == "remove-identity" || pass.name == "fold-constants") passes.push_back(&pass);
  }
  passes::PassContext context;
  passes::run_passes(model, passes, context);
  model.graph().validate();
  return context;
}

std::size_t count(const Model& model, const char* op) {
  return static_cast<std::size_t>(std::ranges::count_if(model.graph().nodes(), [&](const Node& node) { return node.is(op); }));
}

std::string name(const char* base, int number) {
  return base + std::to_string(number);
}

TEST(Cost, PairsOfConvolutionAndBatchNormalization) {
  constexpr int kPairs = kMany / 2;
  LongModel model;
  model.parameters();
  for (int i = 0; i < kPairs; ++i) {
    model.tensor(name("W", i), {2, 2, 1, 1}, 0.5F);
    model.node("Conv", {i == 0 ? "x" : name("y", i - 1), name("W", i)}, name("c", i));
    model.node("BatchNormalization", {name("c", i), "s", "b", "m", "v"}, name("y", i));
  }
  const auto loaded = model.load(name("y", kPairs - 1));
  run_all(*loaded);
  EXPECT_EQ(count(*loaded, "BatchNormalization"), 0U);
}

TEST(Cost, LongChainDownstreamOfOneConvolution) {
  constexpr int kLength = kMany / 2;
  LongModel model;
  model.parameters();
  model.tensor("W", {2, 2, 1, 1}, 0.5F);
  model.node("Conv", {"x", "W"}, "y0");
  for (int i = 1; i <= kLength; ++i) model.node("BatchNormalization", {name("y", i - 1), "s", "b", "m", "v"}, name("y", i));
  const auto loaded = model.load(name("y", kLength));
  run_all(*loaded);
  EXPECT_EQ(count(*loaded, "BatchNormalization"), 0U);
}

TEST(Cost, LongChainThatCannotFold) {
  constexpr int kLength = kMany / 2;
  for (const bool has_convolution : {false, true}) {
    LongModel model;
    model.parameters();
    model.tensor("W", {2, 2, 1, 1}, 0.5F);
    if (has_convolution) {
      model.node("Conv", {"x", "W"}, "y0");
      model.node("Relu", {"y0"}, "z");
    } else {
      model.node("Relu", {"x"}, "y0");
    }
    for (int i = 1; i <= kLength; ++i) model.node("BatchNormalization", {name("y", i - 1), "s", "b", "m", "v"}, name("y", i));
    model.node("Add", {name("y", kLength), has_convolution ? "z" : "x"}, "out");
    const auto loaded = model.load("out");
    run_all(*loaded);
    EXPECT_EQ(count(*loaded, "BatchNormalization"), static_cast<std::size_t>(kLength));
  }
}

TEST(Cost, ManyReadersOfOneConvolution) {
  constexpr int kReaders = kMany / 2;
  LongModel model;
  model.parameters();
  model.tensor("W", {2, 2, 1, 1}, 0.5F);
  model.node("Conv", {"x", "W"}, "c");
  onnx::NodeProto sum;
  for (int i = 0; i < kReaders; ++i) model.node("BatchNormalization", {"c", "s", "b", "m", "v"}, name("y", i));
  auto& last = model.node("Sum", {}, "y");
  for (int i = 0; i < kReaders; ++i) last.add_input(name("y", i));
  const auto loaded = model.load("y");
  run_all(*loaded);
  EXPECT_EQ(count(*loaded, "BatchNormalization"), static_cast<std::size_t>(kReaders));
}

TEST(Cost, ManyConvolutionsWithOneWeight) {
  constexpr int kReaders = kMany / 2;
  LongModel model;
  model.parameters();
  model.tensor("W", {2, 2, 3, 3}, 0.5F);
  for (int i = 0; i < kReaders; ++i) {
    model.node("Conv", {"x", "W"}, name("c", i));
    model.tensor(name("s", i), {2}, 1.0F + static_cast<float>(i) * 1e-6F);
    model.node("BatchNormalization", {name("c", i), name("s", i), "b", "m", "v"}, name("y", i));
  }
  auto& last = model.node("Sum", {}, "y");
  for (int i = 0; i < kReaders; ++i) last.add_input(name("y", i));
  const auto loaded = model.load("y");
  run_all(*loaded);
  EXPECT_EQ(count(*loaded, "BatchNormalization"), 0U);
}

TEST(Cost, LongChainOfConstants) {
  constexpr int kLength = kMany / 2;
  LongModel model;
  model.parameters();
  model.tensor("w0", {2, 2, 1, 1}, 0.5F);
  for (int i = 1; i <= kLength; ++i) model.node(i % 2 == 0 ? "Identity" : "Neg", {name("w", i - 1)}, name("w", i));
  model.node("Conv", {"x", name("w", kLength)}, "c");
  model.node("BatchNormalization", {"c", "s", "b", "m", "v"}, "y");
  const auto loaded = model.load("y");
  run_all(*loaded);
  EXPECT_EQ(count(*loaded, "Neg"), 0U);
  EXPECT_EQ(count(*loaded, "Conv"), 1U);
}

TEST(Cost, LongDeadChain) {
  constexpr int kLength = kMany / 2;
  LongModel model;
  for (int i = 1; i <= kLength; ++i) model.node("Relu", {i == 1 ? "x" : name("d", i - 1)}, name("d", i));
  model.node("Relu", {"x"}, "y");
  const auto loaded = model.load("y");
  run_all(*loaded);
  EXPECT_EQ(loaded->graph().nodes().size(), 1U);
}

TEST(Cost, TypesThroughALongChain) {
  // Each parameter is cast like an activation further downstream.
  constexpr int kLength = kMany / 5;
  LongModel model;
  model.parameters();
  for (int i = 0; i < kLength; ++i) {
    const std::string x = i == 0 ? "x" : name("y", i - 1);
    model.tensor(name("W", i), {2, 2, 1, 1}, 0.5F);
    model.node("CastLike", {"s", x}, name("s", i));
    model.node("Conv", {x, name("W", i)}, name("c", i));
    model.node("BatchNormalization", {name("c", i), name("s", i), "b", "m", "v"}, name("n", i));
    model.node("Relu", {name("n", i)}, name("y", i));
  }
  const auto loaded = model.load(name("y", kLength - 1));
  run_all(*loaded);
  EXPECT_EQ(count(*loaded, "CastLike"), 0U);
  EXPECT_EQ(count(*loaded, "BatchNormalization"), 0U);
}

// Simplifications, of 100,000 nodes each.

TEST(Cost, LongChainOfIdentities) {
  constexpr int kLength = kMany;
  LongModel model;
  for (int i = 1; i <= kLength; ++i) model.node("Identity", {i == 1 ? "x" : name("d", i - 1)}, name("d", i));
  model.node("Relu", {name("d", kLength)}, "y");
  const auto loaded = model.load("y");
  run_all(*loaded);
  EXPECT_EQ(loaded->graph().nodes().size(), 1U);
}

TEST(Cost, IdentitiesOfOneValue) {
  // Each removal adds one more reader to the same value.
  constexpr int kReaders = kMany;
  LongModel model;
  for (int i = 0; i < kReaders; ++i) model.node("Identity", {"x"}, name("d", i));
  auto& last = model.node("Sum", {}, "y");
  for (int i = 0; i < kReaders; ++i) last.add_input(name("d", i));
  const auto loaded = model.load("y");
  run_all(*loaded);
  EXPECT_EQ(loaded->graph().nodes().size(), 1U);
}

TEST(Cost, LongLiveChainOfConstants) {
  constexpr int kLength = kMany;
  LongModel model;
  model.tensor("w0", {2}, 0.5F);
  for (int i = 1; i <= kLength; ++i) model.node("Neg", {name("w", i - 1)}, name("w", i));
  model.node("Max", {"x", name("w", kLength)}, "y");
  const auto loaded = model.load("y");
  EXPECT_LE(run_all(*loaded).rewrites, 2);
  EXPECT_EQ(loaded->graph().nodes().size(), 1U);
}

TEST(Cost, LongChainOfConstantsReadEverywhere) {
  constexpr int kLength = kMany / 2;
  LongModel model;
  model.tensor("w0", {2}, 0.5F);
  for (int i = 1; i <= kLength; ++i) {
    model.node("Neg", {name("w", i - 1)}, name("w", i));
    model.node("Max", {i == 1 ? "x" : name("y", i - 1), name("w", i)}, name("y", i));
  }
  const auto loaded = model.load(name("y", kLength));
  run_all(*loaded);
  EXPECT_EQ(count(*loaded, "Neg"), 0U);
  EXPECT_EQ(loaded->graph().initializers().size(), static_cast<std::size_t>(kLength));
}

TEST(Cost, CallsOfOneFunction) {
  constexpr int kCalls = kMany / 5;
  LongModel model;
  model.parameters();
  for (int i = 0; i < kCalls; ++i) {
    model.tensor(name("W", i), {2, 2, 1, 1}, 0.5F);
    model.node("Block", {i == 0 ? "x" : name("y", i - 1), name("W", i), "s", "b", "m", "v"}, name("y", i)).set_domain("local");
  }
  model.function();
  const auto loaded = model.load(name("y", kCalls - 1));
  run_all(*loaded);
  EXPECT_EQ(count(*loaded, "Conv"), static_cast<std::size_t>(kCalls));
  EXPECT_EQ(count(*loaded, "BatchNormalization"), 0U);
  EXPECT_TRUE(loaded->functions().empty());
}

}  // namespace
}  // namespace relayout::test
