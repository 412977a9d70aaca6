// CenterCropPad: crops both sides of an axis or fills them with zeros, and the side that an odd element goes to.

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/op_call.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

/// Target sizes by axis; nothing when they are not known yet.
std::optional<Dims> centered_dims(const OpCall& call, InputInfos inputs, const Dims& dims) {
  const auto shape = known_integers(call, tensor_info(call, inputs, 1, kIndexTypes));
  if (!shape) return std::nullopt;
  std::vector<int64_t> axes = call.attributes.integers("axes");
  if (axes.empty()) {
    axes.resize(dims.size());
    std::iota(axes.begin(), axes.end(), int64_t{0});
  }
  if (axes.size() != shape->size()) reject(call, "axes and shape differ in length");
  Dims result = dims;
  const auto normal = normal_axes(call, axes, dims.size());
  for (std::size_t i = 0; i < normal.size(); ++i) result[normal[i]] = (*shape)[i];
  return result;
}

}  // namespace

Inferred infer_center_crop_pad(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& x = tensor_info(call, inputs, 0, kAllTypes);
  auto dims = centered_dims(call, inputs, x.dims);
  if (!dims) return std::nullopt;
  return one(call, x.type, std::move(*dims));
}

/// Half of the elements that are cut, or filled with zeros, are at the begin (rounded down), the other half at the end.
void center_crop_pad(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& x = tensor_at(inputs, 0);
  const Tensor& out = outputs[0]->tensor;
  fill_zero(out);
  Dims dims;
  int64_t from = 0, to = 0;
  for (std::size_t i = 0; i < x.dims().size(); ++i) {
    const int64_t cut = x.dims()[i] - out.dims()[i];
    dims.push_back(std::min(x.dims()[i], out.dims()[i]));
    (cut > 0 ? from : to) += std::abs(cut) / 2 * (cut > 0 ? x : out).strides()[i];
  }
  if (element_count(dims) == 0) return;
  copy_elements(call.threads, out.view(dims, out.strides(), to), x.view(dims, x.strides(), from));
}

}  // namespace relayout::kernels
