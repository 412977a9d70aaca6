#pragma once

#include <cstdint>
#include <memory>

namespace relayout {

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

}  // namespace relayout
