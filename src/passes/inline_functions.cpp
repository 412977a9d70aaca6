// Calls of model-local functions, where a BatchNormalization and its linear operator, or their parameters, stand on two sides of one:
//
//     y = Conv (x, W)                  y = Conv (x, W)
//     z = local.Norm <e> (y, …)   →    z = BatchNormalization <epsilon = e> (y, …)
//
// Every other call stays a call. What cannot stand in the caller as it is (operators whose meaning differs between the opsets that the
// two import, nested graphs) stays as well.

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "base/interrupt.h"
#include "model/function_body.h"
#include "model/model_builder.h"
#include "ops/constants.h"
#include "ops/op_version.h"
#include "passes/carry.h"
#include "passes/cleanup.h"
#include "passes/pass.h"
#include "passes/passes.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

constexpr int kMostRounds = 64;              ///< of calls within calls
constexpr int64_t kLargest = 100'000;        ///< nodes of one call, calls within it included: they can multiply without end
constexpr int64_t kMostInlined = 1'000'000;  ///< nodes in all
constexpr int kDeepest = 64;                 ///< nodes or calls that are looked through for one answer
constexpr int kMostLookedAt = 1'000;         ///< nodes that may make one constant

bool is_linear(const Node& node) {
  return node.is("Conv") || node.is("ConvTranspose") || node.is("Gemm") || node.is("MatMul");
}

std::string key_of(std::string_view domain, const std::string& name, const std::string& overload) {
  return std::string(domain) + ":" + name + ":" + overload;
}

