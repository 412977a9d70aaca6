#pragma once

#include <cstdint>

namespace relayout {

/// Nanoseconds on a clock that never goes back; its zero is of no meaning.
[[nodiscard]] int64_t steady_nanoseconds() noexcept;
/// Nanoseconds that all threads of this process have spent on processors.
[[nodiscard]] int64_t processor_nanoseconds() noexcept;
/// The same of the calling thread.
[[nodiscard]] int64_t thread_nanoseconds() noexcept;

/// How long something takes.
class Stopwatch {
 public:
  [[nodiscard]] int64_t nanoseconds() const noexcept { return steady_nanoseconds() - begin_; }
  [[nodiscard]] double seconds() const noexcept;

 private:
  int64_t begin_ = steady_nanoseconds();
};

}  // namespace relayout
