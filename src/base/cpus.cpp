// Number of processors available (affinity mask, cgroup quota, OMP_NUM_THREADS, OMP_THREAD_LIMIT), and the default number of threads: all,
// or two for work on files.
#include "base/cpus.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/environment.h"

namespace relayout {
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

}  // namespace relayout
