// Keeps verdicts and conversions by the contents of their files, so that what is unchanged need not be done again.

#include "base/file.h"
#include "base/interrupt.h"
#include "base/sha256.h"
#include "relayout/data_file.h"
#include "relayout/error.h"
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

}  // namespace relayout
