// The entry to the proof, for `verify` and `verify --proof`: runs it, computes SHA-256 digests of the files of both models, and names the
// kinds of differences ("weight", "node-added").

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/machine.h"
#include "base/positions.h"
#include "base/sha256.h"
#include "base/threads.h"
#include "model/origin.h"
#include "proof/prover.h"
#include "relayout/proof.h"

namespace relayout {
namespace {

/// Lists the model's files, the model file first; digests are filled in later.
void list_files(const Model& model, std::vector<FileDigest>& digests, std::vector<std::shared_ptr<const File>>& files) {
  digests.push_back({model.name(), ""});
  files.push_back(origin_of(model).file);
  std::vector<std::pair<std::string, std::shared_ptr<const File>>> data;
  for (auto& [location, file] : origin_of(model).external_files()) data.emplace_back(location, file);
  std::ranges::sort(data, {}, &std::pair<std::string, std::shared_ptr<const File>>::first);
  for (auto& [location, file] : data) {
    digests.push_back({location, ""});
    files.push_back(std::move(file));
  }
}

}  // namespace

std::string_view to_string(Unexplained::Kind kind) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"interface", "weight", "bias", "tensor", "attribute", "operand", "node-added", "node-removed", "node-changed", "graph"});
  return kNames[static_cast<std::size_t>(kind)];
}

ProofResult prove(const Model& a, const Model& b, const ProofOptions& options) {
  ProofResult result = proof::Prover(a, b).run();
  if (!options.digests) return result;
  std::vector<std::shared_ptr<const File>> files;
  list_files(a, result.files_a, files);
  list_files(b, result.files_b, files);
  const int threads = threads_or_two(options.threads);
  parallel_for(static_cast<int64_t>(files.size()), threads, [&](int64_t i) {
    const auto at = as_size(i);
    FileDigest& digest = at < result.files_a.size() ? result.files_a[at] : result.files_b[at - result.files_a.size()];
    digest.sha256 = sha256_of(*files[at]);
  });
  return result;
}

}  // namespace relayout
