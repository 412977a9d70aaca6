#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "relayout/datum.h"

namespace relayout {

/// |d| ≤ atol + rtol · |reference|.
struct Tolerance {
  double rtol = 1e-3, atol = 1e-7;
  bool alone = false;  ///< the user gave it: no other bound lets a difference pass
};

/// The rule of the ONNX backend test runner (onnx 1.17, onnx/backend/test/runner): looser than it looks. Bool and string references are
/// compared by value only, scalars broadcast, integers have a tolerance, sequences are as long as the result.
[[nodiscard]] bool official_rule_passes(const Datum& result, const Datum& reference, const Tolerance& tolerance);

/// Our rule for one stored output without its floor: type, shape and everything not floating exact, floats within the tolerance.
struct StoredComparison {
  bool same_structure = true;
  bool exact_part = true;        ///< structure, exact types and non-finite elements agree
  int64_t neighbours = 0;        ///< when nothing but integers of at most 16 bits disagree, each by one: how many
  bool within_tolerance = true;  ///< every float element is
  bool tolerance_alone = false;  ///< and must be
  double error = 0, range = 1;   ///< largest error over the range of the reference, and that range
  double bound = 0;              ///< error that passes whatever the tolerance says: 1e-5 in f32, else the type's minimum
  std::string message;           ///< the fault; empty when there is none
  [[nodiscard]] bool passed() const { return exact_part && (within_tolerance || (!tolerance_alone && error <= bound)); }
};
[[nodiscard]] StoredComparison compare_stored(const Datum& result, const Datum& reference, const Tolerance& tolerance);

}  // namespace relayout
