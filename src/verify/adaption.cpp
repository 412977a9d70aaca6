// `--rename`, `--match` and `--allow-interface`: adapts names, floating-point types (by Casts) and sizes that B alone fixes, so that B
// takes A's inputs. Both models can then run on the same inputs; each change is reported.
#include "verify/adaption.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "base/text.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/loops/dtypes.h"
#include "ops/op_history.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/inputs/port.h"
#include "verify/measured_types.h"

namespace relayout {
namespace {

/// One port of b and a's name for it.
struct NewName {
  std::string side, from, to;
};

bool holds(const std::vector<Port>& ports, const std::string& name) {
  return std::ranges::find(ports, name, &Port::name) != ports.end();
}

[[noreturn]] void fail_unknown(const std::string& words, const char* model, const std::string& name, const std::vector<Port>& ports) {
  std::vector<std::string> known;
  for (const Port& port : ports) known.push_back(port.name);
  fail(ErrorKind::usage, "--rename " + words + ": " + model + " has no such input or output: " + quote(name), did_you_mean(name, known));
}

/// The requested names of single ports.
std::vector<NewName> named(const Graph& a, const Graph& b, const std::map<std::string, std::string>& renames) {
  const std::vector<Port> inputs_a = required_inputs(a), outputs_a = output_ports(a), inputs_b = required_inputs(b),
                          outputs_b = output_ports(b);
  std::vector<NewName> names;
  for (const auto& [to, from] : renames) {
    const std::string words = escape(to) + "=" + escape(from);
    const bool is_input = holds(inputs_a, to);
    const std::vector<Port>& ports_b = is_input ? inputs_b : outputs_b;
    if (!is_input && !holds(outputs_a, to)) fail_unknown(words, "A", to, is_input ? inputs_a : outputs_a);
    if (!holds(ports_b, from)) fail_unknown(words, "B", from, ports_b);
    const auto taken = [&, &name = from](const NewName& other) { return other.from == name; };
    if (std::ranges::any_of(names, taken)) fail(ErrorKind::usage, "--rename " + words + ": " + quote(from) + " is given two names");
    names.push_back({is_input ? "input" : "output", from, to});
  }
  return names;
}

/// Names by position, up to the shorter list of inputs and of outputs.
std::vector<NewName> by_position(const Graph& a, const Graph& b) {
  std::vector<NewName> names;
  const auto add = [&](const char* side, const std::vector<Port>& ports_a, const std::vector<Port>& ports_b) {
    std::set<std::string> done;  // an output may be listed several times
    for (std::size_t i = 0; i < std::min(ports_a.size(), ports_b.size()); ++i) {
      if (done.insert(ports_b[i].name).second) names.push_back({side, ports_b[i].name, ports_a[i].name});
    }
  };
  add("input", required_inputs(a), required_inputs(b));
  add("output", output_ports(a), output_ports(b));
  return names;
}

/// Frees a name: renames the values of the model that have it.
void make_way(Model& model, const std::string& name) {
  const auto free_in = [&](Graph& graph) {
    Value* const value = graph.find(name);
    if (value != nullptr && &value->graph() == &graph) graph.rename(*value, model.unique_name(name));
  };
  for_each_graph(model.graph(), free_in);
}

bool can_be_cast(const Port& a, const Port& b) {
  const bool tensors = a.kind == Datum::Kind::tensor && b.kind == Datum::Kind::tensor;
  return tensors && a.type != b.type && kRealTypes.has(a.type) && kRealTypes.has(b.type);
}

Node& insert_cast(Graph& graph, std::list<Node>::iterator place, const std::string& from, const std::string& to, DataType type) {
  onnx::NodeProto message = node_message("Cast", {from}, {to}, graph.model().unique_name(from + "/Cast"));
  set_integer(message, "to", static_cast<int64_t>(type));
  return graph.insert_before(place, message);
}

std::string name_in_type(Graph& graph, const std::string& name, DataType type) {
  return graph.model().unique_name(name + "." + std::string(name_of(type)));
}

/// Makes b accept this input in a's type.
void cast_input(Graph& graph, Value& input, DataType from, DataType to) {
  Node& cast = insert_cast(graph, graph.nodes().begin(), input.name(), name_in_type(graph, input.name(), to), to);
  graph.replace_uses(input, *cast.output(0));
  graph.set_input(cast, 0, &input);
  graph.declare_types({{input.name(), from}});
}

/// Makes b return this output in a's type.
void cast_output(Graph& graph, Value& output, DataType from, DataType to) {
  Value& inner = graph.detach(output, name_in_type(graph, output.name(), from));
  (void)insert_cast(graph, graph.nodes().end(), inner.name(), output.name(), to);
  graph.replace_uses(output, inner);
  graph.declare_types({{output.name(), to}});
}

/// Casts a port of b where that is possible. False, for example, for an input that is also an output, or an output that a nested graph
/// captures.
bool cast_port(Model& b, const std::string& side, const Port& of_a, const Port& of_b) {
  Graph& graph = b.graph();
  Value* const value = graph.find(of_b.name);
  if (b.opset("") < kCastByNumber || value == nullptr || !can_be_cast(of_a, of_b)) return false;
  if (side == "input" ? value->is_output() : value->producer() == nullptr || value->is_captured()) return false;
  if (side == "input") {
    cast_input(graph, *value, of_a.type, of_b.type);
  } else {
    cast_output(graph, *value, of_b.type, of_a.type);
  }
  return true;
}

}  // namespace

std::map<std::string, int64_t> bound_dims(const Graph& a, const Graph& b, const VerifyOptions& options) {
  std::map<std::string, int64_t> dims;
  std::set<std::string> contradicted;
  const auto note = [&](const std::string& key, int64_t size) {
    if (dims.try_emplace(key, size).first->second != size) contradicted.insert(key);
  };
  const std::vector<Port> ports_b = required_inputs(b);
  for (const Port& port : required_inputs(a)) {
    const auto other = std::ranges::find(ports_b, port.name, &Port::name);
    const auto given = options.shapes.find(port.name);
    if (other == ports_b.end() || other->dims.size() != port.dims.size()) continue;
    for (std::size_t axis = 0; axis < port.dims.size(); ++axis) {
      if (port.dims[axis] >= 0 || other->dims[axis] < 0) continue;
      const std::string key = port.key(axis);
      note(key, other->dims[axis]);
      if (given != options.shapes.end() && axis < given->second.size()) note(key, given->second[axis]);
      if (const auto dim = options.dims.find(port.symbols[axis]); dim != options.dims.end()) note(key, dim->second);
    }
  }
  for (const std::string& key : contradicted) dims.erase(key);
  return dims;
}

namespace {

/// Axis of a difference in dims; npos for other differences.
std::size_t axis_of(const InterfaceDifference& difference) {
  constexpr std::string_view kDim = "dim ";
  return difference.field.starts_with(kDim) ? as_size(std::stoul(difference.field.substr(kDim.size()))) : std::string::npos;
}

/// Whether the options allow a port of this type.
bool is_allowed(DataType type, const VerifyOptions& options) {
  return options.allow_interface || (unit_roundoff(options.precision) > 0 && unit_roundoff(options.precision) >= unit_roundoff(type));
}

}  // namespace

std::vector<InterfaceDifference> take_names(const Graph& a, Model& b, const VerifyOptions& options) {
  std::vector<NewName> names = options.match_position ? by_position(a, b.graph()) : named(a, b.graph(), options.renames);
  std::erase_if(names, [](const NewName& name) { return name.from == name.to; });
  std::vector<InterfaceDifference> remarks;
  std::map<std::string, std::string> passing;  // names may be exchanged: each gets a temporary name first
  Graph& graph = b.graph();
  for (const NewName& name : names) {
    if (passing.contains(name.from)) continue;
    passing[name.from] = b.unique_name(name.from);
    graph.rename(*graph.find(name.from), passing[name.from]);
  }
  for (const NewName& name : names) {
    Value* const value = graph.find(passing.at(name.from));
    if (value == nullptr) continue;  // an input that is also an output is already renamed
    make_way(b, name.to);
    graph.rename(*value, name.to);
    remarks.push_back({name.side, name.to, "renamed", name.to, name.from, /*remark=*/true, /*adapted=*/true});
  }
  return remarks;
}

void adapt(const Graph& a, Model& b, const VerifyOptions& options, std::vector<InterfaceDifference>& differences) {
  const std::map<std::string, int64_t> dims = bound_dims(a, b.graph(), options);
  for (InterfaceDifference& difference : differences) {
    const bool is_input = difference.side == "input";
    const std::vector<Port> ports_a = is_input ? required_inputs(a) : output_ports(a),
                            ports_b = is_input ? required_inputs(b.graph()) : output_ports(b.graph());
    const auto of_a = std::ranges::find(ports_a, difference.name, &Port::name),
               of_b = std::ranges::find(ports_b, difference.name, &Port::name);
    if (difference.remark || of_a == ports_a.end() || of_b == ports_b.end()) continue;
    if (difference.field == "type" && cast_port(b, difference.side, *of_a, *of_b)) {
      difference.adapted = true;
      difference.remark = is_allowed(of_b->type, options);
    }
    const std::size_t axis = axis_of(difference);
    if (is_input && axis < of_a->dims.size() && of_a->dims[axis] < 0 && dims.contains(of_a->key(axis))) {
      difference.adapted = true;
      difference.remark = options.allow_interface;
    }
  }
}

}  // namespace relayout
