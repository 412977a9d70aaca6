// Computes the facts that rules ask for, each when first asked for, and keeps them.
#include "verify/evidence.h"

#include "base/numbers.h"
#include "base/text.h"
#include "model/node.h"
#include "model/walk.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/changes.h"
#include "verify/compare/compare_nodes.h"
#include "verify/compare/fed_values.h"
#include "verify/compare/guarded_ways.h"
#include "verify/compare/layers.h"
#include "verify/compare/pairing.h"
#include "verify/compare/tried_pieces.h"
#include "verify/finding.h"
#include "verify/inputs/port.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/candidate.h"
#include "verify/run/floors.h"
#include "verify/run/reference.h"
#include "verify/run/session.h"
#include "verify/thresholds.h"

namespace relayout {
namespace {

std::vector<std::string> output_names(const Pair& pair) {
  std::vector<std::string> names;
  for (const Port& port : pair.b.outputs) names.push_back(port.name);
  return names;
}

/// Feedings that try pieces of changed operators, in this order.
constexpr auto kTrying = std::to_array<Feeding>({Feeding::near, Feeding::middle, Feeding::far, Feeding::negative, Feeding::positive});

bool layer_differs(const LayerResult& layer) {
  return layer.outcome == Outcome::different;
}

/// How many elements rounding moves across a boundary to the neighbouring step, and the node with most of them; empty: none.
std::string flips_of(int sample, const std::vector<LayerResult>& layers) {
  int64_t flips = 0;
  const LayerResult* most = nullptr;
  for (const LayerResult& layer : layers) {
    flips += layer.flips;
    if (layer.flips > 0 && (most == nullptr || layer.flips > most->flips)) most = &layer;
  }
  if (most == nullptr) return {};
  return "sample " + std::to_string(sample) + ": " + counted(flips, "element falls", "elements fall") +
         " to the neighbouring step by rounding, most of " + quote(most->node) + " (" + escape(most->op_type) + ")";
}

bool has_nested_graphs(const Model& model) {
  bool found = false;
  for_each_node(model, [&](const Node& node) { found = found || &node.graph() != &model.graph(); });
  return found;
}

std::vector<OutputPlace> differing_places(const Candidate& candidate, std::size_t samples) {
  std::vector<OutputPlace> out;
  for (std::size_t s = 0; s < samples; ++s) {
    for (std::size_t i = 0; i < candidate.outputs().size(); ++i) {
      const auto& figures = candidate.outputs()[i].figures;
      if (s < figures.size() && figures[s].outcome == Outcome::different) out.push_back({i, s});
    }
  }
  return out;
}

/// The node at which the way to a value jumps: the nearest one upstream among values that were not compared as numbers, or the value's own
/// producer. `seen`: values that lead to none.
const Node* jump_before(const Value& value, const std::vector<LayerResult>& layers, std::unordered_set<const Value*>& seen) {
  const Node* const made_by = value.producer();
  if (made_by == nullptr) return nullptr;
  for (const Value* const operand : made_by->inputs()) {
    const auto is_compared = [&](const LayerResult& layer) { return layer.tensor == operand->name() && is_measured(layer.type); };
    const bool ends = operand == nullptr || !seen.insert(operand).second || std::ranges::any_of(layers, is_compared);
    const Node* const before = ends ? nullptr : jump_before(*operand, layers, seen);
    if (before != nullptr) return before;
  }
  return jumps(*made_by) ? made_by : nullptr;
}

/// " (first 'topk' (TopK), where B is 2.0e-01 of the range of 'scores' away)": the first jump where both models run on their own values;
/// empty: it is not known.
std::string choice_among(const std::vector<LayerResult>& layers, const Graph& b) {
  for (const LayerResult& layer : layers) {
    const Value* const made = b.find(layer.tensor);
    if (made == nullptr || !layer.depth.error || !(*layer.depth.error > layer.bound)) continue;
    std::unordered_set<const Value*> seen;
    const Node* const jump = jump_before(*made, layers, seen);
    if (jump == nullptr) continue;
    return " (first " + quote(reported_name(*jump)) + " (" + escape(jump->op_type()) + "), where B is " + scientific(*layer.depth.error) +
           " of the range of " + quote(layer.tensor) + " away)";
  }
  return {};
}

}  // namespace

std::string place_of(const Pair& pair, const Reference& reference, std::size_t output, std::size_t sample) {
  return "output " + quote(pair.a.outputs[output].name) + ", sample " + std::to_string(reference.samples()[sample].number);
}

NamedNodes::NamedNodes(const Model& model) {
  for_each_node(model, [&](const Node& node) {
    if (!node.name().empty()) nodes_[node.name()].push_back(&node);
    const Value* const output = first_output(node);
    if (output != nullptr && output->name() != node.name()) nodes_[output->name()].push_back(&node);
  });
}

std::span<const Node* const> NamedNodes::of(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? std::span<const Node* const>() : found->second;
}

Evidence::Evidence(const Pair& pair, const Reference& reference, const Floors& floors, const Candidate& candidate,
                   const VerifyResult& measured)
    : pair_(&pair),
      reference_(&reference),
      floors_(&floors),
      candidate_(&candidate),
      measured_(&measured),
      is_varied_(!reference.inputs().all_from_files() && !pair.a.model->graph().inputs().empty() && reference.samples().size() > 1) {}

// --- outputs ------------------------------------------------------------------------------------------------------------------------

const std::vector<LayerResult>& Evidence::layers_by_depth(std::size_t sample) {
  const auto found = layers_by_depth_.find(sample);
  if (found != layers_by_depth_.end()) return found->second;
  return layers_by_depth_.emplace(sample, compare_nodes(*pair_, *reference_, sample, paired(), Feeding::by_depth)).first->second;
}

std::vector<LayerResult> Evidence::layers_over(std::size_t sample, bool by_depth) {
  const bool is_known = by_depth || layers_by_depth_.contains(sample);
  return is_known ? layers_by_depth(sample) : compare_nodes(*pair_, *reference_, sample, paired(), Feeding::exact);
}

bool Evidence::agrees_by_node(const std::vector<LayerResult>& layers) const {
  return std::ranges::none_of(layers, layer_differs) && has_all(layers, output_names(*pair_));
}

std::optional<std::map<std::size_t, std::string>> Evidence::choices_of(const std::vector<std::size_t>& differing) {
  std::vector<std::size_t> samples = differing;
  // Where differing samples say nothing about a node, another sample has to.
  for (std::size_t s = 0; s < reference_->samples().size() && samples.size() < differing.size() + thresholds::kLayerSamples; ++s) {
    if (std::ranges::find(samples, s) == samples.end()) samples.push_back(s);
  }
  std::map<std::size_t, std::string> choices;
  std::set<std::string> vague;  // in all samples so far
  for (std::size_t k = 0; k < samples.size() && (k < differing.size() || !vague.empty()); ++k) {
    const bool has_choice = k < differing.size();
    const auto layers = layers_over(samples[k], has_choice);
    if (!agrees_by_node(layers)) return std::nullopt;
    if (has_choice) choices.emplace(samples[k], choice_among(layers, pair_->b.model->graph()));
    const std::set<std::string> here = find_vague(layers);
    if (k == 0) vague = here;
    std::erase_if(vague, [&](const std::string& tensor) { return !here.contains(tensor); });
  }
  if (!vague.empty()) return std::nullopt;
  return choices;
}

bool Evidence::agrees_in_double() {
  if (agrees_in_double_) return *agrees_in_double_;
  agrees_in_double_ = false;
  const auto is_small = [](const Sample& sample) { return sample.macs <= thresholds::kReferenceMacs; };
  if (!std::ranges::all_of(reference_->samples(), is_small)) return false;
  Candidate exact(*pair_, *reference_, *floors_, Mode::reference);
  exact.run(reference_->samples().size());
  agrees_in_double_ = exact.agrees_wholly();
  return *agrees_in_double_;
}

bool Evidence::is_order_of_sums(const Candidate& candidate) {
  const auto is_near = [&](const OutputPlace& place) {
    const SampleMetrics& metrics = candidate.outputs()[place.output].figures[place.sample];
    return metrics.non_finite.unequal() == 0 && metrics.bound.max > 0 && metrics.ratio <= thresholds::kReferenceFloors &&
           metrics.rms_error <= thresholds::kReferenceFloors * metrics.floor.rms;
  };
  const std::vector<OutputPlace> places = differing_places(candidate, reference_->samples().size());
  return pair_->proved && !places.empty() && std::ranges::all_of(places, is_near) && agrees_in_double();
}

bool Evidence::may_jump(const OutputPlace& place) const {
  const CandidateOutput& output = candidate_->outputs()[place.output];
  // Choices exchange numbers; they do not give a value other dims or another type.
  return !output.figures[place.sample].other_structure && output.contradiction.empty() &&
         depends_on_choice(*pair_->b.model->graph().outputs()[*output.place]);
}

bool Evidence::is_own_rounding(const OutputPlace& place) {
  const auto& [i, s] = place;
  const CandidateOutput& output = candidate_->outputs()[i];
  const SampleMetrics& measured = output.figures[s];
  if (measured.other_structure || !output.contradiction.empty() || !(measured.bound.max > 0) ||
      measured.max_error > thresholds::kLargestOwnRounding)
    return false;
  const DataType type = pair_->type_of_floor(reference_->outputs().summary(i).type());
  auto found = own_rounding_.find(s);
  if (found == own_rounding_.end()) found = own_rounding_.emplace(s, OwnRounding(*pair_, *reference_, s)).first;
  for (int draws = 1; draws <= thresholds::kNoiseDraws; ++draws) {
    SampleMetrics metrics = measured;
    Floor floor = metrics.floor;
    widen(floor, found->second.floors(draws)[i]);
    judge_numbers(metrics, type, floor);
    const auto agrees = [](const SampleMetrics& other) { return other.outcome == Outcome::same && !other.ill_conditioned; };
    if (metrics.outcome == Outcome::same) return !metrics.ill_conditioned || std::ranges::any_of(output.figures, agrees);
    if (metrics.ratio > thresholds::kHopelessRatio) break;
  }
  return false;
}

const VerifyFindings& Evidence::acquittals() {
  if (acquittals_) return *acquittals_;
  acquittals_.emplace();
  std::vector<OutputPlace> by_choice;
  const auto acquit = [&](const OutputPlace& place, std::string_view name, const std::string& why) {
    acquittals_->push_back({.severity = Severity::acquittal,
                            .name = name,
                            .text = place_of(*pair_, *reference_, place.output, place.sample) + ": B is " +
                                    scientific(candidate_->outputs()[place.output].figures[place.sample].max_error) + " of the range away" +
                                    why,
                            .output = place.output,
                            .sample = place.sample});
  };
  if (!candidate_->rejection().empty()) return *acquittals_;
  const std::vector<OutputPlace> places = differing_places(*candidate_, reference_->samples().size());
  const bool is_by_order = is_order_of_sums(*candidate_);
  for (const OutputPlace& place : places) {
    if (is_by_order || (pair_->narrow == DataType::undefined && is_own_rounding(place))) {
      acquit(place, "own-rounding", kOwnRounding);
    } else if (may_jump(place) && agrees_by_node(layers_by_depth(place.sample))) {
      by_choice.push_back(place);
    } else {
      acquittals_->clear();
      return *acquittals_;
    }
  }
  std::vector<std::size_t> samples;
  for (const OutputPlace& place : by_choice) {
    if (samples.empty() || samples.back() != place.sample) samples.push_back(place.sample);
  }
  const auto choices = choices_of(samples);
  if (!choices) {
    acquittals_->clear();
    return *acquittals_;
  }
  for (const OutputPlace& place : by_choice) acquit(place, "choice", kChoice + choices->at(place.sample));
  return *acquittals_;
}

bool Evidence::outputs_differ() {
  if (!candidate_->rejection().empty()) return true;
  const auto contradicts = [](const CandidateOutput& output) { return !output.contradiction.empty(); };
  if (std::ranges::any_of(candidate_->outputs(), contradicts)) return true;
  return !differing_places(*candidate_, reference_->samples().size()).empty() && acquittals().empty();
}

bool Evidence::has_same_interface() const {
  return std::ranges::all_of(measured_->interface, [](const InterfaceDifference& difference) { return difference.remark; });
}

std::optional<std::string> Evidence::inconclusive(std::size_t output) const {
  std::optional<std::string> why = pair_->proved ? std::nullopt : reference_->outputs().summary(output).inconclusive(is_varied_);
  return why && is_out_of_reach(output) ? std::nullopt : why;
}

/// Whether no input reaches an output in either model, so that one sample shows all of it. A model whose inputs reach none is not tested.
bool Evidence::is_out_of_reach(std::size_t output) const {
  const auto is_it = [](const Value* value) { return relayout::is_out_of_reach(*value); };
  const auto place = candidate_->outputs()[output].place;
  const auto of_a = pair_->a.model->graph().outputs(), of_b = pair_->b.model->graph().outputs();
  return place && is_it(of_a[output]) && is_it(of_b[*place]) && !std::ranges::all_of(of_a, is_it);
}

bool Evidence::shows_nothing(std::size_t output) const {
  const auto is_ill = [](const SampleMetrics& metrics) { return metrics.ill_conditioned; };
  return inconclusive(output).has_value() || std::ranges::all_of(candidate_->outputs()[output].figures, is_ill);
}

// --- nodes --------------------------------------------------------------------------------------------------------------------------

void Evidence::compare_samples(ComparedNodes& nodes) {
  const VerifyOptions& options = *pair_->options;
  const bool is_judged = proof() != nullptr && !pair_->proved && !options.outputs_only;
  if (!is_judged && !options.layers) return;
  nodes.vouch = is_judged;
  bool all = options.layers;
  for (std::size_t i = 0; i < reference_->outputs().count(); ++i) all = all || shows_nothing(i);
  const std::size_t samples = std::min<std::size_t>(is_judged ? thresholds::kLayerSamples : 1, reference_->samples().size());
  for (std::size_t s = 0; s < samples; ++s) {
    if (s > 0 && !pair_->steps->affords("nodes over the second sample", thresholds::kRunsByNode)) break;
    const bool is_listed = options.layers && s == 0;
    std::vector<LayerResult> layers =
        is_judged && !all ? compare_open_nodes(*pair_, *reference_, s, paired(), Feeding::exact) : layers_over(s, is_listed);
    nodes.vouch = nodes.vouch && covers(layers, output_names(*pair_)) && std::ranges::none_of(layers, layer_differs);
    if (std::string flips = flips_of(reference_->samples()[s].number, layers); !flips.empty()) nodes.remarks.push_back(std::move(flips));
    if (is_judged) check_unexplained(nodes.checks, layers, *proof());
    for (LayerResult& layer : layers) {
      const bool is_guilty = is_judged && convicts(layer);
      const auto is_named = [&](const std::vector<LayerResult>& among) {
        return std::ranges::find(among, layer.tensor, &LayerResult::tensor) != among.end();
      };
      if (is_guilty && !is_named(nodes.guilty)) nodes.guilty.push_back(layer);
      if (is_listed || (is_guilty && !is_named(nodes.layers))) nodes.layers.push_back(std::move(layer));
    }
  }
}

const ComparedNodes& Evidence::nodes() {
  if (!nodes_) compare_samples(nodes_.emplace());
  return *nodes_;
}

const UnexplainedCheck* Evidence::check_of(std::size_t entry) {
  const auto found = std::ranges::find(nodes().checks, entry, &UnexplainedCheck::entry);
  return found == nodes().checks.end() ? nullptr : &*found;
}

bool Evidence::is_acquitted(std::size_t entry) {
  const UnexplainedCheck* const check = check_of(entry);
  return check != nullptr && check->effect == UnexplainedCheck::Effect::expected;
}

bool Evidence::is_shown(std::size_t entry) {
  const UnexplainedCheck* const check = check_of(entry);
  return check != nullptr && check->effect != UnexplainedCheck::Effect::none;
}

const std::vector<LayerResult>& Evidence::fed(Feeding feeding) {
  if (const auto found = fed_.find(feeding); found != fed_.end()) return found->second;
  if (const auto* const tried = try_pieces(feeding)) return *tried;
  if (!pair_->steps->affords(step_of(feeding), thresholds::kRunsByNode)) return fed_[feeding];
  const bool is_of_open_nodes = feeding == Feeding::shaken || is_free(feeding);
  std::vector<LayerResult> layers;
  for (const std::size_t s : entering_samples()) {
    if (s > 0 && !pair_->steps->affords(step_of(feeding), thresholds::kRunsByNode)) break;
    std::ranges::move(is_of_open_nodes ? compare_open_nodes(*pair_, *reference_, s, paired(), feeding)
                                       : compare_nodes(*pair_, *reference_, s, paired(), feeding),
                      std::back_inserter(layers));
  }
  return fed_.emplace(feeding, std::move(layers)).first->second;
}

const std::vector<std::size_t>& Evidence::entering_samples() {
  if (!entering_.empty()) return entering_;
  entering_.push_back(0);
  if (pair_->proved || !has_nested_graphs(*pair_->b.model)) return entering_;
  observe();
  std::unordered_set<const Graph*> seen;
  for (std::size_t s = 0; s < reference_->samples().size(); ++s) {
    const std::size_t before = seen.size();
    for (const auto& [side, by_sample] : entered_) {
      if (s < by_sample.size()) seen.insert(by_sample[s].begin(), by_sample[s].end());
    }
    if (s > 0 && seen.size() > before) entering_.push_back(s);
  }
  return entering_;
}

const Layers& Evidence::layers() {
  if (!layers_) layers_.emplace(pair_->a.model->graph(), pair_->b.model->graph());
  return *layers_;
}

Paired Evidence::paired() {
  if (proof() != nullptr && !suspects_) suspects_.emplace(*proof(), pair_->a.model->graph(), pair_->b.model->graph());
  return {layers(), proof(), suspects_ ? &*suspects_ : nullptr};
}

const GuardedWays& Evidence::guarded_ways(const Side& side) {
  return guarded_ways_.try_emplace(&side, *side.model).first->second;
}

const NamedNodes& Evidence::named(const Side& side) {
  return named_.try_emplace(&side, *side.model).first->second;
}

const Changes& Evidence::changes() {
  if (!changes_) changes_.emplace(*pair_, paired());
  return *changes_;
}

// --- runs that are watched ----------------------------------------------------------------------------------------------------------

void Evidence::observe(const Side& side) {
  std::unordered_set<const Graph*> entered;
  const bool has_nested = has_nested_graphs(*side.model);
  ExecuteOptions options = pair_->execute_options(Mode::as_written);
  options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
    entered.insert(&node.graph());
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (node.output(k) != nullptr) trials_->watch(*node.output(k), outputs[k]);
    }
  };
  // Graphs whose nodes all compute from sizes have none that runs.
  if (has_nested) options.watch = [&](const Computed& computed) { entered.insert(computed.graph); };
  std::unique_ptr<Session> session;
  for (std::size_t s = 0; s < reference_->samples().size() && (has_nested || trials_->are_open()); ++s) {
    if (s > 0 && !pair_->steps->affords("samples watched", 1)) break;
    if (!session) session = pair_->open(side, options);
    pair_->steps->next("samples watched");
    trials_->start_run();
    const Inputs& inputs = reference_->inputs_of(s);
    for (const auto& [name, datum] : inputs) {
      if (const Value* const input = side.model->graph().find(name)) trials_->watch(*input, datum);
    }
    const bool has_run = session->run(inputs).rejected.empty();
    entered_[&side].push_back(has_run ? std::exchange(entered, {}) : std::unordered_set<const Graph*>());
    entered.clear();
    trials_->note_sizes(side, reference_->samples()[s].assignment.shapes);
    trials_->end_sample();
  }
}

