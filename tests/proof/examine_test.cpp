
#include "base/log.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

using Kind = Unexplained::Kind;

Example graph(const std::string& nodes, int opset = 17) {
  return Example("g (float[1,3,8,8] x, float[1,3,8,8] z) => (float[?,?,?,?] y) { " + nodes + " }", opset);
}

const Array kWeightU = normal("u", {3, 3, 3, 3});
const Array kWeightV = normal("v", {3, 3, 3, 3});

TEST(ProofOfNodes, EqualModels) {
  const Example model = graph("a = Relu (x) b = Add (a, z) y = Sigmoid (b)");
  const ProofResult result = prove(model, model);
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.nodes_equal, 3);
}

TEST(ProofOfNodes, TellsTheRuleThatExplainedANode) {
  const auto told = [](const Example& before, const Example& after) {
    testing::internal::CaptureStderr();
    set_log_level(LogLevel::verbose);
    EXPECT_TRUE(is_proved(prove(before, after)));
    set_log_level(LogLevel::normal);
    return testing::internal::GetCapturedStderr();
  };
  const Example whole = graph("a = Relu (x) y = Mish (a)");
  EXPECT_EQ(told(whole, whole), "");
  EXPECT_EQ(told(whole, graph("a = Relu (x) s = Softplus (a) t = Tanh (s) y = Mul (a, t)")),
            "relayout: proof: output 'y' (Mul) for output 'y' (Mish) by rule: formula\n");
  EXPECT_EQ(told(graph("a = Relu (x) b = Identity (a) y = Mish (b)"), whole),
            "relayout: proof: output 'a' (Relu) for output 'b' (Identity) by rule: no effect\n");
}

TEST(ProofOfNodes, V19NamesAndDocumentationDoNotMatter) {
  Example before = graph("a = Relu (x) b = Conv (a, w) c = Add (b, b) y = Sigmoid (c)").add("w", kWeightU);
  Example after = graph("p = Relu (x) q = Conv (p, r) s = Add (q, q) y = Sigmoid (s)").add("r", kWeightU);
  after.edit([](onnx::ModelProto& message) {
    message.set_producer_name("other");
    message.mutable_graph()->set_name("h");
    for (onnx::NodeProto& node : *message.mutable_graph()->mutable_node()) node.set_doc_string("text"), node.set_name("n" + node.output(0));
  });
  EXPECT_TRUE(is_proved(prove(before, after)));
}

TEST(ProofOfNodes, ACastThatOneModelHasAloneShiftsNothing) {
  // Two sums in a row: the second one, downstream of the Cast, must not be matched with the first.
  const auto sums = [](const std::string& end) {
    Example out("g (float16[4] x) => (float16[4] y) { p = Mul (x, k) s = Add (x, p) q = Mul (s, l) t = Add (s, q) " + end + " }");
    return out.add("k", Array{DataType::float16, {4}, {1, 2, 3, 4}}).add("l", Array{DataType::float16, {4}, {5, 6, 7, 8}});
  };
  Example after = sums("c = Cast <to = 1> (t) d = Relu (c) y = Cast <to = 10> (d)");
  after.edit([](onnx::ModelProto& message) {
    for (onnx::NodeProto& node : *message.mutable_graph()->mutable_node()) {
      for (std::string& name : *node.mutable_input()) name += name.size() == 1 && name != "x" && name != "k" && name != "l" ? "_after" : "";
      for (std::string& name : *node.mutable_output()) name += name != "y" ? "_after" : "";
    }
  });
  const ProofResult result = prove(sums("y = Relu (t)"), after);
  ASSERT_EQ(result.unexplained.size(), 2U);
  for (const Unexplained& entry : result.unexplained) EXPECT_EQ(entry.kind, Kind::node_added) << entry.text;
}

TEST(ProofOfNodes, NamesThatAreAllTakenByOthers) {
  // A writer that renumbers values: every name denotes a different value.
  const Example before = graph("v1 = Relu (x) v2 = Neg (v1) v3 = Exp (v2) y = Sqrt (v3)");
  const Example after = graph("v3 = Relu (x) v1 = Neg (v3) v2 = Exp (v1) y = Sqrt (v2)");
  EXPECT_TRUE(is_proved(prove(before, after)));
}

