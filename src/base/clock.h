#pragma once

#include <cstdint>

namespace relayout {

inline constexpr double kNanosecondsPerMicrosecond = 1000;

/// Nanoseconds on a monotonic clock of unspecified origin.
[[nodiscard]] int64_t steady_nanoseconds() noexcept;
/// Nanoseconds that all threads of this process have spent on processors.
[[nodiscard]] int64_t processor_nanoseconds() noexcept;
/// Nanoseconds that the calling thread has spent on processors.
[[nodiscard]] int64_t thread_nanoseconds() noexcept;

/// Measures a duration.
class Stopwatch {
 public:
  [[nodiscard]] int64_t nanoseconds() const noexcept { return steady_nanoseconds() - begin_; }
  [[nodiscard]] double seconds() const noexcept;

 private:
  int64_t begin_ = steady_nanoseconds();
};

}  // namespace relayout
