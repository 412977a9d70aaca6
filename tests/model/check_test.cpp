#include "model/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cctype>
#include <cstddef>

#include "relayout/error.h"
#include "relayout/model.h"
#include "support/bad_models.h"
#include "support/temporary_folder.h"

namespace relayout {
namespace {

using testing::HasSubstr;

/// The message of the error that loading a model throws; "" if it loads.
std::string refusal(const std::string& text, ErrorKind kind = ErrorKind::invalid, const LoadOptions& options = {}) {
  try {
    static_cast<void>(Model::from_text(text, options));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "";
}

std::string with_body(const std::string& body) {
  return R"(<ir_version: 8, opset_import: ["" : 17]> )" + body;
}

class BadModel : public testing::TestWithParam<std::size_t> {};

TEST_P(BadModel, IsRefusedWhenLoaded) {
  const test::BadModel& bad = test::bad_models()[GetParam()];
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "in");
  bad.make(folder / "in");
  try {
    static_cast<void>(Model::load(folder / "in/model.onnx"));
    FAIL() << bad.name << " is accepted";
  } catch (const Error& error) {
    EXPECT_EQ(exit_code(error.kind()), bad.code) << error.what();
    EXPECT_THAT(std::string(error.what()) + "\n" + error.hint(), HasSubstr(bad.says));
    EXPECT_THAT(error.what(), HasSubstr("model.onnx: "));
    EXPECT_EQ(std::string(error.what()).find_first_of("\n\t\r\x1b"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, BadModel, testing::Range<std::size_t>(0, test::bad_models().size()), [](const auto& instance) {
  std::string name = test::bad_models()[instance.param].name;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
});

TEST(Check, B41VersionsOfTheFormat) {
  const std::string body = "g (float[2] x) => (float[2] y) { y = Relu (x) }";
  EXPECT_EQ(refusal("<ir_version: 3, opset_import: [\"\" : 7]> " + body), "");
  EXPECT_EQ(refusal("<ir_version: 99, opset_import: [\"\" : 17]> " + body), "");  // newer: a warning
  EXPECT_THAT(refusal("<ir_version: -1, opset_import: [\"\" : 17]> " + body), HasSubstr("ir_version"));
}

TEST(Check, OpsetImports) {
  const std::string body = "g (float[2] x) => (float[2] y) { y = Relu (x) }";
  EXPECT_EQ(refusal("<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx\" : 17]> " + body), "");
  EXPECT_THAT(refusal("<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx\" : 16]> " + body), HasSubstr("two versions"));
  EXPECT_THAT(refusal("<ir_version: 8, opset_import: [\"custom\" : 1]> " + body), HasSubstr("no opset import of the default domain"));
  EXPECT_THAT(refusal("<ir_version: 8, opset_import: [\"\" : 29]> " + body, ErrorKind::unsupported), HasSubstr("opset 29"));
  EXPECT_EQ(refusal("<ir_version: 8, opset_import: [\"\" : 29]> " + body, ErrorKind::unsupported, {.allow_newer_opset = true}), "");
  // A foreign domain that is not imported only causes a warning.
  EXPECT_EQ(refusal(with_body("g (float[2] x) => (float[2] y) { y = foreign.Op (x) }")), "");
}

/// `dims` with all elements 0.
std::string zeros(const std::string& dims, int count) {
  std::string out = dims + " {0";
  for (int i = 1; i < count; ++i) out += ", 0";
  return out + "}";
}

std::string convolution_with(const std::string& attributes, const std::string& weight_dims, int weight_count, int bias_length,
                             const std::string& op = "Conv") {
  return with_body("g (float[1,4,8,8] x) => (float[1,4,8,8] y) <float" + weight_dims + " W = " + zeros("", weight_count) + ", float[" +
                   std::to_string(bias_length) + "] b = " + zeros("", bias_length) + "> { y = " + op + " <" + attributes + "> (x, W, b) }");
}

TEST(Check, B25BiasOfAConvolution) {
  EXPECT_EQ(refusal(convolution_with("group = 1", "[2,4,1,1]", 8, 2)), "");
  EXPECT_THAT(refusal(convolution_with("group = 1", "[2,4,1,1]", 8, 4)), HasSubstr("bias 'b' f32[4] is not a vector of 2"));
  // ConvTranspose has [I, O/group, …].
  EXPECT_EQ(refusal(convolution_with("group = 2", "[4,3,1,1]", 12, 6, "ConvTranspose")), "");
  EXPECT_THAT(refusal(convolution_with("group = 2", "[4,3,1,1]", 12, 3, "ConvTranspose")), HasSubstr("is not a vector of 6"));
}

TEST(Check, B28GroupsAndKernels) {
  EXPECT_THAT(refusal(convolution_with("group = 3", "[4,3,1,1]", 12, 4)), HasSubstr("group 3 does not divide"));
  EXPECT_THAT(refusal(convolution_with("kernel_shape = [3,3]", "[2,4,1,1]", 8, 2)), HasSubstr("kernel_shape [3, 3] does not fit"));
  EXPECT_THAT(refusal(convolution_with("strides = [1,0]", "[2,4,1,1]", 8, 2)), HasSubstr("strides [1, 0]"));
  EXPECT_THAT(refusal(convolution_with("dilations = [1]", "[2,4,1,1]", 8, 2)), HasSubstr("dilations [1]"));
  EXPECT_THAT(refusal(convolution_with("pads = [1,1]", "[2,4,1,1]", 8, 2)), HasSubstr("pads [1, 1]"));
  EXPECT_EQ(refusal(convolution_with("pads = [0,0,0,0], strides = [1,1], kernel_shape = [1,1]", "[2,4,1,1]", 8, 2)), "");
}

TEST(Check, ListsOfAWindowHaveAnEntryForEachSpatialDim) {
  const auto transposed = [](const std::string& attributes) {
    return refusal(convolution_with(attributes, "[4,2,1,1]", 8, 2, "ConvTranspose"));
  };
  EXPECT_THAT(transposed("output_shape = [1,2,8,8]"),
              HasSubstr("output_shape [1, 2, 8, 8] must have one entry for each spatial dim, 2 in"));
  EXPECT_THAT(transposed("output_shape = [8]"), HasSubstr("output_shape [8] must have one"));
  EXPECT_THAT(transposed("output_shape = [2,8,8]"), HasSubstr("output_shape [2, 8, 8] must have one"));
  EXPECT_THAT(transposed("output_padding = [0,0,0]"), HasSubstr("output_padding [0, 0, 0] must have one"));
  EXPECT_THAT(transposed("pads = [1,1,1]"), HasSubstr("pads [1, 1, 1] must have two entries for each spatial dim, 4 in all"));
  EXPECT_EQ(transposed("output_shape = [8,8], auto_pad = \"VALID\", output_padding = [0,0]"), "");

  const auto pool = [](const std::string& op, const std::string& attributes, const std::string& dims = "[1,4,8,8]") {
    return refusal(with_body("g (float" + dims + " x) => (float[N,C,H,W] y) { r = Relu (x) y = " + op + " <" + attributes + "> (r) }"));
  };
  EXPECT_THAT(pool("MaxPool", "kernel_shape = [2,2], strides = [2]"), HasSubstr("strides [2] must"));
  EXPECT_THAT(pool("AveragePool", "kernel_shape = [2,2], pads = [1,1]"), HasSubstr("pads [1, 1] must"));
  EXPECT_THAT(pool("LpPool", "kernel_shape = [2], dilations = [1,1]"), HasSubstr("dilations [1, 1] must"));
  EXPECT_EQ(pool("MaxPool", "kernel_shape = [2,2], strides = [2,1], pads = [0,1,0,1], dilations = [1,2]"), "");
  const std::string direct = "g (float[1,4,8,8] x) => (float[N,C,H,W] y) { y = MaxPool <kernel_shape = [2]> (x) }";
  EXPECT_THAT(refusal(with_body(direct)), HasSubstr("kernel_shape [2] must have one entry for each spatial dim, 2 in all"));

  // Weights that are not stored: the lists against each other, and against the data.
  const auto fed = [](const std::string& op, const std::string& attributes) {
    return refusal(with_body("g (float[1,4,N,M] x, float[4,4,K,L] w) => (float[N,C,H,W] y) { r = Relu (x) y = " + op + " <" + attributes +
                             "> (r, w) }"));
  };
  EXPECT_THAT(fed("Conv", "strides = [1,1], dilations = [1]"), HasSubstr("dilations [1] must"));
  EXPECT_THAT(fed("ConvTranspose", "kernel_shape = [2,2], output_shape = [1,4,8,8]"), HasSubstr("output_shape [1, 4, 8, 8] must"));
  EXPECT_THAT(fed("DeformConv", "pads = [0,0,0,0], strides = [1]"), HasSubstr("pads [0, 0, 0, 0] must"));
  EXPECT_EQ(fed("ConvTranspose", "kernel_shape = [2,2], output_shape = [8,8]"), "");
}

std::string batch_norm(const std::string& attributes, int opset, const std::string& dims, int count) {
  std::string initializers;
  for (const char* name : {"s", "b", "m", "v"}) {
    initializers += std::string(initializers.empty() ? "" : ", ") + "float" + dims + " " + name + " = " + zeros("", count);
  }
  return "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]> g (float[1,4,1,1] x) => (float[1,4,1,1] y) <" +
         initializers + "> { y = BatchNormalization <" + attributes + "> (x, s, b, m, v) }";
}

TEST(Check, B26ParametersOfABatchNormalization) {
  EXPECT_EQ(refusal(batch_norm("epsilon = 0.1", 17, "[4]", 4)), "");
  EXPECT_THAT(refusal(batch_norm("epsilon = 0.1", 17, "[1,4]", 4)), HasSubstr("scale 's' f32[1, 4] is not a vector"));
  EXPECT_EQ(refusal(batch_norm("spatial = 0", 7, "[4,1,1]", 4)), "");
  EXPECT_THAT(refusal(batch_norm("epsilon = 1", 17, "[4]", 4)), HasSubstr("attribute 'epsilon' is an integer, not a float"));
}

TEST(Check, B26LengthsFollowTheUpstreamConvolution) {
  const auto model = [](int length) {
    std::string initializers = "float[2,4,1,1] W = " + zeros("", 8);
    for (const char* name : {"s", "b", "m", "v"}) {
      initializers += ", float[" + std::to_string(length) + "] " + name + " = " + zeros("", length);
    }
    return with_body("g (float[1,4,8,8] x) => (float[1,2,8,8] y) <" + initializers +
                     "> { c = Conv (x, W) y = BatchNormalization (c, s, b, m, v) }");
  };
  EXPECT_EQ(refusal(model(2)), "");
  EXPECT_THAT(refusal(model(4)), HasSubstr("is not a vector of 2"));
}

TEST(Check, B29OneAttributeTwice) {
  EXPECT_THAT(refusal(with_body("g (float[2] x) => (float[2] y) { y = Custom <a = 1, a = 2> (x) }")), HasSubstr("'a' is there twice"));
}

TEST(Check, B13TensorsInAttributesOfNestedGraphs) {
  const auto model = [](const std::string& values) {
    return with_body("g (bool c) => (float[2] y) { y = If (c) <then_branch = t () => (float[2] p) { p = Constant <value = float[2] {" +
                     values + "}> () }, else_branch = e () => (float[2] q) { q = Constant <value = float[2] {1, 2}> () }> }");
  };
  EXPECT_EQ(refusal(model("1, 2")), "");
  EXPECT_THAT(refusal(model("1, 2, 3")), HasSubstr("float_data has 3 entries"));
}

TEST(Check, AttributesFromTheCallerAreNotChecked) {
  EXPECT_EQ(refusal(R"(<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
    g (float[1,4,8,8] x, float[4,1,1,1] W) => (float[1,4,8,8] y) { y = f.Grouped <groups = 4> (x, W) }
    <domain: "f", opset_import: ["" : 17]> Grouped <groups> (x, W) => (y) { y = Conv <group : int = @groups> (x, W) })"),
            "");
}

TEST(Check, B42FunctionsMustNotCallThemselves) {
  const auto model = [](const std::string& inner) {
    return R"(<ir_version: 8, opset_import: ["" : 17, "f" : 1]> g (float[2] x, bool c) => (float[2] y) { y = f.A (x, c) }
      <domain: "f", opset_import: ["" : 17, "f" : 1]> A (x, c) => (y) {
        y = If (c) <then_branch = t () => (float[2] p) { p = )" +
           inner + R"( (x, c) }, else_branch = e () => (float[2] q) { q = Relu (x) }> }
      <domain: "f", opset_import: ["" : 17, "f" : 1]> B (x, c) => (y) { y = Relu (x) })";
  };
  EXPECT_EQ(refusal(model("f.B")), "");
  EXPECT_THAT(refusal(model("f.A")), HasSubstr("function 'A' calls itself"));
}

}  // namespace
}  // namespace relayout
