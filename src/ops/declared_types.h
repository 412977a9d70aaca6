#pragma once

namespace relayout {

class Model;

/// Refuses a model that declares another element type for a result than its operator gives, as every program that checks types does.
/// Types are followed over operators whose result has the type of an operand; others say nothing. Linear in the model.
/// Throws Error{invalid}.
void check_declared_types(const Model& model);

}  // namespace relayout
