// Numbers the nodes and values of a graph, with functions expanded, for all later stages.
#include "exec/program.h"

#include <onnx/defs/schema.h>

#include "base/indexed.h"
#include "exec/lower/fuse.h"
#include "model/functions.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/body.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/op_attributes.h"
#include "ops/partial_dims.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Functions that call others twice at every level grow without bound.
constexpr std::size_t kMostNodes = 4'000'000;

/// Operators whose kernels are several times faster in single precision, with the Casts around them.
constexpr std::string_view kWidened[] = {"AveragePool",
                                         "BatchNormalization",
                                         "Conv",
                                         "ConvTranspose",
                                         "Einsum",
                                         "GRU",
                                         "Gemm",
                                         "GlobalAveragePool",
                                         "GlobalMaxPool",
                                         "GroupNormalization",
                                         "InstanceNormalization",
                                         "LSTM",
                                         "LayerNormalization",
                                         "LogSoftmax",
                                         "MatMul",
                                         "MaxPool",
                                         "RNN",
                                         "ReduceMean",
                                         "Resize",
                                         "Softmax"};
static_assert(std::ranges::is_sorted(kWidened));

/// Operators whose results are among the numbers that they read, or these with another sign: nothing is rounded.
constexpr std::string_view kExact[] = {"Abs",     "Clip",          "Concat",    "DepthToSpace", "Expand",       "Flatten",
                                       "Gather",  "GlobalMaxPool", "Identity",  "Max",          "MaxPool",      "Min",
                                       "Neg",     "Relu",          "Reshape",   "Slice",        "SpaceToDepth", "Split",
                                       "Squeeze", "Tile",          "Transpose", "Unsqueeze",    "Where"};
static_assert(std::ranges::is_sorted(kExact));

bool is_exact(const Node& node) {
  return std::ranges::binary_search(kExact, node.op_type());
}

/// Whether a node of 16-bit numbers runs in single precision.
bool is_widened(const Node& node, bool all) {
  if (!node.domain().empty()) return false;
  const std::string& op = node.op_type();
  return std::ranges::binary_search(kWidened, op) ||
         (all && op != "Cast" && op != "QuantizeLinear" && (is_exact(node) || may_be_stages(op)));
}

/// Whether a node of a widened one's body rounds to 16 bits: else its Casts read these.
bool is_rounding(const Node& node) {
  const auto& attributes = node.message().attribute();
  return node.is("Cast") && !attributes.empty() && attributes[0].i() != static_cast<int64_t>(DataType::float32);
}

bool is_control_flow(const Node& node) {
  return has_trait(node, Trait::control_flow);
}

/// The node with Casts from and to its 16-bit type around it; nothing where it has none, or not all of its types are known.
std::optional<onnx::FunctionProto> in_single_precision(const Node& node, Constants& constants, bool all) {
  if (!is_widened(node, all) || node.inputs().empty() || first_output(node) != node.output(0)) return {};
  const auto type_of = [&](const Value* value) { return value == nullptr ? DataType::undefined : constants.type_of(*value); };
  const DataType half = type_of(node.input(node.is("Where") ? 1 : 0));
  if (!kHalfTypes.has(half)) return std::nullopt;
  onnx::FunctionProto out;
  out.set_name(node.op_type());
  auto& import = *out.add_opset_import();
  import.set_version(node.opset());
  onnx::NodeProto inner = node.message();
  inner.clear_input(), inner.clear_output();
  const std::string prefix = node.output(0)->name() + "/";  // initializers are identified by name, in bodies as in graphs
  const auto add_cast = [&](const std::string& from, const std::string& to, DataType type) {
    onnx::NodeProto& cast = *out.add_node();
    cast.set_op_type("Cast");
    cast.add_input(from), cast.add_output(to);
    onnx::AttributeProto& attribute = *cast.add_attribute();
    attribute.set_name("to"), attribute.set_type(onnx::AttributeProto_AttributeType_INT), attribute.set_i(static_cast<int64_t>(type));
  };
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const std::string name = prefix + std::to_string(i), wide = name + "/wide";
    out.add_input(name);
    std::string& read = *inner.add_input();
    if (node.input(i) == nullptr) continue;
    const DataType type = type_of(node.input(i));
    const bool is_other = kRealTypes.has(type) && type != half && !node.is("Resize");  // whose scales are f32
    if (type == DataType::undefined || is_other) return std::nullopt;
    if (type == half) add_cast(name, wide, DataType::float32);
    read = type == half ? wide : name;
  }
  onnx::NodeProto& node_in_body = *out.add_node();
  for (std::size_t k = 0; k < node.outputs().size(); ++k) {
    const DataType type = type_of(node.output(k));
    if (type == DataType::undefined) return std::nullopt;
    const std::string& made = node.output(k)->name();
    inner.add_output(made);
    const std::string rounded = prefix + "rounded/" + std::to_string(k);
    if (type == half) add_cast(made, rounded, half);
    out.add_output(type == half ? rounded : made);
  }
  node_in_body = std::move(inner);
  return out;
}

}  // namespace

