// Applies chains of functions to f32 in chunks that stay in the cache.

#include "base/positions.h"
#include "base/vectorize.h"
#include "exec/kernels/fast_math.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/kernels/wide_math.h"
#include "exec/primitives.h"
#include "ops/formulas.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Elements processed by one stage before the next one starts: they stay in the first cache.
constexpr int64_t kChunk = 1024;

constexpr std::size_t kMostOperands = kMostElementwiseOperands + 2;
static_assert(kMostOperands <= kMostLoopTensors);

template <class F>
[[gnu::always_inline]] inline void map(float* out, const float* in, int64_t count, const F& f) {
  for (int64_t i = 0; i < count; ++i) out[i] = f(in[i]);
}

/// As map(), computed in double.
template <class F>
[[gnu::always_inline]] inline void map_wide(float* out, const float* in, int64_t count, const F& f) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(f(static_cast<double>(in[i])));
}

template <class F>
[[gnu::always_inline]] inline void zip(float* out, const float* a, const float* b, int64_t b_step, int64_t count, const F& f) {
  if (b_step == 0) {
    const float scalar = *b;
    for (int64_t i = 0; i < count; ++i) out[i] = f(a[i], scalar);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = f(a[i], b[i]);
  }
}

/// Whether no |in[i]| is larger than kWellReduced; false for NaN, too.
[[gnu::always_inline]] inline bool are_well_reduced(const float* in, int64_t count) {
  int32_t beyond = 0;
  for (int64_t i = 0; i < count; ++i) beyond |= static_cast<int32_t>(!(std::fabs(in[i]) <= kWellReduced));
  return beyond == 0;
}

/// Quantized and dequantized. Adding and subtracting 1.5 · 2^23 rounds half to even; NaN becomes the lower end.
[[gnu::always_inline]] inline float in_steps(float x, float step, float low, float high) {
  constexpr float kRounder = 12582912.0F;
  const float exact = x / step, raised = exact > low ? exact : low;
  return (((raised < high ? raised : high) + kRounder) - kRounder) * step;
}

/// At most kChunk elements to a 16-bit type and back.
void round_to(DataType type, float* out, const float* in, int64_t count) {
  std::array<uint16_t, kChunk> codes;
  auto* const bytes = reinterpret_cast<std::byte*>(codes.data());
  store(type, bytes, 1, count, in);
  load(type, bytes, 1, count, out);
}

