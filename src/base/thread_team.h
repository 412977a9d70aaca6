#pragma once

#include <cstdint>
#include <memory>

namespace relayout {

/// How the parts of a piece of work compare.
enum class Parts : uint8_t {
  equal,    ///< each about as long: what the first takes tells what all of them would take on one thread
  dynamic,  ///< they take tasks off a shared list until it is empty
};

/// A piece of work in `count` parts: work(context, part). Must not throw.
using PartWork = void (*)(void* context, int part);

/// Runs work(context, i) for i in [0, count), the first on the calling thread, the others on threads that wait for this thread's
/// calls; parts that none of them has started are run by the caller, so that it never waits for a thread that the machine does not
/// run. Which part does what never depends on the machine, so results do not either. While other threads are seen not to make the
/// work shorter (TeamWatch), parts are run by the caller alone: dynamic ones if a piece of equal parts has just been run, and until
/// offer_parts() is called. Work inside a part has a team of its own.
void run_parts(int count, Parts kind, PartWork work, void* context);

/// Inside a part: wakes other threads if some parts have not started.
void offer_parts();

/// Inside a part: waits until every part of the piece of work got here.
void meet_parts();

/// How many parts run_parts() can run at a time, at most `wanted`: less when the system gives no more threads. meet_parts() needs all.
[[nodiscard]] int reserve_parts(int wanted);

}  // namespace relayout
