#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "relayout/convert.h"
#include "report/entry_cache.h"
#include "report/json.h"

namespace relayout::cli {

/// Conversions that need not be done again, by the contents of the model, the options and the program. Results are not kept, only what is
/// needed to see that they still lie, unchanged, where they were written.
class ConversionCache {
 public:
  /// `facts` is what a result depends on besides the model. Error{io} when the folder cannot be made.
  ConversionCache(std::filesystem::path folder, const std::vector<std::string>& facts)
      : entries_(std::move(folder), "relayout.convert-cache/2", facts) {}

  /// Nothing when the model cannot be read. The name of the result counts, not its folder.
  [[nodiscard]] std::optional<std::string> key_of(const std::filesystem::path& input, const std::filesystem::path& output) const;
  /// The report of the earlier conversion, when `output` and its data files are still what it wrote.
  [[nodiscard]] std::optional<Json> find(const std::string& key, const std::filesystem::path& output) const;
  void store(const std::string& key, const ConvertResult& result, const Json& report);

 private:
  EntryCache entries_;
};

}  // namespace relayout::cli
