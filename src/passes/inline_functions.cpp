// Calls of model-local functions, where a BatchNormalization and its linear operator, or their parameters, stand on two sides of one:
//
//     y = Conv (x, W)                  y = Conv (x, W)
//     z = local.Norm <e> (y, …)   →    z = BatchNormalization <epsilon = e> (y, …)
//
// Every other call stays a call. What cannot stand in the caller as it is (operators whose meaning differs between the opsets that the
// two import) stays as well.

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/interrupt.h"
#include "base/positions.h"
#include "model/function_body.h"
#include "model/functions.h"
#include "model/model_builder.h"
#include "model/walk.h"
#include "ops/op_version.h"
#include "passes/affine.h"
#include "passes/carry.h"
#include "passes/cleanup.h"
#include "passes/linear_operator.h"
#include "passes/match.h"
#include "passes/node_access.h"
#include "passes/pass.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/selection.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

constexpr int kMostRounds = 64;              ///< of calls within calls
constexpr int64_t kLargest = 100'000;        ///< nodes of one call, calls within it included: they can multiply without end
constexpr int64_t kMostInlined = 1'000'000;  ///< nodes in all
constexpr int kDeepest = 64;                 ///< nodes or calls that are looked through for one answer
constexpr int kMostLookedAt = 1'000;         ///< nodes that may make one constant

class Inliner {
 public:
  explicit Inliner(Model& model, PassContext& context) : model_(model), context_(context), functions_(model) {}

  void run() {
    const std::unordered_set<const Graph*> before = reachable();
    // Functions first: what is constant within one is folded there, for all its callers at once.
    for (const auto& function : model_.functions()) run(*function);
    run(model_.graph());
    if (inlined_ > 0) erase_uncalled(before);
  }

 private:
  void run(Graph& top) {
    for (int round = 0; round < kMostRounds; ++round) {
      std::vector<const Node*> calls;
      collect(top, calls);
      bool changed = false;
      for (const Node* call : calls) {
        check_interrupt();
        const auto match_call = [&] { return match(*call); };
        const auto apply = [&](const Expansion& expansion) { expand(writable(*expansion.call), *expansion.function); };
        if (rewrite_one(FindingSubject(*call), context_, match_call, apply)) changed = true;
      }
      // Calls that are gone may have made constants.
      context_.constants.clear();
      facts_.clear();
      if (!changed) return;
    }
  }

  struct Expansion {
    const Node* call;
    const Graph* function;
  };

  [[nodiscard]] Match<Expansion> match(const Node& call) {
    if (inlined_ > kMostInlined || is_excluded(call, context_.options)) return NotApplicable{};
    const Graph& function = *functions_.called_by(call);
    if (!is_needed(call, function) || !fits(call, function)) return NotApplicable{};
    return Expansion{&call, &function};
  }

  void collect(const Graph& graph, std::vector<const Node*>& calls) const {
    for_each_node(graph, [&](const Node& node) {
      if (functions_.called_by(node) != nullptr) calls.push_back(&node);
    });
  }

  // Whether a fold needs it.

  /// The operand that a node hands on, as it is or through what an affine may pass or be part of; nullptr when it is none of these.
  [[nodiscard]] const Value* handed_on(const Node& node) const {
    if (passes_through(node, context_) || may_carry(node) || node.is("BatchNormalization") || node.is("Neg")) return node.input(0);
    if (!is_affine_operator(node) || node.inputs().size() != 2) return nullptr;
    const Value* const first = node.input(0);
    const Value* const second = node.input(1);
    if (first == nullptr || second == nullptr) return nullptr;
    // What a caller gives may be a constant.
    const auto may_be_constant = [&](const Value& value) { return is_constant(value) || value.producer() == nullptr; };
    if (is_constant(*first) || (may_be_constant(*first) && !may_be_constant(*second))) return second;
    return may_be_constant(*second) ? first : nullptr;
  }

