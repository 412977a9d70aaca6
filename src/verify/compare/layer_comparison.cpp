// Judges B node by node: each is fed A's values and compared with its own floor.
#include <cmath>

#include "model/node.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/verify.h"
#include "verify/compare/compare_nodes.h"
#include "verify/compare/datum_pair.h"
#include "verify/compare/fed_runs.h"
#include "verify/compare/fed_values.h"
#include "verify/compare/layers.h"
#include "verify/compare/pairing.h"
#include "verify/compare/quantizer_steps.h"
#include "verify/run/bounds.h"
#include "verify/thresholds.h"

namespace relayout {
namespace {

/// Feeds a's operands to nodes whose results jump and differ, as rounding upstream may be the reason. Whether there are any.
bool feed_before_flips(Layers& layers) {
  bool found_any = false;
  for (const Layer& layer : layers.all()) {
    if (!layer.differs() || !has_trait(*layer.b->producer(), Trait::jumps)) continue;
    for (const Value* input : layer.b->producer()->inputs()) {
      // A Cast of b's own stands between where b computes in 16 bits.
      while (input != nullptr && layers.of_b(*input) == nullptr && input->producer() != nullptr && input->producer()->is("Cast")) {
        input = input->producer()->input(0);
      }
      Layer* const upstream = input == nullptr ? nullptr : layers.of_b(*input);
      if (upstream == nullptr || !upstream->before_jump) continue;
      upstream->before_jump = false;
      found_any = true;
    }
  }
  return found_any;
}

/// Compares b's nodes again over all draws of a full floor.
void compare_again(FedRuns& runs) {
  runs.measure_floors(0, thresholds::kNoiseDraws);
  runs.feed_candidate();
}

/// Handles masks that the models write as different large numbers: their readers, up to the Softmaxes, continue from b's own values, and
/// the Softmaxes decide.
void compare_downstream_of_masks(FedRuns& runs, Layers& layers) {
  bool found_any = false;
  for (Layer& layer : layers.all()) {
    if (layer.other_structure || !layer.compared || (!layer.differs() && !found_any)) continue;
    const auto is_mask = [&](std::size_t upstream) { return layers.all()[upstream].mask; };
    const bool is_downstream = found_any && std::ranges::any_of(layers.upstream(layer), is_mask);
    if ((!is_downstream && !layer.candidate) || !ends_in_softmax(*layer.a) || !ends_in_softmax(*layer.b)) continue;
    layer.mask = is_downstream || runs.kept().differs_in(layer, differs_by_masks);
    found_any = found_any || layer.mask;
  }
  if (!found_any) return;
  runs.reset();
  compare_again(runs);
}

/// Compares again without feeding a's values where b's have a different structure. The readers compute results of the same structure from
/// b's own values, and their floors cover the nodes up to there.
void compare_downstream_of_other_structures(FedRuns& runs, Layers& layers) {
  for (Layer& layer : layers.all()) layer.apart = layer.apart || layer.other_structure;
  runs.capture();
  compare_again(runs);
}

/// Compares again with a's operands fed to every node that jumps. Elements that were on the neighbouring step are right then, and are
/// counted as flips.
void compare_before_jumps(FedRuns& runs, Layers& layers) {
  std::vector<int64_t> mismatches;
  for (const Layer& layer : layers.all()) mismatches.push_back(layer.differs() ? layer.metrics.mismatches : 0);
  runs.reset();
  compare_again(runs);
  for (std::size_t i = 0; i < mismatches.size(); ++i) {
    Layer& layer = layers.all()[i];
    if (!layer.differs()) layer.flips = mismatches[i];
  }
}

/// Whether a layer's elements are NaN or infinite in both models or in none.
bool is_finite_alike(const Layer& layer) {
  return layer.metrics.non_finite.unequal() == 0;
}

/// Whether more draws may still show that a difference is rounding.
bool is_in_doubt(const Layer& layer) {
  return layer.candidate && layer.differs() && is_measured(layer.type) && is_near_bound(layer.metrics);
}

void look_closer(FedRuns& runs, Layers& layers) {
  if (std::ranges::none_of(layers.all(), is_in_doubt)) return;
  runs.measure_floors(thresholds::kNoiseDraws, thresholds::kMoreDraws);
  for (int draw = 0; draw < thresholds::kNoiseDraws; ++draw) runs.widen_by_candidate(draw);
  for (Layer& layer : layers.all()) {
    if (is_in_doubt(layer)) runs.decide(layer);
  }
}

/// Whether the first draws do not decide about a layer.
bool wants_all_draws(const LayerTask& task, const Layer& layer) {
  if (!layer.compared || layer.other_structure || !is_measured(layer.type)) return false;
  return needs_full_floor(layer.metrics) || !is_healthy(task.type_of_floor(layer.type), layer.floor);
}

/// Compares b's nodes over the first draws, and over all draws if those leave a layer undecided.
void compare_fed(const LayerTask& task, FedRuns& runs, Layers& layers) {
  runs.measure_floors(0, thresholds::kFirstDraws);
  runs.feed_candidate();
  if (std::ranges::none_of(layers.all(), [&](const Layer& layer) { return wants_all_draws(task, layer); })) return;
  runs.measure_floors(thresholds::kFirstDraws, thresholds::kNoiseDraws - thresholds::kFirstDraws);
  for (Layer& layer : layers.all()) {
    if (!(layer.metrics.bound.max > 0)) continue;
    runs.decide(layer);
    if (!layer.differs()) layer.candidate.reset();
  }
}

/// Layers that differ, each with the different ones downstream of it, and the equal ones between them that a factor passes.
struct Followers {
  std::map<std::size_t, std::set<std::size_t>> of;  ///< by layer: those downstream of it
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> between;
};

/// Whether a factor may be moved past a node: it moves elements, or adds what may be 0.
bool passes_factors(const Node& node) {
  return traits_of(node).moves_input(0) || has_trait(node, Trait::affine);
}

/// Whether a layer that does not differ may be another value under its name all the same: the files show its nodes to be different.
bool may_be_another(const Layers& layers, const Layer& layer, const Suspects* suspects) {
  const bool is_off = layer.compared && !layer.differs() && layer.metrics.rms_error > 0 && !layer.b->is_output();
  return is_off && suspects != nullptr && !suspects->of(layers.region_in_b(layer)).empty();
}

Followers find_followers(const Layers& layers, const Suspects* suspects) {
  Followers followers;
  const std::vector<Layer>& all = layers.all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].differs() && !(all[i].metrics.rms_error > 0)) continue;
    for (std::size_t before : layers.upstream(all[i])) {
      if (all[i].differs() && may_be_another(layers, all[before], suspects)) followers.of[before].insert(i);
      std::vector<std::size_t> moved;
      while (!all[before].differs() && passes_factors(*all[before].b->producer())) {
        std::vector<std::size_t> upstream = layers.upstream(all[before]);
        std::erase_if(upstream, [&](std::size_t other) { return !all[other].compared || !is_measured(all[other].type); });
        if (upstream.size() != 1) break;
        moved.push_back(before);
        before = upstream.front();
      }
      if (!all[before].differs() || all[before].b->is_output()) continue;
      followers.of[before].insert(i);
      followers.between.insert_or_assign({before, i}, std::move(moved));
    }
  }
  return followers;
}

