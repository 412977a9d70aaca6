#include "base/threads.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "base/machine.h"

namespace relayout {
namespace {

TEST(Threads, EveryTaskRunsOnce) {
  for (const int threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> runs(1000);
    parallel_for(1000, threads, [&](int64_t i) { ++runs[static_cast<std::size_t>(i)]; });
    for (const auto& count : runs) ASSERT_EQ(count, 1);
  }
}

TEST(Threads, TheFirstExceptionComesBackAndStopsTheRest) {
  std::atomic<int> ran{0};
  const auto work = [&](int64_t i) {
    ++ran;
    if (i == 3) throw std::runtime_error("task 3");
  };
  EXPECT_THROW(parallel_for(1'000'000, 2, work), std::runtime_error);
  EXPECT_LT(ran, 1'000'000);
}

TEST(Threads, NothingToDo) {
  parallel_for(0, 4, [](int64_t) { FAIL(); });
}

TEST(Threads, AvailableCpusStaysWithinTheAffinityMask) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(available_cpus(), 1);
  EXPECT_LE(available_cpus(), CPU_COUNT(&before));
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(available_cpus(), 1);
  sched_setaffinity(0, sizeof before, &before);
}

}  // namespace
}  // namespace relayout
