// Gives inputs, outputs and free dims of a model other names, wherever they are used.
//
//     float[N, 3] x                  float[batch, 3] images
//     y = Relu (x)          →        scores = Relu (images)
//     float[N, 3] y                  float[batch, 3] scores

#include <set>

#include "base/text.h"
#include "layout/sizes.h"
#include "model/walk.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::passes {
namespace {

/// The names of inputs and outputs that callers use.
std::set<std::string> port_names(const Graph& graph) {
  std::set<std::string> out;
  for (const Value* const value : graph.inputs()) out.insert(value->name());
  for (const Value* const value : graph.outputs()) out.insert(value->name());
  return out;
}

/// The names of all values, those of nested graphs too.
std::set<std::string> value_names(const Graph& graph) {
  std::set<std::string> out;
  for_each_graph(graph, [&](const Graph& nested) {
    for (const Value* const input : nested.inputs()) out.insert(input->name());
    for (const Initializer& initializer : nested.initializers()) out.insert(initializer.value->name());
    for (const Node& node : nested.nodes()) {
      for (const Value* const output : node.outputs()) {
        if (output != nullptr) out.insert(output->name());
      }
    }
  });
  return out;
}

/// What the names of a call mean in one model.
struct Renames {
  std::map<std::string, std::string> ports, dims;
};

Renames read(const Graph& graph, const std::map<std::string, std::string>& names) {
  const std::set<std::string> ports = port_names(graph), values = value_names(graph);
  const std::vector<std::string> free = layout::size_names(graph).symbols;
  const std::set<std::string> dims(free.begin(), free.end());
  const std::string place = escape(graph.model().name()) + ": --rename ";
  Renames out;
  std::set<std::string> taken;
  for (const auto& [from, to] : names) {
    const std::string option = place + escape(from) + "=" + escape(to);
    const bool is_port = ports.contains(from), is_dim = !is_port && dims.contains(from);
    if (to.empty()) fail(ErrorKind::usage, option + ": a name is not empty");
    if (!is_port && !is_dim) {
      if (ports.contains(to) || dims.contains(to)) continue;  // it has that name already
      fail(ErrorKind::usage, option + ": the model has no input, output or dim " + quote(from));
    }
    const bool is_free = names.contains(to) || !(is_port ? values : dims).contains(to);
    if (from != to && (!is_free || !taken.insert((is_port ? "port " : "dim ") + to).second)) {
      fail(ErrorKind::unsupported, option + ": the model has a " + (is_port ? "value " : "dim ") + quote(to) + " already");
    }
    if (from != to) (is_port ? out.ports : out.dims)[from] = to;
  }
  return out;
}

/// Names in quantization annotations are not followed.
void check_annotations(const Graph& graph, const std::string& name) {
  for (const auto& annotation : graph.message()->quantization_annotation()) {
    if (annotation.tensor_name() != name) continue;
    fail(ErrorKind::unsupported, escape(graph.model().name()) + ": --rename " + escape(name) + ": a quantization annotation names it");
  }
}

void rename_dims(Graph& graph, const std::map<std::string, std::string>& names) {
  const auto edit = [&](onnx::TypeProto& type) {
    bool changed = false;
    if (!type.has_tensor_type()) return changed;
    for (auto& dim : *type.mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      const auto found = names.find(dim.dim_param());
      if (found == names.end()) continue;
      dim.set_dim_param(found->second);
      changed = true;
    }
    return changed;
  };
  for_each_graph(graph, [&](Graph& nested) {
    nested.edit_declarations([&](onnx::ValueInfoProto& entry) {
      const bool has_shape = entry.type().has_tensor_type() && entry.type().tensor_type().has_shape();
      return has_shape && edit(*entry.mutable_type());
    });
  });
}

}  // namespace

void rename(Graph& graph, PassContext& context) {
  if (graph.outer() != nullptr || graph.is_function() || context.options.renames.empty()) return;
  const Renames renames = read(graph, context.options.renames);
  for (const auto& [from, to] : renames.ports) check_annotations(graph, from);
  // Names may be exchanged: each value has a name of its own in between.
  std::vector<std::pair<Value*, std::string>> passing;
  for (const auto& [from, to] : renames.ports) {
    Value& value = *graph.find(from);
    passing.emplace_back(&value, from);
    graph.rename(value, graph.model().unique_name(from));
  }
  for (const auto& [value, from] : passing) {
    const std::string& to = renames.ports.at(from);
    apply_one({value->is_input() ? "input" : "output", from}, context, [&] { graph.rename(*value, to); });
    for (std::string& name : context.options.io_names) name = name == from ? to : name;
  }
  if (!renames.dims.empty()) rename_dims(graph, renames.dims);
  for (const auto& [from, to] : renames.dims) apply_one({"dim", from}, context, [] {});
}

}  // namespace relayout::passes
