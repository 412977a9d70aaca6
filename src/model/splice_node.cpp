// Writes nodes with their attributes into the saved file, copied where unchanged.

#include "model/origin.h"
#include "model/segments.h"
#include "model/splicer.h"
#include "model/tensor_data.h"
#include "relayout/error.h"
#include "relayout/graph.h"

namespace relayout {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;

/// Whether the attribute holds graphs, or tensors whose payload is not in the message.
bool holds_more(const AttributeProto& attribute) {
  const auto apart = [](const onnx::TensorProto& tensor) { return !tensor.unknown_fields().empty() || is_external(tensor); };
  return attribute.has_g() || attribute.graphs_size() > 0 || attribute.has_sparse_tensor() || attribute.sparse_tensors_size() > 0 ||
         (attribute.has_t() && apart(attribute.t())) || std::ranges::any_of(attribute.tensors(), apart);
}

/// The index of a nested graph; a node indexes every graph in its attributes.
const Graph& index_of(const Node& node, const GraphProto& message) {
  for (const auto& nested : node.subgraphs()) {
    if (nested->message() == &message) return *nested;
  }
  fail(ErrorKind::defect, "a nested graph without an index in node " + node.label());
}

const TensorData* new_contents(const AttributeProto& attribute, const Node* node) {
  return node != nullptr && attribute.name() == "value" ? node->constant_data() : nullptr;
}

}  // namespace

void Splicer::node(Segments& out, int field, const Node& node, const Item* item) {
  if (item == nullptr) return put(out, field, nullptr, node_anew(node));
  if (!node.modified() && !moves_) return copy(out, *item);
  const Items items = origin_.items_of(node.message());
  if (!node.modified() && items.empty()) return copy(out, *item);
  if (!items.empty() && owns_same_fields(node.whole_message(), items)) return put(out, field, item, node_by_items(node, items));
  // A change that was undone leaves the original bytes.
  if (items.empty() && node.constant_data() == nullptr && encode::is_same(window_, *item, node.whole_message())) return copy(out, *item);
  put(out, field, item, node_anew(node));
}

/// Whether the node's own fields (all but the recorded attributes) are equal to those of its items.
bool Splicer::owns_same_fields(const NodeProto& message, Items items) {
  const auto is_recorded = [&](const AttributeProto& attribute) { return origin_.record_of(attribute) != nullptr; };
  std::string bytes;
  int attributes = 0;
  for (const Item& item : items) {
    if (item.is(NodeProto::kAttributeFieldNumber)) {
      if (attributes >= message.attribute_size()) return false;
      const Items inner = origin_.items_of(message.attribute(attributes++));
      if (!inner.empty() && inner.front().start >= item.start && inner.back().end <= item.end) continue;
    }
    bytes += encode::item_bytes(window_, item);
  }
  NodeProto original, now = message;
  if (attributes != message.attribute_size() || !original.ParsePartialFromString(bytes)) return false;
  auto& list = *now.mutable_attribute();
  list.erase(std::remove_if(list.begin(), list.end(), is_recorded), list.end());
  encode::unmark(original);
  return encode::serialized(original) == encode::serialized(now);
}

Segments Splicer::node_by_items(const Node& node, Items items) {
  constexpr int kField = NodeProto::kAttributeFieldNumber;
  Segments out;
  int next = 0;
  for (const Item& item : items) {
    if (!item.is(kField)) {
      copy(out, item);
      continue;
    }
    const AttributeProto& attribute = node.message().attribute(next++);
    const Items inner = origin_.items_of(attribute);
    inner.empty() ? copy(out, item) : put(out, kField, &item, attribute_by_items(attribute, inner, &node));
  }
  return out;
}

Segments Splicer::node_anew(const Node& node) {
  const NodeProto& message = node.message();
  const bool whole = node.constant_data() == nullptr && std::ranges::none_of(message.attribute(), holds_more);
  Segments out;
  if (whole) {
    out.literal(encode::serialized(node.whole_message()));
    return out;
  }
  NodeProto shell = node.whole_message();
  shell.clear_attribute();
  // In the order of protobuf's encoding, so that undoing a change in a later run restores the original bytes.
  out.literal(encode::serialized_fields(shell, 1, NodeProto::kAttributeFieldNumber - 1));
  for (const AttributeProto& attribute : message.attribute()) {
    put(out, NodeProto::kAttributeFieldNumber, nullptr, attribute_anew(attribute, node));
  }
  out.literal(encode::serialized_fields(shell, NodeProto::kAttributeFieldNumber + 1, encode::kLastField));
  return out;
}