/// Layers that may be other values under old names, each reading one of the others, and the layers that read the last of them.
struct Chain {
  std::set<std::size_t> values, readers;
};

/// Chains of one layer each, in the order of the nodes; none begins within another, but layers after that may begin one again.
std::vector<Chain> first_chains(const Followers& followers) {
  std::vector<Chain> out;
  std::set<std::size_t> later;
  for (const auto& [first, readers] : followers.of) {
    if (later.contains(first)) continue;
    later.insert(readers.begin(), readers.end());
    out.push_back({{first}, readers});
  }
  return out;
}

/// Whether a reader of a chain, compared as b computes it from its own values of the chain, shows that these are other values under old
/// names: it is right and has a smaller error, or still differs with a much smaller one. `fed`: as fed a's values.
bool takes_others(const Layer& fed, const Layer& own) {
  const auto error_of = [](const SampleMetrics& of) { return of.mismatches > 0 ? static_cast<double>(of.mismatches) : of.rms_error; };
  const double before = error_of(fed.metrics), after = error_of(own.metrics);
  if (own.compared && !own.differs() && !is_finite_alike(fed)) return true;
  return own.compared && after < before && (!own.differs() || after < thresholds::kOtherThingErrorShare * before);
}

/// A name may denote a different value in b, such as a convolution whose bias is now a separate node. Its readers then get worse results
/// from a's value than from b's own. So where one different layer follows another, b runs again with its own value of the first. A reader
/// that shows another value acquits it, and itself if it is right; else it is wrong on its own. A reader that shows nothing may be another
/// value itself, as the next one after a factor that was moved, and so may one that is only nearer: its readers are asked in another round.
/// `feeds_others`: nodes are fed other values than a computes.
void confirm(FedRuns& runs, Layers& layers, const Suspects* suspects, bool feeds_others) {
  constexpr int kMostRounds = 4;
  const Followers followers = find_followers(layers, suspects);
  std::vector<Chain> chains = first_chains(followers);
  std::vector<Layer>& all = layers.all();
  const std::vector<Layer> fed = all;
  std::vector<Layer> found = all;
  for (int round = 0; round < kMostRounds && !chains.empty(); ++round) {
    all = found;
    const auto set_apart = [&] {
      for (const auto& [ends, between] : followers.between) {
        for (const std::size_t i : between) all[i].apart = true;
      }
      for (const Chain& chain : chains) {
        for (const std::size_t i : chain.values) all[i].apart = true;
      }
    };
    if (feeds_others) {
      set_apart();
      runs.capture();
    } else {
      runs.reset();
    }
    set_apart();
    compare_again(runs);
    look_closer(runs, layers);
    std::map<std::size_t, Chain> longer;  // by the last value, at which chains meet
    for (const Chain& chain : chains) {
      for (const std::size_t reader : chain.readers) {
        const auto next = followers.of.find(reader);
        if (takes_others(fed[reader], all[reader])) {
          for (const std::size_t i : chain.values) {
            found[i].acquit();
            found[i].renamed = true;
          }
          for (const auto& [ends, between] : followers.between) {
            if (!chain.values.contains(ends.first) || (ends.second != reader && !chain.values.contains(ends.second))) continue;
            for (const std::size_t i : between) found[i].renamed = true;
          }
          found[reader].metrics = all[reader].metrics;
          found[reader].floor = all[reader].floor;
          if (!all[reader].differs()) found[reader].acquit();
        }
        if (all[reader].differs() && next != followers.of.end()) {
          Chain& one = longer[reader];
          one.values.insert(chain.values.begin(), chain.values.end());
          one.values.insert(reader);
          one.readers = next->second;
        }
      }
    }
    chains.clear();
    for (auto& [last, chain] : longer) chains.push_back(std::move(chain));
  }
  all = std::move(found);
}

