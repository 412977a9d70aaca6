// Reads and edits a graph, and keeps its index and its messages consistent.
#include "relayout/graph.h"

#include "base/positions.h"
#include "base/text.h"
#include "model/model_builder.h"
#include "model/node.h"
#include "model/origin.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "relayout/error.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout {
namespace {

[[noreturn]] void defect(const std::string& what) {
  fail(ErrorKind::defect, "graph: " + what);
}

void set_dims(onnx::TensorProto& tensor, std::span<const int64_t> dims) {
  tensor.clear_dims();
  for (const int64_t dim : dims) tensor.add_dims(dim);
}

void set_shape(onnx::TensorShapeProto& shape, std::span<const int64_t> dims) {
  shape.clear_dim();
  for (const int64_t dim : dims) shape.add_dim()->set_dim_value(dim);
}

std::string type_text(const onnx::TypeProto& type) {
  if (type.has_sequence_type()) return "a sequence of " + type_text(type.sequence_type().elem_type());
  if (type.has_optional_type()) return "an optional " + type_text(type.optional_type().elem_type());
  if (!type.has_tensor_type()) return "no tensor";
  const DataTypeTraits* const known = find_traits(type.tensor_type().elem_type());
  std::string out(known != nullptr ? known->name : "untyped");
  if (!type.tensor_type().has_shape()) return out + " of any shape";
  out += " [";
  for (const auto& dim : type.tensor_type().shape().dim()) {
    if (!out.ends_with('[')) out += ", ";
    out += dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param().empty() ? "?" : escape(dim.dim_param());
  }
  return out + "]";
}

}  // namespace

std::string declared_text(const onnx::ValueInfoProto* info) {
  return info != nullptr && info->has_type() ? type_text(info->type()) : "undeclared";
}

// Value

bool Value::is_overridable() const noexcept {
  // The node of a nested graph gives its inputs, whether or not these have initializers.
  return initializer_ != nullptr && is_input_ && (graph_->outer() != nullptr || graph_->model().ir_version() >= 4);
}

std::optional<ShapeInfo> Value::declared() const {
  if (info_ == nullptr || !info_->type().has_tensor_type()) return std::nullopt;
  const auto& type = info_->type().tensor_type();
  ShapeInfo out;
  if (const DataTypeTraits* known = find_traits(type.elem_type())) out.type = known->type;
  out.has_shape = type.has_shape();
  for (const auto& dim : type.shape().dim()) {
    const bool known = dim.has_dim_value() && dim.dim_value() >= 0;
    out.dims.push_back(known ? dim.dim_value() : -1);
    out.symbols.push_back(dim.dim_param());
  }
  return out;
}

bool Value::is_model_input() const noexcept {
  return is_input_ && graph().outer() == nullptr && !graph().is_function();
}

bool Value::is_stored_constant() const noexcept {
  if (initializer_ != nullptr) return !is_overridable();
  return producer_ != nullptr && producer_->is("Constant");
}

Tensor Initializer::load() const {
  return data ? data->load() : Tensor();
}

// Node

const std::string& Node::op_type() const noexcept {
  return message_->op_type();
}

std::string_view Node::domain() const noexcept {
  return canonical_domain(message_->domain());
}

bool Node::is(std::string_view op_type) const noexcept {
  return message_->op_type() == op_type && domain().empty();
}

std::string Node::label() const {
  const std::string op = " (" + escape(op_type()) + ")";
  if (!name().empty()) return quote(name()) + op;
  if (const Value* const output = first_output(*this); output != nullptr) return "output " + quote(output->name()) + op;
  return "a node without name and outputs" + op;
}

onnx::NodeProto Node::whole_message() const {
  onnx::NodeProto out = *message_;
  write_operands(*this, out);
  return out;
}

