// Tile: a tensor repeated along its axes, with inputs `tiles` and `axis` before opset 6.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/op_call.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"

namespace relayout::kernels {
namespace {

/// Opset 1 has inputs `tiles` and `axis` instead of `repeats`.
std::optional<std::vector<int64_t>> repeats(const OpCall& call, InputInfos inputs, std::size_t rank) {
  constexpr int64_t kRepeatsOpset = 6;
  if (call.opset >= kRepeatsOpset) {
    require_inputs(call, inputs, 2, 2);
    auto values = known_integers(call, tensor_info(call, inputs, 1, kIndexTypes));
    if (values && values->size() != rank) {
      reject(call, std::to_string(values->size()) + " repeats for rank " + std::to_string(rank));
    }
    return values;
  }
  require_inputs(call, inputs, 3, 3);
  const DatumInfo& tiles = tensor_info(call, inputs, 1, kNumericTypes);
  const DatumInfo& axis = tensor_info(call, inputs, 2, kNumericTypes);
  if (tiles.value == nullptr || axis.value == nullptr) return std::nullopt;
  std::vector<int64_t> values(rank, 1);
  const auto along = truncated_integers_of(*axis.value), times = truncated_integers_of(*tiles.value);
  if (along.size() != 1 || times.size() != 1) reject(call, "tiles and axis are scalars");
  values[normal_axis(call, along[0], rank)] = times[0];
  return values;
}

}  // namespace

Inferred infer_tile(const OpCall& call, InputInfos inputs) {
  const DatumInfo& input = tensor_info(call, inputs, 0);
  const auto times = repeats(call, inputs, input.dims.size());
  if (!times) return std::nullopt;
  Dims dims = input.dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if ((*times)[i] < 0) reject(call, "a repeat is negative");
    dims[i] = checked_product(call, dims[i], (*times)[i]);
  }
  return one(call, input.type, std::move(dims));
}

/// Each dim of the result is split into (repeat, position); the input has stride 0 along the repeats.
void tile(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& from = tensor_at(inputs, 0);
  const Tensor& to = outputs[0]->tensor;
  if (to.element_count() == 0) return;
  Dims dims, from_strides, to_strides;
  for (std::size_t i = 0; i < from.dims().size(); ++i) {
    const int64_t dim = from.dims()[i];
    dims.insert(dims.end(), {to.dims()[i] / dim, dim});
    from_strides.insert(from_strides.end(), {0, from.strides()[i]});
    to_strides.insert(to_strides.end(), {to.strides()[i] * dim, to.strides()[i]});
  }
  copy_elements(call.threads, to.view(dims, to_strides), from.view(dims, from_strides));
}

}  // namespace relayout::kernels