std::vector<const Value*> captured_values(const Node& node) {
  std::vector<const Value*> out;
  if (node.subgraphs().empty()) return out;
  std::unordered_set<const Value*> seen;
  for_each_capture(node, [&](const Value& value) {
    if (seen.insert(&value).second) out.push_back(&value);
  });
  return out;
}

std::vector<const Node*> nodes_to_run(const Graph& graph) {
  std::unordered_set<const Value*> needed(graph.outputs().begin(), graph.outputs().end());
  std::vector<const Node*> out;
  const auto& nodes = graph.nodes();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const auto is_needed = [&](const Value* value) { return value != nullptr && needed.contains(value); };
    if (!std::ranges::any_of(node->outputs(), is_needed)) continue;
    out.push_back(&*node);
    for (const Value* value : node->inputs()) {
      if (value != nullptr) needed.insert(value);
    }
    for (const Value* value : captured_values(*node)) needed.insert(value);
  }
  std::ranges::reverse(out);
  return out;
}

void OperandFacts::enter(const Node& call, const Graph& body) {
  for (std::size_t i = 0; i < body.inputs().size(); ++i) {
    if (call.input(i) != nullptr) shapes.assume(*body.inputs()[i], shapes.of(*call.input(i), constants));
  }
}

void OperandFacts::leave(const Node& call, const Graph& body) {
  for (std::size_t k = 0; k < body.outputs().size(); ++k) {
    if (call.output(k) != nullptr) shapes.assume(*call.output(k), shapes.of(*body.outputs()[k], constants));
  }
}

void OperandFacts::join(const Node& node) {
  if (!node.is("If")) return;
  for (std::size_t k = 0; k < node.outputs().size(); ++k) {
    if (node.output(k) == nullptr) continue;
    PartialDims all;
    for (const auto& graph : node.subgraphs()) {
      const PartialDims dims = k < graph->outputs().size() ? shapes.of(*graph->outputs()[k], constants) : PartialDims();
      const bool is_first = graph == node.subgraphs().front();
      if (!dims || (!is_first && all->size() != dims->size())) {
        all.reset();
        break;
      }
      if (is_first) all = dims;
      for (std::size_t axis = 0; axis < all->size(); ++axis) (*all)[axis] = (*all)[axis] == (*dims)[axis] ? (*all)[axis] : -1;
    }
    if (all) shapes.assume(*node.output(k), all);
  }
}

/// Fills a program: nodes in order, values numbered at first use.
class Program::Builder {
 public:
  Builder(Program& program, const Functions& functions, const ProgramOptions& options)
      : program_(program), functions_(functions), options_(options) {}

  void build(const Graph& graph) {
    own_graphs_.insert(&graph);
    for (const Value* input : graph.inputs()) program_.inputs_.push_back(id_of(input));
    add_nodes(graph);
    for (const Value* output : graph.outputs()) program_.outputs_.push_back(id_of(output));
    if (options_.widen_all) drop_unread_casts();
    find_captures();
    count_readers();
    drop_unread_outputs();
  }

 private:
  void add_nodes(const Graph& graph) {
    enter_call(depth_);
    for (const Node* node : nodes_to_run(graph)) {
      if (program_.nodes_.size() > kMostNodes) fail(ErrorKind::unsupported, "functions call each other for more than 4,000,000 nodes");
      const Op* const op = find_op(*node);
      if (const auto function = find_function(functions_, *node)) {
        add_call(*node, instantiate(*function, *node));
      } else if (op == nullptr) {
        add_call(*node, instantiate(find_operator_body(*node).value(), *node));
      } else if (op->body != nullptr) {
        add_call(*node, facts_.shapes.compose(*op, *node, facts_.constants));
      } else if (const auto wide = options_.widen ? in_single_precision(*node, facts_.constants, options_.widen_all) : std::nullopt) {
        add_widened(*node, *wide);
      } else {
        add_node(*node);
        facts_.join(*node);
      }
    }
    --depth_;
  }

  void add_widened(const Node& node, const onnx::FunctionProto& wide) {
    const std::size_t first = program_.nodes_.size();
    is_widening_ = options_.widen_all;
    add_call(node, instantiate({&wide, {}}, node));
    is_widening_ = false;
    for (std::size_t i = first; i < program_.nodes_.size(); ++i) {
      ProgramNode& part = program_.nodes_[id_at<NodeId>(i)];
      part.stands_for = &node;
      if (options_.widen_all && is_exact(node) && is_rounding(*part.node)) wide_.try_emplace(part.output(0), part.input(0));
    }
  }

