// Recomputes weight and bias of a folded operator, and compares them with the stored ones within the roundings of a fold.
#include "proof/recompute.h"

#include "base/half.h"
#include "base/interrupt.h"
#include "base/positions.h"
#include "model/tensor_data.h"
#include "proof/chain.h"
#include "proof/linear.h"
#include "proof/tensors.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

constexpr long double kDoubleError = 0x1p-53L;
/// Rounding errors of a fold in double, per step: add, root, divide, multiply.
constexpr long double kErrorsPerStep = 4;
/// Limit of the roundings that a fold in the weight's own type is granted: see recompute.h.
constexpr double kGrantedRoundings = 9;

/// The error of one rounding, if other tools are known to fold weights of these types in the finer one; else 0.
double rounding_error(const Linear& a, const Linear& b) {
  const auto of = [](DataType type) { return type == DataType::float32 ? 0x1p-24 : type == DataType::float16 ? 0x1p-11 : 0; };
  return std::min(of(stored_type(a.weight)), of(stored_type(b.weight)));
}

/// Number of roundings of a fold in the weight's own type.
double roundings_of(const Around& a, const Around& b) {
  return std::min(a.downstream.roundings + a.upstream.roundings + b.downstream.roundings + b.upstream.roundings, kGrantedRoundings);
}

/// Weights of the types other than float32.
template <class T, class Bits, double (*kLoad)(T), T (*kRound)(double)>
struct Loaded {
  using Element = T;
  static double load(T value) { return kLoad(value); }
  static int64_t count_unequal(const T* a, const T* b, int64_t count, double factor) {
    int64_t unequal = 0;
    for (int64_t i = 0; i < count; ++i) unequal += kRound(kLoad(a[i]) * factor) == b[i] ? 0 : 1;
    return unequal;
  }
  /// As bits, which are in the order of the values.
  static Bits largest(const T* weights, int64_t count) {
    constexpr auto kMagnitude = static_cast<Bits>(std::numeric_limits<Bits>::max() >> 1U);
    Bits out = 0;
    for (int64_t i = 0; i < count; ++i) out = std::max(out, static_cast<Bits>(std::bit_cast<Bits>(weights[i]) & kMagnitude));
    return out;
  }
};

double same(double value) {
  return value;
}
double half_to_double(uint16_t bits) {
  return static_cast<double>(half_to_float(bits));
}
double bfloat16_to_double(uint16_t bits) {
  return static_cast<double>(bfloat16_to_float(bits));
}

using Double = Loaded<double, uint64_t, same, same>;
using Half = Loaded<uint16_t, uint16_t, half_to_double, double_to_half>;
using BrainHalf = Loaded<uint16_t, uint16_t, bfloat16_to_double, double_to_bfloat16>;
struct Single {
  using Element = float;
  static double load(float value) { return static_cast<double>(value); }
  static int64_t count_unequal(const float* a, const float* b, int64_t count, double factor) {
    return proof::count_unequal(a, b, count, factor);
  }
  static uint32_t largest(const float* weights, int64_t count) { return largest_magnitude(weights, count); }
};

/// Sums over the taps of each output channel: Σ W·t, Σ |W·t|, and Σ |W|·m, where m is the sum of the absolute terms of t.
struct TapSums {
  TapSums() = default;
  explicit TapSums(const Linear& linear)
      : sum(as_size(linear.outputs)), absolute(as_size(linear.outputs)), magnitude(as_size(linear.outputs)) {}
  template <class Format>
  void add(const Linear& linear, int64_t row, const typename Format::Element* weights, const Composed& upstream);

  std::vector<long double> sum, absolute, magnitude;
};

