// Writes tangents, cotangents and batches of an If: those of each branch, in an If of the same condition.
#include <array>
#include <memory>

#include "base/positions.h"
#include "derive/batcher.h"
#include "derive/graft.h"
#include "derive/linearizer.h"
#include "derive/row.h"
#include "derive/sizes.h"
#include "derive/writer.h"
#include "model/functions.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::derive {
namespace {

constexpr std::array<const char*, 2> kBranches = {"then_branch", "else_branch"};

using Values = std::vector<const Value*>;

void add_once(Values& values, const Value* value) {
  if (std::ranges::find(values, value) == values.end()) values.push_back(value);
}

/// Values from outside of the graphs of an If that they read.
template <class Holds>
Values captured(const Node& node, const Holds& holds) {
  Values out;
  for_each_capture(node, [&](const Value& value) {
    if (holds(value)) add_once(out, &value);
  });
  return out;
}

/// An input of a branch: the name of a value from outside, and a value that has its type, and its dims unless those are unknown.
struct Outside {
  Name name;
  const Value* like = nullptr;
  bool has_dims = true;
};

void declare(onnx::TypeProto& type, const Outside& one, Sizes& sizes) {
  auto& tensor = *type.mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(sizes.type(*one.like)));
  const auto rank = sizes.rank(*one.like);
  if (!rank || !one.has_dims) return;
  tensor.mutable_shape();
  for (std::size_t i = 0; i < *rank; ++i) {
    auto& dim = *tensor.mutable_shape()->add_dim();
    if (const int64_t size = sizes.dim(*one.like, i); size >= 0) dim.set_dim_value(size);
  }
}

/// The contents of a small constant, of which shapes may be made; nothing for others.
std::optional<onnx::TensorProto> small_contents(const Value& value, Sizes& sizes) {
  const std::optional<Tensor> found = sizes.constants().value(value);
  if (!found || found->type() == DataType::string || traits(found->type()).bits < 8 || found->element_count() > kSmallElements) return {};
  const Tensor all = contiguous(*found);
  onnx::TensorProto out;
  out.set_name(value.name());
  out.set_data_type(static_cast<int>(all.type()));
  for (const int64_t size : all.dims()) out.add_dims(size);
  const int64_t bytes = all.element_count() * (traits(all.type()).bits / 8);
  out.set_raw_data(std::string(reinterpret_cast<const char*>(all.bytes()), as_size(bytes)));
  return out;
}

/// A value that a branch gives, by its name there, and its type.
struct Result {
  Name name;
  DataType type = DataType::undefined;
};

/// A graph that an If runs, as a model of its own, whose inputs are the values from outside that it reads.
class Branch {
 public:
  Branch(const Row& row, const Graph& graph, std::vector<Outside> inputs) : outer_(&row.sizes) {
    for_each_capture(graph, graph, [&](const Value& value) { inputs.push_back({value.name(), &value}); });
    if (!graph.initializers().empty()) row.refuse("a branch of it has sparse initializers, or such of strings");
    const Model& model = graph.model();
    onnx::ModelProto message;
    message.set_ir_version(std::max<int64_t>(model.ir_version(), kLeastVersion));
    *message.mutable_opset_import() = model.message().opset_import();
    onnx::GraphProto& own = *message.mutable_graph();
    own.set_name("branch");
    for (const Outside& one : inputs) {
      if (one.name.empty() || !inputs_.try_emplace(one.name, one.has_dims ? one.like : nullptr).second) continue;
      if (auto contents = one.name == one.like->name() ? small_contents(*one.like, row.sizes) : std::nullopt) {
        *own.add_initializer() = std::move(*contents);
      } else {
        auto& entry = *own.add_input();
        entry.set_name(one.name);
        declare(*entry.mutable_type(), one, row.sizes);
      }
    }
    for (const Node& node : graph.nodes()) {
      onnx::NodeProto& made = *own.add_node() = node.whole_message();
      hold_payloads(model, made);
    }
    for (const Value* output : graph.outputs()) *own.add_output() = entry_of(output->name(), row.sizes.type(*output));
    model_ = Model::from_bytes(message.SerializeAsString(), "a branch of " + row.node.label(), {.allow_newer_opset = true});
    look_again();
  }

