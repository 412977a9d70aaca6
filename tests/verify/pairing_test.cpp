#include "verify/compare/pairing.h"

#include <gtest/gtest.h>

#include <map>

#include "narrow.h"
#include "networks.h"
#include "relayout/model.h"
#include "support/network.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file

/// "name in b" → "name in a", with a leading "~" if it was found by structure.
std::map<std::string, std::string> pairs(Network& a, Network& b) {
  const auto left = Model::from_bytes(a.bytes()), right = Model::from_bytes(b.bytes());
  std::map<std::string, std::string> out;
  for (const auto& [value, partner] : pair_values(left->graph(), right->graph())) {
    out[value->name()] = (partner.by_structure ? "~" : "") + partner.value->name();
  }
  return out;
}

/// Gives a new name to every value that is no graph output.
void rename_inner(Network& n) {
  std::vector<std::string> made;
  for (const auto& node : n.graph().node()) made.insert(made.end(), node.output().begin(), node.output().end());
  int number = 0;
  for (const std::string& value : made) {
    if (n.is_graph_output(value)) continue;
    const std::string name = "v" + std::to_string(number++);
    n.replace_uses(value, name);
    std::ranges::replace(*n.producer(value).mutable_output(), value, name);
  }
}

TEST(Pairing, NamesComeFirst) {
  Network a = segmenter(1), b = a;
  const auto found = pairs(a, b);
  EXPECT_EQ(found.size(), 12U);
  for (const auto& [of_b, of_a] : found) EXPECT_EQ(of_b, of_a);
}

TEST(Pairing, AFoldKeepsTheNameOfTheNormalizationsOutput) {
  Network a = segmenter(1), b = a;
  test::fold_batch_norm(b, "n1.y");
  const auto found = pairs(a, b);
  EXPECT_EQ(found.at("n1.y"), "n1.y");
  EXPECT_FALSE(found.contains("c1.y"));
}

TEST(Pairing, ANetworkIn16BitsAndItsFormIn32BitsArePairedNodeByNode) {
  Network n(1);
  n.input("x", {"1", "3", "6", "6"}).output("y", {"1", "5", "6", "6"});
  n.convolution("c", "x", "c.y", {4, 3, 3, 3}, {"pads=1,1,1,1"});
  n.node("Relu", {"c.y"}, {"r"});
  n.convolution("d", "r", "y", {5, 4, 1, 1}, {});
  Network a = narrowed(n, onnx::TensorProto::FLOAT16), b = widened(a);
  const auto found = pairs(a, b);
  EXPECT_EQ(found.at("wide.c.y"), "~c.y");
  EXPECT_EQ(found.at("wide.r"), "~r");
  EXPECT_EQ(found.at("y"), "y");
}

TEST(Pairing, ONNXRuntimesNamesOfWidenedValuesMeanTheOriginals) {
  // The activation between the products is written as a different operator: only names show that the second product is the same.
  const auto make = [](const std::string& prefix, const char* activation) {
    Network n(1);
    n.input("x", {"4", "8"}).output("y", {"4", "8"}).normal("v", {8, 8}).normal("w", {8, 8});
    n.node("MatMul", {"x", "v"}, {prefix + "m"}), n.node(activation, {prefix + "m"}, {prefix + "r"});
    n.node("MatMul", {prefix + "r", "w"}, {prefix + "n"}), n.node("Tanh", {prefix + "n"}, {"y"});
    return n;
  };
  Network a = make("", "Relu"), b = make("InsertedPrecisionFreeCast_", "Max");
  const auto found = pairs(a, b);
  EXPECT_EQ(found.at("InsertedPrecisionFreeCast_r"), "r");
  EXPECT_EQ(found.at("InsertedPrecisionFreeCast_n"), "n");
}

TEST(Pairing, V96ANameLeftByAFoldMeansTheValueDownstreamOfTheFold) {
  Network a = segmenter(1), b = a;
  test::fold_batch_norm(b, "n1.y");
  b.replace_uses("n1.y", "c1.y");
  std::ranges::replace(*b.producer("n1.y").mutable_output(), "n1.y", "c1.y");
  const auto found = pairs(a, b);
  EXPECT_EQ(found.at("c1.y"), "~n1.y");
}

