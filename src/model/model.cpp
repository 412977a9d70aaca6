// Holds the messages, graphs and functions of a model, and loads it from a file, a stream, a text or bytes.

#include "relayout/model.h"

#include <google/protobuf/io/coded_stream.h>

#include <map>
#include <new>

#include "base/file.h"
#include "base/hash.h"
#include "base/sha256.h"
#include "base/text.h"
#include "model/check.h"
#include "model/diagnose.h"
#include "model/model_builder.h"
#include "model/node.h"
#include "model/origin.h"
#include "model/text_format.h"
#include "model/wire.h"
#include "relayout/data_file.h"
#include "relayout/error.h"
#include "relayout/graph.h"

namespace relayout {

namespace {

/// Hashes of names. A collision makes a free name count as taken, which only costs a number at the end of a new name.
using Names = HashSet;

std::size_t hash(std::string_view name) {
  return std::hash<std::string_view>()(name);
}

void collect(const onnx::NodeProto& node, Names& names);

/// Collects only definitions, as every name that a node reads is defined elsewhere in the model.
void collect(const onnx::GraphProto& graph, Names& names) {
  for (const auto& node : graph.node()) collect(node, names);
  for (const auto& tensor : graph.initializer()) names.insert(hash(tensor.name()));
  for (const auto& tensor : graph.sparse_initializer()) names.insert(hash(tensor.values().name()));
  for (const auto* infos : {&graph.input(), &graph.output(), &graph.value_info()}) {
    for (const auto& info : *infos) names.insert(hash(info.name()));
  }
}

void collect(const onnx::NodeProto& node, Names& names) {
  names.insert(hash(node.name()));
  for (const auto& output : node.output()) names.insert(hash(output));
  for (const auto& attribute : node.attribute()) {
    for_each_graph_in(attribute, [&](const onnx::GraphProto& graph) { collect(graph, names); });
  }
}

void collect(const onnx::ModelProto& model, const Graph& main, Names& names) {
  names.reserve(2 * (main.nodes().size() + main.initializers().size()));
  main.visit_names([&](std::string_view name) { names.insert(hash(name)); });
  collect(model.graph(), names);
  for (const auto& function : model.functions()) {
    for (const auto* formals : {&function.input(), &function.output()}) {
      for (const auto& formal : *formals) names.insert(hash(formal));
    }
    for (const auto& node : function.node()) collect(node, names);
  }
  for (const auto& training : model.training_info()) {
    collect(training.initialization(), names);
    collect(training.algorithm(), names);
  }
}

}  // namespace

Model::Impl::Impl() {
  google::protobuf::ArenaOptions options;
  options.start_block_size = std::size_t{64} << 10;
  options.max_block_size = std::size_t{1} << 20;
  arena = std::make_shared<google::protobuf::Arena>(options);
  origin.arena = arena;
}

Model::Model() : impl_(std::make_unique<Impl>()) {}
Model::~Model() = default;

const std::string& Model::name() const noexcept {
  return impl_->name;
}
Graph& Model::graph() noexcept {
  return *impl_->graph;
}
const Graph& Model::graph() const noexcept {
  return *impl_->graph;
}
const std::vector<std::unique_ptr<Graph>>& Model::functions() const noexcept {
  return impl_->functions;
}

void ModelBuilder::erase_function(Model& model, const Graph& function) {
  std::erase_if(model.impl_->functions, [&](const std::unique_ptr<Graph>& graph) { return graph.get() == &function; });
}

int64_t Model::ir_version() const noexcept {
  return impl_->message->ir_version();
}
onnx::ModelProto& Model::message() noexcept {
  return *impl_->message;
}
const onnx::ModelProto& Model::message() const noexcept {
  return *impl_->message;
}
const ModelOrigin& ModelBuilder::origin(const Model& model) noexcept {
  return model.impl_->origin;
}
const ModelOrigin& origin_of(const Model& model) noexcept {
  return ModelBuilder::origin(model);
}

int64_t Model::opset(std::string_view domain) const noexcept {
  for (const auto& import : impl_->message->opset_import()) {
    if (canonical_domain(import.domain()) == canonical_domain(domain)) return import.version();
  }
  // Models before IR 3 have no imports; their default domain has version 1.
  const bool before_imports = impl_->message->opset_import().empty() && ir_version() < 3;
  return before_imports && canonical_domain(domain).empty() ? 1 : 0;
}

int64_t Model::file_size() const noexcept {
  int64_t size = impl_->origin.source->size();
  for (const auto& [location, file] : impl_->origin.external_files()) size += file->size();
  return size;
}

std::string Model::unique_name(std::string_view base) {
  if (impl_->names.empty()) collect(*impl_->message, *impl_->graph, impl_->names);
  std::string name(base);
  if (impl_->names.insert(hash(name))) return name;
  int64_t& number = impl_->next_number.try_emplace(name, 2).first->second;
  do {
    name = std::string(base) + "_" + std::to_string(number++);
  } while (!impl_->names.insert(hash(name)));
  return name;
}

// The digest of a model and all its data files.

std::string model_digest(const std::filesystem::path& model) {
  const auto loaded = Model::load(model, {.allow_newer_opset = true});
  const ModelOrigin& origin = origin_of(*loaded);
  const auto files = origin.external_files();
  ContentKey key;
  key.add(sha256_of(*origin.source));
  for (const auto& [location, file] : std::map(files.begin(), files.end())) {
    key.add(location);
    key.add(sha256_of(*file));
  }
  return key.finish();
}

// Loads a model from a file, a stream, a text or bytes, stage by stage.
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

std::unique_ptr<Model> read_again(const Model& model, const LoadOptions& options) {
  const ModelOrigin& origin = origin_of(model);
  return loaded(model.name(), [&] { return ModelBuilder::build(origin.source, origin.file, model.name(), options); });
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
