// Moves a model to another opset, by ONNX's own converter, or to another version of the format.

#include <limits>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/text.h"
#include "convert/convert.h"
#include "model/save.h"
#include "model/walk.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/save_options.h"
#include "relayout/types.h"

// The library's header for this function includes all of its adapters.
namespace onnx::version_conversion {
ModelProto ConvertVersion(const ModelProto& model, int target);
}  // namespace onnx::version_conversion

namespace relayout {
namespace {

[[noreturn]] void refuse(const Model& model, const std::string& what) {
  fail(ErrorKind::unsupported, escape(model.name()) + ": " + what);
}

/// The model with its payloads, as one message.
onnx::ModelProto whole_message(Model& model) {
  const PrivateFolder folder;
  const std::filesystem::path path = folder.path() / "model.onnx";
  SaveOptions saving;
  saving.external_data = ExternalData::never;
  save(model, path, saving);
  onnx::ModelProto out;
  const auto file = File::open(path);
  if (!out.ParseFromString(file->text(0, file->size()))) refuse(model, "--opset: the model is too large for ONNX's converter");
  return out;
}

/// What the converter would drop without a word.
void check_convertible(const Model& model, const std::string& option) {
  if (!model.functions().empty()) refuse(model, option + ": ONNX's converter loses model-local functions");
  if (model.message().training_info_size() > 0) refuse(model, option + ": ONNX's converter loses training_info");
  for_each_graph(model.graph(), [&](const Graph& graph) {
    if (graph.message()->sparse_initializer_size() > 0) refuse(model, option + ": ONNX's converter loses sparse initializers");
    if (graph.message()->quantization_annotation_size() > 0) refuse(model, option + ": ONNX's converter loses quantization annotations");
  });
}

}  // namespace

std::unique_ptr<Model> at_opset(std::unique_ptr<Model> model, int64_t opset, const LoadOptions& load) {
  if (model->opset("") == opset) return model;
  const std::string option = "--opset " + std::to_string(opset);
  check_convertible(*model, option);
  if (model->file_size() > std::numeric_limits<int32_t>::max()) refuse(*model, option + ": ONNX's converter takes models below 2 GiB");
  const onnx::ModelProto before = whole_message(*model);
  onnx::ModelProto after;
  try {
    after = onnx::version_conversion::ConvertVersion(before, static_cast<int>(opset));
  } catch (const std::exception& error) {
    // "FILE:LINE: FUNCTION: Assertion `CONDITION` failed: No Adapter From Version 14 for HardSwish"
    constexpr std::string_view kFailed = "failed: ";
    std::string_view text = error.what();
    if (const std::size_t at = text.find(kFailed); at != std::string_view::npos) text.remove_prefix(at + kFailed.size());
    refuse(*model, option + ": ONNX's converter: " + escape(std::string(text.substr(0, text.find('\n')))));
  }
  *after.mutable_metadata_props() = before.metadata_props();
  return Model::from_bytes(after.SerializeAsString(), model->name(), {FileFormat::binary, load.allow_newer_opset});
}

void set_ir_version(Model& model, int64_t version) {
  const int64_t before = model.ir_version();
  if (version == before) return;
  const std::string option = "--ir-version " + std::to_string(version);
  const auto need = [&](int64_t least, const std::string& what) {
    if (version < least) refuse(model, option + ": " + what + " need IR version " + std::to_string(least));
  };
  constexpr int64_t kOwnInitializers = 4, kFunctions = 8, kFloat8 = 9, kInt4 = 10, kFloat4 = 11;
  if (!model.functions().empty()) need(kFunctions, "model-local functions");
  for_each_graph(model.graph(), [&](Graph& graph) {
    for (const Initializer& initializer : graph.initializers()) {
      if (!initializer.value->is_input()) need(kOwnInitializers, "initializers that are no inputs");
      const DataType type = initializer.data ? initializer.data->type() : DataType::undefined;
      if (type >= DataType::float8e4m3fn && type <= DataType::float8e5m2fnuz) need(kFloat8, "weights in 8-bit floats");
      if (type == DataType::uint4 || type == DataType::int4) need(kInt4, "weights in 4 bits");
      if (type >= DataType::float4e2m1) need(kFloat4, "weights of this type");
    }
  });
  model.message().set_ir_version(version);
  if (before >= kOwnInitializers || version < kOwnInitializers) return;
  // Entries among the inputs would now be defaults that callers replace.
  for (Initializer& initializer : model.graph().initializers()) {
    if (initializer.value->is_input()) model.graph().freeze(initializer);
  }
}

}  // namespace relayout
