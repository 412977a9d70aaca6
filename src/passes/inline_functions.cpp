// Expands the calls of model-local functions that hide a fold, where their operators mean the same in the caller.
//
//     y = Conv (x, W)                  y = Conv (x, W)
//     z = local.Norm <e> (y, …)   →    z = BatchNormalization <epsilon = e> (y, …)

#include "base/interrupt.h"
#include "base/positions.h"
#include "model/functions.h"
#include "model/model_builder.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/op_history.h"
#include "passes/expansion.h"
#include "passes/folds/folds_across_calls.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::passes {
namespace {

constexpr int kMostRounds = 64;              ///< of calls within calls
constexpr int64_t kMostInlined = 1'000'000;  ///< nodes in all

class Inliner {
 public:
  explicit Inliner(Model& model, PassContext& context) : model_(model), context_(context), functions_(model), folds_(functions_, context) {}

  void run() {
    const std::unordered_set<const Graph*> before = reachable();
    // Functions first: calls whose operands are constant within a function are expanded there, for all its callers at once.
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
        const auto apply = [&](const Expansion& expansion) { expand_call(writable(*expansion.call), *expansion.function); };
        if (rewrite_one(FindingSubject(*call), context_, match_call, apply)) changed = true;
      }
      // Results of the expanded calls may be constant now.
      context_.constants.clear();
      folds_.clear();
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
    if ((!context_.expand_all_calls && !folds_.need(call, function)) || !fits(call, function)) return NotApplicable{};
    return Expansion{&call, &function};
  }

  void collect(const Graph& graph, std::vector<const Node*>& calls) const {
    for_each_node(graph, [&](const Node& node) {
      if (functions_.called_by(node) != nullptr) calls.push_back(&node);
    });
  }

  // Functions that are no longer called.

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

  // Conditions of an expansion.

  /// Whether the function's operators have the same meaning in the caller.
  [[nodiscard]] bool fits(const Node& call, const Graph& function) const {
    for (std::size_t i = 0; i < function.outputs().size(); ++i) {
      const std::size_t place = find_position(function.inputs(), function.outputs()[i]);
      if (place < function.inputs().size() && call.output(i) != nullptr && call.input(place) == nullptr) return false;
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
      const bool is_known = here == there || (here == 0 && !caller.top().is_function());
      return is_known || (node.domain().empty() && is_same_operator(node.op_type(), here, there));
    });
  }

  /// Adds the opset imports of the function to the model.
  void import(const Graph& function) {
    for (const auto& entry : function.function()->opset_import()) {
      if (model_.opset(entry.domain()) == 0) *model_.message().add_opset_import() = entry;
    }
  }

  // The expansion.

  void expand_call(Node& call, const Graph& function) {
    if (!call.graph().top().is_function()) import(function);
    FunctionBody body(model_, call.message(), *function.function(), reported_name(call));
    const auto& inputs = function.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) body.bind(inputs[i]->name(), call.input(i) != nullptr ? call.input(i)->name() : "");
    inlined_ += expand(call, function, body, context_);
  }

  Model& model_;
  PassContext& context_;
  Functions functions_;
  FoldsAcrossCalls folds_;
  int64_t inlined_ = 0;
};

}  // namespace

void inline_functions(Graph& graph, PassContext& context) {
  // The run on the main graph handles all graphs.
  if (graph.is_function() || graph.model().functions().empty()) return;
  Inliner(graph.model(), context).run();
}

}  // namespace relayout::passes
