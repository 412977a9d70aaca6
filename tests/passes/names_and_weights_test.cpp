// Tests passes that rename inputs, outputs and dims, store equal weights once, and replace weights.
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <cmath>

#include "relayout/error.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;

PassResult renamed(const TextModel& model, const std::map<std::string, std::string>& names) {
  PassOptions options;
  options.renames = names;
  return run({"rename"}, model, options);
}

const char* const kBranches =
    "g (float[N,2] x, bool c) => (float[N,2] y, float[N,2] z) { z = Relu (x)  y = If (c) <then_branch = a () => (float[N,2] t) { t = Neg "
    "(x) "
    "}, else_branch = b () => (float[N,2] e) { e = Add (x, z) }> }";

TEST(Rename, ReachesNestedGraphs) {
  const PassResult result = renamed(kBranches, {{"x", "images"}, {"z", "scores"}, {"N", "batch"}});
  const std::string text = to_text(*result.model);
  EXPECT_THAT(text, HasSubstr("float[batch,2] images"));
  EXPECT_THAT(text, HasSubstr("Neg (images)"));
  EXPECT_THAT(text, HasSubstr("Add (images, scores)"));
  EXPECT_THAT(text, testing::Not(HasSubstr("[N,")));
  EXPECT_EQ(result.findings.size(), 3U);
  // Twice is once, and back is the original.
  EXPECT_TRUE(renamed(TextModel::of(result.bytes), {{"x", "images"}, {"z", "scores"}, {"N", "batch"}}).bytes == result.bytes);
  EXPECT_TRUE(renamed(TextModel::of(result.bytes), {{"images", "x"}, {"scores", "z"}, {"batch", "N"}}).bytes ==
              TextModel(kBranches).bytes());
}

TEST(Rename, ExchangesNames) {
  const PassResult result = renamed("g (float[2] a, float[2] b) => (float[2] y) { y = Sub (a, b) }", {{"a", "b"}, {"b", "a"}});
  EXPECT_THAT(to_text(*result.model), HasSubstr("Sub (b, a)"));
}

TEST(Rename, RefusesNamesInUse) {
  const auto kind = [](const std::map<std::string, std::string>& names) {
    try {
      (void)renamed(kBranches, names);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::defect;
  };
  EXPECT_EQ(kind({{"x", "z"}}), ErrorKind::unsupported);
  EXPECT_EQ(kind({{"x", "t"}}), ErrorKind::unsupported);  // of a nested graph
  EXPECT_EQ(kind({{"x", "q"}, {"z", "q"}}), ErrorKind::unsupported);
  EXPECT_EQ(kind({{"nothing", "q"}}), ErrorKind::usage);
  EXPECT_EQ(kind({{"t", "q"}}), ErrorKind::usage);  // no caller sees it
}

TEST(ShareWeights, KeepsOneOfEqualInitializers) {
  TextModel model =
      "g (float[2,3] x) => (float[2,3] y) <float[3,3] W, float[3,3] V, float[3,3] U, float[9] flat, int64[2] t = {3, 3}, int64[2] s = {3, "
      "3}> "
      "{ a = MatMul (x, W)  b = MatMul (a, V)  c = MatMul (b, U)  f = Reshape (flat, t)  d = MatMul (c, f)  g = Reshape (flat, s) "
      "  y = MatMul (d, g) }";
  const std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8, 9};
  model.set("W", values).set("V", values).set("flat", values);
  PassOptions options;
  options.share_weights = true;
  const PassResult result = run({"share-weights"}, model, options);
  expect_same(model, result, {"share-weights"}, options);
  EXPECT_EQ(result.findings.size(), 2U) << result.details();
  const std::string text = to_text(*result.model);
  EXPECT_THAT(text, HasSubstr("MatMul (a, W)"));
  EXPECT_THAT(text, HasSubstr("MatMul (b, U)"));
  EXPECT_THAT(text, HasSubstr("Reshape (flat, t)"));
}

TEST(ShareWeights, ComparesEveryElementOfLargeInitializers) {
  TextModel model =
      "g (float[2,64] x) => (float[2,64] y) <float[64,64] W, float[64,64] V, float[64,64] U, float[64,64] T> "
      "{ a = MatMul (x, W)  b = MatMul (a, V)  c = MatMul (b, U)  y = MatMul (c, T) }";
  constexpr std::size_t kElements = 4096;
  std::vector<double> values(kElements, 0.125), one = values;
  one[kElements / 4] = 0.25;
  model.set("W", values).set("V", values).set("U", one).set("T", one);
  PassOptions options;
  options.share_weights = true;
  const PassResult result = run({"share-weights"}, model, options);
  expect_same(model, result, {"share-weights"}, options);
  const std::string text = to_text(*result.model);
  EXPECT_THAT(text, HasSubstr("MatMul (a, W)"));
  EXPECT_THAT(text, HasSubstr("MatMul (b, U)"));
  EXPECT_THAT(text, HasSubstr("MatMul (c, U)"));
}

