// Tests proofs of models that one rounds to types of 16 bits: what rounding explains, and what it does not.

#include <cstddef>

#include "relayout/proof.h"
#include "relayout/types.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

ProofResult prove_across(const Example& a, const Example& b) {
  return relayout::prove(*a.model(), *b.model(), {.digests = false, .across_types = true});
}

/// The array in another type, rounded once.
Array in(DataType type, Array array) {
  array.type = type;
  for (double& value : array.values) value = rounded(value, type);
  return array;
}

/// A linear operator in float32 with a BatchNormalization, and the same folded in a type of 16 bits, between Casts.
struct Narrowed {
  std::string operation = "Conv";
  std::string dims = "1,6,9,9";
  Array weight = normal("w", {4, 6, 3, 3});
  /// Output channel of element `i` of the weight.
  std::size_t (*channel)(std::size_t i) = [](std::size_t i) { return i / 54; };
  BatchNorm batch_norm{"bn", 4};

  [[nodiscard]] Example before() const {
    Example out("g (float[" + dims + "] x) => (float[?,?,?,?] y) { c = " + operation +
                    " (x, w) y = BatchNormalization (c, bn_scale, bn_bias, bn_mean, bn_var) }",
                22);
    return std::move(out.add("w", weight).add("bn", batch_norm));
  }
  /// By hand, in double.
  [[nodiscard]] Array folded_weight(DataType type) const {
    Array out = weight;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] *= batch_norm.factor(channel(i));
    return in(type, out);
  }
  [[nodiscard]] Array folded_bias(DataType type) const {
    Array out = batch_norm.scale;
    for (std::size_t c = 0; c < out.size(); ++c) out[c] = batch_norm.shift(c);
    return in(type, out);
  }
  [[nodiscard]] Example after(const Array& new_weight, const Array& new_bias) const {
    const std::string to = new_weight.type == DataType::float16 ? "10" : "16";
    Example out("g (float[" + dims + "] x) => (float[?,?,?,?] y) { n = Cast <to = " + to + "> (x) c = " + operation +
                    " (n, w, b) y = Cast <to = 1> (c) }",
                22);
    return std::move(out.add("w", new_weight).add("b", new_bias));
  }
};

std::vector<Narrowed> narrowed() {
  std::vector<Narrowed> out(3);
  out[1].operation = "ConvTranspose";
  out[1].weight = normal("w", {6, 4, 3, 3});
  out[1].channel = [](std::size_t i) { return i / 9 % 4; };
  out[2].operation = "Conv <group = 2>";
  out[2].weight = normal("w", {4, 3, 3, 3});
  out[2].channel = [](std::size_t i) { return i / 27; };
  return out;
}

TEST(ProofAcrossTypes, FoldsAreRoundedOnce) {
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    for (const Narrowed& one : narrowed()) {
      const Array weight = one.folded_weight(type), bias = one.folded_bias(type);
      const ProofResult result = prove_across(one.before(), one.after(weight, bias));
      EXPECT_TRUE(is_proved(result)) << one.operation;
      EXPECT_EQ(result.folds, 1);
      EXPECT_EQ(result.near_folds, 0);
      EXPECT_FALSE(prove(one.before(), one.after(weight, bias)).proved) << "types count unless they are left open";
    }
  }
}

TEST(ProofAcrossTypes, AStepBesideARoundedFoldIsNamed) {
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    for (const Narrowed& one : narrowed()) {
      Array weight = one.folded_weight(type), bias = one.folded_bias(type);
      weight[7] = next(weight[7], type);
      EXPECT_TRUE(names(prove_across(one.before(), one.after(weight, bias)), Unexplained::Kind::weight, "(1 value")) << one.operation;
      weight = one.folded_weight(type);
      bias[2] = next(bias[2], type);
      EXPECT_TRUE(names(prove_across(one.before(), one.after(weight, bias)), Unexplained::Kind::bias, "(1 value")) << one.operation;
    }
  }
}

