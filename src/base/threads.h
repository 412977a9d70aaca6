#pragma once

#include <cstdint>
#include <functional>

namespace relayout {

/// CPUs this process may use, at least 1: affinity mask, cgroup quota (rounded up), and the environment's OMP_NUM_THREADS and
/// OMP_THREAD_LIMIT.
[[nodiscard]] int available_cpus();

/// CPUs of the affinity mask.
[[nodiscard]] int affinity_cpus();
/// The least quota of this process's control group (version 2) and those around it, rounded up; 0 when there is none.
[[nodiscard]] int quota_cpus();

/// Calls work(i) for i in [0, count) from up to `threads` threads of the pool (the caller's among them); tasks are taken off one
/// counter in order. The first exception stops the handing out of tasks and is rethrown here.
void parallel_for(int64_t count, int threads, const std::function<void(int64_t)>& work);

}  // namespace relayout