class Inliner {
 public:
  explicit Inliner(Model& model, PassContext& context) : model_(model), context_(context) {
    for (const auto& graph : model.functions()) {
      const onnx::FunctionProto& message = *graph->function();
      const std::string domain = message.domain() == "ai.onnx" ? "" : message.domain();
      functions_.emplace(key_of(domain, message.name(), message.overload()), graph.get());
    }
  }

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
      std::vector<Node*> calls;
      collect(top, calls);
      bool changed = false;
      for (Node* call : calls) {
        check_interrupt();
        if (!context_.may_rewrite() || inlined_ > kMostInlined || is_excluded(*call, context_.options)) continue;
        const Graph& function = *function_of(*call);
        if (!is_needed(*call, function) || !fits(*call, function)) continue;
        note(*call);
        if (context_.dry_run) continue;
        expand(*call, function);
        changed = true;
      }
      // Calls that are gone may have made constants.
      context_.constants.clear();
      facts_.clear();
      if (!changed) return;
    }
  }

  [[nodiscard]] const Graph* function_of(const Node& node) const {
    const auto found = functions_.find(key_of(node.domain(), node.op_type(), node.message().overload()));
    return found != functions_.end() ? found->second : nullptr;
  }

  void collect(Graph& graph, std::vector<Node*>& calls) const {
    for (Node& node : graph.nodes()) {
      if (function_of(node) != nullptr) calls.push_back(&node);
      for (const auto& nested : node.subgraphs()) collect(*nested, calls);
    }
  }

  void note(const Node& call) {
    context_.findings.push_back({std::string(context_.pass), call.op_type(), name_in_findings(call)});
    ++context_.rewrites;
  }

  // Whether a fold needs it.

  /// The node that makes a value, beyond those that only hand it on.
  [[nodiscard]] const Node* maker(const Value* value) const {
    for (int i = 0; i < kDeepest && value != nullptr && value->producer() != nullptr; ++i) {
      const Node& node = *value->producer();
      if (!passes_through(node, context_)) return &node;
      value = node.input(0);
    }
    return nullptr;
  }

  /// Whether a function's value is what a linear operator makes, as it is or behind a BatchNormalization.
  [[nodiscard]] const Node* linear_maker(const Value* value) const {
    const Node* node = maker(value);
    for (int i = 0; i < kDeepest && node != nullptr && node->is("BatchNormalization"); ++i) node = maker(node->input(0));
    return node != nullptr && is_linear(*node) ? node : nullptr;
  }

  /// The same in the caller, where another call may make it.
  [[nodiscard]] bool is_made_by_linear(const Value* value) const {
    const Node* node = maker(value);
    for (int i = 0; i < kDeepest && node != nullptr && node->is("BatchNormalization"); ++i) node = maker(node->input(0));
    if (node == nullptr || is_linear(*node)) return node != nullptr;
    const Graph* const function = function_of(*node);
    if (function == nullptr) return false;
    for (std::size_t i = 0; i < node->outputs().size() && i < function->outputs().size(); ++i) {
      if (node->output(i) != nullptr && linear_maker(function->outputs()[i]) != nullptr) return true;
    }
    return false;
  }

  /// Whether the only reader of a value, beyond those that hand it on, is of this kind.
  template <class Kind>
  [[nodiscard]] bool is_read_by(const Value* value, const Kind& kind) const {
    for (int i = 0; i < kDeepest && value != nullptr && value->uses().size() == 1 && !value->is_output(); ++i) {
      const Use use = value->uses().front();
      if (kind(*use.node)) return use.index == 0;
      if (!passes_through(*use.node, context_)) return false;
      value = use.node->output(0);
    }
    return false;
  }

  [[nodiscard]] bool is_constant(const Value& value) const { return std::holds_alternative<Constant>(context_.constants.find(value)); }

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
        const Value* const actual = place < 0 ? nullptr : call.input(static_cast<std::size_t>(place));
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
    for (int i = 0; i < kDeepest && from != nullptr && from->producer() != nullptr && hands_on(*from->producer()); ++i) {
      from = from->producer()->input(0);
    }
    const int64_t place = from != nullptr && from->producer() == nullptr ? input_of(function, *from) : -1;
    if (place >= 0) {
      const Value* const actual = call.input(static_cast<std::size_t>(place));
      const bool is_alone = actual != nullptr && actual->uses().size() == 1 && !actual->is_output();
      if (is_alone && is_made_by_linear(actual)) return true;
    }
    if (is_read_by(norm.output(0), is_linear)) return across;
    for (std::size_t i = 0; i < function.outputs().size(); ++i) {
      if (maker(function.outputs()[i]) == &norm && is_read_by(call.output(i), is_linear)) return true;
    }
    return false;
  }

  [[nodiscard]] bool hands_on(const Node& node) const { return node.is("BatchNormalization") || passes_through(node, context_); }

  [[nodiscard]] bool is_needed(const Node& call, const Graph& function) {
    const auto is_norm = [&](const Node& node) { return is_constant_norm(node); };
    const Facts& facts = facts_of(function);
    if (facts.size > kLargest) return false;
    if ((facts.calls_open && gives_constants(call)) ||
        std::ranges::any_of(facts.norms, [&](const Node* norm) { return is_split(call, function, *norm); }))
      return true;
    for (std::size_t i = 0; i < function.outputs().size(); ++i) {
      if (!is_read_by(call.output(i), is_norm)) continue;
      const Node* const linear = linear_maker(function.outputs()[i]);
      bool across = false;
      if (linear != nullptr && is_constant_for(call, function, linear->input(1), across)) return true;
    }
    for (std::size_t i = 0; i < function.inputs().size(); ++i) {
      const Node* const norm = maker(call.input(i));
      if (norm != nullptr && is_norm(*norm) && !is_made_by_linear(norm->input(0)) && is_read_by(function.inputs()[i], is_linear))
        return true;
    }
    return false;
  }

  [[nodiscard]] bool gives_constants(const Node& call) const {
    return std::ranges::any_of(call.inputs(),
                               [&](const Value* input) { return input != nullptr && (is_constant(*input) || is_made_by_linear(input)); });
  }

  /// What is to know of a function whoever calls it.
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
    for (const Node& node : function.nodes()) {
      const Graph* const inner = depth > kDeepest ? nullptr : function_of(node);
      facts.calls_open = facts.calls_open || (inner != nullptr && facts_of(*inner, depth + 1).is_open);
      facts.size = std::min(facts.size + (inner != nullptr ? facts_of(*inner, depth + 1).size : 1), kLargest + 1);
      if (node.is("BatchNormalization")) facts.norms.push_back(&node);
    }
    facts.is_open = facts.calls_open || std::ranges::any_of(facts.norms, [&](const Node* norm) {
                      return linear_maker(norm->input(0)) == nullptr ||
                             std::ranges::any_of(norm->inputs().subspan(1),
                                                 [&](const Value* input) { return input != nullptr && !is_constant(*input); });
                    });
    return facts_.insert_or_assign(&function, std::move(facts)).first->second;
  }

  // Functions that nobody calls any more.

  [[nodiscard]] std::unordered_set<const Graph*> reachable() {
    std::unordered_set<const Graph*> out;
    std::vector<Graph*> open = {&model_.graph()};
    while (!open.empty()) {
      std::vector<Node*> calls;
      collect(*open.back(), calls);
      open.pop_back();
      for (const Node* call : calls) {
        const Graph* const function = function_of(*call);
        if (out.insert(function).second) open.push_back(const_cast<Graph*>(function));  // the model's own
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
    // Answers by the address of what is gone.
    context_.constants.clear();
    context_.annotated.clear();
  }

  // Whether it can be done.

  /// Whether the function's operators mean the same where the call stands.
  [[nodiscard]] bool fits(const Node& call, const Graph& function) const {
    for (std::size_t i = 0; i < function.outputs().size(); ++i) {
      const int64_t place = input_of(function, *function.outputs()[i]);
      if (place >= 0 && call.output(i) != nullptr && call.input(static_cast<std::size_t>(place)) == nullptr) return false;
    }
    if (std::ranges::any_of(call.message().attribute(),
                            [](const auto& attribute) { return attribute.has_g() || attribute.graphs_size() > 0; })) {
      return false;
    }
    return fits(call.graph(), function);
  }

  [[nodiscard]] static bool fits(const Graph& caller, const Graph& function) {
    for (const Node& node : function.nodes()) {
      if (!node.subgraphs().empty()) return false;
      const int64_t here = caller.opset(node.domain()), there = node.opset();
      const bool is_known = here == there || (here == 0 && !is_in_function(caller));
      if (!is_known && (!node.domain().empty() || !is_same_operator(node.op_type(), here, there))) return false;
    }
    return true;
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
      const bool is_dead =
          std::ranges::all_of(made[i]->outputs(), [](const Value* output) { return output == nullptr || is_unused(*output); });
      if (is_dead && is_removable(*made[i])) erase_node(*made[i], freed);
    }
    for (Value* value : freed) release(*value, context_);
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
  std::unordered_map<std::string, const Graph*> functions_;
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
