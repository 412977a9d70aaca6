// `relayout diff`: what traces or profiles of runs differ in, operation by operation.
#include "relayout/diff.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/destinations.h"
#include "cli/diff_report.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "relayout/error.h"
#include "report/json.h"
#include "report/junit.h"

namespace relayout::cli {
namespace {

struct Request {
  std::vector<std::string> files, steps, fail_on;
  std::optional<double> least_us;
  std::string names = "op", junit;
  int64_t top = 20;
  bool short_names = false, exit_code = false, any_machine = false;
  DiffChoice choice;
};

constexpr std::size_t kMostFiles = 64;

/// Times of different machines do not compare: said, or refused where a gate would go by them.
void check_machines(const Trace& control, const Trace& test, const Request& request, const DiffGate& gate) {
  if (control.machine.empty() || test.machine.empty() || control.machine == test.machine || request.any_machine) return;
  const std::string what = escape(control.path) + " and " + escape(test.path) + " were measured on different machines or settings (" +
                           escape(control.machine) + "; " + escape(test.machine) + ")";
  if (gate.slower || gate.faster) fail(ErrorKind::usage, what, "--allow-different-machine compares them all the same");
  log_warning(what);
}

DiffGate gate_of(const Request& request) {
  DiffGate gate = read_gate(request.fail_on);
  if (request.exit_code) gate.classes = {CountClass::added, CountClass::removed, CountClass::increased, CountClass::decreased};
  return gate;
}

int run(Request& request, const Common& common) {
  TraceOptions options;
  for (const std::string& step : request.steps) options.steps.push_back(parse_integer("--steps", step, 0));
  options.names_of_nodes = request.names == "node";
  options.short_names = request.short_names;
  request.choice.least_us = request.least_us.value_or(0);
  request.choice.top = static_cast<std::size_t>(common.verbose ? 0 : request.top);
  const DiffGate gate = gate_of(request);
  Destinations destinations;
  destinations.add("--junit", request.junit);
  destinations.check(common.json);
  const bool to_error = destinations.take_output();

  const Trace control = read_trace(request.files.front(), options);
  std::vector<std::string> failed;
  Json comparisons = Json::array();
  std::vector<JunitSuite> suites;
  std::string text;
  const ReportStyle style{
      .verbose = common.verbose, .color = !to_error && output_has_colors(), .quiet = common.quiet, .width = to_error ? 0 : output_width()};
  for (std::size_t i = 1; i < request.files.size(); ++i) {
    const Trace test = read_trace(request.files[i], options);
    check_machines(control, test, request, gate);
    const TracePair pair = pair_traces(control, test, request.choice);
    for (std::string& name : failures(pair, gate)) failed.push_back(std::move(name));
    comparisons.add(diff_json(pair));
    suites.push_back(diff_junit(pair, gate));
    text += (i > 1 ? "\n" : "") + diff_text(pair, request.choice, style);
  }
  const int code = failed.empty() ? 0 : 1;
  write_destination(request.junit, junit_text(suites));
  if (common.json) {
    Json out = Json::object();
    out.set("schema", "relayout.diff/1").set("comparisons", std::move(comparisons)).set("failed", failed).set("exit_code", code);
    write_output(out.dump() + "\n");
  } else {
    if (code != 0 && !request.fail_on.empty())
      text += "fails " + quote(failed.front()) +
              (failed.size() > 1 ? " and " + format_count(static_cast<int64_t>(failed.size()) - 1) + " more" : "") + "   exit 1\n";
    (to_error ? write_error : write_report)(text);
  }
  return code;
}

std::function<int()> prepare(OptionSet& options, const Common& common) {
  auto request = std::make_shared<Request>();
  options.positional("A B...", request->files, 2, kMostFiles,
                     "traces or profiles, .json, .json.gz or .csv; the first is the baseline, each other one is compared with it");
  options.list("--steps", "N,…", request->steps, "only these steps (ProfilerStep#N; default: all)", ',');
  options.choice("--names", {"op", "node"}, request->names, "operations are operators (default), or nodes where a file tells them");
  options.flag("--short-names", request->short_names, "names without arguments of templates and calls, the last word alone");
  options.group("Gates");
  options.flag("--exit-code", request->exit_code, "exit 1 when any count differs");
  options.list("--fail-on", "WHAT,…", request->fail_on,
               "exit 1 where an operation is added, removed, increased, decreased, slower:P% or faster:P% (beyond the interval)", ',');
  options.text("--junit", "FILE", request->junit, "one test case per class of the gate, as GitLab, Jenkins and GitHub actions show it");
  options.flag("--allow-different-machine", request->any_machine, "gates of times also where the files tell different machines");
  options.group("Table");
  options.integer("--top", "N", 0, request->top, "the N largest differences, the rest as one (default: 20; 0 and -v: all)");
  options.real("--min-us", "T", request->least_us, "only operations that took T µs or more on either side, the rest as one");
  options.list("--only", "GLOB", request->choice.only, "only operations whose name matches; may be given several times");
  options.list("--exclude", "GLOB", request->choice.exclude, "no operation whose name matches; may be given several times");
  options.excludes({"--exit-code"}, {"--fail-on"});
  options.needs({"--allow-different-machine"}, {"--fail-on"});
  options.needs({"--junit"}, {"--fail-on", "--exit-code"});
  return [request, &common] { return run(*request, common); };
}

}  // namespace

const Command kDiff = {
    "diff",
    "compare traces or profiles of runs, operation by operation",
    "A B... [OPTIONS]",
    "relayout diff before.json after.json\n"
    "relayout diff pytorch.json.gz relayout.json --names op --top 10\n"
    "relayout diff a.json b.json --fail-on added,removed,slower:5% --json\n"
    "relayout diff ort_trace.json ort_trace2.json --names node --min-us 100",
    prepare,
};

}  // namespace relayout::cli
