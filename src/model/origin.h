#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/tensor_data.h"
#include "model/wire.h"

namespace google::protobuf {
class Arena;
class Message;
class UnknownFieldSet;
}  // namespace google::protobuf
namespace onnx {
class ModelProto;
class NodeProto;
class SparseTensorProto;
class TensorProto;
class ValueInfoProto;
}  // namespace onnx

namespace relayout {

class Model;
class Node;
struct Initializer;

/// The elements of a graph's or function's repeated fields as the file has them: element i stands in its i-th item of that field.
struct OriginalElements {
  std::size_t nodes = 0, initializers = 0, sparse_initializers = 0;  ///< their numbers: nodes and initializers know their places
  std::vector<const onnx::ValueInfoProto*> inputs, value_infos;
};

/// The places that a model's parts came from: contents that saving copies and loading left out.
struct ModelOrigin {
  std::shared_ptr<const File> file;    ///< the model file; of a text model its binary form in memory
  std::shared_ptr<const File> source;  ///< what was opened: the same, or the text
  wire::Walk walk;                     ///< its skeleton, initializers and nodes are empty after loading
  std::filesystem::path directory;     ///< external locations are relative to it
  /// The memory of the file's messages; their payloads stay in the file.
  std::shared_ptr<const google::protobuf::Arena> arena;

  std::unordered_map<const google::protobuf::Message*, OriginalElements> elements;  ///< by GraphProto and FunctionProto

  /// The bytes of the messages of the main graph's dense initializers. Few have a message of their own.
  std::shared_ptr<const std::string> initializer_bytes;
  [[nodiscard]] std::string_view bytes_of_initializer(std::size_t number) const;
  /// Its message as the file has it, without an elided payload.
  void read_initializer(std::size_t number, onnx::TensorProto& out) const;
  /// Bytes that the walk kept of a message. What protobuf cannot parse is refused as the file that it is of.
  template <class Message>
  void parse(std::string_view bytes, Message& out) const;

  /// Notes the elements of all graphs and functions, before anything changes them.
  void note_elements(const onnx::ModelProto& model);
  /// The walk's record of a message; nullptr for small leaf messages and those that a pass made.
  template <class Message>
  [[nodiscard]] const wire::Message* record_of(const Message& message) const {
    return record_with(message.unknown_fields());
  }
  /// Its fields, in the order of the file; none where there is no record.
  template <class Message>
  [[nodiscard]] std::span<const wire::Item> items_of(const Message& message) const {
    const wire::Message* const record = record_of(message);
    return record == nullptr ? std::span<const wire::Item>() : walk.items_of(*record);
  }
  /// The payload that the skeleton leaves out of this tensor, or nullptr.
  [[nodiscard]] const wire::Elided* elided_of(const onnx::TensorProto& tensor) const;
  /// The data file at a location named in the model, opened at the first call. Error{invalid} when the location is not a relative
  /// path that stays in the model's folder, Error{io} when the file cannot be opened.
  [[nodiscard]] std::shared_ptr<const File> external_file(const std::string& location) const;
  /// The external files opened so far, by location.
  [[nodiscard]] std::unordered_map<std::string, std::shared_ptr<const File>> external_files() const;

 private:
  [[nodiscard]] const wire::Message* record_with(const google::protobuf::UnknownFieldSet& fields) const;

  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, std::shared_ptr<const File>> external_files_;
};

/// Name, type and dims of an initializer as they are now.
void write_header(const Initializer& initializer, onnx::TensorProto& out);
/// Name, inputs and outputs of a node as they are now.
void write_operands(const Node& node, onnx::NodeProto& out);

/// The origin of everything in a model: the pieces that saving splices.
[[nodiscard]] const ModelOrigin& origin_of(const Model& model) noexcept;

/// Whether the payload lies in a data file.
[[nodiscard]] bool is_external(const onnx::TensorProto& tensor);
/// Where the payload of an external tensor lies, of a size that fits its dims. Errors as external_file, and Error{invalid} for an
/// offset or length that is no number, leads beyond the file, or does not fit.
[[nodiscard]] Bytes external_bytes(const ModelOrigin& origin, const onnx::TensorProto& tensor, int64_t expected_size);

/// Contents of a dense TensorProto of this model: elided, external, raw or typed data; checked against dims.
/// Throws Error{invalid} (wrong size, wrong count, both raw and typed …) or Error{io}. Not for strings.
[[nodiscard]] TensorData tensor_data(const Model& model, const onnx::TensorProto& tensor);
[[nodiscard]] TensorData tensor_data(const ModelOrigin& origin, const onnx::TensorProto& tensor);
/// Any TensorProto in memory form, strings included.
[[nodiscard]] Tensor load_tensor(const Model& model, const onnx::TensorProto& tensor);
/// The same for a tensor that stands in a file of its own. Unknown fields, which could pass for the loader's marks, must be gone.
[[nodiscard]] Tensor load_tensor(const ModelOrigin& origin, const onnx::TensorProto& tensor);

}  // namespace relayout
