// Builds a graph from the file, sorts its nodes, and refuses what does not fit together.
// Values, uses and order are indexed for each scope.

#include "base/log.h"
#include "base/positions.h"
#include "base/text.h"
#include "model/model_builder.h"
#include "model/node.h"
#include "model/origin.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "model/wire.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  fail(ErrorKind::invalid, what);
}

/// Prefix of error messages about a graph.
std::string place_of(const Graph& graph) {
  if (graph.is_function()) return "function " + quote(graph.function()->name()) + ": ";
  if (graph.owner() != nullptr) return "graph in node " + graph.owner()->label() + ": ";
  return "";
}

std::string source_of(const Value& value) {
  if (value.producer() != nullptr) return "made by node " + value.producer()->label();
  return value.is_input() ? "an input" : "an initializer";
}

/// Whether no value can have both types.
bool contradict(const onnx::ValueInfoProto& a, const onnx::ValueInfoProto& b) {
  if (a.type().value_case() != b.type().value_case()) return a.has_type() && b.has_type();
  const auto& tensor_a = a.type().tensor_type();
  const auto& tensor_b = b.type().tensor_type();
  if (!a.type().has_tensor_type()) return a.type().SerializeAsString() != b.type().SerializeAsString();
  if (tensor_a.elem_type() != tensor_b.elem_type()) return true;
  if (!tensor_a.has_shape() || !tensor_b.has_shape()) return false;
  return !std::ranges::equal(tensor_a.shape().dim(), tensor_b.shape().dim(), [](const auto& dim_a, const auto& dim_b) {
    return !dim_a.has_dim_value() || !dim_b.has_dim_value() || dim_a.dim_value() == dim_b.dim_value();
  });
}

/// Whether type, dims, name and raw data are all that the index needs: no typed fields, external data, strings or annotations.
bool is_plain(const onnx::TensorProto& tensor) {
  const bool is_typed = tensor.float_data_size() > 0 || tensor.double_data_size() > 0 || tensor.int32_data_size() > 0 ||
                        tensor.int64_data_size() > 0 || tensor.uint64_data_size() > 0 || tensor.string_data_size() > 0;
  const bool is_annotated = tensor.has_doc_string() || tensor.metadata_props_size() > 0;
  return !is_typed && !is_annotated && !is_external(tensor) && tensor.data_type() != onnx::TensorProto::STRING;
}

/// Lets a small payload refer to the bytes of its message.
void share_bytes(TensorData& data, const ModelOrigin& origin, std::size_t number) {
  constexpr std::size_t kLongest = 4096;  // message to search
  const std::span<const std::byte> own = data.source().memory();
  const std::string_view bytes = origin.bytes_of_initializer(number);
  if (own.empty() || bytes.size() > kLongest) return;
  const std::size_t at = bytes.rfind(std::string_view(reinterpret_cast<const char*>(own.data()), own.size()));
  if (at == std::string_view::npos) return;
  data = TensorData(data.type(), data.dims(), Bytes::held(origin.initializer_bytes, bytes.substr(at, own.size())));
}

/// Calls `visit` for each node of the main graph, in the order of the file, with whether it is recorded, and with its bytes (empty for a
/// recorded node).
template <class Visit>
void for_each_main_node(const wire::Walk& walk, const Visit& visit) {
  std::size_t begin = 0;
  for (const wire::MainNode& node : walk.main_nodes) {
    visit(node.is_recorded, std::string_view(walk.nodes).substr(begin, node.end - begin));
    begin = node.end;
  }
}

/// The messages of the main graph's nodes. Most nodes differ from an earlier one only in name and operands, and share its message.
class MessagesOfMain {
 public:
  MessagesOfMain(onnx::GraphProto& graph, const ModelOrigin& origin) : graph_(&graph), origin_(&origin) {}

  /// Message of the next recorded node.
  onnx::NodeProto& next_recorded() { return *graph_->mutable_node(next_++); }
  /// Shared message of all nodes with these bytes.
  onnx::NodeProto& of(std::string_view bytes) {
    onnx::NodeProto*& message = known_[std::string(bytes)];
    if (message == nullptr) {
      message = google::protobuf::Arena::CreateMessage<onnx::NodeProto>(graph_->GetArena());
      origin_->parse(bytes, *message);
    }
    return *message;
  }

