// Lowers elementwise operators, fused in chains, and chooses the operand whose memory the result overwrites.

#include "base/positions.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/lower/fuse.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/program.h"
#include "layout/axis_order.h"
#include "ops/loops/dtypes.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// The input that has the result's dims and over which the node can be read as stages; preferably one that may be overwritten.
ValueId through_input(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  if (group.nodes.size() > 1 && truth_stage_of(lowering.facts, node, *group.nodes[1], node.input(0))) return node.input(0);
  ValueId best = ValueId::none;
  for (const ValueId input : node.inputs) {
    if (!lowering.facts.is_float_tensor(input) || lowering.constant(input) != nullptr) continue;
    if (lowering.info(input).dims != lowering.info(node.output(0)).dims || !stages_of(lowering.facts, node, input)) continue;
    if (best == ValueId::none ||
        (!lowering.places.can_overwrite(lowering.places.of(best)) && lowering.places.can_overwrite(lowering.places.of(input))))
      best = input;
  }
  return best;
}

/// Channels-last when some full-size operand is laid out that way (and is not contiguous as well), else contiguous.
Order common_order(Lowering& lowering, const std::vector<ValueId>& full) {
  if (!lowering.optimized()) return Order::contiguous;
  for (const ValueId value : full) {
    const TensorDesc& desc = lowering.places.of(value).desc;
    if (!is_ordered(desc, Order::contiguous) && is_ordered(desc, Order::channels_last)) return Order::channels_last;
  }
  return Order::contiguous;
}

}  // namespace

TensorDesc broadcast(const TensorDesc& operand, const Dims& dims) {
  TensorDesc out{operand.type, dims, Dims(dims.size(), 0)};
  for (std::size_t i = 0; i < operand.dims.size(); ++i) {
    const std::size_t at = dims.size() - operand.dims.size() + i;
    if (operand.dims[i] != 1) out.strides[at] = operand.strides[i];
  }
  return out;
}

void emit_stages(Lowering& lowering, const Place& source, const Place& destination, const std::vector<Stage>& stages) {
  std::vector<Place> places{source};
  std::vector<TensorDesc> descs{source.desc};
  std::vector<ElementwiseStage> chain;
  double bytes = 2.0 * static_cast<double>(element_count(destination.desc.dims)) * 4;
  const auto order = layout::order_of_strides(destination.desc.dims, destination.desc.strides);
  for (const Stage& stage : stages) {
    ElementwiseStage step{stage.alone(), 0};
    if (stage.is_binary) {
      Place operand;
      if (stage.value == ValueId::none) {
        operand = lowering.steps.fixed_place(stage.constant);
      } else if (lowering.info(stage.value).dims == destination.desc.dims) {
        operand = lowering.places.of(stage.value);
        if (order && layout::order_of_strides(operand.desc.dims, operand.desc.strides) != order)
          operand = lowering.places.dense(stage.value, *order);
        bytes += static_cast<double>(element_count(destination.desc.dims)) * 4;
      } else {
        operand = lowering.places.of(stage.value);
      }
      step.operand = descs.size() - 1;
      descs.push_back(broadcast(operand.desc, destination.desc.dims));
      places.push_back(operand);
    }
    chain.push_back(step);
  }
  places.push_back(destination);
  const int threads = lowering.steps.use_threads(bytes / step_rates::kStreamedBytesPerNanosecond);
  lowering.steps.emit(make_elementwise_kernel(descs, destination.desc, std::move(chain), {lowering.settings.library, threads}), places,
                      threads);
}

bool are_own(const std::vector<Stage>& stages) {
  const auto operands = std::ranges::count_if(stages, [](const Stage& stage) { return stage.is_binary; });
  return as_size(operands) <= kMostElementwiseOperands;
}

namespace {

/// One function of 16-bit floats.
bool lower_narrow(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const ValueId input = node.input(0), output = node.output(0);
  if (group.nodes.size() != 1 || input == ValueId::none || output == ValueId::none || !lowering.is_tensor(input)) return false;
  const DataType type = lowering.info(input).type;
  if (!kHalfTypes.has(type) || lowering.info(output).type != type) return false;
  const auto stage = unary_stage_of(lowering.facts, node);
  if (!stage) return false;
  const Place source = lowering.places.of(input);
  const auto order = layout::order_of_strides(source.desc.dims, source.desc.strides);
  if (!order || !layout::is_dense(source.desc.dims, source.desc.strides)) return false;
  const Place destination = lowering.steps.new_place(ordered(type, source.desc.dims, *order));
  const int64_t count = element_count(source.desc.dims);
  const int threads = lowering.steps.use_threads(static_cast<double>(count) / step_rates::kExponentialsPerNanosecond);
  const ElementwiseStage step{stage->alone(), 0};
  lowering.steps.emit(make_narrow_elementwise_kernel(type, count, step, {lowering.settings.library, threads}), {source, destination},
                      threads);
  lowering.places.define(output, destination);
  return true;
}

}  // namespace

bool lower_elementwise(Lowering& lowering, const Group& group) {
  const ValueId anchor_input = through_input(lowering, group);
  if (anchor_input == ValueId::none) return lower_narrow(lowering, group);
  const auto read = stages_of(lowering.facts, group.nodes, anchor_input);
  if (!read) return false;
  const std::vector<Stage>& stages = *read;
  std::vector<ValueId> full{anchor_input};
  for (const Stage& stage : stages) {
    if (stage.value != ValueId::none && lowering.info(stage.value).dims == lowering.info(anchor_input).dims &&
        lowering.constant(stage.value) == nullptr) {
      full.push_back(stage.value);
    }
  }
  const TensorDesc result = lowering.result_desc(group.last(), 0, common_order(lowering, full));
  if (!are_own(stages)) return false;
  Place source = lowering.places.of(anchor_input);
  const bool dense =
      layout::is_dense(source.desc.dims, source.desc.strides) &&
      layout::order_of_strides(source.desc.dims, source.desc.strides) == layout::order_of_strides(result.dims, result.strides);
  if (dense) source.desc = result;
  // The first stage may read the source's memory a second time; later ones would find results there.
  bool shared = false;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].value == ValueId::none || (i == 0 && stages[i].value == anchor_input)) continue;
    shared = shared || lowering.places.of(stages[i].value).buffer == source.buffer;
  }
  const Place destination = dense && !shared && lowering.places.can_overwrite(source) ? source : lowering.steps.new_place(result);
  emit_stages(lowering, source, destination, stages);
  lowering.places.define(group.output(), destination);
  return true;
}

}  // namespace relayout::exec