TEST(Pairing, V96AFoldIntoAReaderLeavesTheValueUnchanged) {
  // a: Add, BatchNormalization, GlobalAveragePool, Conv; b: the same without the BatchNormalization, which the last Conv absorbed.
  const auto make = [](bool folded) {
    Network n(1);
    n.input("x", {"1", "4", "6", "6"}).output("y", {"1", "5", "1", "1"});
    n.convolution("c", "x", "c.y", {4, 4, 3, 3}, {"pads=1,1,1,1"});
    n.node("Add", {"c.y", "x"}, {"s"});
    if (!folded) n.batch_norm("bn", "s", "n", 4);
    n.node("GlobalAveragePool", {folded ? "s" : "n"}, {"g"});
    n.convolution("d", "g", "y", {5, 4, 1, 1}, {});
    return n;
  };
  Network a = make(false), b = make(true);
  const auto found = pairs(a, b);
  EXPECT_EQ(found.at("s"), "s");
  EXPECT_EQ(found.at("c.y"), "c.y");
}

TEST(Pairing, AFoldIntoAProductDownstreamLeavesNamesBehindItWithoutEqual) {
  // b has absorbed factor and shift, but the nodes that pass them on to the product keep their names.
  const auto make = [](bool has_affine, const std::string& passing, const std::string& reader) {
    Network n(1);
    n.input("x", {"4", "8"}).output("y", {"4", "8"}).normal("s", {8}).normal("t", {8}).normal("w", {8, 8});
    n.node("Tanh", {"x"}, {"u"});
    if (has_affine) n.node("Mul", {"u", "s"}, {"m"}), n.node("Add", {"m", "t"}, {"a"});
    n.node(passing, {has_affine ? "a" : "u"}, {"i"}), n.node("Identity", {"i"}, {"j"});
    n.node(reader, {"j", "w"}, {"k"}), n.node("Sigmoid", {"k"}, {"y"});
    return n;
  };
  const auto names = [&](Network a, Network b) { return pairs(a, b); };
  for (const char* passing : {"Identity", "Transpose"}) {
    const auto found = names(make(true, passing, "MatMul"), make(false, passing, "MatMul"));
    EXPECT_FALSE(found.contains("i") || found.contains("j")) << passing;
    EXPECT_EQ(found.at("u"), "u");
    EXPECT_EQ(found.at("k"), "k");
  }
  // Both have the affine; a node that is not passing on; a reader that absorbs nothing.
  for (const auto& [b, passing, reader] :
       {std::tuple{true, "Identity", "MatMul"}, {false, "Relu", "MatMul"}, {false, "Identity", "PRelu"}}) {
    const auto found = names(make(true, passing, reader), make(b, passing, reader));
    EXPECT_EQ(found.at("i"), "i") << passing << " " << reader;
    EXPECT_EQ(found.at("j"), "j") << passing << " " << reader;
  }
}

TEST(Pairing, V96ValuesThatAFoldIsCarriedPastHaveNoEqual) {
  // a: MatMul, Flatten, BatchNormalization, Relu; b: MatMul, Add (the new bias), Flatten, Relu, with the old names.
  Network a(1);
  a.input("x", {"2", "3", "4"}).output("y", {"6", "5"});
  a.normal("w", {4, 5}).integers("dims", {2}, {6, 5});
  a.node("MatMul", {"x", "w"}, {"m"});
  a.node("Reshape", {"m", "dims"}, {"f"});
  a.batch_norm("bn", "f", "n", 5).node("Relu", {"n"}, {"y"});
  Network b(1);
  b.input("x", {"2", "3", "4"}).output("y", {"6", "5"});
  b.normal("w", {4, 5}).normal("bias", {5}).integers("dims", {2}, {6, 5});
  b.node("MatMul", {"x", "w"}, {"p"});
  b.node("Add", {"p", "bias"}, {"m"});
  b.node("Reshape", {"m", "dims"}, {"f"});
  b.node("Relu", {"f"}, {"y"});
  const auto found = pairs(a, b);
  EXPECT_EQ(found.at("f"), "~n");
  EXPECT_FALSE(found.contains("m"));
  EXPECT_EQ(found.at("y"), "y");
  // And with the name of the BatchNormalization.
  b.replace_uses("f", "n");
  std::ranges::replace(*b.producer("f").mutable_output(), "f", "n");
  const auto renamed = pairs(a, b);
  EXPECT_EQ(renamed.at("n"), "n");
  EXPECT_FALSE(renamed.contains("m"));
}