RELAYOUT_VECTORIZE void apply_function(const ElementwiseStage& stage, float* out, const float* in, int64_t count) {
  const float alpha = stage.alpha, beta = stage.beta;
  switch (stage.function) {
    case Function::relu:
      if (alpha == 0) return map(out, in, count, [](float x) { return elementwise::relu(x); });  // 0 · −inf is NaN
      return map(out, in, count, [=](float x) { return elementwise::leaky_relu(x, alpha); });
    case Function::clip:
      return map(out, in, count, [=](float x) { return elementwise::clip(x, alpha, beta); });
    case Function::hard_sigmoid:
      return map(out, in, count, [=](float x) { return elementwise::hard_sigmoid(x, alpha, beta); });
    case Function::hard_swish:
      return map(out, in, count, [=](float x) { return elementwise::hard_swish(x, alpha, beta); });
    case Function::sigmoid:
      return map(out, in, count, [](float x) { return sigmoid(x); });
    case Function::swish:
      return map(out, in, count, [=](float x) { return elementwise::swish<FloatMath>(x, alpha); });
    case Function::exp:
      return map(out, in, count, [](float x) { return exponential(x); });
    case Function::erf:
      return map(out, in, count, [](float x) { return error_function(x); });
    case Function::erf_gate:
      return map(out, in, count, [=](float x) { return beta * (x * (1.0F + error_function(alpha * x))); });
    case Function::gelu_erf:
      return map(out, in, count, [](float x) { return elementwise::gelu<FloatMath>(x); });
    case Function::gelu_tanh:
      return map(out, in, count, [](float x) { return elementwise::gelu_tanh<FloatMath>(x); });
    case Function::abs:
      return map(out, in, count, [](float x) { return std::fabs(x); });
    case Function::sqrt:
      return map(out, in, count, [](float x) { return std::sqrt(x); });
    case Function::linear:
      return map(out, in, count, [=](float x) { return alpha * x + beta; });
    case Function::mish:
      return map(out, in, count, [](float x) { return elementwise::mish<FloatMath>(x); });
    case Function::floor:
      return map(out, in, count, [](float x) { return std::floor(x); });
    case Function::ceil:
      return map(out, in, count, [](float x) { return std::ceil(x); });
    case Function::round:
      return map(out, in, count, [](float x) { return elementwise::round(x); });
    case Function::reciprocal:
      return map(out, in, count, [](float x) { return 1.0F / x; });
    case Function::negate:
      return map(out, in, count, [](float x) { return -x; });
    case Function::is_nonzero:
      return map(out, in, count, [](float x) { return x == 0 ? 0.0F : 1.0F; });
    case Function::round_half:
      return round_to(DataType::float16, out, in, count);
    case Function::round_bfloat:
      return round_to(DataType::bfloat16, out, in, count);
    case Function::steps_u8:
      return map(out, in, count, [=](float x) { return in_steps(x, alpha, -beta, 255 - beta); });
    case Function::steps_i8:
      return map(out, in, count, [=](float x) { return in_steps(x, alpha, -128 - beta, 127 - beta); });
    case Function::sine:
      if (!are_well_reduced(in, count)) return map(out, in, count, [](float x) { return std::sin(x); });
      return map(out, in, count, [](float x) { return sine_or_cosine(x, 0); });
    case Function::cosine:
      if (!are_well_reduced(in, count)) return map(out, in, count, [](float x) { return std::cos(x); });
      return map(out, in, count, [](float x) { return sine_or_cosine(x, 1); });
    case Function::softsign:
      return map(out, in, count, [](float x) { return elementwise::softsign(x); });
    case Function::thresholded_relu:
      return map(out, in, count, [=](float x) { return elementwise::thresholded_relu(x, alpha); });
    case Function::selu:
      return map(out, in, count, [=](float x) { return elementwise::selu<FloatMath>(x, alpha, beta); });
    case Function::celu:
      return map(out, in, count, [=](float x) { return elementwise::celu<FloatMath>(x, alpha); });
    case Function::tanh:
      return map(out, in, count, [](float x) { return hyperbolic_tangent(x); });
    case Function::elu:
      return map(out, in, count, [=](float x) { return elementwise::elu<FloatMath>(x, alpha); });
    case Function::softplus:
      return map(out, in, count, [](float x) { return softplus(x); });
    case Function::log:
      return map_wide(out, in, count, [](double x) { return wide::logarithm(x); });
    case Function::arc_sine:
      return map_wide(out, in, count, [](double x) { return wide::arc_sine(x); });
    case Function::arc_cosine:
      return map_wide(out, in, count, [](double x) { return wide::arc_cosine(x); });
    case Function::arc_tangent:
      return map_wide(out, in, count, [](double x) { return wide::arc_tangent(x); });
    case Function::hyperbolic_sine:
      return map_wide(out, in, count, [](double x) { return wide::hyperbolic_sine(x); });
    case Function::hyperbolic_cosine:
      return map_wide(out, in, count, [](double x) { return wide::hyperbolic_cosine(x); });
    case Function::area_sine:
      return map_wide(out, in, count, [](double x) { return wide::area_sine(x); });
    case Function::area_cosine:
      return map_wide(out, in, count, [](double x) { return wide::area_cosine(x); });
    case Function::area_tangent:
      return map_wide(out, in, count, [](double x) { return wide::area_tangent(x); });
    case Function::tangent:
      if (!are_well_reduced(in, count)) return map(out, in, count, [](float x) { return std::tan(x); });
      return map_wide(out, in, count, [](double x) { return wide::tangent(x); });
    case Function::square:
      return map(out, in, count, [](float x) { return x * x; });
    case Function::cube:
      return map_wide(out, in, count, [](double x) { return x * x * x; });
  }
}

