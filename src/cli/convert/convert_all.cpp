// Converts models one by one or side by side, and reports them in their order.
#include <exception>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/positions.h"
#include "base/threads.h"
#include "cli/common/progress.h"
#include "cli/common/terminal.h"
#include "cli/convert/convert.h"
#include "cli/verify/report.h"
#include "relayout/verify.h"

namespace relayout::cli {
namespace {

/// Prints the message on standard error for a result that was withheld.
void print_refusal(const ConvertRequest& request, const ConvertJob& job, const ConvertResult& result, bool verbose) {
  const int code = exit_code(result, request.options);
  if (code == 0) return;
  if (const auto failure = result.verification ? failure_of(*result.verification) : std::nullopt) return print_failure(*failure, verbose);
  const std::string why = result.verification ? "verification says " + std::string(to_string(result.verification->outcome))
                                              : "not every BatchNormalization folds";
  print_failure({code, escape(job.input) + ": " + why + ", nothing was written", ""}, verbose);
}

/// Next steps follow a model that is alone, and precede the verdict of --verify. With several models, they are printed once at the end.
void print_result(const ConvertRequest& request, const Common& common, const ConvertJob& job, const ConvertResult& result, bool is_alone) {
  const bool to_error = job.output == kStream;
  ReportStyle style = style_of(common, to_error);
  style.refusals = request.options.require_all_folded && !result.all_folded;
  if (to_error) return write_error(convert_text(result, style));
  write_report(conversion_text(result, style));
  if (!common.quiet && is_alone) write_output(in_locale(next_text(next_steps(request, job, result), style)));
  if (result.verification) write_report(verify_text(*result.verification, false, style));
}

/// Reports a result that an earlier conversion has written.
int report_known(const Common& common, const ConvertJob& job, Json report, Json& documents) {
  if (common.json) {
    documents.add(std::move(report.set("input", job.input).set("output", job.output).set("source", "cache")));
  } else if (!common.quiet) {
    write_report(in_locale(escape(job.input) + " → " + escape(job.output) + "   converted before, nothing has changed\n"));
  }
  return 0;
}

/// The outcome for one model, not yet reported.
struct ConvertOutcome {
  std::optional<std::string> key;       ///< cache key
  std::optional<Json> known;            ///< report of an earlier conversion that is still valid
  std::optional<ConvertResult> result;  ///< set if there is no earlier report
  std::exception_ptr error;             ///< set if the conversion failed
  bool is_kept = false;                 ///< to be stored in the cache
  std::vector<std::string> warnings;    ///< not yet printed
};

/// Stores a failure in the outcome.
ConvertOutcome convert_one(const ConvertRequest& request, const ConvertJob& job, const ConversionCache* cache,
                           const ConvertOptions& options) {
  ConvertOutcome out;
  try {
    if (cache != nullptr) out.key = cache->key_of(job.input, job.output);
    if (cache != nullptr && out.key) out.known = cache->find(*out.key, job.output);
    if (out.known) return out;
    out.result = convert(job.input, job.output, options);
    const bool is_good = exit_code(*out.result, request.options) == 0 && out.result->written;
    // The cache must not attribute a result to files that replaced its inputs during the conversion.
    out.is_kept = cache != nullptr && out.key && is_good && cache->key_of(job.input, job.output) == out.key;
  } catch (...) {
    out.error = std::current_exception();
  }
  return out;
}

/// Reports one model and returns its exit code. `others` collects results and is nullptr for a single model. Rethrows its exception.
int report_one(const ConvertRequest& request, const Common& common, const ConvertJob& job, ConvertOutcome& outcome, ConversionCache* cache,
               ResultsToVerify* others, Json& documents) {
  for (const std::string& warning : outcome.warnings) log_warning(warning);
  if (outcome.error) std::rethrow_exception(outcome.error);
  if (outcome.known) return report_known(common, job, std::move(*outcome.known), documents);
  const ConvertResult& result = *outcome.result;
  Json report = common.json || outcome.is_kept ? convert_json(result) : Json();
  if (outcome.is_kept) cache->store(*outcome.key, result, report);
  if (common.json) {
    documents.add(std::move(report));
  } else {
    print_result(request, common, job, result, others == nullptr);
  }
  if (others != nullptr) others->add(request, job, result);
  print_refusal(request, job, result, common.verbose);
  return exit_code(result, request.options);
}

/// Converts several models in parallel, one thread each: most are too small to gain from a second thread.
std::vector<ConvertOutcome> convert_together(const ConvertRequest& request, std::span<const ConvertJob> jobs, const ConversionCache* cache,
                                             int threads) {
  Progress progress;
  std::atomic<int64_t> done{0};
  std::vector<ConvertOutcome> outcomes(jobs.size());
  ConvertOptions options = request.options;
  options.threads = 1;
  parallel_for(std::ssize(jobs), threads, [&](int64_t i) {
    HeldWarnings warnings;
    outcomes[as_size(i)] = convert_one(request, jobs[as_size(i)], cache, options);
    outcomes[as_size(i)].warnings = warnings.take();
    progress.steps("converting", ++done, std::ssize(jobs));
  });
  return outcomes;
}

/// Converts one model with all threads.
ConvertOutcome convert_alone(const ConvertRequest& request, const ConvertJob& job, const ConversionCache* cache) {
  Progress progress;
  ConvertOptions options = request.options;
  options.save.progress = [&](int64_t done, int64_t total) { progress.bytes("writing", done, total); };
  options.verification.progress = [&](std::string_view what, int64_t done, int64_t total) { progress.steps(what, done, total); };
  return convert_one(request, job, cache, options);
}

}  // namespace

int convert_all(const ConvertRequest& request, const Common& common, std::span<const ConvertJob> jobs, ConversionCache* cache,
                Json& documents) {
  // Results are held until they can be reported in order, at most this many per thread. Models run one at a time with --verify, which uses
  // all threads itself, and with -v, which shows the times of one model.
  constexpr int kTogether = 16;
  const int threads = threads_or_two(common.threads);
  const bool is_shared = threads > 1 && jobs.size() > 1 && !request.options.verify && request.options.opset == 0 && !common.verbose;
  const std::size_t together = is_shared ? as_size(threads * kTogether) : 1;
  int worst = 0;
  Failures failures(jobs.size(), common.verbose);
  ResultsToVerify results;
  for (std::size_t begin = 0; begin < jobs.size(); begin += together) {
    const std::span part = jobs.subspan(begin, std::min(together, jobs.size() - begin));
    std::vector<ConvertOutcome> outcomes = is_shared ? convert_together(request, part, cache, threads)
                                                     : std::vector<ConvertOutcome>{convert_alone(request, part.front(), cache)};
    for (std::size_t i = 0; i < part.size(); ++i) {
      try {
        worst =
            worse_code(worst, report_one(request, common, part[i], outcomes[i], cache, jobs.size() > 1 ? &results : nullptr, documents));
      } catch (...) {
        // One failing model does not stop the rest. An interruption or a closed pipe does.
        const Failure failure = current_failure();
        if (is_pipe_closed() || failure.is_interruption()) throw;
        failures.print(failure);
        documents.add(Json().set("input", part[i].input).set("written", false).set("error", error_json(failure)));
        worst = worse_code(worst, failure.code);
      }
    }
  }
  failures.print_hints();
  if (!common.json && !common.quiet) {
    write_output(in_locale(next_text({.verify = results.command(request), .undo = {}}, {.width = output_width()})));
  }
  return worst;
}

}  // namespace relayout::cli
