// Compares declared inputs and outputs, and adapts B's to A's where only names, floating-point types or sizes differ.
#include "verify/interface.h"

#include "base/file.h"
#include "base/interrupt.h"
#include "base/positions.h"
#include "base/text.h"
#include "model/node.h"
#include "model/origin.h"
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
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/session.h"

namespace relayout {

// Files of the same bytes.
namespace {

using Field = InterfaceDifference::Field;

bool same_bytes(const File& a, const File& b) {
  constexpr int64_t kBuffer = int64_t{1} << 20;
  if (a.size() != b.size()) return false;
  if (!b.path().empty() && a.is_same_as(b.path())) return true;
  std::vector<std::byte> left(as_size(std::min(kBuffer, a.size()))), right(left.size());
  for (int64_t offset = 0; offset < a.size(); offset += kBuffer) {
    check_interrupt();
    const auto size = as_size(std::min(kBuffer, a.size() - offset));
    a.read(offset, std::span(left).first(size));
    b.read(offset, std::span(right).first(size));
    if (std::memcmp(left.data(), right.data(), size) != 0) return false;
  }
  return true;
}

}  // namespace

bool are_identical(const Model& a, const Model& b) {
  const ModelOrigin &left = origin_of(a), &right = origin_of(b);
  if (!left.file || !right.file || !same_bytes(*left.file, *right.file)) return false;
  // Equal model files name the same locations, each relative to its own model.
  const auto files_a = left.external_files(), files_b = right.external_files();
  return files_a.size() == files_b.size() && std::ranges::all_of(files_a, [&](const auto& entry) {
           const auto other = files_b.find(entry.first);
           return other != files_b.end() && same_bytes(*entry.second, *other->second);
         });
}

namespace {

std::string kind_text(Datum::Kind kind) {
  constexpr auto kNames = std::to_array<std::string_view>({"tensor", "sequence", "optional", "map"});
  return std::string(kNames[static_cast<std::size_t>(kind)]);
}

/// Whether two ports of different names may be the same: their types and dims do not contradict each other.
bool may_be_renamed(const Port& a, const Port& b) {
  if (a.kind != b.kind) return false;
  if (a.kind != Datum::Kind::tensor) return std::ranges::equal(a.element, b.element, may_be_renamed);
  const bool is_declared = a.type != DataType::undefined && b.type != DataType::undefined;
  const bool are_real = is_declared && traits(a.type).is_float && traits(b.type).is_float;
  if (is_declared && a.type != b.type && !are_real) return false;
  if (!a.has_shape || !b.has_shape) return true;
  const auto agree = [](int64_t x, int64_t y) { return x < 0 || y < 0 || x == y; };
  return std::ranges::equal(a.dims, b.dims, agree);
}

/// Compares the ports of one side (inputs or outputs).
class SideComparison {
 public:
  SideComparison(std::string side, std::vector<InterfaceDifference>& out) : side_(std::move(side)), out_(&out) {}

  void compare(const std::vector<Port>& a, const std::vector<Port>& b, const std::vector<std::string>& defaulted_b) {
    std::unordered_map<std::string_view, const Port*> by_name;
    for (const Port& port : b) by_name.emplace(port.name, &port);
    std::unordered_set<std::string_view> names_a;
    for (const Port& port : a) names_a.insert(port.name);
    const std::unordered_set<std::string_view> defaults(defaulted_b.begin(), defaulted_b.end());

    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto found = by_name.find(a[i].name);
      if (found != by_name.end()) {
        compare_ports(a[i], *found->second);
      } else if (defaults.contains(a[i].name)) {
        add(a[i].name, Field::has_default, "required", "has a default", /*remark=*/true);
      } else if (i < b.size() && !names_a.contains(b[i].name) && a.size() == b.size() && may_be_renamed(a[i], b[i])) {
        add(a[i].name, Field::renamed, a[i].name, b[i].name);
        renamed_.insert(b[i].name);
      } else {
        add(a[i].name, Field::missing, type_text(a[i]), "");
      }
    }
    for (const Port& port : b) {
      if (!names_a.contains(port.name) && !renamed_.contains(port.name)) add(port.name, Field::added, "", type_text(port));
    }
    compare_order(a, b);
  }

