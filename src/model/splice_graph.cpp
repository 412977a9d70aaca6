// Writes graphs, functions and nodes into the saved file around copies of what has not changed.

#include <numeric>

#include "base/positions.h"
#include "model/origin.h"
#include "model/segments.h"
#include "model/splicer.h"
#include "model/tensor_data.h"
#include "model/wire.h"
#include "relayout/error.h"
#include "relayout/graph.h"

namespace relayout {

namespace {

using onnx::FunctionProto;
using onnx::GraphProto;

/// For each current element, its number in the file or -1.
template <class Message>
std::vector<int64_t> numbers_of(const std::vector<const Message*>& now, const std::vector<const Message*>& originals) {
  const auto original = [&](uint32_t number) { return originals[number]; };
  std::vector<uint32_t> known(originals.size());  // numbers, sorted by address
  std::iota(known.begin(), known.end(), uint32_t{0});
  std::ranges::sort(known, std::less(), original);
  std::vector<int64_t> out;
  out.reserve(now.size());
  for (const Message* message : now) {
    const auto found = std::ranges::lower_bound(known, message, std::less(), original);
    out.push_back(found == known.end() || originals[*found] != message ? -1 : int64_t{*found});
  }
  return out;
}

}  // namespace

/// A repeated field: its items in the file, its current elements, and the function that writes an element.
struct Splicer::List {
  /// Writes an element in place of `item`, which has this number, or as a new element (null).
  using Write = std::function<void(std::size_t element, const Item* item, int64_t number)>;

  int field;
  std::vector<const Item*> items;
  MergeList merge;
  Write write;

  /// `numbers` of the current elements in the file, which has `originals` elements.
  List(Items all, int number, std::vector<int64_t> numbers, std::size_t originals, Write writer)
      : field(number), merge(std::move(numbers), originals), write(std::move(writer)) {
    items.reserve(originals);
    for (const Item& item : all) {
      if (item.is(number)) items.push_back(&item);
    }
  }
  void at_next_item() {
    merge.at_next_item([this](std::size_t element) { write_one(element); });
  }
  void at_end() {
    merge.at_end([this](std::size_t element) { write_one(element); });
  }

 private:
  void write_one(std::size_t element) {
    const int64_t number = merge.number(element);
    write(element, number < 0 ? nullptr : items[as_size(number)], number);
  }
};

/// The repeated fields of one graph or function, whose elements are written one by one.
class Splicer::GraphLists {
 public:
  GraphLists(Splicer& splicer, const Graph& graph, Items items, const OriginalElements& originals, Segments& out)
      : splicer_(splicer), graph_(graph), items_(items), originals_(originals), out_(out) {}

  List nodes(int field) const {
    std::vector<const Node*> nodes;
    std::vector<int64_t> numbers;
    nodes.reserve(graph_.nodes().size());
    numbers.reserve(graph_.nodes().size());
    for (const Node& node : graph_.nodes()) {
      nodes.push_back(&node);
      numbers.push_back(node.file_index());
    }
    return {
        items_, field, std::move(numbers), originals_.nodes,
        [this, field, nodes = std::move(nodes)](std::size_t i, const Item* item, int64_t) { splicer_.node(out_, field, *nodes[i], item); }};
  }

  List value_infos(int field) const {
    const std::vector<const onnx::ValueInfoProto*>& originals = originals_.value_infos;
    std::vector<const onnx::ValueInfoProto*> live;
    for (const onnx::ValueInfoProto* info : originals) {
      if (!graph_.is_stale(*info)) live.push_back(info);
    }
    return {items_, field, numbers_of(live, originals), originals.size(),
            [this, field, live = std::move(live)](std::size_t i, const Item* item, int64_t) {
              splicer_.port(out_, graph_, field, *live[i], item);
            }};
  }

  List inputs() const {
    constexpr int kField = GraphProto::kInputFieldNumber;
    std::vector<const onnx::ValueInfoProto*> infos;
    for (const Value* value : graph_.inputs()) infos.push_back(value->info());
    return {items_, kField, numbers_of(infos, originals_.inputs), originals_.inputs.size(),
            [this](std::size_t i, const Item* item, int64_t) { splicer_.port(out_, graph_, kField, *graph_.inputs()[i]->info(), item); }};
  }

  List outputs() const {
    constexpr int kField = GraphProto::kOutputFieldNumber;
    const auto& entries = graph_.message()->output();
    std::vector<const onnx::ValueInfoProto*> infos;
    for (const onnx::ValueInfoProto& info : entries) infos.push_back(&info);
    return {items_, kField, numbers_of(infos, originals_.outputs), originals_.outputs.size(),
            [this, &entries](std::size_t i, const Item* item, int64_t) {
              splicer_.port(out_, graph_, kField, entries[static_cast<int>(i)], item);
            }};
  }

  List initializers() const {
    std::vector<const Initializer*> dense;
    std::vector<int64_t> numbers;
    dense.reserve(graph_.initializers().size());
    numbers.reserve(graph_.initializers().size());
    for (const Initializer& initializer : graph_.initializers()) {
      if (initializer.sparse != nullptr) continue;
      dense.push_back(&initializer);
      numbers.push_back(initializer.file_index);
    }
    return {items_, GraphProto::kInitializerFieldNumber, std::move(numbers), originals_.initializers,
            [this, dense = std::move(dense)](std::size_t i, const Item* item, int64_t number) {
              splicer_.initializer(out_, *dense[i], item, number);
            }};
  }

