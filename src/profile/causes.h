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

/// Known facts about the two models' nodes beyond their names.
struct NodeLinks {
  std::unordered_map<std::string, std::string> names;  ///< of the second model → what the first calls the same node
  std::unordered_set<std::string> paired;              ///< of the first model: with a counterpart, whether that runs or not
  std::unordered_set<std::string> explained;           ///< of the first model: gone, and something in the second accounts for them
  std::unordered_set<std::string> absorbers = {};      ///< of the first model: their constants in the second hold what others did
  bool is_related = true;                              ///< else no node is joined with another, whatever they are called
};
[[nodiscard]] NodeLinks links_of(const ModelDiff& diff);

/// Rows of both by their nodes, with the cause of each difference.
[[nodiscard]] std::vector<PairedRow> pair_rows(const Profile& a, const Profile& b, const NodeLinks& links);
/// Nodes of the first model that the second one's constants account for, by operator.
[[nodiscard]] std::map<std::string, int64_t> folded_operators(const Profile& a, const Profile& b, const NodeLinks& links);

}  // namespace relayout
