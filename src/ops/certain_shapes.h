#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "ops/composed.h"
#include "ops/partial_dims.h"
#include "relayout/graph.h"

namespace relayout {

class Constants;
struct Op;

/// Certain facts about the dims of values, and about small contents. They follow from declared inputs of the main graph (those are
/// contracts), constants and operators, never from the declaration of an inner value. Folds change none of them, so answers are remembered
/// by value.
class CertainShapes {
 public:
  /// Dims, −1 for each that is not certain; nothing when the rank is not.
  [[nodiscard]] PartialDims of(const Value& value, Constants& constants);
  [[nodiscard]] std::optional<PartialContents> contents(const Value& value, Constants& constants);
  /// Sets the dims of a value from which none follow: an input of a function.
  void assume(const Value& value, PartialDims dims) { dims_.insert_or_assign(&value, std::move(dims)); }
  /// The body of a call, written from the certain facts about its operands.
  [[nodiscard]] FunctionInstance compose(const Op& op, const Node& call, Constants& constants);
  void forget(const Value& value);
  void clear();

 private:
  enum class Question : bool { dims, contents };
  struct Open {
    const Value* value;
    Question question;
  };
  class Operands;
  void answer(Open first, Constants& constants);
  [[nodiscard]] bool is_answered(const Open& open) const;

  std::unordered_map<const Value*, PartialDims> dims_;
  std::unordered_map<const Value*, std::shared_ptr<const PartialContents>> contents_;  ///< null: nothing, as for most
};

}  // namespace relayout
