// When sharing work with other threads pays on a busy machine: compares progress with and without the team in windows of 10 ms, and pauses
// the team below a gain of 20 %.
#include "base/team_watch.h"

#include <algorithm>
#include <chrono>

namespace relayout {
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
