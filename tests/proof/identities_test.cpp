// Tests nodes of one model alone that pass an operand on as it is, and near misses.

#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

using Lists = std::vector<std::pair<std::string, std::vector<int64_t>>>;

/// One node more in front of a Neg, in either model.
bool is_nothing(const std::string& x, const std::string& node, const Lists& lists) {
  Example with("g (" + x + ") => (y) { n = Abs (x) a = " + node + " y = Neg (a) }"),
      without("g (" + x + ") => (y) { n = Abs (x) y = Neg (n) }");
  for (const auto& [name, numbers] : lists) with.add(name, numbers);
  const bool first = prove(with, without).proved, second = prove(without, with).proved;
  EXPECT_EQ(first, second) << node;
  return first;
}

bool is_nothing(const std::string& x, const std::string& node, const Array& c) {
  Example with("g (" + x + ") => (y) { n = Abs (x) a = " + node + " y = Neg (a) }"),
      without("g (" + x + ") => (y) { n = Abs (x) y = Neg (n) }");
  with.add("c", c);
  return prove(with, without).proved;
}

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

TEST(ProofOfIdentities, SlicesOfEverything) {
  const std::string slice = "Slice (n, b, e, k, s)", x = "float[N,3] x";
  const auto lists = [](int64_t b, int64_t e, int64_t k, int64_t s) { return Lists{{"b", {b}}, {"e", {e}}, {"k", {k}}, {"s", {s}}}; };
  EXPECT_TRUE(is_nothing(x, slice, lists(0, kEnd, 0, 1)));
  EXPECT_TRUE(is_nothing(x, slice, lists(-3, 4, 1, 1)));
  EXPECT_FALSE(is_nothing(x, slice, lists(1, kEnd, 0, 1)));
  EXPECT_FALSE(is_nothing(x, slice, lists(0, 100, 0, 1)));
  EXPECT_FALSE(is_nothing(x, slice, lists(0, 2, 1, 1)));
  EXPECT_FALSE(is_nothing(x, slice, lists(0, kEnd, 0, 2)));
}

TEST(ProofOfIdentities, ASliceBehindAnother) {
  const auto add = [](Example example) { return example.add("b", {1}).add("e", {2}).add("k", {1}).add("o", {0}).add("f", {kEnd}); };
  EXPECT_TRUE(prove(add(Example("g (float[N,3] x) => (y) { a = Slice (x, b, e, k) y = Slice (a, o, f, o) }")),
                    add(Example("g (float[N,3] x) => (y) { y = Slice (x, b, e, k) }")))
                  .proved);
  EXPECT_FALSE(prove(add(Example("g (float[N,3] x) => (y) { a = Slice (x, b, e, k) y = Slice (a, b, f, o) }")),
                     add(Example("g (float[N,3] x) => (y) { y = Slice (x, b, e, k) }")))
                   .proved);
}

TEST(ProofOfIdentities, PadsByNothing) {
  EXPECT_TRUE(is_nothing("float[N,3] x", "Pad (n, p)", {{"p", {0, 0, 0, 0}}}));
  EXPECT_FALSE(is_nothing("float[N,3] x", "Pad (n, p)", {{"p", {0, 1, 0, -1}}}));
}

TEST(ProofOfIdentities, ZerosWhereTheirSignIsLost) {
  const auto is_left_out = [](const std::string& reader) {
    const bool normalizes = reader == "LayerNormalization";
    const std::string rest = normalizes ? ", s, b) }" : ") }";
    Example with("g (float[2,3] x) => (y) { a = Add (x, c) y = " + reader + " (a" + rest),
        without("g (float[2,3] x) => (y) { y = " + reader + " (x" + rest);
    with.add("c", Array{DataType::float32, {3}, {0, 0, 0}});
    for (Example* const one : {&with, &without}) {
      if (normalizes) one->add("s", normal("s", {3})).add("b", Array{DataType::float32, {3}, {1, 2, 0}});
    }
    return prove(with, without).proved && prove(without, with).proved;
  };
  for (const char* const reader : {"Relu", "Sigmoid", "Softmax", "LayerNormalization"}) EXPECT_TRUE(is_left_out(reader)) << reader;
}