RELAYOUT_VECTORIZE void apply_binary(const ElementwiseStage& stage, float* out, const float* in, const float* operand, int64_t step,
                                     int64_t count) {
  switch (stage.binary) {
    case BinaryFunction::add:
      return zip(out, in, operand, step, count, [](float a, float b) { return a + b; });
    case BinaryFunction::multiply:
      return zip(out, in, operand, step, count, [](float a, float b) { return a * b; });
    case BinaryFunction::subtract:
      if (stage.reversed) return zip(out, in, operand, step, count, [](float a, float b) { return b - a; });
      return zip(out, in, operand, step, count, [](float a, float b) { return a - b; });
    case BinaryFunction::divide:
      if (stage.reversed) return zip(out, in, operand, step, count, [](float a, float b) { return b / a; });
      return zip(out, in, operand, step, count, [](float a, float b) { return a / b; });
    case BinaryFunction::minimum:
      return zip(out, in, operand, step, count, [](float a, float b) { return elementwise::minimum(a, b); });
    case BinaryFunction::maximum:
      return zip(out, in, operand, step, count, [](float a, float b) { return elementwise::maximum(a, b); });
    case BinaryFunction::power: {
      const auto power = [](float a, float b) { return static_cast<float>(wide::power(double{a}, double{b})); };
      if (stage.reversed) return zip(out, in, operand, step, count, [=](float a, float b) { return power(b, a); });
      return zip(out, in, operand, step, count, power);
    }
    case BinaryFunction::slope_below:
      return zip(out, in, operand, step, count, [](float x, float slope) { return elementwise::leaky_relu(x, slope); });
  }
}

/// Whether a function is computed by a series, in which each step waits for the previous one.
bool is_series(const ElementwiseStage& stage) {
  using enum Function;
  constexpr Function kDirect[] = {
      relu,   clip,       hard_sigmoid, hard_swish,   abs,      sqrt,     round,    linear,           floor,  reciprocal, ceil,
      negate, is_nonzero, round_half,   round_bfloat, steps_u8, steps_i8, softsign, thresholded_relu, square, cube};
  return stage.is_binary ? stage.binary == BinaryFunction::power : std::ranges::find(kDirect, stage.function) == std::end(kDirect);
}

/// Operand of a function of two variables: one number for all elements (step 0), or one for each.
struct Operand {
  const float* data = nullptr;
  int64_t step = 0;
};

/// out = (in − center) · scale + shift, then no less than 0 if `rectifies`; without a center nothing is subtracted.
struct Affine {
  Operand center, scale, shift;
  bool rectifies = false;
  [[nodiscard]] bool is_even() const { return scale.step == shift.step && (center.data == nullptr || center.step == scale.step); }
};

