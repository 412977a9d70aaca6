// Runs the cases of a suite side by side, each in its own process, so that one that crashes or hangs affects no other.
#include <exception>
#include <mutex>
#include <thread>

#include "base/interrupt.h"
#include "base/positions.h"
#include "base/times.h"
#include "relayout/error.h"
#include "relayout/version.h"
#include "suite/suite.h"

namespace relayout {
namespace {

std::vector<std::string> command_of(const SuiteEntry& entry, const SuiteOptions& options) {
  std::vector<std::string> command = options.command;
  if (entry.data.empty()) {
    command.insert(command.end(), {entry.model.string(), entry.other.string()});
  } else {
    command.insert(command.end(), {entry.model.string(), "--data", entry.data.string()});
  }
  return command;
}

/// Runs a case, or finds its verdict in the cache.
SuiteCase verdict_of(const SuiteEntry& entry, const SuiteOptions& options, CaseCache* cache) {
  if (!entry.fault.empty()) return {entry.name, "failed", 0, entry.fault, {}, ""};
  const std::optional<std::string> key = cache == nullptr ? std::nullopt : cache->key_of(entry);
  std::optional<SuiteCase> known = key ? cache->find(*key, entry.name) : std::nullopt;
  if (known) return std::move(*known);
  const ChildResult child = run_child(command_of(entry, options), options.timeout);
  SuiteCase one = case_of(entry, child, options.timeout);
  // A verdict belongs to the files that were read, not to files that replaced them meanwhile.
  if (key && is_verdict(one, child) && cache->key_of(entry) == key) cache->store(*key, one);
  return one;
}

/// Result of a case, with the file that it judges.
SuiteCase run_case(const SuiteEntry& entry, const SuiteOptions& options, CaseCache* cache) {
  SuiteCase one = verdict_of(entry, options, cache);
  one.file = entry.judged().string();
  return one;
}

/// Results of an earlier run of the same part; removes their entries.
std::vector<SuiteCase> resumed(const SuiteResult& earlier, const SuiteResult& now, std::vector<SuiteEntry>& entries) {
  const auto check = [](bool is_same, const char* what) {
    if (!is_same) fail(ErrorKind::invalid, std::string("the report to go on from is of another run: it differs in ") + what);
  };
  check(earlier.version == now.version, "the version of relayout");
  check(earlier.tree == now.tree && earlier.against == now.against && earlier.pair == now.pair, "its trees");
  check(earlier.options == now.options, "its options");
  check(earlier.shard.index == now.shard.index && earlier.shard.total == now.shard.total, "its shard");
  check(earlier.whole.digest == now.whole.digest && earlier.planned == now.planned, "its cases");
  std::set<std::string> open;
  for (const SuiteEntry& entry : entries) open.insert(entry.name);
  std::vector<SuiteCase> out;
  for (SuiteCase one : earlier.cases) {
    check(open.erase(one.name) == 1, "its cases");
    one.expected.reset();
    one.reason.clear();
    out.push_back(std::move(one));
  }
  std::erase_if(entries, [&](const SuiteEntry& entry) { return !open.contains(entry.name); });
  return out;
}

std::vector<std::string> names_of(const std::vector<SuiteEntry>& entries) {
  std::vector<std::string> out;
  for (const SuiteEntry& entry : entries) out.push_back(entry.name);
  return out;
}

/// The cases of one part: workers take them in order, each has one child at a time.
class Run {
 public:
  /// `done`: cases that need not run.
  Run(const std::vector<SuiteEntry>& entries, std::vector<SuiteCase> done, const SuiteOptions& options)
      : entries_(entries),
        options_(options),
        total_(static_cast<int64_t>(entries.size() + done.size())),
        time_left_(names_of(entries), options.durations),
        cases_(std::move(done)) {
    if (!options.cache.empty()) {
      std::vector<std::string> facts = options.cache_facts;
      facts.insert(facts.end(), options.options.begin(), options.options.end());
      cache_.emplace(options.cache, facts);
    }
  }

  /// Results by name: of all cases, or of those that were done when a signal arrived.
  std::vector<SuiteCase> all() {
    const auto workers = std::min<std::size_t>(as_size(std::max(options_.jobs, 1)), entries_.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 1; i < workers; ++i) threads.emplace_back([this] { work(); });
      work();
    }
    if (error_) std::rethrow_exception(error_);
    std::ranges::sort(cases_, {}, &SuiteCase::name);
    return std::move(cases_);
  }
  [[nodiscard]] std::optional<ErrorKind> interruption() const { return interruption_; }

 private:
  void work() {
    for (std::size_t i = next_++; i < entries_.size() && !stopped_; i = next_++) {
      try {
        note(run_case(entries_[i], options_, cache_ ? &*cache_ : nullptr));
      } catch (const Error& error) {
        stop(error);
      } catch (...) {
        stop();
      }
    }
  }

  void note(SuiteCase one) {
    const std::scoped_lock lock(mutex_);
    one.source.empty() ? time_left_.add(one.name) : time_left_.drop(one.name);
    cases_.push_back(std::move(one));
    const auto done = static_cast<int64_t>(cases_.size());
    if (options_.progress) options_.progress({done, total_, time_left_.seconds()});
  }

  void stop(const Error& error) {
    if (!is_interruption(error.kind())) return stop();
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    interruption_ = error.kind();
  }
  void stop() {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    if (!error_) error_ = std::current_exception();
  }

  const std::vector<SuiteEntry>& entries_;
  const SuiteOptions& options_;
  int64_t total_;
  std::optional<CaseCache> cache_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  TimeLeft time_left_;
  std::vector<SuiteCase> cases_;
  std::optional<ErrorKind> interruption_;
  std::exception_ptr error_;
};

}  // namespace

std::vector<std::string> case_names(const SuiteTrees& trees, const std::optional<std::vector<std::string>>& only, const Shard& shard,
                                    const CaseDurations& durations) {
  const std::vector<std::string> all = names_of(only ? find_cases(trees, *only) : find_cases(trees));
  std::vector<std::string> out;
  for (const std::size_t i : deal(all, shard, durations)) out.push_back(all[i]);
  std::ranges::sort(out);
  return out;
}

SuiteResult run_suite(const SuiteTrees& trees, const SuiteOptions& options) {
  const Stopwatch watch;
  const ExpectedCases expected = options.expected.empty() ? ExpectedCases() : read_expected_cases(options.expected);
  SuiteResult result;
  result.tree = trees.tree.string();
  result.against = trees.against.string();
  result.pair = trees.pair;
  result.version = kVersion;
  result.options = options.options;
  result.shard = options.shard;
  result.allow_empty = options.allow_empty;
  const std::vector<SuiteEntry> all = options.only ? find_cases(trees, *options.only) : find_cases(trees);
  const std::vector<std::string> names = names_of(all);
  if (!options.only) {
    result.whole = extent_of(names);
    result.stale = stale_cases(expected, names);
  }
  std::vector<SuiteEntry> own;
  for (const std::size_t i : deal(names, options.shard, options.durations)) own.push_back(all[i]);
  result.planned = static_cast<int64_t>(own.size());
  std::vector<SuiteCase> done = options.resume == nullptr ? std::vector<SuiteCase>() : resumed(*options.resume, result, own);
  Run run(own, std::move(done), options);
  result.cases = run.all();
  result.interruption = run.interruption();
  apply_expected(expected, result.cases);
  if (options.allow_inconclusive) expect_inconclusive(result.cases);
  result.seconds = watch.seconds();
  return result;
}

}  // namespace relayout