template <class Format>
void TapSums::add(const Linear& linear, int64_t row, const typename Format::Element* weights, const Composed& upstream) {
  if (sum.empty()) return;
  const Channels inputs = linear.input_channels(row), outputs = linear.output_channels(row);
  for (int64_t column = 0; column < linear.columns; ++column) {
    const Lane& lane = upstream.lanes[as_size(inputs.of(column))];
    const auto output = as_size(outputs.of(column));
    long double of_channel = 0;
    for (int64_t i = 0; i < linear.inner; ++i) {
      const auto weight = static_cast<long double>(Format::load(weights[column * linear.inner + i]));
      sum[output] += weight * lane.shift;
      of_channel += std::abs(weight);
    }
    absolute[output] += of_channel * std::abs(lane.shift);
    magnitude[output] += of_channel * lane.magnitude;
  }
}

/// The largest magnitude of each output channel's weights, as bits, which are in the order of the values.
class ChannelMagnitudes {
 public:
  explicit ChannelMagnitudes(int64_t channels) : largest_(as_size(channels), 0) {}
  template <class Format>
  void note(std::size_t channel, const typename Format::Element* weights, int64_t count) {
    largest_[channel] = std::max(largest_[channel], static_cast<uint64_t>(Format::largest(weights, count)));
  }
  [[nodiscard]] const std::vector<uint64_t>& all() const noexcept { return largest_; }

 private:
  std::vector<uint64_t> largest_;
};

/// Compares stored weights with the expected ones: right to the last bit, near as a fold in their own type is, or different.
class Closeness {
 public:
  Closeness(const Linear& a, const Around& around_a, const Linear& b, const Around& around_b)
      : type_(stored_type(b.weight)),
        tolerance_(type_ == DataType::float64 ? 4.0 * static_cast<double>(std::max<int64_t>(around_a.steps() + around_b.steps(), 1))
                                              : kHalfUnit),
        fold_error_(roundings_of(around_a, around_b) * rounding_error(a, b)),
        factor_error_(std::max(fold_error_ - rounding_error(a, b), 0.0)) {}
  /// Compares b's weights with a's times `factor`.
  template <class Format>
  void compare(const typename Format::Element* a, const typename Format::Element* b, int64_t count, long double factor);
  /// Whether all of b's weights are a's times these factors by the rules of compare(). False: undecided.
  [[nodiscard]] bool are_clear(const float* a, const float* b, std::span<const double> factors) {
    return count_unequal(a, b, factors) == 0 || (fold_error_ > 0 && type_ == DataType::float32 &&
                                                 is_clearly_near(a, b, factors, {.rounding = tolerance_, .error = fold_error_}, near_));
  }

  [[nodiscard]] const Difference& difference() const { return difference_; }
  /// See Recomputed.
  [[nodiscard]] double near() const { return near_; }

 private:
  DataType type_;        ///< in which b holds its weights
  double tolerance_;     ///< in units in the last place
  double fold_error_;    ///< of a fold in the weight's own type, relative to the weight
  double factor_error_;  ///< the same without the last rounding, half a unit of the stored weight: more below the normal numbers
  double near_ = 0;
  Difference difference_;
};

/// Factors of a over those of b, channel by channel.
std::vector<long double> ratios(const Composed& a, const Composed& b, int64_t channels) {
  std::vector<long double> out(as_size(channels), 1.0L);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (a.steps > 0) out[i] = a.lanes[i].factor;
    if (b.steps > 0) out[i] /= b.lanes[i].factor;
  }
  return out;
}

/// The factors by which the weights of `a` must be multiplied to give those of `b`.
class WeightFactors {
 public:
  WeightFactors(const Linear& a, const Around& around_a, const Around& around_b)
      : a_(a),
        of_outputs_(ratios(around_a.downstream, around_b.downstream, a.outputs)),
        of_inputs_(ratios(around_a.upstream, around_b.upstream, a.inputs)),
        vanish_(std::ranges::find(of_inputs_, 0) != of_inputs_.end()) {}
  /// The factor of the weights between two channels.
  [[nodiscard]] long double between(int64_t output, int64_t input) const {
    return of_outputs_[as_size(output)] * of_inputs_[as_size(input)];
  }
  /// The factor of each weight of a row; valid until the next call.
  std::span<const double> of_row(int64_t row);
  /// Whether the factors of some input channel are 0.
  [[nodiscard]] bool vanish() const { return vanish_; }

