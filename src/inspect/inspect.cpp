// Summarizes the contents of a model, with the findings that a conversion of it would have.
//
// They come from convert's passes, run on the loaded model, which is not saved: a second BatchNormalization folds only after the first has,
// so that only the passes themselves give the same answers.
#include "relayout/inspect.h"

#include "base/interrupt.h"
#include "base/text.h"
#include "exec/layout_guide.h"
#include "inspect/model_macs.h"
#include "inspect/outline.h"
#include "layout/cost.h"
#include "layout/sizes.h"
#include "model/check.h"
#include "model/origin.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "ops/element_types.h"
#include "ops/op.h"
#include "ops/op_attributes.h"
#include "passes/pass.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout {
namespace {

std::string port_type(const onnx::TypeProto& type) {
  const auto element = [](int32_t number) {
    const DataTypeTraits* known = find_traits(number);
    return known == nullptr ? std::string("?") : std::string(known->name);
  };
  if (type.has_tensor_type()) return element(type.tensor_type().elem_type());
  if (type.has_sparse_tensor_type()) return "sparse(" + element(type.sparse_tensor_type().elem_type()) + ")";
  if (type.has_sequence_type()) {
    const auto& inner = type.sequence_type().elem_type();
    return inner.has_tensor_type() ? "seq(" + element(inner.tensor_type().elem_type()) + ")" : "seq";
  }
  if (type.has_optional_type()) {
    const auto& inner = type.optional_type().elem_type();
    return inner.has_tensor_type() ? "optional(" + element(inner.tensor_type().elem_type()) + ")" : "optional";
  }
  return type.has_map_type() ? "map" : "?";
}

void add_shape(const onnx::TypeProto& type, PortSummary& port) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return;
  for (const auto& dim : type.tensor_type().shape().dim()) {
    port.shape += (port.shape.empty() ? "" : ", ");
    port.shape += dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param().empty() ? "?" : escape(dim.dim_param());
    port.dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    port.symbols.push_back(dim.has_dim_value() ? std::string() : dim.dim_param());
  }
  port.shape = "[" + port.shape + "]";
}

/// The declaration of a graph's input or output.
PortSummary port_summary(const Value& value) {
  PortSummary out{value.name(), "?", ""};
  if (value.info() != nullptr) {
    out.type = port_type(value.info()->type());
    add_shape(value.info()->type(), out);
  }
  return out;
}

/// Walks a model's graphs and fills in everything that does not need the passes.
class Summary {
 public:
  Summary(InspectResult& result, ConvolutionList& convolutions) : result_(&result), convolutions_(convolutions) {}

  void add(const Model& model) {
    const auto add_node = [&](const Node& node) {
      check_interrupt();
      add(node);
    };
    for_each_node(model, add_node, [&](const Graph& graph) {
      result_->nodes += std::ssize(graph.nodes());
      for (const Initializer& initializer : graph.initializers()) add(initializer);
    });
  }

 private:
  void add(const Initializer& initializer) {
    if (initializer.data != nullptr) add(*initializer.data);
    if (initializer.sparse != nullptr) add(tensor_data(initializer.value->graph().model(), initializer.sparse->values()));
  }

  void add(const TensorData& data) {
    result_->parameters += element_count(data.dims());
    result_->parameter_bytes += data.byte_size();
  }

  /// Adds what a Constant node stores, in the form of any of its attributes; strings are no parameters.
  void add_constant(const Node& node) {
    const auto add_numbers = [&](int64_t count, int64_t bytes) {
      result_->parameters += count;
      result_->parameter_bytes += count * bytes;
    };
    for (const onnx::AttributeProto& attribute : node.message().attribute()) {
      const bool is_sparse = attribute.name() == "sparse_value" && attribute.has_sparse_tensor();
      const onnx::TensorProto* const tensor = is_sparse                                          ? &attribute.sparse_tensor().values()
                                              : attribute.name() == "value" && attribute.has_t() ? &attribute.t()
                                                                                                 : nullptr;
      if (tensor != nullptr && tensor->data_type() != onnx::TensorProto::STRING) add(tensor_data(node.graph().model(), *tensor));
      if (attribute.name() == "value_float") add_numbers(1, sizeof(float));
      if (attribute.name() == "value_int") add_numbers(1, sizeof(int64_t));
      if (attribute.name() == "value_floats") add_numbers(attribute.floats_size(), sizeof(float));
      if (attribute.name() == "value_ints") add_numbers(attribute.ints_size(), sizeof(int64_t));
    }
  }

  void add(const Node& node) {
    ++result_->op_counts[node.domain().empty() ? node.op_type() : std::string(node.domain()) + ":" + node.op_type()];
    if (node.is("Constant")) add_constant(node);
    if (const auto index = traits_of(node).convolution_weight()) convolutions_.add(node, *index);
  }

  InspectResult* result_;
  ConvolutionList& convolutions_;
};

void add_header(const Model& model, InspectResult& result) {
  const onnx::ModelProto& message = model.message();
  result.producer = message.producer_name();
  if (!message.producer_version().empty()) result.producer += (result.producer.empty() ? "" : " ") + message.producer_version();
  result.ir_version = model.ir_version();
  result.opset = model.opset("");
  result.file_bytes = model.file_size();
  result.functions = static_cast<int64_t>(model.functions().size());
  for (const auto& import : message.opset_import()) {
    if (!import.domain().empty() && import.domain() != "ai.onnx") result.domains[import.domain()] = import.version();
  }
  for (const Value* input : model.graph().inputs()) {
    if (input->initializer() == nullptr) result.inputs.push_back(port_summary(*input));
  }
  for (const Value* output : model.graph().outputs()) result.outputs.push_back(port_summary(*output));
}

/// Runs convert's default pipeline on the model in memory.
Findings findings_of_convert(Model& model) {
  std::vector<const passes::Pass*> passes;
  for (const passes::Pass& pass : passes::pass_table()) {
    if (pass.on_by_default()) passes.push_back(&pass);
  }
  passes::PassContext context;
  passes::run_passes(model, passes, context);
  return std::move(context.findings);
}

}  // namespace

InspectResult inspect(const std::filesystem::path& path, const InspectOptions& options) {
  const auto model = Model::load(path, options.load);
  check_declared_types(*model);
  InspectResult result;
  result.path = path;
  add_header(*model, result);
  result.unknown_ops = unknown_operators(*model);
  result.repeated_names = repeated_names(*model);
  ConvolutionList convolutions;
  Summary(result, convolutions).add(*model);
  {
    layout::check_sizes(options.sizes, layout::size_names(model->graph()));
    ModelMacs macs = count_macs(*model, options.sizes);
    result.macs = macs.macs;
    result.macs_are_least = macs.is_least;
    result.ops_without_macs = std::move(macs.left_out);
    result.assumed = std::move(macs.assumed);
    if (!macs.misfit.empty()) result.misfit = std::move(macs.misfit);
    if (options.nodes) result.node_list = list_nodes(macs.nodes);
    if (options.outline) result.outline = outline_of(model->graph(), result.inputs, result.outputs, list_nodes(macs.nodes));
  }
  if (options.layout) {
    const exec::MeasuredCosts measured(options.threads);
    const layout::CostModel& costs = options.measure ? measured : layout::default_costs();
    result.layout = report_layout(model->graph(), *options.layout, costs);
  }

  // From here on the graph is the one that convert would write, no longer the one in the file.
  result.findings = findings_of_convert(*model);
  result.convolutions = convolutions.with_verdicts(result.findings);
  return result;
}

}  // namespace relayout
