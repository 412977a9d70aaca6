// Tests when a team is called, with made-up times.
#include <gtest/gtest.h>

#include "base/threads.h"

namespace relayout {
namespace {

using std::chrono::milliseconds;
using Piece = TeamWatch::Piece;

/// A window of pieces of two parts, of which the caller runs one or both.
void watch(TeamWatch& watch, milliseconds elapsed, milliseconds own, int own_parts, milliseconds running) {
  const Piece piece{elapsed, own, 2, own_parts};
  ASSERT_TRUE(watch.note(piece));
  watch.close(elapsed, milliseconds(0), running);
}

void help_well(TeamWatch& team) {
  watch(team, milliseconds(20), milliseconds(19), 1, milliseconds(20));
}
/// The caller's part takes 10 ms; then it waits for the other part as long as both parts together would have taken it.
void help_badly(TeamWatch& team) {
  watch(team, milliseconds(20), milliseconds(10), 1, milliseconds(20));
}
void work_alone(TeamWatch& team) {
  watch(team, milliseconds(20), milliseconds(20), 2, milliseconds(20));
}

TEST(TeamWatch, AWindowNeedsTime) {
  TeamWatch team;
  EXPECT_FALSE(team.note({std::chrono::microseconds(50), std::chrono::microseconds(50), 2, 1}));
}

TEST(TeamWatch, ATeamThatHelpsStays) {
  TeamWatch team;
  for (int i = 0; i < 1000; ++i) {
    help_well(team);
    ASSERT_FALSE(team.is_alone());
  }
}

TEST(TeamWatch, ATeamThatDoesNotHelpIsNotCalledAndTriedAgainLessAndLessOften) {
  TeamWatch team;
  int looks = 0, early_looks = 0;
  for (int i = 0; i < 2000; ++i) {
    if (team.is_alone()) {
      work_alone(team);
    } else {
      help_badly(team);
      ++looks;
      if (i < 100) ++early_looks;
    }
  }
  EXPECT_GE(early_looks, 3);
  EXPECT_GE(looks, 80);  // 40 s, a look every 0.4 s
  EXPECT_LE(looks, 110);
}

TEST(TeamWatch, LongPausesEndTheTimeAlone) {
  TeamWatch team;
  for (int i = 0; i < 20; ++i) help_badly(team);
  while (!team.is_alone()) help_badly(team);
  team.pause(milliseconds(100));
  EXPECT_TRUE(team.is_alone());
  team.pause(milliseconds(4000));
  EXPECT_FALSE(team.is_alone());
}

TEST(TeamWatch, OneInterruptedWindowAloneDoesNotLetABadTeamPass) {
  TeamWatch team;
  for (int i = 0; i < 2; ++i) help_badly(team);
  for (int i = 0; i < 3; ++i) work_alone(team);
  ASSERT_TRUE(team.is_alone());
  watch(team, milliseconds(20), milliseconds(20), 2, milliseconds(12));  // progress 0.6
  ASSERT_FALSE(team.is_alone());                                         // time to look at the team again
  for (int i = 0; i < 2; ++i) help_badly(team);                          // 1.0
  EXPECT_TRUE(team.is_alone());
}

TEST(TeamWatch, OneBadWindowIsForgiven) {
  TeamWatch team;
  help_badly(team);
  EXPECT_FALSE(team.is_alone());
  help_well(team);
  help_badly(team);
  EXPECT_FALSE(team.is_alone());
}

TEST(TeamWatch, ATeamThatHelpsAgainIsCalledAgain) {
  TeamWatch team;
  help_badly(team);
  help_badly(team);
  ASSERT_TRUE(team.is_alone());
  for (int i = 0; i < 10 && team.is_alone(); ++i) work_alone(team);
  ASSERT_FALSE(team.is_alone());
  for (int i = 0; i < 100; ++i) help_well(team);
  EXPECT_FALSE(team.is_alone());
}

TEST(TeamWatch, TimeWithoutAProcessorIsNotWork) {
  // The caller's part seems to take all the time, but it had a processor for only half of it.
  TeamWatch team;
  for (int i = 0; i < 2; ++i) watch(team, milliseconds(20), milliseconds(20), 1, milliseconds(10));
  EXPECT_TRUE(team.is_alone());
}

TEST(TeamWatch, OneThreadThatIsInterruptedLosesToATeamThatIsLess) {
  TeamWatch team;
  const auto in_team = [&] { watch(team, milliseconds(20), milliseconds(9), 1, milliseconds(20)); };  // progress 0.9
  in_team();
  in_team();
  ASSERT_TRUE(team.is_alone());
  while (team.is_alone()) watch(team, milliseconds(20), milliseconds(20), 2, milliseconds(10));  // 0.5
  in_team();
  EXPECT_FALSE(team.is_alone());
}

}  // namespace
}  // namespace relayout
