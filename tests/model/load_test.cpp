#include <fcntl.h>
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <csignal>

#include "base/random.h"
#include "model/origin.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "support/encodings.h"
#include "support/model_cache.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"
#include "support/wire_writer.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;
using test::WireWriter;
using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const std::string& bytes, ErrorKind kind = ErrorKind::invalid) {
  return test::refusal_of(kind, [&] { return Model::from_bytes(bytes); });
}

TEST(Load, ModelsOfTheCache) {
  const auto models = test::cached_models();
  if (models.empty()) GTEST_SKIP() << test::kNoModels;
  for (const auto& path : models) {
    const auto model = Model::load(path);
    EXPECT_GT(model->graph().nodes().size(), 10U) << path;
    EXPECT_LT(model->message().SpaceUsedLong(), std::size_t{16} << 20) << path;
    EXPECT_GE(model->file_size(), static_cast<int64_t>(fs::file_size(path))) << path;
  }
}

class LoadEncoding : public testing::TestWithParam<test::Encoding> {};

TEST_P(LoadEncoding, MeansTheSameModel) {
  const auto model = Model::from_bytes(GetParam().bytes);
  EXPECT_EQ(model->ir_version(), 8);
  EXPECT_EQ(model->opset(""), 17);
  EXPECT_EQ(model->opset("ai.onnx"), 17);
  EXPECT_EQ(model->opset("other"), 0);
  const Graph& graph = model->graph();
  ASSERT_EQ(graph.nodes().size(), 1U);
  EXPECT_TRUE(graph.nodes().front().is("Conv"));
  ASSERT_EQ(graph.initializers().size(), 1U);
  const TensorData& weight = *graph.find("W")->initializer()->data;
  EXPECT_THAT(weight.dims(), ElementsAre(8, 4, 3, 3));
  const Tensor tensor = weight.load();
  for (int64_t i = 0; i < 288; ++i) ASSERT_EQ(tensor.data<float>()[i], static_cast<float>(i));
}

INSTANTIATE_TEST_SUITE_P(All, LoadEncoding, testing::ValuesIn(test::encodings()), [](const auto& instance) {
  std::string name = instance.param.name;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
});

TEST(Load, B10NonModelsAreRefusedByKind) {
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
  EXPECT_THAT(refusal("hello\nworld\n"), HasSubstr("text, not an ONNX model"));
  EXPECT_THAT(refusal("<!DOCTYPE html>\n<html>"), HasSubstr("an HTML page"));
  EXPECT_THAT(refusal(std::string(100, '\0')), HasSubstr("not an ONNX model: byte 0"));
  EXPECT_THAT(refusal(std::string("\x1f\x8b\x08\x00xyz", 7)), HasSubstr("gzip"));
  EXPECT_THAT(refusal(std::string("\x20\0\0\0ORTM", 8)), HasSubstr("ONNX Runtime's own format"));
  // A file with one tensor, like those next to the models of the backend test.
  EXPECT_THAT(refusal(WireWriter().varint(1, 2).varint(2, 1).bytes(9, std::string(8, 'x')).str()), HasSubstr("no graph"));
}

