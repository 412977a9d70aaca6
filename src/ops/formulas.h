#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <vector>

#include "model/node.h"

namespace relayout::elementwise {

/// The numbers of an activation: attributes alpha and beta of HardSigmoid, alpha and gamma of Selu, lambd and bias of Shrink; 0 where the
/// operator has none.
struct Parameters {
  float alpha = 0, beta = 0;
};

/// The parameters of an operator whose attributes are absent.
[[nodiscard]] Parameters default_parameters(std::string_view op_type);
/// The attributes of a node, or their defaults in its opset.
[[nodiscard]] Parameters parameters_of(std::string_view op_type, const Attributes& attributes, int64_t opset);

/// HardSwish is x · max(0, min(1, x / 6 + 1/2)).
inline constexpr double kHardSwishAlpha = 1.0 / 6, kHardSwishBeta = 0.5;

/// Elementary functions of double. The templates below take such a class: exec computes the same formulas with FloatMath
/// (exec/kernels/fast_math.h).
struct DoubleMath {
  using Number = double;
  static double exponential(double x) { return std::exp(x); }
  static double exponential_less_one(double x) { return std::expm1(x); }
  static double error_complement(double x) { return std::erfc(x); }
  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
  static double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
  static double hyperbolic_tangent(double x) { return std::tanh(x); }
};

// Formulas of the operators of the same names, over one element. A loop over one of them has no branch, so that compilers vectorize it.

/// NaN stays NaN, −0 stays −0.
template <class T>
[[gnu::always_inline]] inline T relu(T x) {
  return x < 0 ? T{0} : x;
}

template <class T>
[[gnu::always_inline]] inline T leaky_relu(T x, T alpha) {
  return x < 0 ? x * alpha : x;
}

/// NaN gives 0, as it is not above (function body of ThresholdedRelu 10).
template <class T>
[[gnu::always_inline]] inline T thresholded_relu(T x, T alpha) {
  return x > alpha ? x : T{0};
}

/// NaN gives 0, as it is neither above nor below (function body of Shrink 9).
template <class T>
[[gnu::always_inline]] inline T shrink(T x, T lambd, T bias) {
  return x < -lambd ? x + bias : x > lambd ? x - bias : T{0};
}

/// min(max(x, low), high): the upper bound wins when the bounds cross, NaN stays NaN.
template <class T>
[[gnu::always_inline]] inline T clip(T x, T low, T high) {
  const T raised = x < low ? low : x;
  return raised > high ? high : raised;
}

template <class T>
[[gnu::always_inline]] inline T hard_sigmoid(T x, T alpha, T beta) {
  return clip(alpha * x + beta, T{0}, T{1});
}

template <class T>
[[gnu::always_inline]] inline T hard_swish(T x, T alpha, T beta) {
  return x * hard_sigmoid(x, alpha, beta);
}

template <class T>
[[gnu::always_inline]] inline T softsign(T x) {
  return x / (T{1} + std::fabs(x));
}

/// Half to even.
template <class T>
[[gnu::always_inline]] inline T round(T x) {
  return std::nearbyint(x);
}

template <class Math, class T = typename Math::Number>
[[gnu::always_inline]] inline T swish(T x, T alpha) {
  return x * Math::sigmoid(alpha * x);
}

/// x/2 · (1 + erf(x / √2)), as 1 + erf(u) = erfc(−u): far below 0 the sum would lose the digits of the result.
template <class Math, class T = typename Math::Number>
[[gnu::always_inline]] inline T gelu(T x) {
  return T{0.5} * x * Math::error_complement(x * -static_cast<T>(std::numbers::sqrt2 / 2));
}

/// The approximation "tanh": x/2 · (1 + tanh u) = x · sigmoid(2u) with u = √(2/π) · (x + 0.044715 x³).
template <class Math, class T = typename Math::Number>
[[gnu::always_inline]] inline T gelu_tanh(T x) {
  const T u = static_cast<T>(0.79788456080286536) * (x + static_cast<T>(0.044715) * x * x * x);
  return x * Math::sigmoid(T{2} * u);
}

/// x · tanh(log(1 + e)) with e = e^x, which is x · e(e + 2) / (e(e + 2) + 2). From 20 on the quotient rounds to 1.
template <class Math, class T = typename Math::Number>
[[gnu::always_inline]] inline T mish(T x) {
  const T e = Math::exponential(x < T{20} ? x : T{20});
  const T numerator = e * (e + T{2});
  return x * (numerator / (numerator + T{2}));
}

template <class Math, class T = typename Math::Number>
[[gnu::always_inline]] inline T elu(T x, T alpha) {
  const T below = alpha * Math::exponential_less_one(x < 0 ? x : T{0});
  return x < 0 ? below : x;
}

template <class Math, class T = typename Math::Number>
[[gnu::always_inline]] inline T celu(T x, T alpha) {
  const T below = alpha * Math::exponential_less_one(x < 0 ? x / alpha : T{0});
  return x < 0 ? below : x;
}

template <class Math, class T = typename Math::Number>
[[gnu::always_inline]] inline T selu(T x, T alpha, T gamma) {
  return gamma * elu<Math>(x, alpha);
}

/// The smaller of two, the first of equal ones; NaN if either is NaN.
template <class T>
[[gnu::always_inline]] inline T minimum(T a, T b) {
  return b < a || b != b ? b : a;
}

/// The larger of two, the first of equal ones; NaN if either is NaN.
template <class T>
[[gnu::always_inline]] inline T maximum(T a, T b) {
  return b > a || b != b ? b : a;
}

}  // namespace relayout::elementwise

