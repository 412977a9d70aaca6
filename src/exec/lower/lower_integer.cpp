// Lowers products and convolutions of quantized numbers to exact 8-bit kernels.

#include "base/positions.h"
#include "exec/constant_store.h"
#include "exec/kernels/integer_kernel.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/lower/fuse.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/program.h"
#include "ops/kernels/convolution.h"
#include "ops/kernels/matmul.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Inputs of the four operators by their role; none where an operator has no such input.
struct IntegerInputs {
  ValueId source = ValueId::none, weights = ValueId::none, source_zero = ValueId::none, weights_zero = ValueId::none;
  ValueId source_scale = ValueId::none, weights_scale = ValueId::none, destination_scale = ValueId::none, destination_zero = ValueId::none,
          bias = ValueId::none;
};

IntegerInputs inputs_of(const ProgramNode& node) {
  const std::string_view name = node.node->op_type();
  if (name == "MatMulInteger" || name == "ConvInteger") return {node.input(0), node.input(1), node.input(2), node.input(3)};
  return {node.input(0), node.input(3), node.input(2), node.input(5), node.input(1),
          node.input(4), node.input(6), node.input(7), node.input(8)};
}

bool is_byte(DataType type) {
  return type == DataType::uint8 || type == DataType::int8;
}

int64_t count_of(Lowering& lowering, ValueId value) {
  return value == ValueId::none ? 0 : element_count(lowering.info(value).dims);
}

/// Parameters that the kernels take: scalars for source and destination, one or one per column for weights; scales are f32.
std::optional<IntegerParameters> parameters_of(Lowering& lowering, const ProgramNode& node, const IntegerInputs& inputs, int64_t columns) {
  for (const ValueId value : {inputs.source, inputs.weights}) {
    if (!lowering.is_tensor(value) || !is_byte(lowering.info(value).type) || count_of(lowering, value) == 0) return std::nullopt;
  }
  const auto fits = [&](ValueId value) {
    const int64_t count = count_of(lowering, value);
    return count <= 1 || (count == columns && lowering.info(value).dims.size() == 1);
  };
  if (!fits(inputs.weights_zero) || !fits(inputs.weights_scale) || count_of(lowering, inputs.source_zero) > 1) return std::nullopt;
  IntegerParameters out;
  out.source_zero = inputs.source_zero != ValueId::none;
  out.weights_zeros = count_of(lowering, inputs.weights_zero);
  out.requantizes = inputs.source_scale != ValueId::none;
  out.weights_scales = count_of(lowering, inputs.weights_scale);
  out.bias = inputs.bias != ValueId::none;
  out.source_type = lowering.info(inputs.source).type;
  out.weights_type = lowering.info(inputs.weights).type;
  out.destination_type = lowering.info(node.outputs[0]).type;
  if (!out.requantizes) return out;
  if (!is_byte(out.destination_type)) return std::nullopt;
  for (const ValueId value : {inputs.source_scale, inputs.weights_scale, inputs.destination_scale}) {
    if (lowering.info(value).type != DataType::float32) return std::nullopt;
  }
  for (const ValueId value : {inputs.source_scale, inputs.destination_scale, inputs.destination_zero}) {
    if (count_of(lowering, value) != 1) return std::nullopt;
  }
  return out;
}

/// Source and weights, then the parameters that are present, in the kernels' order.
std::vector<Place> places_of(Lowering& lowering, const IntegerInputs& inputs, const Place& source, const Place& weights) {
  std::vector<Place> places{source, weights};
  for (const ValueId value : {inputs.source_zero, inputs.weights_zero, inputs.source_scale, inputs.weights_scale, inputs.destination_scale,
                              inputs.destination_zero, inputs.bias}) {
    if (value != ValueId::none) places.push_back(lowering.places.dense(value, Order::contiguous));
  }
  return places;
}

double nanoseconds_of(int64_t macs) {
  return static_cast<double>(macs) / step_rates::kIntegerMacsPerNanosecond;
}

Place packed_place(Lowering& lowering, ValueId value, int64_t bytes, std::string_view form,
                   const std::function<void(const Tensor&, std::byte*)>& pack) {
  KnownConstant& constant = *lowering.constant(value);
  lowering.steps.count_packed(bytes);
  const auto make = [&](std::byte* target) { pack(lowering.store().read(constant), target); };
  const std::string key = lowering.store().key_of(constant) + std::string(form);
  return lowering.steps.fixed_place(lowering.store().share(key, bytes, make).memory, bytes);
}

/// Offsets of all pairs of matrices, in elements; operands are contiguous except in the last two dims of the weights.
std::vector<IntegerMatmul::Pair> pairs_of(const MatmulShape& shape, const Dims& a, const Dims& b) {
  const int64_t count = element_count(shape.batch);
  std::vector<IntegerMatmul::Pair> pairs(as_size(count));
  const auto offset = [&](int64_t index, const Dims& dims, int64_t matrix) {
    int64_t at = 0, step = matrix;
    for (std::size_t i = shape.batch.size(), k = dims.size() < 2 ? 0 : dims.size() - 2; i-- > 0;) {
      const int64_t here = index % shape.batch[i];
      index /= shape.batch[i];
      if (k == 0) continue;
      --k;
      if (dims[k] != 1) at += here * step;
      step *= dims[k];
    }
    return at;
  };
  for (int64_t i = 0; i < count; ++i) {
    element_at(pairs, i) = {offset(i, a, shape.rows * shape.depth), offset(i, b, shape.depth * shape.columns),
                            i * shape.rows * shape.columns};
  }
  return pairs;
}

}  // namespace

