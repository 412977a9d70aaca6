// Reads a weight once, in pieces, and tells whether scaled elements overflow or vanish and what its taps sum up to.

#include <mutex>

#include "base/positions.h"
#include "base/threads.h"
#include "model/float_elements.h"
#include "model/tensor_data.h"
#include "passes/folds/linear_operator.h"
#include "passes/pass.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
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

}  // namespace

std::variant<std::vector<double>, Skip> scan_weight(const LinearOperator& target, const Scale& scale, std::span<const double> shifts,
                                                    int threads) {
  Scanner scanner(target, scale, shifts);
  scanner.run(threads);
  if (auto skip = scanner.verdict()) return std::move(*skip);
  return scanner.sums();
}

}  // namespace relayout::passes
