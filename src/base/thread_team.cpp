// The one pool of threads: each thread that has work to share owns a team of helpers, which wait for its calls. Waiting is bounded by
// time, so that a thread that waits for one which the machine does not run gives its processor away, and parts that no helper has
// started are run by the caller. OpenMP runtimes count the iterations of their spin instead (what a pause instruction takes differs by a
// factor of ten between processors) and give every part to a thread, which makes two threads slower than one on a busy machine.
#include "base/thread_team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "base/team_watch.h"

namespace relayout {
namespace {

using Clock = std::chrono::steady_clock;
using Time = TeamWatch::Time;

/// How long a thread looks for what it waits for before it sleeps. Waking a thread takes 5 µs, and up to 50 on a virtual machine whose
/// processor was halted; steps of a model that share their work lie closer together than that.
constexpr std::chrono::microseconds kPatience{50};
/// Parts of a piece of work that is this old may be waiting for those that have not started, with loops that meet_parts() does not see.
constexpr std::chrono::milliseconds kOld{100};
/// A longer time between two pieces of work is not the team's.
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

/// Sleeps while `word` is `value`, at most for `time` (zero: no limit). May come back early.
void sleep_on(std::atomic<uint32_t>& word, uint32_t value, Time time) {
  const timespec limit{time.count() / 1'000'000'000, time.count() % 1'000'000'000};
  ::syscall(SYS_futex, address(word), FUTEX_WAIT_PRIVATE, value, time == Time{} ? nullptr : &limit, nullptr, 0);
}

void wake(std::atomic<uint32_t>& word, int count) {
  ::syscall(SYS_futex, address(word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

/// Processor time of the calling thread.
Time running_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Time(time.tv_nsec);
}

int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) != 0 ? 1 : CPU_COUNT(&set);
}

/// Which parts of which piece of work are free: one word, so that a thread that comes late cannot take a part of the next one.
struct Ticket {
  uint64_t word = 0;
  [[nodiscard]] static Ticket first(uint32_t generation, int count, int next) {
    return {uint64_t{generation} << 32 | static_cast<uint64_t>(count) << 16 | static_cast<uint64_t>(next)};
  }
  [[nodiscard]] int count() const { return static_cast<int>(word >> 16 & 0xffff); }
  [[nodiscard]] int next() const { return static_cast<int>(word & 0xffff); }
  [[nodiscard]] bool is_open() const { return next() < count(); }
};

class Team {
 public:
  Team() = default;
  ~Team() {
    stop_.store(true);
    call();
    for (std::thread& helper : helpers_) helper.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Makes helpers until `wanted` parts can run at a time; how many can.
  int reserve(int wanted);
  void run(int count, Parts kind, PartWork work, void* context);
  void meet();

 private:
  struct Window {
    bool is_open = false;
    Clock::time_point begin;
    Time running_before{}, asleep{};
  };

  template <class Condition>
  bool spin(const Condition& condition) const;
  bool take(int& part);
  void perform(int part);
  void call();
  void help();
  void sleep(uint32_t calls);
  Time wait_for_rest();
  void note(const TeamWatch::Piece& piece, Clock::time_point end);
  void begin_window(Clock::time_point now);

  std::vector<std::thread> helpers_;
  bool patient_ = false;  ///< there are processors to spin on
  // The piece of work that is run; written before the ticket, read by those who took a part.
  PartWork work_ = nullptr;
  void* context_ = nullptr;
  int count_ = 0;
  uint32_t generation_ = 0;

  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<uint32_t> left_{0};  ///< parts that are not finished
  std::atomic<bool> caller_sleeps_{false};
  alignas(64) std::atomic<uint32_t> calls_{0};  ///< helpers wait for it to change
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false}, is_alone_{false}, was_rescued_{false};
  alignas(64) std::atomic<uint32_t> met_{0}, round_{0};  ///< parts that wait in meet(); how often all have met
  std::atomic<int> meeting_sleepers_{0};

