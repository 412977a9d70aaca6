#pragma once

#include <string>

#include "relayout/types.h"

namespace relayout {

class Model;
class Value;

/// The error message for a result whose operator produces another element type than the file declares.
[[nodiscard]] std::string type_conflict(const Value& result, DataType made);

/// Refuses a model that declares another element type for a result than its operator gives, as every program that checks types does. Types
/// pass through operators whose result has the type of an operand; operators without type rules are not checked. Linear in the model.
/// Throws Error{invalid}.
void check_declared_types(const Model& model);

}  // namespace relayout
