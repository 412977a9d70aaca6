#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace relayout {

/// Calls work(i) for i in [0, count) from up to `threads` threads of the pool, including the caller. Tasks are taken from one counter in
/// order. After the first exception no more tasks are started; it is rethrown here.
void parallel_for(int64_t count, int threads, const std::function<void(int64_t)>& work);

/// Relation between the parts of a piece of work.
enum class Parts : uint8_t {
  equal,    ///< of similar duration: that of the first tells the time of all on one thread
  dynamic,  ///< parts take tasks from a shared list until it is empty
};

/// A piece of work in `count` parts: work(context, part). Must not throw.
using PartWork = void (*)(void* context, int part);

/// Runs work(context, i) for i in [0, count), the first on the calling thread, the others on threads that wait for calls of this thread.
/// The caller runs parts that none of these has started, so that it never waits for a thread that the machine does not run. The work of
/// each part is independent of the machine, and so are results.
///
/// While other threads are found not to make the work shorter (TeamWatch), the caller runs all parts: dynamic ones only if a piece of equal
/// parts has just been run, and until offer_parts() is called. Work inside a part has a separate team.
void run_parts(int count, Parts kind, PartWork work, void* context);

/// Inside a part: wakes other threads if some parts have not started.
void offer_parts();

/// Inside a part: waits until all parts of the piece of work have called it.
void meet_parts();

/// Number of parts that run_parts() can run concurrently, at most `wanted`; less when the system gives no more threads. meet_parts() needs
/// all parts to run concurrently.
[[nodiscard]] int reserve_parts(int wanted);

/// Decides from the times of pieces of work whether sharing work with other threads pays. On a busy machine, or under a CPU quota, two
/// threads may be slower than one: the second waits for a processor in the middle of its part, and the first waits for the second. Times
/// are compared over windows as progress: seconds of work done per second, which is 1 for a single thread that is never interrupted.
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
