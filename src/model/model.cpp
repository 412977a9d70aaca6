// Holds the messages, graphs and functions of a model, and what reports say about the whole.
#include "relayout/model.h"

#include <map>

#include "base/hash.h"
#include "base/sha256.h"
#include "model/model_builder.h"
#include "model/node.h"
#include "model/origin.h"
#include "relayout/data_file.h"
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

}  // namespace relayout
