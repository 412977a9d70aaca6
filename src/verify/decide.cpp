// Decides about a pair from its figures and findings, and translates verdicts to exit codes.

#include <tuple>

#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "relayout/error.h"
#include "relayout/proof.h"
#include "relayout/verify.h"
#include "verify/acceptance.h"
#include "verify/finding.h"

namespace relayout {
namespace {

using Field = InterfaceDifference::Field;

/// The sample that says most against the output: differing ones first, then well-conditioned ones, then by the largest ratio.
const SampleMetrics* telling_sample(const std::vector<SampleMetrics>& samples) {
  const auto rank = [](const SampleMetrics& metrics) {
    return std::tuple(metrics.outcome == Outcome::different, !metrics.ill_conditioned, metrics.ratio, metrics.floor.max);
  };
  const auto found = std::ranges::max_element(samples, {}, rank);
  return found == samples.end() ? nullptr : &*found;
}

/// Takes the figures of the sample that says most against an output.
void sum_up(OutputComparison& output) {
  output.rms_error = 0;
  for (const SampleMetrics& metrics : output.samples) output.rms_error = std::max(output.rms_error, metrics.rms_error);
  const SampleMetrics* const telling = telling_sample(output.samples);
  if (telling == nullptr) return;
  output.telling = as_size(telling - output.samples.data());
  output.max_error = telling->max_error;
  output.floor = telling->floor.max;
  output.bound = telling->bound.max;
  output.least_bound = telling->least_bound;
  output.ratio = telling->ratio;
}

/// Decides about a pair, in this order: each output, its accepted loss, the whole.
class Decision {
 public:
  Decision(VerifyResult measured, const VerifyFindings& findings, const VerifyOptions& options)
      : result_(std::move(measured)), findings_(findings), options_(options) {}

  [[nodiscard]] VerifyResult make() {
    list();
    for (std::size_t i = 0; i < result_.outputs.size(); ++i) decide_output(i);
    const bool is_accepting = options_.accept.is_given() && is_compared() && find(kRejected) == nullptr;
    if (is_accepting) {
      for (std::size_t i = 0; i < result_.outputs.size(); ++i) accept_loss(i);
    }
    decide_whole(is_accepting);
    return std::move(result_);
  }

 private:
  /// Copies what findings say beside the outcome; of several defects, the first.
  void list() {
    for (const VerifyFinding& finding : findings_) {
      if (finding.severity == Severity::remark || finding.severity == Severity::acquittal) result_.remarks.push_back(finding.text);
      if (finding.severity == Severity::defect && result_.defect.empty()) result_.defect = finding.text;
      if (finding.severity == Severity::doubt) add_doubt(finding);
    }
  }

  void add_doubt(const VerifyFinding& finding) {
    const bool is_allowed = options_.allow.contains(finding.name);
    const std::string output = finding.output ? result_.outputs[*finding.output].name : "";
    result_.doubts.push_back({std::string(finding.name), finding.node, output, finding.text, is_allowed});
  }

  [[nodiscard]] const VerifyFinding* find(std::string_view name) const {
    const auto found = std::ranges::find(findings_, name, &VerifyFinding::name);
    return found == findings_.end() ? nullptr : &*found;
  }
  /// The first finding of a severity, about an output or about the whole.
  [[nodiscard]] const VerifyFinding* find(Severity severity, std::optional<std::size_t> output) const {
    const auto is_it = [&](const VerifyFinding& finding) { return finding.severity == severity && finding.output == output; };
    const auto found = std::ranges::find_if(findings_, is_it);
    return found == findings_.end() ? nullptr : &*found;
  }

  void decide_output(std::size_t place) {
    OutputComparison& output = result_.outputs[place];
    for (const VerifyFinding& finding : findings_) {
      if (finding.severity == Severity::acquittal && finding.output == place) output.samples[*finding.sample].outcome = Outcome::same;
    }
    sum_up(output);
    const VerifyFinding* const difference = find(Severity::difference, place);
    const VerifyFinding* const doubt = find(Severity::doubt, place);
    const bool differs = !output.samples.empty() && output.samples[output.telling].outcome == Outcome::different;
    if (const std::string missing = missing_output(output.name); !missing.empty()) {
      set(output, Outcome::different, missing);
    } else if (difference != nullptr) {
      set(output, Outcome::different, difference->text);
    } else if (differs) {
      const SampleMetrics& telling = output.samples[output.telling];
      set(output, Outcome::different, telling.reason + " (sample " + std::to_string(telling.sample) + ")");
    } else if (doubt != nullptr) {
      set(output, Outcome::inconclusive, doubt->text);
    } else if (output.samples.empty() && find(Severity::agreement, std::nullopt) == nullptr) {
      set(output, Outcome::inconclusive, "not compared");
      add_doubt({.name = kNotCompared, .text = "not compared", .output = place});
    } else {
      set(output, Outcome::same, "");
    }
    if (output.outcome != Outcome::different && !output.samples.empty()) output.hint.clear();
    output.loss = loss_of(output);
  }