void Evidence::observe() {
  if (trials_) return;
  trials_.emplace(*pair_, *reference_, changes());
  for (const Side* const side : {&pair_->a, &pair_->b}) observe(*side);
}

bool Evidence::enters(const Side& side, const Graph& graph) {
  observe();
  return std::ranges::any_of(entered_[&side], [&](const auto& of_sample) { return of_sample.contains(&graph); });
}

bool Evidence::misses_one_of(const Side& side, const Node& node) {
  return std::ranges::any_of(node.subgraphs(), [&](const auto& graph) { return !enters(side, *graph); });
}

const Trials& Evidence::tried() {
  observe();
  return *trials_;
}

/// Compares with values that try pieces if earlier ones have left some open; nullptr: none is, or these values try none. In 16 bits, sums
/// of numbers far from one would overflow.
const std::vector<LayerResult>* Evidence::try_pieces(Feeding feeding) {
  const auto at = std::ranges::find(kTrying, feeding);
  if (at == kTrying.end()) return nullptr;
  if (const auto found = fed_.find(feeding); found != fed_.end()) return open_before_.contains(feeding) ? &found->second : nullptr;
  observe();
  const bool is_far = feeding == Feeding::middle || feeding == Feeding::far;
  if (at != kTrying.begin()) (void)try_pieces(*(at - 1));
  if ((is_far && pair_->narrow != DataType::undefined) || trials_->find_open() == nullptr) return nullptr;
  if (!pair_->steps->affords(step_of(feeding), thresholds::kRunsByNode)) return nullptr;
  open_before_.emplace(feeding, trials_->open_by_change());
  std::vector<LayerResult> layers;
  for (const std::size_t s : entering_samples()) {
    if (s > 0 && (trials_->find_open() == nullptr || !pair_->steps->affords(step_of(feeding), thresholds::kRunsByNode))) break;
    trials_->start_run();
    auto of_sample = compare_nodes(*pair_, *reference_, s, paired(), feeding,
                                   [&](const Value& value, const Datum& datum) { trials_->watch(value, datum); });
    trials_->end_comparison(of_sample);
    std::ranges::move(of_sample, std::back_inserter(layers));
  }
  return &fed_.emplace(feeding, std::move(layers)).first->second;
}

