#pragma once

#include <cstdint>
#include <functional>

namespace relayout {

/// Calls work(i) for i in [0, count) from up to `threads` threads of the pool, including the caller. Tasks are taken from one counter in
/// order. After the first exception no more tasks are started; it is rethrown here.
void parallel_for(int64_t count, int threads, const std::function<void(int64_t)>& work);

}  // namespace relayout