 private:
  onnx::GraphProto* graph_;
  const ModelOrigin* origin_;
  std::unordered_map<std::string, onnx::NodeProto*> known_;
  int next_ = 0;
};

}  // namespace

class Graph::Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph), index_(*graph.index_), order_(graph) {}

  void build(onnx::GraphProto& message);
  void build(onnx::FunctionProto& message);
  /// Adds a node to an existing graph (insert_before()).
  Node& insert(std::list<Node>::iterator position, onnx::NodeProto& message);

 private:
  /// The execution order of a graph's nodes, by their inputs and the values that their nested graphs capture. Positions are Node::order_.
  class NodeOrder {
   public:
    explicit NodeOrder(Graph& graph) : graph_(graph) {}
    /// Records the values of this graph that the nested graph, and those in it, capture.
    void note_captures(Graph& nested);
    /// Numbers the nodes in their present order. Returns whether each is after all its producers.
    [[nodiscard]] bool is_kept();
    /// Sorts depth first, starting from nodes in file order, so that ordered parts keep their order. Throws Error{invalid} for cycles.
    void sort();

   private:
    /// A value of this graph that a nested graph captures, and the node of this graph with the nested graph.
    struct Capture {
      Node* reader;
      Value* value;
    };
    void begin_edges();
    [[nodiscard]] bool next_edge(const Node& node, Node*& source);
    [[noreturn]] void report_cycle(const std::vector<Node*>& path, const Node& repeated) const;

    Graph& graph_;
    std::vector<Capture> captures_;
    std::vector<std::size_t> first_, next_;  ///< by order of nodes: first capture; next edge
  };

  /// The value of this name in this graph, and whether this call created it.
  std::pair<Value*, bool> find_or_make(std::string_view name);
  Value& define(std::string_view name, std::string_view what, Node* node = nullptr);
  [[noreturn]] void report_second(const Value& first, std::string_view what, const Node* node = nullptr) const;
  void add_input(const std::string& name, const onnx::ValueInfoProto* info);
  void add_initializers(onnx::GraphProto& message);
  void add_main_initializers(onnx::GraphProto& message, const ModelOrigin& origin);
  void add_sparse_initializers(onnx::GraphProto& message);
  void add_initializer(Initializer initializer, const std::string& name);
  void add_nodes(google::protobuf::RepeatedPtrField<onnx::NodeProto>& messages);
  void add_main_nodes(onnx::GraphProto& message, const ModelOrigin& origin);
  Node& add_node(std::list<Node>::iterator position, onnx::NodeProto& message);
  void define_outputs(Node& node);
  void define_output(Node& node, std::string_view name);
  void resolve_inputs(Node& node);
  void resolve_input(Node& node, std::size_t index, std::string_view name);
  void nest(Node& node);
  void add_output(const std::string& name, const onnx::ValueInfoProto* info);
  void add_infos(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& infos);
  void order_nodes();
  void check_scopes(const Graph& nested) const;
  void check_scope(const Graph& nested, const Value& value) const;

  Graph& graph_;
  Index& index_;
  NodeOrder order_;
  std::unordered_map<const Value*, const onnx::ValueInfoProto*> first_entries_;  ///< first entries of outputs
};

Graph::Graph(Model& model, onnx::GraphProto& message, Graph* outer, Node* owner)
    : model_(&model), message_(&message), outer_(outer), owner_(owner), index_(std::make_unique<Index>()) {
  level_ = outer != nullptr ? outer->level_ + 1 : 0;
  if (level_ > kMaxSubgraphLevels) fail_nesting("graphs are", kMaxSubgraphLevels);
  Builder(*this).build(message);
}

Graph::Graph(Model& model, onnx::FunctionProto& message) : model_(&model), function_(&message), index_(std::make_unique<Index>()) {
  Builder(*this).build(message);
}

Node& Graph::insert_before(std::list<Node>::iterator position, const onnx::NodeProto& message) {
  index_->loose_nodes.push_back(std::make_unique<onnx::NodeProto>(message));
  return Builder(*this).insert(position, *index_->loose_nodes.back());
}