 private:
  const Linear& a_;
  std::vector<long double> of_outputs_, of_inputs_;
  bool vanish_;
  std::vector<double> row_;
};

std::span<const double> WeightFactors::of_row(int64_t row) {
  const Channels outputs = a_.output_channels(row), inputs = a_.input_channels(row);
  row_.resize(as_size(a_.columns * a_.inner));
  for (int64_t column = 0; column < a_.columns; ++column) {
    std::fill_n(row_.begin() + column * a_.inner, a_.inner, static_cast<double>(between(outputs.of(column), inputs.of(column))));
  }
  return row_;
}

/// Compares the weights of both sides, row by row.
class WeightCheck {
 public:
  WeightCheck(const Linear& a, const Around& around_a, const Linear& b, const Around& around_b)
      : a_(a),
        b_(b),
        upstream_a_(around_a.upstream),
        upstream_b_(around_b.upstream),
        factors_(a, around_a, around_b),
        closeness_(a, around_a, b, around_b),
        largest_a_(a.outputs),
        largest_b_(a.outputs) {}

  /// Requests Σ W·t[c] for each side whose upstream affine shifts.
  void sum_taps(bool of_a, bool of_b) {
    if (of_a) sums_a_ = TapSums(a_);
    if (of_b) sums_b_ = TapSums(a_);
  }

  void run(bool thorough) {
    if (a_.rows == 0 || a_.columns == 0 || a_.inner == 0) return;
    switch (a_.weight.type) {
      case DataType::float64:
        return run_as<Double>(thorough);
      case DataType::float16:
        return run_as<Half>(thorough);
      case DataType::bfloat16:
        return run_as<BrainHalf>(thorough);
      default:
        return run_as<Single>(thorough);
    }
  }

  [[nodiscard]] const Closeness& closeness() const { return closeness_; }
  [[nodiscard]] const TapSums& sums_a() const { return sums_a_; }
  [[nodiscard]] const TapSums& sums_b() const { return sums_b_; }
  /// The fault of an output channel that became infinite, or that sank below the smallest normal number and so lost its relative accuracy;
  /// empty if there is none.
  [[nodiscard]] std::string range_left() const;

 private:
  /// Whether all weights of a row have the same factor.
  [[nodiscard]] bool has_one_factor() const { return a_.output_by_row() && upstream_a_.steps == 0 && upstream_b_.steps == 0; }

  template <class Format>
  void run_as(bool thorough);
  template <class Format>
  void compare_row(int64_t row, const typename Format::Element* a, const typename Format::Element* b);
  template <class Format>
  void note_largest(int64_t row, const typename Format::Element* a, const typename Format::Element* b);

  const Linear &a_, &b_;
  const Composed &upstream_a_, &upstream_b_;
  WeightFactors factors_;
  Closeness closeness_;
  TapSums sums_a_, sums_b_;
  ChannelMagnitudes largest_a_, largest_b_;  ///< `largest_a_`: without the weights that a factor of 0 removes
};

/// Rows of a weight viewed as [rows, row elements]. They are read in pieces of some 256 KiB, which stay in a processor's cache until they
/// are compared. A piece of plain bytes has any number of rows, a piece of permuted ones whole indices of dim 0.
class Rows {
 public:
  Rows(const TensorData& data, int64_t rows) : data_(data), row_bytes_(data.byte_size() / rows), each_(rows / data.dims()[0]) {}
  [[nodiscard]] int64_t granularity() const { return data_.is_plain() ? 1 : each_; }
  void read(int64_t begin, int64_t count, std::span<std::byte> out) const {
    if (data_.is_plain()) return data_.source().read(begin * row_bytes_, out);
    data_.read_rows(begin / each_, count / each_, out);
  }

 private:
  const TensorData& data_;
  int64_t row_bytes_, each_;
};

