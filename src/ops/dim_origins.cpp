// Follows a dim, or an element of a list of dims, from an output to the operand that it comes from.
#include "ops/dim_origins.h"

#include "base/positions.h"
#include "ops/call.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/op_history.h"
#include "ops/operands.h"
#include "ops/partial_dims.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

using Origin = std::optional<DimOrigin>;

/// One node, and what is known of its operands.
struct AskedNode {
  const OpCall& call;
  const Op& op;
  PartialOperands& operands;
  std::size_t output;

  [[nodiscard]] bool is(std::string_view name) const { return op.name == name; }
  [[nodiscard]] int64_t rank(std::size_t input) const {
    const PartialDims dims = operands.has(input) ? operands.dims(input) : std::nullopt;
    return dims ? std::ssize(*dims) : -1;
  }
  /// Integers of an operand that are all certain; nothing for others.
  [[nodiscard]] std::optional<std::vector<int64_t>> integers(std::size_t input) const {
    const auto contents = operands.has(input) ? operands.contents(input) : std::nullopt;
    if (!contents || !contents->is_complete() || !kIndexTypes.has(contents->values.type())) return std::nullopt;
    return truncated_integers_of(contents->values);
  }
  /// The attribute `axis`, counted from the front of input 0.
  [[nodiscard]] std::optional<int64_t> axis(int64_t otherwise) const {
    const int64_t of_data = rank(0);
    const auto found = of_data < 0 ? std::nullopt : checked_axis(call.attributes.integer("axis", otherwise), as_size(of_data));
    return found ? std::optional(static_cast<int64_t>(*found)) : std::nullopt;
  }
  /// Axes that Squeeze, Unsqueeze, a reduction or a Slice names, counted from the front of a value of this rank.
  [[nodiscard]] std::optional<std::vector<int64_t>> named(std::optional<std::vector<int64_t>> axes, int64_t of_rank) const {
    if (!axes || of_rank < 0) return std::nullopt;
    for (int64_t& one : *axes) {
      const auto place = checked_axis(one, as_size(of_rank));
      if (!place) return std::nullopt;
      one = static_cast<int64_t>(*place);
    }
    return axes;
  }
};

