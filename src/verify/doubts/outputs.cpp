// Finds outputs whose numbers say little about the models, and what they show for masks that no tokenizer makes.

#include "base/numbers.h"
#include "base/text.h"
#include "relayout/execute.h"
#include "relayout/verify.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/inputs/inputs.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/candidate.h"
#include "verify/run/distance.h"
#include "verify/run/floors.h"
#include "verify/run/reference.h"
#include "verify/run/reference_output.h"
#include "verify/run/session.h"
#include "verify/thresholds.h"

namespace relayout {
namespace {

/// Whether half of the usual samples or more have it: those of smaller inputs show nothing about usual ones.
template <class Has>
bool has_mostly(const OutputComparison& output, const Reference& reference, const Has& has) {
  std::ptrdiff_t usual = 0, with = 0;
  for (std::size_t i = 0; i < output.samples.size(); ++i) {
    if (reference.samples()[i].deviation == 0) ++usual, with += has(output.samples[i]);
  }
  return with > 0 && 2 * with >= usual;
}

/// Whether rounding alone sets a sample apart, and nearly all of its elements agree, whatever its floor: that is of the elements that
/// rounding moves farthest, such as those on the edges of a map of probabilities.
bool agrees_on_the_whole(const Pair& pair, const SampleMetrics& metrics) {
  return pair.is_rounded && metrics.rms_error <= thresholds::kWholeAgreement;
}

}  // namespace

VerifyFindings find_outputs_that_show_nothing(Evidence& evidence) {
  VerifyFindings out;
  for (std::size_t i = 0; i < evidence.outputs().size(); ++i) {
    const std::optional<std::string> why = evidence.inconclusive(i);
    if (!why) continue;
    if (evidence.nodes().vouch && evidence.reference().outputs().summary(i).holds_values()) {
      out.push_back({.severity = Severity::remark,
                     .text = "output " + quote(evidence.outputs()[i].name) + " shows nothing (" + *why +
                             "), but node by node B computes what A computes"});
    } else {
      out.push_back({.text = *why, .output = i});
    }
  }
  return out;
}

VerifyFindings find_ill_conditioned_outputs(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  VerifyFindings out;
  for (std::size_t i = 0; i < evidence.outputs().size(); ++i) {
    const OutputComparison& output = evidence.outputs()[i];
    const bool is_measured_narrowly = is_narrow(pair.type_of_floor(output.type));
    const auto is_ill = [&](const SampleMetrics& metrics) {
      return metrics.ill_conditioned && !(is_measured_narrowly && agrees_on_the_whole(pair, metrics));
    };
    if (pair.options->accept.is_given() && is_measured_narrowly) continue;
    if (output.samples.empty() || !std::ranges::all_of(output.samples, is_ill) || evidence.nodes().vouch) continue;
    const auto telling = std::ranges::max_element(output.samples, {}, &SampleMetrics::ratio);
    out.push_back(
        {.text = "ill-conditioned: the floor is " + scientific(telling->floor.max) + " of the range in every sample", .output = i});
  }
  return out;
}

/// In 16 bits in half of the usual samples, whatever nodes vouch for; in wider types in any sample, unless they vouch. `--accept` judges
/// such outputs instead.
VerifyFindings find_wide_floors(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  VerifyFindings out;
  if (pair.options->accept.is_given()) return out;
  const double most = kFloorFactor * thresholds::kWidestFloor;
  for (std::size_t i = 0; i < evidence.outputs().size(); ++i) {
    const OutputComparison& output = evidence.outputs()[i];
    const bool is_measured_narrowly = is_narrow(pair.type_of_floor(output.type));
    const auto is_wide = [&](const SampleMetrics& metrics) {
      const bool is_open = metrics.floor.max > thresholds::kWidestFloor && metrics.max_error > most;
      return is_open && !(is_measured_narrowly && agrees_on_the_whole(pair, metrics));
    };
    if (is_measured_narrowly ? !has_mostly(output, evidence.reference(), is_wide) : evidence.nodes().vouch) continue;
    const auto wide = std::ranges::find_if(output.samples, is_wide);
    if (wide == output.samples.end()) continue;
    out.push_back({.text = "an error/range of " + scientific(wide->max_error) + " is within rounding only because the floor is " +
                           scientific(wide->floor.max) + " of the range (--accept error=… judges it)",
                   .output = i});
  }
  return out;
}

VerifyFindings find_masks_with_holes(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  const Reference& reference = evidence.reference();
  VerifyFindings out;
  if (!reference.inputs().makes_padding()) return out;
  const Inputs holes = reference.inputs().make_with_holes(reference.samples().front().assignment);
  pair.steps->expect(2);
  pair.steps->next("masks with holes");
  const Session::Run a = pair.open(pair.a, pair.execute_options(Mode::as_written))->run(holes);
  pair.steps->next("masks with holes");
  const Session::Run b = pair.open(pair.b, pair.execute_options(Mode::as_written))->run(holes);
  if (!a.rejected.empty() || !b.rejected.empty()) return out;
  for (std::size_t i = 0; i < reference.outputs().count(); ++i) {
    const auto place = evidence.candidate().outputs()[i].place;
    if (!place || !structural_difference(a.outputs[i], b.outputs[*place]).empty()) continue;
    SampleMetrics metrics = measure(a.outputs[i], b.outputs[*place], Yardstick(a.outputs[i]));
    judge_numbers(metrics, pair.type_of_floor(reference.outputs().summary(i).type()), evidence.floors().of(i, 0));
    if (metrics.outcome != Outcome::different) continue;
    out.push_back({.severity = Severity::remark,
                   .text = "output " + quote(pair.a.outputs[i].name) + " differs for masks with holes, as no tokenizer makes them (" +
                           scientific(metrics.max_error) + " of the range)"});
  }
  return out;
}

VerifyFindings find_nan_in_both(const VerifyResult& measured) {
  VerifyFindings out;
  for (const OutputComparison& output : measured.outputs) {
    int64_t both = 0, elements = 0;
    for (const SampleMetrics& metrics : output.samples) both += metrics.non_finite.nan_both, elements += metrics.sums.elements;
    if (both == 0) continue;
    const bool by_proof = both == elements && measured.proof && measured.proof->proved;
    out.push_back({.severity = Severity::remark,
                   .text = "output " + quote(output.name) + ": " + format_count(both) + " of " + counted(elements, "element") +
                           (both == 1 ? " is" : " are") + " NaN in both" +
                           (by_proof ? ", which confirms nothing: that B computes the same is proved from the files alone" : "")});
  }
  return out;
}

}  // namespace relayout
