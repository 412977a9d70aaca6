// Computes the new weight and bias of an operator that takes an affine, or refuses where numbers would suffer.

#include <mutex>

#include "base/positions.h"
#include "base/threads.h"
#include "model/float_elements.h"
#include "model/tensor_data.h"
#include "ops/partial_dims.h"
#include "passes/folds/affine.h"
#include "passes/folds/fold.h"
#include "passes/folds/linear_operator.h"
#include "passes/pass.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {

// A weight read once: whether its scaled elements overflow or vanish, and what its taps sum up to.
namespace {

/// Bytes of weights read at once: they stay in a core's cache between reading and checking.
constexpr int64_t kPieceBytes = int64_t{1} << 17;
/// Threads cost more than they save below this.
constexpr int64_t kSharedBytes = int64_t{4} << 20;

/// Factors by row and column of the weight.
class Factors {
 public:
  Factors(std::size_t row_axis, std::size_t column_axis) : row_axis_(row_axis), column_axis_(column_axis) {}

  /// `scale` is over axes of the stored tensor.
  void add(const Scale& scale) {
    if (scale.rows == 1 && scale.columns == 1) {
      all_ *= scale.factors[0];
    } else if (scale.rows == 1 || scale.columns == 1) {
      const std::size_t axis = scale.rows == 1 ? scale.column_axis : scale.row_axis;
      if (axis != row_axis_ && axis != column_axis_) fail(ErrorKind::defect, "a weight's factors along another axis");
      (axis == row_axis_ ? by_row_ : by_column_).push_back(&scale);
    } else {
      if (std::min(scale.row_axis, scale.column_axis) != std::min(row_axis_, column_axis_) ||
          std::max(scale.row_axis, scale.column_axis) != std::max(row_axis_, column_axis_))
        fail(ErrorKind::defect, "a weight's factors along other axes");
      by_both_.push_back(&scale);
    }
  }
  [[nodiscard]] double at(int64_t row, int64_t column) const {
    double out = all_;
    for (const Scale* scale : by_row_) out *= scale->factors[as_size(row)];
    for (const Scale* scale : by_column_) out *= scale->factors[as_size(column)];
    for (const Scale* scale : by_both_) out *= scale->row_axis == row_axis_ ? scale->at(row, column) : scale->at(column, row);
    return out;
  }
  [[nodiscard]] bool vary_by_row() const { return !by_row_.empty() || !by_both_.empty(); }
  [[nodiscard]] bool vary_by_column() const { return !by_column_.empty() || !by_both_.empty(); }

 private:
  std::size_t row_axis_, column_axis_;
  double all_ = 1;
  std::vector<const Scale*> by_row_, by_column_, by_both_;
};

class Scanner {
 public:
  Scanner(const LinearOperator& target, const Scale& scale, std::span<const double> shifts)
      : weight_(target.weight),
        data_(target.weight.stored.data),
        shifts_(shifts),
        row_axis_(stored_axis(target.weight.row_axis)),
        column_axis_(stored_axis(target.weight.column_axis)),
        scale_(scale),
        before_(row_axis_, column_axis_),
        after_(row_axis_, column_axis_) {
    scale_.row_axis = stored_axis(scale.row_axis);
    scale_.column_axis = stored_axis(scale.column_axis);
    for (const auto& known : data_.scales()) {
      before_.add(*known);
      after_.add(*known);
    }
    after_.add(scale_);
    largest_.resize(as_size(target.outputs));
    if (!shifts.empty()) sums_.assign(as_size(target.outputs), 0.0);
  }

  void run(int threads) {
    const int64_t count = element_count(data_.source_dims());
    if (count == 0) return;
    set_steps();
    const auto size = static_cast<int64_t>(memory_size(data_.type()));
    const int64_t piece = std::max<int64_t>(kPieceBytes / size, 1);
    // Sums are computed in the order of the elements, whatever the number of threads.
    const bool is_shared = shifts_.empty() && count * size >= kSharedBytes;
    const int64_t pieces = (count + piece - 1) / piece;
    const int64_t tasks = is_shared ? std::min<int64_t>(pieces, threads) : 1;
    parallel_for(tasks, threads, [&](int64_t task) {
      const auto buffer = std::make_unique_for_overwrite<std::byte[]>(as_size(std::min(piece, count) * size));
      std::vector<ChannelRange> found(largest_.size());
      for (int64_t i = task * pieces / tasks; i < (task + 1) * pieces / tasks; ++i) {
        const int64_t first = i * piece;
        const int64_t here = std::min(piece, count - first);
        const std::span bytes(buffer.get(), as_size(here * size));
        data_.source().read(first * size, bytes);
        look_at(first, here, bytes, found);
      }
      const std::lock_guard lock(mutex_);
      for (std::size_t c = 0; c < found.size(); ++c) largest_[c].note(found[c]);
    });
  }

