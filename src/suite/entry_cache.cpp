// Keeps cached results in a folder, one file for each key, shared by concurrent processes.
#include "suite/entry_cache.h"

#include <exception>
#include <system_error>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/sha256.h"
#include "relayout/error.h"
#include "report/json.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;

}  // namespace

EntryCache::EntryCache(fs::path folder, std::string schema, const std::vector<std::string>& facts)
    : folder_(std::move(folder)), schema_(std::move(schema)) {
  ContentKey digest;
  digest.add(schema_);
  for (const std::string& fact : facts) digest.add(fact);
  facts_ = digest.finish();
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error || !fs::is_directory(folder_)) {
    fail_io(folder_.string(), error ? error.message() : "not a directory");
  }
}

std::optional<std::string> EntryCache::key(const std::function<void(ContentKey&)>& add) const {
  try {
    ContentKey key;
    key.add(facts_);
    add(key);
    return key.finish();
  } catch (const Error& error) {
    if (is_interruption(error.kind())) throw;
    return std::nullopt;
  } catch (const fs::filesystem_error&) {
    return std::nullopt;
  }
}

fs::path EntryCache::path_of(const std::string& key) const {
  return folder_ / key.substr(0, 2) / (key.substr(2) + ".json");
}

std::optional<Json> EntryCache::find(const std::string& key) const {
  constexpr int64_t kMost = int64_t{1} << 26;
  try {
    const fs::path path = path_of(key);
    if (!fs::exists(path)) return std::nullopt;
    const Json document = Json::parse(read_text(*File::open(path), kMost, "an entry"), path.string());
    Json entry = document.find("entry").value_or(Json());
    const bool is_whole =
        document.text("schema") == schema_ && document.text("key") == key && document.text("digest") == to_hex(digest_of(entry.dump(-1)));
    return is_whole ? std::optional(std::move(entry)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  } catch (const fs::filesystem_error&) {
    return std::nullopt;
  }
}

void EntryCache::store(const std::string& key, const Json& entry) {
  try {
    const fs::path path = path_of(key);
    fs::create_directories(path.parent_path());
    Json document = Json::object();
    document.set("schema", schema_).set("key", key).set("digest", to_hex(digest_of(entry.dump(-1)))).set("entry", entry);
    AtomicFile file(path);
    const std::string text = document.dump() + "\n";
    if (write_all(file.descriptor(), text) != 0) fail_io(path.string(), "cannot write");
    file.commit(/*sync=*/false);
  } catch (const std::exception& error) {
    if (!has_warned_.exchange(true)) log_warning("the cache takes no more entries: " + std::string(error.what()));
  }
}

}  // namespace relayout
