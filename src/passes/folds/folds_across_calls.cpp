// Finds the calls of functions that stand between a BatchNormalization and its fold, so that they are expanded.
// A call that is not recognized stays a call, which costs a fold and nothing else.
#include "passes/folds/folds_across_calls.h"

#include "base/positions.h"
#include "model/functions.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/op.h"
#include "passes/folds/affine.h"
#include "passes/folds/linear_operator.h"
#include "passes/pass.h"
#include "relayout/graph.h"

namespace relayout::passes {
namespace {

constexpr int64_t kLargest = 100'000;  ///< nodes of one call, calls within it included: they can multiply without bound
constexpr int kDeepest = 64;           ///< nodes or calls that are searched for one answer
constexpr int kMostLookedAt = 1'000;   ///< nodes that may compute one constant

/// Follows values of one graph, upstream and downstream, past the nodes that pass them on.
class Paths {
 public:
  explicit Paths(PassContext& context) : context_(context) {}

  [[nodiscard]] bool is_constant(const Value& value) const { return context_.constants.is_constant(value); }

  /// Visits the producers of a value, beyond nodes that pass it on and Concats; nullptr for a value without a producer.
  template <class Visit>
  void visit_makers(const Value* value, const Visit& visit) const {
    std::vector<const Value*> open = {value};
    for (int left = kDeepest; !open.empty() && left > 0; --left) {
      const Node* const node = open.back() != nullptr ? open.back()->producer() : nullptr;
      const Value* const source = open.back();
      open.pop_back();
      if (source != nullptr && node == nullptr) visit(source, nullptr);
      if (node == nullptr) continue;
      if (node->is("Concat")) {
        open.insert(open.end(), node->inputs().begin(), node->inputs().end());
      } else if (const Value* const operand = passed_operand(*node)) {
        open.push_back(operand);
      } else {
        visit(source, node);
      }
    }
  }

  /// The linear operator that computes a value, or nullptr.
  [[nodiscard]] const Node* linear_maker(const Value* value) const {
    const Node* out = nullptr;
    visit_makers(value, [&](const Value*, const Node* node) {
      if (node != nullptr && is_linear(*node)) out = node;
    });
    return out;
  }

  /// Whether all readers of a value, beyond nodes that pass it on, are of this kind.
  template <class Kind>
  [[nodiscard]] bool is_read_by(const Value* value, const Kind& kind) const {
    std::vector<const Value*> open = {value};
    for (int left = kDeepest; !open.empty(); --left) {
      const Value* const next = open.back();
      open.pop_back();
      if (next == nullptr || left <= 0 || next->uses().empty() || next->uses().size() > kDeepest || next->is_output()) return false;
      for (const Use& use : next->uses()) {
        const Node& node = *use.node;
        if (kind(node)) {
          if (use.index != 0 && !(node.is("MatMul") && use.index == 1)) return false;
        } else if (node.is("Concat") || passed_operand(node) == next) {
          open.push_back(node.output(0));
        } else {
          return false;
        }
      }
    }
    return true;
  }

  /// Whether a node is a BatchNormalization that could fold next to a linear operator.
  [[nodiscard]] bool is_constant_norm(const Node& node) const {
    if (!node.is("BatchNormalization") || trains_in_call(node, node)) return false;
    return std::ranges::all_of(node.inputs().subspan(std::min<std::size_t>(1, node.inputs().size())),
                               [&](const Value* input) { return input != nullptr && is_constant(*input); });
  }

  /// The nearest upstream node of this kind, beyond nodes that pass the value on; nullptr without one.
  template <class Kind>
  [[nodiscard]] const Node* nearest_maker(const Value* value, const Kind& kind) const {
    for (int i = 0; i < kDeepest && value != nullptr && value->producer() != nullptr; ++i) {
      if (kind(*value->producer())) return value->producer();
      value = passed_operand(*value->producer());
    }
    return nullptr;
  }