TEST(ProofOfNodes, AttributeChanged) {
  const Example before = graph("a = LeakyRelu <alpha: float = 0.1> (x) y = Conv <pads = [1, 1, 1, 1]> (a, w)").add("w", kWeightU);
  const Example alpha = graph("a = LeakyRelu <alpha: float = 0.101> (x) y = Conv <pads = [1, 1, 1, 1]> (a, w)").add("w", kWeightU);
  EXPECT_TRUE(names(prove(before, alpha), Kind::attribute, "output 'a' (LeakyRelu) has another attribute 'alpha'"));
  const Example pads = graph("a = LeakyRelu <alpha: float = 0.1> (x) y = Conv <pads = [0, 0, 2, 2]> (a, w)").add("w", kWeightU);
  EXPECT_TRUE(names(prove(before, pads), Kind::attribute, "output 'y' (Conv) has another attribute 'pads'"));
  const Example missing = graph("a = LeakyRelu <alpha: float = 0.1> (x) y = Conv (a, w)").add("w", kWeightU);
  EXPECT_TRUE(names(prove(before, missing), Kind::attribute, "'pads'"));
}

TEST(ProofOfNodes, AttributeOrderDoesNotMatter) {
  const Example before = graph("y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)").add("w", kWeightU);
  const Example after = graph("y = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w)").add("w", kWeightU);
  EXPECT_TRUE(is_proved(prove(before, after)));
}

TEST(ProofOfNodes, TensorAttribute) {
  const auto model = [](const std::string& value) {
    return Example("g (int64[2] s) => (float[?,?] y) { y = ConstantOfShape <value = float[1] {" + value + "}> (s) }");
  };
  EXPECT_TRUE(is_proved(prove(model("2"), model("2"))));
  EXPECT_TRUE(names(prove(model("2"), model("3")), Kind::attribute, "'value'"));
}

TEST(ProofOfNodes, AConstantThatAnotherNodeReadsDidNotChange) {
  const Array k = normal("k", {8}), l = normal("l", {8});
  const Example before = graph("a = Max (x, k) b = Relu (a) y = Max (b, l)").add("k", k).add("l", l);
  const Example exchanged = graph("a = Max (x, l) b = Relu (a) y = Max (b, l)").add("k", k).add("l", l);
  const ProofResult result = prove(before, exchanged);
  EXPECT_TRUE(names(result, Kind::operand, "output 'a' (Max) reads 'l' where 'k' was read"));
  for (const Unexplained& entry : result.unexplained) EXPECT_EQ(entry.values, 0) << entry.text;
  const Example changed = graph("a = Max (x, k) b = Relu (a) y = Max (b, l)").add("k", l).add("l", l);
  EXPECT_TRUE(names(prove(before, changed), Kind::tensor, "constant 'k' differs"));
}

TEST(ProofOfNodes, NodeReplaced) {
  const Example before = graph("a = Conv (x, w) b = Relu (a) y = Sigmoid (b)").add("w", kWeightU);
  const Example after = graph("a = Conv (x, w) b = LeakyRelu (a) y = Sigmoid (b)").add("w", kWeightU);
  EXPECT_TRUE(names(prove(before, after), Kind::node_changed, "output 'b' (LeakyRelu) stands where output 'b' (Relu) was"));
}

TEST(ProofOfNodes, NodeAdded) {
  const Example before = graph("a = Conv (x, w) y = Sigmoid (a)").add("w", kWeightU);
  const Example after = graph("a = Conv (x, w) b = Relu (a) y = Sigmoid (b)").add("w", kWeightU);
  EXPECT_TRUE(names(prove(before, after), Kind::node_added, "output 'b' (Relu) was not there"));
  const Example upstream = graph("b = Abs (x) a = Conv (b, w) y = Sigmoid (a)").add("w", kWeightU);
  EXPECT_TRUE(names(prove(before, upstream), Kind::node_added, "output 'b' (Abs) was not there"));
}

