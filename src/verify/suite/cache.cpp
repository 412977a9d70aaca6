// Verdicts that need not be found again: files named by the digest of what a verdict depends on.
#include "verify/suite/cache.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/text_file.h"
#include "model/origin.h"
#include "relayout/error.h"
#include "relayout/model.h"
#include "relayout/suite.h"
#include "report/json.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSchema = "relayout.case-cache/1";

/// A digest of texts that says where each ends.
class Fields {
 public:
  void add(std::string_view text) {
    const std::string size = std::to_string(text.size()) + ":";
    digest_.update(std::as_bytes(std::span(size)));
    digest_.update(std::as_bytes(std::span(text)));
  }
  std::string finish() { return to_hex(digest_.finish()); }

 private:
  Sha256 digest_;
};

/// A model and the data files that it refers to.
void add_model(const fs::path& path, Fields& out) {
  const auto model = Model::load(path, {.allow_newer_opset = true});
  const auto files = origin_of(*model).external_files();
  out.add(sha256_of(*origin_of(*model).source));
  for (const auto& [location, file] : std::map(files.begin(), files.end())) {
    out.add(location);
    out.add(sha256_of(*file));
  }
}

/// What a case of stored outputs may read beside its model: tensors and tolerances of its folder and of the sets in it.
std::set<fs::path> stored_files(const fs::path& folder) {
  std::set<fs::path> out{folder.parent_path() / "data.json"};
  std::vector<fs::path> folders{folder};
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_")) folders.push_back(entry.path());
  }
  for (const fs::path& one : folders) {
    for (const auto& entry : fs::directory_iterator(one)) {
      const fs::path extension = entry.path().extension();
      if (extension == ".pb" || extension == ".npy" || extension == ".json") out.insert(entry.path());
    }
  }
  return out;
}

void add_stored(const fs::path& folder, Fields& out) {
  for (const fs::path& path : stored_files(folder)) {
    if (!fs::exists(path)) continue;
    out.add(path.lexically_relative(folder).generic_string());
    out.add(sha256_of(*File::open(path)));
  }
}

Json entry_of(const SuiteCase& one) {
  return Json::object().set("status", one.status).set("seconds", one.seconds).set("message", one.message);
}

std::string digest_of(const std::string& text) {
  Sha256 digest;
  digest.update(std::as_bytes(std::span(text)));
  return to_hex(digest.finish());
}

}  // namespace

CaseCache::CaseCache(fs::path folder, const std::vector<std::string>& facts) : folder_(std::move(folder)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error || !fs::is_directory(folder_)) {
    fail(ErrorKind::io, escape(folder_.string()) + ": " + (error ? error.message() : std::string("not a directory")));
  }
  Fields fields;
  fields.add(kSchema);
  for (const std::string& fact : facts) fields.add(fact);
  facts_ = fields.finish();
}

std::optional<std::string> CaseCache::key_of(const SuiteEntry& entry) const {
  if (!entry.fault.empty()) return std::nullopt;
  try {
    Fields fields;
    for (const std::string_view text : {std::string_view(facts_), std::string_view(entry.name)}) fields.add(text);
    add_model(entry.model, fields);
    if (entry.data.empty()) {
      add_model(entry.other, fields);
    } else {
      add_stored(entry.data, fields);
    }
    return fields.finish();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted || error.kind() == ErrorKind::terminated) throw;
    return std::nullopt;  // the case itself will say what is wrong
  } catch (const fs::filesystem_error&) {
    return std::nullopt;
  }
}

fs::path CaseCache::path_of(const std::string& key) const {
  return folder_ / key.substr(0, 2) / (key.substr(2) + ".json");
}

std::optional<SuiteCase> CaseCache::find(const std::string& key, const std::string& name) const {
  constexpr int64_t kMost = int64_t{1} << 20;
  try {
    const fs::path path = path_of(key);
    if (!fs::exists(path)) return std::nullopt;
    const Json document = Json::parse(read_text(*File::open(path), kMost, "an entry"), path.string());
    const Json one = document.find("case").value_or(Json());
    const auto text = [](const Json& object, std::string_view member) { return object.find(member).value_or(Json()).text().value_or(""); };
    const bool is_whole = text(document, "schema") == kSchema && text(document, "key") == key &&
                          text(document, "digest") == digest_of(one.dump(-1)) && one.find("seconds").value_or(Json()).number();
    if (!is_whole) return std::nullopt;
    SuiteCase out{name, text(one, "status"), *one.find("seconds")->number(), text(one, "message"), {}, ""};
    out.source = "cache";
    return out;
  } catch (const Error&) {
    return std::nullopt;
  } catch (const fs::filesystem_error&) {
    return std::nullopt;
  }
}

void CaseCache::store(const std::string& key, const SuiteCase& one) {
  try {
    const fs::path path = path_of(key);
    fs::create_directories(path.parent_path());
    const Json entry = entry_of(one);
    Json document = Json::object();
    document.set("schema", kSchema).set("key", key).set("digest", digest_of(entry.dump(-1))).set("case", entry);
    AtomicFile file(path);
    const std::string text = document.dump() + "\n";
    if (write_all(file.descriptor(), text) != 0) fail(ErrorKind::io, escape(path.string()) + ": cannot write");
    file.commit(/*sync=*/false);
  } catch (const std::exception& error) {
    if (!has_warned_.exchange(true)) log_warning("nothing more goes into the cache: " + std::string(error.what()));
  }
}

}  // namespace relayout
