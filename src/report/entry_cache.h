#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/content_key.h"
#include "report/json.h"

namespace relayout {

/// A folder of results, each a file named by its key. Any number of processes may use one folder, and any of them may be killed: an entry
/// appears whole or not at all, and one that is damaged is as good as none. The folder may be removed at any time.
class EntryCache {
 public:
  /// `facts` is what every result depends on besides its files: program, options. Entries of another `schema` are none. Error{io} when the
  /// folder cannot be made.
  EntryCache(std::filesystem::path folder, std::string schema, const std::vector<std::string>& facts);

  /// The key of a result that depends on the facts and on what `add` adds; nothing when a file that it adds cannot be read.
  [[nodiscard]] std::optional<std::string> key(const std::function<void(ContentKey&)>& add) const;

  /// `key`: hexadecimal digits, more than two.
  [[nodiscard]] std::optional<Json> find(const std::string& key) const;
  /// Keeps an entry. Where that fails, on a full disk, the cache does without, and says so once.
  void store(const std::string& key, const Json& entry);

 private:
  [[nodiscard]] std::filesystem::path path_of(const std::string& key) const;

  std::filesystem::path folder_;
  std::string schema_, facts_;
  std::atomic<bool> has_warned_ = false;
};

}  // namespace relayout
