#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "relayout/layout.h"
#include "relayout/model.h"

namespace relayout {

/// Multiply-accumulates of one run of a model.
struct ModelMacs {
  /// Those of convolutions, Gemms, MatMuls and recurrent operators, in the graphs and functions that nodes run too, each time they run.
  /// Nothing when a shape that is needed depends on more than shape arithmetic, or the operands of some node do not fit.
  std::optional<int64_t> macs;
  /// Operators that add up products and that `macs` leaves out, themselves or with all that they run: how many, as "domain:Op".
  std::map<std::string, int64_t> left_out;
  /// What the number is for where a run may go several ways: sizes of free dims ("N = 1"), the larger branch of an If whose condition
  /// is computed, iterations of a Loop that may be others.
  std::vector<std::string> assumed;
  bool is_least = false;  ///< operators are left out
  std::string misfit;     ///< what does not fit at the first node of the main graph whose operands do not fit it; empty where all do
};

/// Counts without running anything. `sizes`: of free dims.
[[nodiscard]] ModelMacs count_macs(const Model& model, const ShapeOptions& sizes = {});

}  // namespace relayout
