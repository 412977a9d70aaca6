// Computes recurrent networks step by step in double, by the formulas of ops/formulas.h.

#include "base/positions.h"
#include "base/text.h"
#include "ops/call.h"
#include "ops/formulas.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/matmul.h"
#include "ops/loops/dtypes.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

using Values = std::vector<double>;
using Activation = std::function<double(double)>;

/// Whether the state of an LSTM is quantized to 8 bits before each product, as by DynamicQuantizeLinear (in the body of
/// DynamicQuantizeLSTM).
bool quantizes_state(const OpCall& call) {
  return call.node.op_type() == "QuantizedStateLSTM";
}

const recurrent_cell::Kind& kind_of(const OpCall& call) {
  return recurrent_cell::kind_of(call.node.op_type());
}

struct Sizes {
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 0;
};

bool batch_first(const OpCall& call) {
  return call.attributes.integer("layout", 0) != 0;
}

int64_t direction_count(const OpCall& call) {
  const std::string direction = call.attributes.text("direction", "forward");
  if (direction == "bidirectional") return 2;
  if (direction != "forward" && direction != "reverse") reject(call, "direction is none of forward, reverse, bidirectional");
  return 1;
}

Sizes sizes_of(const OpCall& call, InputInfos inputs) {
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  const DatumInfo& w = tensor_info(call, inputs, 1, kRealTypes);
  const DatumInfo& r = tensor_info(call, inputs, 2, kRealTypes);
  if (x.dims.size() != 3 || r.dims.size() != 3)
    reject(call, "operands X and R have dims " + to_string(x.dims) + " and " + to_string(r.dims));
  const bool first = batch_first(call);
  const Sizes sizes{x.dims[first ? 1 : 0], x.dims[first ? 0 : 1], x.dims[2], r.dims[2], direction_count(call)};
  const int64_t rows = kind_of(call).gates * sizes.hidden;
  const auto expect = [&](const DatumInfo* info, const Dims& dims, const char* name) {
    if (info == nullptr) return;
    if (info->dims != dims) reject(call, std::string(name) + " has dims " + to_string(info->dims) + ", expected " + to_string(dims));
  };
  expect(&w, {sizes.directions, rows, sizes.inputs}, "W");
  expect(&r, {sizes.directions, rows, sizes.hidden}, "R");
  expect(optional_tensor_info(call, inputs, 3, kRealTypes), {sizes.directions, 2 * rows}, "B");
  expect(optional_tensor_info(call, inputs, 4, kIndexTypes), {sizes.batch}, "sequence_lens");
  const Dims state = first ? Dims{sizes.batch, sizes.directions, sizes.hidden} : Dims{sizes.directions, sizes.batch, sizes.hidden};
  expect(optional_tensor_info(call, inputs, 5, kRealTypes), state, "initial_h");
  expect(optional_tensor_info(call, inputs, 6, kRealTypes), state, "initial_c");
  expect(optional_tensor_info(call, inputs, 7, kRealTypes), {sizes.directions, 3 * sizes.hidden}, "P");
  if (const auto hidden = call.attributes.integer("hidden_size"); hidden && *hidden != sizes.hidden) {
    reject(call, "hidden_size is " + std::to_string(*hidden) + ", the weights say " + std::to_string(sizes.hidden));
  }
  return sizes;
}

/// The activations that have alphas and betas consume them in order; defaults are those of the operators of the same name.
class ActivationParameters {
 public:
  explicit ActivationParameters(const OpCall& call)
      : alphas_(call.attributes.reals("activation_alpha")), betas_(call.attributes.reals("activation_beta")) {}
  double alpha(double otherwise) { return next_alpha_ < alphas_.size() ? double{alphas_[next_alpha_++]} : otherwise; }
  double beta(double otherwise) { return next_beta_ < betas_.size() ? double{betas_[next_beta_++]} : otherwise; }

 private:
  std::vector<float> alphas_, betas_;
  std::size_t next_alpha_ = 0, next_beta_ = 0;
};

