// Computes recurrences that pass a state from step to step, as linear attention does.

#include "base/positions.h"
#include "base/threads.h"
#include "ops/call.h"
#include "ops/formulas.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

constexpr TypeSet kNarrowTypes{DataType::float32, DataType::float16, DataType::bfloat16};

void write_doubles(const std::vector<double>& values, const Tensor& tensor) {
  const DenseOutput target(tensor);
  store(tensor.type(), target.tensor().bytes(), 1, tensor.element_count(), values.data());
  target.finish();
}

// Positions of the inputs.
constexpr std::size_t kQuery = 0, kKey = 1, kValue = 2, kPastState = 3, kDecay = 4, kBeta = 5;

/// Sizes of a LinearAttention of ONNX opset 27.
struct LinearShape {
  int64_t batch = 0, length = 0, heads = 0, kv_heads = 0, key_size = 0, value_size = 0;
  bool decays = false, deltas = false;
  [[nodiscard]] Dims state() const { return {batch, kv_heads, key_size, value_size}; }
};

LinearShape linear_shape(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 3, 6);
  const DatumInfo &query = tensor_info(call, inputs, kQuery, kNarrowTypes), &key = tensor_info(call, inputs, kKey, kNarrowTypes),
                  &value = tensor_info(call, inputs, kValue, kNarrowTypes);
  LinearShape shape;
  shape.heads = call.attributes.integer("q_num_heads", 0);
  shape.kv_heads = call.attributes.integer("kv_num_heads", 0);
  if (shape.heads < 1 || shape.kv_heads < 1 || shape.heads % shape.kv_heads != 0) reject(call, "numbers of heads do not fit");
  const bool ranks = query.dims.size() == 3 && key.dims.size() == 3 && value.dims.size() == 3;
  if (!ranks || query.dims[2] % shape.heads != 0 || value.dims[2] % shape.kv_heads != 0) reject(call, "dims do not fit the heads");
  shape.batch = query.dims[0];
  shape.length = query.dims[1];
  shape.key_size = query.dims[2] / shape.heads;
  shape.value_size = value.dims[2] / shape.kv_heads;
  const Dims head{shape.batch, shape.length};
  const auto wants = [&](const DatumInfo& info, int64_t last, const char* what) {
    if (info.dims != Dims{head[0], head[1], last}) reject(call, std::string(what) + " has dims " + to_string(info.dims));
  };
  wants(key, shape.kv_heads * shape.key_size, "key");
  wants(value, shape.kv_heads * shape.value_size, "value");
  const std::string rule = call.attributes.text("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta") reject(call, "an unknown update_rule");
  shape.decays = rule.starts_with("gated");
  shape.deltas = rule.ends_with("delta");
  const DatumInfo* const state = optional_tensor_info(call, inputs, kPastState, kNarrowTypes);
  if (state != nullptr && state->dims != shape.state()) reject(call, "past_state has dims " + to_string(state->dims));
  if (shape.decays) {
    const DatumInfo& decay = tensor_info(call, inputs, kDecay, kNarrowTypes);
    if (decay.dims.empty() || decay.dims.back() != shape.kv_heads) wants(decay, shape.kv_heads * shape.key_size, "decay");
    if (decay.dims.size() != 3 || decay.dims[0] != head[0] || decay.dims[1] != head[1])
      reject(call, "decay has dims " + to_string(decay.dims));
  }
  if (shape.deltas) {
    const DatumInfo& beta = tensor_info(call, inputs, kBeta, kNarrowTypes);
    wants(beta, beta.dims.empty() || beta.dims.back() != 1 ? shape.kv_heads : 1, "beta");
  }
  return shape;
}

/// One head of keys and values with its state, which is passed from token to token.
class LinearHead {
 public:
  LinearHead(const LinearShape& shape, double* state) : shape_(shape), state_(state), recalled_(as_size(shape.value_size)) {}

  /// `decay` has one element per element of the key, or one for all; null if there is none.
  void update(const double* key, const double* value, const double* decay, bool decay_is_scalar, double rate) {
    const auto rows = as_size(shape_.key_size), columns = as_size(shape_.value_size);
    if (decay != nullptr) {
      for (std::size_t i = 0; i < rows; ++i) {
        const double factor = std::exp(decay[decay_is_scalar ? 0 : i]);
        for (std::size_t j = 0; j < columns; ++j) state_[i * columns + j] *= factor;
      }
    }
    std::ranges::fill(recalled_, 0.0);
    if (shape_.deltas) {
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) recalled_[j] += state_[i * columns + j] * key[i];
      }
    }
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) state_[i * columns + j] += rate * key[i] * (value[j] - recalled_[j]);
    }
  }

  void read(const double* query, double scale, double* out) const {
    const auto columns = as_size(shape_.value_size);
    std::fill_n(out, columns, 0.0);
    for (std::size_t i = 0; i < as_size(shape_.key_size); ++i) {
      for (std::size_t j = 0; j < columns; ++j) out[j] += scale * query[i] * state_[i * columns + j];
    }
  }

 private:
  const LinearShape& shape_;
  double* state_;
  std::vector<double> recalled_;
};

}  // namespace

Inferred infer_linear_attention(const OpCall& call, InputInfos inputs) {
  const LinearShape shape = linear_shape(call, inputs);
  std::vector<DatumInfo> out =
      results(call, tensor_of(inputs[kQuery]->type, {shape.batch, shape.length, checked_product(call, shape.heads, shape.value_size)}));
  const DatumInfo* const past = optional_info(inputs, kPastState);
  if (out.size() > 1) out[1] = tensor_of(past != nullptr ? past->type : inputs[kQuery]->type, shape.state());
  return out;
}

