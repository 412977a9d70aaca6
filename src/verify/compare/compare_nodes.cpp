// Compares nodes of two models for the verdict, and tells which of them account for a difference that the proof leaves open.
#include "verify/compare/compare_nodes.h"

#include "model/node.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/op_attributes.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/fed_values.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/reference.h"
#include "verify/run/session.h"
#include "verify/thresholds.h"

namespace relayout {
namespace {

/// Whether two correct evaluations of the same operands may choose differently.
bool may_choose(const Node& node) {
  return find_kernel(node) == nullptr || has_trait(node, Trait::chooses);
}

/// Whether a result in another mode is farther from the result as written than rounding explains.
bool errs_alone(const LayerResult& layer) {
  if (layer.bound == 0) return layer.outcome == Outcome::different;  // a different structure, or a type without rounding
  const double least = thresholds::kAloneLeastBounds * dtype_minimum(layer.type);
  return layer.error > std::max(thresholds::kReferenceFloors * layer.floor.max, least) ||
         layer.rms > std::max(thresholds::kReferenceFloors * layer.floor.rms, least);
}

/// Notes the first unexplained difference in b's graphs within a node (If, Loop, Scan), from the files alone.
void look_inside(LayerResult& layer, const Graph& b, const ProofResult& proof) {
  const Value* const made = b.find(layer.tensor);
  if (made == nullptr || made->producer() == nullptr) return;
  for (const auto& nested : made->producer()->subgraphs()) {
    for (const Unexplained& entry : proof.unexplained) {
      const Value* const value = nested->find(entry.name);
      const bool by_value = value != nullptr && &value->graph() == nested.get();
      const auto is_it = [&](const Node& node) { return node.name() == entry.name; };
      if (entry.in_first || (!by_value && std::ranges::none_of(nested->nodes(), is_it))) continue;
      layer.proof.inside = entry.text;
      return;
    }
  }
}

}  // namespace

std::string_view step_of(Feeding feeding) noexcept {
  switch (feeding) {
    case Feeding::exact:
    case Feeding::by_depth:
      return "node by node";
    case Feeding::shaken:
      return "node by node, values beside";
    case Feeding::odd:
      return "node by node, odd integers";
    case Feeding::small:
    case Feeding::tiny:
    case Feeding::faint:
    case Feeding::faintest:
      return "node by node, small numbers";
    case Feeding::near:
      return "node by node, numbers near one";
    case Feeding::middle:
    case Feeding::far:
      return "node by node, large numbers";
    case Feeding::tied:
      return "node by node, equal numbers";
    case Feeding::negative:
    case Feeding::positive:
      return "node by node, one sign";
    case Feeding::not_a_number:
    case Feeding::infinite:
    case Feeding::minus_infinite:
      return "node by node, NaN and infinities";
  }
  return "node by node";
}

LayerTask task_of(const Pair& pair, const Side& a, const Side& b, const Reference& reference, std::size_t sample, std::string_view what) {
  LayerTask task;
  task.a = &a;
  task.b = &b;
  task.options = pair.options;
  task.open = pair.open;
  task.progress = [&pair, what] { pair.steps->next(what); };
  task.inputs = [&reference, sample] { return reference.inputs_of(sample); };
  task.plain_integers = reference.inputs().ports().plain_integers();
  task.masks = reference.inputs().ports().masks();
  task.sample = reference.samples()[sample].number;
  return task;
}

namespace {

LayerTask fed_task_of(const Pair& pair, const Reference& reference, std::size_t sample, Feeding feeding) {
  LayerTask task = task_of(pair, pair.a, pair.b, reference, sample, step_of(feeding));
  task.grain = pair.grain;
  task.feeding = feeding;
  return task;
}

}  // namespace

std::vector<LayerResult> compare_nodes(const Pair& pair, const Reference& reference, std::size_t sample, const Paired& paired,
                                       Feeding feeding, const Watch& watch) {
  LayerTask task = fed_task_of(pair, reference, sample, feeding);
  task.layers = &paired.layers;
  task.watch = watch;
  auto layers = compare_layers(task, paired.suspects);
  for (LayerResult& layer : layers) {
    if (layer.outcome == Outcome::different && paired.proof != nullptr) look_inside(layer, pair.b.model->graph(), *paired.proof);
  }
  return layers;
}

std::vector<LayerResult> compare_open_nodes(const Pair& pair, const Reference& reference, std::size_t sample, const Paired& paired,
                                            Feeding feeding) {
  LayerTask task = fed_task_of(pair, reference, sample, feeding);
  task.layers = &paired.layers;
  if (auto layers = compare_open_layers(task, *paired.suspects)) return std::move(*layers);
  return compare_nodes(pair, reference, sample, paired, feeding);
}

// Nodes of a model in another mode.
namespace {

/// The compared values of a model, and the nodes behind each, back to values that are the same: nodes of one step read the step's own
/// values, and are not fed.
class ComparedParts {
 public:
  ComparedParts(const Graph& graph, const std::vector<LayerResult>& layers) : graph_(graph) {
    for (const LayerResult& layer : layers) {
      if (layer.outcome == Outcome::same) same_.insert(graph.find(layer.tensor));
    }
  }

  /// Whether a node that may choose has a part in a value.
  [[nodiscard]] bool may_choose(const LayerResult& layer) {
    std::vector<const Node*> open{graph_.find(layer.tensor)->producer()};
    std::unordered_set<const Node*> seen;
    while (!open.empty()) {
      const Node& node = *open.back();
      open.pop_back();
      if (relayout::may_choose(node)) return true;
      for (const Value* const input : node.inputs()) {
        const Node* const maker = input == nullptr || same_.contains(input) ? nullptr : input->producer();
        if (maker != nullptr && !constants_.is_constant(*input) && seen.insert(maker).second) open.push_back(maker);
      }
    }
    return false;
  }