const onnx::AttributeProto* Node::attribute(std::string_view name) const noexcept {
  for (const onnx::AttributeProto& attribute : message_->attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

std::vector<std::string_view> Node::subgraph_attributes() const {
  std::vector<std::string_view> out;
  for (const onnx::AttributeProto& attribute : message_->attribute()) {
    for_each_graph_in(attribute, [&](const onnx::GraphProto&) { out.push_back(attribute.name()); });
  }
  return out;
}

const Graph* Node::subgraph(std::string_view name) const noexcept {
  const onnx::AttributeProto* const wanted = attribute(name);
  if (wanted == nullptr || !wanted->has_g()) return nullptr;
  std::size_t index = 0;
  for (const onnx::AttributeProto& earlier : message_->attribute()) {
    if (&earlier == wanted) break;
    for_each_graph_in(earlier, [&](const onnx::GraphProto&) { ++index; });
  }
  return index < subgraphs().size() ? subgraphs()[index].get() : nullptr;
}

int64_t Node::opset() const noexcept {
  return graph_->opset(domain());
}

// Graph: accessors

Graph::~Graph() = default;

const Graph& Graph::top() const noexcept {
  const Graph* out = this;
  while (out->outer_ != nullptr) out = out->outer_;
  return *out;
}

int64_t Graph::opset(std::string_view domain) const noexcept {
  const onnx::FunctionProto* const function = top().function_;
  if (function == nullptr) return model_->opset(domain);
  for (const auto& import : function->opset_import()) {
    if (canonical_domain(import.domain()) == canonical_domain(domain)) return import.version();
  }
  return 0;
}

const std::vector<Value*>& Graph::inputs() const {
  if (index_->input_gaps) {
    std::erase(inputs_, nullptr);
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i]->input_slot_ = i;
    index_->input_gaps = false;
  }
  return inputs_;
}

Value* Graph::find(std::string_view name) const noexcept {
  for (const Graph* graph = this; graph != nullptr; graph = graph->outer_) {
    if (Value* const found = graph->index_->by_name.find(name)) return found;
  }
  return nullptr;
}

void Graph::visit_names(const std::function<void(std::string_view)>& visit) const {
  for (const std::list<Node>* const nodes : {&nodes_, &std::as_const(index_->erased_nodes)}) {
    for (const Node& node : *nodes) visit(node.name_);
  }
  for (const Value& value : index_->values) visit(value.name_);
}

bool Graph::modified() const noexcept {
  return modified_;
}

bool Graph::is_modified(const onnx::ValueInfoProto& entry) const noexcept {
  return index_->modified_entries.contains(&entry);
}

bool Graph::is_stale(const onnx::ValueInfoProto& info) const noexcept {
  return index_->ports.contains(info.name()) || (index_->gone.contains(info.name()) && index_->by_name.find(info.name()) == nullptr);
}

// Graph: parts of the mutators

void Graph::touch(Node* node) {
  if (node != nullptr) node->modified_ = true;
  for (Graph* graph = this; graph != nullptr && !graph->modified_; graph = graph->outer_) {
    graph->modified_ = true;
    if (graph->owner_ != nullptr) graph->owner_->modified_ = true;
  }
}

void Graph::release_name(Value& value) {
  index_->by_name.erase(value.name_);
  if (value.is_in_value_info_) index_->gone.insert(value.name_);
  if (value.info_ != nullptr && !value.is_input_) index_->orphaned_infos.emplace(value.name_, value.info_);
  value.is_in_value_info_ = false;
}

void Graph::bind_name(Value& value, std::string name) {
  value.name_ = std::move(name);
  if (index_->by_name.insert(value) != nullptr) defect("two values are called " + quote(value.name_));
  value.is_in_value_info_ = index_->gone.contains(value.name_);
  if (value.info_ == nullptr) {
    const auto orphan = index_->orphaned_infos.find(value.name_);
    if (orphan != index_->orphaned_infos.end()) value.info_ = orphan->second;
  }
}

Value& Graph::new_value(std::string name) {
  Value& value = index_->values.emplace_back();
  value.graph_ = this;
  bind_name(value, std::move(name));
  return value;
}

void Graph::remove_value(Value& value) {
  if (!value.uses_.empty() || value.is_output()) defect("removing " + quote(value.name_) + ", which is still read");
  release_name(value);
  value.producer_ = nullptr;
  value.initializer_ = nullptr;
  value.info_ = nullptr;
}

void Graph::add_use(Node& node, std::size_t index, Value& value) {
  node.inputs_[index] = &value;
  node.use_slots_[index] = static_cast<int>(value.uses_.size());
  value.uses_.push_back({&node, static_cast<int>(index)});
  if (node.graph_ != value.graph_) ++value.nested_readers_;
}

void Graph::drop_use(Node& node, std::size_t index) {
  Value* const value = node.inputs_[index];
  if (value == nullptr) return;
  const auto slot = as_size(node.use_slots_[index]);
  const Use moved = value->uses_.back();
  value->uses_[slot] = moved;
  moved.node->use_slots_[as_size(moved.index)] = static_cast<int>(slot);
  value->uses_.pop_back();
  if (node.graph_ != value->graph_) --value->nested_readers_;
  node.inputs_[index] = nullptr;
}

void Graph::drop_all_uses(Node& node) {
  const auto drop_operands = [](Node& reader) {
    for (std::size_t i = 0; i < reader.inputs_.size(); ++i) reader.graph_->drop_use(reader, i);
  };
  const auto drop_outputs = [](const Graph& graph) {
    for (Value* output : graph.outputs_) {
      --output->output_count_;
      if (output->graph_ != &graph) --output->nested_readers_;
    }
  };
  drop_operands(node);
  for (const auto& nested : node.subgraphs()) for_each_node(*nested, drop_operands, drop_outputs);
}

void Graph::drop_input_entry(Value& value) {
  inputs_[value.input_slot_] = nullptr;
  index_->input_gaps = true;
  value.is_input_ = false;
  value.info_ = nullptr;
}

// Graph: mutators

void Graph::set_input(Node& node, std::size_t index, Value* value) {
  while (value != nullptr && node.inputs_.size() <= index) {
    node.inputs_.push_back(nullptr);
    node.use_slots_.push_back(0);
  }
  if (index >= node.inputs_.size()) return;
  drop_use(node, index);
  if (value != nullptr) add_use(node, index, *value);
  while (!node.inputs_.empty() && node.inputs_.back() == nullptr) {
    node.inputs_.pop_back();
    node.use_slots_.pop_back();
  }
  node.graph_->touch(&node);
}

void Graph::take_output(Node& node, std::size_t index, Value& value) {
  if (value.graph_ != node.graph_ || value.initializer_ != nullptr || value.is_input_) defect("a node cannot make " + quote(value.name_));
  if (value.producer_ == &node && value.output_index_ == static_cast<int>(index)) return;
  if (index >= node.outputs_.size()) defect("a node has no output " + std::to_string(index));
  if (Node* const old = value.producer_) {
    old->outputs_[as_size(value.output_index_)] = nullptr;
    touch(old);
  }
  Value* const replaced = node.outputs_[index];
  node.outputs_[index] = &value;
  value.producer_ = &node;
  value.output_index_ = static_cast<int>(index);
  if (replaced != nullptr) remove_value(*replaced);
  touch(&node);
}

void Graph::replace_uses(Value& from, Value& to) {
  if (&from == &to) return;
  for (const Use& use : from.uses_) {
    Node& node = *use.node;
    const auto index = as_size(use.index);
    add_use(node, index, to);
    node.graph_->touch(&node);
    if (node.graph_ != from.graph_) --from.nested_readers_;
  }
  from.uses_.clear();
}

void Graph::erase(Node& node) {
  drop_all_uses(node);
  for (Value* output : node.outputs_) {
    if (output != nullptr) remove_value(*output);
  }
  node.inputs_.reset();
  node.use_slots_.reset();
  node.outputs_.assign(node.outputs_.size(), nullptr);
  touch(&node);
  node.erased_ = true;
  index_->erased_nodes.splice(index_->erased_nodes.end(), nodes_, node.self_);
}

Value& Graph::add_initializer(const std::string& name, TensorData data, Initializer* after) {
  if (is_function()) defect("a function has no initializers");
  const auto position = after != nullptr ? std::next(after->self) : initializers_.end();
  const auto self = initializers_.emplace(position);
  Initializer& initializer = *self;
  Value& value = new_value(name);
  initializer.self = self;
  initializer.value = &value;
  initializer.data = std::make_unique<TensorData>(std::move(data));
  initializer.modified = true;
  value.initializer_ = &initializer;
  touch(nullptr);
  if (outer_ == nullptr && model_->ir_version() < 4) add_input_entry(value);
  return value;
}

void Graph::add_input_entry(Value& value) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(static_cast<int>(value.initializer_->data->type()));
  set_shape(*type.mutable_tensor_type()->mutable_shape(), value.initializer_->data->dims());
  add_entry(value, type);
}

