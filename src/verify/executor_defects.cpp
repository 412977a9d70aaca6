// Defects of relayout itself: runs that are not repeatable, double precision far from the run as written, an optimized run of B that fails
// or errs, and the node at fault.
#include "verify/executor_defects.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "relayout/execute.h"
#include "relayout/verify.h"
#include "verify/candidate.h"
#include "verify/floors.h"
#include "verify/node_verdict.h"
#include "verify/nodes/compare_nodes.h"
#include "verify/pair.h"
#include "verify/reference.h"
#include "verify/sample_count.h"
#include "verify/session.h"

namespace relayout {
namespace {

/// Whether an optimized run is within its bound of the run as written, whose distance from the reference is not the executor's error.
bool is_error_of_the_file(const SampleMetrics& optimized, const SampleMetrics& written) {
  if (optimized.non_finite.nan_b > 0 || optimized.non_finite.infinite > 0 || !(optimized.bound.max > 0)) return false;
  return optimized.max_error <= optimized.bound.max + written.max_error && optimized.rms_error <= optimized.bound.rms + written.rms_error;
}

}  // namespace

void report_repeatability(const Pair& pair, const Reference& reference, VerifyResult& result) {
  if (reference.unrepeatable().empty()) return;
  const std::string what = "output " + quote(reference.unrepeatable()) + " of " + escape(pair.a.name) + " differs between two runs";
  if (random_nodes(pair.a.model->graph()).empty()) {
    result.defect = "not deterministic: " + what;
  } else {
    result.remarks.push_back(what + ", as its random nodes explain");
  }
}

void explain_suspicions(const Pair& pair, const Reference& reference, const Floors& floors, VerifyResult& result) {
  for (const Floors::Suspicion& suspicion : floors.suspicions()) {
    if (!result.defect.empty()) return;
    const std::string& output = pair.a.outputs[suspicion.output].name;
    const auto layer = erring_node(pair, pair.a, reference, suspicion.sample, Mode::reference);
    if (!layer) {
      result.remarks.push_back(place_of(pair, reference, suspicion.output, suspicion.sample) + ": double precision is " +
                               scientific(suspicion.error) + " of the range away" + kChoice);
      return;
    }
    result.defect = "as written and double-precision reference disagree on output " + quote(output) + " of " + escape(pair.a.name) +
                    " by " + scientific(suspicion.error) + " of its range, and node " + quote(layer->node) + " (" + escape(layer->op_type) +
                    ") alone by " + (layer->bound > 0 && layer->finite ? scientific(layer->error) : layer->reason) +
                    ", more than any rounding explains";
  }
}

void check_optimized(const Pair& pair, const Reference& reference, Floors& floors, const Candidate& written, VerifyResult& result) {
  Candidate optimized(pair, reference, floors, Mode::optimized);
  optimized.run(samples_of_optimized(reference));
  result.seconds_b += optimized.seconds();
  if (!optimized.rejection().empty()) {
    result.defect = "right as written, cannot run optimized: " + escape(pair.b.name) + ": " + optimized.rejection();
    return;
  }
  settle(pair, reference, floors, optimized);
  for (std::size_t i = 0; i < reference.outputs().count(); ++i) {
    for (std::size_t s = 0; s < optimized.outputs()[i].figures.size() && result.defect.empty(); ++s) {
      const SampleMetrics& metrics = optimized.outputs()[i].figures[s];
      if (metrics.outcome != Outcome::different || is_error_of_the_file(metrics, written.outputs()[i].figures[s])) continue;
      const auto layer = erring_node(pair, pair.b, reference, s, Mode::optimized);
      if (!layer) {
        result.remarks.push_back(place_of(pair, reference, i, s) + ": optimized execution is " + scientific(metrics.max_error) +
                                 " of the range away" + kChoice);
        return;
      }
      result.defect =
          escape(pair.b.name) + " is right as written, but not optimized: " + place_of(pair, reference, i, s) + ": " + metrics.reason +
          "; node " + quote(layer->node) + " (" + escape(layer->op_type) + ") alone: " +
          (layer->bound > 0 && layer->finite ? scientific(layer->error) + ", floor " + scientific(layer->floor.max) : layer->reason);
    }
  }
}

}  // namespace relayout
