#pragma once

namespace relayout {

/// CPUs this process may use, at least 1: affinity mask, cgroup quota (rounded up), and the environment's OMP_NUM_THREADS and
/// OMP_THREAD_LIMIT.
[[nodiscard]] int available_cpus();

/// `threads`, or as many as there are available CPUs if it is 0.
[[nodiscard]] int threads_or_all(int threads);
/// `threads`, or at most two if it is 0, for work on files: one thread computes while the other waits for the disk.
[[nodiscard]] int threads_or_two(int threads);

/// CPUs of the affinity mask.
[[nodiscard]] int affinity_cpus();
/// The least quota of this process's control group (version 2) and its ancestors, rounded up; 0 when there is none.
[[nodiscard]] int quota_cpus();

}  // namespace relayout