TEST(ProofOfNodes, V34NodeRemoved) {
  const Example before = graph("a = Conv (x, w) b = Clip (a, low, high) y = Sigmoid (b)")
                             .add("w", kWeightU)
                             .add("low", Array{DataType::float32, {}, {0}})
                             .add("high", Array{DataType::float32, {}, {6}});
  const Example after = graph("a = Conv (x, w) y = Sigmoid (a)").add("w", kWeightU);
  EXPECT_TRUE(names(prove(before, after), Kind::node_removed, "output 'b' (Clip) is gone"));
}

TEST(ProofOfNodes, OperandsExchanged) {
  const Example before = graph("a = Conv (x, u) b = Conv (x, v) y = Concat <axis = 1> (a, b)").add("u", kWeightU).add("v", kWeightV);
  const Example after = graph("a = Conv (x, u) b = Conv (x, v) y = Concat <axis = 1> (b, a)").add("u", kWeightU).add("v", kWeightV);
  const ProofResult result = prove(before, after);
  ASSERT_EQ(result.unexplained.size(), 2U) << is_proved(result).message();
  for (const Unexplained& entry : result.unexplained) EXPECT_EQ(entry.kind, Kind::operand);
  EXPECT_EQ(result.unexplained[0].text, "output 'y' (Concat) reads 'b' where 'a' was read");
  const Example inputs = graph("y = Sub (x, z)");
  const Example swapped = graph("y = Sub (z, x)");
  EXPECT_FALSE(prove(inputs, swapped).proved);
}

TEST(ProofOfNodes, OptionalOperandAddedOrLost) {
  const Example before = graph("y = Clip (x, low)").add("low", Array{DataType::float32, {}, {0}});
  const Example after = graph("y = Clip (x)");
  EXPECT_TRUE(names(prove(before, after), Kind::operand, "has lost its operand 'low'"));
  EXPECT_TRUE(names(prove(after, before), Kind::operand, "'low' as an operand that was absent"));
  const Example moved = graph("y = Clip (x, , low)").add("low", Array{DataType::float32, {}, {0}});
  EXPECT_FALSE(prove(before, moved).proved);
}

TEST(ProofOfNodes, OtherOutputOfTheSameNode) {
  const Example before = graph("a, b, c = Split <axis = 1> (x, s) y = Relu (a)").add("s", {1, 1, 1});
  const Example after = graph("a, b, c = Split <axis = 1> (x, s) y = Relu (b)").add("s", {1, 1, 1});
  EXPECT_TRUE(names(prove(before, after), Kind::operand, "output 'y' (Relu) reads 'b' where 'a' was read"));
}

TEST(ProofOfNodes, OpsetsBetweenWhichNothingChanged) {
  for (const int newer : {13, 14, 18, 21}) EXPECT_TRUE(is_proved(prove(graph("y = Relu (x)", 12), graph("y = Relu (x)", newer)))) << newer;
  const std::string window = "<kernel_shape = [2, 2], ceil_mode = ";
  for (const char* const op : {"AveragePool", "MaxPool"}) {
    const auto pool = [&](int ceil, int opset) {
      return graph("y = " + std::string(op) + " " + window + std::to_string(ceil) + "> (x)", opset);
    };
    EXPECT_TRUE(is_proved(prove(pool(0, 12), pool(0, 21)))) << op;
  }
  const Example convolution = graph("y = Conv (x, w)", 10).add("w", kWeightU);
  EXPECT_TRUE(is_proved(prove(convolution, graph("y = Conv (x, w)", 21).add("w", kWeightU))));
  // A default added later states the behaviour of the older version.
  EXPECT_TRUE(
      is_proved(prove(graph("y = BatchNormalization (x, s, s, s, s)", 9).add("s", uniform("s", {3}, 0.5, 2)),
                      graph("y = BatchNormalization <training_mode = 0> (x, s, s, s, s)", 15).add("s", uniform("s", {3}, 0.5, 2)))));
}

