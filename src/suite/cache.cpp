// Keeps the verdict of each case of a suite by the contents of its files, so that unchanged cases need not run again.
#include "suite/cache.h"

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/content_key.h"
#include "base/folder.h"
#include "relayout/data_file.h"
#include "relayout/suite.h"
#include "report/entry_cache.h"
#include "report/json.h"
#include "verify/inputs/data_file.h"

namespace relayout {
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

}  // namespace relayout
