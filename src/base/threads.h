#pragma once

#include <cstdint>
#include <functional>

namespace relayout {

/// CPUs this process may use: affinity mask and cgroup quota (rounded up), at least 1.
[[nodiscard]] int available_cpus();

/// Calls work(i) for i in [0, count) from up to `threads` threads (the caller's among them); tasks are taken off one counter in
/// order. The first exception stops the handing out of tasks and is rethrown here.
void parallel_for(int64_t count, int threads, const std::function<void(int64_t)>& work);

}  // namespace relayout
