#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "relayout/convert.h"
#include "report/entry_cache.h"
#include "report/json.h"

namespace relayout {

/// Conversions that need not be repeated, by the contents of the model, the options and the program. Results are not stored, only the names
/// and digests that show that they are unchanged where they were written.
class ConversionCache {
 public:
  /// `facts` are the values besides the model on which a result depends. Error{io} when the folder cannot be created.
  ConversionCache(std::filesystem::path folder, const std::vector<std::string>& facts)
      : entries_(std::move(folder), "relayout.convert-cache/2", facts) {}

  /// Nothing when the model cannot be read. The key includes the name of the result, not its folder.
  [[nodiscard]] std::optional<std::string> key_of(const std::filesystem::path& input, const std::filesystem::path& output) const;
  /// The report of the earlier conversion, when `output` and its data files are unchanged since.
  [[nodiscard]] std::optional<Json> find(const std::string& key, const std::filesystem::path& output) const;
  void store(const std::string& key, const ConvertResult& result, const Json& report);

 private:
  EntryCache entries_;
};

}  // namespace relayout
