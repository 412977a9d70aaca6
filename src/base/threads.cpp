// Loops over the threads of the pool.
#include "base/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>

#include "base/thread_team.h"

namespace relayout {

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
  const auto run = [](void* opaque, int) {
    auto& shared = *static_cast<Tasks*>(opaque);
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
    }
  };
  run_parts(static_cast<int>(std::min<int64_t>(threads, count)), Parts::dynamic, run, &tasks);
  if (tasks.error) std::rethrow_exception(tasks.error);
}

}  // namespace relayout