template <class Format>
void WeightCheck::run_as(bool thorough) {
  using Element = typename Format::Element;
  constexpr int64_t kPiece = int64_t{1} << 18;
  const Rows rows_a(a_.weight.data, a_.rows);
  const Rows rows_b(b_.weight.data, a_.rows);
  const int64_t row = a_.columns * a_.inner;
  const int64_t unit = std::max(rows_a.granularity(), rows_b.granularity());
  const int64_t fitting = kPiece / static_cast<int64_t>(sizeof(Element)) / (row * unit) * unit;
  const int64_t step = std::clamp(fitting, unit, a_.rows);
  const auto piece_a = std::make_unique_for_overwrite<Element[]>(as_size(step * row));
  const auto piece_b = std::make_unique_for_overwrite<Element[]>(as_size(step * row));
  for (int64_t begin = 0; begin < a_.rows && (thorough || closeness_.difference().values == 0); begin += step) {
    check_interrupt();
    const int64_t count = std::min(step, a_.rows - begin);
    const auto elements = as_size(count * row);
    rows_a.read(begin, count, std::as_writable_bytes(std::span(piece_a.get(), elements)));
    rows_b.read(begin, count, std::as_writable_bytes(std::span(piece_b.get(), elements)));
    for (int64_t i = 0; i < count; ++i) {
      compare_row<Format>(begin + i, piece_a.get() + i * row, piece_b.get() + i * row);
      note_largest<Format>(begin + i, piece_a.get() + i * row, piece_b.get() + i * row);
      sums_a_.add<Format>(a_, begin + i, piece_a.get() + i * row, upstream_a_);
      sums_b_.add<Format>(a_, begin + i, piece_b.get() + i * row, upstream_b_);
    }
  }
}

template <class Format>
void WeightCheck::compare_row(int64_t row, const typename Format::Element* a, const typename Format::Element* b) {
  const Channels outputs = a_.output_channels(row), inputs = a_.input_channels(row);
  if (has_one_factor()) return closeness_.compare<Format>(a, b, a_.columns * a_.inner, factors_.between(outputs.first, 0));
  if constexpr (std::is_same_v<Format, Single>) {
    if (closeness_.are_clear(a, b, factors_.of_row(row))) return;
  }
  for (int64_t column = 0; column < a_.columns; ++column, a += a_.inner, b += a_.inner) {
    closeness_.compare<Format>(a, b, a_.inner, factors_.between(outputs.of(column), inputs.of(column)));
  }
}

template <class Format>
void Closeness::compare(const typename Format::Element* a, const typename Format::Element* b, int64_t count, long double factor) {
  const auto rough = static_cast<double>(factor);
  if (Format::count_unequal(a, b, count, rough) == 0) return;
  if constexpr (std::is_same_v<Format, Single>) {
    const FoldLimits limits{.rounding = tolerance_, .error = fold_error_};
    if (fold_error_ > 0 && type_ == DataType::float32 && is_clearly_near(a, b, count, rough, limits, near_)) return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const double weight = Format::load(a[i]);
    const double found = Format::load(b[i]);
    const long double expected = static_cast<long double>(weight) * factor;
    if (!std::isfinite(weight) || !std::isfinite(found)) {
      const bool is_right = !std::isfinite(weight) && (std::isnan(weight) ? std::isnan(found) : found == expected);
      if (!is_right) difference_.note(static_cast<double>(expected), found);
      continue;
    }
    const auto off = static_cast<double>(std::abs(static_cast<long double>(found) - expected));
    const double unit = spacing(found, expected, type_);
    if (off <= tolerance_ * unit) continue;
    const double size = std::abs(static_cast<double>(expected));
    if (off <= std::max(fold_error_ * size, fold_error_ > 0 ? factor_error_ * size + unit / 2 : 0)) {
      near_ = std::max(near_, off / unit);
    } else {
      difference_.note(static_cast<double>(expected), found);
    }
  }
}