 private:
  /// The operand that a node passes on: unchanged, past an operator that affines commute with, or as the data of an affine; nullptr
  /// otherwise.
  [[nodiscard]] const Value* passed_operand(const Node& node) const {
    if (passes_through(node, context_) || may_carry(node)) return node.input(0);
    if (!is_affine_operator(node)) return nullptr;
    if (node.is("BatchNormalization") || arithmetic_of(node) == Arithmetic::negate) return node.input(0);
    if (node.inputs().size() != 2) return nullptr;
    const Value* const first = node.input(0);
    const Value* const second = node.input(1);
    if (first == nullptr || second == nullptr) return nullptr;
    // The caller may pass a constant.
    const auto may_be_constant = [&](const Value& value) { return is_constant(value) || value.producer() == nullptr; };
    if (is_constant(*first) || (may_be_constant(*first) && !may_be_constant(*second))) return second;
    return may_be_constant(*second) ? first : nullptr;
  }

  PassContext& context_;
};

/// One call of a function, with its operands for the function's inputs.
class Call {
 public:
  Call(const Node& node, const Graph& function, const Functions& functions, const Paths& paths)
      : node_(node), function_(function), functions_(functions), paths_(paths) {}

  /// Whether one of the call's operands is constant, or computed by a linear operator.
  [[nodiscard]] bool gives_constants() const {
    return std::ranges::any_of(
        node_.inputs(), [&](const Value* input) { return input != nullptr && (paths_.is_constant(*input) || is_made_by_linear(input)); });
  }

  /// Whether a BatchNormalization within the function folds only when the call is expanded.
  [[nodiscard]] bool splits(const Node& norm) const {
    if (trains_in_call(norm, node_)) return false;
    bool across = Attributes(norm).has_reference();
    for (std::size_t i = 1; i < 5; ++i) {
      if (!is_constant(norm.input(i), across)) return false;
    }
    if (const Node* const linear = paths_.linear_maker(norm.input(0))) {
      return is_constant(linear->input(1), across) && is_constant(linear->input(2), across) && across;
    }
    if (is_fed_by_linear(norm.input(0))) return true;
    if (paths_.is_read_by(norm.output(0), is_linear)) return across;
    const auto is_norm = [&](const Node& node) { return &node == &norm; };
    for (std::size_t i = 0; i < function_.outputs().size(); ++i) {
      const bool is_made = paths_.nearest_maker(function_.outputs()[i], is_norm) != nullptr;
      if (is_made && paths_.is_read_by(node_.output(i), is_linear)) return true;
    }
    return false;
  }

  /// Whether a linear operator within the function computes the data of BatchNormalizations of the caller.
  [[nodiscard]] bool makes_operands_of_norms() const {
    const auto is_norm = [&](const Node& node) { return paths_.is_constant_norm(node); };
    for (std::size_t i = 0; i < function_.outputs().size(); ++i) {
      const Value* const result = node_.output(i);
      if (result == nullptr || result->uses().size() != 1 || !paths_.is_read_by(result, is_norm)) continue;
      const Node* const linear = paths_.linear_maker(function_.outputs()[i]);
      bool across = false;
      if (linear != nullptr && is_constant(linear->input(1), across)) return true;
    }
    return false;
  }

  /// Whether linear operators within the function read the result of a BatchNormalization of the caller that has none upstream.
  [[nodiscard]] bool reads_results_of_norms() const {
    const auto is_norm = [&](const Node& node) { return paths_.is_constant_norm(node); };
    for (std::size_t i = 0; i < function_.inputs().size(); ++i) {
      const Node* const norm = paths_.nearest_maker(node_.input(i), is_norm);
      if (norm != nullptr && !is_made_by_linear(norm->input(0)) && paths_.is_read_by(function_.inputs()[i], is_linear)) return true;
    }
    return false;
  }

 private:
  /// The call's operand for an input of the function, or nullptr.
  [[nodiscard]] const Value* given_for(const Value& input) const {
    const std::size_t place = find_position(function_.inputs(), &input);
    return place < function_.inputs().size() ? node_.input(place) : nullptr;
  }

