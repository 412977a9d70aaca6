// Differences between declared inputs and outputs of two models (missing, added, renamed, order, kind, type, rank, shape, dim), which of
// them are mere remarks, and whether B can take A's inputs.
#include "verify/interface.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "base/text.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/data_structure.h"
#include "verify/inputs/port.h"

namespace relayout {
namespace {

std::string_view kind_text(Datum::Kind kind) {
  switch (kind) {
    case Datum::Kind::sequence:
      return "sequence";
    case Datum::Kind::optional:
      return "optional";
    case Datum::Kind::tensor:
      break;
  }
  return "tensor";
}

/// Whether two ports of different names may be the same: their types and dims do not contradict each other.
bool may_be_renamed(const Port& a, const Port& b) {
  if (a.kind != b.kind) return false;
  if (a.kind != Datum::Kind::tensor) return may_be_renamed(a.element.front(), b.element.front());
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
        add(a[i].name, "default", "required", "has a default", /*remark=*/true);
      } else if (i < b.size() && !names_a.contains(b[i].name) && a.size() == b.size() && may_be_renamed(a[i], b[i])) {
        add(a[i].name, "renamed", a[i].name, b[i].name);
        renamed_.insert(b[i].name);
      } else {
        add(a[i].name, "missing", type_text(a[i]), "");
      }
    }
    for (const Port& port : b) {
      if (!names_a.contains(port.name) && !renamed_.contains(port.name)) add(port.name, "added", "", type_text(port));
    }
    compare_order(a, b);
  }

 private:
  void add(const std::string& name, std::string field, std::string a, std::string b, bool remark = false) {
    out_->push_back({side_, name, std::move(field), std::move(a), std::move(b), remark});
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
    add("", "order", join(order_a), join(order_b));
  }

  void compare_ports(const Port& a, const Port& b) {
    if (a.kind != b.kind) return add(a.name, "kind", std::string(kind_text(a.kind)), std::string(kind_text(b.kind)));
    if (a.kind != Datum::Kind::tensor) return compare_ports(a.element.front(), b.element.front());
    if (a.type != b.type) {
      const bool undeclared = a.type == DataType::undefined || b.type == DataType::undefined;
      const auto text = [](DataType type) { return std::string(type == DataType::undefined ? "undeclared" : name_of(type)); };
      add(a.name, "type", text(a.type), text(b.type), undeclared);
    }
    compare_shapes(a, b);
  }

  void compare_shapes(const Port& a, const Port& b) {
    const bool is_input = side_ == "input";
    if (!a.has_shape && !b.has_shape) return;
    if (!a.has_shape || !b.has_shape) {
      const bool narrowed = is_input && !a.has_shape;
      return add(a.name, "shape", a.has_shape ? shape_text(a) : "undeclared", b.has_shape ? shape_text(b) : "undeclared", !narrowed);
    }
    if (a.dims.size() != b.dims.size()) {
      return add(a.name, "rank", std::to_string(a.dims.size()) + " " + shape_text(a), std::to_string(b.dims.size()) + " " + shape_text(b));
    }
    for (std::size_t i = 0; i < a.dims.size(); ++i) {
      if (a.dims[i] == b.dims[i]) continue;
      const auto text = [i](const Port& port) {
        if (port.dims[i] >= 0) return std::to_string(port.dims[i]);
        return port.symbols[i].empty() ? std::string("free") : "free (" + escape(port.symbols[i]) + ")";
      };
      const bool both_fixed = a.dims[i] >= 0 && b.dims[i] >= 0;
      const bool became_fixed = a.dims[i] < 0;
      add(a.name, "dim " + std::to_string(i), text(a), text(b), !both_fixed && !(is_input && became_fixed));
    }
  }

  std::string side_;
  std::vector<InterfaceDifference>* out_;
  std::unordered_set<std::string> renamed_;
};

}  // namespace

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
    const bool is_about_dims = difference.field == "rank" || difference.field == "shape" || difference.field.starts_with("dim ");
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
    return difference.side == "input" && !difference.remark && !difference.adapted && difference.field != "order";
  });
}

std::string misfits_of(const std::vector<InterfaceDifference>& differences) {
  for (const InterfaceDifference& one : differences) {
    if (inputs_fit({one})) continue;
    if (one.field == "missing") return " (" + quote(one.name) + " is missing in it)";
    if (one.field == "added") return " (" + quote(one.name) + " is in B alone)";
    return " (" + quote(one.name) + ": " + one.field + " is " + one.b + ", was " + one.a + ")";
  }
  return {};
}

}  // namespace relayout
