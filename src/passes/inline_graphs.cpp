// Replaces an If by the graph that it always takes, and a Loop by its body where it runs once.
//
//     y = If (true) <then_branch = t () => (p) { p = Abs (x) }, …>               →     y = Abs (x)
//     y, s = Loop (1, true, x) <body = b (i, c, v) => (c, w, w) { w = Abs (v) }>   →     y = Abs (x)  s = Unsqueeze (y, 0)
//
// Names stay as they are, but those that another graph of the model has too. What is in a function stays.

#include "model/tensor_data.h"
#include "model/walk.h"
#include "ops/branches.h"
#include "ops/constants.h"
#include "ops/partial_dims.h"
#include "passes/expansion.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

struct Inlining {
  const Node* holder;
  const Graph* graph;
  std::optional<int64_t> runs = 1;      ///< of the graph; nothing: not known to be 0 or 1
  std::vector<TensorData> stacks = {};  ///< scan outputs of a Loop that does not run
};

class GraphInliner {
 public:
  using Find = std::function<std::vector<Inlining>(const Graph&)>;  ///< all are decided before one goes, whose readers may decide others
  using Refine = std::function<Match<Inlining>(const Inlining&, const NameCounts&)>;
  GraphInliner(PassContext& context, Find find, Refine match) : context_(context), find_(std::move(find)), match_(std::move(match)) {}

  /// Outer nodes first: what a graph holds is copied as the file has it. What was inlined may hold others.
  void run(Graph& graph) {
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (const Inlining& one : find_(graph)) {
        if (!one.holder->erased() && inline_one(one)) has_changed = true;
      }
    }
    for (Node& node : graph.nodes()) {
      for (const auto& nested : node.subgraphs()) run(*nested);
    }
  }

 private:
  bool inline_one(const Inlining& one) {
    if (names_.empty()) count_names(one.holder->graph().model());
    const auto apply = [&](const Inlining& found) {
      if (found.runs == 0) return skip_loop(writable(*found.holder), *found.graph, found.stacks, context_);
      inline_graph(writable(*found.holder), *found.graph, context_, &names_);
    };
    return rewrite_one(FindingSubject(*one.holder), context_, [&] { return match(one); }, apply);
  }

  [[nodiscard]] Match<Inlining> match(const Inlining& one) {
    Match<Inlining> found = match_(one, names_);
    if (is_excluded(*one.holder, context_.options) && !std::holds_alternative<NotApplicable>(found)) found = Skip{Reason::excluded, {}};
    if (std::holds_alternative<Skip>(found) && !told_.insert(one.holder).second) return NotApplicable{};
    return found;
  }

  void count_names(const Model& model) {
    for_each_graph(model.graph(),
                   [&](const Graph& graph) { for_each_own_value(graph, [&](const Value& value) { ++names_[value.name()]; }); });
  }

  PassContext& context_;
  Find find_;
  Refine match_;
  NameCounts names_;
  std::unordered_set<const Node*> told_;  ///< refused
};

/// Whether an Identity may pass a value on: it takes tensors alone before opset 16.
bool has_identity(const Value& value, int64_t opset) {
  constexpr int64_t kOfAnyType = 16;
  return opset >= kOfAnyType || value.initializer() != nullptr || value.declared().has_value();
}

/// Whether nodes can make all outputs of a graph that runs once.
bool can_pass_on(const Graph& graph, int64_t opset) {
  return std::ranges::all_of(graph.outputs(), [&](const Value* output) {
    return (&output->graph() == &graph && output->producer() != nullptr) || has_identity(*output, opset);
  });
}

bool can_move(const Inlining& one) {
  return can_inline(*one.holder, *one.graph) && one.graph->message()->quantization_annotation_size() == 0;
}

// Loops.

constexpr std::size_t kCarried = 2;  ///< operands of a Loop before the values that it carries

/// Whether the number of the iteration and the condition are scalars, as ONNX has them.
bool has_scalars(const Graph& body) {
  return std::all_of(body.inputs().begin(), body.inputs().begin() + kCarried, [](const Value* input) {
    const auto declared = input->declared();
    return !declared || declared->dims.empty();
  });
}

/// What a Loop that does not run stacks of a result of its body: nothing unless all dims of that are known.
std::optional<TensorData> empty_stack(const Value& result, Constants& constants) {
  const auto declared = result.declared();
  const PartialDims certain = constants.dims(result);
  if (!declared || !declared->has_shape || declared->type == DataType::undefined || declared->type == DataType::string) return std::nullopt;
  Dims dims = declared->dims;
  if (certain && certain->size() != dims.size()) return std::nullopt;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool is_other = certain && (*certain)[i] >= 0 && (*certain)[i] != dims[i];
    if (dims[i] < 0 || is_other) return std::nullopt;
  }
  dims.insert(dims.begin(), 0);
  return TensorData(declared->type, std::move(dims), Bytes::owned(std::vector<std::byte>()));
}

// Sizes in the file, with the lengths of the fields around.

int64_t size_of(const Value* value) {
  constexpr int64_t kField = 2;
  return value != nullptr ? kField + std::ssize(value->name()) : kField;
}

int64_t declared_size(const std::vector<Value*>& values) {
  constexpr int64_t kField = 2;
  int64_t out = 0;
  for (const Value* const value : values) {
    out += value->info() != nullptr ? kField + static_cast<int64_t>(value->info()->ByteSizeLong()) : size_of(value);
  }
  return out;
}