bool is_constant(const Layer& layer) {
  return layer.yardstick.is_constant() && layer.yardstick.count() > 1;
}

/// The nodes that decide about a value: all nodes downstream, or only those up to the next fed values, past which it has no effect.
enum class Reach { all, up_to_fed };

/// Layers that have readers and no wrong node downstream. If every node downstream computes a's results from a's values, the value has the
/// same meaning in both models, however different its elements are. (A different order of elements, or a different value under an old
/// name, shows in a node downstream, unless the result of that node is constant.)
std::vector<bool> with_right_readers(const Layers& layers, Reach reach) {
  const std::vector<Layer>& all = layers.all();
  std::vector<bool> read(all.size(), false), wrong(all.size(), false), right(all.size(), false);
  for (std::size_t i = all.size(); i-- > 0;) {
    if (!all[i].compared) continue;
    const bool by_readers = all[i].is_judged_by_readers();
    const bool bad = ((by_readers || reach == Reach::all) && wrong[i]) || (by_readers ? !read[i] : all[i].differs());
    for (const std::size_t upstream : layers.upstream(all[i])) {
      read[upstream] = read[upstream] || !is_constant(all[i]);
      wrong[upstream] = wrong[upstream] || bad;
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) right[i] = read[i] && !wrong[i];
  return right;
}

/// Whether a value that differs has the elements of a's in another order: readers that are right do not mind it.
bool is_reordered(const LayerValues& kept, const Layer& layer) {
  constexpr int64_t kMost = int64_t{1} << 22;
  const bool is_known = layer.differs() && layer.candidate && layer.reference && layer.yardstick.count() <= kMost;
  if (!is_known || !is_measured(layer.type)) return false;
  const Datum a = kept.reference(layer), b = kept.candidate(layer);
  if (!a.tensor || !b.tensor || a.tensor.dims() != b.tensor.dims() || !kRealTypes.has(b.tensor.type())) return false;
  std::vector<double> of_a = reals_of(a.tensor), of_b = reals_of(b.tensor);
  for (std::vector<double>* const numbers : {&of_a, &of_b}) {
    if (std::ranges::any_of(*numbers, [](double number) { return std::isnan(number); })) return false;
    std::ranges::sort(*numbers);
  }
  const double bound = layer.metrics.bound.max * layer.yardstick.range();
  return std::ranges::equal(of_a, of_b, [&](double x, double y) { return std::fabs(x - y) <= bound; });
}

void name_node(LayerResult& result, const Node& node) {
  result.node = reported_name(node);
  result.op_type = node.op_type();
}

/// Report of a layer.
LayerResult describe(const Layer& layer, int sample) {
  LayerResult result;
  result.sample = sample;
  name_node(result, *layer.b->producer());
  result.tensor = layer.b->name();
  result.reference = layer.a->name();
  result.by_structure = layer.by_structure;
  result.type = layer.type;
  result.dims = layer.reference->dims;
  result.constant = is_constant(layer);
  result.other_structure = layer.other_structure || layer.flat;
  result.mask = layer.mask;
  result.error = layer.metrics.max_error;
  result.rms = layer.metrics.rms_error;
  result.floor = layer.floor;
  result.bound = layer.metrics.bound.max;
  result.ratio = layer.metrics.ratio;
  result.finite = is_finite_alike(layer);
  result.outcome = layer.metrics.outcome;
  result.reason = layer.metrics.reason;
  result.flips = layer.flips;
  result.depth = layer.depth;
  return result;
}

/// The node to report among several that compute a value together: the last linear operator that the files show to be different, else the
/// last such affine, because a fold changes both; nullptr if there is neither.
const Node* guilty_of(const std::vector<const Node*>& nodes, const Suspects& suspects) {
  const Node* const product = suspects.last_of(nodes, [](const Node& node) { return has_trait(node, Trait::multiplies); });
  return product != nullptr ? product : suspects.last_of(nodes, [](const Node& node) { return has_trait(node, Trait::affine); });
}

/// The parts of a result that other layers decide.
void place(LayerResult& result, const Layer& layer, const Layers& layers, bool trusted, const Suspects* suspects) {
  const auto region = layers.region_in_a(layer);
  if (suspects != nullptr) {
    auto nodes = layers.region_in_b(layer);
    result.proof.products = std::ranges::count_if(nodes, [](const Node* node) { return has_trait(*node, Trait::multiplies); });
    if (const Node* const guilty = guilty_of(nodes, *suspects)) name_node(result, *guilty);
    result.proof.unreached = suspects->are_unreached(nodes);
    nodes.insert(nodes.end(), region.begin(), region.end());
    result.proof.unexplained = suspects->of(nodes);
    // Of other dims, it is another value under the name, for which its readers stand.
    if (!layer.other_structure) result.proof.misread = misread_entries(layers, layer, *suspects);
  }
  if (!layer.differs()) return;
  result.correlation = trusted ? 1 : layer.correlation;
  for (const std::size_t before : layers.upstream(layer)) {
    // Elements in other dims have no known correlation; their readers decide.
    if (!layers.all()[before].other_structure) result.correlation = std::min(result.correlation, layers.all()[before].correlation);
  }
  for (const Node* const part : region) result.replaces.push_back(part->label());
  // A single node with the same operator replaces nothing.
  if (region.size() == 1 && region.front()->op_type() == layer.b->producer()->op_type()) result.replaces.clear();
}

/// Whether a difference is near the bound in so few elements that all draws may agree by chance.
bool differs_by_chance(const Layer& layer) {
  return layer.candidate && layer.yardstick.count() < thresholds::kFewestElements && is_measured(layer.type) && is_finite_alike(layer) &&
         layer.metrics.max_error < thresholds::kBoundsForFewElements * layer.metrics.bound.max;
}

/// If most elements saturate, only few show the rounding of the sums upstream, and the draws may miss it. The floor of those sums counts
/// then.
void widen_through_contraction(Layer& layer, Layers& layers) {
  const Node* const node = layer.a->producer();
  if (node == nullptr || !has_trait(*node, Trait::contracts) || node->input(0) == nullptr) return;
  Layer* const upstream = layers.of_a(*node->input(0));
  if (upstream == nullptr || !upstream->reference || !upstream->apart) return;
  widen_through_contraction(*upstream, layers);
  widen(layer.floor, {upstream->floor.max * upstream->yardstick.range() / layer.yardstick.range(),
                      upstream->floor.rms * upstream->yardstick.sigma() / layer.yardstick.sigma()});
}

Layers layers_of(const LayerTask& task) {
  return task.layers != nullptr ? *task.layers : Layers(task.a->model->graph(), task.b->model->graph());
}

}  // namespace

