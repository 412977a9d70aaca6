// Writes a graph's edits into its protobuf messages before saving, and validates that both agree.

#include "base/positions.h"
#include "base/text.h"
#include "model/model_builder.h"
#include "model/origin.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Makes `field` hold exactly `wanted`, in this order. Messages are moved by pointer, so that pointers to them stay valid. Messages removed
/// from `field` are moved to `loose`; the arena owns messages on an arena.
template <class Message>
void rebuild(google::protobuf::RepeatedPtrField<Message>& field, const std::vector<Message*>& wanted,
             std::vector<std::unique_ptr<Message>>& loose) {
  const bool on_arena = field.GetArena() != nullptr;
  std::vector<Message*> had(as_size(field.size()));
  field.UnsafeArenaExtractSubrange(0, field.size(), had.data());
  const std::unordered_set<Message*> kept(wanted.begin(), wanted.end());
  if (!on_arena) {
    for (auto& message : loose) {
      if (kept.contains(message.get())) static_cast<void>(message.release());
    }
    std::erase(loose, nullptr);
    for (Message* message : had) {
      if (!kept.contains(message)) loose.emplace_back(message);
    }
  }
  field.Reserve(static_cast<int>(wanted.size()));
  for (Message* message : wanted) field.UnsafeArenaAddAllocated(message);
}

[[noreturn]] void broken(const std::string& what) {
  fail(ErrorKind::defect, "graph and messages disagree: " + what);
}

void expect(bool holds, const std::string& what) {
  if (!holds) broken(what);
}

}  // namespace

void Graph::sync() {
  for_each_graph(*this, [](Graph& graph) { graph.sync_level(); });
}

void Graph::set_outputs(const std::vector<std::pair<Value*, const onnx::TypeProto*>>& outputs) {
  std::vector<onnx::ValueInfoProto*> entries;
  for (const auto& [value, type] : outputs) {
    onnx::ValueInfoProto* entry = nullptr;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i] == value) entry = message_->mutable_output(static_cast<int>(i));
    }
    if (entry == nullptr) index_->ports.insert(value->name_);
    entries.push_back(entry != nullptr ? entry : &new_entry(*value, *type));
  }
  for (Value* const value : outputs_) {
    --value->output_count_;
    value->is_own_output_ = false;
  }
  outputs_.clear();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Value& value = *outputs[i].first;
    ++value.output_count_;
    value.is_own_output_ = true;
    value.info_ = entries[i];
    outputs_.push_back(&value);
  }
  rebuild(*message_->mutable_output(), entries, index_->loose_infos);
  touch(nullptr);
}

void Graph::validate() const {
  for_each_graph(*this, [](const Graph& graph) { graph.validate_level(); });
}

void Graph::sync_level() {
  std::vector<onnx::NodeProto*> nodes;
  for (Node& node : nodes_) write_operands(node, *nodes.emplace_back(&index_->own_message(node)));
  auto* const infos = is_function() ? function_->mutable_value_info() : message_->mutable_value_info();
  std::vector<onnx::ValueInfoProto*> live_infos;
  for (onnx::ValueInfoProto& info : *infos) {
    if (!is_stale(info)) live_infos.push_back(&info);
  }
  rebuild(is_function() ? *function_->mutable_node() : *message_->mutable_node(), nodes, index_->loose_nodes);
  rebuild(*infos, live_infos, index_->loose_infos);
  if (is_function()) return;

  std::vector<onnx::TensorProto*> tensors;
  std::vector<onnx::SparseTensorProto*> sparse_tensors;
  const ModelOrigin& origin = origin_of(*model_);
  for (Initializer& initializer : initializers_) {
    if (initializer.sparse != nullptr) {
      sparse_tensors.push_back(initializer.sparse);
      continue;
    }
    if (initializer.message == nullptr) {
      initializer.message = index_->loose_tensors.emplace_back(std::make_unique<onnx::TensorProto>()).get();
      if (initializer.file_index >= 0) origin.read_initializer(as_size(initializer.file_index), *initializer.message);
      write_header(initializer, *initializer.message);
    }
    tensors.push_back(initializer.message);
  }
  std::vector<onnx::ValueInfoProto*> inputs;
  for (const Value* input : Graph::inputs()) inputs.push_back(const_cast<onnx::ValueInfoProto*>(input->info_));
  rebuild(*message_->mutable_initializer(), tensors, index_->loose_tensors);
  rebuild(*message_->mutable_sparse_initializer(), sparse_tensors, index_->loose_sparse_tensors);
  rebuild(*message_->mutable_input(), inputs, index_->loose_infos);
}

