// Runs the steps of recurrent networks once the products with their inputs are known.

#include "base/machine.h"
#include "base/positions.h"
#include "base/vectorize.h"
#include "exec/kernels/fast_math.h"
#include "exec/kernels/integer_kernel.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/program.h"
#include "ops/formulas.h"
#include "ops/operands.h"
#include "relayout/tensor.h"

namespace relayout::exec {
namespace {

constexpr int64_t kColumns = 64;  ///< of a panel

template <int kBytes, int kRows>
[[gnu::always_inline]] inline void multiply_rows(int64_t depth, const float* a, const float* panel, float* out, int64_t out_stride) {
  using Floats = VectorOf<float, kBytes>::Type;
  constexpr int64_t kLanes = VectorOf<float, kBytes>::kLanes, kVectors = kColumns / kLanes;
  Floats sums[kRows][kVectors] = {};
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t v = 0; v < kVectors; ++v) {
      const Floats b = *reinterpret_cast<const Floats*>(panel + k * kColumns + v * kLanes);
      for (int r = 0; r < kRows; ++r) sums[r][v] += a[r * depth + k] * b;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int64_t v = 0; v < kVectors; ++v) *reinterpret_cast<Floats*>(out + r * out_stride + v * kLanes) = sums[r][v];
  }
}

RELAYOUT_VECTORIZE void multiply_wide(int64_t rows, int64_t depth, const float* a, const float* panel, float* out, int64_t out_stride) {
  int64_t row = 0;
  for (; row + 2 <= rows; row += 2) multiply_rows<64, 2>(depth, a + row * depth, panel, out + row * out_stride, out_stride);
  if (row < rows) multiply_rows<64, 1>(depth, a + row * depth, panel, out + row * out_stride, out_stride);
}

/// The sums of two rows would leave no register for the operands.
RELAYOUT_VECTORIZE void multiply_narrow(int64_t rows, int64_t depth, const float* a, const float* panel, float* out, int64_t out_stride) {
  for (int64_t row = 0; row < rows; ++row) {
    multiply_rows<32, 1>(depth, a + row * depth, panel, out + row * out_stride, out_stride);
  }
}

/// Multiplies a [rows × depth] by one panel of b; rows of a are dense.
void multiply_panel(int64_t rows, int64_t depth, const float* a, const float* panel, float* out, int64_t out_stride) {
  if (instruction_set() == InstructionSet::avx512) return multiply_wide(rows, depth, a, panel, out, out_stride);
  multiply_narrow(rows, depth, a, panel, out, out_stride);
}

/// State of one row of the batch in one step.
struct Row {
  const float *x, *r;          ///< products with the input and with the state, all gates
  const float *bias, *bias_r;  ///< all gates; `bias_r`: of the state's product alone, where a gate multiplies it
  const float* peepholes;      ///< null: none
  float *h, *c;
};

RELAYOUT_VECTORIZE void rnn_row(const Row& row, int64_t hidden) {
  float* const h = row.h;
  const float *const x = row.x, *const r = row.r, *const bias = row.bias;
  RELAYOUT_INDEPENDENT for (int64_t j = 0; j < hidden; ++j) h[j] = hyperbolic_tangent(x[j] + r[j] + bias[j]);
}

/// Sum of a gate before its activation.
struct Gate {
  const float *x, *r, *bias;
  Gate(const Row& row, int64_t number, int64_t hidden)
      : x(row.x + number * hidden), r(row.r + number * hidden), bias(row.bias + number * hidden) {}
  [[gnu::always_inline]] float operator[](int64_t j) const { return x[j] + r[j] + bias[j]; }
};

