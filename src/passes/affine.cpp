#include "passes/affine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "model/attributes.h"
#include "ops/constants.h"
#include "passes/numbers.h"
#include "passes/pass.h"
#include "passes/skips.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr std::array<std::string_view, 5> kOperands = {"input", "scale", "shift", "mean", "variance"};

double at(const std::vector<double>& values, int64_t channel) {
  return values[values.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
}

bool has_extra_outputs(const Node& node) {
  return node.outputs().size() > 1 && std::ranges::any_of(node.outputs().subspan(1), [](const Value* output) { return output != nullptr; });
}

bool uses_extra_outputs(const Node& node) {
  for (std::size_t i = 1; i < node.outputs().size(); ++i) {
    const Value* const output = node.outputs()[i];
    if (output != nullptr && (!output->uses().empty() || output->is_output())) return true;
  }
  return false;
}

/// BatchNormalization-1 and -6 tell by is_test, -7 and -9 by the number of outputs, -14 and newer by training_mode.
std::optional<Skip> trains(const Node& node, const Attributes& attributes) {
  const int64_t opset = node.opset();
  if (opset < 7) {
    if (attributes.integer("is_test", 0) == 0) return Skip{Reason::training_mode, "is_test is 0"};
    if (uses_extra_outputs(node)) return Skip{Reason::training_mode, "its statistics are read"};
  } else if (opset >= 14 && attributes.integer("training_mode", 0) != 0) {
    return Skip{Reason::training_mode, "training_mode is 1"};
  } else if (has_extra_outputs(node)) {
    return Skip{Reason::training_mode, "it has " + std::to_string(node.outputs().size()) + " outputs"};
  }
  return std::nullopt;
}

}  // namespace

std::variant<Affine, Skip> batch_norm_affine(const Node& node, PassContext& context) {
  Obstacles obstacles;
  const Attributes attributes(node);
  if (attributes.has_reference()) return Skip{Reason::not_constant, "an attribute is given by the caller of the function"};
  if (auto skip = trains(node, attributes)) obstacles.note(std::move(*skip));
  if (attributes.integer("spatial", 1) == 0) obstacles.note(Reason::per_activation, "spatial is 0");

  std::array<std::vector<double>, 5> parameters;
  for (std::size_t i = 1; i < parameters.size(); ++i) {
    const Value* const operand = node.input(i);
    if (operand == nullptr) fail(ErrorKind::invalid, "input " + std::to_string(i) + " (" + std::string(kOperands[i]) + ") is missing");
    const auto found = context.constants.find(*operand);
    if (const auto* const reason = std::get_if<Reason>(&found)) {
      obstacles.note(*reason, std::string(kOperands[i]) + " " + quote(operand->name()));
      continue;
    }
    const Constant& constant = std::get<Constant>(found);
    if (!is_scalable(constant.type))
      fail(ErrorKind::invalid,
           std::string(kOperands[i]) + " " + quote(operand->name()) + " is of type " + std::string(name_of(constant.type)));
    if (constant.dims.size() != 1)
      obstacles.note(Reason::per_activation, std::string(kOperands[i]) + " has dims " + to_string(constant.dims));
    if (obstacles.any()) continue;
    parameters[i] = to_doubles(constant.load());
    if (parameters[i].size() != parameters[1].size()) {
      fail(ErrorKind::invalid, std::string(kOperands[i]) + " " + quote(operand->name()) + " has " + std::to_string(parameters[i].size()) +
                                   " elements, scale has " + std::to_string(parameters[1].size()));
    }
  }
  if (obstacles.any()) return obstacles.first();

  // The default is a float in ONNX: 1e-5f is not 1e-5.
  const auto epsilon = static_cast<double>(attributes.real("epsilon", 1e-5F));
  Affine out{std::move(parameters[1]), std::move(parameters[3]), std::move(parameters[2])};
  for (std::size_t c = 0; c < out.scale.size(); ++c) {
    const double variance = parameters[4][c] + epsilon;
    out.scale[c] /= std::sqrt(variance);
    const bool is_finite =
        std::isfinite(variance) && std::isfinite(out.scale[c]) && std::isfinite(out.center[c]) && std::isfinite(out.shift[c]);
    if (variance <= 0 || !is_finite) return Skip{Reason::non_finite, "channel " + std::to_string(c)};
  }
  return out;
}

std::vector<double> composed_scale(const std::vector<Affine>& chain, int64_t channels) {
  std::vector<double> out(static_cast<std::size_t>(channels), 1.0);
  for (const Affine& affine : chain) {
    for (int64_t c = 0; c < channels; ++c) out[static_cast<std::size_t>(c)] *= at(affine.scale, c);
  }
  return out;
}

std::vector<double> carried_through(const std::vector<Affine>& chain, std::vector<double> bias) {
  // a · (B − μ) + β rather than a · B + (β − a · μ): the former survives large means.
  for (const Affine& affine : chain) {
    for (std::size_t c = 0; c < bias.size(); ++c) {
      const auto channel = static_cast<int64_t>(c);
      bias[c] = at(affine.scale, channel) * (bias[c] - at(affine.center, channel)) + at(affine.shift, channel);
    }
  }
  return bias;
}

}  // namespace relayout