TEST(ProofOfIdentities, NeutralNumbers) {
  const std::string x = "float[N,3] x";
  const auto of = [](Dims dims, double number) {
    return Array{DataType::float32, dims, std::vector<double>(static_cast<std::size_t>(element_count(dims)), number)};
  };
  EXPECT_TRUE(is_nothing(x, "Sub (n, c)", of({}, 0)));
  EXPECT_TRUE(is_nothing(x, "Mul (c, n)", of({3}, 1)));
  EXPECT_TRUE(is_nothing(x, "Div (n, c)", of({1, 1}, 1)));
  EXPECT_TRUE(is_nothing(x, "Add (n, c)", of({}, -0.0)));
  EXPECT_FALSE(is_nothing(x, "Sub (c, n)", of({}, 0)));
  EXPECT_FALSE(is_nothing(x, "Div (c, n)", of({}, 1)));
  EXPECT_FALSE(is_nothing(x, "Mul (n, c)", of({1, 1, 1}, 1))) << "another rank";
  EXPECT_FALSE(is_nothing(x, "Mul (n, c)", of({}, 1.5)));
  EXPECT_FALSE(is_nothing("float[N,1] x", "Mul (n, c)", of({3}, 1))) << "other dims";
  EXPECT_TRUE(is_nothing("int64[N] x", "Div (n, c)", {{"c", {1}}}));
  EXPECT_FALSE(is_nothing(x, "Add (n, c)", of({}, 0))) << "which tells 0 from -0 where the reader does";
  EXPECT_TRUE(is_nothing("int64[N] x", "Add (n, c)", {{"c", {0}}}));
  EXPECT_FALSE(is_nothing("int64[N] x", "Div (n, c)", {{"c", {2}}}));
}

TEST(ProofOfIdentities, ReshapesToTheSameDims) {
  EXPECT_TRUE(is_nothing("float[N,3,M] x", "Reshape (n, r)", {{"r", {0, 3, -1}}}));
  EXPECT_TRUE(is_nothing("float[N,M] x", "Flatten (n)", Lists()));
  EXPECT_FALSE(is_nothing("float[N,3,M] x", "Reshape (n, r)", {{"r", {0, -1}}}));
  EXPECT_FALSE(is_nothing("float[N,M] x", "Flatten <axis = 0> (n)", Lists()));
  EXPECT_FALSE(is_nothing("float[2,3] x", "Reshape (n, r)", {{"r", {3, 2}}}));
}

TEST(ProofOfSlices, InARow) {
  const auto model = [](const std::string& body, const Lists& lists) {
    Example out("g (float[N,9,7] x) => (y) { " + body + " y = Neg (a) }");
    for (const auto& [name, numbers] : lists) out.add(name, numbers);
    return out;
  };
  const Example row =
      model("m = Slice (x, b, e, k) a = Slice (m, c, f, l)", {{"b", {0}}, {"e", {5}}, {"k", {1}}, {"c", {1}}, {"f", {6}}, {"l", {-1}}});
  const auto one = [&](std::vector<int64_t> starts, std::vector<int64_t> ends, std::vector<int64_t> axes) {
    return model("a = Slice (x, b, e, k)", {{"b", std::move(starts)}, {"e", std::move(ends)}, {"k", std::move(axes)}});
  };
  EXPECT_TRUE(prove(row, one({0, 1}, {5, 6}, {1, 2})).proved);
  EXPECT_TRUE(prove(one({1, 0}, {6, 5}, {2, 1}), row).proved);
  EXPECT_FALSE(prove(row, one({0, 1}, {5, 5}, {1, 2})).proved);
  EXPECT_FALSE(prove(row, one({0, 1}, {5, 6}, {2, 1})).proved);
  EXPECT_FALSE(prove(row, one({0}, {5}, {1})).proved);
  // Of x[2:8][1:4] along one axis are x[3:6].
  const Example nested =
      model("m = Slice (x, b, e, k) a = Slice (m, c, f, k)", {{"b", {2}}, {"e", {8}}, {"k", {1}}, {"c", {1}}, {"f", {4}}});
  EXPECT_TRUE(prove(nested, one({3}, {6}, {1})).proved);
  EXPECT_FALSE(prove(nested, one({3}, {7}, {1})).proved);
  EXPECT_FALSE(prove(nested, one({2}, {6}, {1})).proved);
}