  TeamWatch watch_;
  bool may_be_alone_ = true;
  Window window_;
  Clock::time_point last_end_;
};

/// The teams of one thread: work inside a part of a team goes to the next one.
struct Local {
  std::vector<std::unique_ptr<Team>> teams;
  std::size_t depth = 0;
  Team* inside = nullptr;  ///< whose part is being run
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

/// A forked process has this thread only: teams of before have no helpers and cannot end them.
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
  patient_ = processors() >= wanted;
  // Signals are for the threads that the program made itself; faults stay where they happen.
  sigset_t all, before;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    while (static_cast<int>(helpers_.size()) + 1 < wanted) helpers_.emplace_back([this] { help(); });
  } catch (const std::system_error&) {
    // The system gives no more: those that are there do the work.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return static_cast<int>(helpers_.size()) + 1;
}

/// Whether the condition comes true within kPatience.
template <class Condition>
bool Team::spin(const Condition& condition) const {
  constexpr int kLooks = 16;  // between two looks at the clock
  if (condition()) return true;
  if (!patient_) return false;
  const auto end = Clock::now() + kPatience;
  do {
    for (int i = 0; i < kLooks; ++i) {
      relax();
      if (condition()) return true;
    }
  } while (Clock::now() < end);
  return false;
}

bool Team::take(int& part) {
  Ticket ticket{ticket_.load(std::memory_order_acquire)};
  while (ticket.is_open()) {
    if (ticket_.compare_exchange_weak(ticket.word, ticket.word + 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
      part = ticket.next();
      return true;
    }
  }
  return false;
}

void Team::perform(int part) {
  Team* const outside = local.inside;
  local.inside = this;
  ++local.depth;
  work_(context_, part);
  --local.depth;
  local.inside = outside;
  if (left_.fetch_sub(1) == 1 && caller_sleeps_.load()) wake(left_, 1);
}

/// Tells helpers that there are parts to take.
void Team::call() {
  calls_.fetch_add(1);
  if (sleepers_.load() > 0) wake(calls_, INT_MAX);
}

void Team::help() {
  while (true) {
    const uint32_t calls = calls_.load();
    int part = 0;
    while (take(part)) perform(part);
    if (stop_.load()) return;
    if (!spin([&] { return calls_.load(std::memory_order_relaxed) != calls; })) sleep(calls);
  }
}

/// Until the caller calls. While it is alone, it is looked after now and then: parts of an old piece of work may be waiting for others.
void Team::sleep(uint32_t calls) {
  sleepers_.fetch_add(1);
  while (calls_.load() == calls) {
    const bool looks = is_alone_.load();
    const uint64_t before = ticket_.load();
    const auto begin = Clock::now();
    sleep_on(calls_, calls, looks ? Time(kOld) : Time{});
    if (looks && Clock::now() - begin >= kOld && ticket_.load() == before && Ticket{before}.is_open()) {
      was_rescued_.store(true);
      break;
    }
  }
  sleepers_.fetch_sub(1);
}

/// Waits for the parts that others run; how long it slept.
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
  if (kind == Parts::equal) begin_window(begin);
  work_ = work;
  context_ = context;
  count_ = count;
  left_.store(static_cast<uint32_t>(count));
  ticket_.store(Ticket::first(++generation_, count, 1).word);
  if (kind != Parts::equal || !watch_.is_alone()) call();
  int own_parts = 0, part = 0;
  do {
    perform(part);
    ++own_parts;
  } while (take(part));
  const auto own_end = Clock::now();
  window_.asleep += wait_for_rest();
  if (kind != Parts::equal) return;
  const auto end = Clock::now();
  note({end - begin, own_end - begin, count, own_parts}, end);
}

void Team::begin_window(Clock::time_point now) {
  if (window_.is_open && now - last_end_ < kLongestGap) return;
  watch_.restart();
  window_ = {true, now, running_time(), Time{}};
}

void Team::note(const TeamWatch::Piece& piece, Clock::time_point end) {
  last_end_ = end;
  if (!may_be_alone_) return;
  if (was_rescued_.load(std::memory_order_relaxed)) {
    may_be_alone_ = false;
    watch_ = TeamWatch();
    is_alone_.store(false);
    return;
  }
  if (!watch_.note(piece)) return;
  watch_.close(end - window_.begin, window_.asleep, running_time() - window_.running_before);
  window_.is_open = false;
  if (is_alone_.exchange(watch_.is_alone()) != watch_.is_alone() && watch_.is_alone()) call();  // helpers sleep with one eye open now
}

void Team::meet() {
  const uint32_t round = round_.load();
  if (met_.fetch_add(1) + 1 == static_cast<uint32_t>(count_)) {
    met_.store(0);
    round_.fetch_add(1);
    if (meeting_sleepers_.load() > 0) wake(round_, INT_MAX);
    return;
  }
  if (Ticket{ticket_.load()}.is_open()) call();
  if (spin([&] { return round_.load(std::memory_order_acquire) != round; })) return;
  meeting_sleepers_.fetch_add(1);
  while (round_.load() == round) sleep_on(round_, round, {});
  meeting_sleepers_.fetch_sub(1);
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

void meet_parts() {
  if (local.inside != nullptr) local.inside->meet();
}

int reserve_parts(int wanted) {
  return wanted <= 1 ? 1 : local.team().reserve(wanted);
}

}  // namespace relayout