onnx::ValueInfoProto& Graph::new_entry(const Value& value, const onnx::TypeProto& type) {
  auto& entry = *index_->loose_infos.emplace_back(std::make_unique<onnx::ValueInfoProto>());
  entry.set_name(value.name_);
  *entry.mutable_type() = type;
  index_->modified_entries.insert(&entry);
  return entry;
}

void Graph::add_entry(Value& value, const onnx::TypeProto& type) {
  value.info_ = &new_entry(value, type);
  value.is_input_ = true;
  value.input_slot_ = inputs_.size();
  inputs_.push_back(&value);
}

void Graph::add_input(Value& value, const onnx::TypeProto& type) {
  if (value.producer_ != nullptr || value.initializer_ != nullptr || value.is_input_) defect("a second source of " + quote(value.name_));
  index_->ports.insert(value.name_);
  add_entry(value, type);
  touch(nullptr);
}

void Graph::erase_input(Value& value) {
  if (value.initializer_ != nullptr || !value.is_input_) defect("removing " + quote(value.name_) + ", which has another source");
  drop_input_entry(value);
  remove_value(value);
  touch(nullptr);
}

void Graph::set_data(Initializer& initializer, TensorData data) {
  initializer.data = std::make_unique<TensorData>(std::move(data));
  initializer.modified = true;
  if (initializer.message != nullptr) {
    set_dims(*initializer.message, initializer.data->dims());
    initializer.message->set_data_type(static_cast<int>(initializer.data->type()));
  }
  Value& value = *initializer.value;
  if (value.is_input_ && value.info_ != nullptr) {
    auto& entry = const_cast<onnx::ValueInfoProto&>(*value.info_);  // the message is this graph's own
    if (entry.type().has_tensor_type() && entry.type().tensor_type().elem_type() != static_cast<int>(initializer.data->type())) {
      entry.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(initializer.data->type()));
      index_->modified_entries.insert(&entry);
    }
    if (entry.type().tensor_type().has_shape()) {
      set_shape(*entry.mutable_type()->mutable_tensor_type()->mutable_shape(), initializer.data->dims());
      index_->modified_entries.insert(&entry);
    }
  }
  touch(nullptr);
}

