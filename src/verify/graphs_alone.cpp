// Compares models whose branches and bodies of loops stand in the main graph, where all rules look at their nodes.
#include "base/numbers.h"
#include "base/text.h"
#include "model/node.h"
#include "model/walk.h"
#include "passes/expansion.h"
#include "passes/pass.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare_models.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"
#include "verify/run/session.h"

namespace relayout {
namespace {

bool holds_graph(const Node& node) {
  return node.is("If") || node.is("Loop");
}

/// The node of the main graph in which a node is nested; null for one of the main graph, and in functions.
const Node* holder_of(const Node& node) {
  const Node& holder = outermost(node);
  return &holder == &node || holder.graph().is_function() || !holds_graph(holder) ? nullptr : &holder;
}

/// The nodes of the main graph of one model with graphs that an open entry of the proof is or may be about, by their first outputs.
std::map<std::string, const Node*> open_holders(const Side& side, bool is_first, const std::vector<Unexplained>& entries) {
  std::unordered_set<std::string> names;
  for (const Unexplained& entry : entries) {
    if (entry.in_first == is_first || entry.name.empty()) names.insert(entry.name);
  }
  std::map<std::string, const Node*> out;
  for_each_node(side.model->graph(), [&](const Node& node) {
    const Node* const holder = holds_graph(node) && &node.graph() == &side.model->graph() ? &node : holder_of(node);
    if (holder == nullptr || first_output(*holder) == nullptr) return;
    const auto is_named = [&](const Value* value) { return value != nullptr && names.contains(value->name()); };
    const bool is_open = names.contains(node.name()) || std::ranges::any_of(node.outputs(), is_named) ||
                         (holder != &node && std::ranges::any_of(node.inputs(), is_named)) || names.contains("");
    if (is_open) out.emplace(first_output(*holder)->name(), holder);
  });
  return out;
}

/// Whether two operands are surely the same: of one name, and made by alike nodes or by none.
bool are_alike(const Value* a, const Value* b, int depth = 0) {
  constexpr int kDeepest = 3;
  constexpr std::size_t kMostOperands = 8;  // of nodes that are walked over: more may be one value again and again
  if (a == nullptr || b == nullptr) return a == b;
  const Node *const of_a = a->producer(), *const of_b = b->producer();
  if (of_a == nullptr || of_b == nullptr) return of_a == of_b && a->name() == b->name();
  if (of_a->op_type() != of_b->op_type() || of_a->inputs().size() != of_b->inputs().size()) return false;
  if (depth == kDeepest || of_a->inputs().size() > kMostOperands) return a->name() == b->name();
  for (std::size_t i = 0; i < of_a->inputs().size(); ++i) {
    if (!are_alike(of_a->input(i), of_b->input(i), depth + 1)) return false;
  }
  return true;
}

/// Whether both nodes run their graphs for the same operands.
bool run_alike(const Node& a, const Node& b) {
  if (!holds_graph(a)) return false;
  if (a.op_type() != b.op_type() || a.inputs().size() != b.inputs().size() || a.outputs().size() != b.outputs().size()) return false;
  return are_alike(a.input(0), b.input(0)) && (a.is("If") || are_alike(a.input(1), b.input(1)));
}

/// Whether both models make a value of this name by nodes that run their graphs alike.
bool are_run_alike(const Graph& a, const Graph& b, const std::string& name) {
  const Value *const in_a = a.find(name), *const in_b = b.find(name);
  const Node *const of_a = in_a == nullptr ? nullptr : in_a->producer(), *const of_b = in_b == nullptr ? nullptr : in_b->producer();
  return of_a != nullptr && of_b != nullptr && run_alike(*of_a, *of_b);
}

/// Which graph of an If stands for it: of one in the main graph, and of one within that graph.
struct Taken {
  bool outer, inner;
};

const Graph* graph_of(const Node& holder, bool takes_then) {
  return holder.subgraph(holder.is("Loop") ? "body" : takes_then ? "then_branch" : "else_branch");
}

/// The first outputs of the nodes with graphs, but these.
std::set<std::string> held(const Graph& graph, const std::set<std::string>& left_out) {
  std::set<std::string> out;
  for (const Node& node : graph.nodes()) {
    if (holds_graph(node) && first_output(node) != nullptr && !left_out.contains(first_output(node)->name()))
      out.insert(first_output(node)->name());
  }
  return out;
}

/// Puts the graphs of nodes that both models have in their places: of these nodes, and then of those within their graphs. Whether all of
/// them have such graphs.
bool inline_graphs(Model& a, Model& b, std::set<std::string> holders, Taken taken) {
  constexpr int kDeepest = 8;
  passes::PassContext context;
  std::map<std::string, bool> chosen;
  for (int depth = 0; depth < kDeepest && !holders.empty(); ++depth) {
    const std::set<std::string> others = held(a.graph(), holders);
    for (const std::string& name : holders) {
      for (Model* const model : {&a, &b}) {
        Node& holder = *model->graph().find(name)->producer();
        // A condition that was met before is met again within the graph of its If.
        const std::string condition = holder.is("If") ? holder.input(0)->name() : "";
        const bool takes_then = chosen.try_emplace(condition, depth == 0 ? taken.outer : taken.inner).first->second;
        const Graph* const graph = graph_of(holder, takes_then);
        if (graph == nullptr || !passes::can_inline(holder, *graph)) return false;
        passes::inline_graph(holder, *graph, context);
      }
    }
    holders = held(a.graph(), others);
    std::erase_if(holders, [&](const std::string& name) { return !are_run_alike(a.graph(), b.graph(), name); });
  }
  const passes::Pass* const pass = passes::find_pass("remove-unused");
  for (Model* const model : {&a, &b}) passes::run_passes(*model, std::span(&pass, 1), context);
  return true;
}

/// Why a comparison is no agreement; empty where it is, or where it only says that it could not compare. Graphs that no sample enters may
/// be given numbers here that 16 bits do not hold: only doubts count there.
std::string objection_of(const VerifyResult& result, bool is_narrow) {
  constexpr std::array<std::string_view, 9> kSayNothing{kNoOutputs,   kCannotRun,        kNotRun,         kReferenceCannotRun, kNotCompared,
                                                        kOutOfBudget, "ill-conditioned", "shows-nothing", "wide-floor"};
  if (exit_code(result, false) == 0 || !result.defect.empty() || result.is_blocked()) return {};
  if (result.outcome == Outcome::different) {
    if (is_narrow) return {};
    for (const OutputComparison& output : result.outputs) {
      if (output.outcome == Outcome::different) return "output " + quote(output.name) + ": " + output.reason;
    }
    return result.reason;
  }
  for (const Doubt& doubt : result.doubts) {
    if (!doubt.allowed && std::ranges::find(kSayNothing, doubt.name) == kSayNothing.end()) return doubt.name + ": " + doubt.text;
  }
  return {};
}

/// What speaks against two models; nothing where no inputs are found for them.
std::string objection_to(Side a, Side b, const VerifyOptions& options, bool is_narrow, std::span<const Rule> rules) {
  try {
    return objection_of(compare_models(std::move(a), std::move(b), options, open_session, rules), is_narrow);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted || error.kind() == ErrorKind::terminated) throw;
    return {};
  }
}

/// All rules but this one: the graphs that are left would be taken again.
std::vector<Rule> other_rules() {
  std::vector<Rule> out;
  for (const Rule& rule : all_rules()) {
    if (rule.look != find_in_graphs_alone) out.push_back(rule);
  }
  return out;
}

}  // namespace

