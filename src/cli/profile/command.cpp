// Declares the options of profile, and measures one model, two in turn, or one in several settings.

#include "base/positions.h"
#include "cli/common/options.h"
#include "cli/common/process.h"
#include "cli/common/terminal.h"
#include "cli/profile/profile.h"

namespace relayout::cli {
namespace {

constexpr int64_t kShownRows = 20;  ///< rows of a text: one screen with its header and sums

// What is measured.
constexpr Forms kOneModel = 1, kTwoModels = 2, kSweep = 4;

struct ProfileRequest {
  std::vector<std::string> models, threads;
  InputWords inputs;
  std::string mode = "optimized", until, by = "node", csv, trace, stacks, annotated, clock, slowdown, peak;
  ReportFiles files;
  int64_t top = -1;
  std::string trace_names = "op";
  bool strict = false;
  TableChoice table;
  ProfileOptions options;
};

constexpr std::string_view kMeasuredPeak = "measure";

/// Reads "measure" or "GFLOPS,GBS".
MachinePeak peak_of(const std::string& words, int threads) {
  if (words == kMeasuredPeak) return measure_peak(threads);
  const std::size_t comma = words.find(',');
  if (comma == std::string::npos) fail(ErrorKind::usage, "--peak " + escape(words) + ": neither GFLOPS,GBS nor measure");
  MachinePeak out;
  out.gflops = parse_real("--peak", words.substr(0, comma));
  out.gigabytes = parse_real("--peak", words.substr(comma + 1));
  if (!(out.gflops > 0 && out.gigabytes > 0)) fail(ErrorKind::usage, "--peak " + escape(words) + ": both must be more than 0");
  return out;
}

/// Reads the words of the command line into the library's types.
void read_words(ProfileRequest& request, bool is_text) {
  ProfileOptions& options = request.options;
  read_inputs(request.inputs, options);
  options.mode = request.mode == "as-written" ? Mode::as_written : request.mode == "reference" ? Mode::reference : Mode::optimized;
  if (!request.until.empty()) {
    options.until = parse_percent("--until", request.until);
    if (!(*options.until > 0)) fail(ErrorKind::usage, "--until " + escape(request.until) + ": must be more than 0");
  }
  if (!request.clock.empty()) options.clock = request.clock == "wall" ? TimeKind::wall : TimeKind::processor;
  options.traced_runs = request.trace.empty() ? 0 : kTracedRuns;
  if (request.peak != kMeasuredPeak && !request.peak.empty()) (void)peak_of(request.peak, 1);
  read_grouping(request.by, request.table);
  request.table.top = as_size(request.top >= 0 ? request.top : is_text ? kShownRows : 0);
}

ProfileOptions options_at(const ProfileRequest& request, const SweepSetting& setting) {
  ProfileOptions options = request.options;
  options.threads = setting.threads;
  options.dims = setting.dims;
  return options;
}

/// The lines of files for programs and people: all, unless --top says how many.
TableChoice whole_table(const ProfileRequest& request) {
  TableChoice out = request.table;
  if (request.top < 0) out.top = 0;
  return out;
}

int run_sweep(const ProfileRequest& request, const Common& common, const std::vector<SweepSetting>& settings, Progress& progress) {
  std::vector<Profile> profiles;
  for (const SweepSetting& setting : settings) profiles.push_back(profile(request.models.front(), options_at(request, setting)));
  progress.clear();
  return request.files.write(common, sweep_report(profiles));
}

std::string trace_contents(const ProfileRequest& request, const Common& common, const Profile& result) {
  const TraceText trace = trace_text(result, request.trace_names == "node");
  if (trace.left_out > 0 && !common.quiet) {
    write_error(escape(request.trace) + ": the first " + counted(trace.runs, "run") + "; " + counted(trace.left_out, "step") +
                " of later runs left out, which the table counts\n");
  }
  return request.trace.ends_with(".gz") ? gzip_text(trace.text) : trace.text;
}

void write_annotated(const ProfileRequest& request, const Common& common, const Profile& result) {
  if (request.annotated.empty()) return;
  const AnnotatedVersion version = annotate(request.models.front(), result, request.annotated, request.options.load);
  if (version.had == version.has || common.quiet) return;
  write_error(escape(request.annotated) + ": IR version " + std::to_string(version.has) + " instead of " + std::to_string(version.had) +
              ", because nodes hold no metadata before\n");
}

int run_one(const ProfileRequest& request, const Common& common, const SweepSetting& setting, Progress& progress) {
  Profile result = profile(request.models.front(), options_at(request, setting));
  if (!request.peak.empty()) result.peak = peak_of(request.peak, result.context.threads);
  progress.clear();
  const TableChoice whole = whole_table(request);
  const ProfileTable all = make_table(result, whole);  // tests the patterns before anything is written
  write_annotated(request, common, result);
  Report report = profile_report(result, request.table, whole);
  report.files = {{request.csv, [&] { return profile_csv(all); }},
                  {request.trace, [&] { return trace_contents(request, common, result); }},
                  {request.stacks, [&] { return collapsed_stacks(result); }}};
  return request.files.write(common, report);
}

int run_pair(const ProfileRequest& request, const Common& common, const SweepSetting& setting, Progress& progress) {
  std::optional<SlowdownGate> gate;
  if (!request.slowdown.empty()) gate = SlowdownGate{parse_percent("--fail-on-slowdown", request.slowdown), request.strict};
  const ProfileComparison result = profile(request.models[0], request.models[1], options_at(request, setting));
  progress.clear();
  return request.files.write(common, comparison_report(result, request.table, gate));
}

int run(ProfileRequest& request, const Common& common, const OptionSet& options) {
  keep_freed_pages();
  read_words(request, !common.verbose);
  request.files.check(common.json);
  const std::vector<SweepSetting> settings = sweep_settings(request.threads, request.inputs.dims);
  const bool is_pair = request.models.size() == 2, is_sweep = settings.size() > 1;
  if (is_pair && is_sweep) fail(ErrorKind::usage, "two models are compared in one setting of --threads and --dim");
  options.check_form(is_pair ? kTwoModels : is_sweep ? kSweep : kOneModel);
  Progress progress;
  request.options.progress = [&](std::string_view what, int64_t done, int64_t total) { progress.steps(what, done, total); };
  if (is_pair) return run_pair(request, common, settings.front(), progress);
  return is_sweep ? run_sweep(request, common, settings, progress) : run_one(request, common, settings.front(), progress);
}

void declare_measuring(OptionSet& options, ProfileRequest& request) {
  ProfileOptions& profile = request.options;
  options.group("Measuring");
  options.integer("--repeat", "N", 1, profile.repeat, "measure N runs, within --max-time (default: 50, of two models 100 pairs)")
      .excludes({"--until"});
  options.text("--until", "P%", request.until, "run until the latency's interval is within P % of its median on either side")
      .only(kOneModel | kSweep)
      .because(kTwoModels, "is of one model; --repeat N makes N pairs");
  options.real("--max-time", "S", profile.max_seconds, "begin no run after S seconds, but make ten (default: 20, with --repeat none)");
  options.choice("--mode", {"optimized", "as-written", "reference"}, request.mode,
                 "run with the layout plan and fused steps (default), each node alone, or in double precision");
  options.list("--threads", "N,…", request.threads, "use N threads (default: all CPUs of this process); of several, print a line each",
               ',');
}

void declare_comparison(OptionSet& options, ProfileRequest& request) {
  constexpr std::string_view kWhy = "is of two models";
  options.group("Two models");
  options.text("--fail-on-slowdown", "P%", request.slowdown, "exit 1 when OTHER is slower by more than P %, its whole interval beyond")
      .only(kTwoModels)
      .because(kSweep, kWhy);
  options.flag("--strict", request.strict, "exit 1 also when the interval holds that limit").needs({"--fail-on-slowdown"});
  options.choice("--clock", {"wall", "cpu"}, request.clock, "count this time (default: cpu at one thread, free of other processes)")
      .only(kTwoModels)
      .because(kSweep, kWhy);
}

void declare_table(OptionSet& options, ProfileRequest& request) {
  constexpr Forms kTables = kOneModel | kTwoModels;
  for (const auto& [option, path] : {std::pair("--csv", &request.csv), {"--trace", &request.trace}, {"--stacks", &request.stacks}}) {
    request.files.add(option, *path);
  }
  options.group("Table", kOneModel);
  options.text("--by", "node|op|layout|impl|scope[:DEPTH]", request.by, "print a line for each (default: node); scopes are parts of paths")
      .only(kTables);
  options.integer("--top", "N", 0, request.top, "print the first N lines, the rest as one (default: 20, in files all; 0: all)")
      .only(kTables);
  options.choice("--sort", {"time", "order", "bytes", "flop"}, request.table.sort,
                 "print the largest first (default: time), or as they run");
  options.list("--only", "GLOB", request.table.names.only, "print lines whose name matches, the rest as one; may be given several times");
  options.list("--exclude", "GLOB", request.table.names.exclude, "leave out lines whose name matches; may be given several times");
  options.text("--peak", "GFLOPS,GBS|measure", request.peak,
               "print the share of the machine's peak in single precision that each line reaches (measure: takes a second)");
  options.flag("--reference-columns", request.table.reference_columns, "print the columns of PyTorch's tutorial on profiling with FX alone")
      .excludes({"--by", "--json"});
  options.text("--csv", "FILE", request.csv, "write the table for spreadsheets, units in its head");
  options.text("--markdown", "FILE", request.files.markdown, "write the table for step summaries and merge requests");
  options.text("--html", "FILE", request.files.html, "write a page: time by operator and scope, all lines; of two models, the differences")
      .only(kTables);
  options.group("Files for other tools", kOneModel);
  options.text("--trace", "FILE", request.trace,
               "write the first ten runs as trace events, .json or .json.gz: for Perfetto, chrome://tracing, HolisticTraceAnalysis");
  options.choice("--trace-names", {"op", "node"}, request.trace_names, "name events by operator (default), or by node")
      .only(kTables | kSweep)
      .needs({"--trace"});
  options.text("--stacks", "FILE", request.stacks, "write collapsed stacks for flame graphs: parts of nodes' paths, nanoseconds");
  options.text("--annotate", "FILE", request.annotated, "write the model with time, share, layout and implementation as node metadata");
}

std::function<int()> prepare_profile(OptionSet& options, const Common& common) {
  auto request = std::make_shared<ProfileRequest>();
  options.positional("MODEL [OTHER]", request->models, 1, 2, "an ONNX file; two are run in turn and compared");
  options.forms({{.bit = kOneModel, .why = "is of two models"},
                 {.bit = kTwoModels, .why = "is of one model"},
                 {.bit = kSweep, .why = "is of one setting of --threads and --dim"}});
  options.flag("--allow-newer-opset", request->options.load.allow_newer_opset, "accept opsets newer than relayout knows");
  declare_measuring(options, *request);
  declare_comparison(options, *request);
  options.group("Inputs");
  declare_input_options(options, request->inputs);
  declare_table(options, *request);
  return [request, &common, &options] { return run(*request, common, options); };
}

}  // namespace

const Command kProfile = {
    "profile",
    "run a model again and again: where does its time go?",
    "MODEL [OPTIONS]\nMODEL OTHER [OPTIONS]",
    "relayout profile net.onnx                          the table per node\n"
    "relayout profile net.onnx --by scope:2 --threads 1\n"
    "relayout profile net.onnx --mode as-written --top 0 --sort order\n"
    "relayout profile net.onnx --threads 1,2,4 --dim batch=1,8\n"
    "relayout profile net.onnx --until 1% --csv net.csv --trace net.json.gz\n"
    "relayout profile net.onnx net.cl.onnx --threads 1 --fail-on-slowdown 5%",
    prepare_profile,
};

}  // namespace relayout::cli