template <bool kHasPeepholes>
RELAYOUT_VECTORIZE void lstm_row(const Row& row, int64_t hidden) {
  float* __restrict__ const h = row.h, * __restrict__ const c = row.c;
  const float* const peephole = row.peepholes;
  const Gate in(row, 0, hidden), out(row, 1, hidden), forget(row, 2, hidden), candidate(row, 3, hidden);
  RELAYOUT_INDEPENDENT for (int64_t j = 0; j < hidden; ++j) {
    const recurrent_cell::LstmSums<float> sums{in[j], out[j], forget[j], candidate[j]};
    const auto f = [](float x) __attribute__((always_inline)) { return sigmoid(x); };
    const auto g = [](float x) __attribute__((always_inline)) { return hyperbolic_tangent(x); };
    if constexpr (kHasPeepholes) {
      const recurrent_cell::LstmPeepholes<float> peepholes{peephole[j], peephole[hidden + j], peephole[2 * hidden + j]};
      recurrent_cell::lstm(sums, &peepholes, false, f, g, g, c[j], h[j]);
    } else {
      recurrent_cell::lstm<float>(sums, nullptr, false, f, g, g, c[j], h[j]);
    }
  }
}

/// Gates z, r, h. The reset gate multiplies the state's part of h after the product.
RELAYOUT_VECTORIZE void linear_gru_row(const Row& row, int64_t hidden) {
  float* const h = row.h;
  const float *const x = row.x, *const r = row.r, *const bias = row.bias, *const bias_r = row.bias_r;
  RELAYOUT_INDEPENDENT for (int64_t j = 0; j < hidden; ++j) {
    const float update = sigmoid(x[j] + r[j] + bias[j]);
    const float reset = sigmoid(x[hidden + j] + r[hidden + j] + bias[hidden + j]);
    const float own = x[2 * hidden + j] + bias[2 * hidden + j], of_state = r[2 * hidden + j] + bias_r[2 * hidden + j];
    h[j] = recurrent_cell::gru(update, hyperbolic_tangent(recurrent_cell::linear_gru_sum(own, reset, of_state)), h[j]);
  }
}

/// The first half of a GRU step whose reset gate multiplies the state: the update gate, and state · reset.
RELAYOUT_VECTORIZE void gru_gates(const Row& row, float* update, float* reset_state, int64_t hidden) {
  const float *const x = row.x, *const r = row.r, *const bias = row.bias, *const h = row.h;
  RELAYOUT_INDEPENDENT for (int64_t j = 0; j < hidden; ++j) {
    update[j] = sigmoid(x[j] + r[j] + bias[j]);
    reset_state[j] = sigmoid(x[hidden + j] + r[hidden + j] + bias[hidden + j]) * h[j];
  }
}

RELAYOUT_VECTORIZE void gru_state(const Row& row, const float* update, const float* product, int64_t hidden) {
  float* const h = row.h;
  const float *const x = row.x + 2 * hidden, *const bias = row.bias + 2 * hidden;
  RELAYOUT_INDEPENDENT for (int64_t j = 0; j < hidden; ++j) {
    h[j] = recurrent_cell::gru(update[j], hyperbolic_tangent(x[j] + product[j] + bias[j]), h[j]);
  }
}

/// The least and the largest of states and 0.
RELAYOUT_VECTORIZE std::pair<float, float> range_of(const float* states, int64_t count) {
  constexpr int64_t kLanes = 16;
  float low[kLanes] = {}, high[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      low[lane] = states[i + lane] < low[lane] ? states[i + lane] : low[lane];
      high[lane] = states[i + lane] > high[lane] ? states[i + lane] : high[lane];
    }
  }
  for (; i < count; ++i) low[0] = std::min(low[0], states[i]), high[0] = std::max(high[0], states[i]);
  return {*std::ranges::min_element(low), *std::ranges::max_element(high)};
}

/// Adding and subtracting 1.5 · 2^23 rounds half to even; states are in the range, so that their codes need no other limits.
RELAYOUT_VECTORIZE void quantize(const float* states, float scale, float zero, int64_t count, uint8_t* codes) {
  constexpr float kRounder = 12582912.0F;
  constexpr int32_t kLevels = 255;
  for (int64_t i = 0; i < count; ++i) {
    const auto code = static_cast<int32_t>(((states[i] / scale + kRounder) - kRounder) + zero);
    const int32_t raised = code > 0 ? code : 0;
    codes[i] = static_cast<uint8_t>(raised < kLevels ? raised : kLevels);
  }
}