/// The element count tells one dim of a Reshape (ONNX: −1).
TEST(ProofOfReshapes, ADimThatIsFound) {
  const auto model = [](const std::string& request) {
    return Example("g (float[K,12] x, float[N,3] z) => (y) { d = Shape (z) n = Slice (d, o, e) r = Concat <axis = 0> (" + request +
                   ") y = Reshape (x, r) }")
        .add("o", {0})
        .add("e", {1})
        .add("six", {6})
        .add("two", {2});
  };
  const auto found = [](std::vector<int64_t> request) {
    return Example("g (float[K,12] x, float[N,3] z) => (y) { y = Reshape (x, r) }").add("r", std::move(request));
  };
  EXPECT_TRUE(prove(model("n, six"), found({-1, 6})).proved);
  EXPECT_FALSE(prove(model("n, six"), found({-1, 2})).proved);
  EXPECT_FALSE(prove(model("n, six, two"), found({6, -1, 2})).proved);
  EXPECT_FALSE(prove(model("n, o, six"), found({-1, 0, 6})).proved) << "a dim that may be 0";
  EXPECT_FALSE(prove(found({-1, 6}), model("n, six")).proved) << "which may not run";
}

TEST(ProofOfSelections, ElementsOfASequence) {
  const auto model = [](const std::string& body) {
    return Example("g (float[N,7] x) => (y) { " + body + " y = Neg (a) }")
        .add("l", {3, 4})
        .add("m", {4, 3})
        .add("o", {0})
        .add("e", {1})
        .add("f", {3})
        .add("h", {6})
        .edit([](onnx::ModelProto& message) {
          for (const int64_t number : {0, 1, 3}) {
            onnx::TensorProto& tensor = *message.mutable_graph()->add_initializer();
            tensor.set_name("n" + std::to_string(number));
            tensor.set_data_type(onnx::TensorProto::INT64);
            tensor.add_int64_data(number);
          }
        });
  };
  const Example of_list = model("s = SplitToSequence <axis = 1> (x, l) a = SequenceAt (s, n1)");
  EXPECT_TRUE(prove(of_list, model("b, a = Split <axis = 1> (x, l)")).proved);
  EXPECT_FALSE(prove(of_list, model("a, b = Split <axis = 1> (x, l)")).proved);
  EXPECT_FALSE(prove(of_list, model("b, a = Split <axis = 1> (x, m)")).proved);
  // Parts of three elements, and a last one of one.
  const Example of_length = model("s = SplitToSequence <axis = 1> (x, n3) a = SequenceAt (s, n1)");
  EXPECT_TRUE(prove(of_length, model("a = Slice (x, f, h, e)")).proved);
  EXPECT_FALSE(prove(of_length, model("b, a = Split <axis = 1> (x, l)")).proved);
  EXPECT_FALSE(
      prove(model("s = SplitToSequence <axis = 1, keepdims = 0> (x) a = SequenceAt (s, n0)"), model("a = Slice (x, o, e, e)")).proved);
}

/// ONNX: an initial state that is not given is 0.
TEST(ProofOfIdentities, InitialStatesOfZeros) {
  const auto model = [](const std::string& x, const std::string& state, const std::string& operands) {
    Example out("g (" + x + ") => (y) { " + state + " y, h = GRU <hidden_size = 2> (x, w, r" + operands + ") }");
    return out.add("w", normal("w", {1, 6, 3})).add("r", normal("r", {1, 6, 2})).add("i", {1}).add("two", {2}).add("o", {0});
  };
  const std::string x = "float[5,N,3] x", fixed = "float[5,4,3] x", given = ", , , s";
  const auto of_batch = [](const std::string& fill) {
    return "d = Shape (x) n = Gather (d, i) c = Concat <axis = 0> (i, n, two) s = ConstantOfShape" + fill + " (c)";
  };
  EXPECT_TRUE(prove(model(x, of_batch(""), given), model(x, "", "")).proved);
  EXPECT_FALSE(prove(model(x, of_batch(" <value = float[1] {2.0}>"), given), model(x, "", "")).proved);
  EXPECT_TRUE(prove(model(fixed, "", ""), model(fixed, of_batch(""), given)).proved);
  // A state of one sequence does not run with others.
  EXPECT_FALSE(prove(model(fixed, "", ""), model(fixed, "c = Concat <axis = 0> (i, i, two) s = ConstantOfShape (c)", given)).proved);
}

