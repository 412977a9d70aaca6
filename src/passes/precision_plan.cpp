// Decides node by node and value by value what is computed in 16 bits, before anything is changed.

#include "passes/precision_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/positions.h"
#include "base/text.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/op_signature.h"
#include "ops/traits.h"
#include "passes/cleanup.h"
#include "passes/fragile.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/rounding.h"
#include "passes/selection.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr int64_t kCastByNumber = 6;

constexpr TypeSet kNarrow{DataType::float16, DataType::bfloat16};

/// Operators to which the type of this operand makes no difference.
bool takes_any(const Node& node, int input) {
  return input == 0 && (node.is("Cast") || node.is("Shape") || node.is("Size"));
}

bool is_dequantized(const Value& value) {
  const Node* node = value.producer();
  while (node != nullptr && has_trait(*node, Trait::permutes) && node->input(0) != nullptr) {
    node = node->input(0)->producer();
  }
  return node != nullptr && has_trait(*node, Trait::quantizes);
}

constexpr uint64_t bit(int variable) {
  return variable >= 0 && variable < 64 ? uint64_t{1} << static_cast<unsigned>(variable) : 0;
}

}  // namespace

PrecisionPlan::PrecisionPlan(Graph& graph, PassContext& context)
    : context_(context), types_(graph, signatures_), target_(context.options.precision), magnitudes_([this](const Value& value) {
        const auto rounding = TypeSet{DataType::float32, DataType::float64}.has(before(value)) ? scan(value) : std::nullopt;
        return rounding ? rounding->largest : 0;
      }) {
  for_each_node(graph, [&](Node& node) {
    decide(node);
    if (narrows()) magnitudes_.note(node);
  });
  settle_constants();
  settle_leaves(graph);
}

bool PrecisionPlan::is_source(DataType type) const {
  return narrows() ? type == DataType::float32 : kNarrow.has(type);
}

DataType PrecisionPlan::after(const Value& value) const {
  if (retyped_.contains(&value)) return target_;
  const DataType type = before(value);
  const Node* const node = value.producer();
  if (node == nullptr) {
    const bool follows = value.is_input() && value.initializer() == nullptr && value.graph().outer() == nullptr;
    return follows && context_.options.io_precision && is_source(type) ? target_ : type;
  }
  const auto found = changed_.find(node);
  if (found == changed_.end() || !is_source(type)) return type;
  // The signature is known, or nothing of the node would have changed.
  const OpSignature* const signature = signatures_.find(*node);
  return (found->second & bit(signature->output(as_size(value.output_index())).variable)) != 0 ? target_ : type;
}

DataType PrecisionPlan::wanted(const Use& use) const {
  const Node& node = *use.node;
  if (takes_any(node, use.index)) return DataType::undefined;
  const DataType type = before(*node.input(as_size(use.index)));
  const auto found = changed_.find(&node);
  if (found == changed_.end() || !is_source(type)) return type;
  const OpSignature* const signature = signatures_.find(node);
  return (found->second & bit(signature->input(as_size(use.index)).variable)) != 0 ? target_ : type;
}

const Rounding* PrecisionPlan::rounding(const Value& value) const {
  const auto found = roundings_.find(&value);
  return found != roundings_.end() ? &found->second : nullptr;
}

bool PrecisionPlan::is_constant(const Value& value) const {
  return value.is_stored_constant() || constants_.contains(&value);
}

uint64_t PrecisionPlan::changeable(const Node& node, std::optional<Skip>& skip) {
  const OpSignature* const signature = signatures_.find(node);
  if (signature == nullptr) {
    skip = Skip{Reason::type_unknown};
    return 0;
  }
  if (node.opset() < kCastByNumber) {
    skip = Skip{Reason::type_not_allowed, "Cast names its type by number from opset 6 on, and no runtime takes another"};
    return 0;
  }
  uint64_t out = 0, kept = 0, unknown = 0;
  bool refused = false;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* const value = node.input(i);
    const int variable = signature->input(i).variable;
    // A type that the operator fixes (scales of Resize) is none of ours.
    if (value == nullptr || bit(variable) == 0) continue;
    if (before(*value) == DataType::undefined) {
      unknown |= bit(variable);
      continue;
    }
    if (!is_source(before(*value))) continue;
    std::optional<Skip> why;
    const std::string_view fragile = narrows() ? fragile_reason(node, i) : std::string_view{};
    if (!fragile.empty()) {
      why = Skip{Reason::fragile, std::string(fragile)};
    } else if (!signature->allowed(variable).has(target_)) {
      const auto first = OpSignatures::first_opset(node.op_type(), i, target_);
      std::string detail = node.op_type() + (first ? " takes " : " does not take ") + std::string(name_of(target_));
      if (first) detail += " from opset " + std::to_string(*first) + " on";
      why = Skip{Reason::type_not_allowed, std::move(detail)};
    }
    if (why) {
      kept |= bit(variable);
      // Of several operands the first one speaks for the node.
      if (!refused) skip = std::move(why);
      refused = true;
    } else {
      out |= bit(variable);
    }
  }
  // What holds a tensor of this type, and is none itself, would have to change along with everything that it meets.
  const auto holds = [&](std::size_t count, const auto& port_of) {
    for (std::size_t i = 0; i < count; ++i) {
      const int variable = port_of(i).variable;
      if (variable >= 0 && signature->allowed(variable).empty()) return true;
    }
    return false;
  };
  const bool has_containers = holds(node.inputs().size(), [&](std::size_t i) { return signature->input(i); }) ||
                              holds(node.outputs().size(), [&](std::size_t i) { return signature->output(i); });
  if ((out & unknown) != 0 || (out != 0 && has_containers)) skip = Skip{Reason::type_unknown};
  if (has_containers) return 0;
  out &= ~(kept | unknown);
  if (out != 0) skip.reset();
  return out;
}

