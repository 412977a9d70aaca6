// Decides, before anything is changed, which nodes and values get a 16-bit type.

#include "passes/precision/precision_plan.h"

#include <ranges>

#include "base/positions.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/op_history.h"
#include "passes/edits.h"
#include "passes/integer_ranges.h"
#include "passes/pass.h"
#include "passes/precision/magnitudes.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// Whether the type of this operand makes no difference to the operator.
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

/// Why an operand keeps its type whatever the others do.
std::optional<Skip> refusal(const Node& node, const OpSignature& signature, std::size_t input, const TypeChange& change) {
  const std::string_view fragile = change.narrows() ? fragile_reason(node, input) : std::string_view{};
  if (!fragile.empty()) return Skip{Reason::fragile, std::string(fragile)};
  if (change.narrows() && lacks_kernel(node)) return Skip{Reason::no_kernel, node.op_type() + " with a reduction in ONNX Runtime's CPU"};
  if (signature.allowed(signature.input(input).variable).has(change.target)) return std::nullopt;
  const auto first = OpSignatures::first_opset(node.op_type(), input, change.target);
  std::string detail = node.op_type() + (first ? " takes " : " does not take ") + std::string(name_of(change.target));
  if (first) detail += " from opset " + std::to_string(*first) + " on";
  return Skip{Reason::type_not_allowed, std::move(detail)};
}

/// Whether an operand or a result is a container of tensors of a type variable.
bool has_containers(const Node& node, const OpSignature& signature) {
  const auto holds = [&](int variable) { return variable >= 0 && signature.allowed(variable).empty(); };
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    if (holds(signature.input(i).variable)) return true;
  }
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    if (holds(signature.output(i).variable)) return true;
  }
  return false;
}

/// A bit for each type variable of the node that would change; if none may, there may be a reason.
struct Changeable {
  uint64_t variables = 0;
  std::optional<Skip> skip;
};

Changeable changeable(const Node& node, const OpSignature* signature, const ElementTypes& types, const TypeChange& change) {
  if (signature == nullptr) return {0, Skip{Reason::type_unknown}};
  if (node.opset() < kCastByNumber) {
    return {0, Skip{Reason::type_not_allowed, "Cast names its type by number from opset 6 on, and no runtime takes another"}};
  }
  uint64_t out = 0, kept = 0, unknown = 0;
  std::optional<Skip> skip;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* const value = node.input(i);
    const int variable = signature->input(i).variable;
    // A type that the operator fixes (scales of Resize) does not change.
    if (value == nullptr || bit(variable) == 0) continue;
    if (types.of(*value) == DataType::undefined) {
      unknown |= bit(variable);
      continue;
    }
    if (!change.is_source(types.of(*value))) continue;
    if (auto why = refusal(node, *signature, i, change)) {
      kept |= bit(variable);
      // Of several operands the first one gives the reason for the node.
      if (!skip) skip = std::move(why);
    } else {
      out |= bit(variable);
    }
  }
  // A container of tensors of this type would have to change along with all values connected to it.
  const bool is_contained = has_containers(node, *signature);
  if ((out & unknown) != 0 || (out != 0 && is_contained)) skip = Skip{Reason::type_unknown};
  if (is_contained) return {0, std::move(skip)};
  out &= ~(kept | unknown);
  if (out != 0) skip.reset();
  return {out, std::move(skip)};
}

/// A leaf whose type is part of a contract: a caller may replace it, or training_info updates it.
bool is_fixed_leaf(const Value& value, Constants& constants) {
  if (value.is_overridable()) return true;
  const auto found = constants.find(value);
  const auto* const reason = std::get_if<Reason>(&found);
  return reason != nullptr && *reason == Reason::training_info;
}

}  // namespace

