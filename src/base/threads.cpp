#include "base/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace relayout {
namespace {

int affinity_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

/// CPUs of the cgroup's quota (v2 cpu.max of this process's own group), rounded up; 0 when there is none.
int quota_cpus() {
  std::ifstream groups("/proc/self/cgroup");
  std::string line, group;
  while (std::getline(groups, line)) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  std::ifstream file("/sys/fs/cgroup" + group + "/cpu.max");
  if (!file) file.open("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  const double cpus = std::atof(quota.c_str()) / period;
  return static_cast<int>(cpus + 0.999);
}

}  // namespace

int available_cpus() {
  const int affinity = affinity_cpus();
  const int quota = quota_cpus();
  return quota > 0 ? std::min(affinity, quota) : affinity;
}

void parallel_for(int64_t count, int threads, const std::function<void(int64_t)>& work) {
  if (threads <= 1 || count <= 1) {
    for (int64_t i = 0; i < count; ++i) work(i);
    return;
  }
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto run = [&] {
    while (true) {
      const int64_t i = next.fetch_add(1);
      if (i >= count) return;
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next.store(count);
        return;
      }
    }
  };
  std::vector<std::thread> helpers;
  const auto wanted = static_cast<std::size_t>(std::min<int64_t>(threads, count) - 1);
  try {
    while (helpers.size() < wanted) helpers.emplace_back(run);
  } catch (const std::system_error&) {
    // No more threads to be had: those that are there do the work.
  }
  run();
  for (std::thread& helper : helpers) helper.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace relayout
