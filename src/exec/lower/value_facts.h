#pragma once

#include <vector>

#include "exec/constant_store.h"
#include "exec/inference.h"
#include "relayout/datum.h"
#include "relayout/types.h"

namespace relayout::exec {

/// Facts about the values of a program when a plan is made: type, dims, and contents of constants.
struct ValueFacts {
  const IdVector<ValueId, ValueState>& states;
  ConstantStore& store;

  [[nodiscard]] const ValueState& state(ValueId value) const { return states[value]; }
  [[nodiscard]] const DatumInfo& info(ValueId value) const { return *state(value).info; }
  [[nodiscard]] bool is_tensor(ValueId value) const { return info(value).kind == Datum::Kind::tensor; }
  /// Whether the value is present, and a tensor of f32.
  [[nodiscard]] bool is_float_tensor(ValueId value) const {
    return value != ValueId::none && state(value).is_tensor() && info(value).type == DataType::float32;
  }
  /// Null when the value is not constant.
  [[nodiscard]] KnownConstant* constant(ValueId value) const { return state(value).constant.get(); }
};

}  // namespace relayout::exec