TEST(Pairing, AFactorThatIsComputedFromDimsIsFoldedAsAConstantIs) {
  // The scale of attention, 1/√C with C read from a Shape: a converter that knows C folds it into the projection.
  const auto make = [](bool folded) {
    Network n(1);
    n.input("x", {"2", "6", "4"}).output("y", {"2", "4", "4"});
    n.normal("w", {4, 4}).normal("bias", {4}).normal("k", {6, 4}).integers("last", {1}, {2}).integers("end", {1}, {3});
    n.node("MatMul", {"x", "w"}, {"m"}), n.node("Add", {"bias", "m"}, {"s"});
    n.node("Transpose", {"s"}, {folded ? "q" : "t"}, {"perm=0,2,1"});
    n.node("Shape", {folded ? "q" : "t"}, {"dims"}), n.node("Slice", {"dims", "last", "end"}, {"c"});
    n.node("Cast", {"c"}, {"real"}, {"to=1"}), n.node("Sqrt", {"real"}, {"root"});
    if (!folded) n.node("Div", {"t", "root"}, {"q"});
    n.node("MatMul", {"q", "k"}, {"y"});
    return n;
  };
  Network a = make(false), b = make(true);
  const auto found = pairs(a, b);
  EXPECT_EQ(found.at("q"), "q");
  EXPECT_EQ(found.at("y"), "y");
  EXPECT_FALSE(found.contains("m"));
  EXPECT_FALSE(found.contains("s"));
  Network same = make(false);
  EXPECT_EQ(pairs(a, same).at("s"), "s");
}

TEST(Pairing, V75ByOperatorsAndPositionsWithoutNames) {
  Network a = segmenter(1), b = a;
  rename_inner(b);
  const auto found = pairs(a, b);
  EXPECT_EQ(found.at(b.graph().node(0).output(0)), "~c1.y");
  EXPECT_EQ(found.size(), 12U);
}

TEST(Pairing, OfTwinsTheOneThatIsMostAlike) {
  // Two convolutions of one value, listed in a different order and read under other names: the name of the node, the dims of its weight or
  // its padding tells them apart.
  const auto make = [](bool second_first, const std::string& node_name, int64_t kernel, const std::string& pads,
                       const std::string& suffix) {
    Network n(1);
    n.input("x", {"1", "4", "6", "6"}).output("y", {"1", "10", "6", "6"});
    const auto one = [&] {
      n.convolution("c", "x", "c.y" + suffix, {5, 4, 3, 3}, {"pads=1,1,1,1"});
      n.producer("c.y" + suffix).set_name(node_name.empty() ? "" : node_name + "1");
    };
    const auto two = [&] {
      n.convolution("d", "x", "d.y" + suffix, {5, 4, kernel, kernel}, {pads});
      n.producer("d.y" + suffix).set_name(node_name.empty() ? "" : node_name + "2");
    };
    if (second_first) two();
    one();
    if (!second_first) two();
    n.node("Relu", {"c.y" + suffix}, {"r" + suffix});
    n.node("Relu", {"d.y" + suffix}, {"s" + suffix});
    n.node("Concat", {"r" + suffix, "s" + suffix}, {"y"}, {"axis=1"});
    return n;
  };
  struct Way {
    std::string node_name;
    int64_t kernel;
    std::string pads;
  };
  for (const Way& way : {Way{"conv", 3, "pads=1,1,1,1"}, Way{"", 1, "pads=0,0,0,0"}, Way{"", 3, "pads=2,0,2,0"}}) {
    Network a = make(false, way.node_name, way.kernel, way.pads, ""), b = make(true, way.node_name, way.kernel, way.pads, ".other");
    for (auto& tensor : *b.graph().mutable_initializer()) {
      const std::string name = tensor.name();
      b.replace_uses(name, name + ".other");
      tensor.set_name(name + ".other");
    }
    const auto found = pairs(a, b);
    ASSERT_TRUE(found.contains("c.y.other")) << way.node_name << way.kernel << way.pads;
    EXPECT_EQ(found.at("c.y.other"), "~c.y");
    EXPECT_EQ(found.at("d.y.other"), "~d.y");
  }
}