TEST(Load, B10FormatsOfOthersAreNamed) {
  const auto text = [](std::string_view bytes) { return std::string(bytes); };
  using namespace std::string_view_literals;
  EXPECT_THAT(refusal(text("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"sv)), HasSubstr("a PNG picture"));
  EXPECT_THAT(refusal(text("\xff\xd8\xff\xe0\0\x10JFIF"sv)), HasSubstr("a JPEG picture"));
  EXPECT_THAT(refusal(text("\x93NUMPY\x01\0v\0{'descr': '<f4'"sv)), HasSubstr("a NumPy array"));
  EXPECT_THAT(refusal(text("%PDF-1.7\n%\xe2\xe3"sv)), HasSubstr("a PDF document"));
  // torch.save(model, _use_new_zipfile_serialization=False) and pickle.dump.
  EXPECT_THAT(refusal(text("\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."sv)), HasSubstr("Python pickle (as older PyTorch files are)"));
  EXPECT_THAT(refusal(text("\x80\x04\x95\x10\0\0\0\0\0\0\0}"sv)), HasSubstr("Python pickle"));
  EXPECT_THAT(refusal(text("\x40\0\0\0\0\0\0\0{\"w\":{\"dtype\":\"F32\"}}"sv)), HasSubstr("safetensors"));
  EXPECT_THAT(refusal(std::string(257, 'x') + "ustar  " + std::string(1, '\0')), HasSubstr("a tar archive"));
  EXPECT_THAT(refusal("<?xml version=\"1.0\"?>\n<net name=\"m\" version=\"11\">\n"), HasSubstr("an XML file"));
  // By tensorflow/core/protobuf/saved_model.proto, meta_graph.proto and framework/graph.proto.
  const WireWriter info = WireWriter().message(2, WireWriter().message(1, WireWriter().bytes(1, "Const"))).bytes(4, "serve");
  EXPECT_THAT(refusal(WireWriter().varint(1, 1).message(2, WireWriter().message(1, info)).str()), HasSubstr("a TensorFlow SavedModel"));
  const WireWriter node = WireWriter().bytes(1, "input").bytes(2, "Placeholder").message(5, WireWriter().bytes(1, "dtype"));
  EXPECT_THAT(refusal(WireWriter().message(1, node).message(1, node).str()), HasSubstr("a TensorFlow graph"));
  // By Core ML's Model.proto.
  const WireWriter description = WireWriter().message(1, WireWriter().bytes(1, "image"));
  EXPECT_THAT(refusal(WireWriter().varint(1, 4).message(2, description).str()), HasSubstr("a Core ML model"));
}

TEST(Load, AFolderHintsAtTheModelToName) {
  const test::TemporaryFolder folder;
  const auto hint_of = [&] {
    try {
      static_cast<void>(Model::load(folder.path()));
    } catch (const Error& error) {
      return std::string(error.what()) + " / " + error.hint();
    }
    return std::string();
  };
  EXPECT_THAT(hint_of(), HasSubstr("is a directory / name a model; convert and verify take all models below a folder with --suite"));
  test::write_file(folder / "net.onnx", "");
  EXPECT_THAT(hint_of(), HasSubstr("it holds " + (folder / "net.onnx").string() + ": name that"));
  test::write_file(folder / "saved_model.pb", "");
  EXPECT_THAT(hint_of(), HasSubstr("TensorFlow SavedModel"));
}

TEST(Load, MalformedFieldsThatTheWalkDoesNotRead) {
  // An input whose type ends in the middle, after a good one.
  const WireWriter good = WireWriter().bytes(1, "x");
  const WireWriter bad = WireWriter().bytes(1, "y").bytes(2, "\x0a\x7f");
  const std::string bytes =
      WireWriter().varint(1, 8).message(7, WireWriter().message(11, good).message(11, bad)).message(8, WireWriter().varint(2, 17)).str();
  EXPECT_THAT(refusal(bytes), HasSubstr("byte 9: malformed ValueInfoProto"));
  // An initializer whose dims end in the middle, after a good one.
  const WireWriter weight = WireWriter().varint(2, 1).bytes(8, "w").bytes(9, "0000");
  const WireWriter cut = WireWriter().bytes(1, "\x80").bytes(8, "v");
  const std::string weights =
      WireWriter().varint(1, 8).message(7, WireWriter().message(5, weight).message(5, cut)).message(8, WireWriter().varint(2, 17)).str();
  EXPECT_THAT(refusal(weights), HasSubstr("byte 17: malformed TensorProto"));
}