Activation activation_named(const OpCall& call, std::string_view spelled, ActivationParameters& parameters) {
  using Math = elementwise::DoubleMath;
  const std::string name = ascii_lower(spelled);
  if (name == "sigmoid") return Math::sigmoid;
  if (name == "tanh") return Math::hyperbolic_tangent;
  if (name == "relu") return elementwise::relu<double>;
  if (name == "softsign") return elementwise::softsign<double>;
  if (name == "softplus") return Math::softplus;
  if (name == "affine") return [a = parameters.alpha(1), b = parameters.beta(0)](double x) { return a * x + b; };
  if (name == "scaledtanh") return [a = parameters.alpha(1), b = parameters.beta(1)](double x) { return a * std::tanh(b * x); };
  if (name == "hardsigmoid") {
    const auto [alpha, beta] = elementwise::default_parameters("HardSigmoid");
    return [a = parameters.alpha(alpha), b = parameters.beta(beta)](double x) { return elementwise::hard_sigmoid(x, a, b); };
  }
  if (name == "leakyrelu") {
    const double a = parameters.alpha(elementwise::default_parameters("LeakyRelu").alpha);
    return [=](double x) { return elementwise::leaky_relu(x, a); };
  }
  if (name == "thresholdedrelu") {
    const double a = parameters.alpha(elementwise::default_parameters("ThresholdedRelu").alpha);
    return [=](double x) { return elementwise::thresholded_relu(x, a); };
  }
  if (name == "elu") {
    const double a = parameters.alpha(elementwise::default_parameters("Elu").alpha);
    return [=](double x) { return elementwise::elu<Math>(x, a); };
  }
  reject(call, "an activation is not known");
}

/// The activations f, g, h of each direction; their inputs are clipped if attribute clip is given.
std::vector<std::vector<Activation>> activations_of(const OpCall& call, int64_t directions) {
  const std::vector<std::string_view>& defaults = kind_of(call).activations;
  std::vector<std::string> names = call.attributes.texts("activations");
  const std::size_t wanted_names = defaults.size() * as_size(directions);
  if (names.empty()) {
    for (int64_t i = 0; i < directions; ++i) names.insert(names.end(), defaults.begin(), defaults.end());
  }
  // The default that ONNX writes down for a RNN has a name too many for one direction.
  if (kind_of(call).activations.size() == 1 && directions == 1 && names == std::vector<std::string>{"Tanh", "Tanh"}) names.pop_back();
  if (names.size() != wanted_names) reject(call, std::to_string(names.size()) + " activations, expected " + std::to_string(wanted_names));
  const auto clip = call.attributes.real("clip");
  ActivationParameters parameters(call);
  std::vector<std::vector<Activation>> all(as_size(directions));
  for (std::size_t i = 0; i < names.size(); ++i) {
    Activation plain = activation_named(call, names[i], parameters);
    if (clip && *clip > 0) {
      plain = [plain, bound = double{*clip}](double x) { return plain(x < -bound ? -bound : x > bound ? bound : x); };
    }
    all[i / defaults.size()].push_back(std::move(plain));
  }
  return all;
}

/// a [rows × depth] · bᵀ [columns × depth], dense.
Values times_transposed(int threads, const Values& a, const Values& b, int64_t rows, int64_t columns, int64_t depth) {
  Values result(as_size(rows * columns));
  const auto bytes = [](const Values& values) { return reinterpret_cast<const std::byte*>(values.data()); };
  const Matrix left{DataType::float64, bytes(a), rows, depth, depth, 1};
  const Matrix right{DataType::float64, bytes(b), depth, columns, 1, depth};
  const auto store_row = [&](int64_t row, int64_t column, int64_t count, const double* values) {
    std::copy_n(values, count, result.begin() + row * columns + column);
  };
  multiply_matrices(threads, left, right, {store_row, {}});
  return result;
}