void Graph::set_constant(Node& constant, TensorData data) {
  for (onnx::AttributeProto& attribute : *edit(constant).mutable_attribute()) {
    if (attribute.name() != "value") continue;
    set_dims(*attribute.mutable_t(), data.dims());
    attribute.mutable_t()->set_data_type(static_cast<int>(data.type()));
  }
  constant.constant_data_ = std::make_unique<TensorData>(std::move(data));
}

void Graph::move_source(Value& from, Value& to) {
  if (Node* const producer = from.producer_) {
    to.producer_ = producer;
    to.output_index_ = from.output_index_;
    producer->outputs_[as_size(from.output_index_)] = &to;
    from.producer_ = nullptr;
    touch(producer);
    return;
  }
  Initializer& initializer = *from.initializer_;
  to.initializer_ = &initializer;
  from.initializer_ = nullptr;
  initializer.value = &to;
  initializer.modified = true;
  if (initializer.message != nullptr) initializer.message->set_name(to.name_);
  if (initializer.sparse != nullptr) initializer.sparse->mutable_values()->set_name(to.name_);
  if (from.is_input_) {
    auto& entry = const_cast<onnx::ValueInfoProto&>(*from.info_);
    entry.set_name(to.name_);
    index_->modified_entries.insert(&entry);
    to.info_ = &entry;
    to.is_input_ = true;
    to.input_slot_ = from.input_slot_;
    inputs_[to.input_slot_] = &to;
    from.is_input_ = false;
    from.info_ = nullptr;
  }
  touch(nullptr);
}

Value& Graph::detach(Value& value, const std::string& name) {
  if (value.is_overridable()) defect("detaching the overridable initializer " + quote(value.name_));
  Value& source = new_value(name);
  move_source(value, source);
  return source;
}

void Graph::attach(Value& source, Node& node) {
  if (node.output(0) == nullptr) defect("attaching to a node without output");
  Value& target = *node.outputs_[0];
  if (source.uses_.size() != 1 || source.uses_.front().node != &node || source.is_output()) {
    defect("attaching " + quote(source.name_) + ", which has other readers");
  }
  node.outputs_[0] = nullptr;
  target.producer_ = nullptr;
  target.output_index_ = 0;
  erase(node);
  move_source(source, target);
  remove_value(source);
}

