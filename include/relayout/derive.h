#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/model.h"
#include "relayout/save_options.h"

namespace relayout {

/// A transform of a model into one that computes derivatives, too.
enum class Derivative : uint8_t {
  jvp,                   ///< tangents of inputs in, tangents of outputs out: y.tangent = ∂y/∂x · x.tangent
  vjp,                   ///< cotangents of outputs in, gradients out: x.gradient = (∂y/∂x)ᵀ · y.cotangent
  hvp,                   ///< the Hessian of the sum of an output, times a vector: x.hvp = ∂²y/∂x² · x.vector
  jacobian,              ///< y.jacobian.x = ∂y/∂x: [N, of y…, of x…] where each sample of y depends on that of x alone, else [of y…, of x…]
  hessian,               ///< y.hessian.x: that of the sum of an output, in the same forms
  per_sample_gradients,  ///< W.gradient [N, of W…]: the gradients of the loss of each sample alone
};

struct DeriveOptions {
  LoadOptions load = {};
  /// Inputs, initializers and inner values to differentiate by; empty: all inputs of floating point.
  std::vector<std::string> wrt = {};
  /// Outputs, or inner values, to differentiate; empty: all outputs of floating point (hvp: the only one).
  std::vector<std::string> of = {};
  SaveOptions save = {};
};

struct DeriveResult {
  std::filesystem::path input, output;
  std::vector<std::string> inputs, outputs;  ///< those that were added
  std::vector<std::string> zeros;            ///< added outputs that are zero, as no path leads there
  int64_t nodes_before = 0, nodes_after = 0;
  int64_t bytes = 0;  ///< of the result and its data files
  double seconds = 0;
};

/// Writes the model with a derivative of its outputs as further outputs, in standard operators; inputs and outputs that were there stay
/// first, with names and dims. Throws Error: usage for a name that the model does not have, unsupported naming the operators without a
/// derivative; nothing is written then.
[[nodiscard]] DeriveResult differentiate(Derivative what, const std::filesystem::path& input, const std::filesystem::path& output,
                                         const DeriveOptions& options);

}  // namespace relayout
