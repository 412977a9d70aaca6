#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "relayout/model_diff.h"
#include "relayout/profile.h"

namespace relayout {

/// Known relations between the nodes of two models beyond their names.
struct NodeLinks {
  std::unordered_map<std::string, std::string> names;  ///< name in the second model → name of the same node in the first
  std::unordered_set<std::string> paired;              ///< of the first model: with a counterpart, whether that runs or not
  std::unordered_set<std::string> explained;           ///< of the first model: removed, and accounted for by the second model
  std::unordered_set<std::string> absorbers = {};      ///< of the first model: their counterparts absorbed other nodes
  bool is_related = true;                              ///< if not, no nodes are paired, whatever their names
};
[[nodiscard]] NodeLinks links_of(const ModelDiff& diff);

/// Pairs the rows of both models by their nodes, with the cause of each difference.
[[nodiscard]] std::vector<PairedRow> pair_rows(const Profile& a, const Profile& b, const NodeLinks& links);
/// Counts the nodes of the first model that constants of the second account for, by operator.
[[nodiscard]] std::map<std::string, int64_t> folded_operators(const Profile& a, const Profile& b, const NodeLinks& links);

}  // namespace relayout
