// Declares the options of convert, refuses those that contradict each other, and converts models one by one or side by side.

#include <exception>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/positions.h"
#include "base/threads.h"
#include "cli/common/help.h"
#include "cli/common/process.h"
#include "cli/common/terminal.h"
#include "cli/convert/convert.h"
#include "cli/verify/report.h"
#include "relayout/pass_options.h"
#include "relayout/verify.h"

namespace relayout::cli {
namespace {

// Which models are meant, and what is done with them.
constexpr Forms kNamed = 1, kTree = 2, kConverts = 4, kLists = 8, kListsPasses = 16;
constexpr Forms kAnything = kConverts | kLists | kListsPasses;

/// --list-passes
void list_passes(bool json) {
  if (json) {
    const auto entry = [](const PassInfo& pass) {
      return Json().set("name", pass.name).set("summary", pass.summary).set("default", pass.on_by_default);
    };
    return write_document(Json().set("schema", "relayout.passes/1").set("passes", Json::list(available_passes(), entry)), 0);
  }
  write_output(in_locale(joined(available_passes(), "", [](const PassInfo& pass) {
    return explained(pass.name, std::string(pass.summary) + (pass.on_by_default ? "" : " (on request)"), output_width());
  })));
}

/// Refuses requests without a meaning.
void check(const ConvertRequest& request, const Common& common) {
  const auto refuse = [](const std::string& message) { fail(ErrorKind::usage, message); };
  const bool has_tree = !request.cases.tree.empty();
  if (has_tree && !request.inputs.empty()) refuse("--suite takes its models from the tree: name no others");
  if (request.inputs.empty() && !has_tree) refuse("convert needs MODEL...; see relayout convert --help");
  if (request.inputs.size() > 1 && !request.output.empty()) refuse("several models go into a folder: --out-dir DIR instead of --output");
  if (request.inputs.size() > 1 && request.out_dir.empty() && !request.options.save.in_place && !request.options.dry_run) {
    refuse("several models need --out-dir DIR (or --in-place)");
  }
  const bool reads_stream = std::ranges::find(request.inputs, kStream) != request.inputs.end();
  if (reads_stream && request.output.empty()) refuse("a model from standard input needs --output");
  if (!request.cache.empty() && (reads_stream || request.output == kStream))
    refuse("--cache is for files, not for standard input or output");
  if (common.json && request.output == kStream) refuse("--json and --output - both want standard output");
  if (request.output == kStream && output_is_terminal() && format_of(request.output_format) == FileFormat::automatic) {
    refuse("standard output is a terminal: a model would not be readable there; name a file, or lead it into a pipe");
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(request.output, ignored)) {
    fail(ErrorKind::io, escape(request.output) + ": is a directory", "--out-dir " + shell_word(request.output) + " writes into it");
  }
  const bool writes_text = format_by_name(request.output) != FileFormat::binary;
  if (writes_text && request.external_data != "auto") refuse("--external-data has no effect on a textual model");
}

/// Refuses options for passes of which none runs.
void check_passes(const OptionSet& options, const ConvertRequest& request) {
  struct Concern {
    std::string_view option;
    std::vector<std::string_view> passes;  ///< one of these has to run
  };
  std::vector<std::string_view> layout = {"conv-weights-layout"};
  if (request.layout == "contiguous") layout.insert(layout.end(), {"export-io", "export-transposes"});
  const std::vector<Concern> concerns = {{"--layout", layout},
                                         {"--include-1d", {"conv-weights-layout"}},
                                         {"--precision", {"precision"}},
                                         {"--int32", {"narrow-integers"}},
                                         {"--set-dim", {"set-dims"}},
                                         {"--set-shape", {"set-dims"}},
                                         {"--free-dim", {"set-dims"}},
                                         {"--input-u8", {"byte-input", "undo-io"}},
                                         {"--output-u8", {"byte-output", "undo-io"}},
                                         {"--undo-io", {"undo-io"}},
                                         {"--rename", {"rename"}},
                                         {"--share-weights", {"share-weights"}},
                                         {"--scramble", {"scramble"}},
                                         {"--strip", {"strip"}},
                                         {"--io", {"export-io"}},
                                         {"--emit", {"export-transposes"}}};
  const std::vector<std::string>&passes = request.options.passes, &skipped = request.options.skip;
  const auto runs = [&](std::string_view pass) {
    if (pass == "conv-weights-layout" && request.layout == "keep") return false;
    return (passes.empty() || std::ranges::find(passes, pass) != passes.end()) && std::ranges::find(skipped, pass) == skipped.end();
  };
  for (const Concern& concern : concerns) {
    const bool is_kept = concern.option == "--layout" && request.layout == "keep";  // has the same effect as no pass
    if (is_kept || !options.is_given(concern.option) || std::ranges::any_of(concern.passes, runs)) continue;
    fail(ErrorKind::usage, std::string(concern.option) + " has no effect: pass " + quote(concern.passes.front()) + " does not run");
  }
}

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
  const ReportStyle style = style_of(common, to_error);
  const std::string text = text_of(conversion_report(result, request.options.require_all_folded && !result.all_folded), style);
  const std::string verdict = result.verification ? text_of(verify_report(*result.verification, false), style) : "";
  if (to_error) return write_error(text + verdict);
  write_report(text);
  if (!common.quiet && is_alone) write_output(in_locale(next_text(next_steps(request, job, result), style)));
  write_report(verdict);
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

/// Converts all models, reports each in order and returns the worst exit code. `documents` receives the entry of each model that has one.
/// `cache` may be nullptr.
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

int run(ConvertRequest& request, const Common& common) {
  if (request.options.verify || request.options.opset > 0) keep_freed_pages();
  if (request.list_passes) {
    list_passes(common.json);
    return 0;
  }
  check(request, common);
  read_words(request);
  request.options.threads = common.threads;
  if (request.cases.list) {
    print_names(chosen_part(find_models(request.cases.tree, request.out_dir), request.cases), request.cases, common.json);
    return 0;
  }
  const std::vector<ConvertJob> jobs = jobs_of(request);
  std::optional<ConversionCache> cache;
  if (!request.cache.empty()) cache.emplace(request.cache, request.facts);
  Json documents = Json::array();
  const int worst = convert_all(request, common, jobs, cache ? &*cache : nullptr, documents);
  if (common.json) write_document(Json().set("schema", "relayout.convert/1").set("models", std::move(documents)), worst);
  return worst;
}

void declare_passes(OptionSet& options, ConvertRequest& request) {
  ConvertOptions& convert = request.options;
  PassOptions& passes = convert.rewrite;
  options.group("Passes", kConverts);
  options.toggle("fold", passes.fold, "fold BatchNormalization into convolutions (default: --fold)");
  options.flag("--simplify", passes.simplify, "evaluate constant expressions, remove nodes that have no effect");
  options.choice("--layout", {"channels-last", "contiguous", "keep"}, request.layout,
                 "store convolution weights in this layout (default: channels-last); contiguous undoes it");
  options.text("--io", "nhwc[:NAME,...]", request.io, "take and give images, or the named inputs and outputs, channels-last");
  declare_byte_options(options, request.pixels, kConverts);
  declare_mean_options(options, request.pixels, kConverts, {"--input-u8"});
  declare_byte_outputs(options, request.output_pixels, kConverts);
  options
      .flag("--undo-io", passes.undo_io,
            "bring inputs and outputs back as they were before --io nhwc, and before --input-u8 and --output-u8 of these names and numbers")
      .excludes({"--io", "--swap-channels", "--output-swap-channels"})
      .excludes({"--set-dim", "--set-shape", "--free-dim", "--rename", "--precision"}, "convert the result of --undo-io");
  options.choice("--emit", {"transposes"}, request.emit, "write the borders of the layout plan as Transposes, which other runtimes cancel");
  options.choice("--when", {"auto", "always", "never"}, request.when, "plan convolutions channels-last; auto (default): where it pays")
      .needs({"--emit"});
  options.choice("--precision", {"bf16", "fp16", "fp32"}, request.precision,
                 "compute in this type, fragile operators in 32 bits; fp32 converts back (relayout help precision)");
  options.flag("--io-precision", passes.io_precision, "with --precision: convert graph inputs and outputs too").needs({"--precision"});
  options.flag("--int32", passes.narrow_integers,
               "take and compute int64 in 32 bits where that gives the same numbers, for runtimes without it");
  options.assignments("--set-dim", "N=1", request.set_dims, "give a free dim this size, wherever the model names it");
  options.assignments("--set-shape", "NAME=1,3,224,224", request.set_shapes, "give an input these dims, and constants that hold old ones");
  options.assignments("--free-dim", "NAME:AXIS=N", request.free_dims, "make a dim of an input free, under this name");
  options.assignments("--rename", "NAME=NEW", request.renames, "give an input, output or free dim another name");
  options.flag("--share-weights", passes.share_weights, "store equal weights once");
  options.integer("--scramble", "SEED", 0, request.scramble, "replace weights by random numbers like them, to show a model without its own")
      .excludes({"--verify", "--opset"}, "the result computes something else on purpose");
  options.list("--strip", "doc,metadata[:GLOB]", request.strip, "remove descriptions, and metadata whose keys match", ',');
  options.flag("--include-1d", passes.include_1d, "move weights of 1-D convolutions too");
  options.list("--pass", "NAME", convert.passes, "run these passes only (repeatable, or separated by commas); none: copy", ',')
      .excludes({"--simplify", "--fold", "--skip"}, "named passes are all that runs");
  options.list("--skip", "NAME", convert.skip, "run all but these passes", ',');
  options.list("--only", "GLOB", passes.only, "take only nodes whose name matches; may be given several times");
  options.list("--exclude", "GLOB", passes.exclude, "leave out nodes whose name matches; may be given several times");
  options.flag("--freeze", passes.freeze, "treat initializers that callers could override as constants");
  options.flag("--require-all-folded", convert.require_all_folded,
               "write nothing and exit 1 when a BatchNormalization stays that --exclude and --only do not leave out");
  options.integer("--stop-after", "N", 0, passes.stop_after, "").only(kAnything);
  options.flag("--verify", convert.verify, "verify the result against MODEL: write nothing and exit 1 when it is not the same");
  options.assignments("--dim", "N=2", request.dims, "with --verify and --emit: set the size of a named dimension")
      .needs({"--verify", "--emit"}, "--set-dim gives the result a size");
  options.assignments("--shape", "NAME=1,3,224,224", request.shapes, "with --verify and --emit: set the dims of an input")
      .needs({"--verify", "--emit"}, "--set-shape gives the result dims");
  options.flag("--list-passes", request.list_passes, "list the passes and end").only(kAnything);
}

void declare_targets(OptionSet& options, ConvertRequest& request) {
  options.text("-o, --output", "FILE", request.output, "write the result here; - is standard output (default: NAME.cl.onnx beside MODEL)")
      .excludes({"--out-dir", "--in-place"})
      .beside_results();
  options.text("--out-dir", "DIR", request.out_dir, "write results into this folder, as NAME.cl.onnx; make it where it is missing")
      .only(kConverts | kLists)
      .because(kListsPasses, "")
      .beside_results();
  options.text("--suite", "TREE", request.cases.tree, "convert every .onnx below TREE, into folders of the same names below --out-dir")
      .only(kConverts | kLists)
      .because(kListsPasses, "")
      .needs({"--out-dir", "--list"})
      .excludes({"--output", "--in-place"})
      .beside_results();
  declare_case_choice(options, request.cases, {.trees = kTree, .list = kLists});
  constexpr std::string_view kNothing = "nothing is converted";
  options
      .text("--cache", "DIR", request.cache, "note conversions in DIR: repeat none whose files, options, program and result are unchanged")
      .because(kLists | kListsPasses, kNothing)
      .idle_with({"--dry-run"}, kNothing)
      .excludes({"--in-place", "--share-data"}, "a later run must find models and results as they were")
      .beside_results();
  options.flag("--in-place", request.options.save.in_place, "replace MODEL by the result").excludes({"--out-dir"});
}

void declare_files(OptionSet& options, ConvertRequest& request) {
  ConvertOptions& convert = request.options;
  options.group("Files", kConverts);
  declare_targets(options, request);
  options.choice("--format", {"auto", "onnx", "onnxtxt", "textproto", "json"}, request.format,
                 "read MODEL as this (default: by its extension, then by how it begins)");
  options.choice("--output-format", {"auto", "onnx", "onnxtxt", "textproto", "json"}, request.output_format,
                 "write the result as this (default: by its extension)");
  options.text("--external-data", "auto|always|never[:BYTES]", request.external_data,
               "write weights (of at least BYTES) into a file beside the result; auto: as in MODEL, or above 2 GiB");
  options.flag("--share-data", convert.save.share_data, "leave unchanged weights in MODEL's data files, which the result then needs too");
  options.integer("--opset", "N", 1, convert.opset, "move to this opset by ONNX's converter, and verify the result as with --verify");
  options.integer("--ir-version", "N", 1, convert.ir_version, "declare this version of the format");
  options.flag("--allow-newer-opset", convert.load.allow_newer_opset, "accept opsets newer than relayout knows");
  options.flag("--sync", convert.save.sync, "flush the result to the disk before it gets its name");
  options.flag("--stamp", convert.stamp, "note version and passes in the metadata of the result");
  options.group("Report", kConverts);
  options.flag("--dry-run", convert.dry_run, "report the changes, write nothing");
}

std::function<int()> prepare_convert(OptionSet& options, const Common& common) {
  auto request = std::make_shared<ConvertRequest>();
  options.positional("MODEL...", request->inputs, 0, std::string::npos, "ONNX files; - is standard input");
  constexpr std::string_view kWhy = "lists convert nothing";
  options.forms({{kNamed}, {.bit = kTree, .chooser = "--suite"}});
  options.forms(
      {{kConverts}, {.bit = kListsPasses, .chooser = "--list-passes", .why = kWhy}, {.bit = kLists, .chooser = "--list", .why = kWhy}});
  declare_passes(options, *request);
  declare_files(options, *request);
  return [request, &options, &common] {
    check_passes(options, *request);
    request->facts = program_facts();
    const auto given = options.given_for(0);
    request->facts.insert(request->facts.end(), given.begin(), given.end());
    return run(*request, common);
  };
}

}  // namespace

const Command kConvert = {
    "convert",
    "fold BatchNormalization into convolutions and store their weights channels-last",
    "MODEL [-o FILE] [OPTIONS]\nMODEL... --out-dir DIR [OPTIONS]\n--suite TREE --out-dir DIR [OPTIONS]",
    "relayout convert resnet50.onnx                writes resnet50.cl.onnx\n"
    "relayout convert net.onnx --layout keep       folds only\n"
    "relayout convert *.onnx --out-dir converted   several, into a folder\n"
    "relayout convert --suite originals --out-dir converted --shard 1/4\n"
    "relayout convert net.cl.onnx -o net.onnx --layout contiguous\n"
    "relayout convert net.onnx --precision fp16    and computes in 16 bits\n"
    "relayout convert net.onnx --io nhwc --input-u8 image --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225\n"
    "relayout convert net.onnx --dry-run -v        every verdict, nothing written\n"
    "relayout convert - -o - < net.onnx > out.onnx",
    prepare_convert,
};

}  // namespace relayout::cli
