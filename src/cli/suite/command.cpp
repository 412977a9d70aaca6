// Merges the reports of a suite's parts, or shows one in another form.

#include "base/file.h"
#include "cli/common/options.h"
#include "cli/suite/suite.h"

namespace relayout::cli {
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
  if (action == "merge") return write_suite(merged(request), request.files, common);
  options.check_form(kShow);
  if (request.words.size() > 2) fail(ErrorKind::usage, "report show takes one REPORT; report merge puts several together");
  return write_suite(read_suite(request.words[1]), request.files, common);
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