  /// Whether a value of the caller is computed by a linear operator, there or in another function.
  [[nodiscard]] bool is_made_by_linear(const Value* value) const {
    bool out = false;
    paths_.visit_makers(value, [&](const Value*, const Node* node) {
      const Graph* const function = node != nullptr ? functions_.called_by(*node) : nullptr;
      out = out || (node != nullptr && is_linear(*node));
      for (std::size_t i = 0; function != nullptr && i < node->outputs().size() && i < function->outputs().size(); ++i) {
        out = out || (node->output(i) != nullptr && paths_.linear_maker(function->outputs()[i]) != nullptr);
      }
    });
    return out;
  }

  /// Whether a value of the function is computed by a linear operator of the caller for this call alone.
  [[nodiscard]] bool is_fed_by_linear(const Value* value) const {
    bool out = false;
    paths_.visit_makers(value, [&](const Value* source, const Node* node) {
      const Value* const given = node == nullptr ? given_for(*source) : nullptr;
      out = out || (given != nullptr && given->sole_use() != nullptr && is_made_by_linear(given));
    });
    return out;
  }

  /// Whether a value of the function is constant for this call; sets `across` when that depends on operands or attributes of the call.
  [[nodiscard]] bool is_constant(const Value* value, bool& across) const {
    std::vector<const Value*> open = {value};
    for (int left = kMostLookedAt; !open.empty(); --left) {
      const Value* const next = open.back();
      open.pop_back();
      if (next == nullptr || paths_.is_constant(*next)) continue;
      if (next->producer() == nullptr) {
        const Value* const given = given_for(*next);
        across = true;
        if (given == nullptr || !paths_.is_constant(*given)) return false;
        continue;
      }
      const Node& node = *next->producer();
      if (left <= 0 || !node.domain().empty() || !node.subgraphs().empty()) return false;
      across = across || Attributes(node).has_reference();
      open.insert(open.end(), node.inputs().begin(), node.inputs().end());
    }
    return true;
  }

  const Node& node_;
  const Graph& function_;
  const Functions& functions_;
  const Paths& paths_;
};

}  // namespace

bool FoldsAcrossCalls::need(const Node& call, const Graph& function) {
  const Paths paths(context_);
  const Call one(call, function, functions_, paths);
  const Facts& facts = facts_of(function);
  if (facts.size > kLargest) return false;
  return (facts.calls_open && one.gives_constants()) ||
         std::ranges::any_of(facts.norms, [&](const Node* norm) { return one.splits(*norm); }) || one.makes_operands_of_norms() ||
         one.reads_results_of_norms();
}

/// Functions cannot call themselves, directly or indirectly (the specification forbids it; here such a call counts as not open).
const FoldsAcrossCalls::Facts& FoldsAcrossCalls::facts_of(const Graph& function, int depth) {
  const auto [known, is_new] = facts_.try_emplace(&function);
  if (!is_new) return known->second;
  return facts_.insert_or_assign(&function, count(function, depth)).first->second;
}

FoldsAcrossCalls::Facts FoldsAcrossCalls::count(const Graph& function, int depth) {
  const Paths paths(context_);
  Facts out;
  if (depth > kDeepest) out.size = kLargest + 1;
  for_each_node(function, [&](const Node& node) {
    const Graph* const inner = depth > kDeepest ? nullptr : functions_.called_by(node);
    out.calls_open = out.calls_open || (inner != nullptr && facts_of(*inner, depth + 1).is_open);
    out.size = std::min(out.size + (inner != nullptr ? facts_of(*inner, depth + 1).size : 1), kLargest + 1);
    if (node.is("BatchNormalization")) out.norms.push_back(&node);
  });
  const auto is_open = [&](const Node* norm) {
    return paths.linear_maker(norm->input(0)) == nullptr || std::ranges::any_of(norm->inputs().subspan(1), [&](const Value* input) {
             return input != nullptr && !paths.is_constant(*input);
           });
  };
  out.is_open = out.calls_open || std::ranges::any_of(out.norms, is_open);
  return out;
}

}  // namespace relayout::passes