/// Sums of products of the states' codes with one panel, as numbers.
RELAYOUT_VECTORIZE void dequantize(const int32_t* sums, const int32_t* of_column, int32_t zero, const float* scales, float scale,
                                   float* out) {
  for (int64_t n = 0; n < kColumns; ++n) out[n] = static_cast<float>(sums[n] - zero * of_column[n]) * (scale * scales[n]);
}

/// Columns of R that are multiplied at once: all, except that those of a GRU's h wait for the reset gate.
int64_t first_columns(const Recurrence& recurrence) {
  const bool waits = recurrence.kind == Recurrence::Kind::gru && !recurrence.linear_before_reset;
  return waits ? 2 * recurrence.hidden : recurrence.columns();
}

int64_t padded(int64_t columns) {
  return (columns + kColumns - 1) / kColumns * kColumns;
}

/// Scales of the rows of R before the panels of a quantized one.
int64_t scales_before(const Recurrence& recurrence) {
  return padded(recurrence.columns());
}

/// Floats, or bytes in their place, of the packed weights of one direction.
int64_t packed_floats(const Recurrence& recurrence) {
  if (recurrence.quantized) {
    const int64_t panels = panel_count(recurrence.columns()) * panel_bytes(recurrence.hidden);
    return scales_before(recurrence) + panels / int64_t{sizeof(float)};
  }
  const int64_t first = first_columns(recurrence);
  return (padded(first) + padded(recurrence.columns() - first)) * recurrence.hidden;
}

float* floats(std::byte* data) {
  return reinterpret_cast<float*>(data);
}

/// Element [direction, b, 0] of a state operand.
int64_t state_offset(const Recurrence& spec, int64_t direction, int64_t b) {
  return (spec.batch_first ? b * spec.directions + direction : direction * spec.batch + b) * spec.hidden;
}

/// Element [time, direction, b, 0] of Y.
int64_t y_offset(const Recurrence& spec, int64_t time, int64_t direction, int64_t b) {
  const int64_t row =
      spec.batch_first ? (b * spec.steps + time) * spec.directions + direction : (time * spec.directions + direction) * spec.batch + b;
  return row * spec.hidden;
}

/// Addresses of the operands; null where the node has none.
struct RecurrentOperands {
  std::byte *projected = nullptr, *weights = nullptr, *bias = nullptr, *lengths = nullptr;
  std::byte *initial_h = nullptr, *initial_c = nullptr, *peepholes = nullptr;
  std::byte *y = nullptr, *y_h = nullptr, *y_c = nullptr;
};

class RecurrentKernel : public Kernel {
 public:
  RecurrentKernel(const Recurrence& spec, const ProgramNode& node, Team team) : spec_(spec), node_(node), team_(team) {
    slots_ = {&operands_.projected, &operands_.weights};
    const auto add = [&](bool there, std::byte** slot) {
      if (there) slots_.push_back(slot);
    };
    add(spec.bias, &operands_.bias);
    add(spec.lengths, &operands_.lengths);
    add(spec.initial_h, &operands_.initial_h);
    add(spec.initial_c, &operands_.initial_c);
    add(spec.peepholes, &operands_.peepholes);
    add(spec.y, &operands_.y);
    add(spec.y_h, &operands_.y_h);
    add(spec.y_c, &operands_.y_c);
    const auto states = as_size(spec.batch * spec.hidden);
    h_.resize(states);
    c_.resize(states);
    update_.resize(states);
    reset_state_.resize(states);
    product_stride_ = padded(first_columns(spec)) + padded(spec.columns() - first_columns(spec));
    products_.resize(as_size(spec.batch * product_stride_));
    if (spec.quantized) codes_.resize(as_size(spec.batch * padded_depth(spec.hidden)));
    bias_.resize(as_size(spec.columns()));
    bias_r_.resize(bias_.size());
    lengths_.assign(as_size(spec.batch), spec.steps);
  }

