#pragma once

#include <google/protobuf/arena.h>
#include <onnx/onnx_pb.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash_set.h"
#include "model/origin.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {

struct Model::Impl {
  std::string name;
  std::shared_ptr<google::protobuf::Arena> arena;  ///< owns all messages of the file
  onnx::ModelProto* message = nullptr;
  ModelOrigin origin;
  std::unique_ptr<Graph> graph;
  std::vector<std::unique_ptr<Graph>> functions;
  HashSet names;                                         ///< hashes of taken names; filled at the first unique_name()
  std::unordered_map<std::string, int64_t> next_number;  ///< by base: all lower numbers are taken

  Impl();
};

/// Builds a Model from an open file and its binary form (the same file unless the model is textual): walk, parse, index, check. Errors do
/// not name the file yet.
struct ModelBuilder {
  [[nodiscard]] static std::unique_ptr<Model> build(std::shared_ptr<const File> source, std::shared_ptr<const File> binary,
                                                    std::string name, const LoadOptions& options);
  [[nodiscard]] static const ModelOrigin& origin(const Model& model) noexcept;
  /// Removes a function that no node calls any more. Its message stays, as saving needs it to find the bytes to leave out.
  static void erase_function(Model& model, const Graph& function);
};

}  // namespace relayout
