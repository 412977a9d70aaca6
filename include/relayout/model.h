#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/types.h"

namespace onnx {
class ModelProto;
}

namespace relayout {

class Graph;

enum class FileFormat {
  automatic,   ///< by extension, then by the start of the file
  binary,      ///< .onnx and all other extensions
  onnx_text,   ///< .onnxtxt, .onnxtext: ONNX's own textual syntax
  proto_text,  ///< .textproto, .pbtxt, .prototxt
  json,        ///< .json, protobuf's mapping
};

struct LoadOptions {
  FileFormat format = FileFormat::automatic;
  bool allow_newer_opset = false;  ///< accept a default-domain opset newer than the reviewed ones, else Error{unsupported}
};

/// One ONNX model: the messages without their large payloads, the index over its graphs, and the places of the payloads. Owns all of these.
class Model {
 public:
  /// Loads and checks a model. "-" is standard input. Errors (they name the file): io, invalid, unsupported.
  [[nodiscard]] static std::unique_ptr<Model> load(const std::filesystem::path& path, const LoadOptions& options = {});
  /// Parses a model in ONNX's textual syntax, for tests and small tools.
  [[nodiscard]] static std::unique_ptr<Model> from_text(std::string_view text, const LoadOptions& options = {});
  /// Parses a binary model in memory; errors refer to it by `name`.
  [[nodiscard]] static std::unique_ptr<Model> from_bytes(std::string bytes, std::string name = "model", const LoadOptions& options = {});
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// The name given by the user, such as the path.
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] Graph& graph() noexcept;
  [[nodiscard]] const Graph& graph() const noexcept;
  /// Model-local functions, in file order; each is a Graph without initializers.
  [[nodiscard]] const std::vector<std::unique_ptr<Graph>>& functions() const noexcept;
  /// Declared ir_version.
  [[nodiscard]] int64_t ir_version() const noexcept;
  /// Imported version of a domain, 0 when it is not imported. "" and "ai.onnx" are the same domain.
  [[nodiscard]] int64_t opset(std::string_view domain) const noexcept;
  /// Bytes of the model file and its external data.
  [[nodiscard]] int64_t file_size() const noexcept;
  /// The messages. Their repeated node, initializer, value_info, input and output fields are complete and up to date only after
  /// Graph::sync().
  [[nodiscard]] onnx::ModelProto& message() noexcept;
  [[nodiscard]] const onnx::ModelProto& message() const noexcept;
  /// As Graph::remove_annotations(), of the model itself, without its graphs.
  int64_t remove_annotations(bool descriptions, const std::function<bool(const std::string& key)>& removes);
  /// A name that no value, initializer or node of the model has (subgraphs and functions included): `base`, or base + "_2", "_3" … The name
  /// is reserved from then on.
  [[nodiscard]] std::string unique_name(std::string_view base);

 private:
  Model();
  struct Impl;
  std::unique_ptr<Impl> impl_;
  friend struct ModelBuilder;
};

/// The model with all payloads in ONNX's textual syntax. Node names and everything else that the syntax cannot express are lost.
[[nodiscard]] std::string to_text(const Model& model);

}  // namespace relayout
