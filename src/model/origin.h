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
struct LoadOptions;

/// The elements of a graph's or function's repeated fields in the file: element i is the i-th item of its field.
struct OriginalElements {
  std::size_t nodes = 0, initializers = 0, sparse_initializers = 0;  ///< counts only: nodes and initializers know their indices
  std::vector<const onnx::ValueInfoProto*> inputs, outputs, value_infos;
};

/// The sources of a model's parts: contents that loading leaves out and saving copies.
struct ModelOrigin {
  std::shared_ptr<const File> file;    ///< the model file; of a text model its binary form in memory
  std::shared_ptr<const File> source;  ///< the opened file: `file`, or the text
  wire::Walk walk;                     ///< skeleton, initializers and nodes are empty after loading
  std::filesystem::path directory;     ///< external locations are relative to it
  /// Owns the messages of the file; their payloads stay in the file.
  std::shared_ptr<const google::protobuf::Arena> arena;

  std::unordered_map<const google::protobuf::Message*, OriginalElements> elements;  ///< by GraphProto and FunctionProto

  /// Encoded messages of the main graph's dense initializers, few of which are kept in parsed form.
  std::shared_ptr<const std::string> initializer_bytes;
  [[nodiscard]] std::string_view bytes_of_initializer(std::size_t number) const;
  /// Parses the message of an initializer as in the file, without an elided payload.
  void read_initializer(std::size_t number, onnx::TensorProto& out) const;
  /// Parses bytes of a message that the walk kept. If protobuf cannot parse them, the whole file is refused.
  template <class Message>
  void parse(std::string_view bytes, Message& out) const;

  /// Records the elements of all graphs and functions, before any change.
  void note_elements(const onnx::ModelProto& model);
  /// The walk's record of a message; nullptr for small leaf messages and messages added by passes.
  template <class Message>
  [[nodiscard]] const wire::Message* record_of(const Message& message) const {
    return record_with(message.unknown_fields());
  }
  /// The fields of a message in the order of the file; none without a record.
  template <class Message>
  [[nodiscard]] std::span<const wire::Item> items_of(const Message& message) const {
    const wire::Message* const record = record_of(message);
    return record == nullptr ? std::span<const wire::Item>() : walk.items_of(*record);
  }
  /// The payload of this tensor that the skeleton leaves out, or nullptr.
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

/// Writes the current name, type and dims of an initializer.
void write_header(const Initializer& initializer, onnx::TensorProto& out);
/// Writes the current name, inputs and outputs of a node.
void write_operands(const Node& node, onnx::NodeProto& out);

/// The origin of a model's parts, which saving splices.
[[nodiscard]] const ModelOrigin& origin_of(const Model& model) noexcept;
/// The model of the same open file once more, without changes made since. Unlike a second load, it also works for standard input.
[[nodiscard]] std::unique_ptr<Model> read_again(const Model& model, const LoadOptions& options);

/// Whether the payload is stored in a data file.
[[nodiscard]] bool is_external(const onnx::TensorProto& tensor);
/// The payload of an external tensor; its size must fit the dims. Errors of external_file(), and Error{invalid} for an offset or length
/// that is not a number, is beyond the end of the file, or does not fit.
[[nodiscard]] Bytes external_bytes(const ModelOrigin& origin, const onnx::TensorProto& tensor, int64_t expected_size);

/// Contents of a dense TensorProto of this model: elided, external, raw or typed data; checked against dims.
/// Throws Error{invalid} (wrong size, wrong count, both raw and typed …) or Error{io}. Not for strings.
[[nodiscard]] TensorData tensor_data(const Model& model, const onnx::TensorProto& tensor);
[[nodiscard]] TensorData tensor_data(const ModelOrigin& origin, const onnx::TensorProto& tensor);
/// Any TensorProto as a Tensor in memory, strings included.
[[nodiscard]] Tensor load_tensor(const Model& model, const onnx::TensorProto& tensor);
/// As above, for a tensor in a separate file. Its unknown fields must have been removed, as they could pass for the loader's markers.
[[nodiscard]] Tensor load_tensor(const ModelOrigin& origin, const onnx::TensorProto& tensor);

}  // namespace relayout
