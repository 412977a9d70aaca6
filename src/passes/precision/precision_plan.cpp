// Decides, before anything is changed, which nodes and values get a 16-bit type.

#include "passes/precision/precision_plan.h"

#include <cmath>
#include <ranges>

#include "base/positions.h"
#include "base/text.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/bounds.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/op_attributes.h"
#include "ops/op_history.h"
#include "ops/partial_dims.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/precision/magnitudes.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// Whether the type of this operand makes no difference to the operator.
bool takes_any(const Node& node, int input) {
  const Traits traits = traits_of(node);
  return input == 0 && (traits.has(Trait::casts) || (traits.has(Trait::makes_int64) && traits.reads(0) == Reads::dims));
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

// Numbers that were integers before, which a 16-bit type must not turn into infinities.
namespace {

constexpr TypeSet kCounting = kIntegerTypes | kBooleanTypes;
/// No sum has more terms where its dims are unknown.
constexpr double kMostTerms = 0x1p20;

double magnitude(const Bounds& bounds) {
  return std::max(std::fabs(bounds.lowest), std::fabs(bounds.highest));
}

bool is_finite(const Bounds& bounds) {
  return std::isfinite(bounds.lowest) && std::isfinite(bounds.highest);
}

Bounds within(double magnitude) {
  return {-magnitude, magnitude};
}

}  // namespace

IntegerRanges::Range IntegerRanges::of(const Value& value) {
  const auto found = known_.find(&value);
  if (found != known_.end()) return found->second;
  const Bounds of_type = bounds_of_type(types_.of(value));
  Range out{of_type};
  const Node* const maker = value.producer();
  if (maker != nullptr && maker->is("If")) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    out.bounds = {kInfinity, -kInfinity};
    for (const auto& branch : maker->subgraphs()) {
      const std::size_t index = as_size(value.output_index());
      const Range inner = index < branch->outputs().size() ? of(*branch->outputs()[index]) : Range{of_type};
      out.bounds = {std::min(out.bounds.lowest, inner.bounds.lowest), std::max(out.bounds.highest, inner.bounds.highest)};
      out.was_integer = out.was_integer || inner.was_integer;
    }
  } else if (const auto constant = constants_.value(value); constant && (kNumericTypes | kBooleanTypes).has(constant->type())) {
    const Tensor dense = contiguous(*constant);
    std::vector<double> numbers(as_size(dense.element_count()));
    load(dense.type(), dense.bytes(), 1, dense.element_count(), numbers.data());
    const bool are_numbers = !numbers.empty() && std::ranges::none_of(numbers, [](double number) { return std::isnan(number); });
    if (are_numbers) out.bounds = {std::ranges::min(numbers), std::ranges::max(numbers)};
  }
  return known_.emplace(&value, out).first->second;
}

void IntegerRanges::note(const Node& node) {
  if (!node.subgraphs().empty()) return;
  const Value* const result = node.output(0);
  if (result == nullptr) return;
  if (!constants_.is_constant(*result)) known_.insert_or_assign(result, of_result(node));
  const Value* const positions = node.output(1);
  if (positions == nullptr || constants_.is_constant(*positions)) return;
  if (const auto bounds = bounds_of_count(*positions, constants_)) known_.insert_or_assign(positions, Range{*bounds});
}

IntegerRanges::Range IntegerRanges::of_result(const Node& node) {
  const DataType type = types_.of(*node.output(0));
  if (const auto bounds = bounds_of_count(*node.output(0), constants_)) return {*bounds, !kCounting.has(type)};
  if (kCounting.has(type)) return {bounds_of_result(node, types_, [this](const Value& value) { return of(value).bounds; })};
  if (!node.domain().empty()) return {};
  if (has_trait(node, Trait::casts) && node.input(0) != nullptr) {
    const Range operand = of(*node.input(0));
    return {operand.bounds, operand.was_integer || kCounting.has(types_.of(*node.input(0)))};
  }
  const bool any = std::ranges::any_of(node.inputs(), [this](const Value* value) { return value != nullptr && of(*value).was_integer; });
  if (any) return combined(node);
  return {bounds_of_result(node, types_, [this](const Value& value) { return of(value).bounds; })};
}

