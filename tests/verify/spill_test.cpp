#include "verify/run/spill.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "relayout/datum.h"
#include "relayout/error.h"
#include "tensors.h"
#include "verify/run/distance.h"

namespace relayout {
namespace {

using testing::floats;
using testing::integers;
using testing::optional;
using testing::sequence;
using testing::strings;

TEST(Spill, ReadsBackWrittenData) {
  Spill spill;
  const std::vector<int64_t> swap{1, 0};
  const std::vector<Datum> data{
      floats({2, 3}, {1, 2, 3, 4, 5, 6}),
      floats({2, 3}, {1, 2, 3, 4, 5, 6}).transposed(swap),
      integers({}, {-7}),
      floats({0, 4}, {}),
      strings({3}, {"", std::string("a\0b", 3), "long enough to live on the heap, surely"}),
      sequence({floats({1}, {1}), sequence({strings({1}, {"x"})}), floats({2}, {3, 4})}),
      optional({}),
      optional({floats({1}, {9})}),
      sequence({}),
  };
  std::vector<Spill::Stored> stored;
  for (const Datum& datum : data) stored.push_back(spill.write(datum));
  for (std::size_t i = data.size(); i-- > 0;) {
    EXPECT_TRUE(bit_equal(data[i], spill.read(stored[i]))) << i << ": " << describe(spill.read(stored[i]));
  }
}

TEST(Spill, LeavesNoNameInTheFolder) {
  const auto folder = std::filesystem::temp_directory_path() / ("relayout-spill-test-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  ASSERT_EQ(::setenv("TMPDIR", folder.c_str(), 1), 0);
  {
    Spill spill;
    (void)spill.write(floats({2}, {1, 2}));
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
  ASSERT_EQ(::unsetenv("TMPDIR"), 0);
  std::filesystem::remove_all(folder);
}

TEST(Spill, V71AMissingFolderIsAnIoError) {
  ASSERT_EQ(::setenv("TMPDIR", "/nowhere/at/all", 1), 0);
  Spill spill;
  try {
    (void)spill.write(floats({2}, {1, 2}));
    ADD_FAILURE() << "written";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
  }
  ASSERT_EQ(::unsetenv("TMPDIR"), 0);
}

TEST(Spill, V71AFileThatCannotGrowIsAnIoError) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit little = before;
  little.rlim_cur = 1 << 16;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  Spill spill;
  const Datum quarter = floats({4096}, std::vector<double>(4096, 1));
  std::vector<Spill::Stored> stored;
  ErrorKind kind = ErrorKind::defect;
  try {
    for (int i = 0; i < 5; ++i) stored.push_back(spill.write(quarter));
  } catch (const Error& error) {
    kind = error.kind();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, handler);
  EXPECT_EQ(kind, ErrorKind::io);
  ASSERT_EQ(stored.size(), 4U);
  for (const Spill::Stored& one : stored) EXPECT_TRUE(bit_equal(quarter, spill.read(one))) << "what was written stays readable";
}

}  // namespace
}  // namespace relayout