TEST(ProofOfNodes, OpsetsBetweenWhichSomethingChanged) {
  const auto changed = [](const std::string& nodes, int a, int b) { return prove(graph(nodes, a), graph(nodes, b)); };
  EXPECT_TRUE(names(changed("y = Softmax <axis = 1> (x)", 12, 13), Kind::node_changed, "is of opset 13, was of 12"));
  EXPECT_FALSE(changed("y = LogSoftmax <axis = 1> (x)", 11, 17).proved);
  EXPECT_FALSE(changed("y = AveragePool <kernel_shape = [2, 2], ceil_mode = 1> (x)", 18, 19).proved);
  EXPECT_FALSE(changed("y = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (x)", 6, 7).proved);
  EXPECT_FALSE(prove(graph("y = GroupNormalization <num_groups = 1> (x, s, s)", 18).add("s", uniform("s", {1}, 0.5, 2)),
                     graph("y = GroupNormalization <num_groups = 1> (x, s, s)", 21).add("s", uniform("s", {1}, 0.5, 2)))
                   .proved);
  EXPECT_FALSE(prove(graph("y = ConvTranspose <auto_pad = \"SAME_UPPER\"> (x, w)", 10).add("w", kWeightU),
                     graph("y = ConvTranspose <auto_pad = \"SAME_UPPER\"> (x, w)", 11).add("w", kWeightU))
                   .proved);
  // Operators of other domains have no known history.
  const auto custom = [](int version) {
    return graph("y = my.Op (x)").edit([&](onnx::ModelProto& message) {
      auto& import = *message.add_opset_import();
      import.set_domain("my");
      import.set_version(version);
    });
  };
  EXPECT_TRUE(is_proved(prove(custom(1), custom(1))));
  EXPECT_TRUE(names(prove(custom(1), custom(2)), Kind::node_changed, "is of opset 2, was of 1"));
}

TEST(ProofOfNodes, AttributesAtTheirDefaults) {
  const auto same = [](const std::string& a, const std::string& b) {
    const auto model = [](const std::string& text) {
      return graph("y = " + text).add("w", kWeightU).add("i", std::vector<int64_t>{0, 2}).add("s", uniform("s", {3}, 0.5, 2));
    };
    return prove(model(a), model(b)).proved && prove(model(b), model(a)).proved;
  };
  const std::string conv =
      "Conv <kernel_shape = [3, 3], strides = [1, 1], dilations = [1, 1], pads = [0, 0, 0, 0], group = 1, auto_pad = "
      "\"NOTSET\"> (x, w)";
  EXPECT_TRUE(same("Conv (x, w)", conv));
  EXPECT_TRUE(same("Gather (x, i)", "Gather <axis = 0> (x, i)"));
  EXPECT_TRUE(same("ReduceMean <axes = [1]> (x)", "ReduceMean <axes = [1], keepdims = 1> (x)"));
  EXPECT_TRUE(same("Transpose (x)", "Transpose <perm = [3, 2, 1, 0]> (x)"));
  EXPECT_TRUE(same("MaxPool <kernel_shape = [2, 2]> (x)", "MaxPool <kernel_shape = [2, 2], strides = [1, 1], storage_order = 0> (x)"));
  EXPECT_TRUE(same("LeakyRelu (x)", "LeakyRelu <alpha = 0.01> (x)"));
  EXPECT_FALSE(same("Conv (x, w)", "Conv <strides = [2, 2]> (x, w)"));
  EXPECT_FALSE(same("Conv (x, w)", "Conv <pads = [1, 1, 1, 1]> (x, w)"));
  EXPECT_FALSE(same("Gather (x, i)", "Gather <axis = 1> (x, i)"));
  EXPECT_FALSE(same("Gather <axis = 0> (x, i)", "Gather <axis = 1> (x, i)"));
  EXPECT_FALSE(same("ReduceMean <axes = [1]> (x)", "ReduceMean <axes = [1], keepdims = 0> (x)"));
  EXPECT_FALSE(same("Transpose (x)", "Transpose <perm = [3, 2, 0, 1]> (x)"));
  EXPECT_FALSE(same("LeakyRelu (x)", "LeakyRelu <alpha = 0.011> (x)"));
  EXPECT_FALSE(same("MaxPool <kernel_shape = [2, 2]> (x)", "MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)"));
}

