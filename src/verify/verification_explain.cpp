#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/text.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/layers.h"
#include "verify/verification.h"

namespace relayout {
namespace {

/// Samples that 16-bit models are compared over node by node: of the usual size, and reaching far.
constexpr std::size_t kNarrowSamples = 2;
/// Values of one name in both files that correlate less than this are not the same thing.
constexpr double kSameThing = 0.9;

}  // namespace

std::vector<std::size_t> Verification::samples_for_layers(bool narrow) const {
  for (const OutputComparison& output : result_.outputs) {
    for (const SampleMetrics& metrics : output.samples) {
      if (metrics.outcome != Outcome::different) continue;
      const auto found = std::ranges::find(samples_, metrics.sample, &Sample::number);
      return {static_cast<std::size_t>(found - samples_.begin())};
    }
  }
  if (is_different() || (!narrow && !options_->layers)) return {};
  const std::size_t most = narrow ? kNarrowSamples : 1;
  std::vector<std::size_t> all;
  for (std::size_t s = 0; s < std::min(most, samples_.size()); ++s) all.push_back(s);
  return all;
}

void Verification::compare_layers() {
  const bool narrow = grain_ != DataType::undefined || narrow_floats(a_.model->graph()).values > 0;
  const std::vector<std::size_t> chosen = samples_for_layers(narrow);
  if (chosen.empty()) return;
  const bool hidden = !is_different();
  layer_runs_ = static_cast<int64_t>(chosen.size()) * LayerComparison::runs(options_->layers);
  LayerComparison layers(a_, b_, *options_, grain_, [this] { progress("node by node"); });
  for (const std::size_t s : chosen) {
    const bool all = options_->layers && s == chosen.front();
    for (LayerResult& layer : layers.run([&] { return inputs_of(samples_[s]); }, samples_[s].number, all)) {
      if (layer.outcome == Outcome::different) look_inside(layer);
      if (hidden && layer.outcome == Outcome::different) judge_hidden(layer);
      if (all || (layer.outcome == Outcome::different && s == chosen.front())) result_.layers.push_back(std::move(layer));
    }
  }
}

void Verification::look_inside(LayerResult& layer) const {
  const Value* const made = b_.model->graph().find(layer.tensor);
  if (made == nullptr || made->producer() == nullptr || !result_.proof) return;
  for (const auto& nested : made->producer()->subgraphs()) {
    for (const Unexplained& entry : result_.proof->unexplained) {
      const Value* const value = nested->find(entry.name);
      const bool by_value = value != nullptr && &value->graph() == nested.get();
      const auto is_it = [&](const Node& node) { return node.name() == entry.name; };
      if (entry.in_first || (!by_value && std::ranges::none_of(nested->nodes(), is_it))) continue;
      layer.reason += "; inside: " + entry.text;
      return;
    }
  }
}

void Verification::judge_hidden(LayerResult& layer) {
  const bool narrow = layer.type == DataType::float16 || layer.type == DataType::bfloat16 ||
                      (grain_ != DataType::undefined && layer.type == DataType::float32);
  if (!narrow || layer.by_structure || !(layer.correlation >= kSameThing)) {
    if (!options_->layers) layer.outcome = Outcome::same;
    return;
  }
  if (result_.outcome == Outcome::different) return;
  result_.outcome = Outcome::different;
  result_.reason = "node " + quote(layer.node) + " (" + escape(layer.op_type) +
                   "): given a's values, it makes others than a; at the outputs that drowns in the floor of 16-bit numbers";
}

bool Verification::agree(const Tracked& tracked, std::size_t s, const Datum& candidate) const {
  const Datum reference = spill_.read(tracked.stored[s]);
  return metrics_of(tracked, s, reference, candidate, /*optimized=*/false).outcome == Outcome::same;
}

void Verification::look_for_renames(std::size_t s, const Outputs& outputs) {
  constexpr std::size_t kMost = 16;
  if (s != 0 || tracked_.size() > kMost || outputs.size() > kMost) return;
  std::vector<bool> taken(outputs.size(), false);
  for (const Tracked& tracked : tracked_) {
    if (tracked.index_b) taken[*tracked.index_b] = true;
  }
  for (std::size_t i = 0; i < tracked_.size(); ++i) {
    if (!tracked_[i].index_b) hint_rename(i, s, outputs, taken);
    for (std::size_t k = 0; k < i; ++k) hint_exchange(i, k, s, outputs);
  }
}

void Verification::hint_rename(std::size_t i, std::size_t s, const Outputs& outputs, const std::vector<bool>& taken) {
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (taken[k] || !agree(tracked_[i], s, outputs[k])) continue;
    result_.outputs[i].hint = escape(b_.name) + " has " + quote(b_.outputs[k].name) + ", and its values agree under this renaming";
    return;
  }
}

void Verification::hint_exchange(std::size_t i, std::size_t k, std::size_t s, const Outputs& outputs) {
  const auto differs = [&](std::size_t n) {
    return tracked_[n].index_b && !result_.outputs[n].samples.empty() && result_.outputs[n].samples.front().outcome == Outcome::different;
  };
  if (!differs(i) || !differs(k)) return;
  if (!agree(tracked_[i], s, outputs[*tracked_[k].index_b]) || !agree(tracked_[k], s, outputs[*tracked_[i].index_b])) return;
  for (const auto& [one, other] : {std::pair{i, k}, std::pair{k, i}}) {
    result_.outputs[one].hint = "its values agree with those of " + quote(result_.outputs[other].name) + ": the two are exchanged";
  }
}

}  // namespace relayout