std::optional<Rounding> PrecisionPlan::scan(const Value& value) {
  const auto [entry, is_new] = scanned_.try_emplace(&value);
  if (!is_new) return entry->second;
  const auto found = context_.constants.find(value);
  const auto* const constant = std::get_if<Constant>(&found);
  if (constant != nullptr && constant->type != DataType::string) entry->second = rounding_of(constant->data, target_);
  return entry->second;
}

std::optional<Skip> PrecisionPlan::harm_of_constants(const Node& node, uint64_t variables) {
  const OpSignature* const signature = signatures_.find(node);
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* const value = node.input(i);
    if (value == nullptr || (variables & bit(signature->input(i).variable)) == 0 || !is_constant(*value)) continue;
    const auto rounding = scan(*value);
    if (!rounding) continue;
    if (rounding->infinite > 0) {
      return Skip{Reason::overflow, quote(value->name()) + ": " + std::to_string(rounding->infinite) + " of " +
                                        std::to_string(rounding->count) + " beyond the range of " + std::string(name_of(target_))};
    }
    if (rounding->vanishes()) return Skip{Reason::underflow, quote(value->name()) + " vanishes in " + std::string(name_of(target_))};
  }
  return std::nullopt;
}

std::optional<Skip> PrecisionPlan::harm_of_magnitudes(const Node& node, uint64_t variables) const {
  const OpSignature* const signature = signatures_.find(node);
  // A score of 20 beside a mask of −65504 is −65524, beyond the range of float16: terms have half of it.
  const double range = overflow_of(target_);
  const double room = node.is("Add") || node.is("Sub") || node.is("Sum") ? range / 2 : range;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* const value = node.input(i);
    if (value == nullptr || (variables & bit(signature->input(i).variable)) == 0 || magnitudes_.of(*value) < room) continue;
    return Skip{Reason::overflow,
                quote(value->name()) +
                    (magnitudes_.of(*value) < range ? " holds a constant whose sums may leave" : " holds a constant beyond") +
                    " the range of " + std::string(name_of(target_))};
  }
  return std::nullopt;
}

/// Everything that is not constant comes from nodes that keep their type, or from outside.
bool PrecisionPlan::carries_on(const Node& node) const {
  // Where 16 bits save time or memory, a Cast in front pays.
  if (has_trait(node, Trait::multiplies)) return false;
  bool any = false;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* const value = node.input(i);
    if (value == nullptr || !is_source(before(*value)) || is_constant(*value)) continue;
    any = true;
    if (after(*value) == target_) return false;
    // What was widened just before is there in the target already.
    const Node* const maker = value->producer();
    if (maker != nullptr && maker->is("Cast") && maker->input(0) != nullptr && after(*maker->input(0)) == target_) return false;
  }
  return any;
}

/// Rows of a table by ids that come in, or a filling of dims that do: the numbers are constants, which of them is not known.
bool PrecisionPlan::depends_on_run(const Node& node) const {
  return std::ranges::any_of(node.inputs(), [&](const Value* value) {
    return value != nullptr && !value->is_stored_constant() && (!constants_.contains(value) || chosen_.contains(value));
  });
}

void PrecisionPlan::note_constants(const Node& node) {
  const bool is_chosen = depends_on_run(node);
  for (const Value* output : node.outputs()) {
    if (output == nullptr) continue;
    constants_.insert(output);
    if (is_chosen) chosen_.insert(output);
  }
}

