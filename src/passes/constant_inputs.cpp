// Replaces weights, biases and other constant operands by values that a pass has computed: copies where there are other readers, names of
// new initializers. Results with the same bytes are stored once: tied weights stay tied.
#include "passes/constant_inputs.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <utility>

#include "base/hash.h"
#include "model/bytes.h"
#include "model/node_message.h"
#include "model/tensor_data.h"
#include "passes/cleanup.h"
#include "passes/fold_state.h"
#include "passes/pass.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::passes {
namespace {

/// FNV-1a over the properties in which equal copies agree.
uint64_t hash_of(const TensorData& original, const Scale& scale) {
  uint64_t hash = kFnvBasis;
  const auto add = [&](uint64_t word) { hash = fnv_1a(hash, word); };
  const Bytes& source = original.source();
  add(std::bit_cast<uintptr_t>(source.file() != nullptr ? static_cast<const void*>(source.file().get()) : source.memory().data()));
  add(static_cast<uint64_t>(source.file() != nullptr ? source.file_offset() : 0));
  for (const int64_t dim : original.dims()) add(static_cast<uint64_t>(dim));
  add(static_cast<uint64_t>(scale.rows));
  add(static_cast<uint64_t>(scale.columns));
  add(scale.row_axis);
  add(scale.column_axis);
  for (const double factor : scale.factors) add(std::bit_cast<uint64_t>(factor));
  return hash;
}

bool is_equal(const Scale& a, const Scale& b) {
  return a.rows == b.rows && a.columns == b.columns && a.row_axis == b.row_axis && a.column_axis == b.column_axis && a.factors == b.factors;
}

/// Whether both are the same stored bytes, read in the same way.
bool is_equal(const TensorData& a, const TensorData& b) {
  const Bytes &x = a.source(), &y = b.source();
  if (x.file() != y.file() || x.size() != y.size()) return false;
  const bool same_place = x.file() != nullptr ? x.file_offset() == y.file_offset() : x.memory().data() == y.memory().data();
  return same_place && a.type() == b.type() && a.source_type() == b.source_type() && a.dims() == b.dims() &&
         a.source_dims() == b.source_dims() && a.permutation() == b.permutation() && std::ranges::equal(a.scales(), b.scales());
}

/// The weight computed from the same data with these factors, if it has not changed since; nullptr otherwise.
Value* find_copy(const TensorData& original, const Scale& scale, uint64_t hash, const Node& reader, PassContext& context) {
  const auto [begin, end] = context.folds.weight_copies.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    const WeightCopy& known = at->second;
    const Initializer* const initializer = known.copy->initializer();
    if (!is_equal(known.original, original) || initializer == nullptr || !initializer->data) continue;
    if (!std::ranges::equal(initializer->data->scales(), known.stored)) continue;
    if (is_equal(known.scale, scale) && reader.graph().find(known.copy->name()) == known.copy) return known.copy;
  }
  return nullptr;
}

}  // namespace

Value& add_constant(Graph& home, Node& reader, const std::string& name, TensorData data, Initializer* after) {
  // Before IR 4 every initializer is a graph input, which those of nested graphs cannot be.
  const bool takes_initializers = !home.is_function() && (home.outer() == nullptr || home.model().ir_version() >= 4);
  if (takes_initializers) return home.add_initializer(name, std::move(data), after);
  onnx::NodeProto message = node_message("Constant", {}, {name});
  onnx::AttributeProto& attribute = *message.add_attribute();
  attribute.set_name("value");
  attribute.set_type(onnx::AttributeProto::TENSOR);
  attribute.mutable_t()->set_data_type(static_cast<int>(data.type()));
  Node& node = home.insert_before(home.position_of(reader), message);
  home.set_constant(node, std::move(data));
  return *node.output(0);
}

void set_constant_input(Node& node, std::size_t index, TensorData data, const std::string& name, PassContext& context) {
  Graph& graph = node.graph();
  Model& model = graph.model();
  Value* const old = node.input(index);
  if (old == nullptr) {
    graph.set_input(node, index, &add_constant(graph, node, model.unique_name(name), std::move(data), nullptr));
    return;
  }
  Initializer* const initializer = old->initializer();
  if (old->sole_use() != nullptr && initializer != nullptr && initializer->data && !old->is_overridable()) {
    old->graph().set_data(*initializer, std::move(data));
    context.constants.forget(*old);
    return;
  }
  if (old->sole_use() != nullptr && &old->graph() == &graph) {
    const std::string old_name = old->name();
    graph.set_input(node, index, nullptr);
    release(*old, context);
    const std::string new_name = graph.find(old_name) == nullptr ? old_name : model.unique_name(old_name + ".folded");
    graph.set_input(node, index, &add_constant(graph, node, new_name, std::move(data), nullptr));
    return;
  }
  Graph& home = initializer != nullptr ? old->graph() : graph;
  graph.set_input(node, index, &add_constant(home, node, model.unique_name(old->name() + ".folded"), std::move(data), initializer));
  release(*old, context);
}

void scale_constant_input(Node& node, std::size_t index, const TensorData& data, const Scale& scale, PassContext& context) {
  Value& old = *node.input(index);
  const uint64_t hash = hash_of(data, scale);
  if (Value* const copy = find_copy(data, scale, hash, node, context)) {
    node.graph().set_input(node, index, copy);
    release(old, context);
    return;
  }
  set_constant_input(node, index, data.scaled(scale), {}, context);
  Value& now = *node.input(index);
  if (&now != &old && now.initializer() != nullptr) {
    const auto scales = now.initializer()->data->scales();
    context.folds.weight_copies.emplace(hash, WeightCopy{data, scale, &now, {scales.begin(), scales.end()}});
  }
}

}  // namespace relayout::passes
