#pragma once

#include <cstddef>
#include <vector>

#include "exec/constant_store.h"
#include "exec/inference.h"
#include "relayout/datum.h"

namespace relayout {

/// What is known of the values of a program when a plan is made.
struct ValueFacts {
  const std::vector<ValueState>& states;
  ConstantStore& store;

  [[nodiscard]] const ValueState& state(int value) const { return states[static_cast<std::size_t>(value)]; }
  [[nodiscard]] const DatumInfo& info(int value) const { return *state(value).info; }
  [[nodiscard]] bool is_tensor(int value) const { return info(value).kind == Datum::Kind::tensor; }
  /// Null when the value is not constant.
  [[nodiscard]] KnownConstant* constant(int value) const { return state(value).constant.get(); }
};

}  // namespace relayout
