#include "base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

#include "relayout/error.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using test::write_file;
using testing::HasSubstr;

/// The message of the Error{io} that opening throws.
std::string refusal(const fs::path& path) {
  return test::refusal_of(ErrorKind::io, [&] { return File::open(path); });
}

TEST(File, ReadsAtAnyPlace) {
  const TemporaryFolder folder;
  write_file(folder / "f", "0123456789");
  const auto file = File::open(folder / "f");
  EXPECT_EQ(file->size(), 10);
  EXPECT_EQ(file->text(3, 4), "3456");
  EXPECT_EQ(file->text(10, 0), "");
  const auto memory = File::from_bytes("0123456789", "memory");
  EXPECT_EQ(memory->text(3, 4), "3456");
  EXPECT_EQ(memory->descriptor(), -1);
  for (const auto& each : {file, memory}) {
    EXPECT_THROW((void)each->text(7, 4), Error);
    EXPECT_THROW((void)each->text(-1, 1), Error);
    EXPECT_THROW((void)each->text(INT64_MAX, 1), Error);
  }
}

TEST(File, B1Missing) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusal(folder / "missing"), HasSubstr("missing: No such file or directory"));
  EXPECT_THAT(refusal(folder / "a\nb"), HasSubstr("a\\x0ab: "));
  EXPECT_THAT(refusal(std::string("a\0b", 3)), HasSubstr("NUL"));
}

TEST(File, B2Directory) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusal(folder.path()), HasSubstr("is a directory"));
}

TEST(File, B3Symlinks) {
  const TemporaryFolder folder;
  fs::create_symlink(folder / "nowhere", folder / "dangling");
  EXPECT_THAT(refusal(folder / "dangling"), HasSubstr("No such file"));
  fs::create_symlink(folder / "loop", folder / "loop");
  EXPECT_THAT(refusal(folder / "loop"), HasSubstr("symbolic links"));
  write_file(folder / "f", "x");
  fs::create_symlink(folder / "f", folder / "good");
  EXPECT_EQ(File::open(folder / "good")->text(0, 1), "x");
}

TEST(File, B4EndlessFile) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal(folder / "pipe"), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("not a regular file"));
}

TEST(File, B5NoPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TemporaryFolder folder;
  write_file(folder / "f", "x");
  fs::permissions(folder / "f", fs::perms::none);
  EXPECT_THAT(refusal(folder / "f"), HasSubstr("Permission denied"));
}

TEST(File, B6ShrinksOrChangesWhileItIsRead) {
  const TemporaryFolder folder;
  write_file(folder / "f", std::string(100, 'x'));
  const auto file = File::open(folder / "f");
  file->check_unchanged();
  fs::resize_file(folder / "f", 50);
  EXPECT_THROW(
      {
        try {
          (void)file->text(40, 20);
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::io);
          EXPECT_THAT(error.what(), HasSubstr("shrank"));
          throw;
        }
      },
      Error);
  EXPECT_THROW(file->check_unchanged(), Error);
}

TEST(File, AChangeOfContentsAloneShowsInTheTime) {
  const TemporaryFolder folder;
  write_file(folder / "f", "before");
  const auto file = File::open(folder / "f");
  const timespec times[2] = {{0, UTIME_OMIT}, {12345, 678}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (folder / "f").c_str(), times, 0), 0);
  EXPECT_THROW(file->check_unchanged(), Error);
}

TEST(File, KnowsItselfUnderOtherNames) {
  const TemporaryFolder folder;
  write_file(folder / "f", "x");
  write_file(folder / "other", "x");
  fs::create_hard_link(folder / "f", folder / "hard");
  fs::create_symlink("f", folder / "soft");
  const auto file = File::open(folder / "f");
  EXPECT_TRUE(file->is_same_as(folder / "f"));
  EXPECT_TRUE(file->is_same_as(folder / "hard"));
  EXPECT_TRUE(file->is_same_as(folder / "soft"));
  EXPECT_FALSE(file->is_same_as(folder / "other"));
  EXPECT_FALSE(file->is_same_as(folder / "missing"));
  EXPECT_FALSE(File::from_bytes("x", "memory")->is_same_as(folder / "f"));
}

TEST(File, MoreThanTheCustomaryDescriptors) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max < 200) GTEST_SKIP() << "a hard limit of " << before.rlim_max;
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const TemporaryFolder folder;
  write_file(folder / "f", "x");
  std::vector<std::shared_ptr<File>> files;
  for (int i = 0; i < 100; ++i) files.push_back(File::open(folder / "f"));
  EXPECT_EQ(files.back()->text(0, 1), "x");
  files.clear();
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST(File, StandardInputIsSpilled) {
  const TemporaryFolder folder;
  write_file(folder / "f", std::string(3'000'000, 'i'));
  const int saved = ::dup(STDIN_FILENO);
  const int source = ::open((folder / "f").c_str(), O_RDONLY | O_CLOEXEC);
  ::dup2(source, STDIN_FILENO);
  const auto file = File::from_standard_input();
  ::dup2(saved, STDIN_FILENO);
  ::close(source);
  ::close(saved);
  EXPECT_EQ(file->name(), "standard input");
  EXPECT_EQ(file->size(), 3'000'000);
  EXPECT_EQ(file->text(2'999'998, 2), "ii");
}

}  // namespace
}  // namespace relayout
