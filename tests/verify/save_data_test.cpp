#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/types.h"
#include "support/temporary_folder.h"
#include "tensors.h"
#include "verify/inputs/data_file.h"
#include "verify/run/distance.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using ::testing::ElementsAre;
using ::testing::StartsWith;

TEST(SaveData, WrittenDataReadsBackEqual) {
  const test::TemporaryFolder folder;
  const std::vector<Datum> data{floats({2, 2}, {1, -2, 3, 4}),
                                integers({3}, {1, 0, 1}, DataType::boolean),
                                integers({5}, {-8, 7, 1, -1, 3}, DataType::int4),
                                strings({2}, {"a", "\xC3\xA4 b"}),
                                tensor(DataType::bfloat16, {}, {1.5}),
                                sequence({Datum(floats({1}, {1})), Datum(floats({2}, {2, 3}))}),
                                optional({}),
                                optional({Datum(floats({1}, {5}))}),
                                map_of(strings({2}, {"b", "a"}), floats({2}, {1, 2})),
                                sequence({map_of(integers({2}, {7, -1}), floats({2}, {1, 2}))})};
  const std::vector<std::string> names{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  save_data_set(folder.path() / "new", 3, data, {data.front()}, names, {"y"});
  EXPECT_THAT(folder.entries(), ElementsAre("new/"));
  for (std::size_t i = 0; i < data.size(); ++i) {
    const Datum read = read_data_file(folder.path() / "new/test_data_set_3" / ("input_" + std::to_string(i) + ".pb"), data[i].kind);
    EXPECT_TRUE(bit_equal(data[i], read)) << names[i] << ": " << describe(read);
  }
  EXPECT_TRUE(bit_equal(data.front(), read_data_file(folder.path() / "new/test_data_set_3/output_0.pb")));
}

TEST(SaveData, NoFileIsOverwritten) {
  const test::TemporaryFolder folder;
  const std::vector<Datum> data{floats({1}, {1})};
  save_data_set(folder.path(), 0, data, data, {"x"}, {"y"});
  EXPECT_THROW(save_data_set(folder.path(), 0, data, data, {"x"}, {"y"}), Error);
  EXPECT_THAT(folder.entries(), ElementsAre("test_data_set_0/"));
}

/// Limits the size of files, as a full disk does, until it goes out of scope.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, signal_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  void (*signal_)(int);
  rlimit before_{};
};

TEST(SaveData, AFullDiskNamesTheRequestedFile) {
  const test::TemporaryFolder folder;
  const std::vector<Datum> data{floats({64}, std::vector<double>(64, 1))};
  std::string message;
  {
    const FileLimit limit(100);
    try {
      save_data_set(folder.path() / "data", 2, data, data, {"x"}, {"y"});
    } catch (const Error& error) {
      message = error.what();
    }
  }
  EXPECT_THAT(message, StartsWith((folder.path() / "data/test_data_set_2/input_0.pb").string() + ": "));
  EXPECT_THAT(folder.entries(), ElementsAre("data/"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "data"));
}

}  // namespace
}  // namespace relayout
