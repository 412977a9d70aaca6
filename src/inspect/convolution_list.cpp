// Lists the convolutions of a model with the layout of their weights, and what becomes of the BatchNormalization after each.
#include "inspect/convolution_list.h"

#include "layout/axis_order.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "ops/constants.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/inspect.h"
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

}  // namespace

void ConvolutionList::add(const Node& node, std::size_t weight_index) {
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
  convolutions_.push_back(std::move(out));
}

std::vector<ConvolutionSummary> ConvolutionList::with_verdicts(const Findings& findings) {
  std::unordered_map<std::string, std::string> verdicts;
  for (const Finding& finding : findings) {
    if (finding.op_type != "BatchNormalization" || finding.verdict == Verdict::not_applicable) continue;
    verdicts[finding.node] = finding.verdict == Verdict::done ? "folds" : std::string(to_string(finding.reason));
  }
  for (std::size_t i = 0; i < convolutions_.size(); ++i) {
    const auto verdict = verdicts.find(batch_norms_[i]);
    if (verdict != verdicts.end()) convolutions_[i].batch_norm = verdict->second;
  }
  return std::move(convolutions_);
}

}  // namespace relayout