 private:
  const Graph& graph_;
  std::unordered_set<const Value*> same_;
  Constants constants_;
};

}  // namespace

std::optional<LayerResult> erring_node(const Pair& pair, const Side& side, const Reference& reference, std::size_t sample, Mode mode) {
  std::vector<LayerResult> layers = compare_modes(task_of(pair, side, side, reference, sample, "node by node, in another mode"), mode);
  ComparedParts parts(side.model->graph(), layers);
  const auto errs = [&](const LayerResult& layer) { return errs_alone(layer) && !parts.may_choose(layer); };
  const auto found = std::ranges::find_if(layers, errs);
  return found == layers.end() ? std::nullopt : std::optional(std::move(*found));
}

bool is_open(const LayerResult& layer) {
  return !layer.proof.unexplained.empty() || !layer.proof.misread.empty() || layer.proof.unreached;
}

std::vector<std::size_t> entries_of(const LayerResult& layer) {
  std::vector<std::size_t> out = layer.proof.unexplained;
  out.insert(out.end(), layer.proof.misread.begin(), layer.proof.misread.end());
  return out;
}

bool convicts(const LayerResult& layer) {
  return layer.outcome == Outcome::different && is_open(layer) && layer.correlation >= thresholds::kSameThingCorrelation;
}

bool is_constant(const Unexplained& entry) noexcept {
  using Kind = Unexplained::Kind;
  return entry.kind == Kind::weight || entry.kind == Kind::bias || entry.kind == Kind::tensor ||
         (entry.kind == Kind::attribute && entry.values > 0) || (entry.kind == Kind::operand && entry.values == 0 && entry.largest > 0);
}

bool is_stored(const Unexplained& entry) noexcept {
  return is_constant(entry) && entry.kind != Unexplained::Kind::attribute && entry.kind != Unexplained::Kind::operand;
}

UnexplainedCheck::Effect effect_of(const LayerResult& layer) {
  using Effect = UnexplainedCheck::Effect;
  if (layer.other_structure || layer.mask || (layer.outcome == Outcome::different && !convicts(layer))) return Effect::expected;
  return layer.error > 0 || !layer.reason.empty() ? Effect::rounding : Effect::none;
}

void check_unexplained(std::vector<UnexplainedCheck>& checks, const std::vector<LayerResult>& layers, const ProofResult& proof) {
  const auto weight = [](const LayerResult& layer) { return layer.bound > 0 ? layer.error / layer.bound : layer.error; };
  for (const LayerResult& layer : layers) {
    for (const std::size_t entry : layer.proof.unexplained) {
      auto at = std::ranges::lower_bound(checks, entry, {}, &UnexplainedCheck::entry);
      if (at == checks.end() || at->entry != entry) {
        at = checks.emplace(at);
        at->entry = entry;
      }
      const bool guilty = convicts(layer);
      at->alone = at->alone &&
                  std::ranges::all_of(layer.proof.unexplained, [&](std::size_t other) { return is_constant(proof.unexplained[other]); });
      at->together = at->together && layer.proof.products > 1;
      at->effect = std::max(at->effect, effect_of(layer));
      const double shown = at->bound > 0 ? at->error / at->bound : at->error;
      const bool more = guilty == (at->outcome == Outcome::different) && weight(layer) > shown;
      if (!at->node.empty() && !more && !(guilty && at->outcome != Outcome::different)) continue;
      at->node = layer.node;
      at->op_type = layer.op_type;
      at->sample = layer.sample;
      at->error = layer.error;
      at->floor = layer.floor.max;
      at->bound = layer.bound;
      at->finite = layer.finite;
      at->outcome = guilty ? Outcome::different : Outcome::same;
    }
  }
}

std::set<std::string> find_vague(const std::vector<LayerResult>& layers) {
  std::set<std::string> out;
  for (const LayerResult& layer : layers) {
    // A bit-exact result where rounding would be amplified is stronger evidence than a result within a small floor.
    const bool is_vague = layer.constant || (layer.error > 0 && is_ill_conditioned(layer.type, layer.floor));
    if (is_open(layer) && is_vague) out.insert(layer.tensor);
  }
  return out;
}

bool has_all(const std::vector<LayerResult>& layers, const std::vector<std::string>& outputs) {
  return std::ranges::all_of(
      outputs, [&](const std::string& name) { return std::ranges::find(layers, name, &LayerResult::tensor) != layers.end(); });
}

bool covers(const std::vector<LayerResult>& layers, const std::vector<std::string>& outputs) {
  return find_vague(layers).empty() && has_all(layers, outputs);
}

namespace {

/// Whether a node converts to real numbers, which rounds and chooses nothing.
bool converts_to_real(const Node& node) {
  if (node.is("Cast")) return kRealTypes.has(type_of_number(Attributes(node).integer("to", 0)));
  return node.is("CastLike") && node.input(1) != nullptr && kRealTypes.has(Constants().type_of(*node.input(1)));
}

}  // namespace

bool jumps(const Node& node) {
  if (converts_to_real(node)) return false;
  if (node.subgraphs().empty()) return find_kernel(node) == nullptr || has_trait(node, Trait::jumps);
  return std::ranges::any_of(node.subgraphs(), [](const auto& graph) { return std::ranges::any_of(graph->nodes(), jumps); });
}

bool depends_on_choice(const Value& output) {
  return std::ranges::any_of(needed_nodes({&output}), [](const Node* node) { return jumps(*node); });
}

}  // namespace relayout
