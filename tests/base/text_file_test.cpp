#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/atomic_file.h"
#include "relayout/error.h"
#include "support/temporary_folder.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;

TEST(TextFile, WritesAndReplacesKeepingTheMode) {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "report.xml";
  write_text_file(path, "one\n");
  EXPECT_EQ(test::read_file(path), "one\n");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  write_text_file(path, "two\n");
  EXPECT_EQ(test::read_file(path), "two\n");
  EXPECT_EQ(static_cast<int>(fs::status(path).permissions()), 0640);
  EXPECT_EQ(folder.entries(), std::vector<std::string>{"report.xml"});
}

TEST(TextFile, FollowsAnExistingLink) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "real", "old");
  fs::create_symlink("real", folder / "link");
  write_text_file(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(test::read_file(folder / "real"), "new");
}

TEST(TextFile, DevicesAreWrittenToDirectly) {
  EXPECT_NO_THROW(write_text_file("/dev/null", "x"));
  EXPECT_FALSE(fs::is_regular_file("/dev/null"));
}

TEST(TextFile, UnwritableFilesAreNamedAndLeaveNothing) {
  const test::TemporaryFolder folder;
  try {
    write_text_file(folder / "no\nfolder" / "report.xml", "x");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_NE(std::string(error.what()).find("no\\x0afolder/report.xml: cannot write: No such file or directory"), std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(folder.entries().empty());
}

}  // namespace
}  // namespace relayout
