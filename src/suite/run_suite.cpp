// Runs the cases of a suite side by side, each in a process of its own, the longest first.

#include <cmath>
#include <exception>
#include <mutex>
#include <numeric>
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

// Deals the cases of a suite to parts, the longest first, and estimates the time that remains. Only whole microseconds and the order of
// names decide, so that machines agree without communication.
std::vector<int64_t> expected_times(const std::vector<std::string>& names, const CaseDurations& durations) {
  constexpr double kMost = 1e9;  // seconds: sums over thousands of cases stay within 64 bits
  constexpr int64_t kLeast = 1;  // cases without any time are distributed too, instead of all into one part
  std::vector<int64_t> times(names.size(), 0), known;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = durations.find(names[i]);
    if (found == durations.end()) continue;
    times[i] = std::max<int64_t>(std::llround(std::clamp(found->second, 0.0, kMost) * 1e6), kLeast);
    known.push_back(times[i]);
  }
  std::ranges::sort(known);
  std::ranges::replace(times, int64_t{0}, known.empty() ? kLeast : known[(known.size() - 1) / 2]);
  return times;
}

// Parts of a suite.
namespace {

using Indices = std::vector<std::size_t>;

/// Indices, longest time first; of equal times by name.
Indices longest_first(const std::vector<int64_t>& times) {
  Indices order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return times[a] > times[b]; });
  return order;
}

}  // namespace

Indices deal(const std::vector<std::string>& names, const Shard& shard, const CaseDurations& durations) {
  const auto parts = as_size(shard.total), own = as_size(shard.index - 1);
  Indices out;
  if (durations.empty()) {
    for (std::size_t i = own; i < names.size(); i += parts) out.push_back(i);
    return out;
  }
  const std::vector<int64_t> times = expected_times(names, durations);
  // If there are more parts than cases, those without cases need no place.
  std::vector<int64_t> loads(std::min(parts, names.size()), 0);
  for (const std::size_t i : longest_first(times)) {
    const auto lightest = std::ranges::min_element(loads);
    *lightest += times[i];
    if (as_size(lightest - loads.begin()) == own) out.push_back(i);
  }
  return out;
}

// Time that remains.
TimeLeft::TimeLeft(const std::vector<std::string>& names, const CaseDurations& durations) {
  const std::vector<int64_t> expected = expected_times(names, durations);
  for (std::size_t i = 0; i < names.size(); ++i) {
    times_[names[i]] = expected[i];
    left_ += static_cast<double>(expected[i]);
  }
}

int64_t TimeLeft::take(const std::string& name) {
  const auto found = times_.find(name);
  const int64_t time = found == times_.end() ? 0 : found->second;
  if (found != times_.end()) times_.erase(found);
  left_ -= static_cast<double>(time);
  return time;
}

void TimeLeft::add(const std::string& name) {
  done_ += static_cast<double>(take(name));
}

void TimeLeft::drop(const std::string& name) {
  (void)take(name);
}

std::optional<double> TimeLeft::seconds() const {
  constexpr double kEnough = 0.02;  // share of the work that is enough for a pace
  if (done_ <= 0 || done_ < kEnough * (done_ + left_)) return std::nullopt;
  return watch_.seconds() * left_ / done_;
}

}  // namespace relayout
