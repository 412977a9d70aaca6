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

/// What is known of the two models' nodes beyond their names.
struct NodeLinks {
  std::unordered_map<std::string, std::string> names;  ///< of the second model → what the first calls the same node
  std::unordered_set<std::string> removed;             ///< of the first model: gone without anything that accounts for them
};
[[nodiscard]] NodeLinks links_of(const ModelDiff& diff);

/// Rows of both by their nodes, with the cause of each difference.
[[nodiscard]] std::vector<PairedRow> pair_rows(const Profile& a, const Profile& b, const NodeLinks& links);
/// Nodes of the first model that the second one's constants account for, by operator.
[[nodiscard]] std::map<std::string, int64_t> folded_operators(const Profile& a, const Profile& b, const NodeLinks& links);

}  // namespace relayout
