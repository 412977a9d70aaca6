#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <memory>
#include <string>

#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::test {

/// A model written in ONNX's textual syntax, and what that syntax cannot say.
///
/// Tensors listed in `<…>` without data become initializers filled from a seed: normal values, between 0.5 and 2 where the name begins
/// with "var". Initializers lie in raw_data, as real files have them, unless typed_data() is asked for.
class TextModel {
 public:
  /// `body` is the graph (and functions); `head` what stands before it. Fails the test (throws) on a syntax error.
  TextModel(const std::string& body,
            const std::string& head = R"(<ir_version: 8, opset_import: ["" : 17]>)");  // NOLINT(google-explicit-constructor)
  TextModel(const char* body) : TextModel(std::string(body)) {}  // NOLINT(google-explicit-constructor): a text is a model

  /// A model that is there already, as it is.
  [[nodiscard]] static TextModel of(const std::string& bytes);

  /// Renames a value, initializer, input or output wherever it stands, nested graphs included: dots, slashes, anything.
  TextModel& rename(const std::string& from, const std::string& to);
  /// Names each node without a name OpType_N.
  TextModel& name_nodes();
  /// All floating-point initializers, inputs, outputs, value_infos and Constants become this type.
  TextModel& cast(DataType type);
  /// Only this initializer.
  TextModel& cast_initializer(const std::string& name, DataType type);
  /// Keeps initializers in the typed fields.
  TextModel& typed_data();
  /// New values for an initializer of the main graph.
  TextModel& set(const std::string& name, const std::vector<double>& values);
  /// Anything else.
  TextModel& edit(const std::function<void(onnx::ModelProto&)>& change);

  [[nodiscard]] const onnx::ModelProto& message() const { return message_; }
  [[nodiscard]] std::string bytes() const { return bytes_.empty() ? message_.SerializeAsString() : bytes_; }
  [[nodiscard]] std::unique_ptr<Model> load() const;

 private:
  TextModel() = default;
  onnx::ModelProto message_;
  std::string bytes_;  ///< of a model that came as bytes
};

/// Elements of a tensor message widened to double.
[[nodiscard]] std::vector<double> values_of(const onnx::TensorProto& tensor);

/// The structure of a model as text: nodes in order with attributes, constants as their type and dims where they are read, inner values
/// numbered by first appearance. Two models are the same up to inner names when these are equal.
[[nodiscard]] std::string structure_of(const Model& model);

}  // namespace relayout::test
