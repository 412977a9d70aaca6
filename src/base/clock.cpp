// Monotonic time, and processor time of the process and of a thread, in nanoseconds; the stopwatch. The clocks of the system are read
// without <chrono>: that header includes all of std::format, which every file would instantiate.
#include "base/clock.h"

#include <time.h>

#include <cstdint>

namespace relayout {
namespace {

constexpr int64_t kPerSecond = 1'000'000'000;

int64_t read(clockid_t clock) noexcept {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * kPerSecond + time.tv_nsec;
}

}  // namespace

int64_t steady_nanoseconds() noexcept {
  return read(CLOCK_MONOTONIC);
}

int64_t processor_nanoseconds() noexcept {
  return read(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t thread_nanoseconds() noexcept {
  return read(CLOCK_THREAD_CPUTIME_ID);
}

double Stopwatch::seconds() const noexcept {
  return static_cast<double>(nanoseconds()) / double{kPerSecond};
}

}  // namespace relayout