  [[nodiscard]] std::optional<Skip> verdict() const {
    const DataType type = data_.type();
    for (std::size_t c = 0; c < largest_.size(); ++c) {
      if (largest_[c].overflows(type)) return Skip{Reason::overflow, "channel " + std::to_string(c)};
    }
    for (std::size_t c = 0; c < largest_.size(); ++c) {
      if (largest_[c].vanishes(type)) return Skip{Reason::underflow, "channel " + std::to_string(c)};
    }
    return std::nullopt;
  }
  [[nodiscard]] std::vector<double> sums() { return std::move(sums_); }

 private:
  [[nodiscard]] std::size_t stored_axis(std::size_t axis) const {
    const Dims& permutation = data_.permutation();
    return axis < permutation.size() ? as_size(permutation[axis]) : axis;
  }

  /// Sets the length of the runs of stored elements that share row and column, where these matter.
  void set_steps() {
    const Dims& dims = data_.source_dims();
    const auto step = [&](std::size_t axis) { return element_count(std::span(dims).subspan(std::min(axis + 1, dims.size()))); };
    row_step_ = step(row_axis_);
    column_step_ = step(column_axis_);
    const bool sums = !shifts_.empty();
    const bool rows_matter = weight_.outputs_in_rows || weight_.groups > 1 || sums || after_.vary_by_row();
    const bool columns_matter = !weight_.outputs_in_rows || sums || after_.vary_by_column();
    run_ = element_count(dims);
    if (rows_matter) run_ = std::min(run_, row_step_);
    if (columns_matter) run_ = std::min(run_, column_step_);
  }

  void look_at(int64_t first, int64_t count, std::span<const std::byte> bytes, std::vector<ChannelRange>& found) {
    if (run_ == 1) return look_at_each(first, count, bytes, found);
    const std::size_t size = memory_size(data_.type());
    for (int64_t done = 0; done < count;) {
      const int64_t at = first + done;
      const int64_t length = std::min(count - done, run_ - at % run_);
      const int64_t row = at / row_step_ % weight_.rows();
      const int64_t column = at / column_step_ % weight_.columns();
      const auto run = bytes.subspan(as_size(done) * size, as_size(length) * size);
      const auto output = as_size(weight_.output_channel(row, column));
      found[output].note(largest_magnitude(data_.type(), run), after_.at(row, column));
      if (!sums_.empty()) {
        const double shift = shift_of(row, column);
        if (shift != 0) sums_[output] += sum_of_elements(data_.type(), run) * before_.at(row, column) * shift;
      }
      done += length;
    }
  }

  /// Does the same where neighbours differ in row or column, without a division for each element.
  void look_at_each(int64_t first, int64_t count, std::span<const std::byte> bytes, std::vector<ChannelRange>& found) {
    std::vector<double> values(as_size(count));
    to_doubles(data_.type(), bytes, values);
    const bool by_column = column_step_ == 1;
    const int64_t inner = by_column ? weight_.columns() : weight_.rows();
    for (int64_t done = 0; done < count;) {
      const int64_t at = first + done;
      const int64_t length = std::min(count - done, inner - at % inner);
      int64_t row = at / row_step_ % weight_.rows();
      int64_t column = at / column_step_ % weight_.columns();
      for (int64_t i = done; i < done + length; ++i) {
        const auto output = as_size(weight_.output_channel(row, column));
        const double value = values[as_size(i)];
        if (std::isfinite(value)) found[output].note(std::fabs(value), after_.at(row, column));
        if (!sums_.empty()) {
          const double shift = shift_of(row, column);
          if (shift != 0) sums_[output] += value * before_.at(row, column) * shift;
        }
        ++(by_column ? column : row);
      }
      done += length;
    }
  }

  [[nodiscard]] double shift_of(int64_t row, int64_t column) const {
    return shifts_[shifts_.size() == 1 ? 0 : as_size(weight_.input_channel(row, column))];
  }

