// Keeps verdicts and conversions by the contents of their files, so that what is unchanged need not be done again.

#include <exception>
#include <system_error>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/sha256.h"
#include "relayout/data_file.h"
#include "relayout/error.h"
#include "report/json.h"
#include "suite/suite.h"
#include "verify/inputs/data_file.h"

namespace relayout {

// Verdicts of cases.
namespace {

namespace fs = std::filesystem;

/// Files that a case of stored outputs may read besides its model: tensors and tolerances of its folder and of the sets in it.
std::set<fs::path> stored_files(const fs::path& folder) {
  std::set<fs::path> out{folder.parent_path() / "data.json"};
  std::vector<fs::path> folders{folder};
  for (const fs::directory_entry& entry : entries_of(folder)) {
    if (entry.is_directory() && entry.path().filename().string().starts_with(kDataSetPrefix)) folders.push_back(entry.path());
  }
  for (const fs::path& one : folders) {
    for (const fs::directory_entry& entry : entries_of(one)) {
      const fs::path extension = entry.path().extension();
      if (extension == ".pb" || extension == ".npy" || extension == ".json") out.insert(entry.path());
    }
  }
  return out;
}

void add_stored(const fs::path& folder, ContentKey& out) {
  for (const fs::path& path : stored_files(folder)) {
    if (!fs::exists(path)) continue;
    out.add(path.lexically_relative(folder).generic_string());
    out.add_file(path);
  }
}

}  // namespace

std::optional<std::string> CaseCache::key_of(const SuiteEntry& entry) const {
  if (!entry.fault.empty()) return std::nullopt;
  // If a file cannot be read, the case itself reports it.
  return entries_.key([&](ContentKey& key) {
    key.add(entry.name);
    key.add(model_digest(entry.model));
    if (entry.data.empty()) {
      key.add(model_digest(entry.other));
    } else {
      add_stored(entry.data, key);
    }
  });
}

std::optional<SuiteCase> CaseCache::find(const std::string& key, const std::string& name) const {
  const std::optional<Json> one = entries_.find(key);
  if (!one || !one->find("seconds").value_or(Json()).number()) return std::nullopt;
  SuiteCase out{name, one->text("status"), *one->find("seconds")->number(), one->text("message"), {}, ""};
  out.source = "cache";
  out.hint = one->text("hint");
  return out;
}

Json CaseCache::entry_of(const SuiteCase& one) {
  return Json::object().set("status", one.status).set("seconds", one.seconds).set("message", one.message).set("hint", one.hint);
}

// Conversions.
namespace {

namespace fs = std::filesystem;

/// Name and digest of the result or of a data file in its folder.
Json file_json(const fs::path& path) {
  return Json::object().set("name", path.filename().string()).set("sha256", sha256_of(*File::open(path)));
}

bool is_unchanged(const Json& file, const fs::path& folder) {
  const std::string name = file.text("name");
  return !name.empty() && sha256_of(*File::open(folder / name)) == file.text("sha256");
}

}  // namespace

std::optional<std::string> ConversionCache::key_of(const fs::path& input, const fs::path& output) const {
  // The conversion itself reports a model that cannot be read.
  return entries_.key([&](ContentKey& key) {
    key.add(output.filename().string());
    key.add(model_digest(input));
  });
}

std::optional<Json> ConversionCache::find(const std::string& key, const fs::path& output) const {
  const std::optional<Json> entry = entries_.find(key);
  const Json files = entry ? entry->find("files").value_or(Json()) : Json();
  if (files.size() == 0) return std::nullopt;
  try {
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (!is_unchanged(*files.at(i), output.parent_path())) return std::nullopt;
    }
  } catch (const Error& error) {
    if (is_interruption(error.kind())) throw;
    return std::nullopt;  // a file is missing or cannot be read
  }
  return entry->find("report");
}

void ConversionCache::store(const std::string& key, const ConvertResult& result, const Json& report) {
  Json files = Json::array();
  files.add(file_json(result.output));
  for (const DataFile& data : result.data) {
    if (data.path.parent_path() != result.output.parent_path()) return;  // a file that this conversion did not write
    files.add(file_json(data.path));
  }
  entries_.store(key, Json::object().set("files", std::move(files)).set("report", report));
}

// Keeps cached results in a folder, one file for each key, shared by concurrent processes.
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