  /// No bound of a loss covers what a finding names as a difference of the output: values that contradict their declaration.
  void accept_loss(std::size_t place) {
    OutputComparison& output = result_.outputs[place];
    if (!output.loss || output.outcome == Outcome::inconclusive || find(Severity::difference, place) != nullptr) return;
    const bool differs = output.outcome == Outcome::different;
    const std::string why = beyond_limits(options_.accept, output);
    set(output, !why.empty() ? Outcome::different : differs ? Outcome::accepted : Outcome::same, why);
    if (output.outcome == Outcome::different) return;
    for (SampleMetrics& metrics : output.samples) {
      if (metrics.outcome == Outcome::different) metrics.outcome = Outcome::accepted;
    }
  }

  static void set(OutputComparison& output, Outcome outcome, std::string reason) {
    output.outcome = outcome;
    output.reason = std::move(reason);
  }

  /// Why b has no output of this name; empty: it has.
  [[nodiscard]] std::string missing_output(const std::string& name) const {
    for (const InterfaceDifference& difference : result_.interface) {
      if (difference.side != "output" || difference.remark || difference.name != name) continue;
      if (difference.field == Field::missing) return "missing in " + escape(result_.b);
      if (difference.field == Field::renamed) return "named " + quote(difference.b) + " in " + escape(result_.b);
    }
    return {};
  }

  [[nodiscard]] bool is_compared() const {
    return std::ranges::any_of(result_.outputs, [](const OutputComparison& output) { return !output.samples.empty(); });
  }
  [[nodiscard]] bool any(Outcome outcome) const {
    return std::ranges::find(result_.outputs, outcome, &OutputComparison::outcome) != result_.outputs.end();
  }
  [[nodiscard]] bool fits() const {
    return std::ranges::all_of(result_.interface, [](const InterfaceDifference& difference) { return difference.remark; });
  }

  void decide_whole(bool is_accepting) {
    const VerifyFinding* const coarser = find(kCoarserType);
    const VerifyFinding* const difference = first_difference();
    const ProofResult* const proof = result_.told_proof();
    // A loss is judged by outputs: where one is accepted, differences of nodes do not count.
    const std::string missed = is_accepting ? missed_by_loss(options_.accept, result_) : "";
    const bool is_beyond = any(Outcome::different) || !missed.empty() || (difference != nullptr && !is_accepting);
    if (is_beyond || coarser != nullptr || !fits()) {
      decide_different(difference, coarser, is_beyond, missed);
    } else if (options_.strict && proof != nullptr && !proof->proved) {
      result_.outcome = Outcome::different;
      result_.reason = "--strict: " + counted(std::ssize(proof->unexplained), "difference") + " not explained";
    } else if (!result_.doubts.empty() && find(Severity::agreement, std::nullopt) == nullptr) {
      result_.outcome = Outcome::inconclusive;
      const VerifyFinding* const doubt = first_doubt();
      if (doubt != nullptr) result_.reason = doubt->text + doubt->advice;
    } else if (difference != nullptr || any(Outcome::accepted)) {
      result_.outcome = Outcome::accepted;
      result_.reason = describe_loss(result_);
    } else {
      decide_same();
    }
  }

  /// The first doubt about the whole that is not allowed; or else the first, unless outputs have open doubts, which are told with them.
  [[nodiscard]] const VerifyFinding* first_doubt() const {
    const auto is_open = [&](const VerifyFinding& finding) {
      return finding.severity == Severity::doubt && !finding.output && !options_.allow.contains(finding.name);
    };
    const auto found = std::ranges::find_if(findings_, is_open);
    if (found != findings_.end()) return &*found;
    return std::ranges::all_of(result_.doubts, &Doubt::allowed) ? find(Severity::doubt, std::nullopt) : nullptr;
  }

