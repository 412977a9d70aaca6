// Moves each element to another position, between depth and space or within sequences.

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/positions.h"
#include "ops/call.h"
#include "ops/kernels/gather.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

int64_t block_size(const OpCall& call) {
  const auto size = call.attributes.integer("blocksize");
  if (!size || *size < 1) reject(call, "attribute 'blocksize' is missing or not positive");
  return *size;
}

/// Whether the channels of a block are in depth-column-row order, else column-row-depth.
bool depth_first(const OpCall& call) {
  const std::string mode = call.attributes.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") reject(call, "mode is neither DCR nor CRD");
  return mode == "DCR";
}

const DatumInfo& image_info(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0);
  if (x.dims.size() != 4) reject(call, "dims " + to_string(x.dims) + " are not [N, C, H, W]");
  return x;
}

}  // namespace

Inferred infer_depth_to_space(const OpCall& call, InputInfos inputs) {
  const DatumInfo& x = image_info(call, inputs);
  const int64_t block = block_size(call), square = checked_product(call, block, block);
  (void)depth_first(call);
  if (x.dims[1] % square != 0) reject(call, std::to_string(x.dims[1]) + " channels do not make blocks of " + std::to_string(square));
  return one(call, x.type,
             {x.dims[0], x.dims[1] / square, checked_product(call, x.dims[2], block), checked_product(call, x.dims[3], block)});
}

void depth_to_space(const OpCall& call, InputData inputs, OutputData outputs) {
  if (outputs[0]->tensor.element_count() == 0) return;
  const BlockViews views = block_views(call, tensor_at(inputs, 0), outputs[0]->tensor);
  copy_elements(call.threads, views.to, views.from);
}

Inferred infer_space_to_depth(const OpCall& call, InputInfos inputs) {
  const DatumInfo& x = image_info(call, inputs);
  const int64_t block = block_size(call);
  (void)depth_first(call);
  if (x.dims[2] % block != 0 || x.dims[3] % block != 0)
    reject(call, "dims " + to_string(x.dims) + " do not cut into blocks of " + std::to_string(block));
  const int64_t channels = checked_product(call, checked_product(call, block, block), x.dims[1]);
  return one(call, x.type, {x.dims[0], channels, x.dims[2] / block, x.dims[3] / block});
}

void space_to_depth(const OpCall& call, InputData inputs, OutputData outputs) {
  if (outputs[0]->tensor.element_count() == 0) return;
  const BlockViews views = block_views(call, tensor_at(inputs, 0), outputs[0]->tensor);
  copy_elements(call.threads, views.to, views.from);
}

Inferred infer_reverse_sequence(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& x = tensor_info(call, inputs, 0);
  const DatumInfo& lengths = tensor_info(call, inputs, 1, {DataType::int64});
  const int64_t batch = call.attributes.integer("batch_axis", 1), time = call.attributes.integer("time_axis", 0);
  if (x.dims.size() < 2 || batch + time != 1 || batch * time != 0) reject(call, "batch_axis and time_axis are not 0 and 1");
  if (lengths.dims != Dims{element_at(x.dims, batch)}) reject(call, "sequence_lens has dims " + to_string(lengths.dims));
  return results(call, tensor_of(x.type, x.dims));
}

/// Reverses the first elements of each sequence and keeps the rest.
void reverse_sequence(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& out = outputs[0]->tensor;
  if (out.element_count() == 0) return;
  const auto batch = as_size(call.attributes.integer("batch_axis", 1)), time = 1 - batch;
  const std::vector<int64_t> lengths = integers_of(call, tensor_at(inputs, 1));
  Dims dims = x.dims();
  dims[batch] = 1;
  for (int64_t b = 0; b < x.dims()[batch]; ++b) {
    const int64_t length = element_at(lengths, b);
    if (length < 0 || length > x.dims()[time]) reject(call, "a sequence length is " + std::to_string(length));
    std::vector<int64_t> positions(as_size(x.dims()[time]));
    std::iota(positions.begin(), positions.end(), int64_t{0});
    std::reverse(positions.begin(), positions.begin() + length);
    const Tensor row = x.view(dims, x.strides(), b * x.strides()[batch]);
    copy_elements(call.threads, out.view(dims, out.strides(), b * out.strides()[batch]), taken(call, row, time, positions));
  }
}

}  // namespace relayout::kernels

namespace relayout {

/// Views of a tensor [N, C·b², H, W] and one [N, C, H·b, W·b], both as [N, block row, block column, C, H, W].
BlockViews block_views(const OpCall& call, const Tensor& x, const Tensor& out) {
  const bool deepens = call.node.op_type() == "SpaceToDepth", outermost = kernels::depth_first(call);
  const Tensor &deep = deepens ? out : x, &wide = deepens ? x : out;
  const int64_t block = kernels::block_size(call), channels = wide.dims()[1];
  const Dims dims{deep.dims()[0], block, block, channels, deep.dims()[2], deep.dims()[3]};
  const Dims& d = deep.strides();
  const Dims& w = wide.strides();
  const int64_t row = outermost ? d[1] * block * channels : d[1] * block;
  const int64_t column = outermost ? d[1] * channels : d[1];
  const int64_t channel = outermost ? d[1] : d[1] * block * block;
  const Tensor deep_view = deep.view(dims, {d[0], row, column, channel, d[2], d[3]});
  const Tensor wide_view = wide.view(dims, {w[0], w[2], w[3], w[1], w[2] * block, w[3] * block});
  return deepens ? BlockViews{wide_view, deep_view} : BlockViews{deep_view, wide_view};
}

}  // namespace relayout
