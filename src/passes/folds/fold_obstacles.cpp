// Searches both directions for an operator that an affine could be folded into, and names the first obstacle on the way.

#include "base/positions.h"
#include "base/text.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "passes/folds/affine.h"
#include "passes/folds/fold.h"
#include "passes/folds/linear_operator.h"
#include "passes/pass.h"
#include "relayout/findings.h"
#include "relayout/graph.h"

namespace relayout::passes {
namespace {

/// Operators beyond an obstacle that are searched for a linear one.
constexpr int kNearby = 8;
/// Most nodes on a path, and Concats within Concats: operators further away are reached after nearer affines have been folded.
constexpr int kLongestWay = 16;
/// Most affines in a row.
constexpr int kLongestRow = 8;
constexpr int kDeepestConcat = 8;

bool is_quantized_operator(const Node* node) {
  return node != nullptr && has_trait(*node, Trait::quantized);
}

bool is_any_linear(const Node* node) {
  return node != nullptr && (is_linear(*node) || is_quantized_operator(node));
}

/// Whether one of the next few producers upstream of `value` is linear.
bool has_linear_upstream(const Value* value) {
  for (int left = kNearby; value != nullptr && left > 0; --left) {
    const Node* const producer = value->producer();
    if (producer == nullptr) return false;
    if (is_any_linear(producer)) return true;
    for (const Value* input : producer->inputs()) {
      if (input != nullptr && is_any_linear(input->producer())) return true;
    }
    value = producer->input(0);
  }
  return false;
}

/// Whether one of the next few readers downstream of `value` is linear. A few readers are enough: the walk stays short where many affines
/// end in one value with many readers.
bool has_linear_downstream(const Value* value) {
  for (int left = kNearby; value != nullptr && left > 0; --left) {
    const auto readers = value->uses().first(std::min<std::size_t>(value->uses().size(), kNearby));
    if (std::ranges::any_of(readers, [](const Use& use) { return is_any_linear(use.node); })) return true;
    value = readers.empty() ? nullptr : readers.front().node->output(0);
  }
  return false;
}

/// Whether only constants follow from a node that reads dims or types alone: Shape, and the nodes that pick numbers of it. An affine
/// changes neither, so that such a reader may read the result of the affine instead.
bool makes_only_constants(const Node& node, PassContext& context, int depth = 0) {
  constexpr int kDeepest = 4;
  return depth < kDeepest &&
         std::ranges::all_of(
             node.outputs(),
             [&](const Value* output) {
               if (output == nullptr || context.constants.is_constant(*output)) return true;
               return !output->is_output() && !output->uses().empty() && std::ranges::all_of(output->uses(), [&](const Use& use) {
                 return &use.node->graph() == &node.graph() && makes_only_constants(*use.node, context, depth + 1);
               });
             });
}

bool reads_dims_for_constants(const Use& use, PassContext& context) {
  return traits_of(*use.node).reads(as_size(use.index)) != Reads::elements && makes_only_constants(*use.node, context);
}

/// Notes the obstacles to changing `value` for `reader` alone.
void note_other_readers(const Value& value, const Node& reader, Obstacles& obstacles, PassContext& context) {
  if (&value.graph() != &reader.graph()) {
    obstacles.note(Reason::other_scope, value.producer() != nullptr ? value.producer()->label() : quote(value.name()));
    return;
  }
  if (value.sole_use() != nullptr) return;
  if (value.is_captured()) obstacles.note(Reason::operator_output_captured, quote(value.name()));
  if (value.is_own_output()) obstacles.note(Reason::operator_output_visible, quote(value.name()));
  int own = 0;
  for (const Use& use : value.uses()) {
    if (use.node == &reader && ++own == 1) continue;
    if (&use.node->graph() != &value.graph() || reads_dims_for_constants(use, context)) continue;
    obstacles.note(Reason::operator_output_shared, quote(value.name()) + " is read by " + use.node->label());
    return;
  }
}

/// Whether the node turns the result of a quantized operator into real numbers: by DequantizeLinear, or by a Cast and a Mul by a scale.
bool ends_quantized(const Node& node) {
  if (arithmetic_of(node) == Arithmetic::multiply) {
    return std::ranges::any_of(node.inputs(), [](const Value* input) {
      return input != nullptr && input->producer() != nullptr && has_trait(*input->producer(), Trait::casts) &&
             ends_quantized(*input->producer());
    });
  }
  const bool may = node.is("DequantizeLinear") || has_trait(node, Trait::casts);
  return may && node.input(0) != nullptr && is_quantized_operator(node.input(0)->producer());
}

Reason blocking_reason(const Node& node) {
  return ends_quantized(node) ? Reason::quantized : reason_between(node);
}

class UpstreamSearch {
 public:
  UpstreamSearch(PassContext& context, int depth) : context_(context), depth_(depth) {}

