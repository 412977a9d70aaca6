#pragma once

#include <filesystem>
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
  automatic,   ///< by extension, then by how the file begins
  binary,      ///< .onnx and everything else
  onnx_text,   ///< .onnxtxt, .onnxtext: ONNX's own textual syntax
  proto_text,  ///< .textproto, .pbtxt, .prototxt
  json,        ///< .json, protobuf's mapping
};

struct LoadOptions {
  FileFormat format = FileFormat::automatic;
  bool allow_newer_opset = false;  ///< opset of the default domain newer than reviewed: otherwise Error{unsupported}
};

/// One ONNX model: the messages without their large payloads, the index over its graphs, and where the payloads are.
class Model {
 public:
  /// Loads and checks (see check.h). "-" is standard input. Errors: io, invalid, unsupported; they name the file.
  [[nodiscard]] static std::unique_ptr<Model> load(const std::filesystem::path& path, const LoadOptions& options = {});
  /// A model in ONNX's textual syntax, for tests and small tools.
  [[nodiscard]] static std::unique_ptr<Model> from_text(std::string_view text, const LoadOptions& options = {});
  /// A binary model in memory.
  [[nodiscard]] static std::unique_ptr<Model> from_bytes(std::string bytes, std::string name = "model", const LoadOptions& options = {});
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// The name the user gave.
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] Graph& graph() noexcept;
  [[nodiscard]] const Graph& graph() const noexcept;
  /// Model-local functions, in file order; each is a Graph without initializers.
  [[nodiscard]] const std::vector<std::unique_ptr<Graph>>& functions() const noexcept;
  /// Declared ir_version.
  [[nodiscard]] int64_t ir_version() const noexcept;
  /// Imported version of a domain ("" and "ai.onnx" are one), 0 when it is not imported.
  [[nodiscard]] int64_t opset(std::string_view domain) const noexcept;
  /// Bytes of the model file and its external data.
  [[nodiscard]] int64_t file_size() const noexcept;
  /// The messages. Repeated node, initializer, value_info, input and output fields are in step with the graphs, and complete, only after
  /// Graph::sync().
  [[nodiscard]] onnx::ModelProto& message() noexcept;
  [[nodiscard]] const onnx::ModelProto& message() const noexcept;
  /// A name that no value, initializer or node of the model has (subgraphs and functions included): `base`, or base + "_2", "_3" …
  /// The name counts as taken from now on.
  [[nodiscard]] std::string unique_name(std::string_view base);

 private:
  Model();
  struct Impl;
  std::unique_ptr<Impl> impl_;
  friend struct ModelBuilder;
};

/// The model with all payloads in the messages, in ONNX's textual syntax (node names and all that the syntax cannot say are lost).
[[nodiscard]] std::string to_text(const Model& model);

}  // namespace relayout