template <class F>
[[gnu::always_inline]] inline void map_affine(const Affine& affine, float* out, const float* in, int64_t count, const F& finish) {
  const float *const center = affine.center.data, *const scale = affine.scale.data, *const shift = affine.shift.data;
  if (affine.scale.step == 0) {
    const float from = center == nullptr ? 0.0F : *center, factor = *scale, addend = *shift;
    for (int64_t i = 0; i < count; ++i) out[i] = finish((in[i] - from) * factor + addend);
  } else if (center == nullptr) {
    for (int64_t i = 0; i < count; ++i) out[i] = finish(in[i] * scale[i] + shift[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = finish((in[i] - center[i]) * scale[i] + shift[i]);
  }
}

RELAYOUT_VECTORIZE void apply_affine(const Affine& affine, float* out, const float* in, int64_t count) {
  if (affine.rectifies) return map_affine(affine, out, in, count, [](float x) { return elementwise::relu(x); });
  map_affine(affine, out, in, count, [](float x) { return x; });
}

/// out = (in · first) · second, or with a sum or difference in the brackets.
struct ScaledPair {
  BinaryFunction function;
  Operand first, second;
};

template <int64_t kFirst, int64_t kSecond>
[[gnu::always_inline]] inline void map_pair(const ScaledPair& pair, float* out, const float* in, int64_t count) {
  const float *const first = pair.first.data, *const second = pair.second.data;
  switch (pair.function) {
    case BinaryFunction::add:
      for (int64_t i = 0; i < count; ++i) out[i] = (in[i] + first[i * kFirst]) * second[i * kSecond];
      return;
    case BinaryFunction::subtract:
      for (int64_t i = 0; i < count; ++i) out[i] = (in[i] - first[i * kFirst]) * second[i * kSecond];
      return;
    default:
      for (int64_t i = 0; i < count; ++i) out[i] = in[i] * first[i * kFirst] * second[i * kSecond];
  }
}

RELAYOUT_VECTORIZE void apply_pair(const ScaledPair& pair, float* out, const float* in, int64_t count) {
  if (pair.first.step == 0) return pair.second.step == 0 ? map_pair<0, 0>(pair, out, in, count) : map_pair<0, 1>(pair, out, in, count);
  pair.second.step == 0 ? map_pair<1, 0>(pair, out, in, count) : map_pair<1, 1>(pair, out, in, count);
}

/// out = factor where (from − in) · other is not 0, else 0 · factor; without `other`: where `in` is not 0. As derivatives of limits are.
struct Mask {
  Operand from, other, factor;
  [[nodiscard]] bool is_even() const { return factor.step == 1 && (other.data == nullptr || (from.step == 0 && other.step == 1)); }
};

RELAYOUT_VECTORIZE void apply_mask(const Mask& mask, float* out, const float* in, int64_t count) {
  const float *const other = mask.other.data, *const factor = mask.factor.data;
  if (other == nullptr) {
    for (int64_t i = 0; i < count; ++i) out[i] = (in[i] != 0 ? 1.0F : 0.0F) * factor[i];
  } else {
    const float from = *mask.from.data;
    for (int64_t i = 0; i < count; ++i) out[i] = ((from - in[i]) * other[i] != 0 ? 1.0F : 0.0F) * factor[i];
  }
}

/// Functions that are applied one after the other, each to the result of the previous one.
class StageChain {
 public:
  explicit StageChain(std::vector<ElementwiseStage> stages) : stages_(std::move(stages)) {
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      affines_.push_back(affine_run(i));
      masks_.push_back(mask_run(i));
      targets_.push_back(kept_);
      if (stages_[i].keeps) ++kept_;
    }
  }

  /// Number of stages whose results are kept.
  [[nodiscard]] std::size_t kept() const { return kept_; }
  [[nodiscard]] bool has_series() const { return std::ranges::any_of(stages_, is_series); }

  /// Applies the chain to at most kChunk elements; operand(stage) is the operand of a binary stage. Stages write to target(k) until the
  /// k-th one that is kept, the others to target(kept()).
  template <class TargetOf, class OperandOf>
  void run(const TargetOf& target, const float* in, int64_t count, const OperandOf& operand) const {
    for (std::size_t i = 0; i < stages_.size();) {
      float* const out = target(targets_[i]);
      if (affines_[i].stages > 0) {
        const Affine affine = affine_at(i, operand);
        if (affine.is_even()) {
          apply_affine(affine, out, in, count);
          i += affines_[i].stages;
          in = out;
          continue;
        }
      }
      if (masks_[i] > 0) {
        const Mask mask = mask_at(i, operand);
        if (mask.is_even()) {
          apply_mask(mask, out, in, count);
          i += masks_[i];
          in = out;
          continue;
        }
      }
      if (is_pair(i)) {
        apply_pair({stages_[i].binary, operand(stages_[i]), operand(stages_[i + 1])}, out, in, count);
        i += 2;
        in = out;
        continue;
      }
      const ElementwiseStage& stage = stages_[i++];
      if (stage.is_binary) {
        const Operand other = operand(stage);
        apply_binary(stage, out, in, other.data, other.step, count);
      } else {
        apply_function(stage, out, in, count);
      }
      in = out;
    }
  }

 private:
  /// Number of stages, from a given one on, that form an affine and are applied at once; 0: none.
  struct AffineRun {
    std::size_t stages = 0;
    bool centers = false, rectifies = false;
  };

  /// Whether stage `i` applies this function, and none between `begin` and it is kept.
  [[nodiscard]] bool is(std::size_t begin, std::size_t i, BinaryFunction function) const {
    return is_within(begin, i) && stages_[i].is_binary && stages_[i].binary == function;
  }
  [[nodiscard]] bool is(std::size_t begin, std::size_t i, Function function) const {
    return is_within(begin, i) && !stages_[i].is_binary && stages_[i].function == function;
  }
  [[nodiscard]] bool is_within(std::size_t begin, std::size_t i) const {
    if (i >= stages_.size()) return false;
    return std::none_of(stages_.begin() + static_cast<std::ptrdiff_t>(begin), stages_.begin() + static_cast<std::ptrdiff_t>(i),
                        [](const ElementwiseStage& stage) { return stage.keeps; });
  }

  /// Number of stages, from a given one on, that form a mask; 0: none.
  [[nodiscard]] std::size_t mask_run(std::size_t at) const {
    const bool differs = is(at, at, BinaryFunction::subtract) && stages_[at].reversed && is(at, at + 1, BinaryFunction::multiply);
    const std::size_t truth = at + (differs ? 2 : 0);
    return is(at, truth, Function::is_nonzero) && is(at, truth + 1, BinaryFunction::multiply) ? truth + 2 - at : 0;
  }

  /// Whether a stage and the next one form a scaled pair.
  [[nodiscard]] bool is_pair(std::size_t at) const {
    using enum BinaryFunction;
    const bool is_first = is(at, at, add) || is(at, at, multiply) || (is(at, at, subtract) && !stages_[at].reversed);
    return is_first && is(at, at + 1, multiply);
  }

  template <class OperandOf>
  [[nodiscard]] Mask mask_at(std::size_t at, const OperandOf& operand) const {
    constexpr std::size_t kWithDifference = 4;
    Mask out;
    if (masks_[at] == kWithDifference) {
      out.from = operand(stages_[at]);
      out.other = operand(stages_[at + 1]);
    }
    out.factor = operand(stages_[at + masks_[at] - 1]);
    return out;
  }

  [[nodiscard]] AffineRun affine_run(std::size_t at) const {
    AffineRun out;
    out.centers = is(at, at, BinaryFunction::subtract) && !stages_[at].reversed;
    const std::size_t scale = at + (out.centers ? 1 : 0);
    if (!is(at, scale, BinaryFunction::multiply) || !is(at, scale + 1, BinaryFunction::add)) return {};
    const std::size_t end = scale + 2;
    out.rectifies = is(at, end, Function::relu) && stages_[end].alpha == 0;
    out.stages = end - at + (out.rectifies ? 1 : 0);
    return out;
  }

  template <class OperandOf>
  [[nodiscard]] Affine affine_at(std::size_t at, const OperandOf& operand) const {
    Affine out;
    out.rectifies = affines_[at].rectifies;
    if (affines_[at].centers) out.center = operand(stages_[at++]);
    out.scale = operand(stages_[at]);
    out.shift = operand(stages_[at + 1]);
    return out;
  }

  std::vector<ElementwiseStage> stages_;
  std::vector<AffineRun> affines_;    ///< by the stage that the affine begins with
  std::vector<std::size_t> masks_;    ///< number of stages of the mask that begins with the stage
  std::vector<std::size_t> targets_;  ///< of each stage
  std::size_t kept_ = 0;
};

constexpr int64_t kRepeated = 8;

/// Each number `columns` times, and the last one up to kRepeated − 1 times more: without remainders, short runs take a fraction of the
/// time.
RELAYOUT_VECTORIZE void repeat_numbers(float* out, const float* in, int64_t stride, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row, in += stride, out += columns) {
    const float number = *in;
    for (int64_t i = 0; i < columns; i += kRepeated) {
      RELAYOUT_KEEP_LOOP for (int64_t lane = 0; lane < kRepeated; ++lane) out[i + lane] = number;
    }
  }
}