/// The result of a node that reads numbers that were integers.
IntegerRanges::Range IntegerRanges::combined(const Node& node) {
  std::optional<Range> integers;
  for (const Value* const value : node.inputs()) {
    if (value == nullptr || !of(*value).was_integer) continue;
    if (!integers || magnitude(of(*value).bounds) > magnitude(integers->bounds)) integers = of(*value);
  }
  const double largest = magnitude(integers->bounds);
  if (has_trait(node, Trait::multiplies)) {
    // Sums of products of numbers that fit are activations.
    return {within(largest), largest >= overflow_of(target_)};
  }
  if (reduces(node) == Reduces::sum || reduces(node) == Reduces::l1 || node.is("CumSum")) return of_sum(node, *integers);
  if (traits_of(node).exponent() == 0.5) return {{0, std::sqrt(largest)}, true};
  const Arithmetic arithmetic = arithmetic_of(node);
  const bool scales = arithmetic == Arithmetic::multiply || arithmetic == Arithmetic::divide;
  const auto is_known = [this](const Value* value) { return value == nullptr || is_finite(of(*value).bounds); };
  if (scales && !std::ranges::all_of(node.inputs(), is_known)) return {};
  if (scales && node.input(0) == node.input(1)) return {{0, arithmetic == Arithmetic::multiply ? largest * largest : 1}, true};
  // Activations among the terms of a sum, or the elements to choose from, count as small.
  const auto bounds_of = [this](const Value& value) { return is_finite(of(value).bounds) ? of(value).bounds : Bounds{0, 0}; };
  const Bounds found = bounds_of_result(node, types_, bounds_of);
  if (is_finite(found)) return {found, true};
  return keeps_magnitude(node) ? Range{within(largest), true} : Range{};
}

IntegerRanges::Range IntegerRanges::of_sum(const Node& node, const Range& operand) {
  const PartialDims before = constants_.dims(*node.input(0)), after = constants_.dims(*node.output(0));
  const int64_t elements = before ? product_of(*before) : -1, results = after && !node.is("CumSum") ? product_of(*after) : 1;
  const double terms = elements > 0 && results > 0 ? static_cast<double>(elements) / static_cast<double>(results) : kMostTerms;
  return {within(terms * magnitude(operand.bounds)), true};
}

std::optional<Skip> IntegerRanges::harm(const Node& node, std::span<const Value* const> operands) {
  const double range = overflow_of(target_);
  const auto is_beyond = [&](const Range& found) { return found.was_integer && magnitude(found.bounds) >= range; };
  const auto skip = [&](const Value& value, const char* what) {
    return Skip{Reason::overflow, quote(value.name()) + what + std::string(name_of(target_))};
  };
  bool any = false;
  for (const Value* const value : operands) {
    const Range found = of(*value);
    if (is_beyond(found)) return skip(*value, " was integers, and nothing tells that they are within the range of ");
    any = any || found.was_integer;
  }
  const Value* const result = node.output(0);
  if (any && result != nullptr && is_beyond(of_result(node))) return skip(*result, " was integers, whose sums may leave the range of ");
  return std::nullopt;
}

// Operands that must keep their bits.
namespace {

/// Why 16 bits do not do, for people.
std::string_view words_of(Weakness weakness) {
  switch (weakness) {
    case Weakness::none:
      return {};
    case Weakness::exponential:
      return "exponentials leave the range of 16 bits";
    case Weakness::logarithm:
      return "logarithms near their singularity need every bit of their operand";
    case Weakness::sum:
      return "sums of many elements lose small ones and leave the range";
    case Weakness::variance:
      return "squares and small variances leave the range";
    case Weakness::position:
      return "positions and coordinates above 2048 are no whole numbers any more";
    case Weakness::scale:
      return "scales decide integers";
    case Weakness::steep:
      return "steep where small errors of the operand matter";
    case Weakness::feedback:
      return "errors add up from step to step";
  }
  return {};
}

}  // namespace

std::string_view fragile_reason(const Node& node, std::size_t input) {
  if (!node.domain().empty()) return {};
  const Op* const op = find_op(node.op_type());
  const Weakness weakness = op != nullptr ? op->traits.weakness(input) : Weakness::none;
  return computes_in_float32(node) ? std::string_view() : words_of(weakness);
}

/// ONNX Runtime 1.31 registers scatters for f16 on the CPU, but runs them only without the attribute `reduction`: all others of ONNX's
/// tests of single operators run in f16.
bool lacks_kernel(const Node& node) {
  return has_trait(node, Trait::indexes) && Attributes(node).text("reduction", "none") != "none";
}

}  // namespace relayout::passes