template <class Format>
void WeightCheck::note_largest(int64_t row, const typename Format::Element* a, const typename Format::Element* b) {
  const Channels outputs = a_.output_channels(row), inputs = a_.input_channels(row);
  const bool is_whole = a_.output_by_row() && !factors_.vanish();
  const int64_t columns = is_whole ? 1 : a_.columns;
  const int64_t count = a_.columns * a_.inner / columns;
  for (int64_t column = 0; column < columns; ++column) {
    const auto channel = as_size(outputs.of(column));
    const bool is_meant_to_vanish = factors_.between(outputs.of(column), inputs.of(column)) == 0;
    if (!is_meant_to_vanish) largest_a_.note<Format>(channel, a + column * count, count);
    largest_b_.note<Format>(channel, b + column * count, count);
  }
}

std::string WeightCheck::range_left() const {
  const DataType type = b_.weight.type;
  const uint64_t smallest_normal = uint64_t{1} << static_cast<unsigned>(fraction_bits(type));
  const uint64_t infinity = (uint64_t{1} << (static_cast<unsigned>(traits(type).bits) - 1U)) - smallest_normal;
  // Across types, rounding may take small weights away: the numbers of both models tell.
  const bool is_one_type = stored_type(a_.weight) == stored_type(b_.weight);
  const std::vector<uint64_t>&of_a = largest_a_.all(), &of_b = largest_b_.all();
  for (std::size_t o = 0; o < of_a.size(); ++o) {
    if (of_a[o] < infinity && of_b[o] >= infinity) return "a weight leaves the range of its type";
    if (is_one_type && of_a[o] >= smallest_normal && of_b[o] < smallest_normal) {
      return "the weights of a channel sink below the normal numbers of their type";
    }
  }
  return {};
}

bool all_finite(const Composed& composed) {
  return std::ranges::all_of(composed.lanes, [](const Lane& lane) { return std::isfinite(lane.factor) && std::isfinite(lane.shift); });
}

bool shifts(const Composed& composed) {
  return std::ranges::any_of(composed.lanes, [](const Lane& lane) { return lane.shift != 0; });
}

bool divides(const Composed& composed) {
  return std::ranges::none_of(composed.lanes, [](const Lane& lane) { return lane.factor == 0; });
}

/// Whether a shift is the rounding error of a difference of equals: β computed as a·μ and stored. Its evaluation adds as much again.
bool is_rounding(const Lane& lane, DataType type) {
  return std::abs(lane.shift) <= static_cast<long double>(ulp(static_cast<double>(lane.magnitude), type));
}

/// Compares x → f·x + t upstream of an operator that misses taps: with W·f as its weight, t/f must be the same on both sides.
bool same_shifts(const Composed& a, const Composed& b, DataType type) {
  static const Lane kNothing;
  for (std::size_t c = 0; c < std::max(a.lanes.size(), b.lanes.size()); ++c) {
    const Lane& of_a = a.steps > 0 ? a.lanes[c] : kNothing;
    const Lane& of_b = b.steps > 0 ? b.lanes[c] : kNothing;
    const long double magnitude = std::abs(of_b.factor) * of_a.magnitude + std::abs(of_a.factor) * of_b.magnitude;
    const long double allowed =
        std::abs(of_a.factor) * of_b.slack + kErrorsPerStep * static_cast<long double>(a.steps + b.steps) * kDoubleError * magnitude;
    if (is_rounding(of_a, type) && is_rounding(of_b, type)) continue;
    if (of_a.shift == 0 || of_b.shift == 0 || std::abs(of_a.shift * of_b.factor - of_b.shift * of_a.factor) > allowed) return false;
  }
  return true;
}

/// The bias operand as a matrix that is broadcast over [rows, outputs]; a single 0 if absent.
struct BiasMatrix {
  int64_t rows = 1, columns = 1;
  std::vector<double> values = {0};
  [[nodiscard]] double at(int64_t row, int64_t column) const {
    return values[as_size((rows == 1 ? 0 : row) * columns + (columns == 1 ? 0 : column))];
  }
};

