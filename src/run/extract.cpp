// Cuts a part out of a model: decides what belongs to it, removes the rest of the graph, and saves by splice.
#include "relayout/extract.h"

#include "base/file.h"
#include "base/text.h"
#include "exec/program.h"
#include "model/functions.h"
#include "model/model_builder.h"
#include "model/node.h"
#include "model/save.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "run/port_types.h"

namespace relayout {
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
