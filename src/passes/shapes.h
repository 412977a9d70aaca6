#pragma once

#include <optional>
#include <unordered_map>

#include "ops/constants.h"
#include "relayout/graph.h"

namespace relayout {

/// What is certain about the dims of values: from declared inputs of the main graph (those are contracts), constants and operators,
/// never from what is declared of an inner value. Folds change no dims, so answers are remembered by value.
class CertainShapes {
 public:
  /// Dims, −1 for each that is not certain; nothing when the rank is not.
  [[nodiscard]] std::optional<Dims> of(const Value& value, Constants& constants);

 private:
  std::unordered_map<const Value*, std::optional<Dims>> known_;
};

}  // namespace relayout
