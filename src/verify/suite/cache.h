#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "relayout/suite.h"

namespace relayout {

/// Verdicts of cases, by the contents of all that they depend on. Any number of processes may use one folder, and any of them may be
/// killed: an entry appears whole or not at all, and one that is damaged is as good as none. The folder may be removed at any time.
class CaseCache {
 public:
  /// `facts` is what verdicts depend on besides the files: program, processor, options. Error{io} when the folder cannot be made.
  CaseCache(std::filesystem::path folder, const std::vector<std::string>& facts);

  /// Digest of the facts, the case's name and the bytes of its files, data files of its models included; nothing when one of them cannot
  /// be read, or when a model cannot be loaded to say which they are.
  [[nodiscard]] std::optional<std::string> key_of(const SuiteEntry& entry) const;
  /// What the case came to when it was run.
  [[nodiscard]] std::optional<SuiteCase> find(const std::string& key, const std::string& name) const;
  /// Keeps it. Where that fails, on a full disk, the cache does without, and says so once.
  void store(const std::string& key, const SuiteCase& one);

 private:
  [[nodiscard]] std::filesystem::path path_of(const std::string& key) const;

  std::filesystem::path folder_;
  std::string facts_;
  std::atomic<bool> has_warned_ = false;
};

}  // namespace relayout