Segments Splicer::attribute_by_items(const AttributeProto& attribute, Items items, const Node* node) {
  const auto count = [&](int field) { return std::ranges::count_if(items, [&](const Item& item) { return item.is(field); }); };
  const bool tensor_in_pieces = count(AttributeProto::kTFieldNumber) > 1;  // none of the pieces has its data elsewhere
  Segments out;
  int next_tensor = 0, next_graph = 0;
  bool graph_done = false;
  const auto put_graph = [&](int field, const Item& item, const GraphProto& message) {
    const Graph* const nested = node == nullptr ? nullptr : &index_of(*node, message);
    if (nested == nullptr || !touched(*nested)) return copy(out, item);
    // A graph in several pieces is written as one.
    if (field == AttributeProto::kGFieldNumber && std::exchange(graph_done, true)) return;
    put(out, field, &item, graph(*nested));
  };
  for (const Item& item : items) {
    if (item.is(AttributeProto::kTFieldNumber) && !tensor_in_pieces) {
      put(out, AttributeProto::kTFieldNumber, &item, tensors_.in_attribute(attribute.t(), item, new_contents(attribute, node)));
    } else if (item.is(AttributeProto::kTensorsFieldNumber)) {
      put(out, AttributeProto::kTensorsFieldNumber, &item, tensors_.in_attribute(attribute.tensors(next_tensor++), item, nullptr));
    } else if (item.is(AttributeProto::kGFieldNumber)) {
      put_graph(AttributeProto::kGFieldNumber, item, attribute.g());
    } else if (item.is(AttributeProto::kGraphsFieldNumber)) {
      put_graph(AttributeProto::kGraphsFieldNumber, item, attribute.graphs(next_graph++));
    } else {
      copy(out, item);
    }
  }
  return out;
}

Segments Splicer::attribute_anew(const AttributeProto& attribute, const Node& node) {
  Segments out;
  const TensorData* const contents = new_contents(attribute, &node);
  if (contents == nullptr && !holds_more(attribute)) {
    out.literal(encode::serialized(attribute));
    return out;
  }
  AttributeProto shell = attribute;
  shell.clear_t();
  shell.clear_g();
  shell.clear_tensors();
  shell.clear_graphs();
  shell.clear_sparse_tensor();
  shell.clear_sparse_tensors();
  const auto put_fields = [&](int first, int last) { out.literal(encode::serialized_fields(shell, first, last)); };
  const auto put_tensor = [&](int field, const onnx::TensorProto& tensor, const TensorData* data) {
    put(out, field, nullptr, tensors_.anew({.message = &tensor, .data = data, .in_attribute = true}));
  };
  const auto put_graph = [&](int field, const GraphProto& message) { put(out, field, nullptr, graph(index_of(node, message))); };
  put_fields(1, AttributeProto::kTFieldNumber - 1);
  if (attribute.has_t()) put_tensor(AttributeProto::kTFieldNumber, attribute.t(), contents);
  if (attribute.has_g()) put_graph(AttributeProto::kGFieldNumber, attribute.g());
  put_fields(AttributeProto::kGFieldNumber + 1, AttributeProto::kTensorsFieldNumber - 1);
  for (const auto& tensor : attribute.tensors()) put_tensor(AttributeProto::kTensorsFieldNumber, tensor, nullptr);
  for (const auto& nested : attribute.graphs()) put_graph(AttributeProto::kGraphsFieldNumber, nested);
  put_fields(AttributeProto::kGraphsFieldNumber + 1, AttributeProto::kSparseTensorFieldNumber - 1);
  if (attribute.has_sparse_tensor())
    put(out, AttributeProto::kSparseTensorFieldNumber, nullptr, tensors_.sparse(attribute.sparse_tensor()));
  for (const auto& tensor : attribute.sparse_tensors())
    put(out, AttributeProto::kSparseTensorsFieldNumber, nullptr, tensors_.sparse(tensor));
  put_fields(AttributeProto::kSparseTensorsFieldNumber + 1, encode::kLastField);
  return out;
}

}  // namespace relayout
