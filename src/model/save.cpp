// Saves a model: writes all files of its plan or none.
#include "model/save.h"

#include <unistd.h>

#include <cstdio>

#include "base/atomic_file.h"
#include "base/file.h"
#include "model/origin.h"
#include "model/save_plan.h"
#include "model/segments.h"
#include "model/splicer.h"
#include "model/text_format.h"
#include "model/wire.h"
#include "relayout/data_file.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/save_options.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;

void check_sources(const ModelOrigin& origin) {
  origin.source->check_unchanged();
  for (const auto& [location, file] : origin.external_files()) file->check_unchanged();
}

class FileSet {
 public:
  explicit FileSet(const SaveOptions& options) : options_(options) {}

  /// Reserves space before anything is written, so that a full disk is detected early.
  void open(const fs::path& path, int64_t size) {
    files_.push_back(std::make_unique<AtomicFile>(path));
    files_.back()->reserve(size);
    total_ += size;
  }
  void write(std::size_t index, const Segments& content) {
    const AtomicFile& file = *files_[index];
    StreamOptions stream{options_.threads, file.replaces() || options_.sync, {}};
    if (options_.progress) {
      stream.progress = [this](int64_t written) { options_.progress(done_ += written, total_); };
    }
    write_file(content, file.descriptor(), file.name(), stream);
  }
  void commit() {
    for (const auto& file : files_) file->commit(options_.sync);
  }

 private:
  const SaveOptions& options_;
  std::vector<std::unique_ptr<AtomicFile>> files_;
  int64_t done_ = 0, total_ = 0;
};

/// Writes data files first and the model last, so that all files that it refers to exist when it appears.
SaveResult write_output(const ModelOrigin& origin, const SavePlan& output, const fs::path& path, const SaveOptions& options) {
  FileSet files(options);
  for (const SavePlan::Data& data : output.data) files.open(data.path, data.content.size());
  files.open(path, output.model.size());
  for (std::size_t i = 0; i < output.data.size(); ++i) files.write(i, output.data[i].content);
  files.write(output.data.size(), output.model);
  check_sources(origin);
  files.commit();
  return {output.model.size()};
}

/// The data files that the saved model names, as a later load finds them.
void add_data_files(const ModelOrigin& origin, const fs::path& path, const SaveOptions& options, SaveResult& result) {
  const fs::path folder = folder_of(path);
  const auto saved = Model::load(path, {.format = FileFormat::binary, .allow_newer_opset = true});
  result.bytes = saved->file_size();
  for (const auto& [location, file] : origin_of(*saved).external_files()) {
    const bool of_input =
        std::ranges::any_of(origin.external_files(), [&](const auto& entry) { return entry.second->is_same_as(folder / location); });
    result.data.push_back({path.parent_path() / location, file->size(), of_input});
  }
  std::ranges::sort(result.data, {}, &DataFile::path);
  if (!options.in_place) return;
  for (const auto& [location, file] : origin.external_files()) {
    const bool is_used = std::ranges::any_of(result.data, [&](const DataFile& data) { return file->is_same_as(data.path); });
    if (!is_used) result.left_behind.push_back({path.parent_path() / location, file->size(), true});
  }
  std::ranges::sort(result.left_behind, {}, &DataFile::path);
}

Segments inlined(const Model& model) {
  PayloadPlaces store({.mode = ExternalData::never, .came_external = origin_of(model).walk.has_external, .location = {}});
  return splice(model, store);
}

/// The model as text; ONNX's syntax needs to know which names are new.
std::string text_of(const Model& model, const Segments& content, FileFormat format) {
  const std::string original = format == FileFormat::onnx_text ? text_format::read_whole(*origin_of(model).file) : "";
  return named(model.name(), [&] { return text_format::from_binary(concatenate(content), format, original); });
}

SaveResult save_to_standard_output(const Model& model, FileFormat format, const SaveOptions& options) {
  if (options.external_data == ExternalData::always) {
    fail(ErrorKind::usage, "external data has no place beside standard output");
  }
  Segments content = inlined(model);
  refuse_large_stream(content.size());
  if (format != FileFormat::binary) {
    const std::string text = text_of(model, content, format);
    content = {};
    content.literal(text);
  }
  write_pipe(content, STDOUT_FILENO, kStandardOutput);
  check_sources(origin_of(model));
  return {content.size()};
}

SaveResult save_text(const Model& model, const fs::path& path, FileFormat format, const SaveOptions& options) {
  const ModelOrigin& origin = origin_of(model);
  refuse_own_file(model, path, options);
  SavePlan output;
  output.model.literal(text_of(model, inlined(model), format));
  return write_output(origin, output, path, options);
}

}  // namespace

SaveResult save(const Model& model, const fs::path& path, const SaveOptions& options) {
  const FileFormat format = options.format == FileFormat::automatic ? text_format::format_of(path) : options.format;
  if (is_stream(path)) return save_to_standard_output(model, format, options);
  if (format != FileFormat::binary) return save_text(model, path, format, options);
  const SavePlan output = plan_save(model, path, options);
  SaveResult result = write_output(origin_of(model), output, path, options);
  if (!output.data.empty() || origin_of(model).walk.has_external) add_data_files(origin_of(model), path, options, result);
  return result;
}

std::string to_bytes(const Model& model) {
  return concatenate(inlined(model));
}

}  // namespace relayout