  /// Whether the wide form of a value of 16 bits is there already, which then is the result of this Cast to it.
  bool reuse_wide(const Node& node) {
    if (!is_widening_ || !node.is("Cast") || is_rounding(node)) return false;
    const auto [known, is_new] = wide_.try_emplace(id_of(node.input(0)), ValueId::none);
    if (is_new) {
      known->second = id_of(node.output(0));
    } else {
      program_.ids_[node.output(0)] = known->second;
    }
    return !is_new;
  }

  void add_node(const Node& node) {
    if (reuse_wide(node)) return;
    const Op* const op = is_control_flow(node) ? nullptr : find_op(node);
    ProgramNode entry{program_.nodes_.end_id(), &node, op, OpCall(node, node.opset()), {}, {}, {}};
    entry.call.threads = options_.threads;
    entry.call.seed = options_.seed;
    entry.caller = caller_;
    for (const Value* value : node.inputs()) entry.inputs.push_back(id_of(value));
    for (const Value* value : node.outputs()) entry.outputs.push_back(id_of_output(value, entry.outputs.size()));
    for (const Value* value : captured_values(node)) {
      const ValueId capture = id_of(value);
      if (capture != ValueId::none) entry.captures.push_back(capture);
    }
    program_.nodes_.add(std::move(entry));
  }

  /// Adds the nodes of a fresh copy of the body; its inputs and outputs are the call's.
  void add_call(const Node& node, FunctionInstance instance) {
    program_.instances_.push_back(std::move(instance));
    const Graph& graph = *program_.instances_.back().graph;
    own_graphs_.insert(&graph);
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) program_.ids_[graph.inputs()[i]] = id_of(node.input(i));
    const std::size_t first = program_.nodes_.size();
    const Caller* const outer = caller_;
    caller_ = &program_.callers_.emplace_back(Caller{&node, outer});
    facts_.enter(node, graph);
    add_nodes(graph);
    facts_.leave(node, graph);
    caller_ = outer;
    for (std::size_t k = 0; k < node.outputs().size() && k < graph.outputs().size(); ++k) {
      if (node.outputs()[k] != nullptr) program_.ids_[node.outputs()[k]] = id_of(graph.outputs()[k]);
    }
    if (program_.nodes_.size() == first) return;
    ProgramNode::Call& call = program_.nodes_.back().ended_calls.emplace_back(ProgramNode::Call{&node, {}});
    for (const Value* output : node.outputs()) call.outputs.push_back(id_of(output));
  }

  ValueId id_of(const Value* value) {
    if (value == nullptr) return ValueId::none;
    const auto [entry, is_new] = program_.ids_.try_emplace(value, program_.values_.end_id());
    if (is_new) program_.values_.add(value);
    return entry->second;
  }

  ValueId id_of_output(const Value* value, std::size_t index) {
    return value != nullptr || index > 0 ? id_of(value) : program_.values_.add(nullptr);
  }

  /// Of values whose wide forms alone are read.
  void drop_unread_casts() {
    IdVector<ValueId, int> readers(program_.values_.size());
    const auto count = [&](const ProgramNode& node, int change) { node.for_each_read([&](ValueId value) { readers[value] += change; }); };
    for (const ProgramNode& node : program_.nodes_) count(node, 1);
    for (const ValueId output : program_.outputs_) {
      if (output != ValueId::none) ++readers[output];
    }
    IdVector<NodeId, bool> is_dropped(program_.nodes_.size(), false);
    for (std::size_t i = program_.nodes_.size(); i-- > 0;) {
      const ProgramNode& node = program_.nodes_[id_at<NodeId>(i)];
      if (node.stands_for == nullptr || !node.node->is("Cast") || readers[node.output(0)] > 0) continue;
      is_dropped[node.id] = true;
      count(node, -1);
    }
    IdVector<NodeId, ProgramNode> kept;
    for (ProgramNode& node : program_.nodes_) {
      if (is_dropped[node.id]) continue;
      node.id = kept.end_id();
      kept.add(std::move(node));
    }
    program_.nodes_ = std::move(kept);
  }

  void find_captures() {
    for (const ValueId id : program_.values_.ids()) {
      const Value* const value = program_.values_[id];
      if (value != nullptr && !own_graphs_.contains(&value->graph())) program_.captures_.push_back(id);
    }
  }

  void count_readers() {
    program_.consumers_ = IdLists<ValueId, NodeId>(program_.values_.size(), [this](const auto& add) {
      for (const ProgramNode& node : program_.nodes_) node.for_each_read([&](ValueId value) { add(value, node.id); });
    });
    program_.readers_.resize(program_.values_.size());
    program_.is_output_.resize(program_.values_.size());
    for (const ValueId value : program_.values_.ids()) program_.readers_[value] = static_cast<int>(program_.consumers_[value].size());
    for (const ValueId output : program_.outputs_) {
      if (output == ValueId::none) continue;
      ++program_.readers_[output];
      program_.is_output_[output] = true;
    }
  }

  /// Treats outputs that are not read, other than the first, as absent.
  void drop_unread_outputs() {
    const auto drop = [this](ValueId& output) {
      if (output != ValueId::none && program_.readers_[output] == 0) output = ValueId::none;
    };
    for (ProgramNode& node : program_.nodes_) {
      for (std::size_t k = 1; k < node.outputs.size(); ++k) drop(node.outputs[k]);
      for (ProgramNode::Call& call : node.ended_calls) std::ranges::for_each(call.outputs, drop);
    }
  }

  Program& program_;
  const Functions& functions_;
  const ProgramOptions& options_;
  OperandFacts facts_;
  std::unordered_set<const Graph*> own_graphs_;  ///< the graph and the instances
  const Caller* caller_ = nullptr;               ///< of the nodes that are being added
  int depth_ = 0;
  bool is_widening_ = false;                   ///< adds the nodes of a widened node
  std::unordered_map<ValueId, ValueId> wide_;  ///< f32 forms of values of 16 bits
};

