// Verifies that two files compute the same: reads, proves, measures, looks for what runs do not show, and decides.
#include "relayout/verify.h"

#include "base/times.h"
#include "passes/byte_input.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "verify/compare_models.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/inputs/port.h"
#include "verify/measurement.h"
#include "verify/pair.h"
#include "verify/quantized/quantization_losses.h"
#include "verify/run/session.h"

namespace relayout {
namespace {

/// The doubt about what a rule asked for and the budget left out, because it might have decided.
VerifyFindings find_left_out(const Steps& steps) {
  if (steps.left_out().empty()) return {};
  std::string all;
  for (const std::string& what : steps.left_out()) all += (all.empty() ? "" : "; ") + what;
  return {
      {.name = kOutOfBudget, .text = "left out, as it would take long: " + all + " (--thorough does it, --budget SECONDS allows more)"}};
}

/// Runs both models, and looks for what the runs do not show, if outputs agree: else they are the reason, and rules have nothing to add.
/// Questions about outputs may cost runs, too; behind the doubt of the budget, the report alone makes any.
/// The figures stand in `measured`.
VerifyFindings run_and_look(Pair& pair, std::span<const Rule> rules, VerifyResult& measured) {
  Measurement runs(pair, measured);
  VerifyFindings findings = runs.findings();
  if (!runs.has_samples()) return findings;
  pair.steps->plan(*pair.options);
  const auto add = [&](VerifyFindings more) { std::ranges::move(more, std::back_inserter(findings)); };
  Evidence evidence(pair, runs.reference(), runs.floors(), runs.candidate(), measured);
  add(find_unrepeatable_outputs(evidence));
  add(find_reference_difference(evidence));
  add(evidence.acquittals());
  if (!evidence.outputs_differ()) add(look(rules, evidence));
  add(find_left_out(*pair.steps));
  evidence.report(findings, measured);
  add(find_nan_in_both(measured));
  const bool measures_losses = pair.quantized && !pair.options->outputs_only && runs.candidate().rejection().empty();
  if (measures_losses) measured.losses = measure_quantization(pair, runs.reference());
  runs.report(measured);
  return findings;
}

VerifyResult verify_by_proof(const std::filesystem::path& a, const std::filesystem::path& b, const VerifyOptions& options) {
  VerifyResult measured;
  measured.a = a.string();
  measured.b = b.string();
  const Side side_a = load_side(a, options.load, false), side_b = load_side(b, options.load, false);
  measured.proof = prove(*side_a.model, *side_b.model, {.digests = options.digests, .threads = options.threads});
  const VerifyFinding finding = measured.proof->proved
                                    ? VerifyFinding{.severity = Severity::agreement, .text = "proved from the files alone, nothing was run"}
                                    : VerifyFinding{.name = kNotRun, .text = "not proved, and nothing was run"};
  return decide(std::move(measured), {finding}, options);
}

}  // namespace

VerifyResult compare_models(Side a, Side b, const VerifyOptions& options, OpenSession open, std::span<const Rule> rules) {
  const Stopwatch watch;
  Steps steps(options.progress);
  VerifyResult measured = describe_run(a, b, options);
  Pair pair = read_files(std::move(a), std::move(b), options, std::move(open), steps, measured);
  pair.open = steps.counting(std::move(pair.open), pair.a);
  VerifyFindings findings = find_decided(pair, measured);  // identical files, and those that cannot run; proved pairs run nevertheless
  if (findings.empty() || findings.front().severity == Severity::agreement) list_outputs(pair, measured);
  if (findings.empty()) findings = run_and_look(pair, rules, measured);
  VerifyResult result = decide(std::move(measured), findings, options);
  result.seconds = watch.seconds();
  result.stages = steps.take();
  result.left_out = steps.left_out();
  return result;
}

VerifyResult verify(const std::filesystem::path& a, const std::filesystem::path& b, const VerifyOptions& options) {
  if (options.proof_only) return verify_by_proof(a, b, options);
  // Payloads stay in the files: one Session at a time reads the weights.
  Side side_a = load_side(a, options.load, options.images_last);
  Side side_b = load_side(b, options.load, options.images_last);
  passes::compute_from_bytes(side_a.model->graph(), options.bytes);
  passes::compute_to_bytes(side_a.model->graph(), options.output_bytes);
  side_a.outputs = output_ports(side_a.model->graph());
  return compare_models(std::move(side_a), std::move(side_b), options);
}

}  // namespace relayout