  /// `affines` are applied to `value`, the last of them first; `reader` is its reader on the path.
  void climb(const Value* value, const Node* reader, std::vector<AffineNode> affines) {
    for (int steps = 0; value != nullptr && steps < (out_.obstacles.any() ? kNearby : kLongestWay); ++steps) {
      const Node* const producer = value->producer();
      if (producer == nullptr) break;
      note_other_readers(*value, *reader, out_.obstacles, context_);
      if (is_linear(*producer)) return arrive(*producer, std::move(affines));
      if (const Node* const matmul = biased_matmul(*producer, context_)) return arrive(*matmul, std::move(affines));
      if (inherits(*producer)) return;
      std::optional<std::size_t> input;
      if (is_affine_operator(*producer)) {
        const std::optional<bool> passed = take(*producer, affines, input);
        if (passed && !*passed) return;
      }
      if (!input && producer->is("Concat")) return branch(*producer, affines);
      if (!input) {
        if (auto skip = carry_up(*producer, affines, context_)) return stop(*producer, blocking(*producer, std::move(*skip)));
        const Value* const second = producer->output(1);  // the mask of a Dropout
        if (second != nullptr && (!second->uses().empty() || second->is_output()))
          out_.obstacles.note(Reason::operator_output_shared, quote(second->name()) + " is read");
        if (passes_through(*producer, context_)) out_.path.push_back({producer, 0});
        input = 0;
      }
      reader = producer;
      value = producer->input(*input);
    }
    out_.found = out_.found || has_linear_upstream(value);
    out_.obstacles.note(Reason::no_linear_neighbour, {});
  }

  [[nodiscard]] Neighbours result() { return std::move(out_); }

 private:
  void arrive(const Node& target, std::vector<AffineNode> affines) {
    out_.found = true;
    std::ranges::reverse(affines);
    out_.branches.push_back({&target, std::move(affines)});
  }

  void stop(const Node& node, Skip skip) {
    out_.obstacles.note(std::move(skip));
    for (const Value* input : node.inputs()) out_.found = out_.found || (input != nullptr && is_any_linear(input->producer()));
    out_.found = out_.found || has_linear_upstream(node.input(0));
  }

  static Skip blocking(const Node& node, Skip skip) {
    if (skip.reason == reason_between(node)) skip.reason = blocking_reason(node);
    return skip;
  }

  /// An obstacle to the affine upstream stops this one too; the search from that one has already decided whether there is an operator.
  bool inherits(const Node& producer) {
    const auto known = context_.skipped.find(&producer);
    if (known == context_.skipped.end() || known->second.reason >= Reason::non_finite) return false;
    // An obstacle on the other side of that affine concerns it alone.
    const Skip& skip = known->second;
    if (skip.reason == Reason::no_linear_neighbour) {
      out_.obstacles.note(skip);
      return true;
    }
    if (skip.reason == Reason::affine_output_shared || skip.reason == Reason::pads_with_shift) return false;
    out_.found = true;
    out_.obstacles.note(skip.reason, skip.detail.empty() ? producer.label() : skip.detail);
    return true;
  }

