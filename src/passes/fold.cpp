#include "passes/fold.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "passes/affine.h"
#include "passes/cleanup.h"
#include "passes/linear_operator.h"
#include "passes/neighbours.h"
#include "passes/numbers.h"
#include "passes/operands.h"
#include "passes/pass.h"
#include "passes/skips.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/graph.h"

namespace relayout {
namespace {

bool is_affine(const Node& node) {
  return node.is("BatchNormalization");
}

/// A chain behind a linear operator that is still growing.
struct Chain {
  std::vector<Node*> path, taken;
  std::vector<Affine> affines;
};

/// Adds one affine; its channels must be the operator's.
void add(Chain& chain, Node& node, Affine affine, const LinearOperator& target) {
  const auto length = static_cast<int64_t>(affine.scale.size());
  if (length != target.channels) {
    fail(ErrorKind::invalid, node.label() + " has " + std::to_string(length) + " channels, " + target.node->label() +
                                 " in front of it has " + std::to_string(target.channels));
  }
  chain.path.push_back(&node);
  chain.taken.push_back(&node);
  chain.affines.push_back(std::move(affine));
}

/// Takes up the affines that follow the chain's end, through nodes that hand their input on.
void extend(Chain& chain, const LinearOperator& target, PassContext& context) {
  std::vector<Node*> between;
  for (const Node* last = chain.path.back();;) {
    const Value& value = *last->output(0);
    if (value.uses().size() != 1 || value.is_output() || value.is_captured() || value.uses().front().index != 0) return;
    Node& next = *value.uses().front().node;
    if (next.output(0) == nullptr) return;
    if (passes_through(next, context) && next.output(1) == nullptr) {
      between.push_back(&next);
    } else if (is_affine(next) && !is_excluded(next, context.options)) {
      auto affine = batch_norm_affine(next, context);
      if (std::holds_alternative<Skip>(affine)) return;
      chain.path.insert(chain.path.end(), between.begin(), between.end());
      between.clear();
      add(chain, next, std::get<Affine>(std::move(affine)), target);
    } else {
      return;
    }
    last = &next;
  }
}

/// What the operator's operands become, or why they cannot.
std::variant<AffineFold, Skip> compose(const Chain& chain, const LinearOperator& target, PassContext& context) {
  const std::vector<double> factors = composed_scale(chain.affines, target.channels);
  std::vector<double> bias(static_cast<std::size_t>(target.channels), 0.0);
  if (target.bias) bias = to_doubles(target.bias->load());
  bias = carried_through(chain.affines, std::move(bias));
  Obstacles obstacles;
  for (std::size_t c = 0; c < bias.size(); ++c) {
    if (!std::isfinite(bias[c]) || !std::isfinite(factors[c])) obstacles.note(Reason::non_finite, "channel " + std::to_string(c));
    if (std::isinf(rounded(target.weight.type, bias[c]))) obstacles.note(Reason::overflow, "bias of channel " + std::to_string(c));
  }
  AffineFold fold{target,      chain.path, chain.taken, target.node, "into " + target.node->label(), over_outputs(target, factors),
                  std::nullopt};
  if (!obstacles.any()) {
    if (auto skip = leaves_range(target, fold.scale, context.options.threads)) obstacles.note(std::move(*skip));
  }
  if (obstacles.any()) return obstacles.first();
  const bool is_needed = target.bias || std::ranges::any_of(bias, [](double b) { return b != 0; });
  if (is_needed) fold.bias = from_doubles(target.weight.type, {target.channels}, bias);
  return fold;
}

}  // namespace

Match<AffineFold> match_affine(Node& affine, PassContext& context) {
  if (!affine.domain().empty()) return Skip{Reason::unknown_op_between, "its domain is " + quote(affine.domain())};
  if (affine.input(0) == nullptr || affine.output(0) == nullptr) return NotApplicable{};
  Obstacles obstacles;
  auto own = batch_norm_affine(affine, context);
  if (auto* const skip = std::get_if<Skip>(&own)) obstacles.note(std::move(*skip));
  const Behind behind = look_behind(affine, context);
  if (behind.target == nullptr) {
    const Ahead ahead = look_ahead(affine, context);
    if (ahead.found) {
      obstacles.note(ahead.obstacles);
      if (!ahead.obstacles.any()) obstacles.note(Reason::nonlinear_between, "stands in front of its operator");
    } else {
      obstacles.note(Reason::no_linear_neighbour, {});
    }
    return obstacles.first();
  }
  if (behind.obstacles.any()) {
    obstacles.note(behind.obstacles);
    const Ahead ahead = look_ahead(affine, context);
    if (ahead.found) obstacles.note(ahead.obstacles);
    return obstacles.first();
  }
  auto target = linear_operator(*behind.target, context);
  if (auto* const skip = std::get_if<Skip>(&target)) obstacles.note(std::move(*skip));

  Chain chain;
  for (Node* node : behind.path) {
    if (!is_affine(*node)) {
      chain.path.push_back(node);
      continue;
    }
    if (is_excluded(*node, context.options)) obstacles.note(Reason::excluded, node->label());
    auto earlier = batch_norm_affine(*node, context);
    if (auto* const skip = std::get_if<Skip>(&earlier)) obstacles.note(Skip{skip->reason, node->label() + ": " + skip->detail});
    if (!obstacles.any()) add(chain, *node, std::get<Affine>(std::move(earlier)), std::get<LinearOperator>(target));
  }
  if (obstacles.any()) return obstacles.first();

  add(chain, affine, std::get<Affine>(std::move(own)), std::get<LinearOperator>(target));
  Chain longest = chain;
  extend(longest, std::get<LinearOperator>(target), context);
  auto fold = compose(longest, std::get<LinearOperator>(target), context);
  // What a later affine spoils must not keep this one from folding.
  if (std::holds_alternative<Skip>(fold) && longest.taken.size() > chain.taken.size())
    fold = compose(chain, std::get<LinearOperator>(target), context);
  if (auto* const skip = std::get_if<Skip>(&fold)) return std::move(*skip);
  return std::get<AffineFold>(std::move(fold));
}

void apply(AffineFold& fold, PassContext& context) {
  Node& target = *fold.target.node;
  Graph& graph = target.graph();
  // All operands have been read by the matcher: one initializer may be bias, mean and shift at once.
  Node& first = *fold.path.front();
  Node& last = *fold.path.back();
  graph.set_input(first, 0, nullptr);
  graph.take_output(target, 0, *last.output(0));
  std::vector<Value*> freed;
  for (auto node = fold.path.rbegin(); node != fold.path.rend(); ++node) erase_node(**node, freed);
  for (Value* value : freed) release(*value, context);
  // The old bias goes first: what it was computed from may be the weight's dims.
  const std::string bias_name = target.input(1)->name() + ".bias";
  if (fold.bias) set_constant_input(target, 2, std::move(*fold.bias), bias_name, context);
  scale_constant_input(target, 1, fold.target.weight.data, fold.scale, context);
}

}  // namespace relayout
