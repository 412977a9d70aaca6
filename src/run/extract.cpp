// Cuts a part out of a model: decides what belongs to it, removes the rest of the graph, and saves by splice.
#include "relayout/extract.h"

#include "base/file.h"
#include "base/text.h"
#include "exec/program.h"
#include "layout/graph_shapes.h"
#include "model/functions.h"
#include "model/model_builder.h"
#include "model/node.h"
#include "model/save.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/partial_dims.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "verify/inputs/inputs.h"

namespace relayout {

// Types of the ends of a part.
namespace {

onnx::TypeProto type_without_dims(const DatumInfo& info) {
  onnx::TypeProto out;
  switch (info.kind) {
    case Datum::Kind::sequence:
      if (info.elements.empty()) {
        out.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(info.type));
      } else {
        *out.mutable_sequence_type()->mutable_elem_type() = type_without_dims(info.elements.front());
      }
      break;
    case Datum::Kind::optional:
      if (info.elements.empty()) {
        out.mutable_optional_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(info.type));
      } else {
        *out.mutable_optional_type()->mutable_elem_type() = type_without_dims(info.elements.front());
      }
      break;
    case Datum::Kind::map:
      out.mutable_map_type()->set_key_type(static_cast<int32_t>(info.elements.empty() ? DataType::int64 : info.elements.front().type));
      out.mutable_map_type()->mutable_value_type()->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(info.type));
      break;
    case Datum::Kind::tensor:
      out.mutable_tensor_type()->set_elem_type(static_cast<int32_t>(info.type));
      break;
  }
  return out;
}

/// What is known of values without a run.
class StaticTypes {
 public:
  explicit StaticTypes(const Graph& graph) : shapes_(graph), elements_(graph, signatures_) {}

  [[nodiscard]] std::optional<onnx::TypeProto> find(const Value& value) {
    const DatumInfo* const info = shapes_.find(value);
    if (info != nullptr && info->kind != Datum::Kind::tensor) return type_without_dims(*info);
    const auto declared = value.declared();
    if (info == nullptr && !declared && value.info() != nullptr) return value.info()->type();
    DatumInfo out;
    out.type = info != nullptr ? info->type : elements_.of(value);
    if (out.type == DataType::undefined && declared) out.type = declared->type;
    if (out.type == DataType::undefined) return std::nullopt;
    return with_dims(type_without_dims(out), info, declared, constants_.dims(value));
  }

 private:
  /// Certain dims; for others those that are declared, unless assumed inputs contradict them.
  static std::optional<onnx::TypeProto> with_dims(onnx::TypeProto type, const DatumInfo* info, const std::optional<ShapeInfo>& declared,
                                                  const PartialDims& certain) {
    const bool is_declared = declared && declared->has_shape;
    if (!certain && info == nullptr && !is_declared) return std::nullopt;
    const std::size_t rank = certain ? certain->size() : info != nullptr ? info->dims.size() : declared->dims.size();
    auto& shape = *type.mutable_tensor_type()->mutable_shape();
    for (std::size_t axis = 0; axis < rank; ++axis) {
      auto& dim = *shape.add_dim();
      if (certain && (*certain)[axis] >= 0) {
        dim.set_dim_value((*certain)[axis]);
      } else if (is_declared && declared->dims.size() == rank) {
        const int64_t size = declared->dims[axis];
        const bool fits = info == nullptr || info->dims.size() != rank || info->dims[axis] == size;
        if (size >= 0 && fits) dim.set_dim_value(size);
        if (size < 0 && !declared->symbols[axis].empty()) dim.set_dim_param(declared->symbols[axis]);
      }
    }
    return type;
  }

  OpSignatures signatures_;
  layout::Shapes shapes_;
  ElementTypes elements_;
  Constants constants_;
};

