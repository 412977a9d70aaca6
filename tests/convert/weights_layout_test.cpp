// Tests channels-last weights in files with external data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <ios>
#include <tuple>

#include "model/tensor_data.h"
#include "relayout/convert.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout {
namespace {

constexpr int64_t kPage = 4096;

/// One record of external data.
struct Record {
  std::string location;
  int64_t offset = 0, length = 0;
};

Record record_of(const onnx::TensorProto& tensor) {
  Record out;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") out.location = entry.value();
    if (entry.key() == "offset") out.offset = std::stoll(entry.value());
    if (entry.key() == "length") out.length = std::stoll(entry.value());
  }
  return out;
}

/// conv(x, W) + conv(x, W2) + Mul(x, c), all three tensors in one file; W2 overlaps the second half of c.
class ExternalWeights : public testing::Test {
 protected:
  ExternalWeights() {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    auto& graph = *model.mutable_graph();
    graph.set_name("g");
    auto* input = graph.add_input();
    input->set_name("x");
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    for (const int dim : {1, 7, 5, 6}) type->mutable_shape()->add_dim()->set_dim_value(dim);
    add_tensor(graph, "W", {5, 7, 3, 2}, 0);
    add_tensor(graph, "c", {1, 7, 5, 6}, kPage);
    add_tensor(graph, "W2", {4, 7, 3, 1}, kPage + 420);
    for (const auto& [op, weight, output] : {std::tuple{"Conv", "W", "y"}, {"Mul", "c", "z"}, {"Conv", "W2", "v"}}) {
      auto* node = graph.add_node();
      node->set_op_type(op);
      node->add_input("x");
      node->add_input(weight);
      node->add_output(output);
      graph.add_output()->set_name(output);
    }
    std::string data(static_cast<std::size_t>(kPage + 840), '\0');
    for (std::size_t i = 0; i < data.size() / 4; ++i) {
      const auto value = static_cast<float>(i);
      std::memcpy(data.data() + 4 * i, &value, 4);
    }
    std::ofstream(folder_ / "weights.bin", std::ios::binary) << data;
    std::ofstream(folder_ / "in.onnx", std::ios::binary) << model.SerializeAsString();
  }

  static void add_tensor(onnx::GraphProto& graph, const std::string& name, const Dims& dims, int64_t offset) {
    auto* tensor = graph.add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : dims) tensor->add_dims(dim);
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    const std::pair<std::string, std::string> entries[] = {
        {"location", "weights.bin"}, {"offset", std::to_string(offset)}, {"length", std::to_string(4 * element_count(dims))}};
    for (const auto& [key, value] : entries) {
      auto* entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
  }

  /// The elements of an initializer of a file.
  [[nodiscard]] std::vector<float> elements(const std::string& file, const std::string& name) const {
    const auto model = Model::load(folder_ / file);
    const Tensor tensor = model->graph().find(name)->initializer()->data->load();
    return {tensor.data<float>(), tensor.data<float>() + tensor.element_count()};
  }

  test::TemporaryFolder folder_;
};

TEST_F(ExternalWeights, L50And51OnlyTheMovedTensorsGetAnotherPlace) {
  ASSERT_TRUE(convert(folder_ / "in.onnx", folder_ / "out.onnx", {.save = {.share_data = true}}).written);
  const onnx::ModelProto before = test::load_model(folder_ / "in.onnx"), after = test::load_model(folder_ / "out.onnx");
  for (const auto& tensor : after.graph().initializer()) {
    const Record record = record_of(tensor);
    if (tensor.name() == "c") {
      EXPECT_EQ(tensor.SerializeAsString(), before.graph().initializer(1).SerializeAsString());
    } else {
      EXPECT_NE(record.location, "weights.bin") << tensor.name();
      EXPECT_EQ(record.offset % kPage, 0) << tensor.name();
    }
  }
  EXPECT_EQ(elements("out.onnx", "c"), elements("in.onnx", "c"));
  const auto w = elements("in.onnx", "W2"), moved = elements("out.onnx", "W2.channels_last");
  for (std::size_t o = 0; o < 4; ++o) {
    for (std::size_t i = 0; i < 7; ++i) {
      for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(moved[(o * 3 + k) * 7 + i], w[(o * 7 + i) * 3 + k]);
    }
  }
}

TEST_F(ExternalWeights, L50UndoRestoresTheContents) {
  ASSERT_TRUE(convert(folder_ / "in.onnx", folder_ / "out.onnx", {}).written);
  ASSERT_TRUE(convert(folder_ / "out.onnx", folder_ / "back.onnx", {.rewrite = {.layout = WeightsLayout::contiguous}}).written);
  for (const char* const name : {"W", "W2", "c"}) EXPECT_EQ(elements("back.onnx", name), elements("in.onnx", name));
  const onnx::ModelProto before = test::load_model(folder_ / "in.onnx"), after = test::load_model(folder_ / "back.onnx");
  ASSERT_EQ(after.graph().node_size(), before.graph().node_size());
  for (int i = 0; i < before.graph().node_size(); ++i) {
    EXPECT_EQ(after.graph().node(i).SerializeAsString(), before.graph().node(i).SerializeAsString());
  }
}

}  // namespace
}  // namespace relayout
