// Finds where parts of two models begin, for reproducers: at values that both have.
#include "run/border.h"

#include "base/text.h"
#include "exec/program.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/verify.h"
#include "verify/compare/pairing.h"
#include "verify/inputs/port.h"

namespace relayout {
namespace {

/// The values of a main graph that depend on one of its values, with that.
void add_downstream(const Value& value, std::unordered_set<const Value*>& out) {
  std::unordered_set<const Value*> found{&value};
  const auto is_found = [&](const Value* operand) { return operand != nullptr && found.contains(operand); };
  for (const Node& node : value.graph().nodes()) {
    if (std::ranges::none_of(node.inputs(), is_found) && std::ranges::none_of(exec::captured_values(node), is_found)) continue;
    for (const Value* const output : node.outputs()) {
      if (output != nullptr) found.insert(output);
    }
  }
  out.insert(found.begin(), found.end());
}

}  // namespace

CommonValues::CommonValues(const Graph& a, const Graph& b, const VerifyOptions& options) {
  const std::vector<Port> of_a = required_inputs(a), of_b = required_inputs(b);
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    const auto renamed = options.renames.find(of_a[i].name);
    const std::string& name = renamed == options.renames.end() ? of_a[i].name : renamed->second;
    const auto found = std::ranges::find(of_b, name, &Port::name);
    const bool by_place = options.match_position || (found == of_b.end() && of_a.size() == of_b.size());
    if (by_place ? i < of_b.size() : found != of_b.end()) add(*a.find(of_a[i].name), *b.find(by_place ? of_b[i].name : found->name));
  }
  const auto partners = pair_values(a, b);
  for (const Node& node : b.nodes()) {
    for (const Value* const output : node.outputs()) {
      const auto found = partners.find(output);
      if (found != partners.end() && !found->second.channels_last) add(*found->second.value, *output);
    }
  }
  constants_ = values_out_of_reach(a);
  constants_.merge(values_out_of_reach(b));
}

void CommonValues::add(const Value& a, const Value& b) {
  twins_.emplace(&a, &b);
  twins_.emplace(&b, &a);
}

const Value* CommonValues::twin_of(const Value& value) const {
  const auto found = twins_.find(&value);
  return found != twins_.end() && twins_.at(found->second) == &value ? found->second : nullptr;
}

Border::Border(const CommonValues& common, const ValuePair& ends) : common_(&common), ends_(ends) {
  add_downstream(*ends.a, downstream_);
  add_downstream(*ends.b, downstream_);
  find();
}

bool Border::widen() {
  const std::size_t before = passed_.size();
  for (const ValuePair& pair : pairs_) {
    if (pair.a->producer() != nullptr && pair.b->producer() != nullptr) passed_.insert({pair.a, pair.b});
  }
  if (passed_.size() == before) return false;
  find();
  return true;
}

void Border::find() {
  pairs_.clear();
  std::unordered_set<const Value*> seen;
  walk(*ends_.a, seen);
  walk(*ends_.b, seen);
  std::ranges::stable_partition(pairs_, [](const ValuePair& pair) { return pair.a->producer() == nullptr; });
}

void Border::walk(const Value& end, std::unordered_set<const Value*>& seen) {
  std::vector<const Value*> open{&end};
  const bool is_in_a = &end == ends_.a;
  const auto reach = [&](const Value& operand) {
    if (!seen.insert(&operand).second || common_->is_constant(operand)) return;
    const Value* const twin = passed_.contains(&operand) ? nullptr : common_->twin_of(operand);
    if (twin != nullptr && !downstream_.contains(twin)) {
      seen.insert(twin);
      pairs_.push_back(is_in_a ? ValuePair{&operand, twin} : ValuePair{twin, &operand});
    } else if (operand.producer() != nullptr) {
      open.push_back(&operand);
    } else {
      fail(ErrorKind::unsupported, "input " + quote(operand.name()) + " has no counterpart in the other model");
    }
  };
  while (!open.empty()) {
    const Node& node = *open.back()->producer();
    open.pop_back();
    for (const Value* const operand : node.inputs()) {
      if (operand != nullptr) reach(*operand);
    }
    for (const Value* const captured : exec::captured_values(node)) reach(*captured);
  }
}

}  // namespace relayout
