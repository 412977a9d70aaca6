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

/// Verdicts of cases, by the contents of everything that they depend on.
class CaseCache {
 public:
  /// `facts`: dependencies of verdicts besides the files: program, processor, options. Error{io} if the folder cannot be created.
  CaseCache(std::filesystem::path folder, const std::vector<std::string>& facts)
      : entries_(std::move(folder), "relayout.case-cache/3", facts) {}

  /// Digest of the facts, the case's name and the bytes of its files, data files of its models included; nullopt if one of them cannot be
  /// read, or a model cannot be loaded to find its data files.
  [[nodiscard]] std::optional<std::string> key_of(const SuiteEntry& entry) const;
  /// Result of an earlier run of the case; nullopt: none.
  [[nodiscard]] std::optional<SuiteCase> find(const std::string& key, const std::string& name) const;
  void store(const std::string& key, const SuiteCase& one) { entries_.store(key, entry_of(one)); }

 private:
  [[nodiscard]] static Json entry_of(const SuiteCase& one);

  EntryCache entries_;
};

}  // namespace relayout
