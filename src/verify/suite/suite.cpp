// Many cases of a tree, each in a process of its own: what crashes or hangs ends alone.
#include "relayout/suite.h"

#include <string.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/threads.h"
#include "relayout/error.h"
#include "report/json.h"
#include "verify/suite/child.h"
#include "verify/suite/expected.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;

/// A case before it has run.
struct Job {
  std::string name;
  fs::path model, data;
};

/// light_vgg19.onnx, whose output is light_vgg19_output_0.pb.
bool is_light_model(const fs::path& path) {
  return path.extension() == ".onnx" && fs::is_regular_file(path.parent_path() / (path.stem().string() + "_output_0.pb"));
}

std::vector<Job> find_jobs(const fs::path& tree) {
  std::error_code error;
  std::vector<Job> jobs;
  const auto add = [&](const fs::path& place, const fs::path& model, const fs::path& data) {
    const std::string name = place.lexically_relative(tree).generic_string();
    jobs.push_back({name.empty() || name == "." ? fs::absolute(tree).lexically_normal().filename().string() : name, model, data});
  };
  if (fs::is_regular_file(tree / "model.onnx")) add(tree, tree / "model.onnx", tree);
  for (auto entry = fs::recursive_directory_iterator(tree, error); !error && entry != fs::recursive_directory_iterator();
       entry.increment(error)) {
    const fs::path& path = entry->path();
    if (fs::is_directory(path) && fs::is_regular_file(path / "model.onnx")) add(path, path / "model.onnx", path);
    if (is_light_model(path)) add(fs::path(path).replace_extension(), path, path.parent_path());
  }
  if (error) fail(ErrorKind::io, escape(tree.string()) + ": " + error.message());
  if (jobs.empty()) fail(ErrorKind::invalid, escape(tree.string()) + ": no model.onnx below it");
  std::ranges::sort(jobs, {}, &Job::name);
  return jobs;
}

/// The first line of what went wrong.
std::string first_line(std::string_view text) {
  constexpr std::string_view kProgram = "relayout: ";
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.starts_with(kProgram)) line.remove_prefix(kProgram.size());
  return std::string(line);
}

/// The worst of what a case's document says of its sets and modes.
void read_document(const std::string& text, SuiteCase& out) {
  constexpr std::string_view kWorstFirst[] = {"unsupported", "failed", "pass-loose", "passed"};
  const Json document = Json::parse(text, "the report of a case");
  const Json cases = document.find("cases").value_or(Json::array());
  for (const std::string_view status : kWorstFirst) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Json one = *cases.at(i);
      if (one.find("status").value_or(Json()).text() != std::string(status)) continue;
      out.status = status;
      if (status != "passed") {
        out.message =
            one.find("name").value_or(Json()).text().value_or("") + ": " + one.find("message").value_or(Json()).text().value_or("");
      }
      return;
    }
  }
  out.status = "failed";
  out.message = "a report without cases";
}

SuiteCase judge(const Job& job, const ChildResult& child) {
  constexpr int kNo = 1, kUnsupported = 4;
  SuiteCase out;
  out.name = job.name;
  out.seconds = child.seconds;
  if (child.timed_out) {
    out.status = "timeout";
    out.message = "still running after " + std::to_string(static_cast<int64_t>(child.seconds)) + " s";
  } else if (child.signal != 0) {
    const char* const name = sigabbrev_np(child.signal);
    out.status = "crashed";
    out.message = "ended by signal " + (name == nullptr ? std::to_string(child.signal) : "SIG" + std::string(name));
  } else if (child.code == 0 || child.code == kNo || (child.code == kUnsupported && !child.out.empty())) {
    read_document(child.out, out);
  } else {
    out.status = child.code == kUnsupported ? "unsupported" : "failed";
    out.message = first_line(child.err) + " (exit " + std::to_string(child.code) + ")";
  }
  return out;
}

/// The results of all jobs, in their order; each thread has one child at a time.
std::vector<SuiteCase> run_jobs(const std::vector<Job>& jobs, const SuiteOptions& options) {
  std::vector<SuiteCase> cases(jobs.size());
  std::mutex mutex;
  int64_t done = 0;
  parallel_for(static_cast<int64_t>(jobs.size()), options.jobs, [&](int64_t number) {
    const Job& job = jobs[static_cast<std::size_t>(number)];
    std::vector<std::string> command = options.command;
    command.insert(command.end(), {job.model.string(), "--data", job.data.string()});
    cases[static_cast<std::size_t>(number)] = judge(job, run_child(command, options.timeout));
    const std::scoped_lock lock(mutex);
    ++done;
    if (options.progress) options.progress(done, static_cast<int64_t>(jobs.size()));
  });
  return cases;
}

/// Those of one part.
std::vector<Job> dealt(std::vector<Job> jobs, const Shard& shard) {
  std::vector<Job> own;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (static_cast<int64_t>(i) % shard.total == shard.index - 1) own.push_back(std::move(jobs[i]));
  }
  return own;
}

}  // namespace

int64_t SuiteResult::count(std::string_view status) const {
  return std::ranges::count(cases, status, &SuiteCase::status);
}

int64_t SuiteResult::unexpected() const {
  return std::ranges::count_if(cases, [](const SuiteCase& one) { return !one.is_as_expected(); });
}

SuiteResult run_suite(const fs::path& tree, const SuiteOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  if (!fs::is_directory(tree)) fail(ErrorKind::io, escape(tree.string()) + ": not a directory");
  ExpectedCases expected = options.expected.empty() ? ExpectedCases() : read_expected_cases(options.expected);
  SuiteResult result;
  result.tree = tree.string();
  std::vector<Job> jobs = find_jobs(tree);
  for (const auto& [name, entry] : expected) {
    if (!std::ranges::binary_search(jobs, name, {}, &Job::name)) result.stale.push_back(name);
  }
  result.shard = options.shard;
  result.whole = static_cast<int64_t>(jobs.size());
  result.allow_empty = options.allow_empty;
  jobs = dealt(std::move(jobs), options.shard);
  result.cases = run_jobs(jobs, options);
  for (SuiteCase& one : result.cases) {
    const auto entry = expected.find(one.name);
    if (entry == expected.end()) continue;
    one.expected = entry->second.status;
    one.reason = entry->second.reason;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

int exit_code(const SuiteResult& result) noexcept {
  return result.passed() ? 0 : 1;
}

}  // namespace relayout