namespace relayout::recurrent_cell {

/// What an operator's recurrence is made of.
struct Kind {
  int64_t gates;                              ///< of W and R, in ONNX's order: LSTM i, o, f, c; GRU z, r, h
  std::vector<std::string_view> activations;  ///< the defaults for one direction: f, g, h
};

/// RNN, GRU, LSTM, or LSTM with a quantized state.
[[nodiscard]] const Kind& kind_of(std::string_view op_type);

/// The time at which a row of the batch is in a step: it has its own length and runs backwards from its own end. Steps beyond the length
/// stay where they are: Y has zeros there.
[[nodiscard]] inline int64_t time_of(int64_t step, int64_t length, bool is_reverse) {
  return is_reverse && step < length ? length - 1 - step : step;
}

// Formulas of one element of the state, for double and f32; f, g and h are the activations.

/// Sums of an LSTM's gates before their activations, without peepholes.
template <class T>
struct LstmSums {
  T in, out, forget, candidate;
};

template <class T>
struct LstmPeepholes {
  T in, out, forget;
};

/// Updates cell and state. Peepholes (null: none) show the cell to the gates: the old one to the input and forget gates, the new one to
/// the output gate. With `input_forget` the forget gate is 1 less the input gate.
template <class T, class F, class G, class H>
[[gnu::always_inline]] inline void lstm(const LstmSums<T>& sums, const LstmPeepholes<T>* peepholes, bool input_forget, const F& f,
                                        const G& g, const H& h, T& cell, T& state) {
  const auto seen = [&](T sum, T LstmPeepholes<T>::* peephole) { return peepholes == nullptr ? sum : sum + peepholes->*peephole * cell; };
  const T in = f(seen(sums.in, &LstmPeepholes<T>::in));
  const T forget = input_forget ? 1 - in : f(seen(sums.forget, &LstmPeepholes<T>::forget));
  cell = forget * cell + in * g(sums.candidate);
  state = f(seen(sums.out, &LstmPeepholes<T>::out)) * h(cell);
}

/// The sum of a GRU's candidate where the reset gate multiplies the state's product (linear_before_reset): x of the input, r of the state,
/// both with bias. Without it, the gate multiplies the state before the product, and the sum is x + r.
template <class T>
[[gnu::always_inline]] inline T linear_gru_sum(T x, T reset, T r) {
  return x + reset * r;
}

/// The new state of a GRU.
template <class T>
[[gnu::always_inline]] inline T gru(T update, T candidate, T state) {
  return (1 - update) * candidate + update * state;
}

}  // namespace relayout::recurrent_cell
