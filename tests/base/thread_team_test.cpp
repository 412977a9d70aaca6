// Tests that each part runs once, on any thread, also when parts wait for each other, are nested, or run after a fork.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "base/threads.h"

namespace relayout {
namespace {

template <class Work>
void run(int count, Parts kind, Work work) {
  run_parts(count, kind, [](void* context, int part) { (*static_cast<Work*>(context))(part); }, &work);
}

TEST(ThreadTeam, EveryPartRunsOnce) {
  for (const Parts kind : {Parts::equal, Parts::dynamic}) {
    for (const int count : {0, 1, 2, 3, 8}) {
      for (int repeat = 0; repeat < 500; ++repeat) {
        std::array<std::atomic<int>, 8> runs{};
        run(count, kind, [&](int part) { ++runs[static_cast<std::size_t>(part)]; });
        for (int i = 0; i < 8; ++i) ASSERT_EQ(runs[static_cast<std::size_t>(i)], i < count ? 1 : 0);
      }
    }
  }
}

TEST(ThreadTeam, WritesOfPartsAreVisibleAfterwards) {
  std::vector<int> out(1000);
  for (int repeat = 1; repeat <= 200; ++repeat) {
    run(2, Parts::equal, [&](int part) {
      for (std::size_t i = static_cast<std::size_t>(part); i < out.size(); i += 2) out[i] += repeat;
    });
  }
  for (const int value : out) ASSERT_EQ(value, 200 * 201 / 2);
}

TEST(ThreadTeam, PartsMeet) {
  const int count = reserve_parts(4);
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::atomic<int> first{0}, second{0};
    run(count, Parts::equal, [&](int) {
      ++first;
      meet_parts();
      EXPECT_EQ(first, count);
      ++second;
      meet_parts();
      EXPECT_EQ(second, count);
    });
  }
}

TEST(ThreadTeam, PartsMeetOnOneProcessor) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  std::thread([&] {  // with a team of its own, whose helpers inherit the mask
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    const int count = reserve_parts(3);
    std::atomic<int> met{0};
    run(count, Parts::equal, [&](int) {
      ++met;
      meet_parts();
      EXPECT_EQ(met, count);
    });
  })
      .join();
}

/// On one processor a team does not help: a loop after short pieces of work leaves it asleep and is offered to it once the loop proves
/// long. That is well before helpers look by themselves, after 100 ms. The test makes several attempts, because the team is tried again now
/// and then.
TEST(ThreadTeam, ALongLoopIsOfferedToATeamThatIsNotCalled) {
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    const std::thread::id caller = std::this_thread::get_id();
    bool was_left_asleep = false, was_offered = false;
    for (int attempt = 0; attempt < 50 && !was_offered; ++attempt) {
      for (int piece = 0; piece < 300; ++piece) {
        run(2, Parts::equal, [](int) {
          const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
          while (std::chrono::steady_clock::now() < end) {
          }
        });
      }
      std::atomic<int> helped{0};
      std::atomic<bool> is_asleep{false};
      parallel_for(30, 2, [&](int64_t task) {
        std::this_thread::sleep_for(std::chrono::milliseconds(task == 0 ? 5 : 1));
        const bool is_caller = std::this_thread::get_id() == caller;
        if (task == 0) is_asleep = is_caller && helped == 0;
        helped += is_caller ? 0 : 1;
      });
      was_left_asleep = was_left_asleep || is_asleep;
      was_offered = is_asleep && helped > 0;
    }
    EXPECT_TRUE(was_left_asleep);
    EXPECT_TRUE(was_offered);
  }).join();
}

TEST(ThreadTeam, OfferOutsideAPartDoesNothing) {
  offer_parts();
}

TEST(ThreadTeam, WorkInsideAPartIsSharedToo) {
  std::atomic<int> ran{0};
  parallel_for(4, 2, [&](int64_t) { parallel_for(4, 2, [&](int64_t) { parallel_for(4, 2, [&](int64_t) { ++ran; }); }); });
  EXPECT_EQ(ran, 64);
}

TEST(ThreadTeam, TwoThreadsHaveTeamsOfTheirOwn) {
  std::atomic<int> ran{0};
  const auto work = [&] {
    for (int i = 0; i < 300; ++i) run(3, Parts::equal, [&](int) { ++ran; });
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(ran, 1800);
}

TEST(ThreadTeam, AForkedProcessHasATeamOfItsOwn) {
  run(2, Parts::equal, [](int) {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<int> ran{0};
    run(2, Parts::equal, [&](int) {
      ++ran;
      meet_parts();
    });
    _exit(ran == 2 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace relayout
