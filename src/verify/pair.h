// Declares the two models of a comparison with the options that all its stages read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "relayout/execute.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/run/bounds.h"
#include "verify/run/session.h"

namespace relayout {

/// Counts the runs of a comparison and reports them as progress.
class Steps {
 public:
  explicit Steps(std::function<void(std::string_view what, int64_t done, int64_t total)> report) : report_(std::move(report)) {}
  /// Announces this number of further runs.
  void expect(int64_t runs) { total_ += runs; }
  void next(std::string_view what) {
    total_ = std::max(total_, done_ + 1);
    if (report_) report_(what, done_, total_);
    ++done_;
  }

 private:
  std::function<void(std::string_view, int64_t, int64_t)> report_;
  int64_t done_ = 0, total_ = 0;
};

/// Two models and the options of their comparison, which all its stages read.
struct Pair {
  Side a, b;
  const VerifyOptions* options = nullptr;
  OpenSession open;
  Steps* steps = nullptr;
  bool proved = false;                    ///< the files alone show that both compute the same
  bool quantized = false;                 ///< b quantizes and a does not, or b to fewer bits
  DataType narrow = DataType::undefined;  ///< the coarsest type of 16 bits or fewer that one of the two computes in; undefined: none
  DataType grain = DataType::undefined;   ///< the narrow type that b computes in where a does not; undefined: none

  [[nodiscard]] ExecuteOptions execute_options(Mode mode) const { return relayout::execute_options(*options, mode); }
  /// The type whose rounding the bounds of a value allow: its own, or the coarser one that b computes in.
  [[nodiscard]] DataType type_of_floor(DataType type) const { return relayout::type_of_floor(type, grain); }
};

}  // namespace relayout