/// The composition of DynamicQuantizeLinear and DequantizeLinear, in f32.
Values through_eight_bits(const Values& values) {
  constexpr float kLevels = 255;
  float low = 0, high = 0;
  for (const double value : values) {
    low = std::min(low, static_cast<float>(value));
    high = std::max(high, static_cast<float>(value));
  }
  const float scale = high == low ? 1 : (high - low) / kLevels;
  const float zero = std::nearbyint(std::clamp(-low / scale, 0.0F, kLevels));
  Values out;
  out.reserve(values.size());
  for (const double value : values) {
    const float code = std::clamp(std::nearbyint(static_cast<float>(value) / scale) + zero, 0.0F, kLevels);
    out.push_back(double{code - zero} * double{scale});
  }
  return out;
}

/// One direction: weights, and states [batch][hidden] that each step updates.
struct Layer {
  int threads = 1;
  Sizes sizes;
  int64_t gates = 1;
  Values recurrent, input_bias, recurrent_bias, peepholes;  ///< R, Wb, Rb, P
  std::vector<Activation> activations;
  bool linear_before_reset = false, input_forget = false, quantizes_state = false;
  Values h, c;

  [[nodiscard]] int64_t rows() const { return gates * sizes.hidden; }
  [[nodiscard]] Values recur(const Values& state) const {
    return times_transposed(threads, quantizes_state ? through_eight_bits(state) : state, recurrent, sizes.batch, rows(), sizes.hidden);
  }
};

/// One step for one row of the batch: `x` is W·x of all gates, `r` is R·h.
void rnn_row(Layer& layer, std::size_t at, const double* x, const double* r) {
  for (std::size_t j = 0; j < as_size(layer.sizes.hidden); ++j) {
    layer.h[at + j] = layer.activations[0](x[j] + r[j] + layer.input_bias[j] + layer.recurrent_bias[j]);
  }
}

void lstm_row(Layer& layer, std::size_t at, const double* x, const double* r) {
  const auto hidden = as_size(layer.sizes.hidden);
  const auto& f = layer.activations;
  for (std::size_t j = 0; j < hidden; ++j) {
    const auto sum = [&](std::size_t gate) {
      const std::size_t k = gate * hidden + j;
      return x[k] + r[k] + layer.input_bias[k] + layer.recurrent_bias[k];
    };
    const auto peephole = [&](std::size_t gate) { return layer.peepholes[gate * hidden + j]; };
    std::optional<recurrent_cell::LstmPeepholes<double>> peepholes;
    if (!layer.peepholes.empty()) peepholes = {peephole(0), peephole(1), peephole(2)};
    const recurrent_cell::LstmSums<double> sums{sum(0), sum(1), sum(2), sum(3)};
    recurrent_cell::lstm(sums, peepholes ? &*peepholes : nullptr, layer.input_forget, f[0], f[1], f[2], layer.c[at + j], layer.h[at + j]);
  }
}

/// Gates z, r, h. `reset` becomes r ∘ h for the second product; with linear_before_reset it is r, without a second product.
void gru_gates(const Layer& layer, std::size_t at, const double* x, const double* r, double* update, double* reset) {
  const auto hidden = as_size(layer.sizes.hidden);
  for (std::size_t j = 0; j < hidden; ++j) {
    const auto gate = [&](std::size_t g) {
      return x[g * hidden + j] + r[g * hidden + j] + layer.input_bias[g * hidden + j] + layer.recurrent_bias[g * hidden + j];
    };
    update[j] = layer.activations[0](gate(0));
    const double open = layer.activations[0](gate(1));
    reset[j] = layer.linear_before_reset ? open : open * layer.h[at + j];
  }
}

void gru_row(Layer& layer, std::size_t at, const double* x, const double* r, const double* update, const double* reset) {
  const auto hidden = as_size(layer.sizes.hidden);
  for (std::size_t j = 0; j < hidden; ++j) {
    const std::size_t k = 2 * hidden + j;
    const double inner = r[k] + layer.recurrent_bias[k];
    const double own = x[k] + layer.input_bias[k];
    const double sum = layer.linear_before_reset ? recurrent_cell::linear_gru_sum(own, reset[j], inner) : own + inner;
    layer.h[at + j] = recurrent_cell::gru(update[j], layer.activations[1](sum), layer.h[at + j]);
  }
}