  const LinearWeight& weight_;
  const TensorData& data_;
  std::span<const double> shifts_;
  std::size_t row_axis_, column_axis_;  ///< of the stored tensor
  Scale scale_;
  Factors before_, after_;
  int64_t row_step_ = 1, column_step_ = 1, run_ = 1;
  std::mutex mutex_;
  std::vector<ChannelRange> largest_;
  std::vector<double> sums_;
};

/// Reads the weight once, in pieces, as stored; factors already attached to it are applied in double. A skip when its products with `scale`
/// leave the range of their type in some output channel: `overflow` when a finite weight would become infinite, `underflow` when a channel
/// whose largest weight was normal would be left with subnormal ones or zeros by factors that are not zero. With `shifts` (t of each input
/// channel, or one for all) it returns Σ W·t per output channel, over the weight before `scale`; without, nothing.
std::variant<std::vector<double>, Skip> scan_weight(const LinearOperator& target, const Scale& scale, std::span<const double> shifts,
                                                    int threads) {
  Scanner scanner(target, scale, shifts);
  scanner.run(threads);
  if (auto skip = scanner.verdict()) return std::move(*skip);
  return scanner.sums();
}

}  // namespace

// The new weight and bias.
namespace {

/// The channels that affines must match.
struct Channels {
  Axis axis;
  int64_t count, rank;
};

/// Expands an affine to one number per channel (or one for all), or says why it does not fit the channels.
std::optional<Skip> fit(AffineNode& affine, const Channels& channels, const LinearOperator& target) {
  if (!affine.axis) return std::nullopt;
  const bool needs_rank = channels.rank < 0 && affine.axis->from_back != channels.axis.from_back;
  if (needs_rank) return Skip{Reason::rank_unknown, target.node->label()};
  if (!is_same(*affine.axis, channels.axis, channels.rank)) return Skip{affine.misplaced, affine.node->label()};
  const int64_t length = affine.affine->length();
  if (affine.is_merged) {
    if (length == 0 || channels.count % length != 0) return Skip{Reason::channel_axis_moved, affine.node->label()};
    const auto each = as_size(channels.count / length);
    Affine spread = *affine.affine;
    for (std::vector<double>* values : {&spread.scale, &spread.center, &spread.shift}) {
      if (values->size() == 1) continue;
      std::vector<double> repeated;
      for (const double value : *values) repeated.insert(repeated.end(), each, value);
      *values = std::move(repeated);
    }
    affine.affine = std::make_shared<const Affine>(std::move(spread));
  } else if (length != channels.count) {
    if (!affine.node->is("BatchNormalization")) return Skip{affine.misplaced, affine.node->label()};
    fail(ErrorKind::invalid, affine.node->label() + " has " + std::to_string(length) + " channels, " + target.node->label() +
                                 " beside it has " + std::to_string(channels.count));
  }
  return std::nullopt;
}

std::optional<Skip> fit_all(std::vector<AffineNode>& affines, const Channels& channels, const LinearOperator& target) {
  Obstacles obstacles;
  for (AffineNode& affine : affines) {
    if (auto skip = fit(affine, channels, target)) obstacles.note(std::move(*skip));
  }
  return obstacles.any() ? std::optional(obstacles.first()) : std::nullopt;
}

/// An Add or Sub of a constant so large that it rounds its other operand: 12582912 rounds a float32 to whole numbers and takes more than
/// half of its digits. A fold in real arithmetic would drop that rounding, which the model intends. Values are assumed to be of size 1
/// upstream of the affines and downstream of a BatchNormalization, and to grow by factors.
std::optional<Skip> rounding_shift(const std::vector<AffineNode>& affines, DataType type) {
  const double largest = 4 * std::sqrt(2 / spacing_at(type, 1));
  double unit = 1;
  for (const AffineNode& affine : affines) {
    if (affine.node->is("BatchNormalization")) {
      unit = 1;
      continue;
    }
    double factor = 0, shift = 0;
    for (std::size_t c = 0; c < as_size(affine.affine->length()); ++c) {
      factor = std::max(factor, std::fabs(affine.affine->scale_at(c)));
      shift = std::max(shift, std::fabs(affine.affine->shift_at(c)) + std::fabs(affine.affine->scale_at(c) * affine.affine->center_at(c)));
    }
    unit = std::max(1.0, unit * factor);
    if (std::isfinite(shift) && shift > largest * unit) return Skip{Reason::not_affine, affine.node->label() + " rounds its operand"};
  }
  return std::nullopt;
}

/// The product of all scales: one per channel, or one for all.
std::vector<double> composed_scale(const std::vector<AffineNode>& affines, int64_t channels) {
  const bool varies = std::ranges::any_of(affines, [](const AffineNode& affine) { return affine.affine->scale.size() != 1; });
  std::vector<double> out(varies ? as_size(channels) : 1, 1.0);
  for (const AffineNode& affine : affines) {
    for (std::size_t c = 0; c < out.size(); ++c) out[c] *= affine.affine->scale_at(c);
  }
  return out;
}

/// A composed shift and the magnitude of its terms. It counts as zero if it is only their rounding: β − a·μ where β was computed as a·μ and
/// rounded.
struct Shift {
  double value = 0, magnitude = 0;
  [[nodiscard]] bool is_nothing(DataType type) const { return value == 0 || std::fabs(value) <= spacing_at(type, magnitude); }
};

Shift composed_shift(const std::vector<AffineNode>& affines, std::size_t channel) {
  Shift out;
  for (const AffineNode& affine : affines) {
    const Affine& one = *affine.affine;
    out.magnitude =
        std::fabs(one.scale_at(channel)) * (out.magnitude + std::fabs(one.center_at(channel))) + std::fabs(one.shift_at(channel));
    out.value = one.apply(channel, out.value);
  }
  return out;
}

/// Whether the weight is a stack of matrices: Σ W·t is over one matrix, and each of several would need a bias of its own.
bool is_stack(const LinearOperator& target) {
  const LinearWeight& weight = target.weight;
  int64_t matrices = 1;
  for (std::size_t i = 0; i < std::min(weight.row_axis, weight.column_axis); ++i) matrices *= weight.stored.dims[i];
  return target.node->is("MatMul") && matrices != 1;
}

bool is_one(const std::vector<double>& factors) {
  return std::ranges::all_of(factors, [](double factor) { return factor == 1; });
}

std::string channel_text(const char* what, std::size_t index, const LinearOperator& target) {
  return what + std::to_string(index % as_size(std::max<int64_t>(target.outputs, 1)));
}

/// Puts the new bias into `out` if it differs from the old one, or says why it cannot be stored.
std::optional<Skip> set_bias(Absorption& out, std::vector<double> bias) {
  const LinearOperator& target = out.target;
  Obstacles obstacles;
  for (std::size_t i = 0; i < bias.size(); ++i) {
    if (!std::isfinite(bias[i])) obstacles.note(Reason::non_finite, channel_text("channel ", i, target));
    if (std::isinf(rounded(target.weight.stored.type, bias[i])))
      obstacles.note(Reason::overflow, channel_text("bias of channel ", i, target));
  }
  if (obstacles.any()) return obstacles.first();
  const bool is_needed = target.bias.stored || std::ranges::any_of(bias, [](double b) { return b != 0; });
  if (!is_needed || bias == target.bias.values) return std::nullopt;
  out.bias = from_doubles(target.weight.stored.type, target.bias_dims(), bias);
  out.exact = std::move(bias);
  return std::nullopt;
}

std::optional<Skip> non_finite_factor(const std::vector<double>& factors) {
  for (std::size_t c = 0; c < factors.size(); ++c) {
    if (!std::isfinite(factors[c])) return Skip{Reason::non_finite, "channel " + std::to_string(c)};
  }
  return std::nullopt;
}

/// Whether the range check of the scaled weight is left to the code that reads the weight anyway, so that the weight is read only once.
bool is_assumed(const LinearOperator& target, const Scale& scale, const PassContext& context) {
  return context.assume_ranges && target.weight.outputs_in_rows && target.weight.row_axis == 0 &&
         target.weight.stored.data.can_assume(scale);
}

/// Puts the scale into `out`; returns Σ W·t when there are shifts.
std::variant<std::vector<double>, Skip> set_scale(Absorption& out, Scale scale, std::span<const double> shifts, PassContext& context) {
  const bool changes = !is_one(scale.factors);
  if (!changes && shifts.empty()) return std::vector<double>();
  if (shifts.empty() && is_assumed(out.target, scale, context)) {
    scale.is_assumed = true;
    out.scale = std::move(scale);
    return std::vector<double>();
  }
  auto sums = scan_weight(out.target, scale, shifts, context.options.threads);
  if (changes && std::holds_alternative<std::vector<double>>(sums)) out.scale = std::move(scale);
  return sums;
}

/// For an operator upstream of the affines: applies them to its weight and bias.
std::optional<Skip> take_into_upstream(Absorption& out, std::vector<AffineNode> affines, PassContext& context) {
  const LinearOperator& target = out.target;
  if (auto skip = fit_all(affines, {target.output_axis, target.outputs, target.rank}, target)) return skip;

  if (auto skip = rounding_shift(affines, target.weight.stored.type)) return skip;
  const std::vector<double> factors = composed_scale(affines, target.outputs);
  std::vector<double> bias = target.bias.values;
  for (const AffineNode& affine : affines) {
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = affine.affine->apply(i % as_size(target.outputs), bias[i]);
  }
  if (auto skip = non_finite_factor(factors)) return skip;
  if (const AffineNode* const guard = lost_guard(affines, bias, as_size(target.outputs), target.weight.stored.type, context)) {
    return Skip{Reason::guard_lost, guard->node->label()};
  }
  if (auto skip = set_bias(out, std::move(bias))) return skip;
  auto scanned = set_scale(out, target.weight.over_outputs(factors), {}, context);
  if (auto* const skip = std::get_if<Skip>(&scanned)) return std::move(*skip);
  return std::nullopt;
}

/// For an operator downstream of the affines: its weight absorbs their factors, its bias Σ W·t of their shifts.
std::optional<Skip> take_into_downstream(Absorption& out, std::vector<AffineNode> affines, PassContext& context) {
  const LinearOperator& target = out.target;
  Obstacles obstacles;
  for (const AffineNode& affine : affines) {
    if (affine.axis && !affine.is_sized) obstacles.note(Reason::broadcast_grows, affine.node->label());
  }
  if (auto skip = fit_all(affines, {target.input_axis, target.inputs, target.data_rank}, target)) obstacles.note(std::move(*skip));
  if (auto skip = rounding_shift(affines, target.weight.stored.type)) obstacles.note(std::move(*skip));
  if (obstacles.any()) return obstacles.first();

  const std::vector<double> factors = composed_scale(affines, target.inputs);
  if (auto skip = non_finite_factor(factors)) return skip;
  const bool varies = std::ranges::any_of(affines, [](const AffineNode& affine) { return affine.affine->length() != 1; });
  std::vector<double> shifts;
  bool is_shifted = false;
  for (std::size_t c = 0; c < (varies ? as_size(target.inputs) : 1); ++c) {
    const Shift shift = composed_shift(affines, c);
    const bool is_noise = !target.takes_shift && shift.is_nothing(target.weight.stored.type);
    shifts.push_back(is_noise ? 0 : shift.value);
    is_shifted = is_shifted || shifts.back() != 0;
  }
  if (is_shifted && !target.takes_shift) return Skip{Reason::pads_with_shift, target.node->label()};
  if (is_shifted && is_stack(target)) return Skip{Reason::not_per_channel, target.node->label() + " has a stack of weights"};
  if (!is_shifted) shifts.clear();
  auto sums = set_scale(out, target.weight.over_inputs(factors), shifts, context);
  if (auto* const skip = std::get_if<Skip>(&sums)) return std::move(*skip);
  if (!is_shifted) return std::nullopt;
  std::vector<double> bias = target.bias.values;
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] += target.alpha * std::get<0>(sums)[i % as_size(target.outputs)];
  return set_bias(out, std::move(bias));
}

using Take = std::optional<Skip> (*)(Absorption& out, std::vector<AffineNode> affines, PassContext& context);

/// An obstacle in the operator itself is reported before one in the affines; nothing else distinguishes the two Skips of a branch.
std::variant<Absorption, Skip> absorb(const Branch& branch, PassContext& context, Take take) {
  auto target = linear_operator(*branch.target, context);
  if (auto* const skip = std::get_if<Skip>(&target)) return std::move(*skip);
  Absorption out{std::get<LinearOperator>(std::move(target)), {}, {}, {}};
  if (auto skip = take(out, branch.affines, context)) return std::move(*skip);
  return out;
}

}  // namespace

std::variant<Absorption, Skip> absorb_into_upstream(const Branch& branch, PassContext& context) {
  return absorb(branch, context, take_into_upstream);
}

std::variant<Absorption, Skip> absorb_into_downstream(const Branch& branch, PassContext& context) {
  return absorb(branch, context, take_into_downstream);
}

}  // namespace relayout::passes
