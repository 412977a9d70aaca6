// Parallel loops over tasks on the threads of the pool (`--threads`), their errors, and when a long loop (500 µs) is offered to other
// threads of a busy machine.
#include "base/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <mutex>

#include "base/thread_team.h"

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

}  // namespace relayout
