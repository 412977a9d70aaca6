
#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

using Kind = Unexplained::Kind;

Example model(const std::string& inputs, const std::string& outputs, const std::string& nodes = "y = Relu (x)") {
  return Example("g (" + inputs + ") => (" + outputs + ") { " + nodes + " }");
}

const Example& original() {
  static const Example kOriginal = model("float[N,3] x", "float[N,3] y");
  return kOriginal;
}

TEST(ProofOfInterface, V1OutputType) {
  EXPECT_TRUE(
      names(prove(original(), model("float[N,3] x", "double[N,3] y")), Kind::interface, "output 'y' is f64 [N, 3], was f32 [N, 3]"));
}

TEST(ProofOfInterface, V16DimsOfInputs) {
  EXPECT_TRUE(names(prove(original(), model("float[1,3] x", "float[N,3] y")), Kind::interface, "input 'x' is f32 [1, 3], was f32 [N, 3]"));
  EXPECT_FALSE(prove(original(), model("float[M,3] x", "float[N,3] y")).proved);
  EXPECT_FALSE(prove(original(), model("float[N,3,1] x", "float[N,3] y")).proved);
}

TEST(ProofOfInterface, ElementsOfSequences) {
  const auto of = [](const std::string& type) { return model("seq(" + type + "[2]) x", "seq(float[2]) y", "y = Identity (x)"); };
  EXPECT_TRUE(names(prove(of("float"), of("double")), Kind::interface, "input 'x' is a sequence of f64 [2], was a sequence of f32 [2]"));
}

TEST(ProofOfInterface, V19OutputDimsMoreExact) {
  EXPECT_TRUE(is_proved(prove(original(), model("float[N,3] x", "float[2,3] y"))));
  EXPECT_FALSE(prove(original(), model("float[N,3] x", "float[N,4] y")).proved);
  const Example unnamed = model("float[N,3] x", "float[?,3] y");
  EXPECT_TRUE(is_proved(prove(unnamed, model("float[N,3] x", "float[unk__0,3] y"))));
  EXPECT_FALSE(prove(original(), unnamed).proved);
  EXPECT_FALSE(prove(original(), model("float[N,3] x", "float[M,3] y")).proved);
  EXPECT_FALSE(prove(model("float[?,3] x", "float[N,3] y"), original()).proved) << "of an input";
}

TEST(ProofOfInterface, V6MissingV7AddedV8Renamed) {
  const Example two = model("float[N,3] x", "float[N,3] y, float[N,3] z", "y = Relu (x) z = Neg (x)");
  EXPECT_TRUE(names(prove(two, original()), Kind::interface, "output 'z' is missing"));
  EXPECT_TRUE(names(prove(model("float[N,3] x, float u", "float[N,3] y"), original()), Kind::interface, "input 'u' is missing"));
  const ProofResult renamed = prove(original(), model("float[N,3] x", "float[N,3] Y", "Y = Relu (x)"));
  ASSERT_EQ(renamed.unexplained.size(), 2U) << is_proved(renamed).message();
  EXPECT_EQ(renamed.unexplained[0].kind, Kind::interface);
  EXPECT_EQ(renamed.nodes_equal, 1);
}

TEST(ProofOfInterface, V9NamesExchangedV10OtherOrder) {
  const Example two = model("float[N,3] x", "float[N,3] y, float[N,3] z", "y = Relu (x) z = Neg (x)");
  const Example exchanged = model("float[N,3] x", "float[N,3] y, float[N,3] z", "z = Relu (x) y = Neg (x)");
  EXPECT_FALSE(prove(two, exchanged).proved);
  const Example reordered = model("float[N,3] x", "float[N,3] z, float[N,3] y", "y = Relu (x) z = Neg (x)");
  EXPECT_TRUE(names(prove(two, reordered), Kind::interface, "another place"));
}

TEST(ProofOfInterface, V18InitializedInputsOfIr3) {
  const auto make = [](int version, bool listed) {
    Example out = model(listed ? "float[N,3] x, float[3] c" : "float[N,3] x", "float[N,3] y", "y = Max (x, c)");
    out.add("c", normal("c", {3})).edit([&](onnx::ModelProto& message) { message.set_ir_version(version); });
    return out;
  };
  EXPECT_TRUE(is_proved(prove(make(3, true), make(3, false))));
  EXPECT_TRUE(is_proved(prove(make(8, true), make(8, true))));
  // A default that became a constant (--freeze) computes the same for all remaining inputs; the reverse lets callers change it.
  EXPECT_TRUE(is_proved(prove(make(8, true), make(8, false))));
  EXPECT_FALSE(prove(make(8, false), make(8, true)).proved);
  Example frozen = make(8, false);
  (*frozen.tensor("c").mutable_raw_data())[0] ^= 1;
  EXPECT_TRUE(names(prove(make(8, true), frozen), Kind::tensor, "'c' differs"));
  Example other = make(8, true);
  (*other.tensor("c").mutable_raw_data())[0] ^= 1;
  EXPECT_TRUE(names(prove(make(8, true), other), Kind::tensor, "'c' differs"));
}

TEST(ProofOfInterface, OutputsListedSeveralTimes) {
  const std::string nodes = "y = Relu (x) z = Neg (x)";
  const auto with = [&](const std::string& outputs) { return model("float[N,3] x", outputs, nodes); };
  const std::string y = "float[N,3] y", z = "float[N,3] z";
  const Example twice = with(y + ", " + z + ", " + y);
  EXPECT_TRUE(is_proved(prove(twice, twice)));
  EXPECT_TRUE(names(prove(twice, with(y + ", " + y + ", " + z)), Kind::interface, "another place"));
  EXPECT_TRUE(names(prove(twice, with(y + ", " + z)), Kind::interface, "output 'y' is missing"));
  EXPECT_TRUE(names(prove(with(y + ", " + z), twice), Kind::interface, "output 'y' was not there"));
  EXPECT_FALSE(prove(twice, model("float[N,3] x", y + ", " + z + ", " + y, "y = Neg (x) z = Neg (x)")).proved);
}

TEST(ProofOfInterface, Digests) {
  const ProofResult result = prove(original(), original());
  ASSERT_EQ(result.files_a.size(), 1U);
  EXPECT_EQ(result.files_a[0].sha256.size(), 64U);
  EXPECT_EQ(result.files_a[0].sha256, result.files_b[0].sha256);
}

}  // namespace
}  // namespace relayout::test
