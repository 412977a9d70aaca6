#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "passes/pass.h"

namespace relayout {

/// y = scale · (x − center) + shift along one axis of the data: each vector has one number per channel, or one for all.
struct Affine {
  std::vector<double> scale, center, shift;
};

/// What a BatchNormalization of any version does in inference: scale = γ / √(σ² + ε), center = μ, shift = β, along axis 1. Or why it is
/// no affine of constants: it is in training mode, its parameters are not constant, or the factors are not finite.
/// Error{invalid} for parameters of different lengths.
[[nodiscard]] std::variant<Affine, Skip> batch_norm_affine(const Node& batch_norm, PassContext& context);

/// Several affines, the first next to the operator, as one factor per channel.
[[nodiscard]] std::vector<double> composed_scale(const std::vector<Affine>& chain, int64_t channels);
/// `bias` (one number per channel) sent through all of them, in double.
[[nodiscard]] std::vector<double> carried_through(const std::vector<Affine>& chain, std::vector<double> bias);

}  // namespace relayout
