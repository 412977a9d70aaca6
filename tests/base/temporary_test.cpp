#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "base/atomic_file.h"
#include "relayout/error.h"
#include "support/temporary_folder.h"

namespace relayout {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// $TMPDIR for the time of a test.
class Temporary : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", folder_.path().c_str(), 1);
  }
  void TearDown() override { before_ ? ::setenv("TMPDIR", before_->c_str(), 1) : ::unsetenv("TMPDIR"); }

  test::TemporaryFolder folder_;
  std::optional<std::string> before_;
};

TEST_F(Temporary, TheFileHasNoName) {
  const int descriptor = open_temporary_file();
  EXPECT_THAT(folder_.entries(), IsEmpty());
  ASSERT_EQ(::pwrite(descriptor, "text", 4, 0), 4);
  char text[5] = {};
  ASSERT_EQ(::pread(descriptor, text, 4, 0), 4);
  EXPECT_STREQ(text, "text");
  ::close(descriptor);
}

TEST_F(Temporary, TheFolderIsPrivateAndRemovedWithItsContents) {
  {
    const PrivateFolder folder;
    EXPECT_EQ(folder.path().parent_path(), folder_.path());
    struct stat state{};
    ASSERT_EQ(::stat(folder.path().c_str(), &state), 0);
    EXPECT_EQ(state.st_mode & 0777U, 0700U);
    test::write_file(folder.path() / "draft.onnx", "bytes");
  }
  EXPECT_THAT(folder_.entries(), IsEmpty());
}

TEST_F(Temporary, AMissingFolderIsNamed) {
  ::setenv("TMPDIR", (folder_ / "nowhere").c_str(), 1);
  for (const bool is_folder : {false, true}) {
    try {
      if (is_folder) {
        const PrivateFolder folder;
      } else {
        ::close(open_temporary_file());
      }
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_THAT(error.what(), HasSubstr("nowhere: cannot make a temporary"));
    }
  }
}

}  // namespace
}  // namespace relayout
