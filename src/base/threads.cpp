// How many processors there are for this process, and loops over them.
#include "base/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>

#include "base/thread_team.h"

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

/// What the user asks of every program that runs on OpenMP; 0 when nothing.
int environment_limit(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : std::max(0, std::atoi(text));
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

int available_cpus() {
  int cpus = affinity_cpus();
  for (const int limit : {quota_cpus(), environment_limit("OMP_NUM_THREADS"), environment_limit("OMP_THREAD_LIMIT")}) {
    if (limit > 0) cpus = std::min(cpus, limit);
  }
  return cpus;
}

void parallel_for(int64_t count, int threads, const std::function<void(int64_t)>& work) {
  if (threads <= 1 || count <= 1) {
    for (int64_t i = 0; i < count; ++i) work(i);
    return;
  }
  struct Tasks {
    const std::function<void(int64_t)>& work;
    int64_t count;
    std::atomic<int64_t> next{0};
    std::mutex mutex;
    std::exception_ptr error;
  } tasks{work, count, {}, {}, {}};
  const auto run = [](void* opaque, int) {
    auto& shared = *static_cast<Tasks*>(opaque);
    while (true) {
      const int64_t i = shared.next.fetch_add(1);
      if (i >= shared.count) return;
      try {
        shared.work(i);
      } catch (...) {
        const std::lock_guard lock(shared.mutex);
        if (!shared.error) shared.error = std::current_exception();
        shared.next.store(shared.count);
        return;
      }
    }
  };
  run_parts(static_cast<int>(std::min<int64_t>(threads, count)), Parts::dynamic, run, &tasks);
  if (tasks.error) std::rethrow_exception(tasks.error);
}

}  // namespace relayout