  void bind(std::size_t operand, std::byte* data) override { *slots_[operand] = data; }
  [[nodiscard]] std::string implementation() const override { return "own"; }

  void run() override {
    read_lengths();
    for (int64_t direction = 0; direction < spec_.directions; ++direction) run_direction(direction);
  }

 private:
  void read_lengths() {
    if (operands_.lengths == nullptr) return;
    for (std::size_t b = 0; b < lengths_.size(); ++b) {
      lengths_[b] = reinterpret_cast<const int32_t*>(operands_.lengths)[b];
      if (lengths_[b] < 0 || lengths_[b] > spec_.steps) reject(node_.call, "a sequence length is " + std::to_string(lengths_[b]));
    }
  }

  void load_state(std::byte* given, int64_t direction, std::vector<float>& state) const {
    std::ranges::fill(state, 0.0F);
    for (int64_t b = 0; given != nullptr && b < spec_.batch; ++b) {
      std::copy_n(floats(given) + state_offset(spec_, direction, b), spec_.hidden, state.data() + b * spec_.hidden);
    }
  }
  void store_state(std::byte* out, int64_t direction, const std::vector<float>& state) const {
    for (int64_t b = 0; out != nullptr && b < spec_.batch; ++b) {
      std::copy_n(state.data() + b * spec_.hidden, spec_.hidden, floats(out) + state_offset(spec_, direction, b));
    }
  }

  /// Biases of input and state are added to the same sum, unless a gate is applied in between.
  void load_bias(int64_t direction) {
    for (std::size_t i = 0; i < bias_.size(); ++i) {
      const float* const given = operands_.bias == nullptr ? nullptr : floats(operands_.bias) + direction * 2 * spec_.columns();
      const float of_input = given == nullptr ? 0 : given[i], of_state = given == nullptr ? 0 : given[bias_.size() + i];
      const bool apart = spec_.linear_before_reset && static_cast<int64_t>(i) >= 2 * spec_.hidden;
      bias_[i] = apart ? of_input : of_input + of_state;
      bias_r_[i] = of_state;
    }
  }

  /// Quantizes all states as DynamicQuantizeLinear does.
  void quantize_states() {
    constexpr float kLevels = 255;
    const auto [least, most] = range_of(h_.data(), std::ssize(h_));
    state_scale_ = most == least ? 1 : (most - least) / kLevels;
    const float zero = std::nearbyint(std::clamp(-least / state_scale_, 0.0F, kLevels));
    state_zero_ = static_cast<int32_t>(zero);
    for (int64_t b = 0; b < spec_.batch; ++b) {
      quantize(h_.data() + b * spec_.hidden, state_scale_, zero, spec_.hidden, codes_.data() + b * padded_depth(spec_.hidden));
    }
  }

