#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace onnx {
class NodeProto;
}  // namespace onnx

namespace relayout {

/// The message of a new node in the default domain, without attributes.
[[nodiscard]] onnx::NodeProto node_message(std::string_view op_type, std::initializer_list<std::string_view> inputs,
                                           std::initializer_list<std::string_view> outputs, std::string_view name = "");
/// Sets an integer attribute, which is added if it is absent.
void set_integer(onnx::NodeProto& message, std::string_view name, int64_t value);
/// Sets an attribute that is a list of integers, which is added if it is absent.
void set_integers(onnx::NodeProto& message, std::string_view name, std::span<const int64_t> values);

}  // namespace relayout