void Graph::Builder::build(onnx::GraphProto& message) {
  const ModelOrigin& origin = origin_of(*graph_.model_);
  const bool is_main = graph_.outer_ == nullptr;
  const std::size_t initializers = is_main ? origin.walk.initializer_ends.size() : as_size(message.initializer_size());
  const std::size_t nodes = is_main ? origin.walk.main_nodes.size() : as_size(message.node_size());
  index_.by_name.reserve(nodes + as_size(message.input_size()) + initializers);
  for (const auto& input : message.input()) add_input(input.name(), &input);
  is_main ? add_main_initializers(message, origin) : add_initializers(message);
  add_sparse_initializers(message);
  is_main ? add_main_nodes(message, origin) : add_nodes(*message.mutable_node());
  for (const auto& output : message.output()) add_output(output.name(), &output);
  add_infos(message.value_info());
  order_nodes();
  if (graph_.outer_ == nullptr) check_scopes(graph_);
}

void Graph::Builder::build(onnx::FunctionProto& message) {
  index_.by_name.reserve(as_size(message.node_size() + message.input_size()));
  for (const std::string& input : message.input()) add_input(input, nullptr);
  add_nodes(*message.mutable_node());
  for (const std::string& output : message.output()) add_output(output, nullptr);
  add_infos(message.value_info());
  order_nodes();
  check_scopes(graph_);
}

std::pair<Value*, bool> Graph::Builder::find_or_make(std::string_view name) {
  Value& value = index_.values.emplace_back();
  value.graph_ = &graph_;
  value.name_ = name;
  Value* const known = index_.by_name.insert(value);
  if (known == nullptr) return {&value, true};
  index_.values.pop_back();
  return {known, false};
}

Value& Graph::Builder::define(std::string_view name, std::string_view what, Node* node) {
  const auto [value, is_new] = find_or_make(name);
  if (is_new) return *value;
  if (node != nullptr) node->outputs_.push_back(value);  // a node without a name is identified by its first output
  report_second(*value, what, node);
}

void Graph::Builder::report_second(const Value& first, std::string_view what, const Node* node) const {
  const std::string of = node != nullptr ? " of node " + node->label() : "";
  refuse(place_of(graph_) + std::string(what) + " " + quote(first.name_) + of + " is already " + source_of(first));
}

void Graph::Builder::add_input(const std::string& name, const onnx::ValueInfoProto* info) {
  if (name.empty()) refuse(place_of(graph_) + "an input has no name");
  Value& value = define(name, "input");
  value.is_input_ = true;
  value.info_ = info;
  value.input_slot_ = graph_.inputs_.size();
  graph_.inputs_.push_back(&value);
}

void Graph::Builder::add_initializers(onnx::GraphProto& message) {
  int next = 0;
  for (onnx::TensorProto& tensor : *message.mutable_initializer()) {
    Initializer initializer;
    initializer.message = &tensor;
    initializer.file_index = next++;
    if (tensor.data_type() != onnx::TensorProto::STRING) {
      initializer.data = std::make_unique<TensorData>(tensor_data(*graph_.model_, tensor));
    }
    add_initializer(std::move(initializer), tensor.name());
  }
}

/// Most initializers are raw data with type, dims and name. The index holds all of these, and no message is kept.
void Graph::Builder::add_main_initializers(onnx::GraphProto& message, const ModelOrigin& origin) {
  onnx::TensorProto tensor;
  for (std::size_t i = 0; i < origin.walk.initializer_ends.size(); ++i) {
    origin.read_initializer(i, tensor);
    Initializer initializer;
    initializer.file_index = static_cast<int>(i);
    if (!is_plain(tensor)) {
      initializer.message = message.add_initializer();
      *initializer.message = tensor;
    }
    if (tensor.data_type() != onnx::TensorProto::STRING) {
      initializer.data = std::make_unique<TensorData>(tensor_data(origin, initializer.message != nullptr ? *initializer.message : tensor));
      if (initializer.message == nullptr) share_bytes(*initializer.data, origin, i);
    }
    add_initializer(std::move(initializer), tensor.name());
  }
}

