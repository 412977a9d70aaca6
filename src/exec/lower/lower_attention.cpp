// Lowers attention to two products of oneDNN with a softmax between them.

#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/lower/fuse.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/program.h"
#include "ops/kernels/attention.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Whether all operands are f32 (the mask may be bool), the outputs contiguous, and the scores not read.
bool suits(Lowering& lowering, const ProgramNode& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    if (input == ValueId::none) continue;
    const DatumInfo& info = lowering.info(input);
    const bool is_mask = i == AttentionInput::mask && info.type == DataType::boolean;
    if (i == AttentionInput::valid_keys || (info.type != DataType::float32 && !is_mask) || element_count(info.dims) == 0) return false;
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.output(i) == ValueId::none) continue;
    if (i == 3 || !is_ordered(lowering.result_desc(node, i, Order::contiguous), Order::contiguous)) return false;
  }
  return node.output(0) != ValueId::none && element_count(lowering.info(node.output(0)).dims) != 0;
}

/// Keys or values of all heads, those of the past first; also defines the node's output of them.
Place with_past(Lowering& lowering, const ProgramNode& node, std::size_t input, const Place& now) {
  const ValueId past = node.input(input - AttentionInput::key + AttentionInput::past_key),
                present = node.output(input - AttentionInput::key + 1);
  if (past == ValueId::none && present == ValueId::none) return now;
  Dims dims = now.desc.dims;
  if (past != ValueId::none) dims[2] += lowering.info(past).dims[2];
  const Place joined = lowering.steps.new_place(ordered(DataType::float32, dims, Order::contiguous));
  int64_t offset = 0;
  const auto append = [&](const Place& part) {
    const TensorDesc slice{part.desc.type, part.desc.dims, joined.desc.strides};
    lowering.steps.copy(part, view_of(joined, slice, offset), StepKind::inside);
    offset += part.desc.dims[2] * joined.desc.strides[2] * static_cast<int64_t>(sizeof(float));
  };
  if (past != ValueId::none) append(lowering.places.of(past));
  append(now);
  if (present != ValueId::none) lowering.places.define(present, joined);
  return joined;
}

/// [batch, heads, rows, columns] as [batch, heads of keys, heads that share them, rows, columns].
Place grouped(const Place& place, int64_t kv_heads) {
  const Dims &d = place.desc.dims, &s = place.desc.strides;
  const int64_t share = d[1] / kv_heads;
  return view_of(place, {place.desc.type, {d[0], kv_heads, share, d[2], d[3]}, {s[0], s[1] * share, s[1], s[2], s[3]}}, 0);
}

}  // namespace

/// Two products of the library with relayout's softmax between them.
bool lower_attention(Lowering& lowering, const Group& group) {
  const ProgramNode& node = group.anchor();
  if (!suits(lowering, node)) return false;
  std::vector<const DatumInfo*> infos;
  for (const ValueId input : node.inputs) infos.push_back(input == ValueId::none ? nullptr : &lowering.info(input));
  const AttentionShape shape = attention_shape(node.call, infos);
  const auto heads = [&](std::size_t input) {
    const Place place = lowering.places.of(node.inputs[input]);
    return view_of(place, by_heads(node.call, place.desc, input == AttentionInput::query ? "q_num_heads" : "kv_num_heads"), 0);
  };
  const Place keys = grouped(with_past(lowering, node, AttentionInput::key, heads(AttentionInput::key)), shape.kv_heads),
              values = grouped(with_past(lowering, node, AttentionInput::value, heads(AttentionInput::value)), shape.kv_heads);

  const Dims dims{shape.batch, shape.heads, shape.queries, shape.total()};
  const Place scores = lowering.steps.new_place(ordered(DataType::float32, dims, Order::contiguous));
  MatrixProduct product;
  product.source = grouped(heads(AttentionInput::query), shape.kv_heads);
  product.weights = view_of(keys, swap_last(keys.desc), 0);
  product.destination = grouped(scores, shape.kv_heads);
  if (!emit_product(lowering, product)) return false;

  AttentionSoftmax softmax{dims, attention_scale(node.call, shape), node.call.attributes.real("softcap", 0), {}, std::nullopt};
  for (int64_t i = 0; i < shape.queries; ++i) softmax.visible.push_back(shape.visible(i, std::nullopt));
  std::vector<Place> places;
  if (const ValueId mask = node.input(AttentionInput::mask); mask != ValueId::none) {
    places.push_back(lowering.places.of(mask));
    softmax.mask = broadcast_mask(node.call, shape, places.back().desc);
  }
  places.push_back(scores);
  const int threads = lowering.steps.use_threads(static_cast<double>(element_count(dims)) / step_rates::kExponentialsPerNanosecond);
  lowering.steps.emit(make_attention_softmax_kernel(std::move(softmax), {lowering.settings.library, threads}), places, threads);

  const Place destination = lowering.steps.new_place(lowering.result_desc(node, 0, Order::contiguous));
  const Place wanted = view_of(destination, by_heads(node.call, destination.desc, "q_num_heads"), 0);
  const bool in_place = is_ordered(wanted.desc, Order::contiguous);
  const Place made = in_place ? wanted : lowering.steps.new_place(ordered(DataType::float32, wanted.desc.dims, Order::contiguous));
  product.source = product.destination;
  product.weights = values;
  product.destination = grouped(made, shape.kv_heads);
  if (!emit_product(lowering, product)) return false;
  if (!in_place) lowering.steps.copy(made, wanted, StepKind::inside);
  lowering.places.define(node.outputs[0], destination);
  return true;
}

}  // namespace relayout::exec
