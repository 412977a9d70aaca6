// Changes a graph for several passes: removes what is unused, gives nodes new constants, and places Transposes.
#include "passes/edits.h"

#include "base/hash.h"
#include "base/positions.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "passes/pass.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {

// What is unused.

bool is_removable(const Node& node) {
  const auto is_known = [](const Node& inner) { return find_op(inner) != nullptr; };
  return is_known(node) && std::ranges::all_of(node.subgraphs(), [&](const auto& nested) { return all_of_nodes(*nested, is_known); });
}

bool is_dead(const Node& node) {
  return is_removable(node) &&
         std::ranges::all_of(node.outputs(), [](const Value* output) { return output == nullptr || is_unused(*output); });
}

bool is_output_elsewhere(const Value& value) {
  const Graph& graph = value.graph();
  const auto own = value.is_own_output() ? std::ranges::count(graph.outputs(), &value) : 0;
  // The body of a Loop lists a value twice if it is both state and scan output: two contracts.
  return value.output_count() > (graph.outer() == nullptr ? own : std::min<std::ptrdiff_t>(own, 1));
}

bool keeps_elements(const Node& node) {
  const Traits traits = traits_of(node);
  const bool keeps = traits.has(Trait::keeps_order) && traits.has(Trait::elementwise);
  return (keeps || traits.has(Trait::casts) || node.is("QuantizeLinear") || node.is("DequantizeLinear")) && node.input(0) != nullptr;
}

bool is_unused(const Value& value) {
  return value.uses().empty() && !value.is_output();
}

bool is_removable(const Initializer& initializer, PassContext& context) {
  const Value& value = *initializer.value;
  if (value.is_overridable()) return false;
  // The training graphs refer to the initializers by name.
  if (value.graph().model().message().training_info_size() > 0) return false;
  return !context.annotated.contains(value);
}

void erase_node(Node& node, std::vector<Value*>& freed) {
  for (Value* input : node.inputs()) {
    if (input != nullptr) freed.push_back(input);
  }
  for_each_capture(node, [&](Value& value) { freed.push_back(&value); });
  node.graph().erase(node);
}

void release(Value& value, PassContext& context) {
  std::vector<Value*> open = {&value};
  while (!open.empty()) {
    Value& next = *open.back();
    open.pop_back();
    if (!is_unused(next)) continue;
    if (Initializer* const initializer = next.initializer()) {
      if (!is_removable(*initializer, context)) continue;
      next.graph().erase_initializer(*initializer);
      context.constants.forget(next);
    } else if (Node* const producer = next.producer()) {
      const auto is_needed = [](const Value* output) { return output != nullptr && !is_unused(*output); };
      if (!is_removable(*producer) || std::ranges::any_of(producer->outputs(), is_needed)) continue;
      for (const Value* output : producer->outputs()) {
        if (output != nullptr) context.constants.forget(*output);
      }
      erase_node(*producer, open);
    }
  }
}

// Initializers that callers may replace.

void freeze(Graph& graph, PassContext& context) {
  for (Initializer& initializer : graph.initializers()) {
    if (!initializer.value->is_overridable()) continue;
    graph.freeze(initializer);
    context.findings.push_back({"freeze", "initializer", initializer.value->name()});
  }
}

// Constant operands. Results with the same bytes are stored once: tied weights stay tied.
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

std::optional<std::vector<int64_t>> constant_list(const Node& node, std::size_t index, PassContext& context) {
  if (node.input(index) == nullptr) return std::vector<int64_t>();
  const auto value = context.constants.value(*node.input(index));
  const bool is_list =
      value && (value->type() == DataType::int64 || value->type() == DataType::int32) && value->element_count() <= kMostContents;
  return is_list ? std::optional(truncated_integers_of(*value)) : std::nullopt;
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

// Transposes.
namespace {

using Place = std::list<Node>::iterator;

Node& insert(Graph& graph, Place place, const NewTranspose& transpose) {
  onnx::NodeProto message = node_message("Transpose", {transpose.input.name()}, {transpose.output}, transpose.name);
  set_integers(message, "perm", transpose.permutation);
  return graph.insert_before(place, message);
}

/// The place right after the node of the graph that makes `source`; nothing without such a node.
std::optional<Place> place_after(Graph& graph, const Value& source) {
  if (source.producer() == nullptr || &source.graph() != &graph) return std::nullopt;
  return std::next(graph.position_of(*source.producer()));
}

}  // namespace

Node& insert_after_source(Graph& graph, const NewTranspose& transpose) {
  return insert(graph, place_after(graph, transpose.input).value_or(graph.nodes().begin()), transpose);
}

Node& insert_last(Graph& graph, const NewTranspose& transpose) {
  return insert(graph, graph.nodes().end(), transpose);
}

Node& OrderedTransposes::insert_after_source(Graph& graph, const NewTranspose& transpose) {
  if (const auto place = place_after(graph, transpose.input)) return insert(graph, *place, transpose);
  return insert(graph, fronts_.try_emplace(&graph, graph.nodes().begin()).first->second, transpose);
}

std::string transpose_name(const std::string& value) {
  return value + "/Transpose";
}

std::size_t permutation_rank(const Node& transpose) {
  const Attributes attributes(transpose);
  return attributes.has_reference() ? 0 : attributes.integers("perm").size();
}

void attach_through(Graph& graph, Node& node) {
  Value& inner = *node.input(0);
  Value& outer = *node.output(0);
  const std::vector<Use> uses(inner.uses().begin(), inner.uses().end());
  for (const Use& use : uses) {
    if (use.node != &node) use.node->graph().set_input(*use.node, as_size(use.index), &outer);
  }
  graph.attach(inner, node);
}

}  // namespace relayout::passes
