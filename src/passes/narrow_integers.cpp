// Computes in 32-bit integers what stays exact there, for runtimes without 64-bit ones.
//
//     int64[N, L] ids                      int32[N, L] ids
//     <int64[512] positions>               <int32[512] positions>
//     p = Slice (positions, 0, n)    →     p = Slice (positions, 0, n)
//     x = Gather (words, ids)              x = Gather (words, ids)
//     y = Gather (places, p)               y = Gather (places, p)
//
// Inputs change, and what moves, compares, picks or casts their numbers, with the constants that these nodes read. Arithmetic, which may
// overflow, reads a Cast to int64, as do graph outputs and operands that the operator wants in int64. What only computes sizes stays as it
// is: it begins with a Shape, and no input reaches it.

#include <map>
#include <set>

#include "base/positions.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

constexpr DataType kWide = DataType::int64, kNarrow = DataType::int32;
constexpr TypeSet kWithin{DataType::boolean, DataType::int8, DataType::uint8, DataType::int16, DataType::uint16, DataType::int32};

/// Elements of a constant that is stored twice rather than read through a Cast: the sizes of a shape must be constants for many tools.
constexpr int64_t kMostCopied = 64;

/// Operands and results of one node that have the same type, int64 so far.
struct Group {
  Node* node;
  std::vector<std::size_t> operands, results;
};

std::vector<int64_t> integers_in(const Tensor& tensor) {
  const Tensor dense = contiguous(tensor);
  std::vector<int64_t> out(as_size(dense.element_count()));
  if (!out.empty()) std::memcpy(out.data(), dense.bytes(), out.size() * sizeof(int64_t));
  return out;
}

/// Which values become int32, and why nodes that read them do not. Only reads.
class NarrowPlan {
 public:
  NarrowPlan(Graph& graph, PassContext& context) : context_(context), types_(graph, signatures_) {
    for (Value* const input : graph.inputs()) {
      if (is_wide(*input) && input->initializer() == nullptr) take_input(*input);
    }
    for_each_node<Nested::before>(graph, [&](Node& node) { visit(node); }, [](Graph&) {});
    for (auto group = waiting_.rbegin(); group != waiting_.rend(); ++group) settle(*group);
  }

  /// Inputs and results that become int32.
  [[nodiscard]] const std::vector<Value*>& values() const noexcept { return values_; }
  [[nodiscard]] bool is_narrow(const Value& value) const { return narrow_.contains(&value); }
  /// The operands, constants too, that nodes want in int32.
  [[nodiscard]] const std::vector<std::pair<Node*, std::size_t>>& operands() const noexcept { return operands_; }
  [[nodiscard]] const std::vector<std::pair<Value*, Skip>>& refused_inputs() const noexcept { return refused_inputs_; }
  [[nodiscard]] const std::vector<std::pair<const Node*, Skip>>& refused_nodes() const noexcept { return refused_nodes_; }
  [[nodiscard]] DataType type_of(const Value& value) const { return is_narrow(value) ? kNarrow : types_.of(value); }

 private:
  [[nodiscard]] bool is_wide(const Value& value) const { return types_.of(value) == kWide; }

  void take_input(Value& input) {
    if (input.is_output()) return (void)refused_inputs_.emplace_back(&input, Skip{Reason::operator_output_visible, "it is an output too"});
    values_.push_back(&input);
    narrow_.insert(&input);
  }

