#include <cstddef>
#include <utility>
#include <vector>

#include "exec/elementwise_kernel.h"
#include "exec/kernel.h"
#include "exec/lower.h"
#include "exec/lowering.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "exec/stages.h"
#include "layout/axis_order.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

bool is_float_tensor(Lowering& lowering, int value) {
  return lowering.is_tensor(value) && lowering.info(value).type == DataType::float32;
}

/// The input that the result has the dims of; one that may be overwritten is preferred.
int through_input(Lowering& lowering, const ProgramNode& node) {
  int best = -1;
  for (const int input : node.inputs) {
    if (input < 0 || !is_float_tensor(lowering, input) || lowering.constant(input) != nullptr) continue;
    if (lowering.info(input).dims != lowering.info(node.output(0)).dims) continue;
    if (best < 0 || (!lowering.can_overwrite(lowering.place(best)) && lowering.can_overwrite(lowering.place(input)))) best = input;
  }
  return best;
}

/// The order that most of the full-size operands lie in already, channels-last when they do not agree.
Order common_order(Lowering& lowering, const std::vector<int>& full) {
  if (!lowering.optimized()) return Order::contiguous;
  for (const int value : full) {
    const TensorDesc& desc = lowering.place(value).desc;
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
  const auto order = order_of_strides(destination.desc.dims, destination.desc.strides);
  for (const Stage& stage : stages) {
    ElementwiseStage step{stage.is_binary, stage.function, stage.alpha, stage.beta, stage.binary, stage.reversed, 0};
    if (stage.is_binary) {
      Place operand;
      if (stage.value < 0) {
        operand = lowering.fixed_place(stage.constant);
      } else if (lowering.info(stage.value).dims == destination.desc.dims) {
        operand = lowering.place(stage.value);
        if (order && order_of_strides(operand.desc.dims, operand.desc.strides) != order) operand = lowering.dense(stage.value, *order);
        bytes += static_cast<double>(element_count(destination.desc.dims)) * 4;
      } else {
        operand = lowering.place(stage.value);
      }
      step.operand = descs.size() - 1;
      descs.push_back(broadcast(operand.desc, destination.desc.dims));
      places.push_back(operand);
    }
    chain.push_back(step);
  }
  places.push_back(destination);
  const int threads = lowering.use_threads(bytes / 10);
  lowering.emit(make_elementwise_kernel(descs, destination.desc, std::move(chain), {lowering.settings().library, threads}), places,
                threads);
}

bool are_own(const std::vector<Stage>& stages) {
  std::size_t operands = 0;
  for (const Stage& stage : stages) {
    if (stage.is_binary) ++operands;
    if (!stage.is_binary && !is_own(stage.function)) return false;
  }
  return operands <= kMostElementwiseOperands;
}

namespace {

/// Functions that the library computes as IEEE 754 has them, NaN included, and to a few ulp (its log is off by 2e-6).
bool is_right_in_library(Function function) {
  switch (function) {
    case Function::tanh:
    case Function::elu:
    case Function::softplus:
    case Function::log:
      return true;
    default:
      return false;
  }
}

/// One function of one variable through the library.
bool lower_to_library(Lowering& lowering, const ProgramNode& node, const Stage& stage, const Place& source, const AxisOrder& order) {
  if (stage.is_binary || !is_right_in_library(stage.function) || element_count(source.desc.dims) == 0) return false;
  const Place from = lowering.dense(node.inputs[0], order);
  const int threads = lowering.use_threads(static_cast<double>(element_count(from.desc.dims)));
  MadePrimitive made = lowering.library().make(Eltwise{from.desc, from.desc, stage.function, stage.alpha, stage.beta});
  if (!made.primitive) return false;
  const Place to = lowering.new_place(from.desc);
  lowering.emit(make_primitive_kernel(std::move(made.primitive), {{Argument::source, 0}, {Argument::destination, 0}}), {from, to}, threads);
  lowering.define(node.output(0), to);
  return true;
}

}  // namespace

bool lower_elementwise(Lowering& lowering, const Group& group) {
  const int anchor_input = through_input(lowering, group.anchor());
  if (anchor_input < 0) return false;
  const StageContext context = lowering.stage_context();
  std::vector<Stage> stages;
  int through = anchor_input;
  for (const ProgramNode* node : group.nodes) {
    const auto here = stages_of(context, *node, through);
    if (!here) return false;
    stages.insert(stages.end(), here->begin(), here->end());
    through = node->output(0);
  }
  std::vector<int> full{anchor_input};
  for (const Stage& stage : stages) {
    if (stage.value >= 0 && lowering.info(stage.value).dims == lowering.info(anchor_input).dims &&
        lowering.constant(stage.value) == nullptr) {
      full.push_back(stage.value);
    }
  }
  const TensorDesc result = lowering.result_desc(group.last(), 0, common_order(lowering, full));
  if (!are_own(stages)) {
    const auto order = order_of_strides(result.dims, result.strides);
    return group.nodes.size() == 1 && stages.size() == 1 && order &&
           lower_to_library(lowering, group.anchor(), stages[0], lowering.place(anchor_input), *order);
  }
  Place source = lowering.place(anchor_input);
  const bool dense = is_dense(source.desc.dims, source.desc.strides) &&
                     order_of_strides(source.desc.dims, source.desc.strides) == order_of_strides(result.dims, result.strides);
  if (dense) source.desc = result;
  // The first stage may read the source's memory a second time, later ones would find results there.
  bool shared = false;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].value < 0 || (i == 0 && stages[i].value == anchor_input)) continue;
    shared = shared || lowering.place(stages[i].value).buffer == source.buffer;
  }
  const Place destination = dense && !shared && lowering.can_overwrite(source) ? source : lowering.new_place(result);
  emit_stages(lowering, source, destination, stages);
  lowering.define(group.output(), destination);
  return true;
}

}  // namespace relayout