/// Loops over [outer…][rows][columns], columns innermost; a chunk is several whole rows, or a part of one.
class ElementwiseKernel : public Kernel {
 public:
  /// `divisor` of sums: dims are [lines, length], and results are added up line by line; 0: they are written.
  ElementwiseKernel(const std::vector<TensorDesc>& operands, const TensorDesc& destination, std::vector<ElementwiseStage> stages, Team team,
                    double divisor = 0)
      : chain_(std::move(stages)), team_(team), sources_(operands.size()), count_(element_count(destination.dims)), divisor_(divisor) {
    std::vector<Dims> strides;
    strides.reserve(operands.size() + 1);
    for (const TensorDesc& operand : operands) strides.push_back(operand.strides);
    strides.push_back(destination.strides);
    loops_ = sums() ? Loops{destination.dims, strides} : simplify(destination.dims, strides, operands.size());
    if (loops_.dims.size() == 1) {
      loops_.dims.insert(loops_.dims.begin(), 1);
      for (Dims& tensor : loops_.strides) tensor.insert(tensor.begin(), tensor.front() * loops_.dims.back());
    }
    data_.resize(sources_ + chain_.kept() + 1, nullptr);
    if (count_ == 0) return;
    columns_ = loops_.dims.back();
    rows_ = loops_.dims[loops_.dims.size() - 2];
    rows_per_chunk_ = can_join_rows() ? std::clamp<int64_t>(kChunk / columns_, 1, rows_) : 1;
  }

