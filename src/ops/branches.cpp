// Decides which graph an If always takes, and how often a Loop runs.
//
//     a = If (c) <then_branch = t () => (p) { p = Unsqueeze (x, 0) }, else_branch = e () => (q) { q = Identity (x) }>
//     y = LSTM (a, …)                  x has three dims, and an LSTM reads three: c is false wherever this runs

#include "ops/branches.h"

#include "base/positions.h"
#include "model/node.h"
#include "ops/op.h"
#include "ops/partial_dims.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr Ranks kAny = ~Ranks{0};
constexpr int64_t kHighest = 31;
constexpr int kDeepest = 24, kMostNested = 32, kMostSteps = 4096;
constexpr std::size_t kMostAsked = 64;

Ranks one(int64_t rank) {
  return rank <= kHighest ? Ranks{1} << as_size(rank) : kAny;
}

/// Higher by some dims. The highest rank stands for all beyond.
Ranks raised(Ranks ranks, int64_t by) {
  return by > kHighest || (ranks >> as_size(kHighest - by)) != 0 ? kAny : ranks << as_size(by);
}

Ranks lowered(Ranks ranks, int64_t by) {
  return ranks == kAny || by > kHighest ? kAny : ranks >> as_size(by);
}

/// Whether the node gives each element of its only operand another value, or none.
bool keeps_dims(const Node& node) {
  const Traits traits = traits_of(node);
  return node.domain().empty() && node.inputs().size() == 1 && (traits.has(Trait::elementwise) || traits.has(Trait::casts));
}

/// Whether an output of the model needs the node.
bool is_needed(const Node& node) {
  constexpr std::size_t kMostNodes = 1 << 14;
  std::vector<const Node*> open{&node};
  std::unordered_set<const Node*> met{&node};
  const auto enter = [&](const Node* next) {
    if (next != nullptr && met.insert(next).second) open.push_back(next);
  };
  while (!open.empty() && met.size() < kMostNodes) {
    const Node& next = *open.back();
    open.pop_back();
    for (const Value* const output : next.outputs()) {
      if (output == nullptr) continue;
      if (output->is_output() && &output->graph() == &output->graph().model().graph()) return true;
      if (output->is_output()) enter(output->graph().owner());
      for (const Use& use : output->uses()) enter(use.node);
    }
  }
  return false;
}

}  // namespace

std::optional<bool> Branches::condition(const Node& holder) {
  if (!holder.is("If") || !holder.domain().empty() || holder.input(0) == nullptr) return std::nullopt;
  if (nesting_ == kMostNested) return std::nullopt;
  const auto [found, is_new] = known_.try_emplace(&holder);
  if (!is_new) return found->second;
  ++nesting_;
  std::optional<bool> out = constant_condition(holder);
  if (!out) out = condition_by_ranks(holder);
  // Another If that runs with this one may tell.
  for (const Node* const other : out ? std::vector<const Node*>() : holders_of(*holder.input(0))) {
    if (!out && other != &holder && runs_with(other->graph(), holder.graph())) out = condition_by_ranks(*other);
  }
  --nesting_;
  known_[&holder] = out;
  return out;
}

/// The operand of an Identity, or of a Cast to its own type; null for other nodes.
const Value* Branches::passed_on_by(const Node& node) {
  const Value* const from = node.domain().empty() && !node.inputs().empty() ? node.input(0) : nullptr;
  if (from == nullptr || node.output(0) == nullptr) return nullptr;
  const bool is_own_type =
      node.is("Cast") && constants_.type_of(*from) == DataType::boolean && constants_.type_of(*node.output(0)) == DataType::boolean;
  return is_own_type || node.is("Identity") ? from : nullptr;
}

/// The Ifs with one condition.
std::vector<const Node*> Branches::holders_of(const Value& condition) {
  std::vector<const Node*> out;
  std::vector<const Value*> open{&condition};
  for (int depth = 0; depth < kDeepest && open[0]->producer() != nullptr; ++depth) {
    const Value* const from = passed_on_by(*open[0]->producer());
    if (from == nullptr) break;
    open[0] = from;
  }
  for (std::size_t next = 0; next < open.size(); ++next) {
    for (const Use& use : open[next]->uses()) {
      if (out.size() + open.size() > kMostAsked) return out;
      if (use.node->is("If") && use.index == 0) out.push_back(use.node);
      if (passed_on_by(*use.node) != nullptr) open.push_back(use.node->output(0));
    }
  }
  return out;
}

std::optional<bool> Branches::constant_condition(const Node& holder) {
  const auto value = constants_.value(*holder.input(0));
  if (!value || value->type() != DataType::boolean || value->element_count() != 1) return std::nullopt;
  return *contiguous(*value).bytes() != std::byte{0};
}

std::optional<bool> Branches::condition_by_ranks(const Node& holder) {
  const Graph *const then_branch = holder.subgraph("then_branch"), *const else_branch = holder.subgraph("else_branch");
  if (then_branch == nullptr || else_branch == nullptr) return std::nullopt;
  steps_ = 0;
  const bool may_hold = can_run(holder, *then_branch), may_not = can_run(holder, *else_branch);
  return may_hold != may_not ? std::optional(may_hold) : std::nullopt;
}

/// Whether no output of a branch is known to have a rank that no reader accepts.
bool Branches::can_run(const Node& holder, const Graph& branch) {
  for (std::size_t i = 0; i < holder.outputs().size() && i < branch.outputs().size(); ++i) {
    if (holder.output(i) == nullptr) continue;
    const Ranks ranks = possible(*branch.outputs()[i], 0);
    if (ranks != kAny && (ranks & accepted(*holder.output(i), 0)) == 0) return false;
  }
  return true;
}