/// Advances all rows of the batch with an input from `x_of` (nullptr: the row's sequence is over).
void advance(Layer& layer, const std::function<const double*(int64_t)>& x_of) {
  const auto hidden = as_size(layer.sizes.hidden), rows = as_size(layer.rows());
  const Values r = layer.recur(layer.h);
  Values update(layer.h.size()), reset(layer.h.size()), second;
  const auto each_row = [&](const auto& step) {
    for (int64_t b = 0; b < layer.sizes.batch; ++b) {
      if (const double* x = x_of(b)) step(as_size(b), x);
    }
  };
  if (layer.gates == 1) return each_row([&](std::size_t b, const double* x) { rnn_row(layer, b * hidden, x, r.data() + b * rows); });
  if (layer.gates == 4) return each_row([&](std::size_t b, const double* x) { lstm_row(layer, b * hidden, x, r.data() + b * rows); });
  each_row([&](std::size_t b, const double* x) {
    gru_gates(layer, b * hidden, x, r.data() + b * rows, update.data() + b * hidden, reset.data() + b * hidden);
  });
  if (!layer.linear_before_reset) second = layer.recur(reset);
  const Values& inner = layer.linear_before_reset ? r : second;
  each_row([&](std::size_t b, const double* x) {
    gru_row(layer, b * hidden, x, inner.data() + b * rows, update.data() + b * hidden, reset.data() + b * hidden);
  });
}

/// The elements at `index` of a tensor's first dim.
Values part(const Tensor& tensor, int64_t index) {
  Dims dims = tensor.dims();
  dims[0] = 1;
  return reals_of(tensor.view(dims, tensor.strides(), index * tensor.strides()[0]));
}

/// A state operand [directions, batch, hidden] (batch first with layout 1) of one direction; zeros when absent.
Values initial_state(const OpCall& call, InputData inputs, std::size_t index, const Sizes& sizes, int64_t direction) {
  if (!present(inputs, index)) return Values(as_size(sizes.batch * sizes.hidden), 0.0);
  const Tensor& state = tensor_at(inputs, index);
  return part(batch_first(call) ? state.transposed(std::vector<int64_t>{1, 0, 2}) : state, direction);
}

Layer layer_of(const OpCall& call, InputData inputs, const Sizes& sizes, int64_t direction) {
  Layer layer;
  layer.threads = call.threads;
  layer.sizes = sizes;
  layer.gates = kind_of(call).gates;
  layer.recurrent = part(tensor_at(inputs, 2), direction);
  layer.input_bias.assign(as_size(layer.rows()), 0.0);
  layer.recurrent_bias = layer.input_bias;
  if (present(inputs, 3)) {
    const Values both = part(tensor_at(inputs, 3), direction);
    std::copy_n(both.begin(), layer.rows(), layer.input_bias.begin());
    std::copy_n(both.begin() + layer.rows(), layer.rows(), layer.recurrent_bias.begin());
  }
  if (present(inputs, 7)) layer.peepholes = part(tensor_at(inputs, 7), direction);
  layer.linear_before_reset = call.attributes.integer("linear_before_reset", 0) != 0;
  layer.quantizes_state = quantizes_state(call);
  layer.input_forget = call.attributes.integer("input_forget", 0) != 0;
  layer.h = initial_state(call, inputs, 5, sizes, direction);
  layer.c = initial_state(call, inputs, 6, sizes, direction);
  return layer;
}

/// An output with its dims in the order of layout 0: Y [steps, directions, batch, hidden] or a state [directions, batch, hidden].
std::optional<Tensor> ordered_output(const OpCall& call, OutputData outputs, std::size_t index) {
  const Tensor* out = wanted(outputs, index);
  if (out == nullptr) return std::nullopt;
  if (!batch_first(call)) return *out;
  return index == 0 ? out->transposed(std::vector<int64_t>{1, 2, 0, 3}) : out->transposed(std::vector<int64_t>{1, 0, 2});
}

