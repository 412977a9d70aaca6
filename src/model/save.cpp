// Decides which files a save writes and where each payload goes, and writes all of them or none.

#include "model/save.h"

#include <unistd.h>

#include <cstdio>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/positions.h"
#include "base/text.h"
#include "model/origin.h"
#include "model/segments.h"
#include "model/splicer.h"
#include "model/tensor_data.h"
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

// Decides which files a save writes, and where the payload of each tensor goes.
namespace {

namespace fs = std::filesystem;

/// Plans one save.
class Planner {
 public:
  Planner(const Model& model, const fs::path& path, const SaveOptions& options)
      : model_(model), origin_(origin_of(model)), path_(path), options_(options) {
    std::error_code error;
    same_folder_ = fs::equivalent(folder_of(path), origin_.directory, error) && !error;
  }

  SavePlan plan() const {
    refuse_overwriting_inputs();
    PayloadPolicy policy{
        options_.external_data, options_.external_threshold, origin_.walk.has_external, same_folder_ && options_.share_data, {}};
    if (std::optional<SavePlan> copy = plan_copy(policy)) return std::move(*copy);
    SavePlan output = plan(policy);
    if (output.model.size() > kLargestMessage && policy.mode == ExternalData::automatic) {
      policy.mode = ExternalData::always;
      output = plan(policy);
    }
    refuse_large_file(output.model.size());
    return output;
  }

 private:
  [[nodiscard]] bool is_input(const fs::path& path) const {
    if (origin_.source->is_same_as(path)) return true;
    return std::ranges::any_of(origin_.external_files(), [&](const auto& entry) { return entry.second->is_same_as(path); });
  }

  void refuse_overwriting_inputs() const {
    if (origin_.source->is_same_as(path_)) return refuse_own_file(model_, path_, options_);
    if (is_input(path_)) fail(ErrorKind::usage, escape(path_.string()) + ": the output is a data file of the input");
  }

  /// The plan for an unchanged model with data files. In place, only the model is written. To a different folder, all files are copied
  /// under their names, unless different files of these names exist there.
  [[nodiscard]] std::optional<SavePlan> plan_copy(PayloadPolicy policy) const {
    const bool in_place = origin_.source->is_same_as(path_);
    const bool requested = policy.mode == ExternalData::automatic && policy.came_external && !policy.keep_references;
    if (!requested || (same_folder_ && !in_place)) return std::nullopt;
    policy.keep_references = true;
    PayloadPlaces store(policy);
    SavePlan output{splice(model_, store), {}};
    if (!output.model.is_copy(origin_.file, 0, origin_.file->size())) return std::nullopt;
    if (in_place) return output;
    for (const auto& [location, file] : origin_.external_files()) {
      const fs::path target = folder_of(path_) / location;
      if (fs::path(location).has_parent_path() || target == path_ || is_input(target)) return std::nullopt;
      std::error_code error;
      if (fs::symlink_status(target, error).type() != fs::file_type::not_found) {
        if (!has_contents(target, *file)) return std::nullopt;
        continue;
      }
      Segments content;
      content.copy(file, 0, file->size());
      output.data.push_back({target, std::move(content)});
    }
    return output;
  }

  [[nodiscard]] static bool has_contents(const fs::path& path, const File& expected) {
    std::error_code error;
    if (!fs::is_regular_file(path, error) || static_cast<int64_t>(fs::file_size(path, error)) != expected.size() || error) return false;
    const std::shared_ptr<File> file = File::open(path);
    std::vector<std::byte> a(std::size_t{1} << 20), b(a.size());
    for (int64_t at = 0; at < expected.size();) {
      const auto part = as_size(std::min<int64_t>(static_cast<int64_t>(a.size()), expected.size() - at));
      file->read(at, std::span(a).first(part));
      expected.read(at, std::span(b).first(part));
      if (!std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(part), b.begin())) return false;
      at += static_cast<int64_t>(part);
    }
    return true;
  }

