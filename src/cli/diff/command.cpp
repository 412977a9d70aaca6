// Declares the options of diff, tells models from traces, and refuses options for the other kind.

#include "cli/diff/diff.h"
#include "relayout/model.h"

namespace relayout::cli {
namespace {

// What is compared.
constexpr Forms kModels = 1, kTraces = 2;

constexpr std::size_t kMostFiles = 64;

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

JunitSuite suite_of(const FileDiff& diff) {
  JunitSuite suite{"diff", diff.a + " " + diff.b, junit_now(), {{"relayout", std::string(kVersion)}}, {}};
  for (const GateCase& one : diff.gate) {
    JunitCase& made =
        suite.cases.emplace_back(judged_case("relayout.diff." + std::filesystem::path(diff.b).stem().string(), one.name, diff.b));
    made.message = one.message;
    for (const std::string& failed : one.failed) made.details += failed + "\n";
    if (!one.failed.empty()) made.status = JunitCase::Status::failed;
  }
  return suite;
}

/// The report of all comparisons, with the verdict of the worst.
Report report_of(const std::vector<FileDiff>& diffs, bool models) {
  Report out{.subject = diffs.front().a, .footer = "relayout diff · relayout " + std::string(kVersion)};
  int rank = 0;
  for (const FileDiff& diff : diffs) {
    if (diff.rank >= rank) out.verdict = diff.verdict;
    rank = std::max(rank, diff.rank);
    out.subject += " → " + diff.b;
    if (&diff != &diffs.front()) out.sections.push_back({Form::text | Form::quiet, "", [](auto&) { return "\n"; }});
    out.sections.insert(out.sections.end(), diff.sections.begin(), diff.sections.end());
    out.suites.push_back(suite_of(diff));
  }
  out.title = out.verdict.text + ": " + diffs.back().b;
  out.document = [&diffs, models] {
    std::vector<std::string> failed;
    for (const FileDiff& diff : diffs) failed.insert(failed.end(), diff.failed.begin(), diff.failed.end());
    return Json()
        .set("schema", models ? "relayout.model-diff/1" : "relayout.diff/1")
        .set("comparisons", Json::list(diffs, [](const FileDiff& diff) { return diff.data(); }))
        .set("failed", failed);
  };
  return out;
}

/// The lines that a gate adds to the text.
Table gate_lines(const std::vector<std::string>& failed, const std::vector<std::string>& undecided, bool names_failures) {
  Table out;
  if (!undecided.empty()) out.line("inconclusive: " + some_of(undecided, 1, quote) + ", where the interval holds the limit");
  if (!failed.empty() && names_failures) out.line("fails " + some_of(failed, 1, quote) + "   exit 1");
  return out;
}

int run(DiffRequest& request, const Common& common, const OptionSet& options) {
  const bool models = are_models(request, options);
  request.report.check(common.json);
  if (common.verbose) request.top = 0;
  const std::vector<FileDiff> diffs = models ? diff_of_models(request) : diff_of_traces(request);
  std::vector<std::string> failed, undecided;
  for (const FileDiff& diff : diffs) {
    failed.insert(failed.end(), diff.failed.begin(), diff.failed.end());
    undecided.insert(undecided.end(), diff.undecided.begin(), diff.undecided.end());
  }
  Report report = report_of(diffs, models);
  report.sections.push_back({Form::text | Form::quiet, "", [&](auto&) { return gate_lines(failed, undecided, !request.fail_on.empty()); }});
  const std::string head(models ? kModelColumns : kTraceColumns);
  report.files = {{request.csv, [&] { return head + joined(diffs, "", [](const FileDiff& diff) { return diff.csv(); }); }}};
  report.code = failed.empty() ? 0 : 1;
  return request.report.write(common, report);
}

std::function<int()> prepare_diff(OptionSet& options, const Common& common) {
  auto request = std::make_shared<DiffRequest>();
  options.positional(
      "A B...", request->files, 2, kMostFiles,
      "models, or traces and profiles (.json, .json.gz, .csv); the first is the baseline, each other one is compared with it");
  options.forms({{.bit = kModels, .why = "has no effect on models"}, {.bit = kTraces, .why = "has no effect on traces and profiles"}});
  options.flag("--allow-newer-opset", request->load.allow_newer_opset, "accept opsets newer than relayout knows").only(kModels);
  options
      .list("--ignore", "WHAT,…", request->ignore,
            "ignore changes of models by kind (explained, changed, added, removed, renamed) or by subject "
            "(node, initializer, input, output, opset, function, metadata)",
            ',')
      .only(kModels);
  options.list("--profiles", "FILE,…", request->profiles, "show times of changes of models, by the `profile --json` of each in order", ',')
      .only(kModels);
  options.group("Traces and profiles", kTraces);
  options.list("--steps", "N,…", request->steps, "take these steps only (ProfilerStep#N; default: all)", ',');
  options.choice("--names", {"op", "node"}, request->names, "compare operators (default), or nodes where a file tells them");
  options.flag("--short-names", request->traces.short_names, "shorten names: no arguments of templates and calls, the last word alone");
  options.group("Gates");
  options.flag("--exit-code", request->exit_code, "exit 1 when anything differs: in models more than names, in traces a count")
      .excludes({"--fail-on"});
  options.list("--fail-on", "WHAT,…", request->fail_on,
               "exit 1 where something is added, removed, changed or explained (models), or an operation is added, removed, increased, "
               "decreased, slower:P% or faster:P%, beyond the interval (traces)",
               ',');
  options
      .flag("--strict", request->traces.strict,
            "exit 1 also where the interval of a time holds the limit; refuse traces with times that cannot be")
      .only(kTraces);
  options.text("--junit", "FILE", request->report.junit, "write a test case per class of the gate, for GitLab, Jenkins and GitHub actions")
      .needs({"--fail-on", "--exit-code"});
  options.flag("--allow-different-machine", request->any_machine, "judge times also where the files tell different machines")
      .only(kTraces)
      .needs({"--fail-on"});
  options.group("Table");
  options.integer("--top", "N", 0, request->top, "print the N largest differences, of models N of each kind (default: 20; 0 and -v: all)");
  options.real("--min-us", "T", request->least_us, "print operations of T µs or more on either side, the rest as one").only(kTraces);
  options.list("--only", "GLOB", request->choice.only, "take only names that match; may be given several times");
  options.list("--exclude", "GLOB", request->choice.exclude, "leave out names that match; may be given several times");
  options.group("Files");
  request->report.add("--csv", request->csv);
  options.text("--csv", "FILE", request->csv, "write a line per change or operation, for spreadsheets");
  options.text("--markdown", "FILE", request->report.markdown, "write the changes for step summaries and merge requests");
  options.text("--html", "FILE", request->report.html, "write a page: changes of models, TraceDiff's charts of counts and durations");
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
