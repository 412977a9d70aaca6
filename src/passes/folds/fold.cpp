// Folds a scale and shift per channel into an operator, upstream first, where a bias costs nothing, or says what was in the way.
#include "passes/folds/fold.h"

#include "base/positions.h"
#include "base/text.h"
#include "model/node.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/partial_dims.h"
#include "passes/edits.h"
#include "passes/folds/affine.h"
#include "passes/folds/linear_operator.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::passes {
namespace {

std::string detail_of(const std::vector<Absorption>& parts) {
  const auto label = [](const Absorption& part) { return part.target.node->label(); };
  return "into " + (parts.size() == 2 ? label(parts.front()) + " and " + label(parts.back()) : some_of(parts, 1, label));
}

/// The fold into all branches of one side, or why one of them cannot take part.
std::variant<AffineFold, Skip> fold_into(Neighbours& side, bool into_upstream, PassContext& context) {
  Obstacles obstacles = side.obstacles;
  AffineFold fold;
  for (const Branch& branch : side.branches) {
    auto part = into_upstream ? absorb_into_upstream(branch, context) : absorb_into_downstream(branch, context);
    if (auto* const skip = std::get_if<Skip>(&part)) {
      const bool is_one_of_several = side.branches.size() > 1 && skip->reason != Reason::excluded;
      const Reason shared = into_upstream ? Reason::concat_branch : Reason::affine_output_shared;
      if (is_one_of_several) obstacles.note(shared, branch.target->label() + ": " + std::string(text(skip->reason)));
      if (!is_one_of_several || !into_upstream) obstacles.note(std::move(*skip));
    } else {
      fold.parts.push_back(std::get<Absorption>(std::move(part)));
    }
  }
  if (obstacles.any()) return obstacles.first();
  fold.into_upstream = into_upstream;
  fold.path = std::move(side.path);
  fold.taken = std::move(side.taken);
  fold.detail = detail_of(fold.parts);
  for (const Absorption& part : fold.parts) fold.anchors.push_back(part.target.node);
  return fold;
}

/// Whether the fold gains anything: replacing an Add by an Add does not.
bool is_worth_it(const AffineFold& fold) {
  const auto added = std::ranges::count_if(fold.parts, &Absorption::adds_node);
  const bool has_batch_norm = std::ranges::any_of(fold.taken, [](const Node* node) { return node->is("BatchNormalization"); });
  return has_batch_norm || added < static_cast<std::ptrdiff_t>(fold.taken.size());
}

/// The obstacle to report of those on both sides: where every way of a side ends at a linear operator, what is left is why that one cannot
/// take part, which says more than a node in the way to another operator on the other side.
class SideObstacles {
 public:
  void note(const Skip& skip, const Neighbours& side) { (side.is_reached() ? at_operator_ : on_way_).note(skip); }
  [[nodiscard]] const Skip& first() const { return (at_operator_.any() ? at_operator_ : on_way_).first(); }

 private:
  Obstacles at_operator_, on_way_;
};

/// Searches both sides, upstream first.
class Matcher {
 public:
  explicit Matcher(PassContext& context) : context_(context) {}

  Match<AffineFold> match(const AffineNode& affine) {
    const AffineNode last = last_in_row(affine, context_);
    bool is_pointless = false;
    if (last.node != affine.node) {
      // An obstacle to a later affine must not keep this one from folding.
      auto side = look_upstream(last, context_);
      if (auto fold = try_side(side, true, false, is_pointless)) return std::move(*fold);
    }
    auto upstream = look_upstream(affine, context_);
    if (auto fold = try_side(upstream, true, true, is_pointless)) return std::move(*fold);
    auto downstream = look_downstream(affine, context_);
    if (auto fold = try_side(downstream, false, true, is_pointless)) return std::move(*fold);
    if (is_pointless) return NotApplicable{};
    if (quantized_) return std::move(*quantized_);
    if (!found_) return Skip{Reason::no_linear_neighbour, {}};
    return obstacles_.first();
  }

