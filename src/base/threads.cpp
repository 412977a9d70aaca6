// Runs loops over tasks on the threads of the pool, and watches whether sharing them pays on a busy machine.

#include "base/threads.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/times.h"

namespace relayout {
namespace {

/// Time after which, between two tasks, a loop is offered to other threads even while these do not make short pieces of work shorter.
/// Waking a thread takes a tenth of it or less.
constexpr std::chrono::microseconds kLongLoop{500};

}  // namespace

void parallel_for(int64_t count, int threads, const std::function<void(int64_t)>& work) {
  if (threads <= 1 || count <= 1) {
    for (int64_t i = 0; i < count; ++i) work(i);
    return;
  }
  struct Tasks {
    const std::function<void(int64_t)>& work;
    int64_t count;
    std::atomic<int64_t> next{0};
    std::mutex mutex;
    std::exception_ptr error;
  } tasks{work, count, {}, {}, {}};
  const auto run = [](void* opaque, int part) {
    auto& shared = *static_cast<Tasks*>(opaque);
    const auto begin = std::chrono::steady_clock::now();
    bool is_offered = part > 0;
    while (true) {
      const int64_t i = shared.next.fetch_add(1);
      if (i >= shared.count) return;
      try {
        shared.work(i);
      } catch (...) {
        const std::lock_guard lock(shared.mutex);
        if (!shared.error) shared.error = std::current_exception();
        shared.next.store(shared.count);
        return;
      }
      if (is_offered || std::chrono::steady_clock::now() - begin < kLongLoop) continue;
      offer_parts();
      is_offered = true;
    }
  };
  run_parts(static_cast<int>(std::min<int64_t>(threads, count)), Parts::dynamic, run, &tasks);
  if (tasks.error) std::rethrow_exception(tasks.error);
}

// Whether a team pays: compares progress with and without it.
namespace {

using std::chrono::milliseconds;

/// A window is long compared with a time slice of the scheduler (3 ms by default on Linux), and short compared with an interactive run.
constexpr milliseconds kWindow{10};
/// Time to stay alone before the next trial of the team: initial, and maximum. A trial costs at most one window, a fortieth of the maximum.
/// Not calling a team may cost half of the time, when the competitor has ended or was a different tenant of the machine.
constexpr milliseconds kShortest{80}, kLongest{400};
/// Least ratio of a team's progress to that of one thread for which calling the team pays. The margin covers costs that the estimate does
/// not include: calling, and losses by two caches (two threads took 1.2 times as long at an estimate of 1.1; Zen 5, next to four
/// compilers).
constexpr double kLeastGain = 1.2;
/// Consecutive bad windows after which a team that helped so far is left: a single one may be a cold start.
constexpr int kBadWindows = 2;
/// Number of windows after which progress measured alone is forgotten.
constexpr int kRemembered = 50;
/// Weight of one window in the mean progress alone. A window in which the thread lost its processor for some milliseconds must not justify
/// a team that is slower than one thread: with the last window only, two threads took 1.5 times as long for half a second.
constexpr double kWeightOfWindow = 0.25;
/// Divisor of a pause when counted as time alone: the competitor may have ended, but each trial costs a window.
constexpr int kPartOfPause = 8;

}  // namespace

bool TeamWatch::note(const Piece& piece) {
  elapsed_ += piece.elapsed;
  work_ += piece.own * piece.parts / std::max(piece.own_parts, 1);
  return elapsed_ >= kWindow;
}

void TeamWatch::pause(Time idle) {
  alone_for_ += idle / kPartOfPause;
  begin_window();
}

void TeamWatch::begin_window() {
  elapsed_ = work_ = Time{};
  if (is_alone_ && alone_for_ >= period_) is_alone_ = false;
}

void TeamWatch::close(Time wall, Time asleep, Time running) {
  const Time awake = std::max(wall - asleep, Time{1});
  const double share = std::clamp(static_cast<double>(running.count()) / static_cast<double>(awake.count()), 0.0, 1.0);
  const double progress = static_cast<double>(work_.count()) * share / static_cast<double>(std::max(elapsed_, Time{1}).count());
  if (is_alone_) {
    alone_for_ += wall;
    alone_progress_ += kWeightOfWindow * (progress - alone_progress_);
  } else {
    judge_team(progress);
  }
  begin_window();
}

void TeamWatch::judge_team(double progress) {
  if (progress >= kLeastGain * alone_progress_) {
    bad_windows_ = 0;
    if (++good_windows_ > 1) period_ = Time{};
    if (good_windows_ > kRemembered) alone_progress_ = 1;
    return;
  }
  good_windows_ = 0;
  if (++bad_windows_ < kBadWindows && period_ == Time{}) return;
  period_ = period_ == Time{} ? kShortest : std::min<Time>(2 * period_, kLongest);
  is_alone_ = true;
  alone_for_ = Time{};
  bad_windows_ = 0;
}

// Teams of the only pool of threads.
// Each thread with work to share owns a team of helpers, which wait for its calls. Spinning is bounded by time, so that a thread waiting
// for one that the machine does not run yields its processor, and the caller runs parts that no helper has started. OpenMP runtimes instead
// count spin iterations (the time of a pause instruction differs by a factor of ten between processors) and assign every part to a thread,
// which makes two threads slower than one on a busy machine.
namespace {

using Clock = std::chrono::steady_clock;
using Time = TeamWatch::Time;

/// Time for which a waiting thread spins before it sleeps. Waking a thread takes 5 µs, and up to 50 µs on a virtual machine whose processor
/// was halted; steps of a model that share their work follow each other more closely.
constexpr std::chrono::microseconds kPatience{50};
/// Age of a piece of work from which its parts may be waiting for parts not started, in loops unknown to meet_parts().
constexpr std::chrono::milliseconds kOld{100};
/// A longer time between two pieces of work is not attributed to the team.
constexpr std::chrono::milliseconds kLongestGap{5};
constexpr int kMostParts = 1 << 15;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

uint32_t* address(std::atomic<uint32_t>& word) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
  return reinterpret_cast<uint32_t*>(&word);
}

/// Sleeps while `word` is `value`, for at most `time` (zero: no limit). May return early.
void sleep_on(std::atomic<uint32_t>& word, uint32_t value, Time time) {
  const timespec limit{time.count() / 1'000'000'000, time.count() % 1'000'000'000};
  ::syscall(SYS_futex, address(word), FUTEX_WAIT_PRIVATE, value, time == Time{} ? nullptr : &limit, nullptr, 0);
}

void wake(std::atomic<uint32_t>& word, int count) {
  ::syscall(SYS_futex, address(word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) != 0 ? 1 : CPU_COUNT(&set);
}

/// The free parts of a piece of work: one word with the number of the piece, so that a late thread cannot take a part of the next piece.
struct Ticket {
  uint64_t word = 0;
  /// Ticket of the next piece, of `count` parts; the first part is the caller's.
  [[nodiscard]] Ticket next_piece(int count) const { return {((word >> 32) + 1) << 32 | static_cast<uint64_t>(count) << 16 | 1}; }
  [[nodiscard]] int count() const { return static_cast<int>(word >> 16 & 0xffff); }
  [[nodiscard]] int next() const { return static_cast<int>(word & 0xffff); }
  [[nodiscard]] bool is_open() const { return next() < count(); }
};

/// Distributes the parts of one piece of work after another.
class Tickets {
 public:
  void begin(int count) { word_.store(now().next_piece(count).word); }
  [[nodiscard]] Ticket now() const { return {word_.load()}; }
  bool take(int& part) {
    Ticket ticket{word_.load(std::memory_order_acquire)};
    while (ticket.is_open()) {
      if (word_.compare_exchange_weak(ticket.word, ticket.word + 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
        part = ticket.next();
        return true;
      }
    }
    return false;
  }

 private:
  std::atomic<uint64_t> word_{0};
};

/// A counter; threads can wait for it to change.
class Signal {
 public:
  [[nodiscard]] uint32_t count() const { return count_.load(std::memory_order_acquire); }
  void raise() {
    count_.fetch_add(1);
    if (sleepers_.load() > 0) wake(count_, INT_MAX);
  }
  /// Sleeps while the counter is `count`, for at most `time` (zero: no limit). May return early.
  void sleep(uint32_t count, Time time) {
    sleepers_.fetch_add(1);
    sleep_on(count_, count, time);
    sleepers_.fetch_sub(1);
  }

 private:
  std::atomic<uint32_t> count_{0};
  std::atomic<int> sleepers_{0};
};

/// Measures pieces of work of equal parts, window by window, to decide whether other threads make them shorter.
class PieceTimes {
 public:
  /// Whether the caller should run pieces of work alone for now.
  [[nodiscard]] bool is_alone() const noexcept { return watch_.is_alone(); }
  /// As above, and the last measured piece ended less than kLongestGap ago.
  [[nodiscard]] bool is_alone(Clock::time_point now) const noexcept { return is_alone() && now - last_end_ < kLongestGap; }
  void begin_piece(Clock::time_point now) {
    if (is_open_ && now - last_end_ < kLongestGap) return;
    watch_.pause(now - last_end_);
    is_open_ = true;
    begin_ = now;
    running_before_ = Time(thread_nanoseconds());
    asleep_ = Time{};
  }
  /// Adds time for which the caller slept, in a piece of either kind.
  void add_sleep(Time time) { asleep_ += time; }
  /// `may_be_alone`: no piece has ever waited for parts that only other threads could run.
  void end_piece(const TeamWatch::Piece& piece, Clock::time_point end, bool may_be_alone) {
    last_end_ = end;
    if (!may_be_alone) {
      watch_ = TeamWatch();
    } else if (watch_.note(piece)) {
      watch_.close(end - begin_, asleep_, Time(thread_nanoseconds()) - running_before_);
      is_open_ = false;
    }
  }

 private:
  TeamWatch watch_;
  bool is_open_ = false;
  Clock::time_point begin_, last_end_;
  Time running_before_{}, asleep_{};
};

class Team {
 public:
  Team() = default;
  ~Team() {
    stop_.store(true);
    calls_.raise();
    for (std::thread& helper : helpers_) helper.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Creates helpers until `wanted` parts can run concurrently. Returns the number of parts that can.
  int reserve(int wanted);
  void run(int count, Parts kind, PartWork work, void* context);
  void offer();
  void meet();

 private:
  /// The current piece of work; written before its tickets, read by threads that took a part.
  struct Piece {
    PartWork work = nullptr;
    void* context = nullptr;
    int count = 0;
  };

  template <class Condition>
  bool spin(const Condition& condition) const;
  void perform(int part);
  void help();
  void sleep(uint32_t calls);
  Time wait_for_rest();

  alignas(64) Tickets tickets_;
  Piece piece_;
  std::vector<std::thread> helpers_;
  std::atomic<bool> patient_{false};           ///< there are enough processors for spinning
  alignas(64) std::atomic<uint32_t> left_{0};  ///< number of unfinished parts
  std::atomic<bool> caller_sleeps_{false};
  std::atomic<bool> may_wait_{false};  ///< parts of this piece of work may wait for each other
  alignas(64) Signal calls_;           ///< raised when there are parts for helpers to take
  std::atomic<bool> stop_{false}, is_alone_{false}, was_rescued_{false};
  alignas(64) std::atomic<uint32_t> met_{0};  ///< number of parts that wait in meet()
  Signal meetings_;                           ///< raised each time all parts have met

  PieceTimes times_;
};

/// The teams of one thread: work inside a part of one team is given to the next team.
struct Local {
  std::vector<std::unique_ptr<Team>> teams;
  std::size_t depth = 0;
  Team* inside = nullptr;  ///< team whose part is being run
  unsigned forks = 0;

  Local() = default;
  ~Local() { forget_after_fork(); }
  Local(const Local&) = delete;
  Local& operator=(const Local&) = delete;

  Team& team();
  void forget_after_fork();
};

std::atomic<unsigned> fork_count{0};
thread_local Local local;

/// A forked process has only this thread: teams from before the fork have no helpers and cannot join them.
void Local::forget_after_fork() {
  const unsigned now = fork_count.load(std::memory_order_relaxed);
  if (forks == now) return;
  for (auto& team : teams) [[maybe_unused]]
    Team* const lost = team.release();
  teams.clear();
  forks = now;
}

Team& Local::team() {
  static const int kWatchesForks = ::pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });
  (void)kWatchesForks;
  forget_after_fork();
  if (teams.size() <= depth) teams.resize(depth + 1);
  if (!teams[depth]) teams[depth] = std::make_unique<Team>();
  return *teams[depth];
}

int Team::reserve(int wanted) {
  wanted = std::min(wanted, kMostParts);
  if (static_cast<int>(helpers_.size()) + 1 >= wanted) return wanted;
  patient_.store(processors() >= wanted, std::memory_order_relaxed);
  // Helpers block signals, which are for the program's own threads, except for faults, which concern the thread that causes them.
  sigset_t all, before;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    while (static_cast<int>(helpers_.size()) + 1 < wanted) helpers_.emplace_back([this] { help(); });
  } catch (const std::system_error&) {
    // The system gives no more threads: the existing ones do the work.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return static_cast<int>(helpers_.size()) + 1;
}

/// Whether the condition becomes true within kPatience.
template <class Condition>
bool Team::spin(const Condition& condition) const {
  constexpr int kLooks = 16;  // iterations between two readings of the clock
  if (condition()) return true;
  if (!patient_.load(std::memory_order_relaxed)) return false;
  const auto end = Clock::now() + kPatience;
  do {
    for (int i = 0; i < kLooks; ++i) {
      relax();
      if (condition()) return true;
    }
  } while (Clock::now() < end);
  return false;
}

void Team::perform(int part) {
  Team* const outside = local.inside;
  local.inside = this;
  ++local.depth;
  piece_.work(piece_.context, part);
  --local.depth;
  local.inside = outside;
  if (left_.fetch_sub(1) == 1 && caller_sleeps_.load()) wake(left_, 1);
}

void Team::help() {
  while (true) {
    const uint32_t calls = calls_.count();
    int part = 0;
    while (tickets_.take(part)) perform(part);
    if (stop_.load()) return;
    if (!spin([&] { return calls_.count() != calls; })) sleep(calls);
  }
}

/// Sleeps until the caller calls. While the caller is alone, wakes now and then, as parts of an old piece of work may be waiting for
/// others.
void Team::sleep(uint32_t calls) {
  while (calls_.count() == calls) {
    const bool looks = is_alone_.load();
    const bool may_wait = may_wait_.load();
    const Ticket before = tickets_.now();
    const auto begin = Clock::now();
    calls_.sleep(calls, looks ? Time(kOld) : Time{});
    if (looks && Clock::now() - begin >= kOld && tickets_.now().word == before.word && before.is_open()) {
      if (may_wait) was_rescued_.store(true);
      return;
    }
  }
}

/// Waits for the parts that other threads run. Returns the time slept.
Time Team::wait_for_rest() {
  if (spin([&] { return left_.load(std::memory_order_acquire) == 0; })) return {};
  const auto begin = Clock::now();
  caller_sleeps_.store(true);
  for (uint32_t left = left_.load(); left != 0; left = left_.load()) sleep_on(left_, left, {});
  caller_sleeps_.store(false);
  return Clock::now() - begin;
}

void Team::run(int count, Parts kind, PartWork work, void* context) {
  const auto begin = Clock::now();
  const bool is_measured = kind == Parts::equal;
  if (is_measured) times_.begin_piece(begin);
  piece_ = {work, context, count};
  left_.store(static_cast<uint32_t>(count));
  may_wait_.store(is_measured, std::memory_order_relaxed);
  tickets_.begin(count);
  if (is_measured ? !times_.is_alone() : !times_.is_alone(begin)) calls_.raise();
  int own_parts = 0, part = 0;
  do {
    perform(part);
    ++own_parts;
  } while (tickets_.take(part));
  const auto own_end = Clock::now();
  times_.add_sleep(wait_for_rest());
  if (!is_measured) return;
  const auto end = Clock::now();
  times_.end_piece({end - begin, own_end - begin, count, own_parts}, end, !was_rescued_.load(std::memory_order_relaxed));
  const bool is_alone = times_.is_alone();
  if (is_alone_.load(std::memory_order_relaxed) == is_alone) return;
  is_alone_.store(is_alone);
  if (is_alone) calls_.raise();  // from now on helpers wake now and then
}

void Team::offer() {
  if (tickets_.now().is_open()) calls_.raise();
}

void Team::meet() {
  const uint32_t meetings = meetings_.count();
  if (met_.fetch_add(1) + 1 == static_cast<uint32_t>(piece_.count)) {
    met_.store(0);
    meetings_.raise();
    return;
  }
  offer();
  if (spin([&] { return meetings_.count() != meetings; })) return;
  while (meetings_.count() == meetings) meetings_.sleep(meetings, {});
}

}  // namespace

void run_parts(int count, Parts kind, PartWork work, void* context) {
  if (count <= 1 || count > kMostParts) {
    for (int i = 0; i < count; ++i) work(context, i);
    return;
  }
  Team& team = local.team();
  (void)team.reserve(count);
  team.run(count, kind, work, context);
}

void offer_parts() {
  if (local.inside != nullptr) local.inside->offer();
}

void meet_parts() {
  if (local.inside != nullptr) local.inside->meet();
}

int reserve_parts(int wanted) {
  return wanted <= 1 ? 1 : local.team().reserve(wanted);
}

}  // namespace relayout
