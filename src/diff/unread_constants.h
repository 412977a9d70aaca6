#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proof/sides.h"
#include "relayout/graph.h"

namespace relayout {

/// Unused initializers. They differ by name alone.
class UnreadConstants {
 public:
  explicit UnreadConstants(proof::Sides& sides);
  /// Whether the first model has an initializer with the same contents under another name. Each match is taken once.
  [[nodiscard]] bool take(std::string_view name_in_b);

 private:
  proof::Sides& sides_;
  std::unordered_map<uint64_t, std::vector<const Value*>> of_a_;  ///< by samples of their contents
};

}  // namespace relayout