std::optional<BiasMatrix> bias_of(const Linear& linear) {
  if (!linear.bias_value) return BiasMatrix();
  if (!linear.bias || !is_real(linear.bias->type)) return std::nullopt;
  const Dims& dims = linear.bias->dims;
  BiasMatrix out;
  const bool is_gemm = linear.node->is("Gemm");  // possibly viewed as a MatMul
  if (dims.size() > (is_gemm ? 2U : 1U) || (!is_gemm && dims != Dims{linear.outputs})) return std::nullopt;
  if (dims.size() == 2) out.rows = dims[0];
  if (!dims.empty()) out.columns = dims.back();
  if (out.rows < 1 || (out.columns != 1 && out.columns != linear.outputs)) return std::nullopt;
  out.values = to_doubles(linear.bias->load());
  return out;
}

/// The addend of one side in one output channel.
struct Effect {
  long double value = 0, magnitude = 0, slack = 0, sum_error = 0;
};

Effect effect_of(const Linear& linear, const Around& around, double bias, const TapSums& taps, int64_t output, bool is_rounded) {
  const auto o = as_size(output);
  const Lane lane = around.downstream.steps > 0 ? around.downstream.lanes[o] : Lane();
  const auto alpha = static_cast<long double>(linear.alpha);
  const long double own = static_cast<long double>(linear.beta) * static_cast<long double>(bias);
  const long double sum = taps.sum.empty() ? 0 : alpha * taps.sum[o];
  const long double absolute = taps.sum.empty() ? 0 : std::abs(alpha) * taps.absolute[o];
  const long double magnitude = taps.sum.empty() ? 0 : std::abs(alpha) * taps.magnitude[o];
  Effect out;
  out.value = lane.factor * (own + sum) + lane.shift;
  out.magnitude = std::abs(lane.factor) * (std::abs(own) + absolute + magnitude) + lane.magnitude;
  out.sum_error = std::abs(lane.factor) * absolute;
  out.slack = lane.slack;
  if (is_rounded && linear.bias) {
    const DataType stored = stored_type(*linear.bias);
    const double half = stored == linear.bias->type ? 0.5 : kHalfUnit;
    out.slack += std::abs(lane.factor * static_cast<long double>(linear.beta)) * static_cast<long double>(half * ulp(bias, stored));
  }
  return out;
}

/// The error of a bias that is folded in its own type, relative to its terms; 0 if sums over taps are among the terms or there is no bias
/// to round.
double fold_error_of_bias(const Linear& a, const Around& around_a, const Linear& b, const Around& around_b, const WeightCheck& weights) {
  const bool is_summed = !weights.sums_a().sum.empty() || !weights.sums_b().sum.empty();
  if (is_summed || !b.bias || stored_type(*b.bias) != stored_type(b.weight)) return 0;
  constexpr int64_t kMostSteps = 4;  // a chain is granted as many sums as factors
  const int64_t steps = std::min(around_a.steps() + around_b.steps(), kMostSteps);
  return (roundings_of(around_a, around_b) + 2 * static_cast<double>(steps)) * rounding_error(a, b);
}

