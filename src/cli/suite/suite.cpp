// Declares the options of suites, selects their cases, runs them in processes of this program, and merges reports of their parts.

#include "cli/suite/suite.h"

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/machine.h"
#include "cli/common/options.h"
#include "cli/common/process.h"
#include "cli/common/terminal.h"

namespace relayout::cli {
namespace {

/// Creates the file by which Bazel checks that a test with several shards runs only its part.
void acknowledge_shards() {
  const std::string file = environment("TEST_SHARD_STATUS_FILE");
  if (!file.empty()) write_text_file(file, "");
}

SuiteTrees trees_of(const CaseWords& words) {
  return {words.tree, words.against, words.pair};
}

/// The time that each case of an earlier report took.
CaseDurations read_durations(const std::string& path) {
  CaseDurations out;
  if (path.empty()) return out;
  for (const SuiteCase& one : read_suite(path).cases) out.emplace(one.name, one.seconds);
  return out;
}

/// The names of --case and --cases-from; nothing when neither is given.
std::optional<std::vector<std::string>> selected_cases(const CaseWords& words) {
  constexpr int64_t kMost = int64_t{1} << 30;
  if (words.names.empty() && words.from.empty()) return std::nullopt;
  std::vector<std::string> out = words.names;
  if (words.from.empty()) return out;
  // Names are separated by NULs if the text contains one, else by newlines.
  const std::string text = read_text(*File::open_or_standard_input(words.from), kMost, "a list of cases");
  const std::vector<std::string> names = split(text, text.find('\0') == std::string::npos ? '\n' : '\0');
  std::ranges::copy_if(names, std::back_inserter(out), [](const std::string& name) { return !name.empty(); });
  return out;
}

}  // namespace

void declare_case_choice(OptionSet& options, CaseWords& words, const SuiteForms& forms) {
  options.flag("--list", words.list, "print the names of the cases and end").only(forms.trees);
  options.flag("-0, --null", words.null, "with --list: end each name by a NUL instead of a newline").only(forms.list);
  const auto chooses = [&](OptionFacts& facts) { facts.only(forms.trees).beside_results(); };
  chooses(options.list("--case", "CASE", words.names, "take this case only; may be given several times"));
  chooses(options.text("--cases-from", "FILE", words.from, "take the cases that FILE names, by newlines or NULs; - is standard input"));
  chooses(options.text("--shard", "I/N|auto", words.shard,
                       "take part I of N only; auto, or auto/N where the scheduler gives no N: as the job's environment says"));
  chooses(
      options.text("--durations", "FILE", words.durations, "deal by the times of an earlier report (--json): longest first, equal parts"));
}

void declare_suite_options(OptionSet& options, SuiteRequest& request, const SuiteForms& forms) {
  CaseWords& cases = request.cases;
  options.group("Suites", forms.trees | forms.judges);
  options
      .text("--suite", "TREE", cases.tree, "verify every case below TREE (folders with model.onnx and test_data_set_N), in own processes")
      .only(0)
      .excludes({"--data", "--original"})
      .beside_results();
  options.text("--against", "DIR", cases.against, "judge the counterparts of TREE's models below DIR, NAME.cl.onnx or the same name")
      .only(forms.trees);
  options
      .text("--pair", "PATTERN", cases.pair,
            "with --against: name the counterpart of net.onnx, like {stem}.opt.onnx (also {stem%SUFFIX}, {name}, {dir})")
      .only(forms.pairs);
  options.integer("--jobs", "N", 1, request.jobs, "run N cases at a time (default: all CPUs of this process)");
  options.real("--timeout", "S", request.timeout, "end a case after S seconds (default: 120)");
  declare_case_choice(options, cases, forms);
  options.text("--resume", "REPORT", request.resume, "go on where the run of this report (--json) was interrupted");
  options.text("--cache", "DIR", request.cache, "keep verdicts in DIR: run no case again whose files, options and program are the same");
  options.flag("--allow-empty", request.allow_empty, "exit 0 when the part has no case");
  options.text("--expected", "FILE", request.expected, "take the cases of FILE, lines NAME STATUS REASON, as known not to pass");
}

SuiteResult run_suite(const SuiteRequest& request, const std::vector<std::string>& options, Progress& progress) {
  constexpr int64_t kMostJobs = 1024;
  SuiteOptions how;
  how.options = options;
  how.command = {own_program(), "verify"};
  how.command.insert(how.command.end(), options.begin(), options.end());
  how.command.insert(how.command.end(), {"--json", "--quiet"});
  how.jobs = request.jobs > 0 ? static_cast<int>(std::min(request.jobs, kMostJobs)) : available_cpus();
  if (request.timeout) how.timeout = *request.timeout;
  how.shard = shard_of(request.cases.shard, environment);
  if (!how.shard.source.empty()) acknowledge_shards();
  how.only = selected_cases(request.cases);
  how.durations = read_durations(request.cases.durations);
  how.allow_empty = request.allow_empty;
  how.allow_inconclusive = request.allow_inconclusive;
  how.expected = request.expected;
  how.cache = request.cache;
  how.cache_facts = program_facts();
  std::optional<SuiteResult> earlier;
  if (!request.resume.empty()) earlier = read_suite(request.resume);
  if (earlier) how.resume = &*earlier;
  how.progress = [&](const SuiteProgress& now) { progress.steps("verifying", now.done, now.total, now.seconds_left); };
  return relayout::run_suite(trees_of(request.cases), how);
}

std::vector<std::string> chosen_part(const std::vector<std::string>& names, const CaseWords& words) {
  std::vector<std::string> chosen = selected_cases(words).value_or(names), out;
  std::ranges::sort(chosen);
  const auto repeated = std::ranges::unique(chosen);
  chosen.erase(repeated.begin(), repeated.end());
  for (const std::string& name : chosen) {
    if (!std::ranges::binary_search(names, name))
      fail(ErrorKind::usage, escape(words.tree) + " has no " + quote(name), "--list prints the names");
  }
  for (const std::size_t i : deal(chosen, shard_of(words.shard, environment), read_durations(words.durations))) out.push_back(chosen[i]);
  std::ranges::sort(out);
  return out;
}

void list_cases(const CaseWords& words, bool json) {
  print_names(case_names(trees_of(words), selected_cases(words), shard_of(words.shard, environment), read_durations(words.durations)),
              words, json);
}

void print_names(const std::vector<std::string>& names, const CaseWords& words, bool json) {
  if (json) return write_document(Json().set("schema", "relayout.suite-list/1").set("tree", words.tree).set("cases", names), 0);
  std::string text;
  for (const std::string& name : names) {
    if (!words.null && name.find('\n') != std::string::npos) {
      fail(ErrorKind::invalid, quote(name) + ": a name of two lines; --list -0 parts the names otherwise");
    }
    text += name + (words.null ? '\0' : '\n');
  }
  write_output(text);
}

// Merges the reports of a suite's parts, or shows one in another form.
namespace {

namespace fs = std::filesystem;

// What the command does.
constexpr Forms kMerge = 1, kShow = 2;

struct ReportRequest {
  std::vector<std::string> words;
  CaseWords cases;
  std::string expected;
  bool allow_missing = false;
  ReportFiles files;
};

/// The files that a word denotes: the file itself, or the .json files of a folder except hidden ones.
std::vector<std::string> reports_of(const std::string& word) {
  std::error_code ignored;
  if (!fs::is_directory(word, ignored)) return {word};
  std::vector<std::string> out;
  for (const fs::directory_entry& entry : visible_entries(word)) {
    if (entry.path().extension() == ".json") out.push_back(entry.path().string());
  }
  if (out.empty()) fail(ErrorKind::invalid, escape(word) + ": no .json in it");
  return out;
}

SuiteResult merged(const ReportRequest& request) {
  std::vector<SuitePart> parts;
  for (std::size_t i = 1; i < request.words.size(); ++i) {
    for (const std::string& report : reports_of(request.words[i])) parts.push_back({report, read_suite(report)});
  }
  MergeOptions how;
  how.names = selected_cases(request.cases);
  how.allow_missing = request.allow_missing;
  how.expected = request.expected;
  return merge_suites(std::move(parts), how);
}

int run(const ReportRequest& request, const Common& common, const OptionSet& options) {
  const std::string action = request.words.empty() ? "" : request.words.front();
  if (action != "merge" && action != "show") fail(ErrorKind::usage, "report needs merge or show; see relayout report --help");
  if (request.words.size() < 2) fail(ErrorKind::usage, "report " + action + " needs REPORT; see relayout report --help");
  request.files.check(common.json);
  if (action == "show") options.check_form(kShow);
  if (action == "show" && request.words.size() > 2)
    fail(ErrorKind::usage, "report show takes one REPORT; report merge puts several together");
  const SuiteResult result = action == "merge" ? merged(request) : read_suite(request.words[1]);
  return request.files.write(common, suite_report(result));
}

std::function<int()> prepare_report(OptionSet& options, const Common& common) {
  auto request = std::make_shared<ReportRequest>();
  options.positional(
      "REPORT...", request->words, 0, std::string::npos,
      "merge or show, then reports of relayout verify --suite --json; merge takes folders of them too, without hidden files");
  options.forms({{kMerge}, {.bit = kShow, .why = "has no effect on report show"}});
  options.group("Merging");
  options
      .text("--cases-from", "FILE", request->cases.from,
            "require these cases, as --list printed them; - is standard input (default: those of the suite)")
      .only(kMerge);
  options.flag("--allow-missing", request->allow_missing, "merge the reports at hand; the result says that it is partial").only(kMerge);
  options.text("--expected", "FILE", request->expected, "take the cases of FILE, lines NAME STATUS REASON, as known not to pass")
      .only(kMerge);
  options.group("Report", 0, /*beside_results=*/true);
  declare_report_files(options, request->files, "write a page of all cases, to search and filter");
  return [request, &common, &options] { return run(*request, common, options); };
}

}  // namespace

const Command kReport = {
    "report",
    "put reports of a suite's shards together, show them in other forms",
    "merge REPORT... [OPTIONS]\nshow REPORT [OPTIONS]",
    "relayout report merge shard-*.json --junit report.xml\n"
    "relayout report merge reports --cases-from list --json > whole.json\n"
    "relayout report show whole.json --html whole.html",
    prepare_report,
};

}  // namespace relayout::cli