 private:
  void add(const std::string& name, Field field, std::string a, std::string b, bool remark = false, std::optional<std::size_t> axis = {}) {
    out_->push_back({side_, name, field, std::move(a), std::move(b), remark, false, axis});
  }

  /// Compares the order of the names that both have.
  void compare_order(const std::vector<Port>& a, const std::vector<Port>& b) {
    const auto common = [](const std::vector<Port>& from, const std::vector<Port>& with) {
      std::unordered_set<std::string_view> names;
      for (const Port& port : with) names.insert(port.name);
      std::vector<std::string_view> out;
      for (const Port& port : from) {
        if (names.contains(port.name)) out.push_back(port.name);
      }
      return out;
    };
    const auto order_a = common(a, b), order_b = common(b, a);
    if (order_a == order_b) return;
    const auto join = [](const std::vector<std::string_view>& names) {
      std::string out;
      for (const std::string_view name : names) out += (out.empty() ? "" : ", ") + escape(name);
      return out;
    };
    add("", Field::order, join(order_a), join(order_b));
  }

  void compare_ports(const Port& a, const Port& b) {
    if (a.kind != b.kind) return add(a.name, Field::kind, kind_text(a.kind), kind_text(b.kind));
    for (std::size_t i = 0; i < a.element.size(); ++i) compare_ports(a.element[i], b.element[i]);
    if (a.kind != Datum::Kind::tensor) return;
    if (a.type != b.type) {
      const bool undeclared = a.type == DataType::undefined || b.type == DataType::undefined;
      const auto text = [](DataType type) { return std::string(type == DataType::undefined ? "undeclared" : name_of(type)); };
      add(a.name, Field::type, text(a.type), text(b.type), undeclared);
    }
    compare_shapes(a, b);
  }

  void compare_shapes(const Port& a, const Port& b) {
    const bool is_input = side_ == "input";
    if (!a.has_shape && !b.has_shape) return;
    if (!a.has_shape || !b.has_shape) {
      const bool narrowed = is_input && !a.has_shape;
      return add(a.name, Field::shape, a.has_shape ? shape_text(a) : "undeclared", b.has_shape ? shape_text(b) : "undeclared", !narrowed);
    }
    if (a.dims.size() != b.dims.size()) {
      return add(a.name, Field::rank, std::to_string(a.dims.size()) + " " + shape_text(a),
                 std::to_string(b.dims.size()) + " " + shape_text(b));
    }
    for (std::size_t i = 0; i < a.dims.size(); ++i) {
      if (a.dims[i] == b.dims[i]) continue;
      const auto text = [i](const Port& port) {
        if (port.dims[i] >= 0) return std::to_string(port.dims[i]);
        return port.symbols[i].empty() ? std::string("free") : "free (" + escape(port.symbols[i]) + ")";
      };
      const bool both_fixed = a.dims[i] >= 0 && b.dims[i] >= 0;
      const bool became_fixed = a.dims[i] < 0;
      add(a.name, Field::dim, text(a), text(b), !both_fixed && !(is_input && became_fixed), i);
    }
  }

  std::string side_;
  std::vector<InterfaceDifference>* out_;
  std::unordered_set<std::string> renamed_;
};

}  // namespace

std::string field_text(const InterfaceDifference& difference) {
  constexpr auto kFields =
      std::to_array<std::string_view>({"missing", "added", "renamed", "order", "default", "kind", "type", "shape", "rank", "dim"});
  return std::string(kFields[static_cast<std::size_t>(difference.field)]) + (difference.axis ? " " + std::to_string(*difference.axis) : "");
}

std::vector<InterfaceDifference> compare_interfaces(const Graph& a, const Graph& b) {
  std::vector<InterfaceDifference> differences;
  SideComparison("input", differences).compare(required_inputs(a), required_inputs(b), defaulted_inputs(b));
  SideComparison("output", differences).compare(output_ports(a), output_ports(b), {});
  return differences;
}