TEST(Pairing, V75AFoldedConvolutionPairsWithTheNormalizationsOutput) {
  Network a = segmenter(1), b = a;
  for (const char* value : {"n1.y", "n2.y", "n3.y"}) test::fold_batch_norm(b, value);
  rename_inner(b);
  const auto found = pairs(a, b);
  EXPECT_EQ(found.at(b.graph().node(0).output(0)), "~n1.y");
  EXPECT_EQ(found.size(), 9U);
}

TEST(Pairing, AConvolutionThatAbsorbedASignPairsWithTheSignsOutput) {
  // a: Conv, Neg, Sum with a constant, Relu; b: Conv, Relu, with different names.
  const auto make = [](bool folded, const std::string& prefix) {
    Network n(1);
    n.input("x", {"1", "3", "6", "6"}).output("y", {"1", "4", "6", "6"});
    n.convolution("c", "x", prefix + "c.y", {4, 3, 3, 3}, {"pads=1,1,1,1"});
    if (!folded) n.normal("s", {4, 1, 1}), n.node("Neg", {"c.y"}, {"m"}), n.node("Sum", {"m", "s"}, {"n"});
    n.node("Relu", {folded ? prefix + "c.y" : "n"}, {prefix + "r"});
    n.node("Tanh", {prefix + "r"}, {"y"});
    return n;
  };
  Network a = make(false, ""), b = make(true, "other.");
  const auto found = pairs(a, b);
  ASSERT_TRUE(found.contains("other.c.y"));
  EXPECT_EQ(found.at("other.c.y"), "~n");
}

TEST(Pairing, OperandsMustCorrespond) {
  // The same operators over exchanged operands: values downstream of the exchange pair by name only, and no value pairs whose reader is a
  // different operator.
  const auto make = [](bool exchanged, const char* inner) {
    Network n(1);
    n.input("x", {"4"}).output("y", {"4"});
    n.node("Exp", {"x"}, {"e"}), n.node("Neg", {"x"}, {"n"});
    n.node("Sub", {exchanged ? "n" : "e", exchanged ? "e" : "n"}, {inner});
    n.node(exchanged ? "Sin" : "Tanh", {inner}, {"y"});
    return n;
  };
  Network a = make(false, "s"), b = make(true, "t");
  const auto found = pairs(a, b);
  EXPECT_FALSE(found.contains("t"));
  EXPECT_EQ(found.at("y"), "y");
}

