// What is known of a graph's inputs before any of them has values.
#include "verify/inputs/input_ports.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/port.h"
#include "verify/inputs/roles.h"
#include "verify/inputs/table_rows.h"

namespace relayout {
namespace {

/// Has ids choose rows of the tables first that are others in the same input of another graph.
void prefer_differing_rows(const Value& there, InputUse& here) {
  // Of more rows than these, any will show it.
  constexpr std::size_t kMost = 1024;
  const InputUse use = use_of(there);
  if (use.tables.size() != here.tables.size()) return;
  for (std::size_t k = 0; k < use.tables.size(); ++k) {
    const std::vector<int64_t> rows = differing_rows(*here.tables[k], *use.tables[k], kMost);
    here.preferred.insert(here.preferred.end(), rows.begin(), rows.end());
  }
}

}  // namespace

InputPorts::InputPorts(const Graph& graph, const Graph* other, const InputLimits& limits) : ports_(required_inputs(graph)) {
  for (const Port& port : ports_) {
    const Value* const value = graph.find(port.name);
    InputUse& use = uses_.emplace_back(value == nullptr ? InputUse{} : use_of(*value));
    use.narrow = limits.narrow;
    const auto range = limits.ranges.find(port.name);
    if (range != limits.ranges.end()) use.range = range->second;
    const Value* const there = other == nullptr || use.tables.empty() ? nullptr : other->find(port.name);
    if (there != nullptr) prefer_differing_rows(*there, use);
  }
}

template <typename Wanted>
std::set<std::string> InputPorts::names_of(TypeSet types, const Wanted& is_wanted) const {
  std::set<std::string> out;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    if (ports_[i].kind == Datum::Kind::tensor && types.has(ports_[i].type) && is_wanted(uses_[i].role)) out.insert(ports_[i].name);
  }
  return out;
}

std::set<std::string> InputPorts::plain_integers() const {
  return names_of(kIntegerTypes, [](InputRole role) { return role == InputRole::number; });
}

std::set<std::string> InputPorts::kept_integers() const {
  return names_of(kIntegerTypes, [](InputRole role) { return role <= InputRole::length; });
}

std::set<std::string> InputPorts::masks() const {
  return names_of(kIntegerTypes | kBooleanTypes, [](InputRole role) { return role == InputRole::mask; });
}

std::string InputPorts::empty_input() const {
  for (const Port& port : ports_) {
    const Port& tensor = tensor_port(port);
    if (!tensor.has_shape || std::ranges::find(tensor.dims, 0) == tensor.dims.end()) continue;
    return "input " + quote(port.name) + " is declared " + type_text(port) + ", which has no elements";
  }
  return {};
}

}  // namespace relayout