/// Concat of x and a tensor of ones of [N, `count`, 4], whose first dim the file leaves open, beside x alone.
TEST(ProofOfIdentities, JoinedWithNothing) {
  const auto model = [](const std::string& axis, int64_t count) {
    Example out(
        "g (float[N,3,4] x) => (y) { d = Shape (x) n = Gather (d, i) c = Concat <axis = 0> (n, k, four) e = ConstantOfShape (c) y = Concat "
        "<axis = " +
        axis + "> (e, x) }");
    return out.add("i", {0}).add("k", {count}).add("four", {4});
  };
  Example alone("g (float[N,3,4] x) => (y) { y = Identity (x) }");
  EXPECT_TRUE(prove(model("1", 0), alone).proved);
  EXPECT_TRUE(prove(model("-2", 0), alone).proved);
  EXPECT_TRUE(prove(alone, model("1", 0)).proved);
  EXPECT_FALSE(prove(model("1", 1), alone).proved);
  EXPECT_FALSE(prove(model("2", 0), alone).proved) << "another axis, along which it has elements";
}

TEST(ProofOfIdentities, OperandsTakenOnceOrAlways) {
  EXPECT_TRUE(is_nothing("float[N,3] x", "Tile (n, r)", {{"r", {1, 1}}}));
  EXPECT_FALSE(is_nothing("float[N,3] x", "Tile (n, r)", {{"r", {1, 2}}}));
  EXPECT_TRUE(is_nothing("float[N,3] x", "Max (n, n)", Lists()));
  EXPECT_TRUE(is_nothing("float[N,3] x", "Min (n, n, n)", Lists()));
  EXPECT_FALSE(is_nothing("float[N,3] x", "Max (n, x)", Lists()));
  EXPECT_TRUE(is_nothing("float[N,3] x", "Gather <axis = 1> (n, i)", {{"i", {0, 1, -1}}}));
  EXPECT_FALSE(is_nothing("float[N,3] x", "Gather <axis = 1> (n, i)", {{"i", {0, 2, 1}}}));
  EXPECT_FALSE(is_nothing("float[N,3] x", "Gather <axis = 1> (n, i)", {{"i", {0, 1}}}));
}

TEST(ProofOfIdentities, ChoicesThatAConstantMakes) {
  const auto is_chosen = [](const std::string& condition, const std::string& chosen, const std::string& other) {
    return prove(Example("g (float[N,3] x) => (y) { n = Abs (x) y = Neg (n) }"),
                 Example("g (float[N,3] x) => (y) { n = Abs (x) c = Constant <value = bool" + condition + "> () a = Where (c, " + chosen +
                         ", " + other + ") y = Neg (a) }"))
        .proved;
  };
  EXPECT_TRUE(is_chosen(" {1}", "n", "x"));
  EXPECT_TRUE(is_chosen("[3] {0, 0, 0}", "x", "n"));
  EXPECT_FALSE(is_chosen(" {1}", "x", "n"));
  EXPECT_FALSE(is_chosen("[3] {1, 0, 1}", "n", "x"));
  EXPECT_FALSE(is_chosen("[1,1,1] {1}", "n", "x")) << "another rank";
}

TEST(ProofOfIdentities, ExpandsToTheDimsThatAreThere) {
  const auto of_itself = [](const std::string& of) {
    return prove(Example("g (float[N,3] x, float[M,3] z) => (y) { n = Abs (x) y = Neg (n) }"),
                 Example("g (float[N,3] x, float[M,3] z) => (y) { n = Abs (x) d = Shape (" + of + ") a = Expand (n, d) y = Neg (a) }"))
        .proved;
  };
  EXPECT_TRUE(of_itself("n"));
  EXPECT_TRUE(of_itself("x"));
  EXPECT_FALSE(of_itself("z"));
}

/// Two nodes in front of a Neg that give back what is upstream of them, in either model.
bool undo_each_other(const std::string& x, const std::string& nodes, const Lists& lists) {
  Example with("g (" + x + ") => (y) { n = Abs (x) " + nodes + " y = Neg (a) }"),
      without("g (" + x + ") => (y) { n = Abs (x) y = Neg (n) }");
  for (const auto& [name, numbers] : lists) with.add(name, numbers);
  const bool first = prove(with, without).proved, second = prove(without, with).proved;
  EXPECT_EQ(first, second) << nodes;
  return first;
}