/// Asks all rules about nested graphs in the place of their nodes: samples do not lead to every edge there, and other values are fed to the
/// main graph alone.
VerifyFindings find_in_graphs_alone(Evidence& evidence) {
  constexpr const char* kStep = "graphs of branches and loops alone";
  constexpr int64_t kRuns = 10;
  const Pair& pair = evidence.pair();
  const VerifyOptions& given = *pair.options;
  if (pair.quantized || given.accept.is_given() || !given.bytes.names.empty()) return {};
  const auto of_a = open_holders(pair.a, true, evidence.unexplained()), of_b = open_holders(pair.b, false, evidence.unexplained());
  std::set<std::string> holders;
  bool has_if = false, has_inner = false;
  for (const auto* const side : {&of_a, &of_b}) {
    for (const auto& [name, holder] : *side) {
      if (!are_run_alike(pair.a.model->graph(), pair.b.model->graph(), name)) continue;
      holders.insert(name);
      has_if = has_if || holder->is("If");
      for (const auto& graph : holder->subgraphs()) {
        for_each_node(*graph, [&](const Node& node) { has_inner = has_inner || node.is("If"); });
      }
    }
  }
  if (holders.empty()) return {};
  std::vector<Taken> variants{{true, true}};
  if (has_if) variants.push_back({false, false});
  if (has_inner) variants.insert(variants.end(), {{true, false}, {false, true}});
  VerifyOptions options = given;
  options.digests = options.strict = options.layers = false;
  options.progress = {};
  const std::vector<Rule> rules = other_rules();
  for (const Taken& taken : variants) {
    if (!pair.steps->affords(kStep, kRuns)) break;
    pair.steps->next(kStep);
    Side a = read_again(pair.a, options.load, options.images_last), b = read_again(pair.b, options.load, options.images_last);
    if (!inline_graphs(*a.model, *b.model, holders, taken)) continue;
    const std::string objection = objection_to(std::move(a), std::move(b), options, pair.narrow != DataType::undefined, rules);
    if (objection.empty()) continue;
    const std::string which = !has_if ? "one run of the loop" : taken.outer ? "then_branch" : "else_branch";
    std::string text = "with " + which + " of node " + quote(*holders.begin());
    if (holders.size() > 1) text.append(" and ").append(counted(std::ssize(holders) - 1, "other node"));
    return {{.text = text.append(" in its place, ").append(objection), .node = *holders.begin()}};
  }
  return {};
}

}  // namespace relayout