int64_t size_of(const Node& node) {
  constexpr int64_t kFields = 4;
  int64_t out = kFields + std::ssize(node.op_type());
  for (const Value* const value : node.inputs()) out += size_of(value);
  for (const Value* const value : node.outputs()) out += size_of(value);
  return out;
}

bool is_read_once(const Value* value) {
  return value != nullptr && value->uses().size() == 1 && !value->is_output();
}

/// What goes with a Loop at least: itself, the head of its graph, constants for it alone, and nodes for its condition or that do not run.
int64_t bytes_lost(const Inlining& one) {
  constexpr int64_t kAttribute = 19, kConstant = 7;
  const Graph& body = *one.graph;
  int64_t out =
      kAttribute + std::ssize(body.message()->name()) + size_of(*one.holder) + declared_size(body.inputs()) + declared_size(body.outputs());
  for (std::size_t i = 0; i < kCarried; ++i) {
    const Value* const given = one.holder->input(i);
    if (is_read_once(given) && given->initializer() != nullptr) out += kConstant + size_of(given);
  }
  const Value& condition = *body.outputs()[0];
  for (const Node& node : body.nodes()) {
    const bool is_for_condition = condition.producer() == &node && condition.uses().empty() && condition.output_count() == 1;
    if (one.runs == 0 || is_for_condition) out += size_of(node);
  }
  return out;
}

/// What comes at most: nodes that make results, constants, and names that are no longer one graph's alone.
int64_t bytes_gained(const Inlining& one, const NameCounts& names) {
  constexpr int64_t kSuffix = 4, kNode = 15, kConstant = 16, kFirst = 6;
  const std::span<Value* const> results = one.holder->outputs();
  const std::size_t carried = one.graph->inputs().size() - kCarried;
  int64_t out = 0, longest = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    longest = std::max(longest, size_of(results[i]) + kFirst);
    const Value& made = *one.graph->outputs()[i + 1];
    if (results[i] == nullptr || (i < carried && one.runs == 1 && made.producer() != nullptr)) continue;
    out += kNode + size_of(results[i]) + size_of(&made) + (i < carried ? 0 : longest);
    if (i >= carried && (i == carried || one.runs == 0)) out += kConstant + longest;
  }
  if (one.runs == 0) return out;
  for (std::size_t i = 0; i < kCarried; ++i) {
    const Value& given = *one.graph->inputs()[i];
    const int64_t number = i == 0 ? kConstant : kConstant - 7;
    if (!given.uses().empty()) out += number + size_of(&given) + (std::ssize(given.uses()) + 1) * kFirst;
  }
  for_each_own_value(*one.graph, [&](const Value& value) {
    const auto count = names.find(value.name());
    const bool is_renamed = !value.is_input() && count != names.end() && count->second > 1;
    if (is_renamed) out += kSuffix * (1 + std::ssize(value.uses()));
  });
  return out;
}

Match<Inlining> match_loop(const Inlining& one, const NameCounts& names, Constants& constants) {
  if (!one.runs) return Skip{Reason::runs_again, {}};
  const Graph& body = *one.graph;
  const std::span<Value* const> results = one.holder->outputs();
  const int64_t opset = one.holder->opset();
  if (!can_move(one) || !has_scalars(body)) return Skip{Reason::not_movable, {}};
  Inlining out = one;
  const std::size_t carried = body.inputs().size() - kCarried;
  if (one.runs == 1 && !can_pass_on(body, opset)) return Skip{Reason::not_movable, {}};
  for (std::size_t i = 0; i < results.size() && one.runs == 0; ++i) {
    if (results[i] == nullptr) continue;
    if (i < carried) {
      const bool is_tensor = has_identity(*one.holder->input(kCarried + i), opset) || has_identity(*body.inputs()[kCarried + i], opset);
      if (!is_tensor) return Skip{Reason::not_movable, {}};
      continue;
    }
    auto stack = empty_stack(*body.outputs()[i + 1], constants);
    if (!stack) return Skip{Reason::dims_unknown, results[i]->name()};
    out.stacks.push_back(std::move(*stack));
  }
  if (bytes_gained(one, names) > bytes_lost(one)) return Skip{Reason::file_grows, {}};
  return out;
}

}  // namespace

void inline_branches(Graph& graph, PassContext& context) {
  const auto find = [&](const Graph& within) {
    Branches branches(context.constants);
    std::vector<Inlining> out;
    for (const Node& node : within.nodes()) {
      const auto taken = branches.condition(node);
      const Graph* const branch = taken ? node.subgraph(*taken ? "then_branch" : "else_branch") : nullptr;
      if (branch != nullptr) out.push_back({&node, branch});
    }
    return out;
  };
  const auto match = [](const Inlining& one, const NameCounts&) -> Match<Inlining> {
    if (!can_move(one) || !can_pass_on(*one.graph, one.holder->opset())) return NotApplicable{};
    return one;
  };
  GraphInliner(context, find, match).run(graph);
}

void inline_loops(Graph& graph, PassContext& context) {
  const auto find = [&](const Graph& within) {
    std::vector<Inlining> out;
    for (const Node& node : within.nodes()) {
      const Graph* const body = node.is("Loop") ? node.subgraph("body") : nullptr;
      if (body != nullptr) out.push_back({&node, body, runs_of_loop(node, context.constants)});
    }
    return out;
  };
  const auto match = [&](const Inlining& one, const NameCounts& names) { return match_loop(one, names, context.constants); };
  GraphInliner(context, find, match).run(graph);
}

}  // namespace relayout::passes