  [[nodiscard]] Graph& graph() { return model_->graph(); }
  [[nodiscard]] Sizes& sizes() { return *sizes_; }
  [[nodiscard]] const Value* find(const Name& name) { return graph().find(name); }
  [[nodiscard]] Values outputs() { return {graph().outputs().begin(), graph().outputs().end()}; }
  /// Facts of the graph as it is now.
  void look_again() {
    Sizes::Like like;
    for (const Value* input : graph().inputs()) {
      const auto outside = inputs_.find(input->name());
      if (outside != inputs_.end() && outside->second != nullptr) like.emplace_back(input, outside->second);
    }
    sizes_ = std::make_unique<Sizes>(graph(), like, outer_);
    // What has the dims of another value, as a tangent, may not last.
    for (const auto& [input, outside] : like) {
      if (input->name() == outside->name()) sizes_->offer(*input);
    }
  }

  /// The graph with these outputs in place of its own, under names that `body` gives.
  [[nodiscard]] onnx::GraphProto take(const std::vector<Result>& results, FunctionBody& body) {
    Writer w(graph());
    std::vector<std::pair<Value*, const onnx::TypeProto*>> outputs;
    onnx::TypeProto any;
    any.mutable_tensor_type();
    onnx::GraphProto out;
    for (const auto& [name, value] : inputs_) body.bind(name, name);
    for (const Result& result : results) {
      const Name name = model_->unique_name("result");
      w.make_named(result.name, name);
      outputs.emplace_back(graph().find(name), &any);
      *out.add_output() = entry_of(body.name_of(name), result.type);
    }
    graph().set_outputs(outputs);
    out.set_name("branch");
    const auto needed = needed_nodes(graph());
    graph().sync();
    for (const Node& node : graph().nodes()) {
      if (!needed.contains(&node)) continue;
      onnx::NodeProto message = node.whole_message();
      hold_payloads(*model_, message);
      *out.add_node() = body.node(message);
    }
    return out;
  }

 private:
  static constexpr int64_t kLeastVersion = 4;  ///< in which initializers are no inputs

  static onnx::ValueInfoProto entry_of(const Name& name, DataType type) {
    onnx::ValueInfoProto out;
    out.set_name(name);
    out.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(type));
    return out;
  }

  Sizes* outer_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Sizes> sizes_;
  std::map<Name, const Value*> inputs_;  ///< and the values outside that have their dims
};

/// The results of both branches; "" is zero.
using Made = std::array<Names, 2>;

/// Writes each branch of an If, and an If of the same condition of what is not zero in both. `write` returns the results of a branch, and
/// `zero` writes there the one of a number that is zero.
template <class Write, class Zero>
Names write_if(Row& row, const Name& condition, const std::vector<Outside>& inputs, const std::vector<DataType>& types, const Write& write,
               const Zero& zero) {
  row.w.graph().sync();
  std::vector<Branch> branches;
  Made made;
  for (std::size_t i = 0; i < kBranches.size(); ++i) {
    Branch& branch = branches.emplace_back(row, *row.node.subgraph(kBranches[i]), inputs);
    made[i] = write(branch);
  }
  Names out(types.size());
  std::vector<std::size_t> kept;
  for (std::size_t k = 0; k < types.size(); ++k) {
    if (!made[0][k].empty() || !made[1][k].empty()) kept.push_back(k);
  }
  if (kept.empty()) return out;
  onnx::NodeProto message;
  message.set_op_type("If");
  message.add_input(condition);
  const onnx::NodeProto call;
  const onnx::FunctionProto function;
  for (std::size_t i = 0; i < kBranches.size(); ++i) {
    std::vector<Result> results;
    for (const std::size_t k : kept) results.push_back({made[i][k].empty() ? zero(branches[i], k) : made[i][k], types[k]});
    onnx::AttributeProto& attribute = *message.add_attribute();
    attribute.set_name(kBranches[i]);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    FunctionBody body(row.w.graph().model(), call, function, first_output(row.node)->name());
    *attribute.mutable_g() = branches[i].take(results, body);
  }
  const Names names = row.w.make(std::move(message), kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) out[kept[i]] = names[i];
  return out;
}

