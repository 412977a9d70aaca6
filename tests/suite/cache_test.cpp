#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "relayout/error.h"
#include "relayout/suite.h"
#include "suite/suite.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;

class Cache : public testing::Test {
 protected:
  /// A case with stored outputs whose weights are in a data file.
  Cache() {
    onnx::ModelProto model = conv_batch_norm();
    auto& weight = *model.mutable_graph()->mutable_initializer(0);
    fs::create_directories(folder_ / "t/case/test_data_set_0");
    write_file(folder_ / "t/case/weights.bin", weight.raw_data());
    weight.clear_raw_data();
    weight.set_data_location(onnx::TensorProto::EXTERNAL);
    auto& location = *weight.add_external_data();
    location.set_key("location");
    location.set_value("weights.bin");
    save_model(model, folder_ / "t/case/model.onnx");
    write_file(folder_ / "t/case/test_data_set_0/input_0.pb", "in");
    write_file(folder_ / "t/case/test_data_set_0/output_0.pb", "out");
    save_model(conv_batch_norm(), folder_ / "other.onnx");
    stored_ = {"case", folder_ / "t/case/model.onnx", folder_ / "t/case", {}, ""};
    pair_ = {"case", folder_ / "other.onnx", {}, folder_ / "t/case/model.onnx", ""};
  }
  [[nodiscard]] std::optional<std::string> key(const SuiteEntry& entry, const std::vector<std::string>& facts = {"1.0"}) const {
    return CaseCache(folder_ / "cache", facts).key_of(entry);
  }
  void change(const std::string& file) const {
    std::string bytes = read_file(folder_ / file);
    bytes.back() ^= 1;
    write_file(folder_ / file, bytes);
  }

  TemporaryFolder folder_;
  SuiteEntry stored_, pair_;
  const SuiteCase verdict_{"case", "failed", 0.5, "far \"off\"", {}, ""};
};

TEST_F(Cache, KeysDependOnEveryByteThatACaseReads) {
  const auto stored = key(stored_), pair = key(pair_);
  ASSERT_TRUE(stored && pair);
  EXPECT_NE(stored, pair);
  EXPECT_EQ(key(stored_), stored);
  for (const char* const file : {"t/case/weights.bin", "t/case/test_data_set_0/input_0.pb", "t/case/test_data_set_0/output_0.pb"}) {
    change(file);
    EXPECT_NE(key(stored_), stored) << file;
    EXPECT_EQ(key(pair_) == pair, std::string(file) != "t/case/weights.bin") << file;
    change(file);
    EXPECT_EQ(key(stored_), stored) << file;
  }
  // Files that did not exist.
  for (const char* const file :
       {"t/case/data.json", "t/data.json", "t/case/test_data_set_0/input_1.npy", "t/case/test_data_set_0/output_1.pb"}) {
    write_file(folder_ / file, "{}");
    EXPECT_NE(key(stored_), stored) << file;
    fs::remove(folder_ / file);
  }
  fs::rename(folder_ / "t/case/test_data_set_0", folder_ / "t/case/test_data_set_1");
  EXPECT_NE(key(stored_), stored);
}

TEST_F(Cache, KeysDependOnFactsAndNames) {
  EXPECT_NE(key(stored_, {"1.1"}), key(stored_));
  EXPECT_NE(key(stored_, {"1", ".0"}), key(stored_));
  SuiteEntry renamed = stored_;
  renamed.name = "another";
  EXPECT_NE(key(renamed), key(stored_));
}

TEST_F(Cache, UnreadableCasesHaveNoKey) {
  SuiteEntry entry = stored_;
  entry.fault = "no counterpart";
  EXPECT_FALSE(key(entry));
  fs::remove(folder_ / "t/case/weights.bin");
  EXPECT_FALSE(key(stored_));
  EXPECT_FALSE(key(pair_));
}

TEST_F(Cache, ReturnsStoredVerdicts) {
  CaseCache cache(folder_ / "cache", {"1.0"});
  const std::string one = *cache.key_of(stored_);
  EXPECT_FALSE(cache.find(one, "case"));
  cache.store(one, verdict_);
  const auto found = cache.find(one, "case");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status, "failed");
  EXPECT_EQ(found->message, verdict_.message);
  EXPECT_EQ(found->seconds, 0.5);
  EXPECT_EQ(found->source, "cache");
  EXPECT_FALSE(cache.find(*cache.key_of(pair_), "case"));
}

/// Changes the only entry.
void spoil_entry(const fs::path& folder, const std::function<std::string(std::string)>& spoil) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) write_file(entry.path(), spoil(read_file(entry.path())));
  }
}

TEST_F(Cache, DamagedEntriesAreMissing) {
  CaseCache cache(folder_ / "cache", {"1.0"});
  const std::string one = *cache.key_of(stored_);
  const std::vector<std::function<std::string(std::string)>> spoils = {
      [](const std::string&) { return ""; },
      [](const std::string& text) { return text.substr(0, text.size() / 2); },
      [](std::string text) { return text.replace(text.find("failed"), 6, "passed"); },
      [](const std::string&) { return std::string("{}"); },
      [](const std::string& text) { return std::string(text.size(), '\0'); },
  };
  for (const auto& spoil : spoils) {
    cache.store(one, verdict_);
    ASSERT_TRUE(cache.find(one, "case"));
    spoil_entry(folder_ / "cache", spoil);
    EXPECT_FALSE(cache.find(one, "case"));
  }
  cache.store(one, verdict_);
  EXPECT_TRUE(cache.find(one, "case"));
}

TEST_F(Cache, StoresNothingInAnUnwritableFolder) {
  CaseCache cache(folder_ / "cache", {"1.0"});
  const std::string one = *cache.key_of(stored_);
  fs::remove_all(folder_ / "cache");
  write_file(folder_ / "cache", "");
  cache.store(one, verdict_);
  EXPECT_FALSE(cache.find(one, "case"));
  EXPECT_THROW(CaseCache(folder_ / "cache", {"1.0"}), Error);
}

TEST_F(Cache, TakesManyWritersOfOneEntry) {
  CaseCache cache(folder_ / "cache", {"1.0"});
  const std::string one = *cache.key_of(stored_);
  std::vector<std::jthread> writers;
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([&] {
      for (int k = 0; k < 20; ++k) {
        cache.store(one, verdict_);
        const auto found = cache.find(one, "case");
        EXPECT_TRUE(found && found->message == verdict_.message);
      }
    });
  }
}

}  // namespace
}  // namespace relayout::test