Program::Program(const Graph& graph, const Functions& functions, const ProgramOptions& options) : graph_(&graph) {
  Builder(*this, functions, options).build(graph);
}

ValueId Program::find(const Value* value) const {
  const auto entry = ids_.find(value);
  return entry == ids_.end() ? ValueId::none : entry->second;
}

// Bodies of functions, with the attributes of the call filled in.
namespace {

using GivenAttributes = std::unordered_map<std::string, const onnx::AttributeProto*>;

void fill_in(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const GivenAttributes& given);

void fill_in(onnx::NodeProto& node, const GivenAttributes& given) {
  google::protobuf::RepeatedPtrField<onnx::AttributeProto> filled;
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (!attribute.ref_attr_name().empty()) {
      const auto value = given.find(attribute.ref_attr_name());
      if (value == given.end()) continue;
      onnx::AttributeProto& copy = *filled.Add();
      copy = *value->second;
      copy.set_name(attribute.name());
      continue;
    }
    for_each_graph_in(attribute, [&](onnx::GraphProto& graph) { fill_in(*graph.mutable_node(), given); });
    filled.Add()->Swap(&attribute);
  }
  node.mutable_attribute()->Swap(&filled);
}

void fill_in(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const GivenAttributes& given) {
  for (onnx::NodeProto& node : nodes) fill_in(node, given);
}

}  // namespace

std::optional<FunctionDefinition> find_function(const Functions& functions, const Node& node) {
  const Graph* const graph = functions.called_by(node);
  if (graph == nullptr) return std::nullopt;
  const onnx::FunctionProto& function = *graph->function();
  return FunctionDefinition{&function, {function.attribute_proto().begin(), function.attribute_proto().end()}};
}

std::optional<FunctionDefinition> find_operator_body(const Node& node) {
  if (!node.domain().empty()) return std::nullopt;
  const auto opset = static_cast<int>(node.opset());
  const onnx::OpSchema* const schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset, "");
  if (schema == nullptr || schema->deprecated() || !schema->HasFunction()) return std::nullopt;
  FunctionDefinition body{schema->GetFunction(opset), {}};
  if (body.message == nullptr) return std::nullopt;
  for (const auto& [name, attribute] : schema->attributes()) {
    if (attribute.default_value.name().empty()) continue;
    body.defaults.push_back(attribute.default_value);
  }
  return body;
}

FunctionInstance instantiate(const FunctionDefinition& body, const Node& call) {
  FunctionInstance instance;
  instance.message = std::make_unique<onnx::FunctionProto>(*body.message);
  GivenAttributes given;
  for (const onnx::AttributeProto& attribute : body.defaults) given[attribute.name()] = &attribute;
  for (const onnx::AttributeProto& attribute : call.message().attribute()) given[attribute.name()] = &attribute;
  fill_in(*instance.message->mutable_node(), given);
  instance.graph = std::make_unique<Graph>(call.graph().model(), *instance.message);
  return instance;
}

void enter_call(int& level) {
  constexpr int kMostLevels = 200;
  if (++level > kMostLevels) fail(ErrorKind::unsupported, "functions call each other over more than 200 levels");
}

// Names of nodes within calls and nested graphs.

std::string full_name(const std::vector<std::string>& callers, const std::string& name) {
  std::string out;
  for (const std::string& caller : callers) out += caller + " › ";
  return out + name;
}

std::vector<std::string> callers_of(const ProgramNode& node) {
  std::vector<std::string> out;
  for (const Caller* caller = node.caller; caller != nullptr; caller = caller->outer) {
    if (caller->node != node.stands_for) out.push_back(reported_name(*caller->node));
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace relayout::exec