/// Types and ranks of values in a run on generated inputs.
std::unordered_map<const Value*, onnx::TypeProto> types_by_running(const Graph& graph) {
  std::unordered_map<const Value*, onnx::TypeProto> out;
  ExecuteOptions options;
  options.mode = Mode::as_written;
  options.few_runs = true;
  options.weights_late = true;
  options.watch = [&](const Computed& computed) {
    for (std::size_t k = 0; computed.node != nullptr && k < computed.data.size(); ++k) {
      const Datum& datum = computed.data[k];
      const Value* const value = computed.node->output(k);
      if (value == nullptr || (datum.kind == Datum::Kind::tensor && !datum.tensor)) continue;
      onnx::TypeProto& type = out[value] = type_without_dims(info_of(datum));
      if (datum.kind != Datum::Kind::tensor) continue;
      for (std::size_t axis = 0; axis < datum.tensor.dims().size(); ++axis) type.mutable_tensor_type()->mutable_shape()->add_dim();
      if (datum.tensor.dims().empty()) (void)type.mutable_tensor_type()->mutable_shape();
    }
  };
  const InputMaker maker(graph, {}, nullptr, {false, {}, true}, {});
  (void)maker.first_accepted([&](const Inputs& inputs) { (void)Executor(graph, options).run(inputs); });
  return out;
}

/// The types of values, for entries of inputs and outputs: kind, element type and rank of each, with the dims that do not depend on inputs.
/// They follow from operators and declared inputs, else from the value's own declaration, else from a run on generated inputs.
/// Error{unsupported} names a value whose type none of these tells.
std::vector<onnx::TypeProto> port_types(const Graph& graph, const std::vector<const Value*>& values) {
  StaticTypes known(graph);
  std::optional<std::unordered_map<const Value*, onnx::TypeProto>> seen;
  std::vector<onnx::TypeProto> out;
  std::string why;
  for (const Value* const value : values) {
    if (auto type = known.find(*value)) {
      out.push_back(*std::move(type));
      continue;
    }
    if (!seen) {
      try {
        seen = types_by_running(graph);
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::interrupted || error.kind() == ErrorKind::terminated) throw;
        seen.emplace();
        why = std::string(", and it does not run: ") + error.what();
      }
    }
    const auto found = seen->find(value);
    if (found == seen->end())
      fail(ErrorKind::unsupported, "neither the model nor its operators tell type and rank of " + quote(value->name()) + why);
    out.push_back(found->second);
  }
  return out;
}

}  // namespace

// The part.
namespace {

/// A part of a graph, read from it before anything is changed.
class Cut {
 public:
  Cut(const Graph& graph, const ExtractOptions& options) : graph_(&graph) {
    for (const std::string& name : options.from) add(from_, find(name, "--from"));
    for (const std::string& name : options.to) add(to_, find(name, "--to"));
    if (options.to.empty()) to_ = graph.outputs();
    begins_at_inputs_ = options.from.empty();
    check_ends();
    find_unreachable();
    for (const Value* const value : to_) need(*value);
    walk();
    for (const Value* const value : from_) {
      if (!needed_.contains(value) && options.keep_unread) needed_.insert(value);
      if (!needed_.contains(value)) refuse("--from " + quote(value->name()) + ": no value of --to depends on it");
    }
  }

  [[nodiscard]] const std::vector<Value*>& to() const noexcept { return to_; }
  /// The values that become inputs, those that were not named last.
  [[nodiscard]] const std::vector<Value*>& from() const noexcept { return from_; }
  [[nodiscard]] bool has(const Node& node) const { return nodes_.contains(&node); }
  [[nodiscard]] bool has(const Value& value) const { return needed_.contains(&value); }
  /// The node for whose nested graph a value becomes an input; nullptr: it was named.
  [[nodiscard]] const Node* captured_by(const Value& value) const {
    const auto found = captured_by_.find(&value);
    return found == captured_by_.end() ? nullptr : found->second;
  }

 private:
  [[noreturn]] void refuse(const std::string& what, std::string hint = {}) const { fail(ErrorKind::usage, what, std::move(hint)); }

  static void add(std::vector<Value*>& values, Value* value) {
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  }