void Graph::Builder::add_sparse_initializers(onnx::GraphProto& message) {
  int next = 0;
  for (onnx::SparseTensorProto& tensor : *message.mutable_sparse_initializer()) {
    Initializer initializer;
    initializer.file_index = next++;
    initializer.sparse = &tensor;
    add_initializer(std::move(initializer), tensor.values().name());
  }
}

void Graph::Builder::add_initializer(Initializer initializer, const std::string& name) {
  if (name.empty()) refuse(place_of(graph_) + "an initializer has no name");
  const auto [value, is_new] = find_or_make(name);
  if (!is_new && !value->is_input_) report_second(*value, "initializer");
  if (value->initializer_ != nullptr) refuse(place_of(graph_) + "initializer " + quote(name) + " is there twice");
  const auto self = graph_.initializers_.insert(graph_.initializers_.end(), std::move(initializer));
  self->self = self;
  self->value = value;
  value->initializer_ = &*self;
}

void Graph::Builder::add_nodes(google::protobuf::RepeatedPtrField<onnx::NodeProto>& messages) {
  int next = 0;
  for (onnx::NodeProto& message : messages) {
    Node& node = add_node(graph_.nodes_.end(), message);
    node.file_index_ = next++;
    define_outputs(node);
  }
  for (Node& node : graph_.nodes_) {
    resolve_inputs(node);
    nest(node);
  }
}

/// Inputs are resolved when all outputs are known; until then their names are in the walk's bytes.
void Graph::Builder::add_main_nodes(onnx::GraphProto& message, const ModelOrigin& origin) {
  MessagesOfMain messages(message, origin);
  PlainNode plain;
  for_each_main_node(origin.walk, [&](bool is_recorded, std::string_view bytes) {
    const bool is_plain = !is_recorded && plain.read(bytes);
    Node& node = add_node(graph_.nodes_.end(), is_recorded ? messages.next_recorded() : messages.of(is_plain ? plain.rest : bytes));
    node.shares_message_ = !is_recorded;
    node.file_index_ = static_cast<int>(graph_.nodes_.size()) - 1;
    if (!is_plain) return define_outputs(node);
    node.name_ = plain.name;
    node.outputs_.reserve(plain.outputs.size());
    for (const std::string_view name : plain.outputs) define_output(node, name);
  });
  auto next = graph_.nodes_.begin();
  for_each_main_node(origin.walk, [&](bool is_recorded, std::string_view bytes) {
    Node& node = *next++;
    if (is_recorded || !plain.read(bytes)) {
      resolve_inputs(node);
      return nest(node);
    }
    node.inputs_.assign(plain.inputs.size(), nullptr);
    node.use_slots_.assign(plain.inputs.size(), 0);
    for (std::size_t i = 0; i < plain.inputs.size(); ++i) resolve_input(node, i, plain.inputs[i]);
  });
}

Node& Graph::Builder::add_node(std::list<Node>::iterator position, onnx::NodeProto& message) {
  const auto self = graph_.nodes_.emplace(position);
  self->self_ = self;
  self->message_ = &message;
  self->graph_ = &graph_;
  self->name_ = message.name();
  return *self;
}

void Graph::Builder::define_outputs(Node& node) {
  node.outputs_.reserve(as_size(node.message_->output_size()));
  for (const std::string& name : node.message_->output()) define_output(node, name);
}

void Graph::Builder::define_output(Node& node, std::string_view name) {
  Value* value = nullptr;
  if (!name.empty()) {
    value = &define(name, "output", &node);
    value->producer_ = &node;
    value->output_index_ = static_cast<int>(node.outputs_.size());
  }
  node.outputs_.push_back(value);
}

void Graph::Builder::resolve_inputs(Node& node) {
  const auto count = as_size(node.message_->input_size());
  node.inputs_.assign(count, nullptr);
  node.use_slots_.assign(count, 0);
  for (std::size_t i = 0; i < count; ++i) resolve_input(node, i, node.message_->input(static_cast<int>(i)));
}

void Graph::Builder::resolve_input(Node& node, std::size_t index, std::string_view name) {
  if (name.empty()) return;
  Value* const value = graph_.find(name);
  if (value == nullptr) {
    refuse(place_of(graph_) + "node " + node.label() + " reads " + quote(name) + ", which nothing makes");
  }
  graph_.add_use(node, index, *value);
}