/// A model with descriptions and metadata wherever ONNX has them.
std::string annotated() {
  const TextModel text =
      "g (float[2,3] x) => (float[2,3] y) <float[3,3] W = {1, 2, 3, 4, 5, 6, 7, 8, 9}, bool c = {1}> { a = MatMul (x, W) "
      "k = Constant <value_float = 2.0> () y = If (c) <then_branch = t () => (float[2,3] p) { p = Mul (a, k) }, else_branch = e () => "
      "(float[2,3] q) { q = Identity (a) }> }";
  onnx::ModelProto model;
  model.ParseFromString(text.bytes());
  const auto note = [](auto& message) {
    message.set_doc_string("File \"/home/someone/net.py\"");
    if constexpr (requires { message.add_metadata_props(); }) {
      for (const char* const key : {"pkg.trace", "author"}) {
        auto& entry = *message.add_metadata_props();
        entry.set_key(key);
        entry.set_value("/home/someone");
      }
    }
  };
  const auto note_graph = [&](auto& graph, const auto& self) -> void {
    note(graph);
    for (auto& value : *graph.mutable_output()) note(value);
    for (auto& tensor : *graph.mutable_initializer()) note(tensor);
    for (auto& node : *graph.mutable_node()) {
      note(node);
      for (auto& attribute : *node.mutable_attribute()) {
        note(attribute);
        if (attribute.has_g()) self(*attribute.mutable_g(), self);
      }
    }
  };
  note(model);
  note_graph(*model.mutable_graph(), note_graph);
  return model.SerializeAsString();
}

/// The bytes of that model after `strip` with these options.
std::string stripped(const Annotations& what) {
  PassOptions options;
  options.strip = what;
  return run({"strip"}, TextModel::of(annotated()), options).bytes;
}

TEST(Strip, RemovesDescriptionsAndMetadataEverywhere) {
  ASSERT_THAT(annotated(), HasSubstr("/home/someone"));
  const std::string nothing_left = stripped({.descriptions = true, .metadata = {"*"}});
  EXPECT_THAT(nothing_left, testing::Not(HasSubstr("/home/someone")));
  EXPECT_THAT(nothing_left, testing::Not(HasSubstr("author")));
  const std::string descriptions = stripped({.descriptions = true, .metadata = {}});
  EXPECT_THAT(descriptions, testing::Not(HasSubstr("net.py")));
  EXPECT_THAT(descriptions, HasSubstr("author"));
  const std::string traces = stripped({.descriptions = false, .metadata = {"pkg.*"}});
  EXPECT_THAT(traces, HasSubstr("net.py"));
  EXPECT_THAT(traces, HasSubstr("author"));
  EXPECT_THAT(traces, testing::Not(HasSubstr("pkg.trace")));
  // What is left is the model without these.
  onnx::ModelProto before, after;
  ASSERT_TRUE(before.ParseFromString(annotated()));
  ASSERT_TRUE(after.ParseFromString(nothing_left));
  EXPECT_EQ(after.graph().node_size(), before.graph().node_size());
  EXPECT_EQ(after.graph().initializer(0).float_data_size() + std::ssize(after.graph().initializer(0).raw_data()),
            before.graph().initializer(0).float_data_size() + std::ssize(before.graph().initializer(0).raw_data()));
}

TEST(Scramble, KeepsMeanAndSpread) {
  const TextModel model =
      "g (float[1,8] x) => (float[1,64] y) <float[8,64] W, float[64] var_b, float one = {1}, int64[2] t = {1, 8}> "
      "{ r = Reshape (x, t)  m = MatMul (r, W)  a = Add (m, var_b)  y = Mul (a, one) }";
  PassOptions options;
  options.scramble = 7;
  const PassResult result = run({"scramble"}, model, options), again = run({"scramble"}, model, options);
  EXPECT_TRUE(result.bytes == again.bytes);
  EXPECT_EQ(result.findings.size(), 2U);
  const std::vector<double> before = run({"remove-unused"}, model).initializer("W"), after = result.initializer("W");
  const auto moments = [](const std::vector<double>& values) {
    double sum = 0, squares = 0;
    for (const double value : values) {
      sum += value;
      squares += value * value;
    }
    const double mean = sum / static_cast<double>(values.size());
    return std::pair(mean, std::sqrt(squares / static_cast<double>(values.size()) - mean * mean));
  };
  EXPECT_NE(before, after);
  EXPECT_NEAR(moments(before).first, moments(after).first, 0.2 * moments(before).second);
  EXPECT_NEAR(moments(after).second / moments(before).second, 1, 0.2);
  for (const double variance : result.initializer("var_b")) EXPECT_GT(variance, 0);
  options.scramble = 8;
  EXPECT_FALSE(run({"scramble"}, model, options).bytes == result.bytes);
}

}  // namespace
}  // namespace relayout::test
