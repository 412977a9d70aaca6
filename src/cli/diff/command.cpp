// Declares the options of diff, tells models from traces, and refuses options for the other kind.
#include <future>

#include "base/log.h"
#include "base/positions.h"
#include "base/text.h"
#include "cli/common/options.h"
#include "cli/common/terminal.h"
#include "cli/diff/diff.h"
#include "cli/profile/profile.h"
#include "relayout/model.h"

namespace relayout::cli {
namespace {

// What is compared.
constexpr Forms kModels = 1, kTraces = 2;

struct DiffRequest {
  std::vector<std::string> files, steps, fail_on;
  std::optional<double> least_us;
  std::string names = "op", junit, csv, markdown, html;
  std::vector<std::string> ignore, profiles;
  LoadOptions load;
  int64_t top = 20;
  bool short_names = false, exit_code = false, any_machine = false, strict = false;
  TraceChoice choice;
};

constexpr std::size_t kMostFiles = 64;

/// Times of different machines are not comparable: warns, or refuses where a gate depends on them.
void check_machines(const Trace& control, const Trace& test, const DiffRequest& request, const TraceGate& gate) {
  if (control.machine.empty() || test.machine.empty() || control.machine == test.machine || request.any_machine) return;
  const std::string what = escape(control.path) + " and " + escape(test.path) + " were measured on different machines or settings (" +
                           escape(control.machine) + "; " + escape(test.machine) + ")";
  if (gate.slower || gate.faster) fail(ErrorKind::usage, what, "--allow-different-machine compares them all the same");
  log_warning(what);
}

/// The requested forms of the report. Others stay empty, because each may have a line per node.
struct Report {
  std::string text, markdown, csv, html;
  Json comparisons = Json::array();
  std::vector<JunitSuite> suites;
  std::vector<std::string> failed, undecided;
};

Report compare_traces(DiffRequest& request, const Common& common, const ReportStyle& style) {
  TraceOptions options;
  for (const std::string& step : request.steps) options.steps.push_back(parse_integer("--steps", step, 0));
  options.names_of_nodes = request.names == "node";
  options.short_names = request.short_names;
  options.strict = request.strict;
  request.choice.least_us = request.least_us.value_or(0);
  request.choice.top = as_size(common.verbose ? 0 : request.top);
  const TraceGate gate = read_trace_gate(request.fail_on, request.exit_code, request.strict);
  Report report;
  const Trace control = read_trace(request.files.front(), options);
  std::vector<Trace> tests;
  tests.reserve(request.files.size());
  std::vector<TracePair> pairs;
  for (std::size_t i = 1; i < request.files.size(); ++i) {
    const Trace& test = tests.emplace_back(read_trace(request.files[i], options));
    check_machines(control, test, request, gate);
    const TracePair& pair = pairs.emplace_back(pair_traces(control, test, request.choice));
    for (std::string& name : trace_failures(pair, gate)) report.failed.push_back(std::move(name));
    for (std::string& name : undecided_times(pair, gate)) report.undecided.push_back(std::move(name));
    const std::string gap = i > 1 ? "\n" : "";
    report.text += gap + trace_diff_text(pair, request.choice, style);
    if (common.json) report.comparisons.add(trace_diff_json(pair, gate));
    if (!request.junit.empty()) report.suites.push_back(trace_diff_junit(pair, gate));
    if (!request.markdown.empty()) report.markdown += gap + trace_diff_markdown(pair, request.choice);
  }
  if (!request.csv.empty()) report.csv = trace_diff_csv(pairs);
  if (!request.html.empty()) report.html = trace_diff_html(pairs, gate);
  return report;
}

/// The causes of the difference between two models' times, from their profiles.
ProfileComparison compare_times(const DiffRequest& request, std::size_t number, const ModelDiff& diff) {
  Profile a = read_profile(request.profiles.front()), b = read_profile(request.profiles[number]);
  if (a.mode != b.mode || a.clock != b.clock) {
    fail(ErrorKind::usage,
         escape(request.profiles.front()) + " and " + escape(request.profiles[number]) + " count different times (--mode, --clock)");
  }
  const ProfileContext &of_a = a.context, &of_b = b.context;
  if (of_a.cpu != of_b.cpu || of_a.isa != of_b.isa || of_a.threads != of_b.threads) {
    log_warning(escape(request.profiles.front()) + " and " + escape(request.profiles[number]) +
                " were measured on different machines or with different numbers of threads");
  }
  return compare_profiles(std::move(a), std::move(b), diff);
}

/// Compares the first model with each of the others. The first two are read at the same time.
Report compare_models(const DiffRequest& request, const Common& common, const ReportStyle& style) {
  const ModelChoice choice{.top = as_size(common.verbose ? 0 : request.top),
                           .only = request.choice.only,
                           .exclude = request.choice.exclude,
                           .ignore = request.ignore};
  check_ignored(request.ignore);
  const std::vector<ChangeKind> gate = read_model_gate(request.fail_on, request.exit_code);
  const auto load = [&](std::size_t i) { return Model::load(request.files[i], request.load); };
  std::future<std::unique_ptr<Model>> next = std::async(std::launch::async, load, 1);
  const std::unique_ptr<Model> first = load(0);
  std::unique_ptr<Model> other;
  Report report;
  std::vector<ModelDiff> diffs;
  diffs.reserve(request.files.size());
  std::vector<ModelPair> pairs;
  for (std::size_t i = 1; i < request.files.size(); ++i) {
    other.reset();  // frees its memory before the next model is read
    other = i == 1 ? next.get() : load(i);
    diffs.push_back(diff_models(*first, *other));
    const ModelPair& pair = pairs.emplace_back(choose_changes(diffs.back(), choice));
    for (std::string& name : model_failures(pair, gate)) report.failed.push_back(std::move(name));
    const std::string gap = i > 1 ? "\n" : "";
    Json comparison = common.json ? model_diff_json(pair) : Json();
    report.text += gap + model_diff_text(pair, choice, style);
    if (!request.junit.empty()) report.suites.push_back(model_diff_junit(pair, gate));
    if (!request.markdown.empty()) report.markdown += gap + model_diff_markdown(pair, choice);
    if (!request.profiles.empty()) {
      const ProfileComparison times = compare_times(request, i, diffs.back());
      TableChoice table;
      table.top = choice.top;
      if (common.json) comparison.set("time", comparison_json(times, table, std::nullopt));
      report.text += "\n" + comparison_text(times, table, std::nullopt, style);
    }
    if (common.json) report.comparisons.add(std::move(comparison));
  }
  if (!request.csv.empty()) report.csv = model_diff_csv(pairs);
  if (!request.html.empty()) report.html = model_diff_html(pairs);
  return report;
}

/// Whether the files are models; Error{usage} when only some are, or when an option applies to the other kind only.
bool are_models(const DiffRequest& request, const OptionSet& options) {
  const std::string* model = nullptr;
  const std::string* run = nullptr;
  for (const std::string& file : request.files) (holds_model(file) ? model : run) = &file;
  if (model != nullptr && run != nullptr) {
    fail(ErrorKind::usage, escape(*model) + " holds a model, " + escape(*run) + " does not: only files of one kind can be compared",
         "standard input is taken for a trace");
  }
  options.check_form(model != nullptr ? kModels : kTraces);
  if (!request.profiles.empty() && request.profiles.size() != request.files.size()) {
    fail(ErrorKind::usage,
         "--profiles names " + counted(std::ssize(request.profiles), "file") + " for " + counted(std::ssize(request.files), "model"));
  }
  return model != nullptr;
}

int run(DiffRequest& request, const Common& common, const OptionSet& options) {
  const bool models = are_models(request, options);
  Destinations destinations;
  destinations.add("--junit", request.junit);
  destinations.add("--csv", request.csv);
  destinations.add("--markdown", request.markdown);
  destinations.add("--html", request.html);
  destinations.check(common.json);
  const bool to_error = destinations.take_output();
  const ReportStyle style = style_of(common, to_error);
  Report report = models ? compare_models(request, common, style) : compare_traces(request, common, style);
  const std::vector<std::string>& failed = report.failed;
  std::string& text = report.text;
  const int code = failed.empty() ? 0 : 1;
  if (!request.junit.empty()) write_destination(request.junit, junit_text(report.suites));
  write_destination(request.csv, report.csv);
  write_destination(request.markdown, report.markdown);
  write_destination(request.html, report.html);
  if (common.json) {
    Json out = Json::object();
    out.set("schema", models ? "relayout.model-diff/1" : "relayout.diff/1")
        .set("comparisons", std::move(report.comparisons))
        .set("failed", failed)
        .set("exit_code", code);
    write_output(out.dump() + "\n");
  } else {
    if (!report.undecided.empty())
      text += "inconclusive: " + some_of(report.undecided, 1, quote) + ", where the interval holds the limit\n";
    if (code != 0 && !request.fail_on.empty()) text += "fails " + some_of(failed, 1, quote) + "   exit 1\n";
    (to_error ? write_error : write_report)(text);
  }
  return code;
}

std::function<int()> prepare_diff(OptionSet& options, const Common& common) {
  auto request = std::make_shared<DiffRequest>();
  options.positional(
      "A B...", request->files, 2, kMostFiles,
      "models, or traces and profiles (.json, .json.gz, .csv); the first is the baseline, each other one is compared with it");
  options.forms({{.bit = kModels, .why = "has no effect on models"}, {.bit = kTraces, .why = "has no effect on traces and profiles"}});
  options.flag("--allow-newer-opset", request->load.allow_newer_opset, "take opsets newer than those that relayout knows").only(kModels);
  options
      .list("--ignore", "WHAT,…", request->ignore,
            "of models: changes to ignore, by kind (explained, changed, added, removed, renamed) or by subject "
            "(node, initializer, input, output, opset, function, metadata)",
            ',')
      .only(kModels);
  options
      .list("--profiles", "FILE,…", request->profiles,
            "of models: the output of `profile --json` for each, in their order; changes then show their time", ',')
      .only(kModels);
  options.group("Traces and profiles");
  options.list("--steps", "N,…", request->steps, "only these steps (ProfilerStep#N; default: all)", ',').only(kTraces);
  options.choice("--names", {"op", "node"}, request->names, "operations are operators (default), or nodes where a file tells them")
      .only(kTraces);
  options.flag("--short-names", request->short_names, "names without arguments of templates and calls, the last word alone").only(kTraces);
  options.group("Gates");
  options.flag("--exit-code", request->exit_code, "exit 1 when anything differs: in models more than names, in traces a count")
      .excludes({"--fail-on"});
  options.list("--fail-on", "WHAT,…", request->fail_on,
               "exit 1 where something is added, removed, changed or explained (models), or an operation is added, removed, increased, "
               "decreased, slower:P% or faster:P%, beyond the interval (traces)",
               ',');
  options
      .flag("--strict", request->strict,
            "exit 1 also where the interval of a time holds the limit; refuse traces with times that cannot be")
      .only(kTraces);
  options.text("--junit", "FILE", request->junit, "one test case per class of the gate, as GitLab, Jenkins and GitHub actions show it")
      .needs({"--fail-on", "--exit-code"});
  options.flag("--allow-different-machine", request->any_machine, "gates of times also where the files tell different machines")
      .only(kTraces)
      .needs({"--fail-on"});
  options.group("Table");
  options.integer("--top", "N", 0, request->top,
                  "the N largest differences, the rest as one, of models N of each kind (default: 20; 0 and -v: all)");
  options.real("--min-us", "T", request->least_us, "only operations that took T µs or more on either side, the rest as one").only(kTraces);
  options.list("--only", "GLOB", request->choice.only, "only names that match; may be given several times");
  options.list("--exclude", "GLOB", request->choice.exclude, "no names that match; may be given several times");
  options.group("Files");
  options.text("--csv", "FILE", request->csv, "a line per change or operation, for spreadsheets");
  options.text("--markdown", "FILE", request->markdown, "the changes as step summaries and merge requests show them");
  options.text("--html", "FILE", request->html, "a page: the changes of models, TraceDiff's charts of counts and durations");
  return [request, &common, &options] { return run(*request, common, options); };
}

}  // namespace

const Command kDiff = {
    "diff",
    "show the changes between models, traces or profiles",
    "A B... [OPTIONS]",
    "relayout diff net.onnx net.cl.onnx\n"
    "relayout diff old.onnx new.onnx --exit-code --ignore metadata,explained\n"
    "relayout diff net.onnx net.cl.onnx --profiles net.json,net.cl.json\n"
    "relayout diff before.json after.json\n"
    "relayout diff pytorch.json.gz relayout.json --names op --top 10\n"
    "relayout diff a.json b.json --fail-on added,removed,slower:5% --json\n"
    "relayout diff ort_trace.json ort_trace2.json --names node --min-us 100",
    prepare_diff,
};

}  // namespace relayout::cli
