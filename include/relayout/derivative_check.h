#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "relayout/inputs.h"
#include "relayout/model.h"

namespace relayout {

struct DerivativeCheckOptions : InputOptions {
  LoadOptions load;
  int samples = 3;
  int threads = 0;  ///< 0: available_cpus()
};

/// One derivative of a model, against central differences of the original.
struct CheckedDerivative {
  std::string name;      ///< of the output
  double error = 0;      ///< the largest of all samples, relative to the derivative's size; infinite where its dims are others
  double bound = 1e-6;   ///< of this error: that of the result, or five times what rounding makes of the differences
  bool is_told = false;  ///< in some sample it is larger than what rounding makes of differences
  bool holds = false;
};

struct DerivativeCheckResult {
  std::filesystem::path model, derivative;
  std::vector<CheckedDerivative> derivatives;
  std::vector<std::string> different_outputs;  ///< those of the original that the other file computes otherwise
  int samples = 0;
  double bound = 0;  ///< of the errors
};

/// Whether a model's derivatives, by the names that derive gives them, are those of another model: both run in double precision, the other
/// one also at inputs, weights and inner values a little to either side, along random directions. Throws Error: usage for a file without
/// such names, and the errors of running.
[[nodiscard]] DerivativeCheckResult check_derivatives(const std::filesystem::path& model, const std::filesystem::path& derivative,
                                                      const DerivativeCheckOptions& options);

/// 0: all hold; 1.
[[nodiscard]] int exit_code(const DerivativeCheckResult& result) noexcept;

}  // namespace relayout
