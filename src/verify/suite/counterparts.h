#pragma once

#include <string>
#include <vector>

namespace relayout {

/// An original and the model to be judged by it, by their names below their trees; either may be missing.
struct ModelPairing {
  std::string original, counterpart;
  std::string fault;  ///< empty when both are there
};

/// Pairs the models of two trees (sorted names), or of one that holds both: there a counterpart is no original. `pattern` as in
/// SuiteTrees::pair. Error{usage} for a pattern that makes no sense.
[[nodiscard]] std::vector<ModelPairing> pair_models(const std::vector<std::string>& originals, const std::vector<std::string>& judged,
                                                    const std::string& pattern, bool is_one_tree);

}  // namespace relayout
