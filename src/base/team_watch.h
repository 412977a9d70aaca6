#pragma once

#include <chrono>

namespace relayout {

/// Decides whether sharing work with other threads pays, from what pieces of work took. On a busy machine, or under a CPU quota, two
/// threads may be slower than one: the second waits for a processor in the middle of its part, and the first waits for the second.
/// Times are compared over windows as progress: seconds of work done per second, which is 1 for one thread that is never interrupted.
class TeamWatch {
 public:
  using Time = std::chrono::nanoseconds;
  /// One piece of work of `parts` equal parts, as the caller saw it.
  struct Piece {
    Time elapsed{};  ///< from its start to its end
    Time own{};      ///< of that, in parts that the caller ran itself
    int parts = 1, own_parts = 1;
  };

  /// Whether pieces of work are to be run by the caller alone for now.
  [[nodiscard]] bool is_alone() const noexcept { return is_alone_; }
  /// Notes a piece of work; true when the window is full and close() is to be called.
  [[nodiscard]] bool note(const Piece& piece);
  /// Ends a window that lasted `wall`, of which the caller slept for `asleep` and ran for `running`: the rest it waited for a processor.
  void close(Time wall, Time asleep, Time running);
  /// No work was shared for `idle`: starts a new window without judging this one.
  void pause(Time idle);

 private:
  void begin_window();
  void judge_team(double progress);

  bool is_alone_ = false;
  Time elapsed_{}, work_{};                 ///< of this window
  Time alone_for_{}, period_{};             ///< how long it has been alone, parts of pauses included; how long it stays so
  double alone_progress_ = 1;               ///< mean of the windows alone, the latest weigh most
  int good_windows_ = 0, bad_windows_ = 0;  ///< of the team, in a row
};

}  // namespace relayout
