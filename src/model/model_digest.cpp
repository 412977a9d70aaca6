// The digest of a model and all its data files, by which caches of verdicts and conversions recognise a model.
#include <filesystem>
#include <map>
#include <string>

#include "base/content_key.h"
#include "base/sha256.h"
#include "model/origin.h"
#include "relayout/data_file.h"
#include "relayout/model.h"

namespace relayout {

std::string model_digest(const std::filesystem::path& model) {
  const auto loaded = Model::load(model, {.allow_newer_opset = true});
  const ModelOrigin& origin = origin_of(*loaded);
  const auto files = origin.external_files();
  ContentKey key;
  key.add(sha256_of(*origin.source));
  for (const auto& [location, file] : std::map(files.begin(), files.end())) {
    key.add(location);
    key.add(sha256_of(*file));
  }
  return key.finish();
}

}  // namespace relayout