bool is_among(const std::vector<int64_t>& axes, int64_t axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

/// The only operand that may be longer than 1 along an axis: the others are certainly 1, or have no such axis.
Origin origin_in_broadcast(const AskedNode& node, int64_t axis, int64_t rank, std::size_t operands) {
  Origin out;
  for (std::size_t i = 0; i < operands; ++i) {
    const PartialDims dims = node.operands.has(i) ? node.operands.dims(i) : std::nullopt;
    if (!dims) return std::nullopt;
    const int64_t own = axis - (rank - std::ssize(*dims));
    if (own >= std::ssize(*dims)) return std::nullopt;
    if (own < 0 || element_at(*dims, own) == 1) continue;
    if (out) return std::nullopt;
    out = DimOrigin{i, own};
  }
  return out;
}

Origin origin_in_matmul(const AskedNode& node, int64_t axis) {
  const int64_t of_a = node.rank(0), of_b = node.rank(1), rank = std::max(of_a, of_b);
  if (of_a < 2 || of_b < 2) return std::nullopt;
  if (axis == rank - 1) return DimOrigin{1, of_b - 1};
  return axis == rank - 2 ? Origin(DimOrigin{0, of_a - 2}) : origin_in_broadcast(node, axis, rank, 2);
}

Origin origin_in_gather(const AskedNode& node, int64_t axis) {
  const auto along = node.axis(0);
  const int64_t added = node.rank(1);
  if (!along || added < 0) return std::nullopt;
  if (axis < *along) return DimOrigin{0, axis};
  return axis < *along + added ? DimOrigin{1, axis - *along} : DimOrigin{0, axis - added + 1};
}

/// Squeeze and Unsqueeze keep all other axes in their order.
Origin origin_in_squeeze(const AskedNode& node, int64_t axis) {
  const bool adds = node.is("Unsqueeze");
  const PartialDims longest = adds ? partial_dims(node.call, 0, node.operands) : node.operands.dims(0);
  const auto given =
      argument_is_operand(node.op.name, node.call.opset) ? node.integers(1) : std::optional(node.call.attributes.integers("axes"));
  const auto axes = node.named(given, longest ? std::ssize(*longest) : -1);
  if (!axes || axes->empty()) return std::nullopt;
  int64_t shorter = 0;
  for (int64_t longer = 0; longer < std::ssize(*longest); ++longer) {
    const bool is_kept = !is_among(*axes, longer);
    if (adds && longer == axis) return is_kept ? Origin(DimOrigin{0, shorter}) : std::nullopt;
    if (!adds && is_kept && shorter == axis) return DimOrigin{0, longer};
    shorter += is_kept ? 1 : 0;
  }
  return std::nullopt;
}

/// Slices keep the axes that they do not name.
Origin origin_in_slice(const AskedNode& node, int64_t axis) {
  constexpr int kListsAsOperands = 10;
  constexpr std::size_t kAxes = 3;
  if (node.call.opset < kListsAsOperands || !node.operands.has(kAxes)) return std::nullopt;
  const auto axes = node.named(node.integers(kAxes), node.rank(0));
  return axes && !is_among(*axes, axis) ? Origin(DimOrigin{0, axis}) : std::nullopt;
}

/// A 0 in the request of a Reshape copies a dim.
Origin origin_in_reshape(const AskedNode& node, int64_t axis) {
  const auto contents =
      node.operands.has(1) && node.call.attributes.integer("allowzero", 0) == 0 ? node.operands.contents(1) : std::nullopt;
  if (!contents || contents->values.type() != DataType::int64 || axis >= std::ssize(contents->certain)) return std::nullopt;
  const bool is_copied = contents->certain[as_size(axis)] && element_at(contents->values.data<int64_t>(), axis) == 0;
  return is_copied ? Origin(DimOrigin{0, axis}) : std::nullopt;
}

Origin origin_in_recurrent(const AskedNode& node, int64_t axis) {
  if (node.call.attributes.integer("layout", 0) != 0) return std::nullopt;
  if (node.output > 0) return axis == 1 ? Origin(DimOrigin{0, 1}) : std::nullopt;
  if (axis == 0) return DimOrigin{0, 0};
  return axis == 2 ? Origin(DimOrigin{0, 1}) : std::nullopt;
}

Origin origin_in(const AskedNode& node, int64_t axis) {
  const auto same = [&] { return DimOrigin{0, axis}; };
  if (node.op.traits.has(Trait::recurrent)) return origin_in_recurrent(node, axis);
  if (node.is("Split")) {
    const auto along = node.axis(0);
    return along && *along != axis ? Origin(same()) : std::nullopt;
  }
  if (node.output != 0 || node.op.body != nullptr) return std::nullopt;
  if (node.op.traits.has(Trait::same_dims)) return same();
  if (node.op.traits.has(Trait::broadcasts)) {
    const PartialDims dims = partial_dims(node.call, 0, node.operands);
    if (!dims || node.call.opset < kNumpyOpset) return std::nullopt;
    return origin_in_broadcast(node, axis, std::ssize(*dims), node.call.node.inputs().size());
  }
  if (node.is("MatMul") || node.is("MatMulInteger")) return origin_in_matmul(node, axis);
  if (node.is("Gather")) return origin_in_gather(node, axis);
  if (node.is("Squeeze") || node.is("Unsqueeze")) return origin_in_squeeze(node, axis);
  if (node.is("Slice")) return origin_in_slice(node, axis);
  if (node.is("Reshape")) return origin_in_reshape(node, axis);
  if (node.is("Concat")) {
    const auto along = node.axis(1);
    return along && *along != axis ? Origin(same()) : std::nullopt;
  }
  if (node.is("Gemm")) {
    const bool is_turned = node.call.attributes.integer(axis == 0 ? "transA" : "transB", 0) != 0;
    return axis == 0 ? DimOrigin{0, is_turned ? 1 : 0} : DimOrigin{1, is_turned ? 0 : 1};
  }
  if (node.is("Transpose")) {
    const Dims permutation = node.call.attributes.integers("perm");
    return axis < std::ssize(permutation) ? Origin(DimOrigin{0, element_at(permutation, axis)}) : std::nullopt;
  }
  const bool has_batch = node.is("Conv") || node.is("ConvTranspose") || node.op.traits.has(Trait::pools);
  return has_batch && axis == 0 ? Origin(same()) : std::nullopt;
}

}  // namespace

