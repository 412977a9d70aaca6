// Loads a model from a file, a stream, a text or bytes, stage by stage.

#include <google/protobuf/io/coded_stream.h>

#include <new>

#include "base/file.h"
#include "base/text.h"
#include "model/check.h"
#include "model/diagnose.h"
#include "model/model_builder.h"
#include "model/origin.h"
#include "model/text_format.h"
#include "model/wire.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

/// Returns the model of `build`. Errors name the file, a lack of memory too.
template <class Build>
std::unique_ptr<Model> loaded(const std::string& name, const Build& build) {
  return named(name, [&] {
    try {
      return build();
    } catch (const std::bad_alloc&) {
      fail(ErrorKind::io, "not enough memory");
    }
  });
}

std::shared_ptr<const File> binary_form(const std::shared_ptr<const File>& file, FileFormat format) {
  if (format == FileFormat::binary) return file;
  return File::from_bytes(text_format::to_binary(text_format::read_whole(*file), format), file->name());
}

/// Parses on the model's arena. Protobuf's default limit of 100 messages allows 33 levels of subgraphs; our limit counts such levels.
onnx::ModelProto* parse(const std::string& skeleton, google::protobuf::Arena& arena) {
  auto* const message = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&arena);
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(skeleton.data()), static_cast<int>(skeleton.size()));
  stream.SetRecursionLimit(kRecursionLimit);
  const bool parsed = message->ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
  return parsed ? message : nullptr;
}

/// Walks and parses. Errors name the place, or the format of a file that is not an ONNX model.
onnx::ModelProto* read_messages(ModelOrigin& origin, google::protobuf::Arena& arena) {
  try {
    origin.walk = wire::walk(*origin.file);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::invalid) throw;
    refuse_foreign(*origin.file);
    fail(ErrorKind::invalid, (begins_like_a_model(*origin.file) ? "" : "not an ONNX model: ") + std::string(error.what()));
  }
  onnx::ModelProto* const message = parse(origin.walk.skeleton, arena);
  if (message == nullptr || !message->has_graph()) refuse_foreign(*origin.file);
  if (message == nullptr) refuse_malformed(origin);
  if (!message->has_graph()) fail(ErrorKind::invalid, "not an ONNX model: it has no graph");
  std::string().swap(origin.walk.skeleton);  // an assignment would keep the memory
  origin.initializer_bytes = std::make_shared<const std::string>(std::move(origin.walk.initializers));
  origin.note_elements(*message);
  return message;
}

/// A hint for a folder that was given instead of a model file.
std::string hint_at_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (std::filesystem::exists(folder / "saved_model.pb", ignored))
    return "it holds a TensorFlow SavedModel: export that to ONNX first: tf2onnx";
  std::vector<std::string> models;
  for (std::filesystem::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    if (entry->path().extension() == ".onnx") models.push_back(entry->path().string());
  }
  const std::string all = "convert and verify take all models below a folder with --suite";
  return models.size() == 1 ? "it holds " + escape(models.front()) + ": name that; " + all : "name a model; " + all;
}

std::shared_ptr<const File> open_model(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail(ErrorKind::io, "is a directory", hint_at_folder(path));
  if (std::filesystem::is_fifo(path, ignored)) {
    fail(ErrorKind::io, "is a pipe, and models are read from files or from standard input",
         "lead it into the command, with - for the model");
  }
  return File::open(path);
}

std::filesystem::path directory_of(const File& file) {
  const std::filesystem::path parent = file.path().parent_path();
  return parent.empty() ? "." : parent;
}

}  // namespace

std::unique_ptr<Model> ModelBuilder::build(std::shared_ptr<const File> source, std::shared_ptr<const File> binary, std::string name,
                                           const LoadOptions& options) {
  std::unique_ptr<Model> model(new Model);
  Model::Impl& impl = *model->impl_;
  impl.name = std::move(name);
  impl.origin.directory = directory_of(*source);
  impl.origin.source = std::move(source);
  impl.origin.file = std::move(binary);
  impl.message = read_messages(impl.origin, *impl.arena);
  impl.graph = std::make_unique<Graph>(*model, *impl.message->mutable_graph(), nullptr, nullptr);
  std::string().swap(impl.origin.walk.nodes);
  std::vector<wire::MainNode>().swap(impl.origin.walk.main_nodes);
  for (onnx::FunctionProto& function : *impl.message->mutable_functions()) {
    impl.functions.push_back(std::make_unique<Graph>(*model, function));
  }
  give_own_names(*model);
  check(*model, options);
  return model;
}

std::unique_ptr<Model> Model::load(const std::filesystem::path& path, const LoadOptions& options) {
  const std::string name = is_stream(path) ? kStandardInput : path.string();
  return loaded(name, [&] {
    std::shared_ptr<const File> file = is_stream(path) ? File::from_standard_input() : open_model(path);
    FileFormat format = options.format == FileFormat::automatic ? text_format::format_of(path) : options.format;
    if (options.format == FileFormat::automatic && format == FileFormat::binary) format = text_format::format_of(*file);
    return ModelBuilder::build(file, binary_form(file, format), name, options);
  });
}

std::unique_ptr<Model> Model::from_text(std::string_view text, const LoadOptions& options) {
  return loaded("model", [&] {
    const auto file = File::from_bytes(text_format::to_binary(text, FileFormat::onnx_text), "model");
    return ModelBuilder::build(file, file, "model", options);
  });
}

std::unique_ptr<Model> Model::from_bytes(std::string bytes, std::string name, const LoadOptions& options) {
  return loaded(name, [&] {
    const auto file = File::from_bytes(std::move(bytes), name);
    return ModelBuilder::build(file, file, name, options);
  });
}

}  // namespace relayout
