#include "model/save.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "model/origin.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "support/encodings.h"
#include "support/model_cache.h"
#include "support/temporary_folder.h"

namespace relayout {
namespace {

using test::read_file;
using test::TemporaryFolder;
using test::write_file;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kForward[] = {0, 2, 3, 1}, kBack[] = {0, 3, 1, 2};

/// What the layout pass does to a 4-D weight: W becomes a Transpose of W.channels_last.
void to_channels_last(Model& model, const char* name) {
  Graph& graph = model.graph();
  Value& weight = *graph.find(name);
  Node& reader = *weight.uses().front().node;
  Value& source = graph.detach(weight, std::string(name) + ".channels_last");
  graph.set_data(*source.initializer(), source.initializer()->data->permuted(kForward));
  onnx::NodeProto transpose;
  transpose.set_op_type("Transpose");
  transpose.add_input(source.name());
  transpose.add_output(name);
  auto* const permutation = transpose.add_attribute();
  permutation->set_name("perm");
  permutation->set_type(onnx::AttributeProto::INTS);
  for (const int64_t axis : kBack) permutation->add_ints(axis);
  graph.insert_before(graph.position_of(reader), transpose);
}

void to_contiguous(Model& model, const char* name) {
  Graph& graph = model.graph();
  Node& transpose = *graph.find(name)->producer();
  Value& source = *transpose.input(0);
  Initializer& initializer = *source.initializer();
  graph.attach(source, transpose);
  graph.set_data(initializer, initializer.data->permuted(kBack));
}

onnx::ModelProto parsed(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model;
}

TEST(Save, UntouchedModelsOfTheCacheAreTheirFile) {
  const auto models = test::cached_models();
  if (models.empty()) GTEST_SKIP() << test::kNoModels;
  const TemporaryFolder folder;
  for (const auto& path : models) {
    save(*Model::load(path), folder / "out.onnx");
    EXPECT_TRUE(read_file(path) == read_file(folder / "out.onnx")) << path;
  }
}

class SaveEncoding : public testing::TestWithParam<test::Encoding> {};

TEST_P(SaveEncoding, UntouchedIsTheFile) {
  const auto model = Model::from_bytes(GetParam().bytes);
  EXPECT_EQ(to_bytes(*model), GetParam().bytes);
}

TEST_P(SaveEncoding, ConvertedIsRightAndKeepsEverythingElse) {
  const auto model = Model::from_bytes(GetParam().bytes);
  const auto before = parsed(GetParam().bytes);
  to_channels_last(*model, "W");
  const auto after = parsed(to_bytes(*model));
  ASSERT_EQ(after.graph().initializer_size(), 1);
  const onnx::TensorProto& weight = after.graph().initializer(0);
  EXPECT_EQ(weight.name(), "W.channels_last");
  EXPECT_THAT(weight.dims(), ElementsAre(8, 3, 3, 4));
  const std::string& raw = weight.raw_data();
  std::vector<float> values(288);
  if (weight.float_data_size() > 0) {
    std::copy(weight.float_data().begin(), weight.float_data().end(), values.begin());
  } else {
    ASSERT_EQ(raw.size(), 1152U);
    std::memcpy(values.data(), raw.data(), raw.size());
  }
  for (int o = 0; o < 8; ++o) {
    for (int i = 0; i < 4; ++i) {
      for (int k = 0; k < 9; ++k) {
        ASSERT_EQ(values[static_cast<std::size_t>((o * 9 + k) * 4 + i)], static_cast<float>((o * 4 + i) * 9 + k));
      }
    }
  }
  ASSERT_EQ(after.graph().node_size(), 2);
  EXPECT_EQ(after.graph().node(0).op_type(), "Transpose");
  // Apart from the weight and the new node, nothing differs.
  onnx::ModelProto a = before, b = after;
  b.mutable_graph()->mutable_node()->DeleteSubrange(0, 1);
  for (auto* side : {&a, &b}) {
    auto& tensor = *side->mutable_graph()->mutable_initializer(0);
    tensor.clear_dims();
    tensor.clear_name();
    tensor.clear_raw_data();
    tensor.clear_float_data();
  }
  EXPECT_EQ(a.SerializeAsString(), b.SerializeAsString());
}

TEST_P(SaveEncoding, AChangeTakenBackLeavesTheFile) {
  const auto model = Model::from_bytes(GetParam().bytes);
  to_channels_last(*model, "W");
  const std::string converted = to_bytes(*model);
  to_contiguous(*model, "W");
  if (parsed(GetParam().bytes).graph().initializer(0).name() == "W" && GetParam().name.find("pieces") == std::string::npos) {
    EXPECT_EQ(to_bytes(*model), GetParam().bytes);
  }
  // The same from the file that was written in between.
  const auto again = Model::from_bytes(converted);
  to_contiguous(*again, "W");
  if (GetParam().comes_back) {
    EXPECT_EQ(to_bytes(*again), GetParam().bytes);
  } else {
    const auto back = parsed(to_bytes(*again));
    EXPECT_EQ(back.graph().initializer(0).name(), "W");
    EXPECT_EQ(back.graph().node_size(), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SaveEncoding, testing::ValuesIn(test::encodings()), [](const auto& instance) {
  std::string name = instance.param.name;
  std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
  return name;
});

}  // namespace
}  // namespace relayout
