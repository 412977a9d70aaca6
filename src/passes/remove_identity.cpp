// Removes nodes that only hand on their operand.
//
//     y = Conv (x, W)                  z = Conv (x, W)
//     z = Identity (y)         →
//
// Identity, Dropout in inference, Transpose that moves nothing, Concat (Sum, Max, Min, Mean) of one operand, Cast to the type of its
// operand, Slice of everything, Pad by nothing, Reshape, Flatten and Expand to the same dims, x · 1, x / 1, x − 0 and x + (−0), and x + 0
// whose readers do not tell 0 from −0. A node stays if it passes a graph input, an initializer or another graph output to a graph output,
// since each of those has a name of its own.

#include <cmath>

#include "base/positions.h"
#include "model/node.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "ops/partial_dims.h"
#include "passes/edits.h"
#include "passes/folds/affine.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

struct Removal {
  const Node* node = nullptr;
  std::size_t passed = 0;
  std::vector<const Node*> taken;
  std::vector<const Node*> anchors;
  std::string detail;
};

bool moves_nothing(const Node& node) {
  const Attributes attributes(node);
  if (attributes.has_reference()) return false;
  const Dims permutation = attributes.integers("perm");
  if (permutation.empty()) return false;
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

bool keeps_type(const Node& node, PassContext& context) {
  const DataType from = context.constants.type_of(*node.input(0));
  return from != DataType::undefined && from == context.constants.type_of(*node.output(0));
}

/// Whether a Slice keeps each of its axes from the first element to the last.
bool keeps_everything(const Node& node, PassContext& context) {
  constexpr int kListsAsOperands = 10;
  constexpr int64_t kLongest = int64_t{1} << 48;  // no axis is longer
  if (node.opset() < kListsAsOperands) return false;
  const auto starts = constant_list(node, 1, context), ends = constant_list(node, 2, context);
  const auto axes = constant_list(node, 3, context), steps = constant_list(node, 4, context);
  if (!starts || !ends || !axes || !steps || starts->empty() || starts->size() != ends->size()) return false;
  if ((!axes->empty() && axes->size() != starts->size()) || (!steps->empty() && steps->size() != starts->size())) return false;
  const PartialDims dims = context.constants.dims(*node.input(0));
  const int64_t rank = dims ? std::ssize(*dims) : 0;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const int64_t axis = axes->empty() ? static_cast<int64_t>(i) : (*axes)[i];
    const bool is_there = axis >= -rank && axis < rank;
    const int64_t size = is_there ? (*dims)[as_size(axis < 0 ? axis + rank : axis)] : -1;
    const bool begins = (*starts)[i] == 0 || (size >= 0 && (*starts)[i] <= -size);
    const bool ends_there = (*ends)[i] >= kLongest || (size >= 0 && (*ends)[i] >= size);
    if (!begins || !ends_there || (!steps->empty() && (*steps)[i] != 1)) return false;
  }
  return true;
}

bool pads_nothing(const Node& node, PassContext& context) {
  constexpr int kPadsAsOperand = 11, kPads = 2;
  const auto given = node.opset() < kPads || Attributes(node).has_reference() ? std::nullopt
                     : node.opset() < kPadsAsOperand                          ? std::optional(Attributes(node).integers("pads"))
                                                                              : constant_list(node, 1, context);
  return given && !given->empty() && std::ranges::all_of(*given, [](int64_t pad) { return pad == 0; });
}

/// Whether a Reshape, Flatten or Expand results in the dims that its operand has.
bool keeps_dims(const Node& node, PassContext& context) {
  const PartialDims before = context.constants.dims(*node.input(0)), after = context.constants.dims(*node.output(0));
  if (!before || Attributes(node).has_reference()) return false;
  const bool is_sized = std::ranges::all_of(*before, [](int64_t dim) { return dim >= 0; });
  if (is_sized && after == before) return true;
  if (node.is("Flatten")) {
    const int64_t axis = Attributes(node).integer("axis", 1);
    return before->size() == 2 && (axis == 1 || axis == -1);
  }
  const auto request = node.is("Reshape") && node.input(1) != nullptr ? constant_list(node, 1, context) : std::nullopt;
  if (!request || request->size() != before->size() || std::ranges::count(*request, -1) > 1) return false;
  const bool zero_keeps = Attributes(node).integer("allowzero", 0) == 0;
  return std::ranges::equal(*request, *before, [&](int64_t wanted, int64_t dim) {
    return wanted == -1 || (wanted == 0 && zero_keeps) || (wanted > 0 && wanted == dim);
  });
}

/// Whether the dims of a value stay when it is broadcast with a constant.
bool stays_as_large(const Value& value, const Dims& constant, PassContext& context) {
  const PartialDims dims = constant.empty() ? PartialDims() : context.constants.dims(value);
  if (constant.empty() || !dims || dims->size() < constant.size()) return constant.empty();
  const auto tail = std::span(*dims).last(constant.size());
  return std::ranges::equal(constant, tail, [](int64_t of_constant, int64_t dim) { return of_constant == 1 || of_constant == dim; });
}

/// Whether a node gives the same for 0 and −0: it is even or nowhere 0 there, or it adds a constant to what becomes of them, which is not
/// −0.
bool is_blind_to_sign(const Node& node, std::size_t index, PassContext& context) {
  constexpr auto kBlind = std::to_array<std::string_view>({"Relu", "Sigmoid", "HardSigmoid", "Softmax", "LogSoftmax", "Exp", "Abs"});
  constexpr int64_t kMostNumbers = 1 << 14;
  if (!node.domain().empty()) return false;
  if (std::ranges::find(kBlind, node.op_type()) != kBlind.end()) return true;
  if (!has_trait(node, Trait::normalizes) || index != 0 || node.input(2) == nullptr) return false;
  const auto found = context.constants.find(*node.input(2));
  const auto* const shift = std::get_if<Constant>(&found);
  if (shift == nullptr || !kRealTypes.has(shift->type) || element_count(shift->dims) > kMostNumbers) return false;
  return std::ranges::none_of(reals_of(contiguous(shift->load())), [](double number) { return number == 0 && std::signbit(number); });
}

