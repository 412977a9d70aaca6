// `relayout convert`: options, which file becomes which, and what is said of each.
#include "relayout/convert.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/cpus.h"
#include "base/interrupt.h"
#include "base/locale.h"
#include "base/log.h"
#include "base/positions.h"
#include "base/text.h"
#include "base/threads.h"
#include "cli/command.h"
#include "cli/conversion_cache.h"
#include "cli/conversion_words.h"
#include "cli/destinations.h"
#include "cli/failure.h"
#include "cli/help.h"
#include "cli/layout_report.h"
#include "cli/options.h"
#include "cli/program_facts.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/suite.h"
#include "cli/terminal.h"
#include "cli/verification_failure.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/suite.h"
#include "relayout/verify.h"
#include "report/json.h"

namespace relayout::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kStream[] = "-";

/// What the command line says, beyond what the library wants to know.
struct Request {
  std::vector<std::string> inputs;
  std::string output, out_dir, cache;
  CaseWords cases;  ///< of a tree
  std::string format = "auto", output_format = "auto", when = "auto";
  std::string layout = "channels-last", io, emit, precision, external_data = "auto";
  bool list_passes = false;
  Assignments dims, shapes;
  std::vector<std::string> facts;  ///< what results depend on besides the models
  ConvertOptions options;
};

struct Job {
  std::string input, output;
};

std::string list_of_passes() {
  std::string out;
  for (const PassInfo& pass : available_passes()) {
    out += explained(pass.name, std::string(pass.summary) + (pass.on_by_default ? "" : " (on request)"), output_width());
  }
  return out;
}

FileFormat format_of(const std::string& word) {
  if (word == "onnx") return FileFormat::binary;
  if (word == "onnxtxt") return FileFormat::onnx_text;
  if (word == "textproto") return FileFormat::proto_text;
  if (word == "json") return FileFormat::json;
  return FileFormat::automatic;
}

Json passes_json() {
  Json passes = Json::array();
  for (const PassInfo& pass : available_passes()) {
    Json entry = Json::object();
    passes.add(std::move(entry.set("name", pass.name).set("summary", pass.summary).set("default", pass.on_by_default)));
  }
  Json out = Json::object();
  out.set("schema", "relayout.passes/1").set("passes", std::move(passes));
  return out;
}