TEST(Load, ErrorsNameTheFileOnce) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "m.onnx", "hello");
  try {
    static_cast<void>(Model::load(folder / "m.onnx"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith((folder / "m.onnx").string() + ": text"));
  }
  try {
    static_cast<void>(Model::load(folder / "missing.onnx"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith((folder / "missing.onnx").string() + ": No such file"));
  }
}

TEST(Load, UniqueNamesAvoidAllThereAre) {
  const auto model = Model::from_text(R"(<ir_version: 8, opset_import: ["" : 17]> g (bool c, float[2] x) => (float[2] y) {
    y = If (c) <then_branch = t () => (float[2] inner) { inner = Relu (x) }, else_branch = e () => (float[2] other) { other = Neg (x) }> })");
  EXPECT_EQ(model->unique_name("new"), "new");
  EXPECT_EQ(model->unique_name("new"), "new_2");
  EXPECT_EQ(model->unique_name("new"), "new_3");
  EXPECT_EQ(model->unique_name("x"), "x_2");
  EXPECT_EQ(model->unique_name("inner"), "inner_2");
}

TEST(Load, BeforeIr3TheDefaultDomainIsAtVersion1) {
  onnx::ModelProto model;
  model.set_ir_version(2);
  auto& node = *model.mutable_graph()->add_node();
  node.set_op_type("Relu");
  node.add_input("x");
  node.add_output("y");
  model.mutable_graph()->add_input()->set_name("x");
  model.mutable_graph()->add_output()->set_name("y");
  EXPECT_EQ(Model::from_bytes(model.SerializeAsString())->opset(""), 1);
}