/// An attribute of an operator of ONNX Runtime written at its default, by its schema or the text of that, and a near miss.
TEST(ProofOfNodes, DefaultsOfOnnxRuntime) {
  const auto prove_pair = [](const std::string& op, const std::string& operands, const std::string& given, const std::string& a,
                             const std::string& b) {
    const auto model = [&](const std::string& more) {
      const std::string all = given + (given.empty() || more.empty() ? "" : ", ") + more;
      return Example(
                 "g (float[2,3,32] x, float[2,3,32] k, float[2,3,32] v, float[4,8] m, float[4,8] n, float[1,4,6,6] i, int32[2,3] mask,"
                 " float[2,3,96] packed) => (y) { y = " +
                 op + (all.empty() ? "" : " <" + all + ">") + " (" + operands + ") }")
          .add("w", normal("w", {32, 96}))
          .add("b", normal("b", {96}))
          .add("s", normal("s", {32}))
          .add("c", normal("c", {4, 4, 3, 3}))
          .add("r", normal("r", {1, 16, 4}))
          .add("u", normal("u", {1, 16, 32}));
    };
    return prove(model(a), model(b)).proved && prove(model(b), model(a)).proved;
  };
  struct Case {
    std::string op, operands, given, written, other;
  };
  const std::string ms = "com.microsoft.";
  const std::vector<Case> cases = {
      {ms + "FusedGemm", "m, n", "activation = \"Relu\", transB = 1", "alpha = 1.0", "alpha = 1.001"},
      {ms + "FusedGemm", "m, n", "activation = \"Relu\", transB = 1", "beta = 1.0, transA = 0", "transA = 1"},
      {ms + "FusedGemm", "m, n", "activation = \"Relu\", transB = 1", "activation_alpha = 0.5", "alpha = 2.0"},
      {ms + "FusedMatMul", "m, n", "transB = 1", "alpha = 1.0, transA = 0, transBatchA = 0, transBatchB = 0", "alpha = 0.5"},
      {ms + "QuickGelu", "m", "", "alpha = 1.702", "alpha = 1.703"},
      {ms + "Attention", "x, w, b, mask", "num_heads = 4", "mask_filter_value = -10000.0", "mask_filter_value = -1000.0"},
      {ms + "Attention", "x, w, b, mask", "num_heads = 4", "unidirectional = 0, do_rotary = 0", "unidirectional = 1"},
      {ms + "Attention", "x, w, b, mask", "num_heads = 2", "scale = 0.25", "scale = 0.5"},
      {ms + "Attention", "x, w, b, mask", "num_heads = 4", "scale = 0.35355338", "scale = 0.3536"},
      {ms + "Attention", "x, w, b, mask", "num_heads = 4", "scale = 0.0", "scale = 0.001"},
      {ms + "MultiHeadAttention", "x, k, v", "num_heads = 2", "scale = 0.25, unidirectional = 0", "scale = 0.125"},
      {ms + "MultiHeadAttention", "x, k, v", "num_heads = 2", "mask_filter_value = -10000.0", "unidirectional = 1"},
      {ms + "GroupQueryAttention", "x, k, v", "num_heads = 2, kv_num_heads = 2", "scale = 0.25", "scale = 0.2"},
      {ms + "GroupQueryAttention", "packed", "num_heads = 2, kv_num_heads = 2", "scale = 0.25", "scale = 0.2"},
      {ms + "GroupQueryAttention", "x, k, v", "num_heads = 2, kv_num_heads = 2", "softcap = 0.0, do_rotary = 0, rotary_interleaved = 0",
       "softcap = 1.0"},
      {ms + "GroupQueryAttention", "x, k, v", "num_heads = 2, kv_num_heads = 2", "local_window_size = -1, smooth_softmax = 0",
       "local_window_size = 2"},
      {ms + "SkipLayerNormalization", "x, k, s, s", "", "epsilon = 0.000000000001", "epsilon = 0.00001"},
      {"SimplifiedLayerNormalization", "x, s", "", "epsilon = 0.00001, axis = -1, stash_type = 1", "epsilon = 0.000001"},
      {ms + "FusedConv", "i, c", "activation = \"Relu\"", "group = 1, auto_pad = \"NOTSET\", strides = [1, 1], pads = [0, 0, 0, 0]",
       "strides = [2, 2]"},
      {ms + "FusedConv", "i, c", "activation = \"Relu\"", "kernel_shape = [3, 3], dilations = [1, 1]", "dilations = [2, 2]"},
      {"LSTM", "x, u, r", "", "hidden_size = 4, activations = [\"Sigmoid\", \"Tanh\", \"Tanh\"], direction = \"forward\"",
       "activations = [\"Tanh\", \"Tanh\", \"Tanh\"]"},
      {"RNN", "x, u, r", "hidden_size = 16", "activations = [\"Tanh\", \"Tanh\"]", "activations = [\"Relu\", \"Tanh\"]"},
  };
  for (const Case& one : cases) {
    EXPECT_TRUE(prove_pair(one.op, one.operands, one.given, "", one.written)) << one.op << ": " << one.written;
    EXPECT_FALSE(prove_pair(one.op, one.operands, one.given, "", one.other)) << one.op << ": " << one.other;
  }
}