void linear_attention(const OpCall& call, InputData inputs, OutputData outputs) {
  const LinearShape shape = linear_shape(call, KnownInfos(inputs).get());
  const std::vector<double> query = reals_of(tensor_at(inputs, kQuery)), key = reals_of(tensor_at(inputs, kKey)),
                            value = reals_of(tensor_at(inputs, kValue));
  const std::vector<double> decay = shape.decays ? reals_of(tensor_at(inputs, kDecay)) : std::vector<double>{};
  const std::vector<double> beta = shape.deltas ? reals_of(tensor_at(inputs, kBeta)) : std::vector<double>{};
  std::vector<double> state(as_size(element_count(shape.state())), 0.0);
  if (present(inputs, kPastState)) state = reals_of(tensor_at(inputs, kPastState));
  std::vector<double> out(as_size(shape.batch * shape.length * shape.heads * shape.value_size));
  const float given = call.attributes.real("scale", 0);
  const double scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(shape.key_size));
  const bool decay_is_scalar = shape.decays && tensor_at(inputs, kDecay).dims()[2] == shape.kv_heads;
  const int64_t decay_size = decay_is_scalar ? 1 : shape.key_size;
  const int64_t beta_heads = shape.deltas ? tensor_at(inputs, kBeta).dims()[2] : 1;
  const int64_t share = shape.heads / shape.kv_heads;

  parallel_for(shape.batch * shape.kv_heads, call.threads, [&](int64_t unit) {
    const int64_t batch = unit / shape.kv_heads, head = unit % shape.kv_heads;
    LinearHead memory(shape, state.data() + unit * shape.key_size * shape.value_size);
    for (int64_t t = 0; t < shape.length; ++t) {
      const int64_t token = batch * shape.length + t;
      const int64_t at = token * shape.kv_heads + head;
      const double rate = shape.deltas ? element_at(beta, token * beta_heads + (beta_heads == 1 ? 0 : head)) : 1;
      memory.update(key.data() + at * shape.key_size, value.data() + at * shape.value_size,
                    shape.decays ? decay.data() + at * decay_size : nullptr, decay_is_scalar, rate);
      for (int64_t reader = head * share; reader < (head + 1) * share; ++reader) {
        const int64_t place = token * shape.heads + reader;
        memory.read(query.data() + place * shape.key_size, scale, out.data() + place * shape.value_size);
      }
    }
  });
  if (const Tensor* const y = wanted(outputs, 0)) write_doubles(out, *y);
  if (const Tensor* const last = wanted(outputs, 1)) write_doubles(state, *last);
}

Inferred infer_causal_conv_with_state(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 4);
  const auto [x, weight] = two_of_one_type(call, inputs, kNarrowTypes);
  const bool fits =
      x.dims.size() == 3 && weight.dims.size() == 3 && weight.dims[0] == x.dims[1] && weight.dims[1] == 1 && weight.dims[2] > 0;
  if (!fits) reject(call, "input " + to_string(x.dims) + " and weight " + to_string(weight.dims));
  const DatumInfo* const bias = optional_tensor_info(call, inputs, 2, kNarrowTypes);
  if (bias != nullptr && bias->dims != Dims{x.dims[1]}) reject(call, "bias has dims " + to_string(bias->dims));
  const Dims state{x.dims[0], x.dims[1], weight.dims[2] - 1};
  const DatumInfo* const past = optional_tensor_info(call, inputs, 3, kNarrowTypes);
  if (past != nullptr && past->dims != state) reject(call, "past_state has dims " + to_string(past->dims));
  std::vector<DatumInfo> out = results(call, tensor_of(x.type, x.dims));
  if (out.size() > 1) out[1] = tensor_of(x.type, state);
  return out;
}

void causal_conv_with_state(const OpCall& call, InputData inputs, OutputData outputs) {
  const std::string activation = call.attributes.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") reject(call, "activation is none of silu, swish, none");
  const Dims& dims = tensor_at(inputs, 0).dims();
  const auto channels = as_size(dims[1]), length = as_size(dims[2]);
  const auto kernel = as_size(tensor_at(inputs, 1).dims()[2]);
  const std::size_t before = kernel - 1;
  const std::vector<double> x = reals_of(tensor_at(inputs, 0)), weight = reals_of(tensor_at(inputs, 1));
  const std::vector<double> bias = present(inputs, 2) ? reals_of(tensor_at(inputs, 2)) : std::vector<double>(channels, 0.0);
  const std::size_t lines = as_size(dims[0]) * channels;
  const std::vector<double> past = present(inputs, 3) ? reals_of(tensor_at(inputs, 3)) : std::vector<double>(lines * before, 0.0);
  std::vector<double> out(x.size()), state(past.size());
  std::vector<double> line(before + length);
  for (std::size_t row = 0; row < lines; ++row) {
    std::copy_n(past.data() + row * before, before, line.data());
    std::copy_n(x.data() + row * length, length, line.data() + before);
    const double* const taps = weight.data() + row % channels * kernel;
    for (std::size_t t = 0; t < length; ++t) {
      double sum = bias[row % channels];
      for (std::size_t k = 0; k < kernel; ++k) sum += taps[k] * line[t + k];
      out[row * length + t] = activation == "none" ? sum : elementwise::swish<elementwise::DoubleMath>(sum, 1.0);
    }
    std::copy_n(line.data() + length, before, state.data() + row * before);
  }
  if (const Tensor* const y = wanted(outputs, 0)) write_doubles(out, *y);
  if (const Tensor* const last = wanted(outputs, 1)) write_doubles(state, *last);
}

}  // namespace relayout::kernels
