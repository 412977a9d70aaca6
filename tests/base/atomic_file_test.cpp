#include "base/atomic_file.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "relayout/error.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;
using test::read_file;
using test::TemporaryFolder;
using test::write_file;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void put(const AtomicFile& file, const std::string& text) {
  ASSERT_EQ(::pwrite(file.descriptor(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
}

std::string refusal(const fs::path& path) {
  return test::refusal_of(ErrorKind::io, [&] { return AtomicFile(path); });
}

TEST(AtomicFile, AppearsOnCommit) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "out");
  put(file, "new");
  EXPECT_FALSE(fs::exists(folder / "out"));
  file.commit(false);
  EXPECT_EQ(read_file(folder / "out"), "new");
  EXPECT_THAT(folder.entries(), ElementsAre("out"));
}

TEST(AtomicFile, VanishesWithoutCommit) {
  const TemporaryFolder folder;
  {
    AtomicFile file(folder / "out");
    put(file, "new");
  }
  EXPECT_THAT(folder.entries(), IsEmpty());
}

TEST(AtomicFile, ReplacesWholeAndKeepsTheMode) {
  const TemporaryFolder folder;
  write_file(folder / "out", "the old and longer contents");
  ASSERT_EQ(::chmod((folder / "out").c_str(), 0640), 0);
  AtomicFile file(folder / "out");
  EXPECT_TRUE(file.replaces());
  put(file, "new");
  EXPECT_EQ(read_file(folder / "out"), "the old and longer contents");
  file.commit(false);
  EXPECT_EQ(read_file(folder / "out"), "new");
  struct stat state{};
  ASSERT_EQ(::stat((folder / "out").c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 07777U, 0640U);
  EXPECT_THAT(folder.entries(), ElementsAre("out"));
}

TEST(AtomicFile, ANewFileObeysTheMask) {
  const TemporaryFolder folder;
  const mode_t mask = ::umask(027);
  AtomicFile file(folder / "out");
  file.commit(true);
  ::umask(mask);
  struct stat state{};
  ASSERT_EQ(::stat((folder / "out").c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 07777U, 0640U);
}

TEST(AtomicFile, FollowsASymlinkedTarget) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "store");
  fs::create_symlink("store/new", folder / "fresh");
  write_file(folder / "store/old", "old");
  fs::create_symlink("store/old", folder / "link");
  for (const char* name : {"fresh", "link"}) {
    AtomicFile file(folder / name);
    put(file, "new");
    file.commit(false);
    EXPECT_TRUE(fs::is_symlink(folder / name));
  }
  EXPECT_EQ(read_file(folder / "store/new"), "new");
  EXPECT_EQ(read_file(folder / "store/old"), "new");
}

TEST(AtomicFile, TwoWritersOfOneTarget) {
  const TemporaryFolder folder;
  AtomicFile a(folder / "out"), b(folder / "out");
  put(a, "aaa");
  put(b, "bbb");
  a.commit(false);
  b.commit(false);
  EXPECT_EQ(read_file(folder / "out"), "bbb");
  EXPECT_THAT(folder.entries(), ElementsAre("out"));
}

TEST(AtomicFile, B49BadPlaces) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusal(folder / "missing/out"), HasSubstr("No such file or directory"));
  EXPECT_THAT(refusal(folder.path()), HasSubstr("is a directory"));
  EXPECT_THAT(refusal(folder.path() / ""), HasSubstr("is a directory"));
  EXPECT_THAT(refusal("/dev/null"), HasSubstr("not a regular file"));
  write_file(folder / "file", "x");
  EXPECT_THAT(refusal(folder / "file/out"), HasSubstr("Not a directory"));
  EXPECT_THAT(refusal(folder / std::string(300, 'n')), HasSubstr("name too long"));
  fs::create_symlink("loop", folder / "loop");
  EXPECT_THAT(refusal(folder / "loop"), HasSubstr("symbolic links"));
}

TEST(AtomicFile, B50NotWritable) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TemporaryFolder folder;
  write_file(folder / "out", "old");
  fs::permissions(folder / "out", fs::perms::owner_read);
  EXPECT_THAT(refusal(folder / "out"), HasSubstr("Permission denied"));
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(refusal(folder / "new"), HasSubstr("Permission denied"));
  fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST(AtomicFile, B52MissingSpaceIsReportedBeforeWriting) {
  const TemporaryFolder folder;
  // A file size limit fails as a full disk does: the call that would exceed it returns an error.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit low = before;
  low.rlim_cur = 1 << 20;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  try {
    AtomicFile file(folder / "out");
    file.reserve(int64_t{8} << 20);
    // Memory file systems reserve nothing.
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.what(), HasSubstr("out: File too large"));
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(folder.entries(), IsEmpty());
}

}  // namespace
}  // namespace relayout
