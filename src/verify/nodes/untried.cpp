// Inconclusive with "no sample reaches that: node … gets no number above …": runs both models on wider numbers until changed operators have
// been tried.
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/feeding.h"
#include "verify/judge.h"
#include "verify/nodes/casts_beyond.h"
#include "verify/nodes/changes.h"
#include "verify/nodes/compare_nodes.h"
#include "verify/nodes/pieces.h"
#include "verify/nodes/tried_pieces.h"
#include "verify/pair.h"
#include "verify/reference.h"
#include "verify/session.h"

namespace relayout {
namespace {

/// Runs a model over the samples as it is written.
void run_samples(const Pair& pair, const Side& side, const Reference& reference, Trials& trials) {
  ExecuteOptions options = pair.execute_options(Mode::as_written);
  options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (node.output(k) != nullptr) trials.watch(*node.output(k), outputs[k]);
    }
  };
  const std::unique_ptr<Session> session = pair.open(side, std::move(options));
  for (std::size_t s = 0; s < reference.samples().size() && trials.are_open(); ++s) {
    pair.steps->next("numbers apart");
    trials.start_run();
    const Inputs& inputs = reference.inputs_of(s);
    for (const auto& [name, datum] : inputs) {
      const Value* const input = side.model->graph().find(name);
      if (input != nullptr) trials.watch(*input, datum);
    }
    (void)session->run(inputs);
    trials.end_sample();
  }
}

std::string entry_of(const Change& change, const ProofResult& proof) {
  return change.entries.empty() ? "output " + quote(change.b->name()) + " is made in another way"
                                : proof.unexplained[change.entries.front()].text;
}

std::string describe(const Trial& trial, const ProofResult& proof) {
  const Piece& piece = trial.piece;
  const bool is_result = piece.watched == piece.node->output(0);
  return entry_of(*trial.change, proof) + ", and no sample reaches that: node " + piece.node->label() + " of " +
         (trial.is_of_a ? "A" : "B") + (is_result ? " is never " : " gets no ") + piece.text() + kMoreSamples;
}

std::string describe(const CastsBeyond::Found& found, const ProofResult& proof) {
  return entry_of(*found.change, proof) + ", and node " + found.cast->label() + " of " + (found.is_of_a ? "A" : "B") +
         " gets numbers beyond " + found.type + ", which ONNX leaves to the implementation";
}

}  // namespace

void judge_untried(const Pair& pair, const Reference& reference, VerifyResult& result) {
  if (result.outcome != Outcome::same || !result.proof || pair.proved) return;
  Trials trials(pair, reference, *result.proof);
  if (trials.are_open()) run_samples(pair, pair.a, reference, trials);
  if (trials.are_open()) run_samples(pair, pair.b, reference, trials);
  if (const CastsBeyond::Found found = trials.casts().find(); found.cast != nullptr) return doubt(result, describe(found, *result.proof));
  for (const Feeding feeding : {Feeding::near, Feeding::middle, Feeding::far}) {
    if (trials.find_open() == nullptr) return;
    if (feeding != Feeding::near && pair.narrow != DataType::undefined) break;
    const std::map<const Change*, Trial> open = trials.open_by_change();
    const auto watch = [&](const Value& value, const Datum& datum) { trials.watch(value, datum); };
    trials.start_run();
    const std::vector<LayerResult> layers = compare_nodes(pair, reference, 0, &*result.proof, feeding, watch);
    for (const LayerResult& layer : layers) {
      const auto found = open.find(trials.change_of(layer));
      if (found != open.end() && convicts(layer)) return doubt(result, describe(found->second, *result.proof));
    }
    trials.end_comparison(layers);
  }
  if (const Trial* const trial = trials.find_open()) doubt(result, describe(*trial, *result.proof));
}

}  // namespace relayout
