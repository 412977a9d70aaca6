// Lowers recurrent networks to one product for all inputs and a kernel that goes step by step.

#include "exec/constant_store.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/lower/fuse.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "model/node.h"
#include "ops/formulas.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Numbers of the operators' inputs.
constexpr std::size_t kX = 0, kW = 1, kR = 2, kBias = 3, kLengths = 4, kInitialH = 5, kInitialC = 6, kPeepholes = 7, kScales = 8;

bool has_default_activations(const ProgramNode& node, int64_t directions) {
  const Attributes& attributes = node.call.attributes;
  if (attributes.has("clip") || attributes.integer("input_forget", 0) != 0) return false;
  const auto& defaults = recurrent_cell::kind_of(node.node->op_type()).activations;
  std::vector<std::string> expected;
  for (int64_t i = 0; i < directions; ++i) expected.insert(expected.end(), defaults.begin(), defaults.end());
  const std::vector<std::string> given = attributes.texts("activations");
  return given.empty() || given == expected;
}

std::optional<Recurrence> recurrence_of(Lowering& lowering, const ProgramNode& node) {
  for (const std::size_t i : {kX, kW, kR, kBias, kInitialH, kInitialC, kPeepholes}) {
    const ValueId value = node.input(i);
    if (value != ValueId::none && (!lowering.is_tensor(value) || lowering.info(value).type != DataType::float32)) return std::nullopt;
  }
  if (node.input(kLengths) != ValueId::none && lowering.info(node.input(kLengths)).type != DataType::int32) return std::nullopt;
  const Dims &x = lowering.info(node.input(kX)).dims, &r = lowering.info(node.input(kR)).dims;
  const Attributes& attributes = node.call.attributes;
  const std::string& name = node.node->op_type();
  Recurrence out;
  out.kind = name.ends_with("LSTM") ? Recurrence::Kind::lstm : name == "GRU" ? Recurrence::Kind::gru : Recurrence::Kind::rnn;
  out.gates = recurrent_cell::kind_of(name).gates;
  out.batch_first = attributes.integer("layout", 0) != 0;
  out.steps = x[out.batch_first ? 1 : 0];
  out.batch = x[out.batch_first ? 0 : 1];
  out.hidden = r[2];
  out.directions = r[0];
  out.reverse = attributes.text("direction", "forward") == "reverse";
  out.linear_before_reset = out.kind == Recurrence::Kind::gru && attributes.integer("linear_before_reset", 0) != 0;
  out.bias = node.input(kBias) != ValueId::none;
  out.lengths = node.input(kLengths) != ValueId::none;
  out.initial_h = node.input(kInitialH) != ValueId::none;
  out.initial_c = node.input(kInitialC) != ValueId::none;
  out.peepholes = node.input(kPeepholes) != ValueId::none;
  out.quantized = name == "QuantizedStateLSTM";
  out.y = node.output(0) != ValueId::none;
  out.y_h = node.output(1) != ValueId::none;
  out.y_c = node.output(2) != ValueId::none;
  if (element_count(x) == 0 || out.hidden == 0 || !has_default_activations(node, out.directions)) return std::nullopt;
  return out;
}