  /// The nodes that make a value, beyond those that hand it on and Concats.
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
      } else if (const Value* const below = handed_on(*node)) {
        open.push_back(below);
      } else {
        visit(source, node);
      }
    }
  }

  /// Whether a function's value is what a linear operator makes; the operator, or nullptr.
  [[nodiscard]] const Node* linear_maker(const Value* value) const {
    const Node* out = nullptr;
    visit_makers(value, [&](const Value*, const Node* node) {
      if (node != nullptr && is_linear(*node)) out = node;
    });
    return out;
  }

  /// The same in the caller, where another call may make it.
  [[nodiscard]] bool is_made_by_linear(const Value* value) const {
    bool out = false;
    visit_makers(value, [&](const Value*, const Node* node) {
      const Graph* const function = node != nullptr ? functions_.called_by(*node) : nullptr;
      out = out || (node != nullptr && is_linear(*node));
      for (std::size_t i = 0; function != nullptr && i < node->outputs().size() && i < function->outputs().size(); ++i) {
        out = out || (node->output(i) != nullptr && linear_maker(function->outputs()[i]) != nullptr);
      }
    });
    return out;
  }

  /// Whether all readers of a value, beyond those that hand it on, are of this kind.
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
        } else if (node.is("Concat") || handed_on(node) == next) {
          open.push_back(node.output(0));
        } else {
          return false;
        }
      }
    }
    return true;
  }

  [[nodiscard]] bool is_constant(const Value& value) const { return context_.constants.is_constant(value); }

  /// The place of a value among its function's inputs, or -1.
  [[nodiscard]] static int64_t input_of(const Graph& function, const Value& value) {
    const auto& inputs = function.inputs();
    const auto found = std::ranges::find(inputs, &value);
    return found != inputs.end() ? found - inputs.begin() : -1;
  }

  /// Whether a function's value is constant for this call; notes whether that takes what the call gives.
  [[nodiscard]] bool is_constant_for(const Node& call, const Graph& function, const Value* value, bool& across) const {
    std::vector<const Value*> open = {value};
    for (int left = kMostLookedAt; !open.empty(); --left) {
      const Value* const next = open.back();
      open.pop_back();
      if (next == nullptr || is_constant(*next)) continue;
      if (next->producer() == nullptr) {
        const int64_t place = input_of(function, *next);
        const Value* const actual = place < 0 ? nullptr : call.input(as_size(place));
        across = true;
        if (actual == nullptr || !is_constant(*actual)) return false;
        continue;
      }
      const Node& node = *next->producer();
      if (left <= 0 || !node.domain().empty() || !node.subgraphs().empty()) return false;
      across = across || std::ranges::any_of(node.message().attribute(), [](const auto& a) { return !a.ref_attr_name().empty(); });
      open.insert(open.end(), node.inputs().begin(), node.inputs().end());
    }
    return true;
  }

  [[nodiscard]] static int64_t integer_for(const Node& call, const Node& node, std::string_view name, int64_t otherwise) {
    const onnx::AttributeProto* attribute = node.attribute(name);
    if (attribute != nullptr && !attribute->ref_attr_name().empty()) attribute = call.attribute(attribute->ref_attr_name());
    return attribute != nullptr ? attribute->i() : otherwise;
  }

  /// Whether a BatchNormalization of a function computes with statistics of its own for this call.
  [[nodiscard]] static bool trains(const Node& call, const Node& norm) {
    const auto named = std::ranges::count_if(norm.outputs(), [](const Value* output) { return output != nullptr; });
    if (norm.opset() < 7) return integer_for(call, norm, "is_test", 0) == 0;
    return named > 1 || (norm.opset() >= 14 && integer_for(call, norm, "training_mode", 0) != 0);
  }

  /// Whether a node is a BatchNormalization that could fold if it stood at the right place.
  [[nodiscard]] bool is_constant_norm(const Node& node) const {
    if (!node.is("BatchNormalization") || trains(node, node)) return false;
    return std::ranges::all_of(node.inputs().subspan(std::min<std::size_t>(1, node.inputs().size())),
                               [&](const Value* input) { return input != nullptr && is_constant(*input); });
  }

  /// Whether a BatchNormalization within the function folds only when the call is gone.
  [[nodiscard]] bool is_split(const Node& call, const Graph& function, const Node& norm) const {
    if (trains(call, norm)) return false;
    bool across = std::ranges::any_of(norm.message().attribute(), [](const auto& a) { return !a.ref_attr_name().empty(); });
    for (std::size_t i = 1; i < 5; ++i) {
      if (!is_constant_for(call, function, norm.input(i), across)) return false;
    }
    const Value* from = norm.input(0);
    if (const Node* const linear = linear_maker(from)) {
      return is_constant_for(call, function, linear->input(1), across) && is_constant_for(call, function, linear->input(2), across) &&
             across;
    }
    bool is_fed = false;
    visit_makers(from, [&](const Value* value, const Node* node) {
      const int64_t place = node == nullptr ? input_of(function, *value) : -1;
      const Value* const actual = place >= 0 ? call.input(as_size(place)) : nullptr;
      const bool is_alone = actual != nullptr && actual->uses().size() == 1 && !actual->is_output();
      is_fed = is_fed || (is_alone && is_made_by_linear(actual));
    });
    if (is_fed) return true;
    if (is_read_by(norm.output(0), is_linear)) return across;
    for (std::size_t i = 0; i < function.outputs().size(); ++i) {
      if (leads_to(norm, function.outputs()[i]) && is_read_by(call.output(i), is_linear)) return true;
    }
    return false;
  }

  /// The BatchNormalization that makes a value which is handed on, or nullptr.
  [[nodiscard]] const Node* norm_behind(const Value* value) const {
    for (int i = 0; i < kDeepest && value != nullptr && value->producer() != nullptr; ++i) {
      if (is_constant_norm(*value->producer())) return value->producer();
      value = handed_on(*value->producer());
    }
    return nullptr;
  }

  /// Whether a value is what the node makes, handed on.
  [[nodiscard]] bool leads_to(const Node& norm, const Value* value) const {
    for (int i = 0; i < kDeepest && value != nullptr && value->producer() != nullptr; ++i) {
      if (value->producer() == &norm) return true;
      value = handed_on(*value->producer());
    }
    return false;
  }

  [[nodiscard]] bool is_needed(const Node& call, const Graph& function) {
    const auto is_norm = [&](const Node& node) { return is_constant_norm(node); };
    const Facts& facts = facts_of(function);
    if (facts.size > kLargest) return false;
    if ((facts.calls_open && gives_constants(call)) ||
        std::ranges::any_of(facts.norms, [&](const Node* norm) { return is_split(call, function, *norm); }))
      return true;
    for (std::size_t i = 0; i < function.outputs().size(); ++i) {
      if (call.output(i) == nullptr || call.output(i)->uses().size() != 1 || !is_read_by(call.output(i), is_norm)) continue;
      const Node* const linear = linear_maker(function.outputs()[i]);
      bool across = false;
      if (linear != nullptr && is_constant_for(call, function, linear->input(1), across)) return true;
    }
    for (std::size_t i = 0; i < function.inputs().size(); ++i) {
      const Node* const norm = norm_behind(call.input(i));
      if (norm != nullptr && !is_made_by_linear(norm->input(0)) && is_read_by(function.inputs()[i], is_linear)) return true;
    }
    return false;
  }

  [[nodiscard]] bool gives_constants(const Node& call) const {
    return std::ranges::any_of(call.inputs(),
                               [&](const Value* input) { return input != nullptr && (is_constant(*input) || is_made_by_linear(input)); });
  }

  /// Facts about a function that hold for every call.
  struct Facts {
    std::vector<const Node*> norms;
    bool calls_open = false;  ///< it calls a function that is open
    bool is_open = false;     ///< a BatchNormalization's parameters or data come from outside
    int64_t size = 0;         ///< nodes when all calls within are expanded, up to kLargest + 1
  };

  /// Functions cannot call themselves, not by others either (the specification forbids it; here that ends as not open).
  const Facts& facts_of(const Graph& function, int depth = 0) {
    const auto [known, is_new] = facts_.try_emplace(&function);
    if (!is_new) return known->second;
    Facts facts;
    if (depth > kDeepest) facts.size = kLargest + 1;
    add_facts(function, depth, facts);
    facts.is_open = facts.calls_open || std::ranges::any_of(facts.norms, [&](const Node* norm) {
                      return linear_maker(norm->input(0)) == nullptr ||
                             std::ranges::any_of(norm->inputs().subspan(1),
                                                 [&](const Value* input) { return input != nullptr && !is_constant(*input); });
                    });
    return facts_.insert_or_assign(&function, std::move(facts)).first->second;
  }

  void add_facts(const Graph& graph, int depth, Facts& facts) {
    for_each_node(graph, [&](const Node& node) {
      const Graph* const inner = depth > kDeepest ? nullptr : functions_.called_by(node);
      facts.calls_open = facts.calls_open || (inner != nullptr && facts_of(*inner, depth + 1).is_open);
      facts.size = std::min(facts.size + (inner != nullptr ? facts_of(*inner, depth + 1).size : 1), kLargest + 1);
      if (node.is("BatchNormalization")) facts.norms.push_back(&node);
    });
  }

  // Functions without a call left.

  [[nodiscard]] std::unordered_set<const Graph*> reachable() const {
    std::unordered_set<const Graph*> out;
    std::vector<const Graph*> open = {&model_.graph()};
    while (!open.empty()) {
      std::vector<const Node*> calls;
      collect(*open.back(), calls);
      open.pop_back();
      for (const Node* call : calls) {
        const Graph* const function = functions_.called_by(*call);
        if (out.insert(function).second) open.push_back(function);
      }
    }
    return out;
  }

  void erase_uncalled(const std::unordered_set<const Graph*>& before) {
    const std::unordered_set<const Graph*> now = reachable();
    std::vector<const Graph*> uncalled;
    for (const auto& function : model_.functions()) {
      if (before.contains(function.get()) && !now.contains(function.get())) uncalled.push_back(function.get());
    }
    for (const Graph* function : uncalled) ModelBuilder::erase_function(model_, *function);
    // These caches are keyed by nodes and graphs that were just erased.
    context_.constants.clear();
    context_.annotated.clear();
  }

  // Whether it can be done.

  /// Whether the function's operators mean the same where the call stands.
  [[nodiscard]] bool fits(const Node& call, const Graph& function) const {
    for (std::size_t i = 0; i < function.outputs().size(); ++i) {
      const int64_t place = input_of(function, *function.outputs()[i]);
      if (place >= 0 && call.output(i) != nullptr && call.input(as_size(place)) == nullptr) return false;
    }
    if (std::ranges::any_of(call.message().attribute(),
                            [](const auto& attribute) { return attribute.has_g() || attribute.graphs_size() > 0; })) {
      return false;
    }
    return fits(call.graph(), function);
  }

  [[nodiscard]] static bool fits(const Graph& caller, const Graph& function) {
    return all_of_nodes(function, [&](const Node& node) {
      const int64_t here = caller.opset(node.domain()), there = node.opset();
      const bool is_known = here == there || (here == 0 && !is_in_function(caller));
      return is_known || (node.domain().empty() && is_same_operator(node.op_type(), here, there));
    });
  }

  [[nodiscard]] static bool is_in_function(const Graph& graph) {
    const Graph* top = &graph;
    while (top->outer() != nullptr) top = top->outer();
    return top->is_function();
  }

  /// The model imports what the function did.
  void import(const Graph& function) {
    for (const auto& entry : function.function()->opset_import()) {
      if (model_.opset(entry.domain()) == 0) *model_.message().add_opset_import() = entry;
    }
  }

  // Doing it.

  void expand(Node& call, const Graph& function) {
    Graph& graph = call.graph();
    if (!is_in_function(graph)) import(function);
    FunctionBody body(model_, call.message(), *function.function(), name_in_findings(call));
    const auto& inputs = function.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) body.bind(inputs[i]->name(), call.input(i) != nullptr ? call.input(i)->name() : "");
    const std::vector<std::pair<std::string, std::string>> handed_on = bind_outputs(call, function, body);
    std::vector<Node*> made;
    const auto insert = [&](const onnx::NodeProto& message) { made.push_back(&graph.insert_before(graph.position_of(call), message)); };
    for (const Node& node : function.nodes()) {
      insert(body.node(node.message()));
      if (node.constant_data() != nullptr) graph.set_constant(*made.back(), *node.constant_data());
    }
    for (const auto& [from, to] : handed_on) {
      onnx::NodeProto identity;
      identity.set_op_type("Identity");
      identity.add_input(from);
      identity.add_output(to);
      insert(identity);
    }
    inlined_ += static_cast<int64_t>(made.size());
    std::vector<Value*> freed;
    erase_node(call, freed);
    // What this call did not use is not worth a node.
    for (std::size_t i = made.size(); i-- > 0;) {
      for (const auto& nested : made[i]->subgraphs()) erase_dead(*nested, freed);
      if (is_dead(*made[i])) erase_node(*made[i], freed);
    }
    for (Value* value : freed) release(*value, context_);
  }

  /// What other passes have removed from the function's nested graphs came back with the copy.
  static void erase_dead(Graph& graph, std::vector<Value*>& freed) {
    for_each_node_backwards(graph, [&](Node& node) {
      if (is_dead(node)) erase_node(node, freed);
    });
    for_each_graph(graph, [&](Graph& nested) {
      for (Initializer& initializer : nested.initializers()) freed.push_back(initializer.value);
    });
  }

  /// The call's outputs keep their names and readers, and wait for the nodes that make them. What one value of the function makes several
  /// times, or what it only hands on, takes an Identity: (name in the caller, output).
  std::vector<std::pair<std::string, std::string>> bind_outputs(Node& call, const Graph& function, FunctionBody& body) {
    std::vector<std::pair<std::string, std::string>> handed_on;
    std::vector<const Value*> bound;
    const std::vector<Value*> outputs(call.outputs().begin(), call.outputs().end());
    for (std::size_t i = 0; i < outputs.size() && i < function.outputs().size(); ++i) {
      if (outputs[i] == nullptr) continue;
      const Value& inner = *function.outputs()[i];
      const std::string name = outputs[i]->name();
      (void)call.graph().detach(*outputs[i], model_.unique_name(name + ".called"));
      if (inner.producer() == nullptr || std::ranges::find(bound, &inner) != bound.end()) {
        handed_on.emplace_back(body.name_of(inner.name()), name);
      } else {
        body.bind(inner.name(), name);
        bound.push_back(&inner);
      }
    }
    return handed_on;
  }

  Model& model_;
  PassContext& context_;
  Functions functions_;
  std::unordered_map<const Graph*, Facts> facts_;
  int64_t inlined_ = 0;
};

}  // namespace

void inline_functions(Graph& graph, PassContext& context) {
  // The main graph's turn does it all.
  if (graph.is_function() || graph.model().functions().empty()) return;
  Inliner(graph.model(), context).run();
}

}  // namespace relayout