bool lower_integer_matmul(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const IntegerInputs inputs = inputs_of(node);
  if (!lowering.is_tensor(inputs.source) || !lowering.is_tensor(inputs.weights)) return false;
  const Dims &a = lowering.info(inputs.source).dims, &b = lowering.info(inputs.weights).dims;
  MatmulShape shape = matmul_shape(node.call, a, b);
  const auto parameters = parameters_of(lowering, node, inputs, shape.columns);
  // Requantized sums must be exact: beyond this depth they might not fit 32 bits.
  constexpr int64_t kExactDepth = 1 << 15;
  if (!parameters || (parameters->requantizes && shape.depth > kExactDepth)) return false;
  if (b.size() != 2 && (parameters->weights_zeros > 1 || parameters->weights_scales > 1)) return false;

  IntegerMatmul product;
  if (b.size() <= 2) {  // one matrix: all rows at once
    shape.rows *= element_count(shape.batch);
    shape.batch.clear();
  }
  product.rows = shape.rows;
  product.depth = shape.depth;
  product.columns = shape.columns;
  product.source_row_stride = shape.depth;
  product.weights_depth_stride = shape.columns;
  product.weights_column_stride = 1;
  product.pairs = pairs_of(shape, a, b);
  product.packed = b.size() <= 2 && lowering.constant(inputs.weights) != nullptr;
  const Place source = lowering.places.dense(inputs.source, Order::contiguous);
  Place weights;
  if (product.packed) {
    const auto pack = [&](const Tensor& tensor, std::byte* target) {
      pack_panels({tensor.bytes(), shape.depth, shape.columns, tensor.strides().front(), b.size() == 2 ? tensor.strides()[1] : 1,
                   tensor.type() == DataType::uint8},
                  target);
    };
    weights = packed_place(lowering, inputs.weights, panel_count(shape.columns) * panel_bytes(shape.depth), "panels", pack);
  } else {
    weights = lowering.places.dense(inputs.weights, Order::contiguous);
  }
  const int64_t macs = element_count(shape.batch) * shape.rows * shape.depth * shape.columns;
  const int threads = lowering.steps.use_threads(nanoseconds_of(macs));
  std::vector<Place> places = places_of(lowering, inputs, source, weights);
  const DatumInfo& result = lowering.info(node.outputs[0]);
  const Place destination = lowering.steps.new_place(ordered(result.type, result.dims, Order::contiguous));
  places.push_back(destination);
  lowering.steps.emit(make_integer_matmul_kernel(product, *parameters, {lowering.settings.library, threads}), places, threads);
  lowering.steps.count_macs(macs);
  lowering.places.define(node.outputs[0], destination);
  return true;
}

bool lower_integer_convolution(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  const IntegerInputs inputs = inputs_of(node);
  if (!lowering.is_tensor(inputs.source) || lowering.constant(inputs.weights) == nullptr) return false;
  const DatumInfo &x = lowering.info(inputs.source), &w = lowering.info(inputs.weights), &y = lowering.info(node.outputs[0]);
  const auto parameters = parameters_of(lowering, node, inputs, y.dims[1]);
  if (!parameters || x.dims.size() < 3 || x.dims.size() > 5 || element_count(y.dims) == 0) return false;
  const ConvolutionShape shape = convolution_shape(node.call, x.dims, w.dims);
  const IntegerConvolution spec{
      x.dims, y.dims, shape.groups, shape.window.kernel, shape.window.strides, shape.window.dilations, shape.window.before};

  const bool planned = lowering.optimized() && lowering.planned_order(node).value_or(Order::channels_last) == Order::channels_last;
  const Place source = planned ? lowering.places.dense(inputs.source, Order::channels_last)
                               : lowering.places.dense_inside(inputs.source, Order::channels_last);
  const auto pack = [&](const Tensor& tensor, std::byte* target) { pack_weights(spec, tensor, target); };
  const Place weights = packed_place(lowering, inputs.weights, packed_bytes(spec), "integers" + std::to_string(shape.groups), pack);
  const int64_t macs = element_count(y.dims) * (element_count(w.dims) / w.dims[0]);
  const int threads = lowering.steps.use_threads(nanoseconds_of(macs));
  std::vector<Place> places = places_of(lowering, inputs, source, weights);
  const Place result = lowering.steps.new_place(ordered(y.type, y.dims, Order::channels_last));
  places.push_back(result);
  lowering.steps.emit(make_integer_convolution_kernel(spec, *parameters, {lowering.settings.library, threads}), places, threads);
  lowering.steps.count_macs(macs);
  if (planned) {
    lowering.places.define(node.outputs[0], result);
    return true;
  }
  const Place destination = lowering.steps.new_place(ordered(y.type, y.dims, Order::contiguous));
  lowering.steps.copy(result, destination, StepKind::inside);
  lowering.places.define(node.outputs[0], destination);
  return true;
}

}  // namespace relayout::exec
