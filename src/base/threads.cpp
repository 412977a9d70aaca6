// Runs loops over tasks on the threads of the pool, and watches whether sharing them pays on a busy machine.
#include "base/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

namespace relayout {
namespace {

/// Time after which, between two tasks, a loop is offered to other threads even while these do not make short pieces of work shorter.
/// Waking
/// a thread takes a tenth of it or less.
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
/// a
/// team that is slower than one thread: with the last window only, two threads took 1.5 times as long for half a second.
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

}  // namespace relayout
