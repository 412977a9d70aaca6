// Declares the two models of a comparison with the options that all its stages read.
#pragma once

#include "relayout/execute.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/run/bounds.h"
#include "verify/run/session.h"
#include "verify/run/steps.h"

namespace relayout {

/// Two models and the options of their comparison, which all its stages read.
struct Pair {
  Side a, b;
  const VerifyOptions* options = nullptr;
  OpenSession open;
  Steps* steps = nullptr;
  bool proved = false;                    ///< the files alone show that both compute the same
  bool is_rounded = false;                ///< else: the same, but that b rounds numbers to a coarser type, as the user means
  bool quantized = false;                 ///< b quantizes and a does not, or b to fewer bits
  DataType narrow = DataType::undefined;  ///< the coarsest type of 16 bits or fewer that one of the two computes in; undefined: none
  DataType grain = DataType::undefined;   ///< the narrow type that b computes in where a does not; undefined: none

  [[nodiscard]] ExecuteOptions execute_options(Mode mode) const { return relayout::execute_options(*options, mode); }
  /// The type whose rounding the bounds of a value allow: its own, or the coarser one that b computes in.
  [[nodiscard]] DataType type_of_floor(DataType type) const { return relayout::type_of_floor(type, grain); }
};

}  // namespace relayout
