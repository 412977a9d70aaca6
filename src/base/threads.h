#pragma once

#include <cstdint>
#include <functional>

namespace relayout {

/// Calls work(i) for i in [0, count) from up to `threads` threads of the pool (the caller's among them); tasks are taken off one
/// counter in order. The first exception stops the handing out of tasks and is rethrown here.
void parallel_for(int64_t count, int threads, const std::function<void(int64_t)>& work);

}  // namespace relayout