  /// The first difference of the whole that is not about the types that b computes in.
  [[nodiscard]] const VerifyFinding* first_difference() const {
    const auto is_it = [](const VerifyFinding& finding) {
      return finding.severity == Severity::difference && !finding.output && finding.name != kCoarserType;
    };
    const auto found = std::ranges::find_if(findings_, is_it);
    return found == findings_.end() ? nullptr : &*found;
  }

  /// `is_beyond`: something besides the interface and the types that b computes in differs.
  void decide_different(const VerifyFinding* difference, const VerifyFinding* coarser, bool is_beyond, const std::string& missed) {
    result_.outcome = Outcome::different;
    if (difference != nullptr) result_.reason = difference->text;
    if (!missed.empty()) result_.reason = missed;
    if (coarser != nullptr && (!is_beyond || result_.reason.empty())) {
      result_.reason = coarser->text + (is_beyond ? "" : coarser->advice);
    } else if (coarser != nullptr) {
      result_.remarks.push_back(coarser->text);
    }
    // Where elements are NaN or infinite in B alone, that is the reason, and no measure of a loss.
    const auto is_lost = [](const OutputComparison& output) { return output.outcome == Outcome::different && !output.loss; };
    if (!result_.reason.empty() || result_.lossy.empty() || !any(Outcome::different)) return;
    if (std::ranges::any_of(result_.outputs, is_lost)) return;
    result_.reason = result_.lossy + ": " + describe_loss(result_);
    if (!options_.accept.is_given()) result_.reason += " (--accept " + limits_for(result_) + " takes a loss)";
  }

  void decide_same() {
    result_.outcome = Outcome::same;
    if (const VerifyFinding* const agreement = find(Severity::agreement, std::nullopt)) {
      result_.reason = agreement->text;
    } else if (result_.proof && result_.proof->proved && is_compared() && std::ranges::all_of(result_.outputs, is_nan_in_both)) {
      result_.reason = "proved from the files alone: what was run gives NaN in both, which confirms nothing";
    }
  }

  /// Whether no element is a number in either model.
  [[nodiscard]] static bool is_nan_in_both(const OutputComparison& output) {
    return std::ranges::all_of(output.samples, [](const SampleMetrics& metrics) {
      return metrics.sums.elements > 0 && metrics.non_finite.nan_both == metrics.sums.elements;
    });
  }

  VerifyResult result_;
  const VerifyFindings& findings_;
  const VerifyOptions& options_;
};

}  // namespace

VerifyResult decide(VerifyResult measured, const VerifyFindings& findings, const VerifyOptions& options) {
  return Decision(std::move(measured), findings, options).make();
}

DataCase decide(DataCase measured, const VerifyFindings& findings, bool passes_official_rule) {
  const auto first = [&](Severity severity) { return std::ranges::find(findings, severity, &VerifyFinding::severity); };
  const auto doubt = first(Severity::doubt), difference = first(Severity::difference);
  if (doubt != findings.end()) {
    measured.status = "unsupported";
    measured.message = doubt->text;
  } else if (difference != findings.end()) {
    measured.status = passes_official_rule ? "pass-loose" : "failed";
    measured.message = difference->text;
  } else {
    measured.status = "passed";
  }
  return measured;
}

std::string_view to_string(Outcome outcome) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>({"same", "different", "inconclusive", "accepted"});
  return kNames[static_cast<std::size_t>(outcome)];
}

int exit_code(const VerifyResult& result, bool allow_inconclusive) noexcept {
  if (!result.defect.empty()) return exit_code(ErrorKind::defect);
  if (result.is_blocked()) return exit_code(ErrorKind::unsupported);
  if (result.outcome == Outcome::same || result.outcome == Outcome::accepted) return 0;
  const bool is_allowed = allow_inconclusive || (!result.doubts.empty() && std::ranges::all_of(result.doubts, &Doubt::allowed));
  return result.outcome == Outcome::inconclusive && is_allowed ? 0 : 1;
}

int exit_code(const DataResult& result) noexcept {
  const bool unsupported = std::ranges::any_of(result.cases, [](const DataCase& one) { return one.status == "unsupported"; });
  if (unsupported) return exit_code(ErrorKind::unsupported);
  return result.passed() ? 0 : 1;
}

bool DataResult::passed() const {
  return !cases.empty() && std::ranges::all_of(cases, [](const DataCase& one) { return one.status == "passed"; });
}

}  // namespace relayout