std::optional<DimOrigin> origin_of_dim(const OpCall& call, std::size_t output, int64_t axis, PartialOperands& operands) {
  const Op* const op = find_kernel(call.node);
  if (op == nullptr || call.opset <= 0 || axis < 0 || call.attributes.has_reference()) return std::nullopt;
  try {
    const AskedNode node{call, *op, operands, output};
    const Origin from = origin_in(node, axis);
    // An operand that does not fit its node may have fewer axes.
    const int64_t rank = from ? node.rank(from->input) : -1;
    return rank >= 0 && from->axis >= rank ? std::nullopt : from;
  } catch (const Error&) {
    return std::nullopt;  // other code reports attributes of a wrong type
  }
}

// Elements of lists.
namespace {

/// Of a list along its only axis.
Origin sliced_element(const AskedNode& node, int64_t place) {
  constexpr std::size_t kStarts = 1, kSteps = 4;
  const auto starts = node.integers(kStarts), steps = node.operands.has(kSteps) ? node.integers(kSteps) : std::vector<int64_t>{1};
  const PartialDims dims = node.operands.dims(0);
  if (!starts || !steps || !dims || dims->size() != 1 || starts->size() != 1 || *steps != std::vector<int64_t>{1}) return std::nullopt;
  const int64_t size = dims->front(), start = starts->front();
  if (start >= 0) return DimOrigin{0, start + place};
  return size < 0 ? std::nullopt : Origin(DimOrigin{0, std::max<int64_t>(start + size, 0) + place});
}

Origin gathered_element(const AskedNode& node, int64_t place) {
  const auto indices = node.integers(1);
  const PartialDims dims = node.operands.dims(0);
  if (!indices || !dims || dims->size() != 1 || place >= std::ssize(*indices)) return std::nullopt;
  const int64_t index = element_at(*indices, place);
  if (index >= 0) return DimOrigin{0, index};
  return dims->front() < 0 ? std::nullopt : Origin(DimOrigin{0, index + dims->front()});
}

Origin joined_element(const AskedNode& node, int64_t place) {
  for (std::size_t i = 0; i < node.call.node.inputs().size(); ++i) {
    const PartialDims dims = node.operands.has(i) ? node.operands.dims(i) : std::nullopt;
    if (!dims || dims->size() != 1 || dims->front() < 0) return std::nullopt;
    if (place < dims->front()) return DimOrigin{i, place};
    place -= dims->front();
  }
  return std::nullopt;
}

}  // namespace

std::optional<DimOrigin> origin_of_element(const OpCall& call, std::size_t output, int64_t place, PartialOperands& operands) {
  constexpr int kListsAsOperands = 10;
  const Op* const op = find_kernel(call.node);
  if (op == nullptr || output != 0 || call.opset <= 0 || call.attributes.has_reference()) return std::nullopt;
  const AskedNode node{call, *op, operands, output};
  try {
    if (node.is("Slice") && call.opset >= kListsAsOperands) return sliced_element(node, place);
    if (node.is("Gather")) return gathered_element(node, place);
    if (node.is("Concat")) return joined_element(node, place);
    return op->traits.has(Trait::keeps_order) && op->body == nullptr ? Origin(DimOrigin{0, place}) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace relayout
