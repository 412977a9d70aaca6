#include "passes/linear_operator.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "base/threads.h"
#include "model/attributes.h"
#include "model/tensor_data.h"
#include "passes/numbers.h"
#include "passes/pass.h"
#include "passes/skips.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr int64_t kBlockBytes = int64_t{1} << 20;  ///< of weights read at once while scanning

[[noreturn]] void invalid(const std::string& what) {
  fail(ErrorKind::invalid, what);
}

/// Largest finite |w| and |w · factor| per output channel.
class RangeScan {
 public:
  RangeScan(const LinearOperator& target, const Scale& scale)
      : target_(target), scale_(scale), type_(target.weight.type), dims_(target.weight.dims) {
    found_.resize(static_cast<std::size_t>(target.channels));
  }

  void run(int threads) {
    if (element_count(dims_) == 0) return;
    row_bytes_ = target_.weight.data.byte_size() / dims_[0];
    const int64_t rows = std::max<int64_t>(1, kBlockBytes / row_bytes_);
    const int64_t blocks = (dims_[0] + rows - 1) / rows;
    parallel_for(blocks, threads, [&](int64_t block) { scan_rows(block * rows, std::min(rows, dims_[0] - block * rows)); });
  }

  [[nodiscard]] std::optional<Skip> verdict() const {
    Obstacles obstacles;
    for (std::size_t c = 0; c < found_.size() && !obstacles.any(); ++c) {
      if (std::isinf(rounded(type_, found_[c].product))) obstacles.note(Reason::overflow, "channel " + std::to_string(c));
    }
    for (std::size_t c = 0; c < found_.size() && !obstacles.any(); ++c) {
      const auto [magnitude, product] = found_[c];
      const bool vanishes = magnitude >= smallest_normal(type_) && product != 0 && rounded(type_, product) < smallest_normal(type_);
      if (vanishes) obstacles.note(Reason::underflow, "channel " + std::to_string(c));
    }
    if (!obstacles.any()) return std::nullopt;
    return obstacles.first();
  }

 private:
  struct Largest {
    double magnitude = 0, product = 0;

    void note(double magnitude_of_cell, double factor) {
      magnitude = std::max(magnitude, magnitude_of_cell);
      product = std::max(product, magnitude_of_cell * std::fabs(factor));
    }
  };

  void scan_rows(int64_t begin, int64_t count) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(row_bytes_ * count));
    target_.weight.data.read_rows(begin, count, bytes);
    if (!target_.transposed && scale_.columns == 1) {
      for (int64_t i = 0; i < count; ++i) scan_cell(begin + i, 0, i * row_bytes_, row_bytes_, bytes, found_);
      return;
    }
    const int64_t cell_bytes = row_bytes_ / dims_[1];
    std::vector<Largest> found(found_.size());
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < dims_[1]; ++j) scan_cell(begin + i, j, i * row_bytes_ + j * cell_bytes, cell_bytes, bytes, found);
    }
    const std::lock_guard lock(mutex_);
    for (std::size_t c = 0; c < found.size(); ++c) {
      found_[c].magnitude = std::max(found_[c].magnitude, found[c].magnitude);
      found_[c].product = std::max(found_[c].product, found[c].product);
    }
  }

  void scan_cell(int64_t i, int64_t j, int64_t offset, int64_t size, std::span<const std::byte> bytes, std::vector<Largest>& found) const {
    const double magnitude = largest_magnitude(type_, bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size)));
    found[static_cast<std::size_t>(output_channel(target_, i, j))].note(magnitude, scale_.at(i, j));
  }

  const LinearOperator& target_;
  const Scale& scale_;
  DataType type_;
  const Dims& dims_;
  int64_t row_bytes_ = 0;
  std::mutex mutex_;
  std::vector<Largest> found_;
};

/// The constant behind input `index`, noting why it is none.
std::optional<Constant> constant_operand(const Node& node, std::size_t index, std::string_view what, PassContext& context,
                                         Obstacles& obstacles) {
  const Value& value = *node.input(index);
  auto found = context.constants.find(value);
  if (const auto* const reason = std::get_if<Reason>(&found)) {
    obstacles.note(*reason, std::string(what) + " " + quote(value.name()));
    return std::nullopt;
  }
  return std::get<Constant>(std::move(found));
}

}  // namespace

bool is_convolution(const Node& node) {
  return node.is("Conv") || node.is("ConvTranspose");
}

std::variant<LinearOperator, Skip> linear_operator(Node& node, PassContext& context) {
  Obstacles obstacles;
  const Attributes attributes(node);
  if (attributes.has_reference())
    return Skip{Reason::not_constant, "an attribute of " + node.label() + " is given by the caller of the function"};
  if (node.input(1) == nullptr) invalid(node.label() + " has no weight");
  LinearOperator out{&node, node.is("ConvTranspose"), {}, {}, attributes.integer("group", 1), 0};
  auto weight = constant_operand(node, 1, "weight", context, obstacles);
  if (node.input(2) != nullptr) out.bias = constant_operand(node, 2, "bias", context, obstacles);
  if (weight && !is_scalable(weight->type))
    obstacles.note(Reason::quantized, "weight " + quote(node.input(1)->name()) + " is of type " + std::string(name_of(weight->type)));
  if (obstacles.any()) return obstacles.first();
  out.weight = std::move(*weight);
  const Dims& dims = out.weight.dims;
  if (dims.size() < 3) invalid("weight " + quote(node.input(1)->name()) + " of " + node.label() + " has dims " + to_string(dims));
  if (out.groups < 1 || dims[0] % out.groups != 0)
    invalid(node.label() + " has " + std::to_string(out.groups) + " groups for a weight of dims " + to_string(dims));
  const auto channels = out.transposed ? checked_mul(dims[1], out.groups) : std::optional(dims[0]);
  if (!channels) invalid(node.label() + " has too many groups");
  out.channels = *channels;
  if (out.bias && (out.bias->dims != Dims{out.channels} || !is_scalable(out.bias->type))) {
    invalid("bias " + quote(node.input(2)->name()) + " of " + node.label() + " has dims " + to_string(out.bias->dims) + " for " +
            std::to_string(out.channels) + " channels");
  }
  return out;
}

int64_t output_channel(const LinearOperator& target, int64_t i, int64_t j) {
  if (!target.transposed) return i;
  const int64_t inputs_per_group = target.weight.dims[0] / target.groups;
  return i / inputs_per_group * target.weight.dims[1] + j;
}

Scale over_outputs(const LinearOperator& target, std::span<const double> factors) {
  if (!target.transposed) return {target.channels, 1, {factors.begin(), factors.end()}};
  if (target.groups == 1) return {1, target.channels, {factors.begin(), factors.end()}};
  Scale out{target.weight.dims[0], target.weight.dims[1], {}};
  out.factors.reserve(static_cast<std::size_t>(out.rows * out.columns));
  for (int64_t i = 0; i < out.rows; ++i) {
    for (int64_t j = 0; j < out.columns; ++j) out.factors.push_back(factors[static_cast<std::size_t>(output_channel(target, i, j))]);
  }
  return out;
}

std::optional<Skip> leaves_range(const LinearOperator& target, const Scale& scale, int threads) {
  RangeScan scan(target, scale);
  scan.run(threads);
  return scan.verdict();
}

}  // namespace relayout
