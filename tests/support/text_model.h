#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <memory>
#include <string>

#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::test {

/// A model written in ONNX's textual syntax, with changes that the syntax cannot express.
///
/// Tensors listed in `<…>` without data become initializers filled from a seed: normal values, between 0.5 and 2 where the name begins with
/// "var". Initializers are stored in raw_data, as in real files, unless typed_data() is called.
class TextModel {
 public:
  /// `body` is the graph (and functions); `head` is the text before it. Fails the test (throws) on a syntax error.
  TextModel(const std::string& body,
            const std::string& head = R"(<ir_version: 8, opset_import: ["" : 17]>)");  // NOLINT(google-explicit-constructor)
  TextModel(const char* body) : TextModel(std::string(body)) {}  // NOLINT(google-explicit-constructor): a text is a model

  /// An existing model, unchanged.
  [[nodiscard]] static TextModel of(const std::string& bytes);

  /// Renames a value, initializer, input or output everywhere, nested graphs included, to any name: dots, slashes.
  TextModel& rename(const std::string& from, const std::string& to);
  /// Names each node without a name OpType_N.
  TextModel& name_nodes();
  /// Casts all floating-point initializers, inputs, outputs, value_infos and Constants to this type.
  TextModel& cast(DataType type);
  /// Casts only this initializer.
  TextModel& cast_initializer(const std::string& name, DataType type);
  /// Moves the data of initializers and Constants to the typed fields.
  TextModel& typed_data();
  /// Sets the values of an initializer of the main graph.
  TextModel& set(const std::string& name, const std::vector<double>& values);
  /// Any other change.
  TextModel& edit(const std::function<void(onnx::ModelProto&)>& change);

  [[nodiscard]] const onnx::ModelProto& message() const { return message_; }
  [[nodiscard]] std::string bytes() const { return bytes_.empty() ? message_.SerializeAsString() : bytes_; }
  [[nodiscard]] std::unique_ptr<Model> load() const;

 private:
  TextModel() = default;
  onnx::ModelProto message_;
  std::string bytes_;  ///< of a model created from bytes
};

/// Elements of a tensor message widened to double.
[[nodiscard]] std::vector<double> values_of(const onnx::TensorProto& tensor);

/// The structure of a model as text: nodes in order with attributes, constants by type and dims at their consumers, inner values numbered
/// by first appearance. Models with equal structures are the same up to inner names.
[[nodiscard]] std::string structure_of(const Model& model);

}  // namespace relayout::test
