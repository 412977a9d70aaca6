// Lowers LayerNormalization over the last dim.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "exec/ids.h"
#include "exec/kernels/kernel.h"
#include "exec/lower/group.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/lower/order.h"
#include "exec/lower/step_rates.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Scale and shift along the last dim alone, which is what the library has.
bool is_line(const Lowering& lowering, ValueId value, int64_t length) {
  const DatumInfo& info = lowering.info(value);
  return info.type == DataType::float32 && info.dims == Dims{length};
}

}  // namespace

/// Over the last dim, without statistics as outputs.
bool lower_layer_normalization(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const DatumInfo& x = lowering.info(node.inputs[0]);
  if (x.type != DataType::float32 || x.dims.size() < 2 || x.dims.size() > 5 || element_count(x.dims) == 0) return false;
  if (node.output(1) != ValueId::none || node.output(2) != ValueId::none) return false;
  const auto rank = static_cast<int64_t>(x.dims.size());
  const int64_t axis = node.call.attributes.integer("axis", -1);
  if (axis != -1 && axis != rank - 1) return false;
  const ValueId scale = node.input(1), shift = node.input(2);
  if (scale == ValueId::none || !is_line(lowering, scale, x.dims.back()) ||
      (shift != ValueId::none && !is_line(lowering, shift, x.dims.back())))
    return false;
  if (!is_ordered(lowering.result_desc(node, 0, Order::contiguous), Order::contiguous)) return false;

  const Place source = lowering.places.dense(node.inputs[0], Order::contiguous);
  const int threads = lowering.steps.use_threads(static_cast<double>(element_count(x.dims)) / step_rates::kExponentialsPerNanosecond);
  const float epsilon = node.call.attributes.real("epsilon", 1e-5F);
  MadePrimitive made = lowering.library().make(Normalization{source.desc, source.desc, epsilon, true, shift != ValueId::none});
  if (!made.primitive) return false;
  const Place destination = lowering.steps.new_place(source.desc);
  std::vector<Place> places{source, lowering.places.dense(scale, Order::contiguous)};
  std::vector<std::pair<Argument, int>> roles{{Argument::source, 0}, {Argument::scale, 0}};
  if (shift != ValueId::none) {
    places.push_back(lowering.places.dense(shift, Order::contiguous));
    roles.emplace_back(Argument::shift, 0);
  }
  places.push_back(destination);
  roles.emplace_back(Argument::destination, 0);
  lowering.steps.emit(make_primitive_kernel(std::move(made.primitive), std::move(roles)), places, threads);
  lowering.places.define(node.outputs[0], destination);
  return true;
}

}  // namespace relayout::exec
