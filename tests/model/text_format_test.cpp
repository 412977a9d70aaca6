#include "model/text_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "model/save.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "support/encodings.h"
#include "support/temporary_folder.h"

namespace relayout {
namespace {

using test::read_file;
using test::TemporaryFolder;
using test::write_file;
using testing::HasSubstr;

std::string refusal(const std::string& text, FileFormat format, ErrorKind kind = ErrorKind::invalid) {
  try {
    static_cast<void>(text_format::to_binary(text, format));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "accepted";
}

TEST(TextFormat, IsKnownByTheExtension) {
  EXPECT_EQ(text_format::format_of("a/b.onnx"), FileFormat::binary);
  EXPECT_EQ(text_format::format_of("a.json/b"), FileFormat::binary);
  EXPECT_EQ(text_format::format_of("b.onnxtxt"), FileFormat::onnx_text);
  EXPECT_EQ(text_format::format_of("b.onnxtext"), FileFormat::onnx_text);
  EXPECT_EQ(text_format::format_of("b.textproto"), FileFormat::proto_text);
  EXPECT_EQ(text_format::format_of("b.pbtxt"), FileFormat::proto_text);
  EXPECT_EQ(text_format::format_of("b.json"), FileFormat::json);
}

TEST(TextFormat, IsKnownByTheBeginningWithoutAnExtension) {
  const auto format_of = [](const char* bytes) { return text_format::format_of(*File::from_bytes(bytes, "m")); };
  EXPECT_EQ(format_of("\n { \"irVersion\": 8 }"), FileFormat::json);
  EXPECT_EQ(format_of("<ir_version: 8>"), FileFormat::onnx_text);
  EXPECT_EQ(format_of("<\n  opset_import : []>"), FileFormat::onnx_text);
  EXPECT_EQ(format_of("ir_version: 8"), FileFormat::proto_text);
  EXPECT_EQ(format_of("graph {"), FileFormat::proto_text);
  EXPECT_EQ(format_of("# a comment"), FileFormat::proto_text);
  for (const char* const other : {"", "hello\nworld\n", "<html><body>", "<!doctype html>", ": 8", "\x08\x08:", "version https://git-lfs"}) {
    EXPECT_EQ(format_of(other), FileFormat::binary) << other;
  }
}

TEST(TextFormat, ModelsAsTextLoadWithoutAnExtension) {
  const TemporaryFolder folder;
  write_file(folder / "m.onnx", test::encodings()[0].bytes);
  for (const char* const name : {"m.textproto", "m.json"}) {
    save(*Model::load(folder / "m.onnx"), folder / name);
    std::filesystem::rename(folder / name, folder / "text");
    EXPECT_EQ(Model::load(folder / "text")->graph().nodes().size(), 1U) << name;
  }
}

TEST(TextFormat, ProtobufsFormsReadBackAsTheSameBytes) {
  const TemporaryFolder folder;
  const std::string bytes = test::encodings()[0].bytes;
  write_file(folder / "m.onnx", bytes);
  for (const char* name : {"m.textproto", "m.json"}) {
    save(*Model::load(folder / "m.onnx"), folder / name);
    save(*Model::load(folder / name), folder / "back.onnx");
    onnx::ModelProto back, original;
    ASSERT_TRUE(back.ParseFromString(read_file(folder / "back.onnx")));
    ASSERT_TRUE(original.ParseFromString(bytes));
    EXPECT_EQ(back.SerializeAsString(), original.SerializeAsString()) << name;
  }
}

/// y = Relu(x), with constants whose digits matter.
onnx::ModelProto identifiers_only() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& graph = *model.mutable_graph();
  graph.set_name("g");
  for (auto* const port : {graph.add_input(), graph.add_output()}) {
    port->mutable_type()->mutable_tensor_type()->set_elem_type(1);
    port->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(2);
  }
  graph.mutable_input(0)->set_name("x");
  graph.mutable_output(0)->set_name("y");
  auto& node = *graph.add_node();
  node.set_op_type("LeakyRelu");
  node.add_input("x");
  node.add_output("y");
  auto& alpha = *node.add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(onnx::AttributeProto::FLOAT);
  alpha.set_f(0.1F);
  auto& floats = *graph.add_initializer();
  floats.set_name("w");
  floats.set_data_type(1);
  floats.add_dims(3);
  const float values[] = {0.186422944F, 1.17549435e-38F, 16777215.0F};
  floats.set_raw_data(std::string(reinterpret_cast<const char*>(values), sizeof values));
  auto& doubles = *graph.add_initializer();
  doubles.set_name("d");
  doubles.set_data_type(onnx::TensorProto::DOUBLE);
  doubles.add_dims(1);
  doubles.add_double_data(0.1);
  return model;
}

TEST(TextFormat, NumbersInOnnxsSyntaxReadBackExactly) {
  const onnx::ModelProto model = identifiers_only();
  onnx::ModelProto back;
  const std::string bytes = model.SerializeAsString();
  ASSERT_TRUE(
      back.ParseFromString(text_format::to_binary(text_format::from_binary(bytes, FileFormat::onnx_text, bytes), FileFormat::onnx_text)));
  const float* const values = reinterpret_cast<const float*>(model.graph().initializer(0).raw_data().data());
  ASSERT_EQ(back.graph().initializer(0).float_data_size(), 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(back.graph().initializer(0).float_data(i), values[i]);
  EXPECT_EQ(back.graph().initializer(1).double_data(0), 0.1);
  EXPECT_EQ(back.graph().node(0).attribute(0).f(), 0.1F);
}

TEST(TextFormat, ContentsOutsideOnnxsSyntaxAreRefusedByName) {
  const auto refused = [](const onnx::ModelProto& model) {
    const TemporaryFolder folder;
    write_file(folder / "m.onnx", model.SerializeAsString());
    std::string message = "written";
    try {
      save(*Model::load(folder / "m.onnx"), folder / "m.onnxtxt");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      message = error.what();
      EXPECT_THAT(message, HasSubstr(".textproto"));
    }
    EXPECT_EQ(folder.entries().size(), message == "written" ? 2U : 1U);
    return message;
  };
  EXPECT_EQ(refused(identifiers_only()), "written");
  onnx::ModelProto model = identifiers_only();
  model.mutable_graph()->mutable_input(0)->set_name("input.1");
  model.mutable_graph()->mutable_node(0)->set_input(0, "input.1");
  EXPECT_THAT(refused(model), HasSubstr("the name 'input.1'"));
  model = identifiers_only();
  model.mutable_graph()->mutable_node(0)->set_name("act");
  EXPECT_THAT(refused(model), HasSubstr("names of nodes ('act')"));
  model = identifiers_only();
  model.mutable_graph()->mutable_node(0)->set_doc_string("why");
  EXPECT_THAT(refused(model), HasSubstr("doc_string"));
  model = identifiers_only();
  model.mutable_graph()->mutable_initializer(0)->set_data_type(onnx::TensorProto::FLOAT16);
  model.mutable_graph()->mutable_initializer(0)->set_raw_data("123456");
  EXPECT_THAT(refused(model), HasSubstr("cannot say"));
  // A number that ONNX's parser refuses.
  model = identifiers_only();
  model.mutable_graph()->mutable_initializer(1)->set_double_data(0, 5e-324);
  EXPECT_THAT(refused(model), HasSubstr("out of range"));
}

TEST(TextFormat, NewNamesAreValidInOnnxsSyntax) {
  const std::string original = text_format::to_binary(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { m = Neg (x)  w__nchw = Abs (x)  y = Add (m, w__nchw) }",
      FileFormat::onnx_text);
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(original));
  model.mutable_graph()->mutable_node(0)->set_name("w.nchw/Neg");
  model.mutable_graph()->mutable_node(0)->set_output(0, "w.nchw");
  model.mutable_graph()->mutable_node(2)->set_input(0, "w.nchw");
  const std::string text = text_format::from_binary(model.SerializeAsString(), FileFormat::onnx_text, original);
  EXPECT_THAT(text, HasSubstr("w__nchw_2 = Neg (x)"));
  EXPECT_THAT(text, HasSubstr("y = Add (w__nchw_2, w__nchw)"));
  // Names from the original model stay or are refused.
  EXPECT_THROW((void)text_format::from_binary(model.SerializeAsString(), FileFormat::onnx_text, model.SerializeAsString()), Error);
}

TEST(TextFormat, NumbersOutOfRangeAreNoDefect) {
  EXPECT_THAT(refusal("<ir_version: 99999999999999999999> g (float x) => (float y) { y = Relu (x) }", FileFormat::onnx_text),
              HasSubstr("out of range"));
}

TEST(TextFormat, FieldsOfLaterVersionsAreNotLost) {
  onnx::ModelProto model = identifiers_only();
  const std::string bytes = model.SerializeAsString() + std::string("\xfa\x3f\x01z", 4);  // field 1023
  for (const FileFormat format : {FileFormat::proto_text, FileFormat::json}) {
    try {
      (void)text_format::from_binary(bytes, format, bytes);
      ADD_FAILURE() << "written";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      EXPECT_THAT(error.what(), HasSubstr("does not read back"));
    }
  }
}

TEST(TextFormat, TheFormatOptionOverrulesTheExtension) {
  const TemporaryFolder folder;
  write_file(folder / "m.onnx", test::encodings()[0].bytes);
  const auto model = Model::load(folder / "m.onnx");
  save(*model, folder / "m.data", {.format = FileFormat::json});
  EXPECT_EQ(read_file(folder / "m.data")[0], '{');
  EXPECT_NE(Model::load(folder / "m.data", {.format = FileFormat::json}), nullptr);
  EXPECT_NE(Model::load(folder / "m.data"), nullptr);  // it begins like JSON
  EXPECT_THROW((void)Model::load(folder / "m.data", {.format = FileFormat::proto_text}), Error);
}

TEST(TextFormat, ChangesShowInTheText) {
  const auto model = Model::from_bytes(test::encodings()[0].bytes);
  model->graph().rename(*model->graph().find("W"), "weight");
  EXPECT_THAT(to_text(*model), HasSubstr("Conv <pads: ints = [1, 1, 1, 1]> (x, weight)"));
  EXPECT_THAT(to_text(*model), testing::Not(HasSubstr("5368709")));  // the marks of the walk
}

TEST(TextFormat, MistakesAreNamedByTheirPlace) {
  EXPECT_THAT(refusal("<ir_version: 8> g (float x) => (float y) { y = ", FileFormat::onnx_text), HasSubstr("textual syntax"));
  EXPECT_THAT(refusal("ir_version: 8\nnonsense: 3", FileFormat::proto_text), HasSubstr("line 2"));
  EXPECT_THAT(refusal("{\"irVersion\": ", FileFormat::json), HasSubstr("JSON"));
  EXPECT_THAT(refusal("", FileFormat::json), HasSubstr("JSON"));
}

TEST(TextFormat, B45NestingWithoutEnd) {
  std::string text = "<ir_version: 8, opset_import: [\"\" : 17]> g (bool c) => (float y) { ";
  for (int i = 0; i < 100'000; ++i) text += "y = If (c) <then_branch = t () => (float z) { ";
  EXPECT_THAT(refusal(text, FileFormat::onnx_text, ErrorKind::unsupported), HasSubstr("nested deeper than 200"));
  std::string proto = "graph { ";
  for (int i = 0; i < 100'000; ++i) proto += "node { attribute { g { ";
  EXPECT_THAT(refusal(proto, FileFormat::proto_text), HasSubstr("text format"));
  std::string json = "{\"graph\": {";
  for (int i = 0; i < 100'000; ++i) json += "\"node\": [{\"attribute\": [{\"g\": {";
  EXPECT_THAT(refusal(json, FileFormat::json), HasSubstr("JSON"));
  EXPECT_THAT(refusal(std::string(1'000'000, '('), FileFormat::onnx_text, ErrorKind::unsupported), HasSubstr("nested"));
  EXPECT_THAT(refusal(std::string(1'000'000, '['), FileFormat::json), HasSubstr("JSON"));
}

}  // namespace
}  // namespace relayout
