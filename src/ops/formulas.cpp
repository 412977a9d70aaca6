// Reads the attributes of activations and recurrent cells, whose formulas, for double and f32 alike, are in the header.
#include "ops/formulas.h"

#include <iterator>

#include "model/node.h"

namespace relayout::elementwise {
namespace {

struct Defaults {
  std::string_view op, alpha_name, beta_name;
  Parameters parameters;
};

constexpr Defaults kDefaults[] = {
    {"Celu", "alpha", "", {1}},
    {"Elu", "alpha", "", {1}},
    {"HardSigmoid", "alpha", "beta", {0.2F, 0.5F}},
    {"LeakyRelu", "alpha", "", {0.01F}},
    {"Selu", "alpha", "gamma", {1.67326319218681884765625F, 1.05070102214813232421875F}},
    {"Shrink", "lambd", "bias", {0.5F, 0}},
    {"Swish", "alpha", "", {1}},
    {"ThresholdedRelu", "alpha", "", {1}},
};

constexpr Parameters kSeluBeforeOpset6{1.6732F, 1.0507F};

const Defaults* find(std::string_view op_type) {
  const auto* const found = std::ranges::find(kDefaults, op_type, &Defaults::op);
  return found == std::end(kDefaults) ? nullptr : found;
}

}  // namespace

Parameters default_parameters(std::string_view op_type) {
  const Defaults* const defaults = find(op_type);
  return defaults == nullptr ? Parameters{} : defaults->parameters;
}

Parameters parameters_of(std::string_view op_type, const Attributes& attributes, int64_t opset) {
  const Defaults* const defaults = find(op_type);
  if (defaults == nullptr) return {};
  Parameters out = op_type == "Selu" && opset < 6 ? kSeluBeforeOpset6 : defaults->parameters;
  out.alpha = attributes.real(defaults->alpha_name, out.alpha);
  if (!defaults->beta_name.empty()) out.beta = attributes.real(defaults->beta_name, out.beta);
  return out;
}

}  // namespace relayout::elementwise

namespace relayout::recurrent_cell {

// Cells of recurrent networks.

const Kind& kind_of(std::string_view op_type) {
  static const Kind rnn{1, {"Tanh"}}, gru{3, {"Sigmoid", "Tanh"}}, lstm{4, {"Sigmoid", "Tanh", "Tanh"}};
  return op_type == "RNN" ? rnn : op_type == "GRU" ? gru : lstm;
}

}  // namespace relayout::recurrent_cell