  /// As multiply(), with exact sums of integers.
  void multiply_integers(const float* packed) {
    quantize_states();
    const IntegerIsa isa = best_integer_isa();
    const auto* const panels = reinterpret_cast<const std::byte*>(packed + scales_before(spec_));
    const int64_t grain = 1 + (int64_t{1} << 21) / (spec_.hidden * kColumns * spec_.batch);
    team_.divide(panel_count(spec_.columns()), grain, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel) {
        const std::byte* const at = panels + panel * panel_bytes(spec_.hidden);
        const int32_t* const of_column = panel_sums(at, spec_.hidden);
        int32_t sums[kColumns];
        for (int64_t b = 0; b < spec_.batch; ++b) {
          multiply_panel(isa, 1, spec_.hidden, codes_.data() + b * padded_depth(spec_.hidden), at, kColumns, sums);
          dequantize(sums, of_column, state_zero_, packed + panel * kColumns, state_scale_,
                     products_.data() + b * product_stride_ + panel * kColumns);
        }
      }
    });
  }

  /// Multiplies states · Rᵀ for panels [first, last), into the columns of `products_` with the same numbers.
  void multiply(const float* weights, const std::vector<float>& states, int64_t first, int64_t last) {
    const int64_t grain = 1 + (int64_t{1} << 19) / (spec_.hidden * kColumns * spec_.batch);
    team_.divide(last - first, grain, [&](int64_t begin, int64_t end) {
      for (int64_t panel = first + begin; panel < first + end; ++panel) {
        multiply_panel(spec_.batch, spec_.hidden, states.data(), weights + panel * kColumns * spec_.hidden,
                       products_.data() + panel * kColumns, product_stride_);
      }
    });
  }

  void run_direction(int64_t direction) {
    const bool reverse = spec_.reverse || direction == 1;
    load_bias(direction);
    load_state(operands_.initial_h, direction, h_);
    load_state(operands_.initial_c, direction, c_);
    const float* const weights = floats(operands_.weights) + direction * packed_floats(spec_);
    for (int64_t step = 0; step < spec_.steps; ++step) {
      const auto length = [&](int64_t b) { return element_at(lengths_, b); };
      const auto time = [&](int64_t b) { return recurrent_cell::time_of(step, length(b), reverse); };
      const auto row = [&](int64_t b) {
        const int64_t number = spec_.batch_first ? b * spec_.steps + time(b) : time(b) * spec_.batch + b;
        const float* const p = operands_.peepholes == nullptr ? nullptr : floats(operands_.peepholes) + direction * 3 * spec_.hidden;
        return Row{floats(operands_.projected) + (number * spec_.directions + direction) * spec_.columns(),
                   products_.data() + b * product_stride_,
                   bias_.data(),
                   bias_r_.data(),
                   p,
                   h_.data() + b * spec_.hidden,
                   c_.data() + b * spec_.hidden};
      };
      advance(weights, row, [&](int64_t b) { return step < length(b); });
      for (int64_t b = 0; operands_.y != nullptr && b < spec_.batch; ++b) {
        float* const out = floats(operands_.y) + y_offset(spec_, time(b), direction, b);
        if (step < length(b)) {
          std::copy_n(h_.data() + b * spec_.hidden, spec_.hidden, out);
        } else {
          std::fill_n(out, spec_.hidden, 0.0F);
        }
      }
    }
    store_state(operands_.y_h, direction, h_);
    store_state(operands_.y_c, direction, c_);
  }

  template <class RowOf, class IsActive>
  void advance(const float* weights, const RowOf& row, const IsActive& is_active) {
    const int64_t first = padded(first_columns(spec_)) / kColumns;
    if (spec_.quantized) {
      multiply_integers(weights);
    } else {
      multiply(weights, h_, 0, first);
    }
    const bool waits = first_columns(spec_) < spec_.columns();
    for (int64_t b = 0; b < spec_.batch; ++b) {
      if (!is_active(b)) continue;
      switch (spec_.kind) {
        case Recurrence::Kind::rnn:
          rnn_row(row(b), spec_.hidden);
          break;
        case Recurrence::Kind::lstm:
          if (operands_.peepholes == nullptr) {
            lstm_row<false>(row(b), spec_.hidden);
          } else {
            lstm_row<true>(row(b), spec_.hidden);
          }
          break;
        case Recurrence::Kind::gru:
          if (waits) {
            gru_gates(row(b), update_.data() + b * spec_.hidden, reset_state_.data() + b * spec_.hidden, spec_.hidden);
          } else {
            linear_gru_row(row(b), spec_.hidden);
          }
          break;
      }
    }
    if (!waits) return;
    multiply(weights, reset_state_, first, product_stride_ / kColumns);
    for (int64_t b = 0; b < spec_.batch; ++b) {
      if (!is_active(b)) continue;
      gru_state(row(b), update_.data() + b * spec_.hidden, products_.data() + b * product_stride_ + first * kColumns, spec_.hidden);
    }
  }

  Recurrence spec_;
  const ProgramNode& node_;
  Team team_;
  std::vector<std::byte**> slots_;
  RecurrentOperands operands_;
  std::vector<int64_t> lengths_;
  std::vector<float> h_, c_, update_, reset_state_;  ///< [batch][hidden]
  std::vector<float> products_;                      ///< [batch][panels of columns]
  int64_t product_stride_ = 0;
  std::vector<uint8_t> codes_;  ///< of the states: [batch][padded hidden]
  float state_scale_ = 1;
  int32_t state_zero_ = 0;
  std::vector<float> bias_, bias_r_;
};

}  // namespace