bool contradicts(const Port& port, const Datum& value) {
  if (port.kind != Datum::Kind::tensor || value.kind != Datum::Kind::tensor || !value.tensor) return port.kind != value.kind;
  if (port.type != DataType::undefined && port.type != value.tensor.type()) return true;
  if (!port.has_shape) return false;
  if (port.dims.size() != value.tensor.dims().size()) return true;
  for (std::size_t axis = 0; axis < port.dims.size(); ++axis) {
    if (port.dims[axis] >= 0 && port.dims[axis] != value.tensor.dims()[axis]) return true;
  }
  return false;
}

void excuse_wrong_declarations(const Side& a, const Side& b, const std::function<Datum(std::size_t)>& output_of_a, VerifyResult& result) {
  for (InterfaceDifference& difference : result.interface) {
    const auto of_a = std::ranges::find(a.outputs, difference.name, &Port::name),
               of_b = std::ranges::find(b.outputs, difference.name, &Port::name);
    const bool is_about_dims = difference.field == Field::rank || difference.field == Field::shape || difference.axis;
    if (difference.remark || difference.side != "output" || !is_about_dims || of_a == a.outputs.end() || of_b == b.outputs.end()) continue;
    const Datum value = output_of_a(as_size(of_a - a.outputs.begin()));
    if (!contradicts(*of_a, value) || contradicts(*of_b, value)) continue;
    difference.remark = true;
    result.remarks.push_back("output " + quote(difference.name) + " is declared " + shape_text(*of_a) + " in A, which gives " +
                             describe(value) + " as B declares");
  }
}

bool inputs_fit(const std::vector<InterfaceDifference>& differences) {
  return std::ranges::none_of(differences, [](const InterfaceDifference& difference) {
    return difference.side == "input" && !difference.remark && !difference.adapted && difference.field != Field::order;
  });
}

std::string misfits_of(const std::vector<InterfaceDifference>& differences) {
  for (const InterfaceDifference& one : differences) {
    if (inputs_fit({one})) continue;
    if (one.field == Field::missing) return " (" + quote(one.name) + " is missing in it)";
    if (one.field == Field::added) return " (" + quote(one.name) + " is in B alone)";
    return " (" + quote(one.name) + ": " + field_text(one) + " is " + one.b + ", was " + one.a + ")";
  }
  return {};
}

// Adapting B's interface to A's.
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

/// Numbers of floating-point types, and inputs of B in 32-bit integers: its callers have no larger ones.
bool can_be_cast(const std::string& side, const Port& a, const Port& b) {
  const bool tensors = a.kind == Datum::Kind::tensor && b.kind == Datum::Kind::tensor;
  const bool narrows = side == "input" && a.type == DataType::int64 && b.type == DataType::int32;
  return tensors && a.type != b.type && (narrows || (kRealTypes.has(a.type) && kRealTypes.has(b.type)));
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
  if (input.uses().empty()) return graph.declare_types({{input.name(), from}});
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
  if (b.opset("") < kCastByNumber || value == nullptr || !can_be_cast(side, of_a, of_b)) return false;
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
    remarks.push_back({name.side, name.to, Field::renamed, name.to, name.from, /*remark=*/true, /*adapted=*/true});
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
    if (difference.field == Field::type && cast_port(b, difference.side, *of_a, *of_b)) {
      difference.adapted = true;
      const double held = unit_roundoff(of_b->type);
      difference.remark = options.allow_interface || (held > 0 && unit_roundoff(options.precision) >= held);
    }
    const std::size_t axis = difference.axis.value_or(of_a->dims.size());
    if (is_input && axis < of_a->dims.size() && of_a->dims[axis] < 0 && dims.contains(of_a->key(axis))) {
      difference.adapted = true;
      difference.remark = options.allow_interface;
    }
  }
}

}  // namespace relayout