  void bind(std::size_t operand, std::byte* data) override { data_[operand] = reinterpret_cast<float*>(data); }
  [[nodiscard]] std::string implementation() const override { return "own"; }

  void run() override {
    if (count_ == 0) return;
    const int64_t outer = outer_count(loops_, loops_.dims.size() - 1);  // rows of all planes
    if (outer == 1 && !sums()) {
      team_.divide(columns_, 32768, [&](int64_t begin, int64_t end) { run_columns(begin, end); });
    } else {
      team_.divide(outer, 32768 / columns_ + 1, [&](int64_t begin, int64_t end) { run_rows(begin, end); });
    }
  }

 private:
  using Joined = std::array<float, kChunk + kRepeated>;
  [[nodiscard]] int64_t row_stride(std::size_t operand) const { return loops_.strides[operand][loops_.dims.size() - 2]; }
  [[nodiscard]] int64_t column_stride(std::size_t operand) const { return loops_.strides[operand].back(); }
  /// The index of the destination among the strides.
  [[nodiscard]] std::size_t destination() const { return sources_; }
  [[nodiscard]] bool sums() const { return divisor_ != 0; }
  /// Where the chain writes: results that are kept are in tensors of their own, at the offset of the final ones.
  [[nodiscard]] auto target(int64_t offset, float* out) const {
    return [this, offset, out](std::size_t k) { return k < chain_.kept() ? data_[sources_ + k] + offset : out; };
  }

  [[nodiscard]] bool is_dense(std::size_t operand) const { return column_stride(operand) == 1 && row_stride(operand) == columns_; }
  /// Whether all rows of the operand are the same.
  [[nodiscard]] bool repeats(std::size_t operand) const {
    return operand != 0 && operand != destination() && column_stride(operand) == 1 && row_stride(operand) == 0;
  }

  /// Whether the operand is one number for all rows of a plane.
  [[nodiscard]] bool is_number(std::size_t operand) const {
    return operand != 0 && operand != destination() && column_stride(operand) == 0 && row_stride(operand) == 0;
  }

  /// Whether adjacent rows are processed as one run: the operands continue without a gap or repeat, or rows are so short that copying them
  /// side by side takes less time than processing them one by one. (Rows of 64 on a Xeon of 2023, 2026-11-26: copies made Tanh and Sigmoid
  /// 0.8 times as long, a sum and a product 1.5 times; with an operand of one number for each row, of 32 to 64, 0.7. EPYC, 2026-11-30.)
  [[nodiscard]] bool can_join_rows() const {
    constexpr int64_t kShortRow = 32, kShortRowOfNumber = 128, kShortRowOfSeries = 256;
    if (!is_dense(destination())) return false;
    if (columns_ < (chain_.has_series() ? kShortRowOfSeries : kShortRow)) return true;
    for (std::size_t i = 0; i < destination(); ++i) {
      const bool is_number_of_row = column_stride(i) == 0 && i != 0 && columns_ < kShortRowOfNumber;
      if (!is_dense(i) && !repeats(i) && !is_number(i) && !is_number_of_row) return false;
    }
    return true;
  }