void Graph::Builder::nest(Node& node) {
  for (onnx::AttributeProto& attribute : *node.message_->mutable_attribute()) {
    for_each_graph_in(attribute, [&](onnx::GraphProto& message) {
      if (node.subgraphs_ == nullptr) node.subgraphs_ = std::make_unique<Node::Subgraphs>();
      node.subgraphs_->push_back(std::make_unique<Graph>(*graph_.model_, message, &graph_, &node));
      order_.note_captures(*node.subgraphs_->back());
    });
  }
}

void Graph::Builder::add_output(const std::string& name, const onnx::ValueInfoProto* info) {
  if (name.empty()) refuse(place_of(graph_) + "an output has no name");
  Value* const value = graph_.find(name);
  if (value == nullptr) refuse(place_of(graph_) + "output " + quote(name) + " is made by nothing");
  ++value->output_count_;
  if (value->graph_ == &graph_) {
    value->is_own_output_ = true;
    if (value->info_ == nullptr) value->info_ = info;
  } else {
    ++value->nested_readers_;
  }
  // A graph may have the same value as several outputs; for a function, ONNX's checker does not allow that.
  const auto [listed, is_first] = first_entries_.emplace(value, info);
  if (!is_first && graph_.is_function()) refuse(place_of(graph_) + "output " + quote(name) + " is there twice");
  if (!is_first && graph_.outer_ == nullptr && contradict(*listed->second, *info)) {
    refuse(place_of(graph_) + "output " + quote(name) + " is there twice, with types or shapes that contradict each other");
  }
  graph_.outputs_.push_back(value);
}

void Graph::Builder::add_infos(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& infos) {
  for (const onnx::ValueInfoProto& info : infos) {
    Value* const known = index_.by_name.find(info.name());
    if (known == nullptr) continue;
    const bool is_again = std::exchange(known->is_in_value_info_, true);
    // The last of several entries counts, as in ONNX Runtime.
    if (known->info_ == nullptr || (is_again && !known->is_input_ && !known->is_own_output_)) known->info_ = &info;
  }
}

Node& Graph::Builder::insert(std::list<Node>::iterator position, onnx::NodeProto& message) {
  Node& node = add_node(position, message);
  for (const std::string& name : message.output()) {
    Value* const known = index_.by_name.find(name);
    const bool left_open = known != nullptr && known->producer_ == nullptr && known->initializer_ == nullptr && !known->is_input_;
    Value* const value = name.empty() ? nullptr : left_open ? known : &graph_.new_value(name);
    if (value != nullptr) {
      value->producer_ = &node;
      value->output_index_ = static_cast<int>(node.outputs_.size());
    }
    node.outputs_.push_back(value);
  }
  resolve_inputs(node);
  nest(node);
  graph_.touch(&node);
  return node;
}

void Graph::Builder::order_nodes() {
  if (order_.is_kept()) return;
  order_.sort();
  log_warning(escape(graph_.model().name()) + ": " + place_of(graph_) + "nodes are not in topological order; continuing with them sorted");
  if (!order_.is_kept()) fail(ErrorKind::defect, "sorting the nodes failed");
}

void Graph::Builder::NodeOrder::note_captures(Graph& nested) {
  for_each_capture(nested, nested, [&](Value& value) {
    if (value.graph_ == &graph_ && value.producer_ != nullptr) captures_.push_back({nested.owner_, &value});
  });
}

bool Graph::Builder::NodeOrder::is_kept() {
  int64_t order = 0;
  for (Node& node : graph_.nodes_) node.order_ = order++;
  for (const Node& node : graph_.nodes_) {
    for (const Value* value : node.inputs_) {
      if (value != nullptr && value->graph_ == &graph_ && value->producer_ != nullptr && value->producer_->order_ >= node.order_)
        return false;
    }
  }
  return std::ranges::all_of(captures_, [](const Capture& c) { return c.value->producer_->order_ < c.reader->order_; });
}