 private:
  /// A fold, or nothing; the obstacle is noted if it `counts`.
  std::optional<AffineFold> try_side(Neighbours& side, bool into_upstream, bool counts, bool& is_pointless) {
    if (!side.found) return std::nullopt;
    found_ = true;
    auto fold = fold_into(side, into_upstream, context_);
    if (auto* const skip = std::get_if<Skip>(&fold)) {
      // If the upstream operator is quantized already, a downstream obstacle is no useful advice.
      if (counts && into_upstream && skip->reason == Reason::quantized) quantized_ = *skip;
      if (counts) obstacles_.note(*skip, side);
      return std::nullopt;
    }
    if (is_worth_it(std::get<AffineFold>(fold))) return std::get<AffineFold>(std::move(fold));
    is_pointless = is_pointless || counts;
    return std::nullopt;
  }

  PassContext& context_;
  SideObstacles obstacles_;
  std::optional<Skip> quantized_;
  bool found_ = false;
};

/// Verdict on a node next to a linear operator that looks like an affine but is not one: x·x, c / x, a gate, statistics of the data.
Match<AffineFold> match_other(const Node& node, PassContext& context) {
  std::size_t data = node.inputs().size();
  for (std::size_t i = std::min<std::size_t>(node.inputs().size(), 2); i-- > 0;) {
    if (follows_linear(node, i, context)) data = i;
  }
  if (data == node.inputs().size()) return NotApplicable{};
  if (!is_affine_operator(node)) return Skip{Reason::not_affine, node.op_type()};
  const bool is_squared = node.inputs().size() == 2 && node.input(0) == node.input(1);
  const Value& value = *node.input(data);
  const Arithmetic arithmetic = arithmetic_of(node);
  if (arithmetic == Arithmetic::add) {
    if (is_squared) return Skip{Reason::operator_output_shared, quote(value.name()) + " is read twice"};
    return NotApplicable{};
  }
  if (arithmetic == Arithmetic::subtract && value.uses().size() > 1) return Skip{Reason::operator_output_shared, quote(value.name())};
  // Without a constant operand there is nothing to fold: a square, a gate, the product of HardSwish and GELU. An operand that only a caller
  // may replace is constant with --freeze.
  const Value* const other = is_squared || node.inputs().size() != 2 ? nullptr : node.input(1 - data);
  if (other == nullptr || !other->is_overridable()) return NotApplicable{};
  return Skip{Reason::overridable, quote(other->name())};
}

/// Verdict on an affine that its own constants rule out: another obstacle is reported instead if it ranks first and no operator is in
/// reach.
Match<AffineFold> match_refused(const Node& node, const Skip& own, PassContext& context) {
  std::size_t data = 0;
  if (node.inputs().size() == 2 && node.input(0) != nullptr && context.constants.is_constant(*node.input(0))) data = 1;
  const Neighbours upstream = look_upstream(node, data, context);
  const Neighbours downstream = look_downstream(node, context);
  if (!upstream.found && !downstream.found) {
    return node.is("BatchNormalization") ? Skip{std::min(own.reason, Reason::no_linear_neighbour), own.detail}
                                         : Match<AffineFold>(NotApplicable{});
  }
  if (upstream.found && upstream.obstacles.any() && upstream.obstacles.first().reason == Reason::quantized)
    return upstream.obstacles.first();
  if (upstream.is_reached() || downstream.is_reached()) return own;
  Obstacles obstacles;
  obstacles.note(own);
  for (const Neighbours* side : {&upstream, &downstream}) {
    if (side->found) obstacles.note(side->obstacles);
  }
  return obstacles.first();
}

/// Inserts an Add of the new bias after a MatMul, which has no operand for a bias.
void add_bias_node(Absorption& part, const std::string& name, PassContext& context) {
  Node& matmul = writable(*part.target.node);
  Graph& graph = matmul.graph();
  Model& model = graph.model();
  Value& result = *matmul.output(0);
  Value& bias = add_constant(graph, matmul, model.unique_name(name), std::move(*part.bias), nullptr);
  Value& product = graph.detach(result, model.unique_name(result.name() + ".product"));
  const std::string own_name = matmul.name().empty() ? "" : matmul.name() + ".bias";
  onnx::NodeProto add = node_message("Add", {product.name(), bias.name()}, {result.name()}, own_name);
  if (matmul.opset() < 7) {
    set_integer(add, "broadcast", 1);
    if (part.target.output_axis.index > 0) set_integer(add, "axis", from_front(part.target.output_axis, part.target.rank));
  }
  Node& node = graph.insert_before(std::next(graph.position_of(matmul)), add);
  context.folds.exact_biases[&matmul] = {node.input(1), std::move(part.exact)};
}

/// Sets β = 1: the new C includes the factor.
void set_beta(Node& gemm) {
  for (onnx::AttributeProto& attribute : *gemm.graph().edit(gemm).mutable_attribute()) {
    if (attribute.name() == "beta") attribute.set_f(1.0F);
  }
}

void apply_part(Absorption& part, PassContext& context) {
  LinearOperator& target = part.target;
  // The old bias is replaced first: it may be computed from the weight's dims.
  const std::string name = target.node->input(target.weight.input)->name() + ".bias";
  if (part.adds_node()) {
    add_bias_node(part, name, context);
  } else if (part.bias) {
    set_constant_input(writable(*target.bias.node), target.bias.input, std::move(*part.bias), name, context);
    context.folds.exact_biases[target.node] = {target.bias.node->input(target.bias.input), std::move(part.exact)};
    if (target.node->is("Gemm") && target.beta != 1) set_beta(writable(*target.node));
  }
  if (part.scale) scale_constant_input(writable(*target.node), target.weight.input, target.weight.stored.data, *part.scale, context);
}

/// Removes a node: its operand takes the name of its result (downstream of an operator) or the readers (upstream of one).
void bypass(const Bypass& gone, bool into_upstream, std::vector<Value*>& freed) {
  Node& node = writable(*gone.node);
  Graph& graph = node.graph();
  Value& from = *node.input(gone.data);
  Value& to = *node.output(0);
  if (into_upstream) {
    graph.set_input(node, gone.data, nullptr);
    // The remaining readers use only dims, which are the same.
    const std::vector<Use> others(from.uses().begin(), from.uses().end());
    for (const Use& use : others) use.node->graph().set_input(*use.node, as_size(use.index), &to);
    graph.take_output(*from.producer(), as_size(from.output_index()), to);
  } else {
    graph.replace_uses(to, from);
  }
  erase_node(node, freed);
}

}  // namespace

