#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace relayout::test {

/// x f32[1, 3, 8, 8] → Conv(W f32[4, 3, 3, 3], b f32[4]) → BatchNormalization → Relu → y: nodes that convert folds and moves, in 1 kB.
/// Weights in raw_data, the same at every call.
[[nodiscard]] onnx::ModelProto conv_batch_norm();

/// A float tensor in raw_data with values that follow from `seed`, between 0.5 and 1.5 when `positive`, else between −1 and 1.
[[nodiscard]] onnx::TensorProto float_tensor(std::string_view name, std::initializer_list<int64_t> dims, uint64_t seed,
                                             bool positive = false);

/// Adds a node of the default domain.
onnx::NodeProto& add_node(onnx::GraphProto& graph, std::string_view op_type, std::initializer_list<const char*> inputs,
                          std::initializer_list<const char*> outputs, std::string_view name = "");
void set_ints(onnx::NodeProto& node, std::string_view name, std::initializer_list<int64_t> values);
void set_int(onnx::NodeProto& node, std::string_view name, int64_t value);
void set_tensor_type(onnx::ValueInfoProto& info, std::string_view name, int type, std::initializer_list<int64_t> dims);

/// The initializer of this name, which must exist.
onnx::TensorProto& initializer(onnx::ModelProto& model, std::string_view name);

/// Makes an initializer external without its data: location, offset and length are written as given (an empty offset or length is left
/// out).
void make_external(onnx::TensorProto& tensor, std::string_view location, std::string_view offset = "", std::string_view length = "");

void save_model(const onnx::ModelProto& model, const std::filesystem::path& path);
[[nodiscard]] onnx::ModelProto load_model(const std::filesystem::path& path);

}  // namespace relayout::test