  void run_columns(int64_t begin, int64_t end) {
    std::array<int64_t, kMostOperands> offsets{};
    for (int64_t column = begin; column < end; column += kChunk) {
      for (std::size_t i = 0; i <= destination(); ++i) offsets[i] = column * column_stride(i);
      run_chunk(offsets.data(), std::min(kChunk, end - column), data_.back() + offsets[destination()]);
    }
  }

  /// Processes rows [begin, end) of all planes.
  void run_rows(int64_t begin, int64_t end) {
    const std::size_t planes = loops_.dims.size() - 2;
    Joined repeated[kMostElementwiseOperands + 1];
    for (int64_t plane = begin / rows_; plane * rows_ < end; ++plane) {
      for_each_outer(loops_, planes, plane, plane + 1, [&](std::span<const int64_t> base) {
        const int64_t first = std::max(begin - plane * rows_, int64_t{0});
        const int64_t last = std::min(end - plane * rows_, rows_);
        if (rows_per_chunk_ > 1) {
          run_joined(base, first, last, repeated);
        } else {
          run_single(base, first, last);
        }
      });
    }
  }

  void run_single(std::span<const int64_t> base, int64_t first, int64_t last) {
    std::array<int64_t, kMostOperands> offsets{};
    std::array<float, kChunk> made;
    for (int64_t row = first; row < last; ++row) {
      double total = 0;
      for (int64_t column = 0; column < columns_; column += kChunk) {
        for (std::size_t i = 0; i <= destination(); ++i) offsets[i] = base[i] + row * row_stride(i) + column * column_stride(i);
        const int64_t count = std::min(kChunk, columns_ - column);
        run_chunk(offsets.data(), count, sums() ? made.data() : data_.back() + offsets[destination()]);
        if (sums() && columns_ > kChunk) total += sum_of(made.data(), count);
      }
      if (sums() && columns_ > kChunk) data_.back()[row] = static_cast<float>(total / divisor_);
      if (sums() && columns_ <= kChunk) sums_of_lines(data_.back() + row, made.data(), 1, columns_, divisor_);
    }
  }

  /// Writes rows [row, row + rows) of an operand without gaps between them, and perhaps some elements more.
  void join(std::size_t operand, int64_t base, int64_t row, int64_t rows, float* out) const {
    const float* from = data_[operand] + base + row * row_stride(operand);
    const int64_t step = column_stride(operand);
    if (step == 0) return repeat_numbers(out, from, row_stride(operand), rows, columns_);
    for (int64_t i = 0; i < rows; ++i, from += row_stride(operand), out += columns_) {
      if (step == 1) {
        std::copy_n(from, columns_, out);
      } else {
        for (int64_t column = 0; column < columns_; ++column) out[column] = from[column * step];
      }
    }
  }

  /// Processes several whole rows at once; operands that repeat are copied once per plane, others with gaps for each chunk.
  void run_joined(std::span<const int64_t> base, int64_t first, int64_t last, Joined* joined) {
    std::array<const float*, kMostOperands> sources{};
    std::array<float, kChunk> made;
    for (std::size_t i = 0; i < destination(); ++i) {
      if (repeats(i)) join(i, base[i], 0, std::min(rows_per_chunk_, last - first), joined[i].data());
    }
    for (int64_t row = first; row < last; row += rows_per_chunk_) {
      const int64_t rows = std::min(rows_per_chunk_, last - row), count = rows * columns_;
      for (std::size_t i = 0; i < destination(); ++i) {
        sources[i] = is_dense(i) ? data_[i] + base[i] + row * columns_ : is_number(i) ? data_[i] + base[i] : joined[i].data();
        if (!is_dense(i) && !repeats(i) && !is_number(i)) join(i, base[i], row, rows, joined[i].data());
      }
      const int64_t offset = base[destination()] + row * columns_;
      chain_.run(target(offset, sums() ? made.data() : data_.back() + offset), sources[0], count,
                 [&](const ElementwiseStage& stage) { return Operand{sources[stage.operand + 1], is_number(stage.operand + 1) ? 0 : 1}; });
      if (sums()) sums_of_lines(data_.back() + row, made.data(), rows, columns_, divisor_);
    }
  }

