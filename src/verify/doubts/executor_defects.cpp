// Finds defects of relayout itself, and the node at fault, so that they are not taken for faults of a model.

#include "base/numbers.h"
#include "base/text.h"
#include "relayout/execute.h"
#include "relayout/verify.h"
#include "verify/compare/compare_nodes.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"
#include "verify/run/candidate.h"
#include "verify/run/floors.h"
#include "verify/run/reference.h"
#include "verify/run/session.h"

namespace relayout {
namespace {

/// Whether an optimized run is within its bound of the run as written, whose distance from the reference is not the executor's error.
bool is_error_of_the_file(const SampleMetrics& optimized, const SampleMetrics& written) {
  if (optimized.non_finite.nan_b > 0 || optimized.non_finite.infinite > 0 || !(optimized.bound.max > 0)) return false;
  return optimized.max_error <= optimized.bound.max + written.max_error && optimized.rms_error <= optimized.bound.rms + written.rms_error;
}

}  // namespace

VerifyFindings find_unrepeatable_outputs(const Evidence& evidence) {
  const Reference& reference = evidence.reference();
  const Side& a = evidence.pair().a;
  if (reference.unrepeatable().empty()) return {};
  const std::string what = "output " + quote(reference.unrepeatable()) + " of " + escape(a.name) + " differs between two runs";
  if (random_nodes(a.model->graph()).empty()) {
    return {{.severity = Severity::defect, .name = "not-deterministic", .text = "not deterministic: " + what}};
  }
  return {{.severity = Severity::remark, .name = "not-deterministic", .text = what + ", as its random nodes explain"}};
}

VerifyFindings find_reference_difference(const Evidence& evidence) {
  const Pair& pair = evidence.pair();
  if (evidence.floors().suspicions().empty()) return {};
  const Floors::Suspicion& suspicion = evidence.floors().suspicions().front();
  const std::string& output = pair.a.outputs[suspicion.output].name;
  const auto layer = erring_node(pair, pair.a, evidence.reference(), suspicion.sample, Mode::reference);
  if (!layer) {
    return {{.severity = Severity::remark,
             .name = "double-precision",
             .text = place_of(pair, evidence.reference(), suspicion.output, suspicion.sample) + ": double precision is " +
                     scientific(suspicion.error) + " of the range away" + kChoice}};
  }
  return {{.severity = Severity::defect,
           .name = "double-precision",
           .text = "as written and double-precision reference disagree on output " + quote(output) + " of " + escape(pair.a.name) + " by " +
                   scientific(suspicion.error) + " of its range, and node " + quote(layer->node) + " (" + escape(layer->op_type) +
                   ") alone by " + (layer->bound > 0 && layer->finite ? scientific(layer->error) : layer->reason) +
                   ", more than any rounding explains",
           .node = layer->node}};
}

VerifyFindings find_optimized_difference(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  const Reference& reference = evidence.reference();
  const Candidate& written = evidence.candidate();
  if (written.mode() != Mode::as_written || !evidence.has_same_interface()) return {};
  Floors floors = evidence.floors();  // a copy: more draws for this run are not those of the figures
  Candidate optimized(pair, reference, floors, Mode::optimized);
  optimized.run(samples_of_optimized(reference));
  evidence.add_seconds_of_b(optimized.seconds());
  if (!optimized.rejection().empty()) {
    return {{.severity = Severity::defect,
             .text = "right as written, cannot run optimized: " + escape(pair.b.name) + ": " + optimized.rejection()}};
  }
  settle(pair, reference, floors, optimized);
  if (evidence.is_order_of_sums(optimized)) return {};
  for (std::size_t i = 0; i < reference.outputs().count(); ++i) {
    for (std::size_t s = 0; s < optimized.outputs()[i].figures.size(); ++s) {
      const SampleMetrics& metrics = optimized.outputs()[i].figures[s];
      if (metrics.outcome != Outcome::different || is_error_of_the_file(metrics, written.outputs()[i].figures[s])) continue;
      const auto layer = erring_node(pair, pair.b, reference, s, Mode::optimized);
      const std::string place = place_of(pair, reference, i, s);
      if (!layer) {
        return {{.severity = Severity::remark,
                 .text = place + ": optimized execution is " + scientific(metrics.max_error) + " of the range away" + kChoice}};
      }
      return {{.severity = Severity::defect,
               .text = escape(pair.b.name) + " is right as written, but not optimized: " + place + ": " + metrics.reason + "; node " +
                       quote(layer->node) + " (" + escape(layer->op_type) + ") alone: " +
                       (layer->bound > 0 && layer->finite ? scientific(layer->error) + ", floor " + scientific(layer->floor.max)
                                                          : layer->reason),
               .node = layer->node}};
    }
  }
  return {};
}

}  // namespace relayout