void Graph::validate_level() const {
  int64_t order = 0;
  for (const Node& node : nodes_) const_cast<Node&>(node).order_ = order++;
  for (const Value& value : index_->values) validate_value(value);
  for (const Node& node : nodes_) validate_node(node);
  for (const Initializer& initializer : initializers_) {
    const Value& value = *initializer.value;
    expect(value.initializer_ == &initializer, "initializer " + quote(value.name_) + " is not its value's");
    if (initializer.message != nullptr) expect(initializer.message->name() == value.name_, "name of initializer " + quote(value.name_));
    if (initializer.data) {
      const int64_t bytes = packed_byte_size(initializer.data->source_type(), element_count(initializer.data->dims()));
      expect(initializer.data->source().size() == bytes, "size of initializer " + quote(value.name_));
    }
  }
  for (std::size_t i = 0; i < inputs().size(); ++i) {
    const Value& value = *inputs()[i];
    expect(value.is_input_ && value.input_slot_ == i, "input " + quote(value.name_));
    if (value.info_ != nullptr) expect(value.info_->name() == value.name_, "name of input " + quote(value.name_));
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const std::string& name = is_function() ? function_->output(static_cast<int>(i)) : message_->output(static_cast<int>(i)).name();
    expect(outputs_[i]->name_ == name && outputs_[i]->output_count_ > 0 && find(name) == outputs_[i], "graph output " + quote(name));
  }
}

void Graph::validate_value(const Value& value) const {
  if (index_->by_name.find(value.name_) != &value) {
    expect(value.uses_.empty() && !value.is_output(), quote(value.name_) + " is gone but still read");
    return;
  }
  const int sources = (value.producer_ != nullptr ? 1 : 0) + (value.initializer_ != nullptr || value.is_input_ ? 1 : 0);
  expect(sources == 1, quote(value.name_) + " is made " + std::to_string(sources) + " times");
  if (const Node* const producer = value.producer_) {
    expect(!producer->erased_ && producer->output(as_size(value.output_index_)) == &value,
           quote(value.name_) + " is not made by its producer");
  }
  for (std::size_t slot = 0; slot < value.uses_.size(); ++slot) {
    const Use& use = value.uses_[slot];
    const auto index = as_size(use.index);
    expect(use.node->input(index) == &value && use.node->use_slots_[index] == static_cast<int>(slot), "uses of " + quote(value.name_));
    if (value.producer_ == nullptr) continue;
    const Node* reader = use.node;
    while (reader != nullptr && reader->graph_ != this) reader = reader->graph_->owner_;
    expect(reader != nullptr, quote(value.name_) + " is read outside its scope");
    expect(value.producer_->order_ < reader->order_, quote(value.name_) + " is read before it is made");
  }
}

void Graph::validate_node(const Node& node) const {
  expect(!node.erased_ && node.graph_ == this, "erased node " + node.label());
  for (const Value* const value : node.inputs_) {
    expect(value == nullptr || find(value->name_) == value, "an input of node " + node.label());
  }
  for (std::size_t i = 0; i < node.outputs_.size(); ++i) {
    const Value* const value = node.outputs_[i];
    expect(value == nullptr || (value->producer_ == &node && value->output_index_ == static_cast<int>(i)),
           "output " + std::to_string(i) + " of node " + node.label());
  }
}

}  // namespace relayout