TEST(ProofOfInverses, SlicesThatReverseTwice) {
  const std::string nodes = "t = Slice (n, b, e, k, s) a = Slice (t, b, e, k, s)", x = "float[N,3] x";
  EXPECT_TRUE(undo_each_other(x, nodes, {{"b", {-1}}, {"e", {-kEnd}}, {"k", {0}}, {"s", {-1}}}));
  EXPECT_TRUE(undo_each_other(x, nodes, {{"b", {2, -1}}, {"e", {-4, -kEnd}}, {"k", {1, 0}}, {"s", {-1, -1}}}));
  EXPECT_FALSE(undo_each_other(x, nodes, {{"b", {-1}}, {"e", {0}}, {"k", {1}}, {"s", {-1}}})) << "the first is left out";
  EXPECT_FALSE(undo_each_other(x, nodes, {{"b", {1}}, {"e", {-kEnd}}, {"k", {1}}, {"s", {-1}}})) << "the last is left out";
  EXPECT_FALSE(undo_each_other(x, "t = Slice (n, b, e, k, s) a = Slice (t, b, e, o, s)",
                               {{"b", {-1}}, {"e", {-kEnd}}, {"k", {0}}, {"o", {1}}, {"s", {-1}}}));
  // A Slice in front of such a pair.
  const auto add = [](Example example) { return example.add("b", {-1}).add("e", {-kEnd}).add("s", {-1}).add("k", {1}).add("o", {1}); };
  EXPECT_TRUE(
      prove(add(Example("g (float[N,3] x) => (y) { y = Slice (x, o, e, k, s) }")),
            add(Example("g (float[N,3] x) => (y) { f = Slice (x, o, e, k, s) t = Slice (f, b, e, k, s) y = Slice (t, b, e, k, s) }")))
          .proved);
}

TEST(ProofOfInverses, SlicesThatCutPadding) {
  const std::string nodes = "t = Pad <mode = \"reflect\"> (n, p) a = Slice (t, b, e, k)", x = "float[N,3] x";
  EXPECT_TRUE(undo_each_other(x, nodes, {{"p", {0, 1, 0, 2}}, {"b", {1}}, {"e", {-2}}, {"k", {1}}}));
  EXPECT_TRUE(undo_each_other(x, nodes, {{"p", {0, 1, 0, 2}}, {"b", {1}}, {"e", {4}}, {"k", {-1}}}));
  EXPECT_TRUE(undo_each_other(x, nodes, {{"p", {2, 1, 0, 0}}, {"b", {1, 2}}, {"e", {kEnd, kEnd}}, {"k", {1, 0}}}));
  EXPECT_FALSE(undo_each_other(x, nodes, {{"p", {0, 1, 0, 2}}, {"b", {1}}, {"e", {-1}}, {"k", {1}}}));
  EXPECT_FALSE(undo_each_other(x, nodes, {{"p", {0, 1, 0, 2}}, {"b", {0}}, {"e", {-2}}, {"k", {1}}}));
  EXPECT_FALSE(undo_each_other(x, nodes, {{"p", {1, 1, 0, 2}}, {"b", {1}}, {"e", {-2}}, {"k", {1}}})) << "another axis is padded too";
  EXPECT_FALSE(undo_each_other(x, nodes, {{"p", {0, -1, 0, 0}}, {"b", {0}}, {"e", {kEnd}}, {"k", {1}}})) << "the Pad cuts";
  EXPECT_FALSE(undo_each_other(x, nodes, {{"p", {1, 0, 0, 0}}, {"b", {1}}, {"e", {3}}, {"k", {0}}})) << "of unknown size";
}

TEST(ProofOfInverses, PartsJoinedInOrder) {
  EXPECT_TRUE(undo_each_other("float[N,3] x", "p, q = Split <axis = 1> (n, l) a = Concat <axis = -1> (p, q)", {{"l", {1, 2}}}));
  EXPECT_TRUE(undo_each_other("float[4,3] x", "p = Slice (n, b, m, k) q = Slice (n, m, e, k) a = Concat <axis = 0> (p, q)",
                              {{"b", {0}}, {"m", {1}}, {"e", {4}}, {"k", {0}}}));
  EXPECT_FALSE(undo_each_other("float[N,4] x", "p, q = Split <axis = 1> (n, l) a = Concat <axis = 1> (q, p)", {{"l", {2, 2}}}));
  EXPECT_FALSE(undo_each_other("float[4,4] x", "p, q = Split <axis = 1> (n, l) a = Concat <axis = 0> (p, q)", {{"l", {2, 2}}}));
  EXPECT_FALSE(undo_each_other("float[N,4] x", "p, q, r = Split <axis = 1> (n, l) a = Concat <axis = 1> (p, q)", {{"l", {1, 2, 1}}}));
}