  [[nodiscard]] Value* find(const std::string& name, const std::string& option) const {
    if (Value* const value = graph_->find(name)) return value;
    std::vector<std::string> names;
    for (const Node& node : graph_->nodes()) {
      const Value* const result = node.output(0);
      if (node.name() == name && result != nullptr)
        refuse(option + " " + quote(name) + " is a node, not a value", option + " " + shell_word(result->name()) + " is its result");
      for (const Value* const output : node.outputs()) {
        if (output != nullptr) names.push_back(output->name());
      }
    }
    refuse(option + " " + quote(name) + ": the main graph has no value of this name" + did_you_mean(name, names, "; "));
  }

  void check_ends() const {
    for (const Value* const value : to_) {
      const bool is_from = std::ranges::find(from_, value) != from_.end();
      if (is_from) refuse(quote(value->name()) + " is named by --from and by --to: nothing is between");
      if (value->producer() == nullptr) refuse("--to " + quote(value->name()) + ": no node makes it");
    }
  }

  /// Refuses ends in the wrong order: a value of --from that depends on one of --to.
  void check_order() const {
    std::unordered_map<const Value*, const Value*> below;  // with the value of --to that it depends on
    for (const Value* const value : to_) below.emplace(value, value);
    for (const Node& node : graph_->nodes()) {
      const auto is_below = [&](const Value* operand) { return operand != nullptr && below.contains(operand); };
      const auto found = std::ranges::find_if(node.inputs(), is_below);
      if (found == node.inputs().end()) continue;
      for (const Value* const output : node.outputs()) {
        if (output != nullptr) below.emplace(output, below.at(*found));
      }
    }
    for (const Value* const value : from_) {
      const auto found = below.find(value);
      if (found == below.end()) continue;
      refuse("--to " + quote(found->second->name()) + " is upstream of --from " + quote(value->name()),
             "the part begins at --from and ends at --to");
    }
  }

  [[nodiscard]] bool is_end(const Value& value) const { return std::ranges::find(from_, &value) != from_.end(); }

  /// Finds the values that depend on inputs that are not named, other than through nested graphs.
  void find_unreachable() {
    for (const Value* const input : graph_->inputs()) {
      if (input->initializer() == nullptr && !begins_at_inputs_ && !is_end(*input)) unreachable_.emplace(input, input);
    }
    for (const Node& node : graph_->nodes()) {
      for (const Value* const operand : node.inputs()) {
        const auto found = operand == nullptr ? unreachable_.end() : unreachable_.find(operand);
        if (found == unreachable_.end()) continue;
        for (const Value* const output : node.outputs()) {
          if (output != nullptr && !is_end(*output)) unreachable_.emplace(output, found->second);
        }
        break;
      }
    }
  }

  void need(const Value& value) {
    if (needed_.insert(&value).second && !is_end(value) && value.producer() != nullptr) open_.push_back(value.producer());
  }

  void walk() {
    while (!open_.empty()) {
      const Node& node = *open_.back();
      open_.pop_back();
      if (!nodes_.insert(&node).second) continue;
      for (const Value* const operand : node.inputs()) {
        if (operand == nullptr) continue;
        const auto unreachable = is_end(*operand) ? unreachable_.end() : unreachable_.find(operand);
        if (unreachable != unreachable_.end()) {
          check_order();
          refuse(node.label() + " depends on input " + quote(unreachable->second->name()) + ", which is not named",
                 "--from " + shell_word(operand->name()) + " cuts before it");
        }
        need(*operand);
      }
      for (const Value* const captured : exec::captured_values(node)) {
        if (unreachable_.contains(captured) && !is_end(*captured)) {
          from_.push_back(const_cast<Value*>(captured));  // of this graph, which extract() owns
          captured_by_.emplace(captured, &node);
        }
        need(*captured);
      }
    }
  }