std::vector<DataType> types_of(const Row& row, const Values& values) {
  std::vector<DataType> out;
  for (const Value* value : values) out.push_back(value == nullptr ? DataType::undefined : row.sizes.type(*value));
  return out;
}

Values outputs_of(const Node& node) {
  return {node.outputs().begin(), node.outputs().end()};
}

void linearize_if(LinearizeRow& row) {
  const Values moved = captured(row.node, [&](const Value& value) { return !row.tangent_of(value).empty(); });
  std::vector<Outside> inputs;
  for (const Value* value : moved) inputs.push_back({row.tangent_of(*value), value});
  const std::vector<DataType> types = types_of(row, outputs_of(row.node));
  const auto write = [&](Branch& branch) {
    Values wrt, of;
    for (const Value* value : moved) {
      if (const Value* const own = branch.find(value->name())) wrt.push_back(own);
    }
    open_nodes(branch.graph(), wrt, branch.outputs());
    branch.look_again();
    Linearizer linear(branch.graph(), branch.sizes());
    for (const Value* value : moved) {
      if (const Value* const own = branch.find(value->name())) linear.seed(*own, row.tangent_of(*value));
    }
    for (std::size_t k = 0; k < types.size(); ++k) {
      if (is_float(types[k])) of.push_back(branch.outputs()[k]);
    }
    linear.run(of);
    Names out;
    for (std::size_t k = 0; k < types.size(); ++k) out.push_back(is_float(types[k]) ? linear.tangent(*branch.outputs()[k]) : Name());
    return out;
  };
  const auto zero = [&](Branch& branch, std::size_t k) {
    Writer w(branch.graph());
    w.name_after("zero");
    return w.make("Expand", {w.real(0, types[k]), w.shape(branch.outputs()[k]->name())});
  };
  const Names made = write_if(row, row.x(0), inputs, types, write, zero);
  for (std::size_t k = 0; k < made.size(); ++k) row.give(made[k], k);
}

void transpose_if(TransposeRow& row) {
  const Values linear = captured(row.node, [&](const Value& value) { return row.is_linear(value); });
  std::vector<Outside> inputs;
  std::map<const Value*, Name> zeros;
  for (std::size_t k = 0; k < row.node.outputs().size(); ++k) {
    if (row.node.output(k) != nullptr) inputs.push_back({row.ct(k), row.node.output(k)});
  }
  for (const Value* value : linear) {
    if (const Value* const lasting = row.sizes.lasting(*value)) inputs.push_back({lasting->name(), lasting});
    zeros[value] = row.zeros_like(value->name(), row.sizes.type(*value));
    inputs.push_back({zeros[value], value});
  }
  const auto write = [&](Branch& branch) {
    Sizes::Like sources;
    for (const Value* value : linear) {
      const Value* const own = branch.find(value->name());
      const Value* const lasting = row.sizes.lasting(*value);
      if (own != nullptr) sources.emplace_back(own, lasting == nullptr ? own : branch.find(lasting->name()));
    }
    Transposer back(branch.graph(), sources, {}, branch.sizes());
    for (std::size_t k = 0; k < row.node.outputs().size(); ++k) {
      const Value& output = *branch.outputs()[k];
      if (back.is_linear(output) && !row.ct(k).empty()) back.seed(output, row.ct(k));
    }
    back.run();
    Names out;
    for (const Value* value : linear) {
      const Value* const own = branch.find(value->name());
      out.push_back(own == nullptr ? Name() : back.cotangent(*own));
    }
    return out;
  };
  const auto zero = [&](Branch&, std::size_t k) { return zeros.at(linear[k]); };
  const Names made = write_if(row, row.x(0), inputs, types_of(row, linear), write, zero);
  for (std::size_t k = 0; k < made.size(); ++k) row.give_captured(*linear[k], made[k]);
}