TEST(ProofAcrossTypes, AWeightThatLeavesTheTypeIsNamed) {
  Narrowed one;
  one.weight[3] = 1e6;
  EXPECT_FALSE(prove_across(one.before(), one.after(one.folded_weight(DataType::float16), one.folded_bias(DataType::float16))).proved);
  EXPECT_TRUE(is_proved(prove_across(one.before(), one.after(one.folded_weight(DataType::bfloat16), one.folded_bias(DataType::bfloat16)))));
}

/// Nodes in float32, and the same in float16 with what a converter writes around them.
struct Spelled {
  const char *before, *after;
  bool is_proved = true;
};

TEST(ProofAcrossTypes, CastsAndTypesOfResultsChangeNoNumber) {
  for (const Spelled& one : std::vector<Spelled>{
           {"y = Mul (x, s)", "n = Cast <to = 10> (x) m = Mul (n, half) y = Cast <to = 1> (m)"},
           {"m = Mul (x, s) y = Erf (m)", "n = Cast <to = 16> (x) m = Mul (n, brain) e = Erf (m) y = Cast <to = 1> (e)"},
           {"h = Cast <to = 10> (x) r = Cast <to = 1> (h) y = Mul (r, s)", "y = Mul (x, s)"},
           {"k = Shape (x) r = Cast <to = 1> (k) t = ReduceSum <keepdims = 0> (r) y = Mul (x, t)",
            "n = Cast <to = 10> (x) k = Shape (x) r = Cast <to = 10> (k) t = ReduceSum <keepdims = 0> (r) m = Mul (n, t) y = Cast <to = 1> "
            "(m)"},
           {"k = Shape (x) z = ConstantOfShape <value: tensor = float[1] {0.25}> (k) y = Add (x, z)",
            "n = Cast <to = 10> (x) k = Shape (x) z = ConstantOfShape <value: tensor = float[1] {0.25}> (k) m = Add (n, z) "
            "y = Cast <to = 1> (m)"},
           {"k = Shape (x) z = ConstantOfShape <value: tensor = float[1] {0.25}> (k) y = Add (x, z)",
            "n = Cast <to = 10> (x) k = Shape (x) z = ConstantOfShape <value: tensor = float[1] {0.5}> (k) m = Add (n, z) "
            "y = Cast <to = 1> (m)",
            false},
           {"y = Mul (x, s)", "n = Cast <to = 10> (x) m = Add (n, half) y = Cast <to = 1> (m)", false},
           {"y = Mul (x, s)", "n = Cast <to = 10> (x) m = Mul (n, other) y = Cast <to = 1> (m)", false},
           {"y = Mul (x, s)", "i = Cast <to = 6> (x) n = Cast <to = 10> (i) m = Mul (n, half) y = Cast <to = 1> (m)", false},
           {"y = Mul (x, s)", "i = Cast <to = 17> (x) n = Cast <to = 10> (i) m = Mul (n, half) y = Cast <to = 1> (m)", false},
           {"y = Clip (x, s, s)", "n = Cast <to = 10> (x) m = Clip (n, half, other) y = Cast <to = 1> (m)", false},
       }) {
    const auto make = [](const char* nodes) {
      Example out(std::string("g (float[2,3] x) => (float[2,3] y) {") + nodes + "}", 22);
      const Array scale{DataType::float32, {}, {0.1F}};
      out.add("s", scale).add("half", in(DataType::float16, scale)).add("brain", in(DataType::bfloat16, scale));
      Array other = in(DataType::float16, scale);
      other[0] = next(other[0], DataType::float16);
      return std::move(out.add("other", other));
    };
    // The textual syntax has no literals of float16.
    const auto fill_in_half = [](onnx::ModelProto& model) {
      for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
        if (node.op_type() != "ConstantOfShape") continue;
        onnx::TensorProto& value = *node.mutable_attribute(0)->mutable_t();
        const int quarter = 0x3400, half = 0x3800;
        value.set_data_type(onnx::TensorProto::FLOAT16);
        value.add_int32_data(value.float_data(0) == 0.25F ? quarter : half);
        value.clear_float_data();
      }
    };
    Example after = make(one.after);
    after.edit(fill_in_half);
    EXPECT_EQ(prove_across(make(one.before), after).proved, one.is_proved) << one.after;
    EXPECT_FALSE(prove(make(one.before), after).proved) << one.after;
  }
}