/// Attributes that a node does not read because of its other attributes, operands or results, and where another node does.
TEST(ProofOfNodes, AttributesThatAreNotRead) {
  const auto model = [](const std::string& node) {
    return Example("g (float[2,4,6,6] x, float[3,4] m, float[4,5] n, float[3,5] k, float[4] c) => (y) <float[4] f = {1, 1, 1.5, 1.5}> { " +
                   node + " }");
  };
  const auto same = [&](const std::string& a, const std::string& b) {
    return prove(model(a), model(b)).proved && prove(model(b), model(a)).proved;
  };
  EXPECT_TRUE(same("y = Gemm (m, n)", "y = Gemm <beta = 0.5> (m, n)"));
  EXPECT_FALSE(same("y = Gemm (m, n, k)", "y = Gemm <beta = 0.5> (m, n, k)"));
  EXPECT_TRUE(same("y = BatchNormalization (x, c, c, c, c)", "y = BatchNormalization <momentum = 0.1> (x, c, c, c, c)"));
  EXPECT_FALSE(same("y, u, v = BatchNormalization <training_mode = 1> (x, c, c, c, c)",
                    "y, u, v = BatchNormalization <training_mode = 1, momentum = 0.1> (x, c, c, c, c)"));
  EXPECT_TRUE(same("y = MaxPool <kernel_shape = [2, 2]> (x)", "y = MaxPool <kernel_shape = [2, 2], storage_order = 1> (x)"));
  EXPECT_FALSE(same("v, y = MaxPool <kernel_shape = [2, 2]> (x)", "v, y = MaxPool <kernel_shape = [2, 2], storage_order = 1> (x)"));
  EXPECT_TRUE(same("y = Resize <mode = \"linear\"> (x, , f)", "y = Resize <mode = \"linear\", cubic_coeff_a = -0.5> (x, , f)"));
  EXPECT_TRUE(same("y = Resize <mode = \"linear\"> (x, , f)", "y = Resize <mode = \"linear\", nearest_mode = \"floor\"> (x, , f)"));
  EXPECT_TRUE(same("y = Resize (x, , f)", "y = Resize <extrapolation_value = 3.0> (x, , f)"));
  EXPECT_FALSE(same("y = Resize <mode = \"cubic\"> (x, , f)", "y = Resize <mode = \"cubic\", cubic_coeff_a = -0.5> (x, , f)"));
  EXPECT_FALSE(same("y = Resize (x, , f)", "y = Resize <nearest_mode = \"floor\"> (x, , f)"));
  EXPECT_FALSE(same("y = Resize <mode = \"linear\"> (x, , f)", "y = Resize <mode = \"cubic\", cubic_coeff_a = -0.5> (x, , f)"));
}