/// X · Wᵀ for all steps and directions at once; nothing when the library has no good product.
std::optional<Place> project(Lowering& lowering, const ProgramNode& node, const Recurrence& recurrence) {
  const int64_t rows = recurrence.steps * recurrence.batch, columns = recurrence.directions * recurrence.columns();
  const int64_t depth = lowering.info(node.input(kX)).dims[2];
  const int64_t macs = rows * depth * columns;
  const int threads = lowering.steps.use_threads(static_cast<double>(macs) / step_rates::kMacsPerNanosecond);
  const TensorDesc weights{DataType::float32, {depth, columns}, {1, depth}};
  const TensorDesc source = ordered(DataType::float32, {rows, depth}, Order::contiguous);
  const TensorDesc destination = ordered(DataType::float32, {rows, columns}, Order::contiguous);
  MadePrimitive made = lowering.library().make(Matmul{source, weights, destination, false, true, {}});
  if (!made.primitive) return std::nullopt;
  const WeightsFormat& format = *made.primitive->weights_format();
  KnownConstant& constant = *lowering.constant(node.input(kW));
  const auto pack = [&](std::byte* target) {
    const Tensor plain = contiguous(lowering.store().read(constant));
    lowering.library().set_threads(lowering.settings.threads);
    format.pack(weights, plain.bytes(), target);
  };
  lowering.steps.count_packed(format.bytes());
  const std::string key = lowering.store().key_of(constant) + "recurrent" + format.key();
  const Place packed = lowering.steps.fixed_place(lowering.store().share(key, format.bytes(), pack).memory, format.bytes());
  const Place x = view_of(lowering.places.dense(node.input(kX), Order::contiguous), source, 0);
  Place out = lowering.steps.new_place(destination);
  lowering.steps.use_threads(static_cast<double>(macs) / step_rates::kMacsPerNanosecond);
  lowering.steps.emit(
      make_primitive_kernel(std::move(made.primitive), {{Argument::source, 0}, {Argument::weights, 0}, {Argument::destination, 0}}),
      {x, packed, out}, threads);
  lowering.steps.count_macs(macs);
  return out;
}

/// The scales of R; empty where they are not known.
Tensor scales_of(Lowering& lowering, const ProgramNode& node) {
  KnownConstant* const scales = node.input(kScales) == ValueId::none ? nullptr : lowering.constant(node.input(kScales));
  return scales == nullptr ? Tensor() : contiguous(lowering.store().read(*scales));
}

}  // namespace

bool lower_recurrent(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const auto recurrence = recurrence_of(lowering, node);
  if (!recurrence || lowering.constant(node.input(kW)) == nullptr || lowering.constant(node.input(kR)) == nullptr) return false;
  KnownConstant& weights = *lowering.constant(node.input(kR));
  const Tensor scales = recurrence->quantized ? scales_of(lowering, node) : Tensor();
  if (recurrence->quantized && (!scales || !has_bytes(*recurrence, lowering.store().read(weights), scales))) return false;
  const auto projected = project(lowering, node, *recurrence);
  if (!projected) return false;

  const int64_t bytes = packed_bytes(*recurrence);
  const auto pack = [&](std::byte* target) { pack_weights(*recurrence, lowering.store().read(weights), scales, target); };
  const std::string key = lowering.store().key_of(weights) + (recurrence->linear_before_reset ? "linear" : "") + node.node->op_type();
  lowering.steps.count_packed(bytes);
  std::vector<Place> places{*projected, lowering.steps.fixed_place(lowering.store().share(key, bytes, pack).memory, bytes)};
  for (const std::size_t i : {kBias, kLengths, kInitialH, kInitialC, kPeepholes}) {
    if (node.input(i) != ValueId::none) places.push_back(lowering.places.dense(node.input(i), Order::contiguous));
  }
  std::vector<Place> results;
  for (const ValueId output : node.outputs) {
    if (output == ValueId::none) continue;
    const DatumInfo& info = lowering.info(output);
    results.push_back(lowering.steps.new_place(ordered(info.type, info.dims, Order::contiguous)));
    places.push_back(results.back());
  }
  const int64_t macs = recurrence->directions * recurrence->steps * recurrence->batch * recurrence->columns() * recurrence->hidden;
  const int threads = lowering.steps.use_threads(static_cast<double>(macs) / static_cast<double>(recurrence->steps) /
                                                 step_rates::kRecurrentMacsPerNanosecond);
  lowering.steps.emit(make_recurrent_kernel(*recurrence, node, {lowering.settings.library, threads}), places, threads);
  lowering.steps.count_macs(macs);
  std::size_t next = 0;
  for (const ValueId output : node.outputs) {
    if (output != ValueId::none) lowering.places.define(output, results[next++]);
  }
  return true;
}

}  // namespace relayout::exec
