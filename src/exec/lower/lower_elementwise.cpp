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
#include "ops/loops/strided.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// The input that has the result's dims and over which the node can be read as stages; preferably one that may be overwritten.
ValueId through_input(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  if (group.nodes.size() > 1 && round_trip_of(lowering.facts, node, *group.nodes[1], node.input(0))) return node.input(0);
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

namespace {

/// The operands of a chain of functions, the first of which is its source, and what the chain keeps.
struct ChainOperands {
  std::vector<Place> places, kept;
  std::vector<TensorDesc> descs;
  std::vector<ElementwiseStage> chain;
};

ChainOperands operands_of(Lowering& lowering, const Place& source, const TensorDesc& made, const std::vector<Stage>& stages) {
  ChainOperands out{{source}, {}, {source.desc}, {}};
  const auto order = layout::order_of_strides(made.dims, made.strides);
  for (const Stage& stage : stages) {
    ElementwiseStage step{stage.alone(), 0, stage.kept != ValueId::none};
    if (stage.is_binary) {
      Place operand = stage.value == ValueId::none ? lowering.steps.fixed_place(stage.constant) : lowering.places.of(stage.value);
      const bool is_whole = stage.value != ValueId::none && operand.desc.dims == made.dims;
      if (is_whole && order && !follows(operand.desc, *order)) operand = lowering.places.dense(stage.value, *order);
      step.operand = out.places.size() - 1;
      out.descs.push_back(broadcast(operand.desc, made.dims));
      out.places.push_back(operand);
    }
    if (step.keeps) {
      out.kept.push_back(lowering.steps.new_place(made));
      lowering.places.define(stage.kept, out.kept.back());
    }
    out.chain.push_back(step);
  }
  return out;
}

/// Appends the step of a chain with its places.
void emit_chain(Lowering& lowering, std::unique_ptr<Kernel> kernel, const ChainOperands& operands, const Place& destination, int threads) {
  std::vector<Place> places = operands.places;
  places.insert(places.end(), operands.kept.begin(), operands.kept.end());
  places.push_back(destination);
  lowering.steps.emit(std::move(kernel), places, threads);
}

int threads_for(Lowering& lowering, const ChainOperands& operands, int64_t count) {
  double bytes = static_cast<double>(count) * 4;
  for (const TensorDesc& desc : operands.descs) {
    if (std::ranges::find(desc.strides, 0) == desc.strides.end()) bytes += static_cast<double>(count) * 4;
  }
  return lowering.steps.use_threads(bytes / step_rates::kStreamedBytesPerNanosecond);
}

}  // namespace

void emit_stages(Lowering& lowering, const Place& source, const Place& destination, const std::vector<Stage>& stages) {
  ChainOperands operands = operands_of(lowering, source, destination.desc, stages);
  const int threads = threads_for(lowering, operands, element_count(destination.desc.dims));
  auto kernel = make_elementwise_kernel(operands.descs, destination.desc, std::move(operands.chain), {lowering.settings.library, threads});
  emit_chain(lowering, std::move(kernel), operands, destination, threads);
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

namespace {

/// Functions whose results are added up line by line, and not written.
bool lower_line_sum(Lowering& lowering, const Group& group, ValueId through) {
  const ProgramNode& node = group.last();
  const std::span<const ProgramNode* const> functions = std::span(group.nodes).first(group.nodes.size() - 1);
  const auto stages = kept_stages_of(lowering.program, lowering.facts, functions, through);
  const Place source = lowering.places.of(through);
  const TensorDesc result = lowering.result_desc(node, 0, Order::contiguous);
  if (!stages || !are_own(*stages) || !is_ordered(source.desc, Order::contiguous) || !is_ordered(result, Order::contiguous)) return false;
  const Dims& dims = source.desc.dims;
  const Dims lines{element_count(result.dims), element_count(dims) / element_count(result.dims)};
  // Before anything is emitted: operands that stay as they are have two steps over [lines, length].
  for (const Stage& stage : *stages) {
    if (!stage.is_binary || stage.value == ValueId::none) continue;
    if (!reshape_strides(broadcast(lowering.places.of(stage.value).desc, dims), lines)) return false;
  }
  ChainOperands operands = operands_of(lowering, source, ordered(DataType::float32, dims, Order::contiguous), *stages);
  for (TensorDesc& desc : operands.descs) desc = {desc.type, lines, *reshape_strides(desc, lines)};
  const double divisor = node.node->op_type() == "ReduceMean" ? static_cast<double>(lines[1]) : 1;
  const int threads = threads_for(lowering, operands, element_count(dims));
  const Place destination = lowering.steps.new_place(result);
  auto kernel = make_line_sum_kernel(operands.descs, lines, std::move(operands.chain), divisor, {lowering.settings.library, threads});
  emit_chain(lowering, std::move(kernel), operands, destination, threads);
  lowering.places.define(group.output(), destination);
  return true;
}

}  // namespace

bool lower_elementwise(Lowering& lowering, const Group& group) {
  if (moves_indices(lowering.facts, group.anchor(), group.last())) return lower_indexed(lowering, group);
  const ValueId anchor_input = through_input(lowering, group);
  if (anchor_input == ValueId::none) return lower_narrow(lowering, group);
  if (group.nodes.size() > 1 && sums_lines(lowering.facts, group.last(), group.last().input(0))) {
    return lower_line_sum(lowering, group, anchor_input);
  }
  const auto read = kept_stages_of(lowering.program, lowering.facts, group.nodes, anchor_input);
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