TEST(ProofOfNodes, AxesOfScalesForTheWholeTensor) {
  const auto model = [](const std::string& attributes, Dims dims) {
    return Example("g (int8[2,3] x) => (float[2,3] y) { y = DequantizeLinear " + attributes + " (x, s) }")
        .add("s", uniform("s", std::move(dims), 0.5, 2));
  };
  EXPECT_TRUE(is_proved(prove(model("", {}), model("<axis = 0>", {}))));
  EXPECT_TRUE(is_proved(prove(model("", {3}), model("<axis = 1>", {3}))));
  EXPECT_FALSE(prove(model("", {3}), model("<axis = 0>", {3})).proved);
}

TEST(ProofOfNodes, IdentitiesAreBypassed) {
  const Example before = graph("a = Identity (x) b = Relu (a) c = Identity (b) d = Dropout (c) y = Neg (d)");
  const Example after = graph("b = Relu (x) y = Neg (b)");
  const ProofResult result = prove(before, after);
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.nodes_bypassed, 3);
  EXPECT_TRUE(is_proved(prove(after, before)));
  EXPECT_EQ(prove(before, before).nodes_bypassed, 0);
}

TEST(ProofOfNodes, SqueezesOfAddedAxesCancel) {
  const std::string head = "g (float[1, 4] x) => (float[M, N] y) <int64[1] first = {0}, int64[1] last = {-1}, int64[2] both = {0, 2}> ";
  const Example before(head + "{ a = Relu (x) y = Neg (a) }");
  const auto with = [&](const std::string& added, const std::string& removed) {
    return Example(head + "{ a = Relu (x) u = Unsqueeze (a, " + added + ") s = Squeeze (u, " + removed + ") y = Neg (s) }");
  };
  for (const char* const axes : {"first", "last", "both"}) {
    EXPECT_TRUE(is_proved(prove(before, with(axes, axes)))) << axes;
    EXPECT_TRUE(is_proved(prove(with(axes, axes), before))) << axes;
  }
  EXPECT_FALSE(prove(before, with("last", "first")).proved);
}

TEST(ProofOfNodes, F84TrainingDropoutIsNotBypassed) {
  const Example before = Example("g (float[4] x) => (float[4] y) <float r = {0.5}, bool t = {1}> { a = Dropout (x, r, t) y = Neg (a) }");
  const Example after = Example("g (float[4] x) => (float[4] y) { y = Neg (x) }");
  EXPECT_TRUE(names(prove(before, after), Kind::node_removed, "output 'a' (Dropout) is gone"));
}

TEST(ProofOfNodes, TransposePairsCancel) {
  const Example before = graph("a = Relu (x) y = Neg (a)");
  const Example after = graph("a = Relu (x) b = Transpose <perm = [0, 2, 3, 1]> (a) c = Transpose <perm = [0, 3, 1, 2]> (b) y = Neg (c)");
  EXPECT_TRUE(is_proved(prove(before, after)));
  const Example wrong = graph("a = Relu (x) b = Transpose <perm = [0, 2, 3, 1]> (a) c = Transpose <perm = [0, 2, 3, 1]> (b) y = Neg (c)");
  EXPECT_FALSE(prove(before, wrong).proved);
}

TEST(ProofOfNodes, ConstantsMayBeEvaluated) {
  const Example before = graph("a = Add (c, c) b = Sqrt (a) y = Max (x, b)").add("c", Array{DataType::float32, {1}, {2}});
  const Example after = graph("y = Max (x, b)").add("b", Array{DataType::float32, {1}, {2}});
  const ProofResult result = prove(before, after);
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.nodes_evaluated, 2);
  const Example wrong = graph("y = Max (x, b)").add("b", Array{DataType::float32, {1}, {2.0000002384185791015625}});
  EXPECT_TRUE(names(prove(before, wrong), Kind::tensor, "constant 'b' differs (1 value"));
}