std::vector<Evidence::Trying> Evidence::tryings() {
  std::vector<Trying> out;
  for (const Feeding feeding : kTrying) {
    if (const auto* const layers = try_pieces(feeding)) out.push_back({open_before_.at(feeding), layers});
  }
  return out;
}

// --- the report ---------------------------------------------------------------------------------------------------------------------

/// Lists the nodes that cause a difference of the outputs.
void Evidence::report_wrong_nodes(VerifyResult& result) {
  const auto sample = candidate_->first_different();
  if (!sample) return;
  const bool lists_all = pair_->options->layers;
  auto layers = layers_over(*sample, lists_all);
  // If an unexplained change accounts for the difference, nodes that differ without it compute other values under an old name.
  const auto is_touched = [](const LayerResult& layer) { return layer_differs(layer) && is_open(layer); };
  if (std::ranges::any_of(layers, is_touched)) {
    for (LayerResult& layer : layers) layer.outcome = is_touched(layer) ? Outcome::different : Outcome::same;
  }
  for (LayerResult& layer : layers) {
    if (lists_all || layer_differs(layer)) result.layers.push_back(std::move(layer));
  }
}

void Evidence::report(const VerifyFindings& findings, VerifyResult& result) {
  result.seconds_b += seconds_of_b_;
  if (outputs_differ()) return report_wrong_nodes(result);
  result.checks = nodes().checks;
  result.layers = nodes().layers;
  result.remarks.insert(result.remarks.end(), nodes().remarks.begin(), nodes().remarks.end());
  const auto shaken = fed_.find(Feeding::shaken);
  if (shaken == fed_.end()) return;
  std::vector<UnexplainedCheck> checks;
  for (const LayerResult& layer : shaken->second) {
    const auto is_about_it = [&](const VerifyFinding& finding) {
      return finding.severity == Severity::difference && finding.node == layer.node;
    };
    if (!convicts(layer) || std::ranges::none_of(findings, is_about_it)) continue;
    check_unexplained(checks, {layer}, *proof());
    result.layers.push_back(layer);
  }
  for (const UnexplainedCheck& check : checks) {
    const auto found = std::ranges::find(result.checks, check.entry, &UnexplainedCheck::entry);
    if (found != result.checks.end() && found->outcome == Outcome::same) *found = check;
  }
}

}  // namespace relayout