bool has_no_sign_of_zero(const Value& value, PassContext& context) {
  const auto is_blind = [&](const Use& use) { return is_blind_to_sign(*use.node, as_size(use.index), context); };
  return !value.is_output() && !value.uses().empty() && std::ranges::all_of(value.uses(), is_blind);
}

/// The number that changes no other; −0 for sums, as 0 would change −0.
std::optional<double> neutral_number(Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::multiply || arithmetic == Arithmetic::divide) return 1;
  if (arithmetic == Arithmetic::subtract) return 0;
  return arithmetic == Arithmetic::add ? std::optional(-0.0) : std::nullopt;
}

/// The operand of a sum, difference, product or quotient that is the result, because the other one is neutral.
std::optional<std::size_t> beside_neutral(const Node& node, PassContext& context) {
  constexpr int kBroadcasting = 7;  // from this version on as numpy does
  constexpr int64_t kMostNumbers = 1 << 12;
  const Arithmetic arithmetic = arithmetic_of(node);
  const auto neutral = neutral_number(arithmetic);
  if (!neutral || node.opset() < kBroadcasting || node.inputs().size() != 2) return std::nullopt;
  const bool commutes = arithmetic == Arithmetic::add || arithmetic == Arithmetic::multiply;
  for (const std::size_t index : {std::size_t{0}, std::size_t{1}}) {
    const Value *const value = node.input(index), *const other = node.input(1 - index);
    if (value == nullptr || other == nullptr || (index == 1 && !commutes)) continue;
    const auto found = context.constants.find(*other);
    const auto* const constant = std::get_if<Constant>(&found);
    if (constant == nullptr || constant->strings || element_count(constant->dims) > kMostNumbers) continue;
    if (!kNumericTypes.has(constant->type)) continue;
    const bool has_sign = kRealTypes.has(constant->type);
    const std::vector<double> numbers = reals_of(contiguous(constant->load()));
    if (!std::ranges::all_of(numbers, [&](double number) { return number == *neutral; })) continue;
    if (!stays_as_large(*value, constant->dims, context)) continue;
    const bool is_signed_alike =
        !has_sign || std::ranges::all_of(numbers, [&](double number) { return std::signbit(number) == std::signbit(*neutral); });
    if (is_signed_alike || (arithmetic == Arithmetic::add && has_no_sign_of_zero(*node.output(0), context))) return index;
  }
  return std::nullopt;
}

/// The operand that a node passes on as it is, if it does.
std::optional<std::size_t> passed_operand(const Node& node, PassContext& context) {
  if (node.input(0) == nullptr || node.output(0) == nullptr) return std::nullopt;
  const auto first = [](bool passes) { return passes ? std::optional<std::size_t>(0) : std::nullopt; };
  if (node.is("Transpose")) return first(moves_nothing(node));
  if (has_trait(node, Trait::casts)) return first(keeps_type(node, context));
  if (has_trait(node, Trait::one_is_itself) && node.inputs().size() == 1) return 0;
  if (node.is("Slice")) return first(keeps_everything(node, context));
  if (node.is("Pad")) return first(pads_nothing(node, context));
  if (node.is("Reshape") || node.is("Flatten") || node.is("Expand")) return first(keeps_dims(node, context));
  if (arithmetic_of(node) != Arithmetic::none) return beside_neutral(node, context);
  return first(passes_through(node, context));
}

/// Whether all readers of `of`, in nested graphs too, can refer to `value` by its name.
bool is_visible_to_readers(const Value& of, const Value& value) {
  return std::ranges::all_of(of.uses(), [&](const Use& use) { return use.node->graph().find(value.name()) == &value; });
}

Match<Removal> match_identity(const Node& node, PassContext& context) {
  for (std::size_t i = 1; i < node.outputs().size(); ++i) {
    if (node.output(i) != nullptr && !is_unused(*node.output(i))) return NotApplicable{};
  }
  const auto passed = passed_operand(node, context);
  if (!passed) return NotApplicable{};
  const Value& from = *node.input(*passed);
  const Value& to = *node.output(0);
  if (to.is_output()) {
    // The producer of the operand must be able to produce the graph output instead.
    const bool can_take_name = from.producer() != nullptr && &from.graph() == &node.graph() && !from.is_output();
    if (!can_take_name || !is_visible_to_readers(from, to)) return NotApplicable{};
  } else if (!is_visible_to_readers(to, from)) {
    return NotApplicable{};
  }
  return Removal{&node, *passed, {&node}, {}, {}};
}

void remove_node(Removal& removal, PassContext& context) {
  Node& node = writable(*removal.node);
  Graph& graph = node.graph();
  Value& from = *node.input(removal.passed);
  Value& to = *node.output(0);
  graph.set_input(node, removal.passed, nullptr);
  if (to.is_output()) {
    Node& producer = *from.producer();
    const auto index = as_size(from.output_index());
    graph.replace_uses(from, to);
    graph.take_output(producer, index, to);
    context.constants.forget(to);
  } else {
    graph.replace_uses(to, from);
  }
  std::vector<Value*> freed;
  erase_node(node, freed);
  for (Value* value : freed) release(*value, context);
}

}  // namespace

void remove_identity(Graph& graph, PassContext& context) {
  rewrite_each(graph, context, [&](const Node& node) { return passed_operand(node, context).has_value(); }, match_identity, remove_node);
}

}  // namespace relayout::passes