TEST(ProofOfNodes, V40RandomNodesStayApart) {
  const Example two = graph("a = RandomNormalLike (x) b = RandomNormalLike (x) y = Sub (a, b)");
  const Example one = graph("a = RandomNormalLike (x) y = Sub (a, a)");
  EXPECT_TRUE(is_proved(prove(two, two)));
  EXPECT_TRUE(names(prove(two, one), Kind::node_changed, "stands for several nodes"));
  EXPECT_TRUE(names(prove(one, two), Kind::node_changed, "stands for several nodes"));
}

TEST(ProofOfNodes, UnknownOperatorsByTheirBytes) {
  const Example before = graph("a = own.Thing <k = 3> (x, c) y = Relu (a)").add("c", {4, 5});
  EXPECT_TRUE(is_proved(prove(before, before)));
  const Example after = graph("a = own.Thing <k = 4> (x, c) y = Relu (a)").add("c", {4, 5});
  EXPECT_TRUE(names(prove(before, after), Kind::attribute, "'k'"));
}

TEST(ProofOfNodes, V73TwoWrongNodesAreTwo) {
  std::string before, after, last = "x";
  for (int i = 0; i < 100; ++i) {
    const std::string name = "v" + std::to_string(i);
    before += name + " = Relu (" + last + ") ";
    after += name + (i == 5 || i == 60 ? " = Abs (" : " = Relu (") + last + ") ";
    last = name;
  }
  const ProofResult result = prove(graph(before + "y = Neg (v99)"), graph(after + "y = Neg (v99)"));
  ASSERT_EQ(result.unexplained.size(), 2U) << is_proved(result).message();
  EXPECT_EQ(result.unexplained[0].name, "v5");
  EXPECT_EQ(result.unexplained[1].name, "v60");
}

TEST(ProofOfGraphs, NestedGraphs) {
  const auto model = [](const std::string& op, const std::string& weight) {
    Example out(
        "g (bool c, float[1,3,8,8] x) => (float[?,?,?,?] y) { a = Relu (x) y = If (c) <then_branch = t () => (float[?,?,?,?] p) { p = Conv "
        "(a, " +
        weight + ") }, else_branch = e () => (float[?,?,?,?] q) { q = " + op + " (a) }> }");
    out.add("u", kWeightU).add("v", kWeightV);
    return out;
  };
  const ProofResult result = prove(model("Neg", "u"), model("Neg", "u"));
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.nodes_equal, 4);
  EXPECT_TRUE(names(prove(model("Neg", "u"), model("Abs", "u")), Kind::node_changed, "output 'q' (Abs) stands where output 'q' (Neg) was"));
  EXPECT_EQ(prove(model("Neg", "u"), model("Neg", "v")).unexplained.size(), 1U);
}

TEST(ProofOfGraphs, DeadNodesInside) {
  const auto model = [](const std::string& dead) {
    return Example("g (bool c, float[3] x) => (float[3] y) { y = If (c) <then_branch = t () => (float[3] p) { " + dead +
                   " p = Neg (x) }, else_branch = e () => (float[3] q) { q = Abs (x) }> }");
  };
  const ProofResult result = prove(model("n = Relu (x)"), model(""));
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.nodes_dead, 1);
  EXPECT_TRUE(is_proved(prove(model("n = Relu (x)"), model("n = Relu (x)"))));
  EXPECT_TRUE(names(prove(model(""), model("n = Relu (x)")), Kind::node_added, "output 'n' (Relu) was not there"));
  EXPECT_TRUE(names(prove(model("n = Relu (x)"), model("n = Exp (x)")), Kind::node_added, "output 'n' (Exp) was not there"));
}

TEST(ProofOfGraphs, LoopBodies) {
  const auto model = [](const std::string& body) {
    return Example(
        "g (int64 n, bool c, float[3] x) => (float[3] y) { y = Loop (n, c, x) <body = b (int64 i, bool d, float[3] s) => (bool e, float[3] "
        "t) { e = Identity (d) t = " +
        body + " }> }");
  };
  EXPECT_TRUE(is_proved(prove(model("Relu (s)"), model("Relu (s)"))));
  EXPECT_FALSE(prove(model("Add (s, x)"), model("Add (s, s)")).proved);
}

}  // namespace
}  // namespace relayout::test