void store_state(const std::optional<Tensor>& out, int64_t direction, const Sizes& sizes, const Values& state) {
  if (!out) return;
  for (int64_t b = 0; b < sizes.batch; ++b) {
    std::byte* const to = out->bytes() + (direction * out->strides()[0] + b * out->strides()[1]) * element_stride(out->type());
    store(out->type(), to, out->strides()[2], sizes.hidden, state.data() + b * sizes.hidden);
  }
}

void run_direction(const OpCall& call, InputData inputs, OutputData outputs, const Sizes& sizes, int64_t direction, Layer layer,
                   const std::vector<int64_t>& lengths) {
  const bool reverse = direction == 1 || call.attributes.text("direction", "forward") == "reverse";
  const Tensor& given = tensor_at(inputs, 0);
  const Values x = reals_of(batch_first(call) ? given.transposed(std::vector<int64_t>{1, 0, 2}) : given);
  const Values projected =
      times_transposed(call.threads, x, part(tensor_at(inputs, 1), direction), sizes.steps * sizes.batch, layer.rows(), sizes.inputs);
  const auto y = ordered_output(call, outputs, 0);
  for (int64_t step = 0; step < sizes.steps; ++step) {
    const auto time_of = [&](int64_t b) { return recurrent_cell::time_of(step, element_at(lengths, b), reverse); };
    advance(layer, [&](int64_t b) -> const double* {
      if (step >= element_at(lengths, b)) return nullptr;
      return projected.data() + (time_of(b) * sizes.batch + b) * layer.rows();
    });
    for (int64_t b = 0; y && b < sizes.batch; ++b) {
      const bool over = step >= element_at(lengths, b);
      const Values zeros(as_size(over ? sizes.hidden : 0), 0.0);
      const int64_t at = time_of(b) * y->strides()[0] + direction * y->strides()[1] + b * y->strides()[2];
      store(y->type(), y->bytes() + at * element_stride(y->type()), y->strides()[3], sizes.hidden,
            over ? zeros.data() : layer.h.data() + b * sizes.hidden);
    }
  }
  store_state(ordered_output(call, outputs, 1), direction, sizes, layer.h);
  store_state(ordered_output(call, outputs, 2), direction, sizes, layer.c);
}

}  // namespace

Inferred infer_recurrent(const OpCall& call, InputInfos inputs) {
  // A quantized LSTM has the scale of R too: [directions, 1, 1 or one per row of R].
  require_inputs(call, inputs, 3, quantizes_state(call) ? 9 : kind_of(call).gates == 4 ? 8 : 6);
  const Sizes sizes = sizes_of(call, inputs);
  (void)activations_of(call, sizes.directions);
  const DataType type = inputs[0]->type;
  const bool first = batch_first(call);
  std::vector<DatumInfo> all = results(call, tensor_of(type, first ? Dims{sizes.batch, sizes.steps, sizes.directions, sizes.hidden}
                                                                   : Dims{sizes.steps, sizes.directions, sizes.batch, sizes.hidden}));
  checked_count(call, all[0].dims);
  for (std::size_t i = 1; i < all.size(); ++i) {
    all[i] = tensor_of(type, first ? Dims{sizes.batch, sizes.directions, sizes.hidden} : Dims{sizes.directions, sizes.batch, sizes.hidden});
  }
  return all;
}

/// RNN, GRU and LSTM, in double throughout.
void recurrent(const OpCall& call, InputData inputs, OutputData outputs) {
  const Sizes sizes = sizes_of(call, KnownInfos(inputs).get());
  std::vector<int64_t> lengths(as_size(sizes.batch), sizes.steps);
  if (present(inputs, 4)) lengths = integers_of(call, tensor_at(inputs, 4));
  for (const int64_t length : lengths) {
    if (length < 0 || length > sizes.steps) reject(call, "a sequence length is " + std::to_string(length));
  }
  const auto activations = activations_of(call, sizes.directions);
  for (int64_t direction = 0; direction < sizes.directions; ++direction) {
    Layer layer = layer_of(call, inputs, sizes, direction);
    layer.activations = element_at(activations, direction);
    run_direction(call, inputs, outputs, sizes, direction, std::move(layer), lengths);
  }
}

}  // namespace relayout::kernels