PrecisionPlan::PrecisionPlan(Graph& graph, PassContext& context)
    : context_(context),
      types_(graph, signatures_),
      change_{context.options.precision},
      numbers_(context.constants, context.options.precision),
      magnitudes_(types_, numbers_, context.options.precision),
      integers_(types_, context.constants, context.options.precision) {
  if (change_.narrows()) deciding_.emplace(graph, context, change_.target);
  for_each_node(graph, [&](Node& node) {
    decide(node);
    if (!change_.narrows()) return;
    magnitudes_.note(node);
    integers_.note(node);
  });
  settle_constants();
  settle_leaves(graph);
}

DataType PrecisionPlan::after(const Value& value) const {
  if (retyped_.contains(&value)) return change_.target;
  const DataType type = before(value);
  const Node* const node = value.producer();
  if (node == nullptr) {
    const bool follows = value.is_model_input() && value.initializer() == nullptr;
    return follows && context_.options.io_precision && change_.is_source(type) ? change_.target : type;
  }
  const auto found = changed_.find(node);
  if (found == changed_.end() || !change_.is_source(type)) return type;
  // The signature is known: a node without one does not change.
  const OpSignature* const signature = signatures_.find(*node);
  return (found->second & bit(signature->output(as_size(value.output_index())).variable)) != 0 ? change_.target : type;
}

DataType PrecisionPlan::wanted(const Use& use) const {
  const Node& node = *use.node;
  if (takes_any(node, use.index)) return DataType::undefined;
  const DataType type = before(*node.input(as_size(use.index)));
  const auto found = changed_.find(&node);
  if (found == changed_.end() || !change_.is_source(type)) return type;
  const OpSignature* const signature = signatures_.find(node);
  return (found->second & bit(signature->input(as_size(use.index)).variable)) != 0 ? change_.target : type;
}

const Rounding* PrecisionPlan::rounding(const Value& value) const {
  const auto found = roundings_.find(&value);
  return found != roundings_.end() ? &found->second : nullptr;
}

/// Whether all operands that are not constant come from nodes that keep their type, or from outside.
bool PrecisionPlan::carries_on(const Node& node) const {
  // A Cast of an operand pays if 16 bits save time or memory.
  if (has_trait(node, Trait::multiplies)) return false;
  bool any = false;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* const value = node.input(i);
    if (value == nullptr || !change_.is_source(before(*value)) || numbers_.is_constant(*value)) continue;
    any = true;
    if (after(*value) == change_.target) return false;
    // The operand of a Cast that widened the value is in the target type already.
    const Node* const maker = value->producer();
    if (maker != nullptr && maker->is("Cast") && maker->input(0) != nullptr && after(*maker->input(0)) == change_.target) return false;
  }
  return any;
}

void PrecisionPlan::decide(Node& node) {
  const auto is_source_value = [&](const Value* value) { return value != nullptr && change_.is_source(before(*value)); };
  if (!std::ranges::any_of(node.inputs(), is_source_value)) return;
  if (takes_any(node, 0)) return;
  if (!node.subgraphs().empty()) {
    nodes_.emplace_back(&node, Skip{Reason::shared_types});
    return;
  }
  auto [variables, skip] = changeable(node, signatures_.find(node), types_, change_);
  if (variables == 0) {
    if (skip) nodes_.emplace_back(&node, std::move(skip));
    return;
  }
  // The type of an output of a nested graph is part of a contract.
  const auto is_shared_output = [](const Value* value) { return value != nullptr && is_output_elsewhere(*value); };
  const auto is_fixed = [&](const Value* value) { return !is_source_value(value) || numbers_.is_constant(*value); };
  if (is_excluded(node, context_.options)) {
    nodes_.emplace_back(&node, Skip{Reason::excluded});
  } else if (std::ranges::any_of(node.outputs(), is_shared_output)) {
    nodes_.emplace_back(&node, Skip{Reason::operator_output_captured});
  } else if (std::ranges::all_of(node.inputs(), is_fixed) && !(has_trait(node, Trait::multiplies) && numbers_.depends_on_run(node))) {
    numbers_.note_constant(node);
    if (auto harm = change_.narrows() ? magnitudes_.harm(node, changing_operands(node, variables)) : std::nullopt) {
      nodes_.emplace_back(&node, std::move(harm));
    } else {
      waiting_.emplace_back(&node, variables);
    }
  } else if (auto keep = change_.narrows() ? reason_to_keep(node, changing_operands(node, variables)) : std::nullopt) {
    nodes_.emplace_back(&node, std::move(keep));
  } else if (context_.may_rewrite()) {
    changed_.emplace(&node, variables);
    nodes_.emplace_back(&node, std::nullopt);
    ++context_.rewrites;
  }
}

