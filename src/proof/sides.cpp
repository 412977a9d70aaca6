// Pairs inputs and graphs of the two models, caches differences of constants, and words issues.

#include "proof/sides.h"

#include "base/text.h"
#include "ops/op.h"
#include "proof/claim.h"
#include "proof/side.h"
#include "proof/tensors.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"

namespace relayout::proof {

Sides::Sides(const Model& first, const Model& second, bool widens) : a(first, widens), b(second, widens), shapes_a(a), shapes_b(b) {
  const auto rounds = [](const Node* node) {
    const bool quantizes = has_trait(*node, Trait::quantizes) || has_trait(*node, Trait::quantized);
    return quantizes && !node->is("DequantizeLinear");
  };
  rounds_first = std::ranges::any_of(a.nodes(), rounds);
  graphs_.emplace(&second.graph(), &first.graph());
}

void Sides::pair_graphs(const Graph& of_a, const Graph& of_b) {
  graphs_.emplace(&of_b, &of_a);
  for (std::size_t i = 0; i < of_b.inputs().size(); ++i) pair_inputs(*of_a.inputs()[i], *of_b.inputs()[i]);
}

bool Sides::same_input(const Value& of_a, const Value& of_b) const {
  const auto found = inputs_.find(&of_b);
  return found != inputs_.end() && found->second == &of_a;
}

const Graph* Sides::graph_of_first(const Graph& of_b) const {
  const auto found = graphs_.find(&of_b);
  return found != graphs_.end() ? found->second : nullptr;
}

std::unordered_set<const Graph*> Sides::paired_graphs() const {
  std::unordered_set<const Graph*> out;
  for (const auto& [of_b, of_a] : graphs_) out.insert(of_a);
  return out;
}

bool Sides::have_one_type(Ref of_a, Ref of_b) {
  const DataType type = a.type_of(of_a);
  return type != DataType::undefined && type == b.type_of(of_b);
}

std::optional<Difference> Sides::tensor_difference(Ref of_a, Ref of_b) {
  const auto [known, is_new] = differences_.try_emplace({of_a, of_b});
  if (!is_new) return known->second;
  const auto contents_a = a.contents(of_a);
  const auto contents_b = b.contents(of_b);
  if (contents_a && contents_b) known->second = difference(*contents_a, *contents_b);
  return known->second;
}

bool Sides::spend(std::size_t lanes) {
  // Gives up on graphs designed to exhaust memory or patience.
  constexpr std::size_t kMostInAll = std::size_t{1} << 28U;
  lanes_ += lanes;
  return lanes_ < kMostInAll;
}

int64_t order_of(const Sides& sides, const Claim& claim) {
  const Node* const producer = claim.b ? claim.b.value->producer() : nullptr;
  if (producer != nullptr) return sides.b.order_of(*producer);
  return claim.reader != nullptr ? sides.b.order_of(*claim.reader) : 0;
}

Issue issue_of_node(const Sides& sides, Unexplained::Kind kind, const Node& looked_at, bool in_first, const std::string& text) {
  const Node& node = (in_first ? sides.a : sides.b).in_file(looked_at);
  std::string name = node.name();
  for (const Value* output : node.outputs()) {
    if (name.empty() && output != nullptr) name = output->name();
  }
  const int64_t order = in_first ? std::numeric_limits<int64_t>::max() : sides.b.order_of(node);
  return {{kind, name, node.label() + " " + text, 0, 0, in_first}, order, &node};
}

Issue issue_of_reader(const Sides& sides, Unexplained::Kind kind, const Claim& claim, const std::string& text) {
  if (claim.reader != nullptr) return issue_of_node(sides, kind, *claim.reader, false, text);
  return {{kind, claim.b ? claim.b.value->name() : "", "a graph output " + text, 0, 0, false}, order_of(sides, claim)};
}

Issue issue_of_other_value(const Sides& sides, const Claim& claim, const Value& wanted) {
  const std::string name = quote(claim.b.value->name());
  const bool is_renamed = claim.b.value->name() != wanted.name();
  return issue_of_reader(sides, Unexplained::Kind::operand, claim,
                         is_renamed ? "reads " + name + " where " + quote(wanted.name()) + " was read"
                                    : "reads " + name + ", which is another value than in the first model");
}

}  // namespace relayout::proof