void compare_biases(const Linear& a, const Around& around_a, const Linear& b, const Around& around_b, const WeightCheck& weights,
                    Recomputed& out) {
  const auto bias_a = bias_of(a);
  const auto bias_b = bias_of(b);
  if (!bias_a || !bias_b || bias_a->rows != bias_b->rows) {
    out.obstacle = "its bias is computed at run time, or is of another shape";
    return;
  }
  const int64_t steps = around_a.steps() + around_b.steps();
  const auto taps = static_cast<long double>(a.columns) * static_cast<long double>(a.rows) * static_cast<long double>(a.inner) /
                    static_cast<long double>(a.outputs);
  const double fold_error = fold_error_of_bias(a, around_a, b, around_b, weights);
  for (int64_t row = 0; row < bias_a->rows; ++row) {
    for (int64_t o = 0; o < a.outputs; ++o) {
      const Effect of_a = effect_of(a, around_a, bias_a->at(row, o), weights.sums_a(), o, false);
      const Effect of_b = effect_of(b, around_b, bias_b->at(row, o), weights.sums_b(), o, steps > 0);
      const long double allowed = of_b.slack +
                                  kErrorsPerStep * static_cast<long double>(steps) * kDoubleError * (of_a.magnitude + of_b.magnitude) +
                                  taps * kDoubleError * (of_a.sum_error + of_b.sum_error);
      const bool both_nan = std::isnan(of_a.value) && std::isnan(of_b.value);
      const bool are_finite = std::isfinite(of_a.value) && std::isfinite(of_b.value);
      const long double off = std::abs(of_a.value - of_b.value);
      if (are_finite ? off <= allowed : both_nan || of_a.value == of_b.value) continue;
      const auto terms = static_cast<double>(std::max(of_a.magnitude, of_b.magnitude));
      if (are_finite && off <= static_cast<long double>(fold_error * terms)) {
        out.near = std::max(out.near, static_cast<double>(off) / ulp(terms, stored_type(*b.bias)));
      } else {
        out.bias.note(static_cast<double>(of_a.value), static_cast<double>(of_b.value));
      }
    }
  }
}

}  // namespace

Recomputed recompute(const Linear& a, const Around& around_a, const Linear& b, const Around& around_b, bool thorough) {
  Recomputed out;
  if (a.weight.type != b.weight.type || a.weight.dims != b.weight.dims) {
    out.obstacle = "the weight " + forms_text(a.weight, b.weight);
    return out;
  }
  if (a.kind != b.kind || a.groups != b.groups) {
    out.obstacle = a.kind != b.kind ? "the operator reads its weight in another way"
                                    : "the operator has " + std::to_string(b.groups) + " groups, had " + std::to_string(a.groups);
    return out;
  }
  for (const Composed* composed : {&around_a.downstream, &around_a.upstream, &around_b.downstream, &around_b.upstream}) {
    if (composed->steps > 0 && !all_finite(*composed)) out.obstacle = "a factor or shift is not finite";
  }
  for (const Composed* composed : {&around_b.downstream, &around_b.upstream}) {
    if (composed->steps > 0 && !divides(*composed)) out.obstacle = "a factor left in the second model is zero";
  }
  const bool shifted_a = around_a.upstream.steps > 0 && shifts(around_a.upstream);
  const bool shifted_b = around_b.upstream.steps > 0 && shifts(around_b.upstream);
  if (!a.takes_shift && (shifted_a || shifted_b) && !same_shifts(around_a.upstream, around_b.upstream, a.weight.type)) {
    out.obstacle = "a shift in front does not reach the padded border";
  }
  if (!out.obstacle.empty()) return out;

  WeightCheck weights(a, around_a, b, around_b);
  if (a.takes_shift) weights.sum_taps(shifted_a, shifted_b);
  weights.run(thorough);
  out.weight = weights.closeness().difference();
  out.near = weights.closeness().near();
  if (out.weight.values == 0) out.obstacle = weights.range_left();
  if (out.obstacle.empty() && (thorough || out.weight.values == 0)) compare_biases(a, around_a, b, around_b, weights, out);
  return out;
}

// Folds that were recomputed before.
namespace {

/// Smaller weights are read again in less time, and in less memory, than it takes to keep their affines.
constexpr int64_t kLeastKept = int64_t{1} << 16U;

}  // namespace

Recomputed KnownFolds::recompute(const Linear& a, const Around& around_a, const Linear& b, const Around& around_b, bool thorough) {
  if (b.weight.data.byte_size() < kLeastKept) return proof::recompute(a, around_a, b, around_b, thorough);
  std::vector<Known>& of_pair = known_[{a.output, b.output}];
  const auto found = std::ranges::find_if(
      of_pair, [&](const Known& known) { return known.thorough == thorough && known.around_a == around_a && known.around_b == around_b; });
  if (found != of_pair.end()) return found->found;
  of_pair.push_back({around_a, around_b, thorough, proof::recompute(a, around_a, b, around_b, thorough)});
  return of_pair.back().found;
}

}  // namespace relayout::proof
