#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "passes/pass.h"

namespace relayout {

/// A Conv or ConvTranspose with constant weight and bias, as far as an affine behind it is concerned.
struct LinearOperator {
  Node* node = nullptr;
  bool transposed = false;
  Constant weight;                   ///< [O, I/g, k…], transposed [I, O/g, k…]
  std::optional<Constant> bias;      ///< [O]
  int64_t groups = 1, channels = 0;  ///< channels: O
};

[[nodiscard]] bool is_convolution(const Node& node);
/// Reads one, or says why it cannot be changed. Error{invalid} for a weight or bias that does not fit.
[[nodiscard]] std::variant<LinearOperator, Skip> linear_operator(Node& node, PassContext& context);
/// The output channel that weight element [i, j, …] belongs to.
[[nodiscard]] int64_t output_channel(const LinearOperator& target, int64_t i, int64_t j);
/// One factor per output channel as factors of the weight.
[[nodiscard]] Scale over_outputs(const LinearOperator& target, std::span<const double> factors);
/// Whether products of the weight's elements with these factors leave the range of their type, per output channel: `overflow` when a
/// finite weight would become infinite, `underflow` when a channel whose largest weight was normal would be left with subnormal ones
/// or zeros. Reads the weight once,
/// in parallel, without holding it.
[[nodiscard]] std::optional<Skip> leaves_range(const LinearOperator& target, const Scale& scale, int threads);

}  // namespace relayout
