#pragma once

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/random.h"
#include "relayout/execute.h"
#include "relayout/model.h"

namespace relayout::test {

/// Builds small models node by node.
class ModelBuilder {
 public:
  explicit ModelBuilder(int64_t opset = 17) {
    model_.set_ir_version(8);
    auto* import = model_.add_opset_import();
    import->set_domain("");
    import->set_version(opset);
    model_.mutable_graph()->set_name("test");
  }

  ModelBuilder& input(const std::string& name, const Dims& dims, DataType type = DataType::float32) {
    auto* info = model_.mutable_graph()->add_input();
    info->set_name(name);
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(static_cast<int>(type));
    tensor->mutable_shape();
    for (const int64_t dim : dims) {
      auto* entry = tensor->mutable_shape()->add_dim();
      if (dim >= 0) entry->set_dim_value(dim);
    }
    return *this;
  }
  ModelBuilder& output(const std::string& name) {
    model_.mutable_graph()->add_output()->set_name(name);
    return *this;
  }
  template <class T>
  ModelBuilder& constant(const std::string& name, const Dims& dims, const std::vector<T>& values) {
    auto* tensor = model_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(data_type_of<T>());
    for (const int64_t dim : dims) tensor->add_dims(dim);
    tensor->mutable_raw_data()->assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    return *this;
  }

  /// Attributes are added to the last node.
  ModelBuilder& node(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    auto* node = model_.mutable_graph()->add_node();
    node->set_op_type(op);
    node->set_name(op + "_" + std::to_string(model_.graph().node_size()));
    for (const std::string& name : inputs) node->add_input(name);
    for (const std::string& name : outputs) node->add_output(name);
    last_ = node;
    return *this;
  }
  ModelBuilder& integers(const std::string& name, const Dims& values) {
    auto* attribute = attribute_of(name, onnx::AttributeProto::INTS);
    for (const int64_t value : values) attribute->add_ints(value);
    return *this;
  }
  ModelBuilder& integer(const std::string& name, int64_t value) {
    attribute_of(name, onnx::AttributeProto::INT)->set_i(value);
    return *this;
  }
  ModelBuilder& real(const std::string& name, float value) {
    attribute_of(name, onnx::AttributeProto::FLOAT)->set_f(value);
    return *this;
  }
  ModelBuilder& text(const std::string& name, const std::string& value) {
    attribute_of(name, onnx::AttributeProto::STRING)->set_s(value);
    return *this;
  }
  [[nodiscard]] std::unique_ptr<Model> build() const { return Model::from_bytes(model_.SerializeAsString(), "test model"); }
  [[nodiscard]] onnx::ModelProto& message() { return model_; }

 private:
  template <class T>
  static int data_type_of() {
    if (std::is_same_v<T, int64_t>) return onnx::TensorProto::INT64;
    if (std::is_same_v<T, int32_t>) return onnx::TensorProto::INT32;
    if (std::is_same_v<T, uint8_t>) return onnx::TensorProto::UINT8;
    if (std::is_same_v<T, int8_t>) return onnx::TensorProto::INT8;
    static_assert(std::is_same_v<T, int64_t> || std::is_same_v<T, int32_t> || std::is_same_v<T, float> || sizeof(T) == 1);
    return onnx::TensorProto::FLOAT;
  }
  onnx::AttributeProto* attribute_of(const std::string& name, onnx::AttributeProto::AttributeType type) {
    auto* attribute = last_->add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return attribute;
  }
  onnx::ModelProto model_;
  onnx::NodeProto* last_ = nullptr;
};

[[nodiscard]] inline Tensor tensor_of(const Dims& dims, const std::vector<float>& values) {
  Tensor out(DataType::float32, dims);
  std::copy(values.begin(), values.end(), out.data<float>());
  return out;
}

[[nodiscard]] inline std::vector<float> values_of(const Tensor& tensor) {
  const Tensor dense = contiguous(tensor);
  return {dense.data<float>(), dense.data<float>() + dense.element_count()};
}

/// Small integers in [-range, range]: sums of products of them are exact in f32 in any order.
[[nodiscard]] inline std::vector<float> small_integers(int64_t count, const RandomStream& random, uint64_t offset, int range = 3) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(static_cast<int>(random.below(offset + i, 2 * static_cast<uint64_t>(range) + 1)) - range);
  }
  return out;
}

[[nodiscard]] inline std::vector<float> normal_values(int64_t count, const RandomStream& random, uint64_t offset) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(random.normal(offset + i));
  return out;
}

/// The library's reference loops are a hundred or more times slower than necessary, also as a part of other implementations. Reorders have
/// nothing better for odd shapes.
inline void expect_no_reference_loops(const PlanInfo& info) {
  for (const StepInfo& step : info.steps) {
    for (const char* const kind : {"Conv", "Pool", "MatMul", "Gemm", "Norm", "LSTM", "GRU", "RNN"}) {
      if (step.op_type.find(kind) == std::string::npos) continue;
      EXPECT_EQ(step.implementation.find("ref"), std::string::npos) << step.op_type << " runs " << step.implementation;
    }
  }
}

struct RunResult {
  std::vector<Tensor> outputs;
  PlanInfo info;
};

[[nodiscard]] inline RunResult run_in(Mode mode, const Model& model, const Inputs& inputs, int threads = 1) {
  ExecuteOptions options;
  options.mode = mode;
  options.threads = threads;
  Executor executor(model.graph(), options);
  RunResult out;
  for (Datum& datum : executor.run(inputs)) out.outputs.push_back(datum.tensor);
  out.info = executor.plan_info();
  return out;
}

}  // namespace relayout::test