  List sparse_initializers() const {
    std::vector<const Initializer*> sparse;
    std::vector<int64_t> numbers;
    for (const Initializer& initializer : graph_.initializers()) {
      if (initializer.sparse == nullptr) continue;
      sparse.push_back(&initializer);
      numbers.push_back(initializer.file_index);
    }
    return {items_, GraphProto::kSparseInitializerFieldNumber, std::move(numbers), originals_.sparse_initializers,
            [this, sparse = std::move(sparse)](std::size_t i, const Item* item, int64_t) {
              splicer_.sparse_initializer(out_, *sparse[i], item);
            }};
  }

 private:
  Splicer& splicer_;
  const Graph& graph_;
  Items items_;
  const OriginalElements& originals_;
  Segments& out_;
};

Segments Splicer::graph(const Graph& graph) {
  const GraphProto& message = *graph.message();
  const auto found = origin_.elements.find(&message);
  if (found == origin_.elements.end()) return graph_anew(graph);
  const OriginalElements& originals = found->second;
  const Items items = origin_.items_of(message);
  Segments out;
  const GraphLists fields(*this, graph, items, originals, out);
  std::vector<List> lists;
  lists.push_back(fields.nodes(GraphProto::kNodeFieldNumber));
  lists.push_back(fields.initializers());
  lists.push_back(fields.sparse_initializers());
  lists.push_back(fields.inputs());
  lists.push_back(fields.outputs());
  lists.push_back(fields.value_infos(GraphProto::kValueInfoFieldNumber));
  OwnAnnotations own(message, items);
  for (const Item& item : items) {
    const auto list = std::ranges::find_if(lists, [&](const List& candidate) { return item.is(candidate.field); });
    if (list != lists.end()) {
      list->at_next_item();
    } else if (!own.put(out, item)) {
      copy(out, item);
    }
  }
  for (List& list : lists) list.at_end();
  return out;
}

/// A graph that is not in the file, in a node added by a pass.
Segments Splicer::graph_anew(const Graph& graph) {
  GraphProto shell = *graph.message();
  shell.clear_node();
  shell.clear_initializer();
  shell.clear_sparse_initializer();
  shell.clear_input();
  shell.clear_value_info();
  Segments out;
  out.literal(encode::serialized(shell));
  for (const Node& inner : graph.nodes()) node(out, GraphProto::kNodeFieldNumber, inner, nullptr);
  for (const Initializer& initial : graph.initializers()) {
    initial.sparse != nullptr ? sparse_initializer(out, initial, nullptr) : initializer(out, initial, nullptr, -1);
  }
  for (const Value* value : graph.inputs()) port(out, graph, GraphProto::kInputFieldNumber, *value->info(), nullptr);
  for (const onnx::ValueInfoProto& info : graph.message()->value_info()) {
    if (graph.is_stale(info)) continue;
    Segments body;
    body.literal(encode::serialized(info));
    put(out, GraphProto::kValueInfoFieldNumber, nullptr, std::move(body));
  }
  return out;
}

Segments Splicer::function(const Graph& function) {
  const FunctionProto& message = *function.function();
  const OriginalElements& originals = origin_.elements.at(&message);
  const Items items = origin_.items_of(message);
  Segments out;
  const GraphLists fields(*this, function, items, originals, out);
  List nodes = fields.nodes(FunctionProto::kNodeFieldNumber);
  List infos = fields.value_infos(FunctionProto::kValueInfoFieldNumber);
  OwnAnnotations own(message, items);
  int next_default = 0;
  for (const Item& item : items) {
    if (item.is(nodes.field)) {
      nodes.at_next_item();
    } else if (item.is(infos.field)) {
      infos.at_next_item();
    } else if (item.is(FunctionProto::kAttributeProtoFieldNumber)) {
      const onnx::AttributeProto& value = message.attribute_proto(next_default++);
      const Items inner = origin_.items_of(value);
      inner.empty() ? copy(out, item)
                    : put(out, FunctionProto::kAttributeProtoFieldNumber, &item, attribute_by_items(value, inner, nullptr));
    } else if (!own.put(out, item)) {
      copy(out, item);
    }
  }
  nodes.at_end();
  return out;
}

void Splicer::port(Segments& out, const Graph& graph, int field, const onnx::ValueInfoProto& info, const Item* item) {
  // A change that was undone leaves the original bytes.
  if (item != nullptr && (!graph.is_modified(info) || encode::is_same(window_, *item, info))) return copy(out, *item);
  Segments body;
  body.literal(encode::serialized(info));
  put(out, field, item, std::move(body));
}

void Splicer::initializer(Segments& out, const Initializer& initializer, const Item* item, int64_t number) {
  constexpr int kField = GraphProto::kInitializerFieldNumber;
  const onnx::TensorProto* message = initializer.message;
  if (item != nullptr) {
    if (!initializer.modified && !moves_) return copy(out, *item);
    onnx::TensorProto read;  // for an initializer whose message is not kept
    if (message == nullptr) {
      origin_.read_initializer(as_size(number), read);
      write_header(initializer, read);
      message = &read;
    }
    const std::vector<Item> items = wire::items_of_tensor(window_, item->payload(), item->end);
    return put(out, kField, item, tensors_.patched(items, {.message = message, .data = initializer.data.get()}));
  }
  if (message != nullptr) {
    return put(out, kField, nullptr, tensors_.anew({.message = message, .data = initializer.data.get(), .is_new = true}));
  }
  onnx::TensorProto made;
  write_header(initializer, made);
  put(out, kField, nullptr, tensors_.anew({.message = &made, .data = initializer.data.get(), .is_new = true}));
}

void Splicer::sparse_initializer(Segments& out, const Initializer& initializer, const Item* item) {
  if (item != nullptr && !initializer.modified) return copy(out, *item);
  put(out, GraphProto::kSparseInitializerFieldNumber, item, tensors_.sparse(*initializer.sparse));
}

// Writes nodes with their attributes into the saved file, copied where unchanged.
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
