// Finds out what the machine offers: instructions, processors and memory.
#include "base/machine.h"

#include <sched.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "base/positions.h"
#include "base/text.h"
#include "relayout/error.h"

namespace relayout {

// Instructions. Layouts are planned for them even when nothing is run.
namespace {

InstructionSet of_processor() {
#if defined(__x86_64__) || defined(__i386__)
  const bool has_avx512 = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                          __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
  if (has_avx512) return InstructionSet::avx512;
  return __builtin_cpu_supports("avx2") != 0 ? InstructionSet::avx2 : InstructionSet::sse41;
#else
  return InstructionSet::avx2;
#endif
}

}  // namespace

InstructionSet instruction_set_of(std::string_view name) {
  const std::string lower = ascii_lower(name);
  if (lower == "sse41" || lower == "avx") return InstructionSet::sse41;
  return lower.starts_with("avx2") ? InstructionSet::avx2 : InstructionSet::avx512;
}

InstructionSet instruction_set() {
  static const InstructionSet kHere = [] {
    std::string limit = environment("ONEDNN_MAX_CPU_ISA");
    if (limit.empty()) limit = environment("DNNL_MAX_CPU_ISA");
    return limit.empty() ? of_processor() : std::min(of_processor(), instruction_set_of(limit));
  }();
  return kHere;
}

// Processors.
namespace {

/// CPUs that a quota grants, rounded up; 0 when the file has none. "QUOTA PERIOD" in microseconds, or "max PERIOD".
int quota_in(const std::string& path) {
  std::ifstream file(path);
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return static_cast<int>(std::ceil(std::atof(quota.c_str()) / period));
}

/// The number of threads that an environment variable sets for OpenMP programs; 0 when it sets none.
int environment_limit(const char* name) {
  return std::max(0, std::atoi(environment(name).c_str()));
}

}  // namespace

int affinity_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

int quota_cpus() {
  std::ifstream groups("/proc/self/cgroup");
  std::string line, group;
  while (std::getline(groups, line)) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  int least = 0;
  while (true) {
    const int quota = quota_in("/sys/fs/cgroup" + group + "/cpu.max");
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
    const auto parent = group.rfind('/');
    if (group.empty() || parent == std::string::npos) return least;
    group.resize(parent);
  }
}

int threads_or_all(int threads) {
  return threads > 0 ? threads : available_cpus();
}

int threads_or_two(int threads) {
  return threads > 0 ? threads : std::min(2, available_cpus());
}

int available_cpus() {
  int cpus = affinity_cpus();
  for (const int limit : {quota_cpus(), environment_limit("OMP_NUM_THREADS"), environment_limit("OMP_THREAD_LIMIT")}) {
    if (limit > 0) cpus = std::min(cpus, limit);
  }
  return cpus;
}

// Memory.
namespace {

int64_t machine_bytes() {
  const auto bytes = checked_mul<int64_t>(sysconf(_SC_PHYS_PAGES), sysconf(_SC_PAGESIZE));
  return bytes && *bytes > 0 ? *bytes : std::numeric_limits<int64_t>::max();
}

}  // namespace

void require_memory(int64_t bytes) {
  static const int64_t most = machine_bytes();
  if (bytes > most) fail(ErrorKind::io, "out of memory: " + std::to_string(bytes) + " bytes of the machine's " + std::to_string(most));
}

}  // namespace relayout