TEST(ProofAcrossTypes, ANumberThatTheTypeDoesNotHoldIsNamed) {
  for (const double guard : {1e-12, 1e-8, 3.1e-8, 1e-7}) {
    const auto make = [&](DataType type, const std::vector<double>& others) {
      const bool is_half = type == DataType::float16;
      Array numbers{DataType::float32, {static_cast<int64_t>(others.size()) + 1}, {rounded(guard, DataType::float32)}};
      numbers.values.insert(numbers.values.end(), others.begin(), others.end());
      Example out(is_half ? "g (float[2,1] x) => (float[2,?] y) { n = Cast <to = 10> (x) m = Add (n, e) y = Cast <to = 1> (m) }"
                          : "g (float[2,1] x) => (float[2,?] y) { y = Add (x, e) }",
                  22);
      return std::move(out.add("e", in(type, numbers)));
    };
    const auto proved = [&](const std::vector<double>& others) {
      return prove_across(make(DataType::float32, others), make(DataType::float16, others)).proved;
    };
    EXPECT_FALSE(proved({})) << guard;
    EXPECT_TRUE(proved({1, 0.25})) << guard << " beside numbers that are not small";
  }
}

TEST(ProofAcrossTypes, AttributesOfFunctionsNameNoTypes) {
  // to = 1 and 10 are a size here.
  for (const bool is_half : {false, true}) {
    const auto make = [](bool half, int to) {
      Example out("g (float[4,8] x) => (float[?,8] y) { c = Cast <to = " + std::string(half ? "10" : "1") +
                  "> (x) s = local.Top <to = " + std::to_string(to) + "> (c) y = Cast <to = 1> (s) }");
      return std::move(out.edit([](onnx::ModelProto& model) {
        onnx::OperatorSetIdProto& set = *model.add_opset_import();
        set.set_domain("local");
        set.set_version(1);
        onnx::FunctionProto& top = *model.add_functions();
        top.set_name("Top");
        top.set_domain("local");
        top.add_input("a");
        top.add_output("b");
        top.add_attribute("to");
        *top.add_opset_import() = model.opset_import(0);
        const auto add = [&top](const char* op, std::vector<std::string> inputs, const char* output) -> onnx::NodeProto& {
          onnx::NodeProto& node = *top.add_node();
          node.set_op_type(op);
          for (const std::string& input : inputs) node.add_input(input);
          node.add_output(output);
          return node;
        };
        onnx::AttributeProto& value = *add("Constant", {}, "k").add_attribute();
        value.set_name("value_int");
        value.set_ref_attr_name("to");
        value.set_type(onnx::AttributeProto::INT);
        for (const auto& [name, number] : {std::pair("zero", 0), std::pair("one", 1)}) {
          onnx::AttributeProto& list = *add("Constant", {}, name).add_attribute();
          list.set_name("value_ints");
          list.set_type(onnx::AttributeProto::INTS);
          list.add_ints(number);
        }
        add("Reshape", {"k", "one"}, "e");
        add("Slice", {"a", "zero", "e", "zero"}, "b");
      }));
    };
    EXPECT_FALSE(prove_across(make(false, 1), make(is_half, 10)).proved);
    EXPECT_FALSE(prove_across(make(false, 1), make(is_half, 1000)).proved);
    EXPECT_FALSE(prove(make(false, 1), make(false, 10)).proved);
  }
}

TEST(ProofAcrossTypes, TypesOfInputsAndOutputsAreLeftOpen) {
  const auto make = [](const char* type, const char* dims) {
    return Example(std::string("g (") + type + dims + " x) => (" + type + dims + " y) { y = Relu (x) }", 22);
  };
  EXPECT_TRUE(is_proved(prove_across(make("float", "[2,3]"), make("float16", "[2,3]"))));
  EXPECT_FALSE(prove_across(make("float", "[2,3]"), make("float16", "[3,2]")).proved);
  EXPECT_FALSE(prove_across(make("float", "[2,3]"), make("double", "[2,3]")).proved);
}

}  // namespace
}  // namespace relayout::test