  void visit(Node& node) {
    if (node.is("Constant")) return;
    const bool reads = std::ranges::any_of(node.inputs(), [&](const Value* value) { return value != nullptr && is_narrow(*value); });
    std::optional<Skip> why;
    const OpSignature* const signature = node.subgraphs().empty() ? signatures_.find(node) : nullptr;
    if (signature == nullptr) {
      if (reads) refused_nodes_.emplace_back(&node, Skip{node.subgraphs().empty() ? Reason::type_unknown : Reason::shared_types});
      return;
    }
    std::map<int, Group> groups;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* const value = node.input(i);
      if (value == nullptr || (!is_wide(*value) && !is_narrow(*value))) continue;
      const int variable = signature->input(i).variable;
      if (variable >= 0) {
        groups[variable].operands.push_back(i);
      } else if (is_narrow(*value)) {
        why = Skip{Reason::type_not_allowed, "the operator takes i64 alone"};
      }
    }
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const int variable = signature->output(i).variable;
      if (node.output(i) != nullptr && is_wide(*node.output(i)) && variable >= 0) groups[variable].results.push_back(i);
    }
    for (auto& [variable, group] : groups) {
      group.node = &node;
      const bool is_allowed = signature->allowed(variable).has(kNarrow);
      if (auto skip = is_allowed ? decide(group) : Skip{Reason::type_not_allowed, "the operator takes i64 alone"};
          skip && reads_narrow(group))
        why = std::move(skip);
    }
    if (why) refused_nodes_.emplace_back(&node, std::move(*why));
  }

  static std::string quote_of(const Value& value) { return "'" + value.name() + "'"; }

  [[nodiscard]] bool reads_narrow(const Group& group) const {
    return std::ranges::any_of(group.operands, [&](std::size_t i) { return is_narrow(*group.node->input(i)); });
  }

  /// Takes the group, leaves it until its readers are known, or says why it stays.
  std::optional<Skip> decide(Group& group) {
    if (is_excluded(*group.node, context_.options)) return Skip{Reason::excluded};
    for (const std::size_t i : group.results) {
      if (group.node->output(i)->is_output()) return Skip{Reason::operator_output_visible, "its result is an output"};
    }
    if (auto skip = inexact(group)) return skip;
    bool any = false;
    for (const std::size_t i : group.operands) {
      const Value& value = *group.node->input(i);
      any = any || is_narrow(value);
      if (is_narrow(value) || is_waiting_.contains(&value)) continue;
      if (auto skip = unfit(value)) return skip;
    }
    if (any) {
      take(group);
    } else {
      for (const std::size_t i : group.results) is_waiting_.insert(group.node->output(i));
      waiting_.push_back(group);
    }
    return std::nullopt;
  }

  /// Why int32 might give other numbers.
  [[nodiscard]] std::optional<Skip> inexact(const Group& group) const {
    const Node& node = *group.node;
    const Traits facts = traits_of(node);
    if (group.results.empty()) {
      const bool picks = facts.has(Trait::indexes) && facts.along() == Along::axis && group.operands == std::vector<std::size_t>{1};
      const auto is_unread = [&](std::size_t i) { return facts.reads(i) != Reads::elements; };
      if (picks || compares(facts.predicate()) || facts.has(Trait::casts)) return std::nullopt;
      if (std::ranges::all_of(group.operands, is_unread)) return std::nullopt;
      return Skip{Reason::type_unknown};
    }
    if (group.operands.empty()) {
      const bool is_small = node.is("Cast") && node.input(0) != nullptr && kWithin.has(types_.of(*node.input(0)));
      return is_small ? std::nullopt : std::optional(Skip{Reason::overflow, "its numbers may leave the range of i32"});
    }
    // ONNX Runtime's CPU has these for int64 alone.
    if (node.is("Trilu") || node.is("Compress")) return Skip{Reason::no_kernel};
    const bool is_moved = std::ranges::all_of(group.operands, [&](std::size_t i) { return facts.moves_input(i); });
    if (is_moved && only_moves(node)) return std::nullopt;
    return Skip{Reason::overflow, "its result may leave the range of i32"};
  }

  /// Why an operand that no input reaches cannot be of int32.
  [[nodiscard]] std::optional<Skip> unfit(const Value& value) {
    if (!value.is_stored_constant()) return Skip{Reason::wide_operand, quote_of(value)};
    if (value.is_output()) return Skip{Reason::operator_output_visible, quote_of(value) + " is an output"};
    const auto found = context_.constants.find(value);
    if (const auto* const reason = std::get_if<Reason>(&found)) return Skip{*reason, quote_of(value)};
    if (std::get<Constant>(found).data.byte_size() > kAllStoredBytes) return Skip{Reason::too_large, quote_of(value)};
    const auto fits = [](int64_t number) { return number == static_cast<int32_t>(number); };
    if (!std::ranges::all_of(integers_in(std::get<Constant>(found).load()), fits)) return Skip{Reason::overflow, quote_of(value)};
    return std::nullopt;
  }

  void take(const Group& group) {
    for (const std::size_t i : group.operands) {
      operands_.emplace_back(group.node, i);
      wanted_.insert(group.node->input(i));
    }
    for (const std::size_t i : group.results) {
      Value* const result = group.node->output(i);
      values_.push_back(result);
      narrow_.insert(result);
    }
  }

  /// Takes a group that no input reaches where its results are wanted, or where it ends the computation of integers.
  void settle(const Group& group) {
    const Node& node = *group.node;
    const auto is_wanted = [&](std::size_t i) { return wanted_.contains(node.output(i)); };
    const Value* const result = node.output(0);
    const bool ends = group.results.empty() && !traits_of(node).has(Trait::makes_boolean) && result != nullptr &&
                      !kIntegerTypes.has(types_.of(*result)) && types_.of(*result) != DataType::boolean;
    if (ends || std::ranges::any_of(group.results, is_wanted)) take(group);
  }

  PassContext& context_;
  OpSignatures signatures_;
  ElementTypes types_;
  std::unordered_set<const Value*> narrow_, wanted_, is_waiting_;
  std::vector<Group> waiting_;  ///< in order; no input reaches them
  std::vector<Value*> values_;
  std::vector<std::pair<Node*, std::size_t>> operands_;
  std::vector<std::pair<Value*, Skip>> refused_inputs_;
  std::vector<std::pair<const Node*, Skip>> refused_nodes_;
};

/// Changes a graph by its plan.
class Narrowing {
 public:
  Narrowing(Graph& graph, PassContext& context) : graph_(graph), context_(context), plan_(graph, context) {}

