#include "model/text_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <string>

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

TEST(TextFormat, EveryFormIsWrittenAndReadBack) {
  const TemporaryFolder folder;
  const std::string bytes = test::encodings()[0].bytes;
  write_file(folder / "m.onnx", bytes);
  for (const char* name : {"m.textproto", "m.json", "m.onnxtxt"}) {
    save(*Model::load(folder / "m.onnx"), folder / name);
    save(*Model::load(folder / name), folder / "back.onnx");
    onnx::ModelProto back, original;
    ASSERT_TRUE(back.ParseFromString(read_file(folder / "back.onnx")));
    ASSERT_TRUE(original.ParseFromString(bytes));
    if (std::string(name) == "m.onnxtxt") {
      // The textual syntax has neither node names nor raw_data.
      EXPECT_EQ(back.graph().node(0).op_type(), "Conv");
      EXPECT_EQ(back.graph().initializer(0).float_data(287), 287);
    } else {
      EXPECT_EQ(back.SerializeAsString(), original.SerializeAsString()) << name;
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
  EXPECT_THROW((void)Model::load(folder / "m.data"), Error);
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
