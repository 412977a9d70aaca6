#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

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