std::vector<LayerResult> compare_layers(const LayerTask& task, const Suspects* suspects) {
  Layers layers = layers_of(task);
  // Samples of equal numbers or NaN are fed to the nodes that decide by them, too.
  for (Layer& layer : layers.all()) layer.before_jump = layer.apart = layer.before_jump && !is_edge(task.feeding);
  FedRuns runs(task, layers);
  runs.capture();
  compare_fed(task, runs, layers);
  const auto has_other_structure = [](const Layer& layer) { return layer.other_structure; };
  if (std::ranges::any_of(layers.all(), has_other_structure)) compare_downstream_of_other_structures(runs, layers);
  compare_downstream_of_masks(runs, layers);
  if (feed_before_flips(layers)) compare_before_jumps(runs, layers);
  explain_steps(task, runs, layers);
  look_closer(runs, layers);
  confirm(runs, layers, suspects, task.feeding == Feeding::shaken || is_free(task.feeding) || is_edge(task.feeding));
  const auto differs = [](const Layer& layer) { return layer.differs(); };
  const bool by_depth = task.feeding == Feeding::by_depth;
  if (by_depth || (task.feeding == Feeding::exact && std::ranges::any_of(layers.all(), differs))) runs.run_unfed(by_depth);
  for (Layer& layer : layers.all()) layer.unseen = !layer.compared;
  const std::vector<bool> right_downstream = with_right_readers(layers, Reach::all);
  const std::vector<bool> right_readers = with_right_readers(layers, Reach::up_to_fed);
  std::vector<LayerResult> results;
  for (std::size_t i = 0; i < layers.all().size(); ++i) {
    Layer& layer = layers.all()[i];
    if (!layer.compared || layer.renamed) continue;
    // For the same elements in other dims, or a mask, right readers decide, because they continued from b's value. Callers read outputs.
    const bool are_readers_enough = layer.is_judged_by_readers() && !layer.b->is_output();
    if (differs_by_chance(layer) || (are_readers_enough && right_readers[i])) layer.acquit();
    const bool trusted = right_downstream[i] && layer.metrics.bound.max > 0 && !is_reordered(runs.kept(), layer);
    place(results.emplace_back(describe(layer, task.sample)), layer, layers, trusted, suspects);
  }
  return results;
}