std::vector<const Value*> PrecisionPlan::changing_operands(const Node& node, uint64_t variables) const {
  const OpSignature* const signature = signatures_.find(node);
  std::vector<const Value*> out;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    if (node.input(i) != nullptr && (variables & bit(signature->input(i).variable)) != 0) out.push_back(node.input(i));
  }
  return out;
}

std::optional<Skip> PrecisionPlan::reason_to_keep(const Node& node, std::span<const Value* const> operands) {
  const auto is_quantized = [](const Value* value) { return value != nullptr && is_dequantized(*value); };
  if (std::ranges::any_of(node.inputs(), is_quantized)) return Skip{Reason::quantized};
  if (const std::string_view why = deciding_->reason(node); !why.empty()) return Skip{Reason::fragile, std::string(why)};
  if (auto harm = numbers_.harm(operands)) return harm;
  if (auto harm = magnitudes_.harm(node, operands)) return harm;
  if (auto harm = integers_.harm(node, operands)) return harm;
  return carries_on(node) ? std::optional(Skip{Reason::no_gain}) : std::nullopt;
}

bool PrecisionPlan::only_target_is_wanted(const Value& value) const {
  if (value.is_output()) return false;
  bool any = false;
  for (const Use& use : value.uses()) {
    const DataType type = wanted(use);
    if (type != DataType::undefined && type != change_.target) return false;
    // A Cast to another type depends on all bits of the value.
    if (change_.narrows() && use.node->is("Cast")) return false;
    any = any || type == change_.target;
  }
  return any || (!change_.narrows() && !value.uses().empty());
}

void PrecisionPlan::settle_constants() {
  for (const auto& [node, variables] : std::views::reverse(waiting_)) {
    const auto goes = [&](const Value* value) {
      return value == nullptr || !change_.is_source(before(*value)) || only_target_is_wanted(*value);
    };
    if (!change_.narrows() || std::ranges::all_of(node->outputs(), goes)) {
      changed_.emplace(node, variables);
      nodes_.emplace_back(node, std::nullopt);
    } else if (numbers_.depends_on_run(*node)) {
      nodes_.emplace_back(node, Skip{Reason::no_gain});
    }
  }
}

void PrecisionPlan::settle_leaves(Graph& graph) {
  const auto settle = [&](const Value& value) {
    if (!change_.is_source(before(value)) || !only_target_is_wanted(value)) return;
    retyped_.insert(&value);
    if (const auto rounding = change_.narrows() ? numbers_.rounding(value) : std::nullopt) roundings_.emplace(&value, *rounding);
  };
  const auto settle_initializers = [&](const Graph& entered) {
    for (const Initializer& initializer : entered.initializers()) {
      if (initializer.data && !is_fixed_leaf(*initializer.value, context_.constants)) settle(*initializer.value);
    }
  };
  const auto settle_output = [&](const Node& node) {
    const Value* const output = node.output(0);
    if (output == nullptr) return;
    const auto* const operand = node.input(0);
    if (node.is("Constant") && node.attribute("value") != nullptr) settle(*output);
    // When narrowing, readers bypass a Cast that widens; when widening, it is removed.
    if (node.is("Cast") && operand != nullptr && (!change_.narrows() || !kHalfTypes.has(before(*operand)))) settle(*output);
  };
  for_each_node<Nested::before>(graph, settle_output, settle_initializers);
}

}  // namespace relayout::passes