/// Makes next_edge() begin with each node's first edge.
void Graph::Builder::NodeOrder::begin_edges() {
  std::ranges::stable_sort(captures_, {}, [](const Capture& capture) { return capture.reader->order_; });
  const std::size_t count = graph_.nodes_.size();
  first_.assign(count + 1, captures_.size());
  for (std::size_t i = captures_.size(); i-- > 0;) first_[as_size(captures_[i].reader->order_)] = i;
  for (std::size_t i = count; i-- > 0;) first_[i] = std::min(first_[i], first_[i + 1]);
  next_.assign(count, 0);
}

/// Advances to the next edge of `node`: first its inputs, then the values that its nested graphs capture. Returns false after the last.
/// `source` is the producer in this graph, or nullptr when there is none.
bool Graph::Builder::NodeOrder::next_edge(const Node& node, Node*& source) {
  const auto order = as_size(node.order_);
  const std::size_t edge = next_[order]++;
  const std::size_t inputs = node.inputs_.size();
  const Value* value = nullptr;
  if (edge < inputs) {
    value = node.inputs_[edge];
  } else {
    const std::size_t capture = first_[order] + (edge - inputs);
    if (capture >= first_[order + 1]) return false;
    value = captures_[capture].value;
  }
  source = value != nullptr && value->graph_ == &graph_ ? value->producer_ : nullptr;
  return true;
}

void Graph::Builder::NodeOrder::sort() {
  begin_edges();
  enum : uint8_t { untouched, open, done };
  std::vector<uint8_t> states(graph_.nodes_.size(), untouched);
  const auto state = [&](const Node& node) -> uint8_t& { return states[as_size(node.order_)]; };
  std::vector<Node*> starts, path;
  for (Node& node : graph_.nodes_) starts.push_back(&node);
  std::list<Node> sorted;
  for (Node* start : starts) {
    if (state(*start) == untouched) path.push_back(start);
    while (!path.empty()) {
      Node& node = *path.back();
      state(node) = open;
      Node* source = nullptr;
      if (!next_edge(node, source)) {
        state(node) = done;
        path.pop_back();
        sorted.splice(sorted.end(), graph_.nodes_, node.self_);
      } else if (source != nullptr && state(*source) == open) {
        report_cycle(path, *source);
      } else if (source != nullptr && state(*source) == untouched) {
        path.push_back(source);
      }
    }
  }
  graph_.nodes_.swap(sorted);
}

void Graph::Builder::NodeOrder::report_cycle(const std::vector<Node*>& path, const Node& repeated) const {
  const auto begin = std::ranges::find(path, &repeated);
  const auto length = path.end() - begin;
  if (length == 1) refuse(place_of(graph_) + "node " + repeated.label() + " reads its own output, which is a cycle");
  std::string names;
  for (auto at = path.end(); at != begin && path.end() - at < 3;) names += (names.empty() ? "" : " → ") + (*--at)->label();
  refuse(place_of(graph_) + "nodes form a cycle: " + names + (length > 3 ? " → …" : "") + " (" + std::to_string(length) + " nodes)");
}

/// ONNX IR, "names within a graph": a nested definition must not have the name of an outer value that is visible to it. Like ONNX Runtime,
/// this refuses only outputs of nodes; model_builder.h says what becomes of inputs and initializers.
void Graph::Builder::check_scopes(const Graph& graph) const {
  for_each_graph(graph, [&](const Graph& nested) {
    if (nested.outer_ == nullptr) return;
    for (const Value& value : nested.index_->values) {
      if (value.producer_ != nullptr) check_scope(nested, value);
    }
  });
}

void Graph::Builder::check_scope(const Graph& nested, const Value& value) const {
  const Graph* graph = &nested;
  while (graph->outer_ != nullptr) {
    const Node* const holder = graph->owner_;
    graph = graph->outer_;
    const Value* const found = graph->index_->by_name.find(value.name_);
    if (found == nullptr) continue;
    const Node* const producer = found->producer_;
    if (producer != nullptr && producer->order_ >= holder->order_) continue;  // not visible there: produced later, or by the holder itself
    fail(ErrorKind::invalid,
         "graph in node " + nested.owner_->label() + ": " + quote(value.name_) + ", " + source_of(value) +
             ", hides a value of the same name outside, " + source_of(*found) + "; ONNX wants names that differ",
         "in Python: onnx_ir.passes.common.NameFixPass()(onnx_ir.load(FILE)) gives every value a name of its own");
  }
}

}  // namespace relayout
