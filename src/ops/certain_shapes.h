#pragma once

#include <optional>
#include <unordered_map>
#include <utility>

#include "ops/composed.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"

namespace relayout {

/// What is certain about the dims of values: from declared inputs of the main graph (those are contracts), constants and operators,
/// never from what is declared of an inner value. Folds change no dims, so answers are remembered by value.
class CertainShapes {
 public:
  /// Dims, −1 for each that is not certain; nothing when the rank is not.
  [[nodiscard]] std::optional<Dims> of(const Value& value, Constants& constants);
  /// Takes these for the dims of a value that says nothing of them: an input of a function.
  void assume(const Value& value, std::optional<Dims> dims) { known_.insert_or_assign(&value, std::move(dims)); }
  /// The body of a call, written for what is certain about its operands.
  [[nodiscard]] FunctionInstance compose(const Op& op, const Node& call, Constants& constants);

 private:
  std::unordered_map<const Value*, std::optional<Dims>> known_;
};

}  // namespace relayout
