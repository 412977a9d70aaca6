#pragma once

#include <string>
#include <vector>

namespace relayout {

/// An original and the model that is judged against it, by their names below their trees; either may be missing.
struct ModelPairing {
  std::string original, counterpart;
  std::string fault;  ///< empty if both exist
};

/// Pairs the models of two trees (sorted names), or of one tree with both, in which a counterpart is not an original. `pattern` as in
/// SuiteTrees::pair. Error{usage} for a malformed pattern.
[[nodiscard]] std::vector<ModelPairing> pair_models(const std::vector<std::string>& originals, const std::vector<std::string>& judged,
                                                    const std::string& pattern, bool is_one_tree);

}  // namespace relayout