int64_t packed_bytes(const Recurrence& recurrence) {
  return recurrence.directions * packed_floats(recurrence) * int64_t{sizeof(float)};
}

namespace {

/// R of one direction as integers of 8 bits, and its scales.
void pack_bytes(const Recurrence& recurrence, const float* weights, const float* scales, bool per_column, float* packed) {
  const int64_t depth = recurrence.hidden, columns = recurrence.columns();
  std::vector<int8_t> codes(as_size(columns * depth));
  for (int64_t column = 0; column < columns; ++column) {
    const float scale = scales[per_column ? column : 0];
    packed[column] = scale;
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t at = column * depth + k;
      codes[as_size(at)] = static_cast<int8_t>(std::nearbyint(weights[at] / scale));
    }
  }
  const ByteMatrix matrix{reinterpret_cast<const std::byte*>(codes.data()), depth, columns, 1, depth, false};
  pack_panels(matrix, reinterpret_cast<std::byte*>(packed + scales_before(recurrence)));
}

}  // namespace

bool has_bytes(const Recurrence& recurrence, const Tensor& weights, const Tensor& scales) {
  const Tensor plain = contiguous(weights);
  const int64_t columns = recurrence.columns(), count = scales.element_count() / recurrence.directions;
  if (count != 1 && count != columns) return false;
  const auto *const numbers = plain.data<float>(), *const steps = scales.data<float>();
  for (int64_t row = 0; row < recurrence.directions * columns; ++row) {
    const float scale = steps[count == 1 ? row / columns : row];
    if (!(scale > 0) || !std::isfinite(scale)) return false;
    for (int64_t k = 0; k < recurrence.hidden; ++k) {
      const float number = numbers[row * recurrence.hidden + k], code = std::nearbyint(number / scale);
      if (!(code >= -128 && code <= 127) || code * scale != number) return false;
    }
  }
  return true;
}

void pack_weights(const Recurrence& recurrence, const Tensor& weights, const Tensor& scales, std::byte* packed) {
  const Tensor plain = contiguous(weights);
  const int64_t depth = recurrence.hidden, columns = recurrence.columns(), first = first_columns(recurrence);
  std::memset(packed, 0, as_size(packed_bytes(recurrence)));
  auto* out = reinterpret_cast<float*>(packed);
  for (int64_t direction = 0; direction < recurrence.directions; ++direction, out += packed_floats(recurrence)) {
    const auto* const from = plain.data<float>() + direction * columns * depth;
    if (recurrence.quantized) {
      const int64_t count = scales.element_count() / recurrence.directions;
      pack_bytes(recurrence, from, scales.data<float>() + direction * count, count > 1, out);
      continue;
    }
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t at = column < first ? column : column - first + padded(first);
      float* const to = out + at / kColumns * kColumns * depth + at % kColumns;
      for (int64_t k = 0; k < depth; ++k) to[k * kColumns] = from[column * depth + k];
    }
  }
}

std::unique_ptr<Kernel> make_recurrent_kernel(const Recurrence& recurrence, const ProgramNode& node, Team team) {
  return std::make_unique<RecurrentKernel>(recurrence, node, team);
}

}  // namespace relayout::exec