/// Whether `inner` runs whenever `outer` does: it is that graph, one around it, or a graph that an If within always takes.
bool Branches::runs_with(const Graph& inner, const Graph& outer) {
  for (const Graph* around = &outer; around != nullptr; around = around->outer()) {
    if (around == &inner) return true;
  }
  const Node* const owner = inner.owner();
  if (owner == nullptr || !owner->is("If")) return false;
  const auto taken = condition(*owner);
  return taken && owner->subgraph(*taken ? "then_branch" : "else_branch") == &inner && runs_with(owner->graph(), outer);
}

std::optional<int64_t> Branches::count_of_axes(const Node& node) {
  const Attributes attributes(node);
  if (attributes.has_reference()) return std::nullopt;
  if (const Dims axes = attributes.integers("axes"); !axes.empty()) return std::ssize(axes);
  const PartialDims dims = node.input(1) != nullptr ? constants_.dims(*node.input(1)) : std::nullopt;
  return dims && dims->size() == 1 && dims->front() >= 0 ? std::optional(dims->front()) : std::nullopt;
}

/// The ranks that a value may have.
Ranks Branches::possible(const Value& value, int depth) {
  if (const PartialDims dims = constants_.dims(value)) return one(std::ssize(*dims));
  const Node* const node = value.producer();
  if (node == nullptr || depth > kDeepest || ++steps_ > kMostSteps || value.output_index() != 0) return kAny;
  if (node->is("If")) {
    Ranks out = 0;
    for (const auto& branch : node->subgraphs()) out |= branch->outputs().empty() ? kAny : possible(*branch->outputs()[0], depth + 1);
    return out == 0 ? kAny : out;
  }
  if (node->input(0) == nullptr) return kAny;
  const bool raises = node->is("Unsqueeze");
  if (raises || node->is("Squeeze")) {
    const auto axes = count_of_axes(*node);
    if (!axes) return kAny;
    const Ranks before = possible(*node->input(0), depth + 1);
    return raises ? raised(before, *axes) : lowered(before, *axes);
  }
  return keeps_dims(*node) ? possible(*node->input(0), depth + 1) : kAny;
}

/// The ranks that all readers accept which run whenever the value is made.
Ranks Branches::accepted(const Value& value, int depth) {
  if (depth > kDeepest || ++steps_ > kMostSteps) return kAny;
  Ranks out = kAny;
  const Node* const owner = value.graph().owner();
  if (value.is_own_output() && owner != nullptr && owner->is("If")) {
    const auto outputs = value.graph().outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == &value && owner->output(i) != nullptr) out &= accepted(*owner->output(i), depth + 1);
    }
  }
  std::size_t asked = 0;
  for (const Use& use : value.uses()) {
    if (++asked > kMostAsked) break;
    const Ranks ranks = accepted_by(*use.node, as_size(use.index), depth);
    if (ranks != kAny && runs_with(use.node->graph(), value.graph()) && is_needed(*use.node)) out &= ranks;
  }
  return out;
}

/// The ranks that an operand of a node may have.
Ranks Branches::accepted_by(const Node& node, std::size_t index, int depth) {
  constexpr std::array<int64_t, 8> kOfRecurrent{3, 3, 3, 2, 1, 3, 3, 2};
  if (has_trait(node, Trait::recurrent) && index < kOfRecurrent.size()) return one(kOfRecurrent[index]);
  if (index != 0 || node.output(0) == nullptr || !node.domain().empty()) return kAny;
  if (node.is("Conv") && node.input(1) != nullptr) {
    const PartialDims weight = constants_.dims(*node.input(1));
    return weight ? one(std::ssize(*weight)) : kAny;
  }
  const bool raises = node.is("Unsqueeze");
  if (raises || node.is("Squeeze")) {
    const auto axes = count_of_axes(node);
    if (!axes) return kAny;
    const Ranks after = accepted(*node.output(0), depth + 1);
    return raises ? lowered(after, *axes) : raised(after, *axes);
  }
  return keeps_dims(node) ? accepted(*node.output(0), depth + 1) : kAny;
}

// Loops.
namespace {

/// The one element of a constant of this type.
template <class T>
std::optional<T> one_element(const Value& value, DataType type, Constants& constants) {
  const auto found = constants.value(value);
  if (!found || found->type() != type || found->element_count() != 1) return std::nullopt;
  return *contiguous(*found).data<T>();
}

}  // namespace

std::size_t outputs_before_results(const Node& holder) {
  return holder.is("Loop") ? 1 : 0;
}

std::optional<int64_t> runs_of_loop(const Node& node, Constants& constants) {
  const Graph* const body = node.subgraph("body");
  if (!node.is("Loop") || !node.domain().empty() || body == nullptr || body->outputs().empty()) return std::nullopt;
  const auto holds = [&](const Value* condition) {
    return condition != nullptr ? one_element<bool>(*condition, DataType::boolean, constants) : true;
  };
  const auto most =
      node.input(0) != nullptr ? one_element<int64_t>(*node.input(0), DataType::int64, constants) : std::numeric_limits<int64_t>::max();
  const std::optional<bool> starts = holds(node.input(1));
  if ((most && *most <= 0) || (starts && !*starts)) return 0;
  if (!most || !starts) return std::nullopt;
  const bool ends = *most == 1 || holds(body->outputs()[0]) == std::optional(false);
  return ends ? std::optional<int64_t>(1) : std::nullopt;
}

}  // namespace relayout