std::optional<std::vector<LayerResult>> compare_open_layers(const LayerTask& task, const Suspects& suspects) {
  Layers layers = layers_of(task);
  const auto known_a = values_known_by_dims(task.a->model->graph()), known_b = values_known_by_dims(task.b->model->graph());
  for (Layer& layer : layers.all()) {
    layer.apart = layer.before_jump;
    layer.unseen = known_a.contains(layer.a) || known_b.contains(layer.b);
  }
  const std::optional<Excerpt> excerpt = Excerpt::of(layers, suspects);
  if (!excerpt) return std::nullopt;
  FedRuns runs(task, layers, &*excerpt);
  runs.capture();
  compare_fed(task, runs, layers);
  if (runs.has_misfed()) return std::nullopt;
  std::vector<LayerResult> results;
  for (const std::size_t i : excerpt->requested()) {
    const Layer& layer = layers.all()[i];
    if (!layer.compared || layer.differs() || layer.flat || layer.other_structure) return std::nullopt;
    place(results.emplace_back(describe(layer, task.sample)), layer, layers, false, &suspects);
  }
  return results;
}

std::vector<LayerResult> compare_modes(const LayerTask& task, Mode mode) {
  Layers layers(task.a->model->graph(), task.b->model->graph());
  for (Layer& layer : layers.all()) layer.before_jump = layer.apart = false;
  FedRuns runs(task, layers);
  runs.capture();
  runs.feed_candidate(mode);
  for (Layer& layer : layers.all()) layer.apart = !layer.compared;
  runs.measure_floors(0, thresholds::kNoiseDraws);
  std::vector<LayerResult> results;
  for (Layer& layer : layers.all()) {
    if (!layer.compared) continue;
    widen_through_contraction(layer, layers);
    if (layer.metrics.bound.max > 0) runs.decide(layer);
    results.push_back(describe(layer, task.sample));
  }
  return results;
}

}  // namespace relayout
