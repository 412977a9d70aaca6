#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "relayout/data_file.h"
#include "relayout/model.h"
#include "relayout/save_options.h"

namespace relayout {

struct ExtractOptions {
  LoadOptions load;
  SaveOptions save;
  std::vector<std::string> from;  ///< values that become inputs; none: the part begins at the model's inputs
  std::vector<std::string> to;    ///< values that become outputs; none: the model's outputs
  bool keep_unread = false;       ///< values of `from` that no value of `to` depends on become inputs, too
};

/// An input or output of the part.
struct ExtractedPort {
  std::string name;
  std::string type;         ///< "f32 [N, 3]"
  std::string captured_by;  ///< for an input that was not named: the node whose nested graph reads it
};

struct ExtractResult {
  std::filesystem::path input, output;
  std::vector<ExtractedPort> inputs, outputs;
  int64_t nodes = 0, nodes_before = 0;  ///< of the main graph
  int64_t initializers = 0, initializers_before = 0;
  int64_t functions = 0, functions_before = 0;
  int64_t bytes = 0, bytes_before = 0;  ///< of the model file and its data files
  std::vector<DataFile> data;
};

/// Writes the part of a model's main graph between values: the nodes on which the last values depend, with the initializers and functions
/// that these need and no others, copied byte for byte. Every input and output of the part declares type and rank. A value that only a
/// nested graph reads, and that depends on an input which is not named, becomes an input. Error{usage} for names that the main graph does
/// not have or that lead nowhere, and where a node depends on an input that is not named; Error{unsupported} where no type or rank follows;
/// errors of Model::load() and of saving.
ExtractResult extract(const std::filesystem::path& input, const std::filesystem::path& output, const ExtractOptions& options);

}  // namespace relayout