/// Requests that no run could make sense of.
void check(const Request& request, const Common& common) {
  const auto refuse = [](const std::string& message) { fail(ErrorKind::usage, message); };
  const bool has_tree = !request.cases.tree.empty();
  if (has_tree && !request.inputs.empty()) refuse("--suite stands alone: no models beside it");
  if (request.inputs.empty() && !has_tree) refuse("convert needs MODEL...; see relayout convert --help");
  if (!request.output.empty() && !request.out_dir.empty()) refuse("--output and --out-dir exclude each other");
  if (request.options.in_place && !request.out_dir.empty()) refuse("--in-place and --out-dir exclude each other");
  if (request.inputs.size() > 1 && !request.output.empty()) refuse("several models go into a folder: --out-dir DIR instead of --output");
  if (request.inputs.size() > 1 && request.out_dir.empty() && !request.options.in_place && !request.options.dry_run) {
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
  if (request.options.in_place && !request.output.empty()) refuse("--in-place and --output exclude each other");
  const bool writes_text = format_by_name(request.output) != FileFormat::binary;
  if (writes_text && request.external_data != "auto") refuse("--external-data has no effect on a textual model");
}

/// Every model of a tree, into the folder of the same name below another.
std::vector<Job> jobs_of_tree(const Request& request) {
  std::error_code ignored;
  const fs::path tree = request.cases.tree, out = request.out_dir;
  if (fs::equivalent(tree, out, ignored)) {
    fail(ErrorKind::usage, "--suite and --out-dir are one folder: the next run would take results for originals");
  }
  const std::vector<std::string> names = find_models(tree, out);
  if (names.empty()) fail(ErrorKind::invalid, escape(tree.string()) + ": no .onnx below it");
  std::vector<Job> jobs;
  std::set<std::string> outputs;
  for (const std::string& name : chosen_part(names, request.cases)) {
    const fs::path input = tree / name;
    const fs::path folder = (out / name).parent_path();
    jobs.push_back({input.string(), (folder / default_output(input).filename()).string()});
    if (!outputs.insert(jobs.back().output).second) fail(ErrorKind::usage, "two models would become " + quote(jobs.back().output));
  }
  return jobs;
}

/// Which file becomes which.
std::vector<Job> jobs_of(const Request& request) {
  if (!request.out_dir.empty() && fs::exists(request.out_dir) && !fs::is_directory(request.out_dir)) {
    fail(ErrorKind::io, escape(request.out_dir) + ": is not a folder");
  }
  if (!request.cases.tree.empty()) return jobs_of_tree(request);
  std::vector<Job> jobs;
  std::set<std::string> outputs;
  for (const std::string& input : request.inputs) {
    Job job{input, request.output};
    if (job.output.empty()) job.output = request.options.in_place ? input : default_output(input).string();
    if (!request.out_dir.empty()) {
      job.output = (fs::path(request.out_dir) / fs::path(job.output).filename()).string();
    }
    if (!outputs.insert(job.output).second) fail(ErrorKind::usage, "two models would become " + quote(job.output));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

/// What standard error says of a result that was withheld.
void print_refusal(const Request& request, const Job& job, const ConvertResult& result, bool verbose) {
  const int code = exit_code(result, request.options);
  if (code == 0) return;
  if (const auto failure = result.verification ? failure_of(*result.verification) : std::nullopt) return print_failure(*failure, verbose);
  const std::string why = result.verification ? "verification says " + std::string(to_string(result.verification->outcome))
                                              : "not every BatchNormalization folds";
  print_failure({code, escape(job.input) + ": " + why + ", nothing was written", ""}, verbose);
}

/// Whether a command without --format would read the file.
bool is_read_by_name(const std::string& path, const std::string& format) {
  return format_of(format) == FileFormat::automatic || format_of(format) == format_by_name(path);
}

bool is_done(const ConvertResult& result, std::string_view pass) {
  return std::ranges::any_of(result.findings,
                             [&](const Finding& finding) { return finding.verdict == Verdict::done && finding.pass == pass; });
}

/// Whether other commands can be given the files of a job as they are called.
bool can_be_named(const Request& request, const Job& job) {
  const bool is_readable = is_read_by_name(job.input, request.format) && is_read_by_name(job.output, request.output_format);
  const bool is_printable = in_locale(printable(job.input + job.output)) == job.input + job.output;
  return is_readable && is_printable && job.output != kStream && job.input != kStream && job.input != job.output;
}

/// What `verify` needs to be told of a result; nothing where it has been verified or cannot be.
std::optional<VerifyNeeds> verify_needs(const Request& request, const Job& job, const ConvertResult& result) {
  if (!result.written || result.verification || !can_be_named(request, job)) return std::nullopt;
  VerifyNeeds needs{.images_last = is_done(result, "export-io"), .newer_opset = request.options.load.allow_newer_opset};
  if (is_done(result, "precision") && request.precision != "fp32") needs.precision = request.precision;
  needs.other_types = request.options.io_precision && request.precision == "fp32";
  return needs;
}

/// What to do next with the result of one model, as commands that work as they stand.
NextSteps next_steps(const Request& request, const Job& job, const ConvertResult& result) {
  NextSteps next;
  if (!result.written || !can_be_named(request, job)) return next;
  if (result.layout == WeightsLayout::channels_last && is_done(result, "conv-weights-layout")) {
    next.undo = undo_command(job.output, {.keeps_io = request.options.export_io, .newer_opset = request.options.load.allow_newer_opset});
  }
  if (const auto needs = verify_needs(request, job, result)) next.verify = verify_command(job.input, job.output, *needs);
  return next;
}

/// Results of several models that are to be verified, as they come.
class ResultsToVerify {
 public:
  void add(const Request& request, const Job& job, const ConvertResult& result) {
    const auto needs = verify_needs(request, job, result);
    if (!needs) return;
    done_.push_back(job);
    if (!needs->precision.empty()) needs_.precision = needs->precision;
    needs_.images_last = needs_.images_last || needs->images_last;
    needs_.other_types = needs_.other_types || needs->other_types;
    needs_.newer_opset = needs_.newer_opset || needs->newer_opset;
  }

  /// One command for all; empty where none covers them.
  [[nodiscard]] CommandWords command(const Request& request) const {
    if (done_.empty() || request.out_dir.empty()) return {};
    const std::string& tree = request.cases.tree;
    if (!tree.empty()) return are_all_below(tree, request.out_dir) ? verify_tree_command(tree, request.out_dir, needs_) : CommandWords();
    const fs::path parent = fs::path(done_.front().input).parent_path();
    const std::string folder = parent.empty() ? "." : parent.string();
    return are_named_by(folder) ? verify_all_command(folder, outputs(), needs_) : CommandWords();
  }

 private:
  static constexpr std::size_t kMostNamed = 16;  ///< of a command that people are to read

  [[nodiscard]] std::vector<std::string> outputs() const {
    std::vector<std::string> out;
    for (const Job& job : done_) out.push_back(job.output);
    return out;
  }
  /// Whether they are all models of a tree, lie where `verify --against` finds them, and nothing else does.
  [[nodiscard]] bool are_all_below(const fs::path& tree, const fs::path& against) const {
    std::set<fs::path> wanted, made, there;
    for (const std::string& name : find_models(tree, against)) {
      wanted.insert((against / fs::path(name).parent_path() / default_output(name).filename()).lexically_normal());
    }
    for (const Job& job : done_) made.insert(fs::path(job.output).lexically_normal());
    for (const std::string& name : find_models(against)) there.insert((against / name).lexically_normal());
    return wanted == made && there == made;
  }
  /// Whether verify_all_command() leads from each to its original.
  [[nodiscard]] bool are_named_by(const std::string& folder) const {
    const bool has_braces = folder.find_first_of("{}") != std::string::npos;
    return !has_braces && done_.size() <= kMostNamed && std::ranges::all_of(done_, [&](const Job& job) {
      return fs::path(model_name_of(folder + "/{stem}.onnx", job.output)).lexically_normal() == fs::path(job.input).lexically_normal();
    });
  }

  std::vector<Job> done_;
  VerifyNeeds needs_;
};

/// Of one of several models there is no next step: those of all come at the end.
void print_result(const Request& request, const Common& common, const Job& job, const ConvertResult& result, bool is_alone) {
  const bool to_error = job.output == kStream;
  ReportStyle style{.verbose = common.verbose, .color = !to_error && output_has_colors(), .quiet = common.quiet};
  style.refusals = request.options.require_all_folded && !result.all_folded;
  style.width = to_error ? 0 : output_width();
  const std::string text = convert_text(result, style);
  if (to_error) return write_error(text);
  write_report(text);
  if (!common.quiet && is_alone) write_output(in_locale(next_text(next_steps(request, job, result), style)));
}

/// A result that is there already.
int report_known(const Common& common, const Job& job, Json report, Json& documents) {
  if (common.json) {
    documents.add(std::move(report.set("input", job.input).set("output", job.output).set("source", "cache")));
  } else if (!common.quiet) {
    write_report(in_locale(escape(job.input) + " → " + escape(job.output) + "   converted before, nothing has changed\n"));
  }
  return 0;
}

/// What became of one model, before anything is said of it.
struct Outcome {
  std::optional<std::string> key;       ///< of the cache
  std::optional<Json> known;            ///< the report of an earlier conversion that still holds
  std::optional<ConvertResult> result;  ///< else
  std::exception_ptr error;             ///< or this
  bool is_kept = false;                 ///< in the cache
  std::vector<std::string> warnings;    ///< that are not said yet
};

void try_to_convert(const Request& request, const Job& job, const ConversionCache* cache, const ConvertOptions& options, Outcome& out) {
  if (cache != nullptr) out.key = cache->key_of(job.input, job.output);
  if (cache != nullptr && out.key) out.known = cache->find(*out.key, job.output);
  if (out.known) return;
  out.result = convert(job.input, job.output, options);
  const bool is_good = exit_code(*out.result, request.options) == 0 && out.result->written;
  // A result belongs to the files that were read, not to those that took their place meanwhile.
  out.is_kept = cache != nullptr && out.key && is_good && cache->key_of(job.input, job.output) == out.key;
}

/// What stops it is part of the outcome.
Outcome convert_one(const Request& request, const Job& job, const ConversionCache* cache, const ConvertOptions& options) {
  Outcome out;
  try {
    try_to_convert(request, job, cache, options, out);
  } catch (...) {
    out.error = std::current_exception();
  }
  return out;
}

/// Says what became of a model, one of several where there are `others`; its exit code. Throws what stopped it.
int report_one(const Request& request, const Common& common, const Job& job, Outcome& outcome, ConversionCache* cache,
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

/// Several models side by side, a thread each: most are too small for two threads to gain anything within one.
std::vector<Outcome> convert_together(const Request& request, std::span<const Job> jobs, const ConversionCache* cache, int threads) {
  Progress progress(true);
  std::atomic<int64_t> done{0};
  std::vector<Outcome> outcomes(jobs.size());
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

/// One model alone, with all threads.
Outcome convert_alone(const Request& request, const Job& job, const ConversionCache* cache) {
  Progress progress(true);
  ConvertOptions options = request.options;
  options.progress = [&](int64_t done, int64_t total) { progress.bytes("writing", done, total); };
  options.verification.progress = [&](std::string_view what, int64_t done, int64_t total) { progress.steps(what, done, total); };
  return convert_one(request, job, cache, options);
}

Json failure_json(const Job& job, const Failure& failure) {
  Json out = Json::object();
  out.set("input", job.input).set("written", false).set("error", error_json(failure));
  return out;
}

/// All models, each reported in order; the worst exit code.
int convert_all(const Request& request, const Common& common, std::span<const Job> jobs, ConversionCache* cache, Json& documents) {
  // Results wait for each other in the order of reports: not more of them than this for each thread. Verifying uses all threads by itself,
  // and the times that -v shows are of one model.
  constexpr int kTogether = 16;
  const int threads = common.threads > 0 ? common.threads : std::min(2, available_cpus());
  const bool is_shared = threads > 1 && jobs.size() > 1 && !request.options.verify && !common.verbose;
  const std::size_t together = is_shared ? as_size(threads * kTogether) : 1;
  int worst = 0;
  Failures failures(jobs.size(), common.verbose);
  ResultsToVerify results;
  for (std::size_t begin = 0; begin < jobs.size(); begin += together) {
    const std::span part = jobs.subspan(begin, std::min(together, jobs.size() - begin));
    std::vector<Outcome> outcomes =
        is_shared ? convert_together(request, part, cache, threads) : std::vector<Outcome>{convert_alone(request, part.front(), cache)};
    for (std::size_t i = 0; i < part.size(); ++i) {
      try {
        worst =
            worse_code(worst, report_one(request, common, part[i], outcomes[i], cache, jobs.size() > 1 ? &results : nullptr, documents));
      } catch (...) {
        // One model that fails does not stop the rest; an interruption does, or a reader that has gone.
        const Failure failure = current_failure();
        if (is_pipe_closed() || failure.is_interruption()) throw;
        failures.print(failure);
        documents.add(failure_json(part[i], failure));
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

Json document_of(Json models, int code) {
  Json out = Json::object();
  out.set("schema", "relayout.convert/1").set("models", std::move(models)).set("exit_code", code);
  return out;
}

int run(Request& request, const Common& common) {
  if (request.list_passes) {
    if (common.json) {
      write_document(passes_json(), 0);
    } else {
      write_output(in_locale(list_of_passes()));
    }
    return 0;
  }
  check(request, common);
  request.options.threads = common.threads;
  request.options.make_folders = !request.out_dir.empty();
  request.options.verification.dims = dims_of(request.dims);
  request.options.verification.shapes = shapes_of(request.shapes);
  request.options.sizes = {request.options.verification.dims, request.options.verification.shapes};
  request.options.when = choice_of(request.when);
  request.options.layout = layout_of(request.layout);
  request.options.precision = precision_of(request.precision);
  request.options.export_transposes = !request.emit.empty();
  read_io(request.io, request.options);
  read_external_data(request.external_data, request.options);
  request.options.load.format = format_of(request.format);
  request.options.output_format = format_of(request.output_format);
  if (request.cases.list) {
    print_names(chosen_part(find_models(request.cases.tree, request.out_dir), request.cases), request.cases, common.json);
    return 0;
  }
  const std::vector<Job> jobs = jobs_of(request);
  std::optional<ConversionCache> cache;
  if (!request.cache.empty()) cache.emplace(request.cache, request.facts);
  Json documents = Json::array();
  const int worst = convert_all(request, common, jobs, cache ? &*cache : nullptr, documents);
  if (common.json) write_output(document_of(std::move(documents), worst).dump() + "\n");
  return worst;
}

void declare_passes(OptionSet& options, Request& request) {
  ConvertOptions& convert = request.options;
  options.group("What is done");
  options.toggle("fold", convert.fold, "fold BatchNormalization into convolutions (default: --fold)");
  options.flag("--simplify", convert.simplify, "evaluate what constants alone make, remove nodes that do nothing");
  options.choice("--layout", {"channels-last", "contiguous", "keep"}, request.layout,
                 "of convolution weights (default: channels-last); contiguous undoes it");
  options.text("--io", "nhwc[:NAME,...]", request.io, "inputs and outputs that are images (or those named) are handed over channels-last");
  options.choice("--emit", {"transposes"}, request.emit,
                 "write the borders of the layout plan as pairs of Transposes: they document it, other runtimes cancel them");
  options.choice("--when", {"auto", "always", "never"}, request.when,
                 "plan convolutions channels-last where it pays (default), always, or never");
  options.choice("--precision", {"bf16", "fp16", "fp32"}, request.precision,
                 "weights and activations of 32 bits in this type, fragile operators stay in 32 bits; fp32 goes back (and stands between "
                 "fp16 and bf16: what is in one 16-bit type does not become the other)");
  options.flag("--io-precision", convert.io_precision, "with --precision: graph inputs and outputs too (they keep their types otherwise)");
  options.flag("--include-1d", convert.include_1d, "weights of 1-D convolutions too");
  options.list("--pass", "NAME", convert.passes, "only these passes (several, or parted by commas); none: copy", ',');
  options.list("--skip", "NAME", convert.skip, "all but these passes", ',');
  options.list("--only", "GLOB", convert.only, "only nodes whose name matches; may be given several times");
  options.list("--exclude", "GLOB", convert.exclude, "no node whose name matches; may be given several times");
  options.flag("--freeze", convert.freeze, "treat initializers that callers could override as constants");
  options.flag("--require-all-folded", convert.require_all_folded,
               "when a BatchNormalization stays that --exclude or --only did not leave out: write nothing, exit 1");
  options.integer("--stop-after", "N", 0, convert.stop_after, "stop after N rewrites");
  options.hide_last();
  options.flag("--verify", convert.verify, "verify the result against MODEL; when it is not the same: write nothing, exit 1");
  options.assignments("--dim", "N=2", request.dims, "with --verify and --emit: size of a named dimension");
  options.assignments("--shape", "NAME=1,3,224,224", request.shapes, "with --verify and --emit: dims of an input");
  options.flag("--list-passes", request.list_passes, "list the passes and end");
}

void declare_files(OptionSet& options, Request& request) {
  ConvertOptions& convert = request.options;
  options.group("Files");
  options.text("-o, --output", "FILE", request.output, "write here, - is standard output (default: NAME.cl.onnx beside MODEL)");
  options.text("--out-dir", "DIR", request.out_dir, "write every MODEL into this folder, as NAME.cl.onnx; it is made where it is missing");
  options.text("--suite", "TREE", request.cases.tree, "with --out-dir: every .onnx below TREE, into folders of the same names below DIR");
  declare_case_choice(options, request.cases);
  options.text("--cache", "DIR", request.cache,
               "note there what was converted, and convert no model again whose files, options, program and result are the same");
  options.flag("--in-place", convert.in_place, "replace MODEL by the result");
  options.choice("--format", {"auto", "onnx", "onnxtxt", "textproto", "json"}, request.format,
                 "of MODEL (default: by its extension, then by how it begins)");
  options.choice("--output-format", {"auto", "onnx", "onnxtxt", "textproto", "json"}, request.output_format,
                 "of the result (default: by its extension)");
  options.text("--external-data", "auto|always|never[:BYTES]", request.external_data,
               "weights (of at least BYTES) into a file beside the result; auto: as MODEL has it, or above 2 GiB");
  options.flag("--share-data", convert.share_data,
               "leave unchanged external weights in MODEL's data files, which the result then needs too");
  options.flag("--allow-newer-opset", convert.load.allow_newer_opset, "take opsets newer than those that relayout knows");
  options.flag("--sync", convert.sync, "flush the result to the disk before it gets its name");
  options.flag("--stamp", convert.stamp, "note version and passes in the metadata of the result");
}

void declare_report(OptionSet& options, Request& request) {
  options.group("Report");
  options.flag("--dry-run", request.options.dry_run, "say what would be done and write nothing");
}

/// Options that would do nothing, or contradict each other.
void declare_rules(OptionSet& options) {
  options.excludes({"--output"}, {"--out-dir", "--in-place"});
  options.excludes({"--in-place"}, {"--out-dir"});
  options.excludes({"--cache"}, {"--in-place", "--share-data"}, "a later run must find models and results as they were");
  options.excludes({"--cache"}, {"--dry-run", "--list", "--list-passes"}, "nothing is converted");
  options.needs({"--suite"}, {"--out-dir", "--list"});
  options.needs({"--list", "--case", "--cases-from", "--shard", "--durations"}, {"--suite"});
  options.needs({"--null"}, {"--list"});
  options.excludes({"--suite"}, {"--output", "--in-place", "--list-passes"});
  options.needs({"--io-precision"}, {"--precision"});
  options.needs({"--dim", "--shape"}, {"--verify", "--emit"});
  options.needs({"--when"}, {"--emit"});
  options.excludes({"--pass"}, {"--simplify", "--fold", "--skip"}, "named passes are all that runs");
  options.excludes({"--list-passes"}, {"--out-dir"});
  options.excludes({"--list-passes", "--list"},
                   {"--output",
                    "--in-place",
                    "--verify",
                    "--dry-run",
                    "--pass",
                    "--skip",
                    "--simplify",
                    "--fold",
                    "--layout",
                    "--io",
                    "--emit",
                    "--when",
                    "--precision",
                    "--io-precision",
                    "--include-1d",
                    "--only",
                    "--exclude",
                    "--freeze",
                    "--require-all-folded",
                    "--dim",
                    "--shape",
                    "--format",
                    "--output-format",
                    "--external-data",
                    "--share-data",
                    "--allow-newer-opset",
                    "--sync",
                    "--stamp"},
                   "lists convert nothing");
}

std::function<int()> prepare(OptionSet& options, const Common& common) {
  auto request = std::make_shared<Request>();
  options.positional("MODEL...", request->inputs, 0, std::string::npos, "ONNX files; - is standard input");
  declare_passes(options, *request);
  declare_files(options, *request);
  declare_report(options, *request);
  declare_rules(options);
  return [request, &options, &common] {
    request->facts = program_facts();
    const auto given = options.given_except({"--output", "--out-dir", "--suite", "--case", "--cases-from", "--shard", "--durations",
                                             "--cache", "--config", "--json", "--quiet", "--verbose", "--threads"});
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
    "relayout convert net.onnx --dry-run -v        every verdict, nothing written\n"
    "relayout convert - -o - < net.onnx > out.onnx",
    prepare,
};

}  // namespace relayout::cli