void batch_if(BatchRow& row) {
  if (row.is_batched(0)) row.refuse("its condition differs within the batch");
  const Values other = captured(row.node, [&](const Value& value) { return row.batch.is_touched(value); });
  const Dim& count = row.batch.count();
  std::vector<Outside> inputs;
  const auto name_of = [&](const Value& value) { return row.batch.is_batched(value) ? row.batch.stacked(value) : row.batch.same(value); };
  for (const Value* value : other) inputs.push_back({name_of(*value), value, !row.batch.is_batched(*value)});
  if (count.size < 0) inputs.push_back({count.of, row.w.graph().find(count.of)});
  const auto write = [&](Branch& branch) {
    Batcher batch(branch.graph(), branch.sizes(), count);
    for (const Value* value : other) {
      const Value* const own = branch.find(value->name());
      if (own == nullptr) continue;
      row.batch.is_batched(*value) ? batch.seed(*own, Form::stacked, name_of(*value)) : batch.set_same(*own, name_of(*value));
    }
    batch.run(branch.outputs());
    Names out;
    for (const Value* output : branch.outputs()) out.push_back(batch.every(*output));
    return out;
  };
  const auto zero = [](Branch&, std::size_t) { return Name(); };
  const Names made = write_if(row, row.own(0), inputs, types_of(row, outputs_of(row.node)), write, zero);
  for (std::size_t k = 0; k < made.size(); ++k) row.give(made[k], Form::stacked, k);
}

constexpr std::array<Linearize, 1> kLinearize = {{{"If", linearize_if}}};
constexpr std::array<Transpose, 1> kTranspose = {{{"If", transpose_if}}};
constexpr std::array<Batch, 1> kBatch = {{{"If", batch_if}}};

}  // namespace

LinearizeRows branch_rows() {
  return kLinearize;
}

TransposeRows branch_transposes() {
  return kTranspose;
}

BatchRows branch_batches() {
  return kBatch;
}

void share_constants(Node& node) {
  Graph& outer = node.graph();
  Model& model = outer.model();
  std::vector<std::pair<Graph*, Initializer*>> initializers;
  std::vector<Node*> constants;
  for (const auto& nested : node.subgraphs()) {
    for_each_graph(*nested, [&](Graph& graph) {
      for (Initializer& one : graph.initializers()) {
        if (one.data != nullptr) initializers.emplace_back(&graph, &one);
      }
      for (Node& inner : graph.nodes()) {
        if (inner.is("Constant") && !inner.output(0)->is_output()) constants.push_back(&inner);
      }
    });
  }
  for (const auto& [graph, one] : initializers) {
    if (Value& given = *one->value; given.is_output()) {
      const Value& source = graph->detach(given, model.unique_name(given.name()));
      graph->insert_before(graph->nodes().begin(), node_message("Identity", {source.name()}, {given.name()}));
    }
    Value& shared = outer.add_initializer(model.unique_name(one->value->name()), *one->data);
    graph->replace_uses(*one->value, shared);
    graph->erase_initializer(*one);
  }
  for (Node* const inner : constants) {
    onnx::NodeProto message = inner->whole_message();
    const std::optional<TensorData> contents = constant_contents(model, *inner);
    hold_payloads(model, message);
    message.set_output(0, model.unique_name(message.output(0)));
    Node& made = outer.insert_before(outer.nodes().begin(), message);
    if (contents) outer.set_constant(made, *contents);
    inner->graph().replace_uses(*inner->output(0), *made.output(0));
    inner->graph().erase(*inner);
  }
}

}  // namespace relayout::derive