  [[nodiscard]] SavePlan plan(PayloadPolicy policy) const {
    const fs::path data_name = new_data_name();
    policy.location = data_name.string();
    PayloadPlaces store(policy);
    if (store.moves_unchanged() && origin_.walk.has_hidden_external && !policy.keep_references) {
      fail(ErrorKind::unsupported, "external data in training_info or a sparse tensor cannot be moved");
    }
    SavePlan output{splice(model_, store), {}};
    if (store.data().size() == 0) return output;
    const fs::path data_path = folder_of(path_) / data_name;
    if (is_input(data_path)) {
      fail(ErrorKind::usage, escape(data_path.string()) + ": the output's data file is a file of the input", "choose another output name");
    }
    output.data.push_back({data_path, store.take_data()});
    return output;
  }

  /// "model.onnx.data". If a model converted in place already has this file, a number is added.
  [[nodiscard]] fs::path new_data_name() const {
    const std::string base = path_.filename().string();
    std::string name = base + ".data";
    for (int number = 1; options_.in_place && is_input(folder_of(path_) / name); ++number) {
      name = base + "." + std::to_string(number) + ".data";
    }
    return name;
  }

  const Model& model_;
  const ModelOrigin& origin_;
  const fs::path& path_;
  const SaveOptions& options_;
  bool same_folder_ = false;
};

}  // namespace

SavePlan plan_save(const Model& model, const std::filesystem::path& path, const SaveOptions& options) {
  return Planner(model, path, options).plan();
}

void refuse_own_file(const Model& model, const std::filesystem::path& path, const SaveOptions& options) {
  if (options.in_place || !origin_of(model).source->is_same_as(path)) return;
  fail(ErrorKind::usage, escape(path.string()) + ": the output is the input",
       "to replace the input, say --in-place; to keep it, name another file with --output");
}

// Places of payloads.
namespace {

/// Alignment in the data file: ONNX recommends offsets of external data that can be mapped.
constexpr int64_t kPageBytes = 4096;

}  // namespace

bool PayloadPlaces::moves_unchanged() const noexcept {
  switch (policy_.mode) {
    case ExternalData::always:
      return true;
    case ExternalData::never:
      return policy_.came_external;
    case ExternalData::automatic:
      return policy_.came_external && !policy_.keep_references;
  }
  return true;
}

PayloadPlaces::Place PayloadPlaces::place(const Tensor& tensor) const {
  const bool unchanged = !tensor.changed && !tensor.is_new;
  if (policy_.mode == ExternalData::never) return unchanged && !tensor.external ? Place::as_is : Place::inside;
  if (unchanged && tensor.external && policy_.keep_references) return Place::as_is;
  const bool large = tensor.bytes >= policy_.threshold;
  const bool wanted = policy_.mode == ExternalData::always || (tensor.is_new && policy_.came_external);
  const bool outside = (wanted && large && !tensor.in_attribute) || (policy_.mode == ExternalData::automatic && tensor.external) ||
                       (tensor.external && tensor.in_attribute);
  if (outside && tensor.bytes > 0) return Place::outside;
  return unchanged && !tensor.external ? Place::as_is : Place::inside;
}

PayloadPlaces::Reference PayloadPlaces::add(const TensorData& data) {
  static const Bytes kZeros = Bytes::owned(std::string(kPageBytes, '\0'));
  const Bytes& source = data.source();
  const bool stored = data.is_plain() && source.file() != nullptr;
  const auto key = std::make_tuple(source.file().get(), source.file_offset(), source.size());
  if (stored) {
    const auto found = known_.find(key);
    if (found != known_.end()) return {policy_.location, found->second, source.size()};
  }
  if (const int64_t over = data_.size() % kPageBytes; over != 0) data_.bytes(kZeros.part(0, kPageBytes - over));
  const int64_t offset = data_.size();
  if (stored) known_.emplace(key, offset);
  data_.tensor(data);
  return {policy_.location, offset, data.byte_size()};
}

}  // namespace relayout