TEST(Pairing, TransposedImagesHaveTheOrderOfChannelsLastOperators) {
  const auto make = [](bool last) {
    Network n(3);
    n.input("x", {"1", "6", "6", "3"}).output("y", {"1", "6", "6", "4"}).floats("scale", {}, {0.1F}).normal("w", {4, 3, 1, 1});
    auto& zero = *n.graph().add_initializer();
    zero.set_name("zero"), zero.set_data_type(onnx::TensorProto::UINT8), zero.set_raw_data(std::string(1, '\0'));
    const std::vector<std::string> grid{"scale", "zero"};
    if (last) {
      n.node("QuantizeLinear", {"x", grid[0], grid[1]}, {"x.q"}), n.node("QuantizeLinear", {"w", grid[0], grid[1]}, {"w.q"});
      auto& made =
          n.node("QLinearConv", {"x.q", grid[0], grid[1], "w.q", grid[0], grid[1], grid[0], grid[1]}, {"c.q"}, {"channels_last=1"});
      made.set_domain("com.microsoft");
    } else {
      n.node("Transpose", {"x"}, {"first"}, {"perm=0,3,1,2"}), n.node("Conv", {"first", "w"}, {"c"});
      n.node("QuantizeLinear", {"c", grid[0], grid[1]}, {"c.q1"}), n.node("DequantizeLinear", {"c.q1", grid[0], grid[1]}, {"c.d"});
      n.node("Transpose", {"c.d"}, {"t"}, {"perm=0,2,3,1"}), n.node("QuantizeLinear", {"t", grid[0], grid[1]}, {"t.q"});
    }
    n.node("DequantizeLinear", {last ? "c.q" : "t.q", grid[0], grid[1]}, {"d"}), n.node("Relu", {"d"}, {"y"});
    return n;
  };
  Network a = make(false), b = make(true);
  const auto left = Model::from_bytes(a.bytes()), right = Model::from_bytes(b.bytes());
  const auto found = pair_values(left->graph(), right->graph());
  const auto& steps = found.at(right->graph().find("c.q"));
  EXPECT_EQ(steps.value->name(), "t.q");
  EXPECT_FALSE(steps.channels_last);
}

TEST(Pairing, UpstreamFromResultsWhereOperandsAreComputedDifferently) {
  // The scaling of the input is written differently, so that no node downstream has a partner by its operands.
  const auto make = [](bool other) {
    Network n(3);
    n.input("x", {"4", "8"})
        .output("y", {"4", "8"})
        .normal("v", {8, 8})
        .normal("w", {8, 8})
        .normal("bias", {8})
        .floats("two", {}, {2})
        .floats("half", {}, {0.5F});
    n.node(other ? "Div" : "Mul", {"x", other ? "half" : "two"}, {"scaled"});
    n.node("MatMul", {"scaled", "v"}, {"p"}), n.node("Add", {other ? "bias" : "p", other ? "p" : "bias"}, {"r"});
    n.node("Tanh", {"r"}, {"t"}), n.node("MatMul", {"scaled", "w"}, {"q"});
    n.node("Add", {"t", "q"}, {"sum"}), n.node("Softmax", {"sum"}, {"y"});
    return n;
  };
  Network a = make(false), b = make(true);
  rename_inner(b);
  const auto found = pairs(a, b);
  for (const auto& [of_b, of_a] :
       {std::pair("v5", "~sum"), std::pair("v3", "~t"), std::pair("v4", "~q"), std::pair("v2", "~r"), std::pair("v1", "~p")}) {
    EXPECT_EQ(found.at(of_b), of_a);
  }
  EXPECT_FALSE(found.contains("v0"));
}

TEST(Pairing, ACastMovedPastAnOperatorIsAnotherValue) {
  // 1 minus integers, cast to real numbers before or after.
  const auto make = [](bool casts_first) {
    Network n(1);
    n.input("x", {"4"}, onnx::TensorProto::INT64).output("y", {"4"}).floats("real", {}, {1}).integers("whole", {}, {1});
    if (casts_first) {
      n.node("Cast", {"x"}, {"c"}, {"to=1"}), n.node("Sub", {"real", "c"}, {"d"});
    } else {
      n.node("Sub", {"whole", "x"}, {"d"}), n.node("Cast", {"d"}, {"c"}, {"to=1"});
    }
    n.node("Sqrt", {casts_first ? "d" : "c"}, {"y"});
    return n;
  };
  for (const bool casts_first : {false, true}) {
    Network a = make(casts_first), b = make(!casts_first);
    for (const bool is_renamed : {false, true}) {
      if (is_renamed) rename_inner(b);
      const auto found = pairs(a, b);
      EXPECT_EQ(found.size(), 1U);
      EXPECT_TRUE(found.contains("y"));
    }
  }
}

}  // namespace
}  // namespace relayout
