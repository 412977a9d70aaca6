#pragma once

#include <string>

#include "relayout/types.h"

namespace relayout {

class Model;
class Value;

/// The sentence for a result that its operator makes of another element type than the file declares.
[[nodiscard]] std::string type_conflict(const Value& result, DataType made);

/// Refuses a model that declares another element type for a result than its operator gives, as every program that checks types does.
/// Types are followed over operators whose result has the type of an operand; others say nothing. Linear in the model.
/// Throws Error{invalid}.
void check_declared_types(const Model& model);

}  // namespace relayout
