#include "support/small_models.h"

#include <cstring>
#include <stdexcept>

#include "base/random.h"
#include "support/temporary_folder.h"

namespace relayout::test {

onnx::TensorProto float_tensor(std::string_view name, std::initializer_list<int64_t> dims, uint64_t seed, bool positive) {
  onnx::TensorProto tensor;
  tensor.set_name(std::string(name));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  uint64_t count = 1;
  for (const int64_t dim : dims) {
    tensor.add_dims(dim);
    count *= static_cast<uint64_t>(dim);
  }
  const RandomStream random(seed, name);
  std::string bytes(count * sizeof(float), '\0');
  for (uint64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(positive ? 0.5 + random.uniform(i) : 2 * random.uniform(i) - 1);
    std::memcpy(bytes.data() + i * sizeof(float), &value, sizeof value);
  }
  tensor.set_raw_data(bytes);
  return tensor;
}

onnx::NodeProto& add_node(onnx::GraphProto& graph, std::string_view op_type, std::initializer_list<const char*> inputs,
                          std::initializer_list<const char*> outputs, std::string_view name) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(std::string(op_type));
  for (const char* input : inputs) node.add_input(input);
  for (const char* output : outputs) node.add_output(output);
  if (!name.empty()) node.set_name(std::string(name));
  return node;
}

void set_ints(onnx::NodeProto& node, std::string_view name, std::initializer_list<int64_t> values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(std::string(name));
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const int64_t value : values) attribute.add_ints(value);
}

void set_int(onnx::NodeProto& node, std::string_view name, int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(std::string(name));
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void set_tensor_type(onnx::ValueInfoProto& info, std::string_view name, int type, std::initializer_list<int64_t> dims) {
  info.set_name(std::string(name));
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (const int64_t dim : dims) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
}

onnx::ModelProto conv_batch_norm() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("test");
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("small");
  set_tensor_type(*graph.add_input(), "x", onnx::TensorProto::FLOAT, {1, 3, 8, 8});
  set_tensor_type(*graph.add_output(), "y", onnx::TensorProto::FLOAT, {1, 4, 8, 8});
  set_ints(add_node(graph, "Conv", {"x", "W", "b"}, {"conv"}, "conv0"), "pads", {1, 1, 1, 1});
  add_node(graph, "BatchNormalization", {"conv", "scale", "bias", "mean", "var"}, {"norm"}, "norm0");
  add_node(graph, "Relu", {"norm"}, {"y"}, "relu0");
  *graph.add_initializer() = float_tensor("W", {4, 3, 3, 3}, 1);
  for (const char* name : {"b", "scale", "bias", "mean"}) *graph.add_initializer() = float_tensor(name, {4}, 2);
  *graph.add_initializer() = float_tensor("var", {4}, 3, true);
  return model;
}

onnx::TensorProto& initializer(onnx::ModelProto& model, std::string_view name) {
  for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.name() == name) return tensor;
  }
  throw std::logic_error("no initializer " + std::string(name));
}

void make_external(onnx::TensorProto& tensor, std::string_view location, std::string_view offset, std::string_view length) {
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const std::pair<std::string_view, std::string_view> entries[] = {{"location", location}, {"offset", offset}, {"length", length}};
  for (const auto& [key, value] : entries) {
    if (value.empty() && key != "location") continue;
    onnx::StringStringEntryProto& entry = *tensor.add_external_data();
    entry.set_key(std::string(key));
    entry.set_value(std::string(value));
  }
}

void save_model(const onnx::ModelProto& model, const std::filesystem::path& path) {
  write_file(path, model.SerializePartialAsString());
}

onnx::ModelProto load_model(const std::filesystem::path& path) {
  onnx::ModelProto model;
  if (!model.ParseFromString(read_file(path))) throw std::runtime_error("not a model: " + path.string());
  return model;
}

}  // namespace relayout::test