void PrecisionPlan::decide(Node& node) {
  const auto is_source_value = [&](const Value* value) { return value != nullptr && is_source(before(*value)); };
  if (!std::ranges::any_of(node.inputs(), is_source_value)) return;
  if (node.is("Cast") || node.is("Shape") || node.is("Size")) return;
  if (!node.subgraphs().empty()) {
    nodes_.emplace_back(&node, Skip{Reason::shared_types});
    return;
  }
  std::optional<Skip> skip;
  const uint64_t variables = changeable(node, skip);
  if (variables == 0) {
    if (skip) nodes_.emplace_back(&node, std::move(skip));
    return;
  }
  // The type of an output of a nested graph is part of a contract.
  const auto is_shared_output = [](const Value* value) { return value != nullptr && is_output_elsewhere(*value); };
  const auto is_quantized = [](const Value* value) { return value != nullptr && is_dequantized(*value); };
  const auto is_fixed = [&](const Value* value) { return !is_source_value(value) || is_constant(*value); };
  if (is_excluded(node, context_.options)) {
    nodes_.emplace_back(&node, Skip{Reason::excluded});
  } else if (std::ranges::any_of(node.outputs(), is_shared_output)) {
    nodes_.emplace_back(&node, Skip{Reason::conv_output_captured});
  } else if (std::ranges::all_of(node.inputs(), is_fixed) && !(has_trait(node, Trait::multiplies) && depends_on_run(node))) {
    note_constants(node);
    if (auto harm = narrows() ? harm_of_magnitudes(node, variables) : std::nullopt) {
      nodes_.emplace_back(&node, std::move(harm));
    } else {
      waiting_.emplace_back(&node, variables);
    }
  } else if (narrows() && std::ranges::any_of(node.inputs(), is_quantized)) {
    nodes_.emplace_back(&node, Skip{Reason::quantized});
  } else if (auto harm = narrows() ? harm_of_constants(node, variables) : std::nullopt) {
    nodes_.emplace_back(&node, std::move(harm));
  } else if (auto large = narrows() ? harm_of_magnitudes(node, variables) : std::nullopt) {
    nodes_.emplace_back(&node, std::move(large));
  } else if (narrows() && carries_on(node)) {
    nodes_.emplace_back(&node, Skip{Reason::no_gain});
  } else if (context_.may_rewrite()) {
    changed_.emplace(&node, variables);
    nodes_.emplace_back(&node, std::nullopt);
    ++context_.rewrites;
  }
}

bool PrecisionPlan::only_target_is_wanted(const Value& value) const {
  if (value.is_output()) return false;
  bool any = false;
  for (const Use& use : value.uses()) {
    const DataType type = wanted(use);
    if (type != DataType::undefined && type != target_) return false;
    // What is cast to something else comes from all of its bits.
    if (narrows() && use.node->is("Cast")) return false;
    any = any || type == target_;
  }
  return any || (!narrows() && !value.uses().empty());
}

void PrecisionPlan::settle_constants() {
  for (const auto& [node, variables] : std::views::reverse(waiting_)) {
    const auto goes = [&](const Value* value) { return value == nullptr || !is_source(before(*value)) || only_target_is_wanted(*value); };
    if (!narrows() || std::ranges::all_of(node->outputs(), goes)) {
      changed_.emplace(node, variables);
      nodes_.emplace_back(node, std::nullopt);
    } else if (depends_on_run(*node)) {
      nodes_.emplace_back(node, Skip{Reason::no_gain});
    }
  }
}

bool PrecisionPlan::is_fixed_leaf(const Value& value) {
  if (value.is_overridable()) return true;
  const auto found = context_.constants.find(value);
  const auto* const reason = std::get_if<Reason>(&found);
  return reason != nullptr && *reason == Reason::training_info;
}

void PrecisionPlan::settle_leaves(Graph& graph) {
  const auto settle = [&](const Value& value) {
    if (!is_source(before(value)) || !only_target_is_wanted(value)) return;
    retyped_.insert(&value);
    if (const auto rounding = narrows() ? scan(value) : std::nullopt) roundings_.emplace(&value, *rounding);
  };
  const auto settle_initializers = [&](const Graph& entered) {
    for (const Initializer& initializer : entered.initializers()) {
      if (initializer.data && !is_fixed_leaf(*initializer.value)) settle(*initializer.value);
    }
  };
  const auto settle_output = [&](const Node& node) {
    const Value* const output = node.output(0);
    if (output == nullptr) return;
    const auto* const operand = node.input(0);
    if (node.is("Constant") && node.attribute("value") != nullptr) settle(*output);
    // One that widens is seen through; when widening, it is removed.
    if (node.is("Cast") && operand != nullptr && (!narrows() || !kNarrow.has(before(*operand)))) settle(*output);
  };
  for_each_node<Nested::before>(graph, settle_output, settle_initializers);
}

}  // namespace relayout