void Graph::erase_initializer(Initializer& initializer) {
  Value& value = *initializer.value;
  if (value.is_overridable()) defect("removing the overridable initializer " + quote(value.name_));
  if (value.is_input_) drop_input_entry(value);
  remove_value(value);
  touch(nullptr);
  initializers_.erase(initializer.self);
}

void Graph::freeze(Initializer& initializer) {
  drop_input_entry(*initializer.value);
  touch(nullptr);
}

void Graph::permute_declared(Value& value, std::span<const int64_t> permutation) {
  const auto permute = [&](onnx::ValueInfoProto& info) {
    if (info.name() != value.name_ || !info.type().has_tensor_type() || !info.type().tensor_type().has_shape()) return;
    onnx::TensorShapeProto& shape = *info.mutable_type()->mutable_tensor_type()->mutable_shape();
    if (as_size(shape.dim_size()) != permutation.size()) return;
    const onnx::TensorShapeProto before = shape;
    for (int i = 0; i < shape.dim_size(); ++i) *shape.mutable_dim(i) = before.dim(static_cast<int>(permutation[as_size(i)]));
    index_->modified_entries.insert(&info);
  };
  for (onnx::ValueInfoProto& info : *message_->mutable_input()) permute(info);
  for (onnx::ValueInfoProto& info : *message_->mutable_output()) permute(info);
  touch(nullptr);
}

void Graph::edit_declarations(const std::function<bool(onnx::ValueInfoProto& entry)>& edit) {
  const auto visit = [&](onnx::ValueInfoProto& entry) {
    if (!edit(entry)) return;
    index_->modified_entries.insert(&entry);
    touch(nullptr);
  };
  for (Value* const value : inputs()) {
    if (value->info_ != nullptr) visit(const_cast<onnx::ValueInfoProto&>(*value->info_));  // the message is this graph's own
  }
  if (message_ != nullptr) std::ranges::for_each(*message_->mutable_output(), visit);
  std::ranges::for_each(message_ != nullptr ? *message_->mutable_value_info() : *function_->mutable_value_info(), visit);
}

void Graph::declare_types(const std::unordered_map<std::string, DataType>& types) {
  edit_declarations([&](onnx::ValueInfoProto& entry) {
    const auto found = entry.type().has_tensor_type() ? types.find(entry.name()) : types.end();
    if (found == types.end() || entry.type().tensor_type().elem_type() == static_cast<int>(found->second)) return false;
    entry.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(found->second));
    return true;
  });
}

void Graph::rename(Value& value, const std::string& name) {
  const auto own = std::ranges::count(outputs_, &value);
  if (own > 0 && is_function()) defect("renaming the output " + quote(value.name_) + " of a function");
  const auto rename_outputs = [&](Graph& graph) {
    for (std::size_t i = 0; i < graph.outputs_.size(); ++i) {
      if (graph.outputs_[i] != &value) continue;
      onnx::ValueInfoProto& entry = *graph.message_->mutable_output(static_cast<int>(i));
      entry.set_name(name);
      graph.index_->modified_entries.insert(&entry);
      graph.touch(nullptr);
    }
  };
  if (own == value.output_count_) {
    if (own > 0) rename_outputs(*this);
  } else {
    for_each_graph(*this, rename_outputs);
  }
  // The entry of an output keeps describing the value; an entry of value_info does not.
  const onnx::ValueInfoProto* const declared =
      value.is_input_ || (value.info_ != nullptr && value.info_->name() == name) ? value.info_ : nullptr;
  if (declared != nullptr && !value.is_input_) value.info_ = nullptr;
  release_name(value);
  value.info_ = declared;
  bind_name(value, name);
  if (value.producer_ != nullptr) touch(value.producer_);
  if (Initializer* const initializer = value.initializer_) {
    initializer->modified = true;
    if (initializer->message != nullptr) initializer->message->set_name(name);
    if (initializer->sparse != nullptr) initializer->sparse->mutable_values()->set_name(name);
    touch(nullptr);
  }
  if (value.is_input_ && value.info_ != nullptr) {
    auto& entry = const_cast<onnx::ValueInfoProto&>(*value.info_);  // the message is this graph's own
    entry.set_name(name);
    index_->modified_entries.insert(&entry);
  }
  for (const Use& use : value.uses_) use.node->graph_->touch(use.node);
}

onnx::NodeProto& Graph::edit(Node& node) {
  touch(&node);
  return index_->own_message(node);
}

}  // namespace relayout
