// Pads or crops a tensor by numbers or by its own elements.

#include <numeric>

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

/// Elements added (or cut off, when negative) at the begin and the end of each dim.
struct Pads {
  std::vector<int64_t> before, after;
};

std::optional<Pads> pads_of(const OpCall& call, InputInfos inputs, std::size_t rank) {
  constexpr int64_t kInputOpset = 11;
  std::vector<int64_t> pads;
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  if (call.opset < kInputOpset) {
    require_inputs(call, inputs, 1, 1);
    pads = call.attributes.integers(call.opset == 1 ? "paddings" : "pads");
  } else {
    require_inputs(call, inputs, 2, 4);
    auto values = known_integers(call, tensor_info(call, inputs, 1, kIndexTypes));
    if (!values) return std::nullopt;
    pads = std::move(*values);
    if (const DatumInfo* info = optional_tensor_info(call, inputs, 3, kIndexTypes)) {
      const auto given = known_integers(call, *info);
      if (!given) return std::nullopt;
      axes = normal_axes(call, *given, rank);
    }
  }
  if (pads.size() != 2 * axes.size()) {
    reject(call, std::to_string(pads.size()) + " pads for " + std::to_string(axes.size()) + " axes");
  }
  Pads result{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    result.before[axes[i]] = pads[i];
    result.after[axes[i]] = pads[axes.size() + i];
  }
  return result;
}

/// Input position of each output position along one dim, in a mode that repeats the input. Negative pads crop first, and the rest repeats.
std::vector<int64_t> source_positions(const std::string& mode, int64_t before, int64_t dim, int64_t size) {
  const int64_t first = std::max<int64_t>(-before, 0);
  const int64_t last = std::min(dim, first + size - std::max<int64_t>(before, 0));  // one past
  const int64_t kept = std::max<int64_t>(last - first, 1);
  const auto wrapped = [](int64_t value, int64_t period) { return (value % period + period) % period; };
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t at = i - std::max<int64_t>(before, 0);
    int64_t from = 0;
    if (mode == "edge") {
      from = std::clamp<int64_t>(at, 0, kept - 1);
    } else if (mode == "wrap") {
      from = wrapped(at, kept);
    } else if (kept > 1) {
      from = wrapped(at, 2 * (kept - 1));
      if (from >= kept) from = 2 * (kept - 1) - from;
    }
    positions.push_back(first + from);
  }
  return positions;
}

void pad_constant(const OpCall& call, const Pads& pads, const Tensor& from, const Tensor& to, const Tensor& value) {
  copy_elements(call.threads, to, value);
  Dims dims;
  int64_t from_offset = 0, to_offset = 0;
  for (std::size_t i = 0; i < from.dims().size(); ++i) {
    const int64_t from_first = std::max<int64_t>(-pads.before[i], 0);
    const int64_t to_first = std::max<int64_t>(pads.before[i], 0);
    dims.push_back(std::min(from.dims()[i] - from_first, to.dims()[i] - to_first));
    if (dims.back() <= 0) return;
    from_offset += from_first * from.strides()[i];
    to_offset += to_first * to.strides()[i];
  }
  copy_elements(call.threads, to.view(dims, to.strides(), to_offset), from.view(dims, from.strides(), from_offset));
}

void pad_repeating(const OpCall& call, const std::string& mode, const Pads& pads, const Tensor& from, const Tensor& to) {
  std::vector<std::vector<int64_t>> positions;
  for (std::size_t axis = 0; axis < to.dims().size(); ++axis) {
    positions.push_back(source_positions(mode, pads.before[axis], from.dims()[axis], to.dims()[axis]));
  }
  pick_elements(call, from, positions, to);
}

}  // namespace

Inferred infer_pad(const OpCall& call, InputInfos inputs) {
  const DatumInfo& input = tensor_info(call, inputs, 0, kNumericTypes | kBooleanTypes | kStringTypes | kSmallTypes);
  if (const DatumInfo* value = optional_tensor_info(call, inputs, 2)) {
    require_same_type(call, input, *value);
    if (element_count(value->dims) != 1) reject(call, "the constant has dims " + to_string(value->dims));
  }
  const std::string mode = call.attributes.text("mode", "constant");
  // Exporters write wrap (Pad 19) into models of opset 18 too.
  const bool repeats = mode == "reflect" || mode == "edge" || mode == "wrap";
  if (mode != "constant" && !repeats) reject(call, "mode is none of constant, reflect, edge, wrap");
  const auto pads = pads_of(call, inputs, input.dims.size());
  if (!pads) return std::nullopt;
  Dims dims;
  for (std::size_t i = 0; i < input.dims.size(); ++i) {
    const int64_t size = checked_sum(call, checked_sum(call, input.dims[i], pads->before[i]), pads->after[i]);
    if (size < 0) reject(call, "pads cut more than dim " + std::to_string(i) + " of " + to_string(input.dims) + " has");
    if (repeats && size > 0 &&
        (input.dims[i] <= std::max<int64_t>(-pads->before[i], 0) || input.dims[i] <= std::max<int64_t>(-pads->after[i], 0))) {
      reject(call, "mode " + mode + " has nothing to repeat in dim " + std::to_string(i));
    }
    dims.push_back(size);
  }
  return one(call, input.type, std::move(dims));
}

void pad(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& from = tensor_at(inputs, 0);
  const Tensor& to = outputs[0]->tensor;
  if (to.element_count() == 0) return;
  const auto pads = pads_of(call, KnownInfos(inputs).get(), from.dims().size());
  const std::string mode = call.attributes.text("mode", "constant");
  if (mode != "constant") return pad_repeating(call, mode, *pads, from, to);
  Tensor value(to.type(), {});
  if (present(inputs, 2))
    value = tensor_at(inputs, 2).view({}, {});
  else if (to.type() != DataType::string)
    store_one(to.type(), value.bytes(), double{call.attributes.real("value", 0)});
  pad_constant(call, *pads, from, to, value);
}

}  // namespace relayout::kernels