  const Graph* graph_;
  std::vector<Value*> from_, to_;
  bool begins_at_inputs_ = true;
  std::unordered_map<const Value*, const Value*> unreachable_;  ///< with the input that is not named
  std::unordered_set<const Value*> needed_;
  std::unordered_set<const Node*> nodes_;
  std::unordered_map<const Value*, const Node*> captured_by_;
  std::vector<const Node*> open_;
};

/// Removes what is not in the part, and makes its ends inputs and outputs.
void reduce(Model& model, const Cut& cut) {
  Graph& graph = model.graph();
  std::vector<const Value*> ends(cut.from().begin(), cut.from().end());
  ends.insert(ends.end(), cut.to().begin(), cut.to().end());
  const std::vector<onnx::TypeProto> types = port_types(graph, ends);

  std::vector<std::pair<Value*, const onnx::TypeProto*>> outputs;
  for (std::size_t i = 0; i < cut.to().size(); ++i) outputs.emplace_back(cut.to()[i], &types[cut.from().size() + i]);
  graph.set_outputs(outputs);
  for (std::size_t i = 0; i < cut.from().size(); ++i) {
    Value& value = *cut.from()[i];
    if (value.is_input() && value.initializer() == nullptr) continue;
    if (value.is_overridable()) graph.freeze(*value.initializer());
    (void)graph.detach(value, model.unique_name(value.name() + ".before"));
    graph.add_input(value, types[i]);
  }
  for (auto at = graph.nodes().end(); at != graph.nodes().begin();) {
    Node& node = *std::prev(at);
    if (cut.has(node)) {
      --at;
    } else {
      graph.erase(node);
    }
  }
  const std::vector<Value*> inputs = graph.inputs();
  for (Value* const input : inputs) {
    if (input->initializer() == nullptr && !cut.has(*input)) graph.erase_input(*input);
  }
  for (auto at = graph.initializers().begin(); at != graph.initializers().end();) {
    Initializer& initializer = *at++;
    if (cut.has(*initializer.value)) continue;
    if (initializer.value->is_overridable()) graph.freeze(initializer);
    graph.erase_initializer(initializer);
  }
  model.message().clear_training_info();
}

/// Removes functions that no node of the part calls, directly or through others.
void remove_functions(Model& model) {
  const Functions functions(model);
  std::unordered_set<const Graph*> called;
  for (const Node& node : model.graph().nodes()) {
    (void)any_node_run(node, functions, [&](const Node& inner) {
      if (const Graph* const function = functions.called_by(inner)) called.insert(function);
      return false;
    });
  }
  std::vector<const Graph*> uncalled;
  for (const auto& function : model.functions()) {
    if (!called.contains(function.get())) uncalled.push_back(function.get());
  }
  for (const Graph* const function : uncalled) ModelBuilder::erase_function(model, *function);
}

int64_t count_of(const auto& items) {
  return static_cast<int64_t>(items.size());
}

}  // namespace

ExtractResult extract(const std::filesystem::path& input, const std::filesystem::path& output, const ExtractOptions& options) {
  const auto model = Model::load(input, options.load);
  Graph& graph = model->graph();
  ExtractResult result;
  result.input = input;
  result.output = output;
  result.nodes_before = count_of(graph.nodes());
  result.initializers_before = count_of(graph.initializers());
  result.functions_before = count_of(model->functions());
  result.bytes_before = model->file_size();
  named(input.string(), [&] {
    const Cut cut(graph, options);
    reduce(*model, cut);
    remove_functions(*model);
    graph.validate();
    for (const Value* const value : graph.inputs()) {
      if (value->initializer() != nullptr) continue;
      const Node* const reader = cut.captured_by(*value);
      result.inputs.push_back({value->name(), declared_text(value->info()), reader == nullptr ? std::string() : reported_name(*reader)});
    }
    for (const Value* const value : graph.outputs()) result.outputs.push_back({value->name(), declared_text(value->info()), {}});
  });
  result.nodes = count_of(graph.nodes());
  result.initializers = count_of(graph.initializers());
  result.functions = count_of(model->functions());
  const SaveResult saved = save(*model, output, options.save);
  result.bytes = saved.bytes;
  result.data = saved.data;
  return result;
}

}  // namespace relayout