  /// Adds an affine on the path; false: the path ends here. Nothing when the node is not an affine.
  std::optional<bool> take(const Node& node, std::vector<AffineNode>& affines, std::optional<std::size_t>& input) {
    if (is_excluded(node, context_.options)) {
      stop(node, {Reason::excluded, node.label()});
      return false;
    }
    const auto& read = read_affine(node, context_);
    if (const auto* const skip = std::get_if<Skip>(&read)) {
      stop(node, {skip->reason, node.label() + (skip->detail.empty() ? "" : ": " + skip->detail)});
      return false;
    }
    const auto* const affine = std::get_if<AffineNode>(&read);
    if (affine == nullptr) return std::nullopt;
    input = affine->data;
    out_.path.push_back({&node, affine->data});
    out_.taken.push_back(&node);
    affines.push_back(*affine);
    return true;
  }

  /// Every operand of a Concat has to absorb its part.
  void branch(const Node& concat, const std::vector<AffineNode>& affines) {
    auto parts = cut(concat, affines, context_);
    if (auto* const skip = std::get_if<Skip>(&parts)) return stop(concat, std::move(*skip));
    if (depth_ == kDeepestConcat) return stop(concat, {Reason::concat_branch, concat.label()});
    for (std::size_t i = 0; i < concat.inputs().size(); ++i) {
      const Value* const operand = concat.input(i);
      // Beyond an obstacle a few operands are enough.
      if (operand == nullptr || (out_.obstacles.any() && i >= kNearby)) break;
      UpstreamSearch part(context_, depth_ + 1);
      part.climb(operand, &concat, std::move(std::get<0>(parts)[i]));
      out_.found = out_.found || part.out_.found;
      out_.path.insert(out_.path.end(), part.out_.path.begin(), part.out_.path.end());
      out_.taken.insert(out_.taken.end(), part.out_.taken.begin(), part.out_.taken.end());
      for (Branch& reached : part.out_.branches) out_.branches.push_back(std::move(reached));
      if (!part.out_.obstacles.any()) continue;
      const Skip& first = part.out_.obstacles.first();
      const Reason reason = first.reason == Reason::excluded ? Reason::excluded : Reason::concat_branch;
      const std::string where = first.detail.empty() ? "" : ": " + first.detail;
      const std::string why = first.reason == Reason::concat_branch ? first.detail : std::string(text(first.reason)) + where;
      out_.obstacles.note(reason, "operand " + quote(operand->name()) + " of " + concat.label() + ": " + why);
    }
  }

  PassContext& context_;
  int depth_;
  Neighbours out_;
};

class DownstreamSearch {
 public:
  explicit DownstreamSearch(PassContext& context) : context_(context) {}

  /// `value` is the result of `affines`, applied in this order.
  void descend(const Value& value, const std::vector<AffineNode>& affines, int steps) {
    if (steps == kLongestWay) return stop(&value, {Reason::no_linear_neighbour, {}});
    Obstacles obstacles;
    std::swap(obstacles, out_.obstacles);
    if (value.is_output()) out_.obstacles.note(Reason::affine_output_shared, quote(value.name()) + " is a graph output");
    bool is_followed = false;
    for (const Use& use : value.uses()) {
      if (&use.node->graph() == &value.graph() && reads_dims_for_constants(use, context_)) continue;
      follow(value, use, affines, steps);
      is_followed = true;
    }
    if (value.uses().size() > 1 && out_.obstacles.any()) out_.obstacles.note(Reason::affine_output_shared, quote(value.name()));
    if (!is_followed) out_.obstacles.note(Reason::no_linear_neighbour, {});
    out_.obstacles.note(obstacles);
  }

  [[nodiscard]] Neighbours result() { return std::move(out_); }