  /// Processes one run of at most kChunk elements at any strides: `last` is where its results go.
  void run_chunk(const int64_t* offsets, int64_t count, float* last) {
    std::array<float, kChunk> buffer;
    std::array<float, kChunk> gathered[kMostElementwiseOperands];
    const std::size_t out = destination();
    const bool direct = column_stride(out) == 1;
    float* const work = direct ? last : buffer.data();
    const float* in = data_[0] + offsets[0];
    if (column_stride(0) != 1) {
      for (int64_t i = 0; i < count; ++i) element_at(buffer, i) = in[i * column_stride(0)];
      in = buffer.data();
    }
    chain_.run(target(offsets[out], work), in, count, [&](const ElementwiseStage& stage) {
      const std::size_t which = stage.operand + 1;
      const float* const operand = data_[which] + offsets[which];
      const int64_t stride = column_stride(which);
      if (stride == 0 || stride == 1) return Operand{operand, stride};
      float* const dense = gathered[stage.operand].data();
      for (int64_t i = 0; i < count; ++i) dense[i] = operand[i * stride];
      return Operand{dense, 1};
    });
    if (!direct) {
      for (int64_t i = 0; i < count; ++i) last[i * column_stride(out)] = element_at(buffer, i);
    }
  }

  Loops loops_;
  StageChain chain_;
  std::vector<float*> data_;
  Team team_;
  std::size_t sources_;
  int64_t count_ = 0, rows_ = 1, columns_ = 1, rows_per_chunk_ = 1;
  double divisor_;
};

/// A function of 16-bit floats, computed chunk by chunk.
class NarrowElementwiseKernel : public Kernel {
 public:
  NarrowElementwiseKernel(DataType type, int64_t count, const ElementwiseStage& stage, Team team)
      : type_(type), count_(count), stage_(stage), team_(team) {}

  void bind(std::size_t operand, std::byte* data) override { data_[operand] = data; }
  [[nodiscard]] std::string implementation() const override { return "own"; }

  void run() override {
    team_.divide(count_, 32768, [&](int64_t begin, int64_t end) {
      std::array<float, kChunk> values;
      for (int64_t i = begin; i < end; i += kChunk) {
        const int64_t length = std::min(kChunk, end - i), offset = i * element_stride(type_);
        load(type_, data_[0] + offset, 1, length, values.data());
        apply_function(stage_, values.data(), values.data(), length);
        store(type_, data_[1] + offset, 1, length, values.data());
      }
    });
  }

 private:
  DataType type_;
  int64_t count_;
  ElementwiseStage stage_;
  Team team_;
  std::array<std::byte*, 2> data_{};
};

}  // namespace

std::unique_ptr<Kernel> make_narrow_elementwise_kernel(DataType type, int64_t count, const ElementwiseStage& stage, Team team) {
  return std::make_unique<NarrowElementwiseKernel>(type, count, stage, team);
}

std::unique_ptr<Kernel> make_elementwise_kernel(const std::vector<TensorDesc>& operands, const TensorDesc& destination,
                                                std::vector<ElementwiseStage> stages, Team team) {
  return std::make_unique<ElementwiseKernel>(operands, destination, std::move(stages), team);
}

std::unique_ptr<Kernel> make_line_sum_kernel(const std::vector<TensorDesc>& operands, const Dims& lines,
                                             std::vector<ElementwiseStage> stages, double divisor, Team team) {
  const TensorDesc shape{DataType::float32, lines, contiguous_strides(lines)};
  return std::make_unique<ElementwiseKernel>(operands, shape, std::move(stages), team, divisor);
}

}  // namespace relayout::exec
