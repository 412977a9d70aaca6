// When a team of threads is worth calling: compares the progress made with and without it, window by window.
#include "base/team_watch.h"

#include <algorithm>
#include <chrono>

namespace relayout {
namespace {

using std::chrono::milliseconds;

/// A window is long against a time slice of the scheduler (3 ms by default on Linux), short against a run that a person waits for.
constexpr milliseconds kWindow{10};
/// How long to stay alone before looking again: at first, and at most. A look costs at most one window, a fortieth of the longest time;
/// a team that is not called may cost half of it, where the competitor has ended or was another tenant of the machine.
constexpr milliseconds kShortest{80}, kLongest{400};
/// The progress of a team over that of one thread that makes it worth calling. Below lies what the estimate does not see: what calling
/// costs and what two caches lose (two threads took 1.2 times as long where it said 1.1; Zen 5, four compilers beside, 2026-11-22).
constexpr double kLeastGain = 1.2;
/// Windows in a row that it takes to leave a team which helped so far: one may be a cold start.
constexpr int kBadWindows = 2;
/// Progress measured alone is forgotten after so many windows.
constexpr int kRemembered = 50;
/// What a window alone weighs in the progress made alone. One in which the thread lost its processor for some milliseconds must not let a
/// team pass that makes less than one thread does: two threads took 1.5 times as long for half a second where the last window alone was
/// all.
constexpr double kWeightOfWindow = 0.25;
/// What a pause counts of the time alone: the competitor may have ended, but each look costs a window.
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