 private:
  void follow(const Value& value, const Use& use, std::vector<AffineNode> affines, int steps) {
    const Node& node = *use.node;
    if (&node.graph() != &value.graph()) {
      out_.found = out_.found || is_linear(node);
      out_.obstacles.note(Reason::other_scope, node.label());
      return;
    }
    if (is_linear(node)) {
      out_.found = true;
      const bool is_data = use.index == 0 || (node.is("MatMul") && use.index == 1);
      if (!is_data) out_.obstacles.note(Reason::not_constant, node.label());
      out_.branches.push_back({&node, std::move(affines)});
      return;
    }
    if (is_affine_operator(node)) {
      if (is_excluded(node, context_.options)) return stop(node.output(0), {Reason::excluded, node.label()});
      const auto& read = read_affine(node, context_);
      if (const auto* const skip = std::get_if<Skip>(&read)) return stop(node.output(0), {skip->reason, node.label()});
      if (const auto* const affine = std::get_if<AffineNode>(&read); affine != nullptr && static_cast<int>(affine->data) == use.index) {
        out_.path.push_back({&node, affine->data});
        out_.taken.push_back(&node);
        affines.push_back(*affine);
        return descend(*node.output(0), affines, steps + 1);
      }
    }
    if (use.index != 0) return stop(node.output(0), {reason_between(node), node.label()});
    if (auto skip = carry_down(node, affines, context_)) return stop(node.output(0), std::move(*skip));
    descend(*node.output(0), affines, steps + 1);
  }

  void stop(const Value* value, Skip skip) {
    out_.obstacles.note(std::move(skip));
    out_.found = out_.found || has_linear_downstream(value);
  }

  PassContext& context_;
  Neighbours out_;
};

}  // namespace

Neighbours look_upstream(const AffineNode& affine, PassContext& context) {
  UpstreamSearch search(context, 0);
  search.climb(affine.node->input(affine.data), affine.node, {affine});
  Neighbours out = search.result();
  out.path.push_back({affine.node, affine.data});
  out.taken.push_back(affine.node);
  return out;
}

Neighbours look_upstream(const Node& node, std::size_t data, PassContext& context) {
  UpstreamSearch search(context, 0);
  search.climb(node.input(data), &node, {});
  return search.result();
}

Neighbours look_downstream(const AffineNode& affine, PassContext& context) {
  DownstreamSearch search(context);
  search.descend(*affine.node->output(0), {affine}, 0);
  Neighbours out = search.result();
  out.path.push_back({affine.node, affine.data});
  out.taken.push_back(affine.node);
  return out;
}

Neighbours look_downstream(const Node& node, PassContext& context) {
  DownstreamSearch search(context);
  if (node.output(0) != nullptr) search.descend(*node.output(0), {}, 0);
  return search.result();
}

AffineNode last_in_row(const AffineNode& affine, PassContext& context) {
  AffineNode last = affine;
  const Node* at = affine.node;
  for (int steps = 0; steps < kLongestRow; ++steps) {
    const Value& value = *at->output(0);
    const Use* const use = value.sole_use();
    if (use == nullptr) break;
    const Node& next = *use->node;
    if (&next.graph() != &value.graph() || next.output(0) == nullptr) break;
    if (use->index == 0 && passes_through(next, context) && next.output(1) == nullptr) {
      at = &next;
      continue;
    }
    if (!is_affine_operator(next) || is_excluded(next, context.options)) break;
    const auto& read = read_affine(next, context);
    const auto* const found = std::get_if<AffineNode>(&read);
    if (found == nullptr || static_cast<int>(found->data) != use->index) break;
    last = *found;
    at = &next;
  }
  return last;
}

bool follows_linear(const Node& node, std::size_t data, PassContext& context) {
  const Value* value = node.input(data);
  for (int steps = 0; value != nullptr && steps < kNearby; ++steps) {
    const Node* const producer = value->producer();
    if (producer == nullptr) return false;
    if (is_linear(*producer)) return true;
    if (!passes_through(*producer, context)) return false;
    value = producer->input(0);
  }
  return false;
}

}  // namespace relayout::passes
