// Contents of a model for `relayout inspect`: header, inputs, outputs, parameters, operator counts, stored layout of convolution weights
// (contiguous, channels-last, both, other), and fold verdicts. The verdicts come from convert's passes, run on the loaded model, which is
// not saved: a second BatchNormalization folds only after the first has, so that only the passes themselves give the same answers.
#include "relayout/inspect.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/interrupt.h"
#include "base/text.h"
#include "exec/measured_costs.h"
#include "inspect/model_macs.h"
#include "layout/cost.h"
#include "layout/permutation.h"
#include "layout/sizes.h"
#include "model/attributes.h"
#include "model/node_name.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/declared_types.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "ops/unknown.h"
#include "passes/pass.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// The layout in which a constant weight is stored: the order of the stored dims that its logical dims are read from.
std::string stored_layout(const TensorData& data) {
  if (layout::is_both_layouts(data.dims())) return "both";
  const Dims& permutation = data.permutation();
  if (permutation.empty()) return "contiguous";
  return permutation == layout::from_channels_last(permutation.size()) ? "channels-last" : "other";
}

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

PortSummary port(const Value& value) {
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
  explicit Summary(InspectResult& result) : result_(&result) {}

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

  /// The name of the BatchNormalization after each convolution, in the order of the convolutions; empty without one.
  [[nodiscard]] const std::vector<std::string>& batch_norms() const noexcept { return batch_norms_; }

 private:
  void add(const Initializer& initializer) {
    if (initializer.data == nullptr) return;
    result_->parameters += element_count(initializer.data->dims());
    result_->parameter_bytes += initializer.data->byte_size();
  }

  void add(const Node& node) {
    ++result_->op_counts[node.domain().empty() ? node.op_type() : std::string(node.domain()) + ":" + node.op_type()];
    if (const auto index = traits_of(node).convolution_weight()) add_convolution(node, *index);
  }

  void add_convolution(const Node& node, std::size_t weight_index) {
    ConvolutionSummary out;
    out.node = reported_name(node);
    out.op_type = node.op_type();
    out.groups = Attributes(node).integer("group", 1);
    out.layout = "computed";
    // A quantized weight has the layout of the operand that it is dequantized from.
    const Value* weight = node.input(weight_index);
    while (weight != nullptr && weight->producer() != nullptr &&
           (weight->producer()->is("DequantizeLinear") || weight->producer()->is("QuantizeLinear"))) {
      weight = weight->producer()->input(0);
    }
    if (weight != nullptr) {
      const auto found = constants_.find(*weight);
      if (const Constant* constant = std::get_if<Constant>(&found)) {
        out.weight_dims = constant->dims;
        out.layout = stored_layout(constant->data);
      }
    }
    std::string batch_norm;
    for (const Use& use : node.output(0) == nullptr ? std::span<const Use>{} : node.output(0)->uses()) {
      if (use.index == 0 && use.node->is("BatchNormalization")) batch_norm = reported_name(*use.node);
    }
    batch_norms_.push_back(std::move(batch_norm));
    result_->convolutions.push_back(std::move(out));
  }

  InspectResult* result_;
  Constants constants_;
  std::vector<std::string> batch_norms_;
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
    if (input->initializer() == nullptr) result.inputs.push_back(port(*input));
  }
  for (const Value* output : model.graph().outputs()) result.outputs.push_back(port(*output));
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
  Summary summary(result);
  summary.add(*model);
  {
    layout::check_sizes(options.sizes, layout::size_names(model->graph()));
    ModelMacs macs = count_macs(*model, options.sizes);
    result.macs = macs.macs;
    result.macs_are_least = macs.is_least;
    result.ops_without_macs = std::move(macs.left_out);
    result.assumed = std::move(macs.assumed);
    if (!macs.misfit.empty()) result.misfit = std::move(macs.misfit);
  }
  if (options.layout) {
    const exec::MeasuredCosts measured(options.threads);
    const layout::CostModel& costs = options.measure ? measured : layout::default_costs();
    result.layout = report_layout(model->graph(), *options.layout, costs);
  }

  // From here on the graph is the one that convert would write, no longer the one in the file.
  result.findings = findings_of_convert(*model);
  std::unordered_map<std::string, std::string> verdicts;
  for (const Finding& finding : result.findings) {
    if (finding.op_type != "BatchNormalization" || finding.verdict == Verdict::not_applicable) continue;
    verdicts[finding.node] = finding.verdict == Verdict::done ? "folds" : std::string(to_string(finding.reason));
  }
  for (std::size_t i = 0; i < result.convolutions.size(); ++i) {
    const auto verdict = verdicts.find(summary.batch_norms()[i]);
    if (verdict != verdicts.end()) result.convolutions[i].batch_norm = verdict->second;
  }
  return result;
}

}  // namespace relayout
