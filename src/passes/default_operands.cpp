// Drops operands that say what their absence means: initial states of zeros of LSTM, GRU and RNN.
//
//     h = ConstantOfShape (s)
//     y = GRU (x, W, R, B, , h)        →      y = GRU (x, W, R, B)          with all that only h needs

#include <cmath>

#include "model/node.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "ops/partial_dims.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

constexpr int kMostSteps = 64;

bool has_states(const Node& node) {
  return has_trait(node, Trait::recurrent);
}

bool is_positive_zero(double number) {
  return number == 0 && !std::signbit(number);
}

/// Whether all elements are 0, not −0, however many there are. `steps`: left to be taken, as parts may be one value again and again.
bool is_all_zeros(const Value& value, PassContext& context, int& steps) {
  constexpr int64_t kMostNumbers = 1 << 16;
  if (--steps < 0) return false;
  const Node* const node = value.producer();
  if (node == nullptr || node->is("Constant")) {
    const auto found = context.constants.find(value);
    const auto* const constant = std::get_if<Constant>(&found);
    if (constant == nullptr || !kRealTypes.has(constant->type) || element_count(constant->dims) > kMostNumbers) return false;
    return std::ranges::all_of(reals_of(contiguous(constant->load())), is_positive_zero);
  }
  if (Attributes(*node).has_reference()) return false;
  if (node->is("ConstantOfShape")) {
    const auto fill = fill_of(*node);
    return fill && is_positive_zero(*fill);
  }
  if (node->is("Concat")) {
    return std::ranges::all_of(node->inputs(), [&](const Value* part) { return part != nullptr && is_all_zeros(*part, context, steps); });
  }
  return only_selects(value) && node->input(0) != nullptr && is_all_zeros(*node->input(0), context, steps);
}

/// Whether dims that are known of both contradict each other: such a model cannot run.
bool contradicts(const Node& node, const Value& state, PassContext& context) {
  const PartialDims of_x = node.input(0) != nullptr ? context.constants.dims(*node.input(0)) : std::nullopt;
  const PartialDims of_state = context.constants.dims(state);
  if (!of_x || !of_state) return false;
  if (of_x->size() != 3 || of_state->size() != 3) return true;
  const bool is_batch_first = Attributes(node).integer("layout", 0) == 1;
  const int64_t batch = (*of_x)[is_batch_first ? 0 : 1], given = (*of_state)[is_batch_first ? 0 : 1];
  return batch >= 0 && given >= 0 && batch != given;
}

struct Dropped {
  const Node* node;
  std::vector<std::size_t> operands;
  std::vector<const Node*> taken, anchors;
  std::string detail;
};

Match<Dropped> match_states(const Node& node, PassContext& context) {
  Dropped out{&node, {}, {&node}, {}, {}};
  if (Attributes(node).has_reference()) return NotApplicable{};
  for (std::size_t index = 0; index < node.inputs().size(); ++index) {
    const Value* const state = traits_of(node).is_initial_state(index) ? node.input(index) : nullptr;
    int steps = kMostSteps;
    if (state != nullptr && is_all_zeros(*state, context, steps) && !contradicts(node, *state, context)) out.operands.push_back(index);
  }
  if (out.operands.empty()) return NotApplicable{};
  return out;
}

void drop_operands(const Dropped& found, PassContext& context) {
  Node& node = writable(*found.node);
  for (const std::size_t index : found.operands) {
    Value& state = *node.input(index);
    node.graph().set_input(node, index, nullptr);
    release(state, context);
  }
}

}  // namespace

void default_operands(Graph& graph, PassContext& context) {
  rewrite_each(graph, context, has_states, match_states, drop_operands);
}

}  // namespace relayout::passes