Match<AffineFold> match_affine(const Node& node, PassContext& context) {
  if (!node.domain().empty()) return Skip{Reason::unknown_op_between, "its domain is " + quote(node.domain())};
  if (node.output(0) == nullptr || biased_matmul(node, context) != nullptr) return NotApplicable{};
  const auto& read = read_affine(node, context);
  if (const auto* const skip = std::get_if<Skip>(&read)) return match_refused(node, *skip, context);
  if (const auto* const affine = std::get_if<AffineNode>(&read)) {
    auto found = Matcher(context).match(*affine);
    const auto* const skip = std::get_if<Skip>(&found);
    if (skip != nullptr && skip->reason == Reason::no_linear_neighbour && !node.is("BatchNormalization")) return NotApplicable{};
    return found;
  }
  return match_other(node, context);
}

void apply(AffineFold& fold, PassContext& context) {
  // All operands have been read by the matcher: one initializer may be bias, mean and shift at once.
  std::vector<Value*> freed;
  for (const Bypass& gone : fold.path) {
    bypass(gone, fold.into_upstream, freed);
    context.folds.affines.erase(gone.node);
  }
  for (Value* value : freed) release(*value, context);
  for (Absorption& part : fold.parts) apply_part(part, context);
}

// Pass fold-batch-norm.

void fold_batch_norm(Graph& graph, PassContext& context) {
  rewrite_each(graph, context, [](const Node& node) { return node.op_type() == "BatchNormalization"; }, match_affine, apply);
  context.folds.affines.clear();
}

// Pass fold-affine.
namespace {

/// Whether the node reads a scale or zero point that a quantizing operator computed, which is not data.
bool reads_scale(const Node& node) {
  return std::ranges::any_of(node.inputs(), [](const Value* input) {
    return input != nullptr && input->producer() != nullptr && has_trait(*input->producer(), Trait::quantizes) &&
           input->producer()->output(0) != input;
  });
}

/// A node that looks like an affine but is not one gets a verdict too if it is downstream of a linear operator.
bool is_candidate(const Node& node) {
  if (node.op_type() == "BatchNormalization" || reads_scale(node)) return false;
  return is_affine_operator(node) || has_trait(node, Trait::normalizes) || node.is("Pow") || node.is("Sqrt");
}

}  // namespace

void fold_affine(Graph& graph, PassContext& context) {
  rewrite_each(graph, context, is_candidate, match_affine, apply);
  context.folds.affines.clear();
}

}  // namespace relayout::passes
