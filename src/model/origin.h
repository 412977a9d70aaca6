#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "model/tensor_data.h"
#include "model/wire.h"

namespace google::protobuf {
class MessageLite;
}
namespace onnx {
class TensorProto;
}

namespace relayout {

class Model;

/// Where a model's parts came from: what saving copies and what loading left out.
struct ModelOrigin {
  std::shared_ptr<const File> file;  ///< null for text models
  std::vector<wire::Message> messages;
  std::vector<wire::Elided> elided;
  /// External data files that tensors refer to, by the location string of the model.
  std::unordered_map<std::string, std::shared_ptr<const File>> external_files;
  bool has_external_data = false;
  std::filesystem::path directory;  ///< external locations are relative to it

  /// The recorded items of a message; nullptr when it has none (small leaf messages, text models).
  [[nodiscard]] const wire::Message* items_of(const google::protobuf::MessageLite& message) const;
};

/// Contents of a dense TensorProto of this model: elided, external, raw or typed data; checked against dims.
/// Throws Error{invalid} (wrong size, wrong count, both raw and typed …) or Error{io}. Not for strings.
[[nodiscard]] TensorData tensor_data(const Model& model, const onnx::TensorProto& tensor);
/// Any TensorProto in memory form, strings included.
[[nodiscard]] Tensor load_tensor(const Model& model, const onnx::TensorProto& tensor);

}  // namespace relayout