TEST(LoadTensor, TypedFieldsOfEveryType) {
  const auto model = Model::from_text(R"(<ir_version: 10, opset_import: ["" : 21]> g (float[1] x) => (float[1] y) { y = Relu (x) })");
  onnx::TensorProto tensor;
  const auto make = [&](int type, int64_t count) -> onnx::TensorProto& {
    tensor.Clear();
    tensor.set_data_type(type);
    tensor.add_dims(count);
    return tensor;
  };
  make(onnx::TensorProto::INT8, 2);
  tensor.add_int32_data(-1);
  tensor.add_int32_data(5);
  EXPECT_EQ(load_tensor(*model, tensor).data<int8_t>()[0], -1);
  make(onnx::TensorProto::FLOAT16, 1).add_int32_data(0x3C00);
  EXPECT_EQ(load_tensor(*model, tensor).data<uint16_t>()[0], 0x3C00);
  make(onnx::TensorProto::UINT32, 1).add_uint64_data(4'000'000'000U);
  EXPECT_EQ(load_tensor(*model, tensor).data<uint32_t>()[0], 4'000'000'000U);
  make(onnx::TensorProto::COMPLEX64, 1);
  tensor.add_float_data(1);
  tensor.add_float_data(2);
  EXPECT_EQ(load_tensor(*model, tensor).data<float>()[1], 2);
  make(onnx::TensorProto::BOOL, 1).add_int32_data(1);
  EXPECT_EQ(load_tensor(*model, tensor).data<uint8_t>()[0], 1);
  make(onnx::TensorProto::INT4, 3);  // two to an entry
  tensor.add_int32_data(0x21);
  tensor.add_int32_data(0x0F);
  EXPECT_EQ(load_tensor(*model, tensor).data<int8_t>()[2], -1);
  make(onnx::TensorProto::STRING, 2);
  tensor.add_string_data("a");
  tensor.add_string_data("b");
  EXPECT_EQ(load_tensor(*model, tensor).data<std::string>()[1], "b");
  // Data in the field of a different type.
  make(onnx::TensorProto::FLOAT, 1).add_int32_data(1);
  EXPECT_THROW((void)load_tensor(*model, tensor), Error);
  make(onnx::TensorProto::FLOAT, 1).add_float_data(1);
  tensor.mutable_segment()->set_begin(0);
  try {
    (void)load_tensor(*model, tensor);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  }
}

/// Runs `work` in a child process: 0 if it ends in order, 1 if the error is undocumented, otherwise 128 + signal.
int in_child(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    // Output of a child would be mistaken for the test's.
    const int nothing = ::open("/dev/null", O_WRONLY);
    ::dup2(nothing, STDERR_FILENO);
    int code = 0;
    try {
      work();
    } catch (const Error& error) {
      code = error.kind() == ErrorKind::invalid || error.kind() == ErrorKind::unsupported ? 0 : 1;
      if (std::string(error.what()).find_first_of("\n\r\t\x1b") != std::string::npos) code = 1;
    } catch (...) {
      code = 1;
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// A model with every element that the walk handles itself.
std::string rich_model() {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(test::encodings()[0].bytes));
  auto& graph = *model.mutable_graph();
  auto& sparse = *graph.add_sparse_initializer();
  sparse.mutable_values()->set_name("s");
  sparse.mutable_values()->set_data_type(1);
  sparse.mutable_values()->add_dims(1);
  sparse.mutable_values()->add_float_data(1);
  sparse.mutable_indices()->set_data_type(7);
  sparse.mutable_indices()->add_dims(1);
  sparse.mutable_indices()->add_int64_data(3);
  sparse.add_dims(10);
  auto& holder = *graph.add_node();
  holder.set_op_type("Loop");
  holder.add_input("s");
  holder.add_output("held");
  auto& body = *holder.add_attribute();
  body.set_name("body");
  body.set_type(onnx::AttributeProto::GRAPH);
  auto& constant = *body.mutable_g()->add_node();
  constant.set_op_type("Constant");
  constant.add_output("k");
  auto& value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(1);
  value.mutable_t()->add_dims(100);
  for (int i = 0; i < 100; ++i) value.mutable_t()->add_float_data(static_cast<float>(i));
  auto& function = *model.add_functions();
  function.set_name("F");
  function.set_domain("f");
  function.add_input("p");
  function.add_output("q");
  function.add_opset_import()->set_version(17);
  auto& inner = *function.add_node();
  inner.set_op_type("Relu");
  inner.add_input("p");
  inner.add_output("q");
  return model.SerializeAsString();
}

TEST(LoadDamaged, B12AnyTruncation) {
  const std::string whole = rich_model();
  ASSERT_EQ(in_child([&] { (void)Model::from_bytes(whole); }), 0);
  for (std::size_t i = 0; i < 200; ++i) {
    const std::size_t length = i * whole.size() / 200;
    EXPECT_EQ(in_child([&] { (void)Model::from_bytes(whole.substr(0, length)); }), 0) << "the first " << length << " bytes";
  }
}

TEST(LoadDamaged, B12AnyByteFlipped) {
  const std::string whole = rich_model();
  const RandomStream random(20, "flips");
  for (uint64_t i = 0; i < 1000; ++i) {
    std::string flipped = whole;
    // Two thirds of the file are the payload of the weight, which cannot be wrong.
    const std::size_t at = random.below(2 * i, whole.size());
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << random.below(2 * i + 1, 8)));
    EXPECT_EQ(in_child([&] { (void)Model::from_bytes(flipped); }), 0) << "byte " << at << " of flip " << i;
  }
}

TEST(LoadDamaged, B12AnyByteOverwritten) {
  const std::string whole = rich_model();
  const std::size_t payload = whole.find(std::string("J\x80\x09", 3));
  ASSERT_NE(payload, std::string::npos);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    if (at > payload + 8 && at < payload + 1150) continue;
    for (const char value : {'\0', '\xFF', '\x7F'}) {
      std::string damaged = whole;
      damaged[at] = value;
      try {
        (void)Model::from_bytes(damaged);
      } catch (const Error& error) {
        ASSERT_TRUE(error.kind() == ErrorKind::invalid || error.kind() == ErrorKind::unsupported) << at << ": " << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace relayout
