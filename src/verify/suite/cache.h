#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "relayout/suite.h"
#include "report/entry_cache.h"
#include "report/json.h"

namespace relayout {

/// Verdicts of cases, by the contents of all that they depend on.
class CaseCache {
 public:
  /// `facts` is what verdicts depend on besides the files: program, processor, options. Error{io} when the folder cannot be made.
  CaseCache(std::filesystem::path folder, const std::vector<std::string>& facts)
      : entries_(std::move(folder), "relayout.case-cache/3", facts) {}

  /// Digest of the facts, the case's name and the bytes of its files, data files of its models included; nothing when one of them cannot
  /// be read, or when a model cannot be loaded to say which they are.
  [[nodiscard]] std::optional<std::string> key_of(const SuiteEntry& entry) const;
  /// Result of the case when it was run.
  [[nodiscard]] std::optional<SuiteCase> find(const std::string& key, const std::string& name) const;
  void store(const std::string& key, const SuiteCase& one) { entries_.store(key, entry_of(one)); }

 private:
  [[nodiscard]] static Json entry_of(const SuiteCase& one);

  EntryCache entries_;
};

}  // namespace relayout
