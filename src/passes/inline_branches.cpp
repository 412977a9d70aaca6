// Puts the graph that an If always takes in its place.
//
//     y = If (true) <then_branch = t () => (p) { p = Abs (x) }, …>       →     y = Abs (x)
//
// Names stay as they are, but those that another graph of the model has too. An If in a function stays.

#include "model/walk.h"
#include "ops/branches.h"
#include "passes/expansion.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::passes {
namespace {

struct Inlining {
  const Node* holder;
  const Graph* branch;
};

/// Whether nodes can make all outputs: an Identity takes tensors alone before this version.
bool can_pass_on(const Graph& branch, int64_t opset) {
  constexpr int64_t kOfAnyType = 16;
  return opset >= kOfAnyType || std::ranges::all_of(branch.outputs(), [&](const Value* output) {
           return &output->graph() == &branch && output->producer() != nullptr;
         });
}

class BranchInliner {
 public:
  explicit BranchInliner(PassContext& context) : context_(context) {}

  /// Outer nodes first: what a graph holds is copied as the file has it. What was inlined may hold others.
  void run(Graph& graph) {
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      // All are decided before one goes, whose readers may decide others.
      Branches branches(context_.constants);
      std::vector<Inlining> found;
      for (const Node& node : graph.nodes()) {
        const auto taken = branches.condition(node);
        const Graph* const branch = taken ? node.subgraph(*taken ? "then_branch" : "else_branch") : nullptr;
        if (branch != nullptr) found.push_back({&node, branch});
      }
      for (const Inlining& one : found) {
        if (!one.holder->erased() && inline_one(one)) has_changed = true;
      }
    }
    for (Node& node : graph.nodes()) {
      for (const auto& nested : node.subgraphs()) run(*nested);
    }
  }

 private:
  bool inline_one(const Inlining& one) {
    const auto apply = [&](const Inlining& found) {
      if (names_.empty()) count_names(found.holder->graph().model());
      inline_graph(writable(*found.holder), *found.branch, context_, &names_);
    };
    return rewrite_one(FindingSubject(*one.holder), context_, [&] { return match(one); }, apply);
  }

  [[nodiscard]] Match<Inlining> match(const Inlining& one) {
    if (!can_inline(*one.holder, *one.branch) || !can_pass_on(*one.branch, one.holder->opset())) return NotApplicable{};
    if (one.branch->message()->quantization_annotation_size() > 0) return NotApplicable{};
    if (is_excluded(*one.holder, context_.options)) {
      if (told_.insert(one.holder).second) return Skip{Reason::excluded, {}};
      return NotApplicable{};
    }
    return one;
  }

  void count_names(const Model& model) {
    for_each_graph(model.graph(),
                   [&](const Graph& graph) { for_each_own_value(graph, [&](const Value& value) { ++names_[value.name()]; }); });
  }

  PassContext& context_;
  NameCounts names_;
  std::unordered_set<const Node*> told_;  ///< refused
};

}  // namespace

void inline_branches(Graph& graph, PassContext& context) {
  BranchInliner(context).run(graph);
}

}  // namespace relayout::passes
