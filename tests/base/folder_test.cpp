// Tests listings of folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "relayout/error.h"
#include "support/temporary_folder.h"

namespace relayout {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names_of(const std::vector<std::filesystem::directory_entry>& entries) {
  std::vector<std::string> out;
  for (const auto& entry : entries) out.push_back(entry.path().filename().string());
  return out;
}

TEST(Folder, EntriesAreSortedByName) {
  const test::TemporaryFolder folder;
  for (const char* const name : {"b", "a.json", ".hidden", "B", "a"}) test::write_file(folder / name, "");
  std::filesystem::create_directories(folder / ".git");
  std::filesystem::create_directories(folder / "c");
  EXPECT_THAT(names_of(entries_of(folder.path())), ElementsAre(".git", ".hidden", "B", "a", "a.json", "b", "c"));
  EXPECT_THAT(names_of(visible_entries(folder.path())), ElementsAre("B", "a", "a.json", "b", "c"));
}

TEST(Folder, ErrorsNameIt) {
  const test::TemporaryFolder folder;
  const std::filesystem::path missing = folder / "missing";
  try {
    (void)visible_entries(missing);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(error.what(), missing.string() + ": No such file or directory");
  }
}

}  // namespace
}  // namespace relayout
