// Runs one model, or two in turn, until their times are certain enough or the time allowed is over.
#include "relayout/profile.h"

#include <cmath>
#include <limits>

#include "base/times.h"
#include "profile/causes.h"
#include "profile/subject.h"
#include "profile/trace.h"
#include "relayout/estimate.h"
#include "relayout/model_diff.h"

namespace relayout {
namespace {

constexpr int kRuns = 50, kPairs = 100;  ///< defaults
constexpr int kFewestRuns = 10;          ///< the fewest runs whose interval excludes the extremes
constexpr int kComparedRounds = 10;      ///< the same number for the rounds of a comparison
constexpr int kLeastWarmUps = 3;
constexpr double kSteady = 0.05, kWarmUpSeconds = 1;
constexpr double kSeconds = 20;  ///< the default of a measurement without a number of runs

/// The time after which no run begins.
double time_limit(const ProfileOptions& options) {
  return options.max_seconds.value_or(options.repeat > 0 && !options.until ? std::numeric_limits<double>::infinity() : kSeconds);
}

/// Runs until three runs in a row are alike, or a second has passed, so that caches, branch predictors and the processor's clock settle.
void warm_up(Subject& subject) {
  const Stopwatch watch;
  std::vector<double> times;
  while (true) {
    times.push_back(static_cast<double>(subject.warm_up()));
    if (watch.seconds() > kWarmUpSeconds) return;
    if (times.size() < kLeastWarmUps) continue;
    const auto [least, most] = std::minmax_element(times.end() - kLeastWarmUps, times.end());
    if (*most <= *least * (1 + kSteady)) return;
  }
}

/// Whether the interval is as narrow as requested. Checked after 10, 20, 40 … runs only: checks after each run would stop early by chance.
bool is_precise(const Recorder& recorder, double wanted) {
  const int64_t runs = recorder.runs();
  const int64_t doublings = runs / kFewestRuns;
  if (runs % kFewestRuns != 0 || (doublings & (doublings - 1)) != 0) return false;
  const Estimate latency = estimate(recorder.walls());
  return latency.interval && (latency.interval->high - latency.interval->low) / 2 < wanted * latency.median;
}

/// Decides when the measured runs are enough.
class Budget {
 public:
  explicit Budget(const ProfileOptions& options) : options_(&options) {}

  [[nodiscard]] bool is_enough(const Recorder& recorder) {
    const int64_t runs = recorder.runs();
    const bool is_counted = options_->repeat > 0;
    if (!options_->until && runs >= (is_counted ? options_->repeat : kRuns)) return true;
    if (runs < kFewestRuns) return false;
    if (options_->until && is_precise(recorder, *options_->until)) return true;
    stopped_ = watch_.seconds() > time_limit(*options_) || (options_->until && is_counted && runs >= options_->repeat);
    return stopped_;
  }
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }

 private:
  const ProfileOptions* options_;
  Stopwatch watch_;
  bool stopped_ = false;
};

void report(const ProfileOptions& options, std::string_view what, int64_t done, int64_t total) {
  if (options.progress) options.progress(what, done, std::max(total, done + 1));
}

/// Pairs of runs, AB BA AB …, so that drift affects both models alike.
struct Pairs {
  int64_t first = 0, count = 0;
  double seconds = 0;  ///< time limit, after which no pair begins
  TimeKind clock = TimeKind::wall;
};

std::vector<double> measure_pairs(Subject& a, Subject& b, const Pairs& pairs) {
  const TimeKind clock = pairs.clock;
  const Stopwatch watch;
  std::vector<double> ratios;
  for (int64_t i = 0; i < pairs.count && (i == 0 || watch.seconds() < pairs.seconds); ++i) {
    const bool a_first = (pairs.first + i) % 2 == 0;
    Subject::Time time_a, time_b;
    if (a_first) time_a = a.measure();
    time_b = b.measure();
    if (!a_first) time_a = a.measure();
    if (time_a.of(clock) > 0 && time_b.of(clock) > 0) ratios.push_back(time_b.of(clock) / time_a.of(clock));
  }
  return ratios;
}

/// Scales the totals to the ratio of the pairs. The ratio of the medians over all rounds may differ, but the pairs decide. Both totals
/// change by the same factor, in opposite directions.
void scale_to_ratio(ProfileComparison& comparison) {
  const double middle = std::sqrt(comparison.a.total_us * comparison.b.total_us), half = std::sqrt(comparison.ratio.median);
  if (!(middle > 0 && half > 0)) return;
  scale_rows(comparison.a, middle / half);
  scale_rows(comparison.b, middle * half);
}

}  // namespace

std::string_view to_string(TimeKind kind) noexcept {
  return kind == TimeKind::wall ? "wall" : "cpu";
}

Profile profile(const std::filesystem::path& model, const ProfileOptions& options) {
  Subject subject(model, options);
  warm_up(subject);
  Budget budget(options);
  while (!budget.is_enough(subject.recorder())) {
    report(options, "profiling", subject.recorder().runs(), options.repeat > 0 ? options.repeat : kRuns);
    (void)subject.measure();
  }
  Profile out = subject.result();
  out.latency.stopped_early = budget.stopped();
  return out;
}

ProfileComparison profile(const std::filesystem::path& a, const std::filesystem::path& b, const ProfileOptions& options) {
  Subject subject_a(a, options), subject_b(b, options);
  ProfileComparison out;
  const int64_t wanted = options.repeat > 0 ? options.repeat : kPairs;
  const int64_t rounds = std::min<int64_t>(wanted, kComparedRounds);
  out.clock = options.clock.value_or(options.threads == 1 ? TimeKind::processor : TimeKind::wall);
  std::vector<std::vector<double>> ratios;
  for (int64_t round = 0; round < rounds; ++round) {
    report(options, "comparing", round, rounds);
    if (round > 0) {
      // The executor that is created first gets the best memory, so the order alternates.
      (round % 2 == 0 ? subject_a : subject_b).renew();
      (round % 2 == 0 ? subject_b : subject_a).renew();
    }
    const int64_t begin = wanted * round / rounds, end = wanted * (round + 1) / rounds;
    // The first model of a pair also ran last before the pair, here as in all further pairs.
    const bool a_first = begin % 2 == 0;
    warm_up(a_first ? subject_b : subject_a);
    warm_up(a_first ? subject_a : subject_b);
    const double seconds = time_limit(options) / static_cast<double>(rounds);
    ratios.push_back(measure_pairs(subject_a, subject_b, {begin, end - begin, seconds, out.clock}));
    out.pairs += static_cast<int64_t>(ratios.back().size());
  }
  out.rounds = rounds;
  out.ratio = estimate_ratio(ratios);
  const ModelDiff diff = diff_models(subject_a.model(), subject_b.model());
  const NodeLinks links = links_of(diff);
  out.proved = diff.is_proved;
  out.common = diff.share_in_common();
  out.is_related = links.is_related;
  out.a = subject_a.result(out.clock);
  out.b = subject_b.result(out.clock);
  scale_to_ratio(out);
  out.rows = pair_rows(out.a, out.b, links);
  out.folded = folded_operators(out.a, out.b, links);
  return out;
}

}  // namespace relayout