  void run() {
    for (const auto& [input, skip] : plan_.refused_inputs()) refuse_one({"input", input->name()}, context_, skip);
    for (const auto& [node, skip] : plan_.refused_nodes()) refuse_one(FindingSubject(*node), context_, skip);
    if (plan_.values().empty() && plan_.operands().empty()) return;
    for (const auto& [node, index] : plan_.operands()) taken_.insert({node, index});
    for (Value* const value : plan_.values()) widen_readers(*value);
    for (const auto& [node, index] : plan_.operands()) narrow_constant(*node, index);
    for (Value* const value : plan_.values()) change(*value);
    for (auto& [graph, types] : declared_) graph->declare_types(types);
    for (Node* const cast : casts_) drop_idle(*cast);
    context_.constants.clear();  // remembers the old types
  }

 private:
  /// Gives readers that stay in int64 a Cast.
  void widen_readers(Value& value) {
    const std::vector<Use> uses(value.uses().begin(), value.uses().end());
    Value* cast = nullptr;
    for (const Use& use : uses) {
      if (taken_.contains({use.node, as_size(use.index)})) continue;
      if (cast == nullptr) cast = &wide(value);
      use.node->graph().set_input(*use.node, as_size(use.index), cast);
    }
  }

  Value& wide(Value& value) {
    Graph& graph = value.graph();
    Node* const producer = value.producer();
    const auto place = producer != nullptr ? std::next(graph.position_of(*producer)) : graph.nodes().begin();
    const std::string name = graph.model().unique_name(value.name() + ".i64");
    onnx::NodeProto message = node_message("Cast", {value.name()}, {name}, graph.model().unique_name(name + "/Cast"));
    set_integer(message, "to", static_cast<int64_t>(kWide));
    return *graph.insert_before(place, message).output(0);
  }

  /// The constant that an operand reads in int32. Where other nodes read it in int64, these keep it.
  void narrow_constant(Node& node, std::size_t index) {
    Value& value = *node.input(index);
    if (!value.is_stored_constant()) return;
    const auto read = context_.constants.value(value);
    if (!read || read->type() != kWide) return;  // changed for another operand
    const auto wants = [&](const Use& use) { return taken_.contains({use.node, as_size(use.index)}); };
    std::vector<int32_t> numbers;
    for (const int64_t number : integers_in(*read)) numbers.push_back(static_cast<int32_t>(number));
    const Dims dims(read->dims().begin(), read->dims().end());
    const auto* const bytes = reinterpret_cast<const char*>(numbers.data());
    TensorData data(kNarrow, dims, Bytes::owned({bytes, numbers.size() * sizeof(int32_t)}));
    const bool is_shared = !std::ranges::all_of(value.uses(), wants);
    if (is_shared && read->element_count() > kMostCopied) widen_readers(value);
    if (is_shared && read->element_count() <= kMostCopied) {
      const std::vector<Use> uses(value.uses().begin(), value.uses().end());
      Value& copy =
          add_constant(value.graph(), node, graph_.model().unique_name(value.name() + ".i32"), std::move(data), value.initializer());
      const bool for_all = copy.initializer() != nullptr;
      for (const Use& use : uses) {
        if (wants(use) && (for_all || use.node == &node)) use.node->graph().set_input(*use.node, as_size(use.index), &copy);
      }
      return;
    }
    apply_one({"weight", value.name()}, context_, [&] {
      if (Initializer* const initializer = value.initializer()) {
        value.graph().set_data(*initializer, std::move(data));
      } else {
        value.graph().set_constant(*value.producer(), std::move(data));
      }
      declared_[&value.graph()].emplace(value.name(), kNarrow);
      context_.constants.forget(value);
    });
  }

  void change(Value& value) {
    declared_[&value.graph()].emplace(value.name(), kNarrow);
    Node* const node = value.producer();
    if (node == nullptr) {
      apply_one({"input", value.name()}, context_, [] {});
    } else if (node->is("Cast")) {
      set_integer(node->graph().edit(*node), "to", static_cast<int64_t>(kNarrow));
      if (plan_.type_of(*node->input(0)) == kNarrow) casts_.insert(node);
    } else {
      ++context_.rewrites;
    }
    for (const Use& use : value.uses()) {
      const Value* const result = use.node->is("Cast") ? use.node->output(0) : nullptr;
      if (result != nullptr && !result->is_output() && plan_.type_of(*result) == kNarrow) casts_.insert(use.node);
    }
  }

  static void drop_idle(Node& cast) {
    Graph& graph = cast.graph();
    graph.replace_uses(*cast.output(0), *cast.input(0));
    graph.erase(cast);
  }

  Graph& graph_;
  PassContext& context_;
  NarrowPlan plan_;
  std::set<std::pair<const Node*, std::size_t>> taken_;
  std::set<Node*> casts_;  ///< from int32 to int32
  std::unordered_map<Graph*, std::unordered_map<std::string, DataType>> declared_;
};

}  // namespace

void narrow_integers(Graph& graph, PassContext& context) {
  if (graph.outer() != nullptr || graph.is_function() || !context.may_rewrite()) return;
  Narrowing(graph, context).run();
}

}  // namespace relayout::passes
