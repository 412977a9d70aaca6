// Remembers conversions by the contents of model, options and program, and finds those whose results are unchanged where they were written.
#include "suite/conversion_cache.h"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/content_key.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/sha256.h"
#include "relayout/convert.h"
#include "relayout/data_file.h"
#include "relayout/error.h"
#include "report/entry_cache.h"
#include "report/json.h"

namespace relayout {
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
