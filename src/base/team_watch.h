#pragma once

#include <chrono>

namespace relayout {

/// Decides from the times of pieces of work whether sharing work with other threads pays. On a busy machine, or under a CPU quota, two
/// threads may be slower than one: the second waits for a processor in the middle of its part, and the first waits for the second. Times
/// are
/// compared over windows as progress: seconds of work done per second, which is 1 for a single thread that is never interrupted.
class TeamWatch {
 public:
  using Time = std::chrono::nanoseconds;
  /// One piece of work of `parts` equal parts, as measured by the caller.
  struct Piece {
    Time elapsed{};  ///< from its start to its end
    Time own{};      ///< part of `elapsed` in parts that the caller ran itself
    int parts = 1, own_parts = 1;
  };

  /// Whether the caller should run pieces of work alone for now.
  [[nodiscard]] bool is_alone() const noexcept { return is_alone_; }
  /// Records a piece of work; true when the window is full and close() must be called.
  [[nodiscard]] bool note(const Piece& piece);
  /// Ends a window that lasted `wall`, during which the caller slept for `asleep` and ran for `running`. The rest it waited for a
  /// processor.
  void close(Time wall, Time asleep, Time running);
  /// Starts a new window without judging this one, after no work was shared for `idle`.
  void pause(Time idle);

 private:
  void begin_window();
  void judge_team(double progress);

  bool is_alone_ = false;
  Time elapsed_{}, work_{};                 ///< sums of this window
  Time alone_for_{}, period_{};             ///< time alone so far, parts of pauses included; time to stay alone
  double alone_progress_ = 1;               ///< mean progress of windows alone, the latest weighted most
  int good_windows_ = 0, bad_windows_ = 0;  ///< consecutive windows of the team
};

}  // namespace relayout
