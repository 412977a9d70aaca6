// Declares what the machine and its settings offer: instructions, processors, memory, environment.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

namespace relayout {

/// The value of an environment variable; empty when it is not set.
[[nodiscard]] inline std::string environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): no thread changes it
  return value == nullptr ? "" : value;
}

/// The classes of processors with different kernels, weakest first.
enum class InstructionSet : uint8_t { sse41, avx2, avx512 };

/// The class that oneDNN will use here, found without loading oneDNN: that of the processor, limited by ONEDNN_MAX_CPU_ISA (or
/// DNNL_MAX_CPU_ISA) in the environment.
[[nodiscard]] InstructionSet instruction_set();
/// The class of one of oneDNN's names ("AVX2_VNNI", case-insensitive); avx512 for names that set no limit.
[[nodiscard]] InstructionSet instruction_set_of(std::string_view name);

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

/// Alignment of tensors and parts of a scratchpad: a cache line, which is also a vector of AVX-512.
inline constexpr int64_t kLineBytes = 64;

/// `bytes` rounded up to whole lines; the largest int64_t when that exceeds it.
[[nodiscard]] constexpr int64_t whole_lines(int64_t bytes) noexcept {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return bytes > kMost - kLineBytes ? kMost : (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

/// Throws Error{io} when a block of `bytes` exceeds the memory of the machine: the system would promise it, and kill this or a different
/// process when it is used.
void require_memory(int64_t bytes);

}  // namespace relayout