TEST(ProofOfInverses, ElementsOfASequence) {
  const auto at = [&](const std::string& place) {
    const Example with("g (float[N,3] x) => (y) { n = Abs (x) z = Sin (x) s = SequenceConstruct (z, n) i = Constant <value = int64 {" +
                       place + "}> () a = SequenceAt (s, i) y = Neg (a) }");
    return prove(Example("g (float[N,3] x) => (y) { n = Abs (x) y = Neg (n) }"), with).proved;
  };
  EXPECT_TRUE(at("1"));
  EXPECT_TRUE(at("-1"));
  EXPECT_FALSE(at("0"));
}

TEST(ProofOfInverses, ChannelsInBlocksOfPixels) {
  const std::string x = "float[N,8,4,6] x", depth = "t = SpaceToDepth <blocksize = 2> (n) a = DepthToSpace ";
  EXPECT_TRUE(undo_each_other(x, depth + "<blocksize = 2> (t)", {}));
  EXPECT_TRUE(undo_each_other(x, "t = DepthToSpace <blocksize = 2> (n) a = SpaceToDepth <blocksize = 2> (t)", {}));
  EXPECT_FALSE(undo_each_other(x, depth + "<blocksize = 2, mode = \"CRD\"> (t)", {}));
}

/// A reduction without its axes in A; in B, one that keeps them, and a Squeeze.
bool is_squeezed(const std::string& a, const std::string& b, const Lists& lists) {
  Example without("g (float[N,3,M] x) => (y) { n = Abs (x) r = " + a + " y = Neg (r) }"),
      with("g (float[N,3,M] x) => (y) { n = Abs (x) " + b + " y = Neg (r) }");
  for (const auto& [name, numbers] : lists) with.add(name, numbers), without.add(name, numbers);
  const bool first = prove(without, with).proved, second = prove(with, without).proved;
  EXPECT_EQ(first, second) << b;
  return first;
}

TEST(ProofOfReductions, AxesRemovedByASqueeze) {
  const std::string max = "ReduceMax <keepdims = 0> (n, k)", kept = "t = ReduceMax <keepdims = 1> (n, k) r = Squeeze (t, l)";
  EXPECT_TRUE(is_squeezed(max, kept, {{"k", {-1, 1}}, {"l", {1, 2}}}));
  EXPECT_FALSE(is_squeezed(max, kept, {{"k", {-1}}, {"l", {1}}}));
  EXPECT_FALSE(is_squeezed(max, "t = ReduceMin <keepdims = 1> (n, k) r = Squeeze (t, k)", {{"k", {1}}}));
  EXPECT_FALSE(is_squeezed(max, "t = ReduceMax <keepdims = 1> (n, l) r = Squeeze (t, l)", {{"k", {1}}, {"l", {2}}}));
  EXPECT_TRUE(is_squeezed("ReduceSum <keepdims = 0> (n)", "t = ReduceSum (n) r = Squeeze (t)", {}));
  EXPECT_TRUE(is_squeezed("ArgMax <axis = 1, keepdims = 0> (n)", "t = ArgMax <axis = -2> (n) r = Squeeze (t, l)", {{"l", {1}}}));
  EXPECT_FALSE(is_squeezed("ArgMax <axis = 1, keepdims = 0> (n)", "t = ArgMax <axis = 1, select_last_index = 1> (n) r = Squeeze (t, l)",
                           {{"l", {1}}}));
}

TEST(ProofOfBroadcasts, OneNumberInOtherDims) {
  const auto model = [](const std::string& x, const std::string& node, const Dims& dims, double number) {
    Example out("g (" + x + ", bool[N,3] m) => (y) { n = Abs (x) y = " + node + " }");
    return out.add("c", Array{DataType::float32, dims, {number}});
  };
  for (const char* const node : {"Where (m, n, c)", "Max (n, c)"}) {
    EXPECT_TRUE(prove(model("float[N,3] x", node, {}, 2), model("float[N,3] x", node, {1, 1}, 2)).proved) << node;
    EXPECT_FALSE(prove(model("float[N,3] x", node, {}, 2), model("float[N,3] x", node, {1}, 3)).proved) << node;
    EXPECT_FALSE(prove(model("float[N,3] x", node, {}, 2), model("float[N,3] x", node, {1, 1, 1}, 2)).proved) << node;
  }
}

}  // namespace
}  // namespace relayout::test
