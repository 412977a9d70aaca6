#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "report/json.h"

namespace relayout {

/// A folder of results, each in a file named by its key. Any number of processes may share a folder, and any of them may be killed: an
/// entry appears whole or not at all, and damaged entries are ignored. The folder may be removed at any time.
class EntryCache {
 public:
  /// `facts`: what all results depend on besides their files, such as program and options. Entries of a different `schema` are ignored.
  /// Error{io} when the folder cannot be created.
  EntryCache(std::filesystem::path folder, std::string schema, const std::vector<std::string>& facts);

  /// The key of a result that depends on the facts and the contents added by `add`; nothing when an added file cannot be read.
  [[nodiscard]] std::optional<std::string> key(const std::function<void(ContentKey&)>& add) const;

  /// The entry of a key, or nothing. `key`: more than two hexadecimal digits.
  [[nodiscard]] std::optional<Json> find(const std::string& key) const;
  /// Stores an entry. A failure, as on a full disk, only causes a warning, once.
  void store(const std::string& key, const Json& entry);

 private:
  [[nodiscard]] std::filesystem::path path_of(const std::string& key) const;

  std::filesystem::path folder_;
  std::string schema_, facts_;
  std::atomic<bool> has_warned_ = false;
};

}  // namespace relayout
