// Carries an affine past the operators between it and its fold, and tells which of them stop it.

#include "base/positions.h"
#include "model/node.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/op_history.h"
#include "ops/operands.h"
#include "ops/partial_dims.h"
#include "passes/folds/affine.h"
#include "passes/pass.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

std::optional<Dims> shape_of(const Value* value, PassContext& context) {
  return value != nullptr ? context.constants.dims(*value) : std::nullopt;
}

/// Contents of an input of the node that is a constant of integers.
std::optional<std::vector<int64_t>> integers(const Node& node, std::size_t input, PassContext& context) {
  const Value* const value = node.input(input);
  const auto tensor = value != nullptr ? context.constants.value(*value) : std::nullopt;
  if (!tensor || !kIndexTypes.has(tensor->type()) || tensor->rank() > 1) return std::nullopt;
  return truncated_integers_of(*tensor);
}

bool is_zero(const std::vector<int64_t>& values) {
  return std::ranges::all_of(values, [](int64_t value) { return value == 0; });
}

/// Product of dims [begin, end); −1 when one is not known.
int64_t product(const Dims& dims, std::size_t begin, std::size_t end) {
  return product_of(std::span(dims).subspan(begin, end - begin));
}

/// Maps an axis from one side of a Transpose to the other.
std::optional<Axis> transposed(const Node& node, AffineNode& affine, bool is_up, PassContext& /*context*/) {
  const Axis axis = *affine.axis;
  const Dims permutation = Attributes(node).integers("perm");
  if (permutation.empty()) return Axis{axis.index, !axis.from_back};  // all axes in reverse order
  const int64_t at = from_front(axis, static_cast<int64_t>(permutation.size()));
  if (at < 0 || at >= static_cast<int64_t>(permutation.size())) return std::nullopt;
  if (is_up) return Axis{permutation[as_size(at)], false};
  const auto found = std::ranges::find(permutation, at);
  if (found == permutation.end()) return std::nullopt;
  return Axis{found - permutation.begin(), false};
}

/// Maps an axis from one side of a Squeeze or Unsqueeze to the other.
std::optional<Axis> squeezed(const Node& node, AffineNode& affine, bool is_up, PassContext& context) {
  const bool longer_is_input = node.is("Squeeze");
  const auto longer = shape_of(longer_is_input ? node.input(0) : node.output(0), context);
  if (!longer) return std::nullopt;
  const auto rank = static_cast<int64_t>(longer->size());
  std::optional<std::vector<int64_t>> axes;
  if (!argument_is_operand(node.op_type(), node.opset())) {
    axes = Attributes(node).integers("axes");
  } else if (node.input(1) != nullptr) {
    axes = integers(node, 1, context);
    if (!axes) return std::nullopt;
  }
  std::vector<char> is_kept(longer->size(), 1);
  if (axes && !axes->empty()) {
    for (const int64_t given : *axes) {
      const auto at = checked_axis(given, longer->size());
      if (!at) return std::nullopt;
      is_kept[*at] = 0;
    }
  } else {
    // Squeeze without axes removes all dims of 1.
    for (std::size_t i = 0; i < longer->size(); ++i) {
      if ((*longer)[i] < 0) return std::nullopt;
      is_kept[i] = (*longer)[i] != 1 ? 1 : 0;
    }
  }
  const auto shorter = static_cast<int64_t>(std::ranges::count(is_kept, 1));
  const bool from_longer = is_up != longer_is_input;
  const int64_t at = from_front(*affine.axis, from_longer ? rank : shorter);
  int64_t place = 0;
  for (int64_t i = 0; i < rank; ++i) {
    const bool kept = is_kept[as_size(i)] != 0;
    if (from_longer && i == at) return kept ? std::optional(Axis{place, false}) : std::nullopt;
    if (!from_longer && kept && place == at) return Axis{i, false};
    place += kept ? 1 : 0;
  }
  return std::nullopt;
}

/// Dims on both sides of a Reshape or Flatten.
struct Reshaping {
  Dims before, after;         ///< −1: not known
  std::vector<char> is_kept;  ///< per dim of the result: equal to the operand's dim of the same index, even if neither is known
  [[nodiscard]] bool keeps_dims_before(std::size_t axis) const {
    if (axis >= before.size() || axis >= after.size()) return false;
    for (std::size_t i = 0; i < axis; ++i) {
      if (is_kept[i] == 0 && (before[i] < 0 || before[i] != after[i])) return false;
    }
    return true;
  }
};

std::optional<Reshaping> reshaping(const Node& node, PassContext& context) {
  auto before = shape_of(node.input(0), context);
  auto after = shape_of(node.output(0), context);
  if (!before || !after) return std::nullopt;
  Reshaping out{std::move(*before), std::move(*after), {}};
  out.is_kept.assign(out.after.size(), 0);
  const Attributes attributes(node);
  if (traits_of(node).along() == Along::axis) {  // a Flatten
    if (from_front(attributes.integer("axis", 1), std::ssize(out.before)) == 1) out.is_kept[0] = 1;
    return out;
  }
  const auto wanted = node.opset() < 5 ? std::optional(attributes.integers("shape")) : integers(node, 1, context);
  const bool zero_keeps = attributes.integer("allowzero", 0) == 0;
  for (std::size_t i = 0; wanted && i < wanted->size() && i < out.is_kept.size(); ++i) {
    out.is_kept[i] = zero_keeps && (*wanted)[i] == 0 && i < out.before.size() ? 1 : 0;
  }
  // The −1 stands for the operand's dim of the same index if the product of all other dims has not changed.
  const std::size_t open = wanted ? as_size(std::ranges::find(*wanted, -1) - wanted->begin()) : out.before.size();
  if (open < std::min(out.before.size(), out.after.size())) {
    const int64_t before_others = times(product(out.before, 0, open), product(out.before, open + 1, out.before.size()));
    const int64_t after_others = times(product(out.after, 0, open), product(out.after, open + 1, out.after.size()));
    if (before_others > 0 && before_others == after_others) out.is_kept[open] = 1;
  }
  return out;
}

/// The axis of `to` that corresponds to the whole of axis `at` of `from`, which has `length` elements, more than one. Elements keep their
/// order, so it is enough that the dims before the axis, or those after it, have the same product.
std::optional<int64_t> whole_axis(const Reshaping& shapes, const Dims& from, const Dims& to, std::size_t at, int64_t length) {
  if (shapes.keeps_dims_before(at) && to[at] == length) return static_cast<int64_t>(at);
  const int64_t elements_after = product(from, at + 1, from.size());
  const int64_t elements_before = product(from, 0, at);
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] != length) continue;
    const bool same_after = elements_after > 0 && elements_after == product(to, i + 1, to.size());
    const bool same_before = elements_before > 0 && elements_before == product(to, 0, i);
    if (same_after || same_before) return static_cast<int64_t>(i);
  }
  return std::nullopt;
}

/// Maps an axis from one side of a Reshape or Flatten to the other; an affine may become merged.
std::optional<Axis> reshaped(const Node& node, AffineNode& affine, bool is_up, PassContext& context) {
  const auto shapes = reshaping(node, context);
  if (!shapes || affine.is_merged) return std::nullopt;
  const Dims& from = is_up ? shapes->after : shapes->before;
  const Dims& to = is_up ? shapes->before : shapes->after;
  const int64_t length = affine.affine->length();
  const int64_t at = from_front(*affine.axis, static_cast<int64_t>(from.size()));
  if (at < 0 || at >= static_cast<int64_t>(from.size()) || length < 2) return std::nullopt;
  const auto place = as_size(at);
  // The affine is as long as its axis. A constant that could make the data grow is not carried.
  if (!affine.is_sized || (from[place] >= 0 && from[place] != length)) return std::nullopt;
  if (const auto whole = whole_axis(*shapes, from, to, place, length)) return Axis{*whole, false};
  // Down only: channels and all dims after them become the last axis.
  if (is_up || !shapes->keeps_dims_before(place) || place + 1 != to.size()) return std::nullopt;
  affine.is_merged = true;
  return Axis{at, false};
}

/// Paddings per axis, all beginnings before all ends; nothing when they are not constant.
std::optional<std::vector<int64_t>> paddings(const Node& node, std::size_t rank, PassContext& context) {
  const Attributes attributes(node);
  if (node.opset() < 2) return attributes.integers("paddings");
  if (node.opset() < 11) return attributes.integers("pads");
  auto pads = integers(node, 1, context);
  if (!pads || node.input(3) == nullptr) return pads;
  const auto axes = integers(node, 3, context);
  if (!axes || pads->size() != 2 * axes->size()) return std::nullopt;
  std::vector<int64_t> out(2 * rank, 0);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = checked_axis((*axes)[i], rank);
    if (!axis) return std::nullopt;
    out[*axis] = (*pads)[i];
    out[*axis + rank] = (*pads)[axes->size() + i];
  }
  return out;
}

/// The number that a Pad of constants inserts; nothing when it is not constant.
std::optional<double> pad_value(const Node& node, PassContext& context) {
  if (node.opset() < 11) return static_cast<double>(Attributes(node).real("value", 0));
  if (node.input(2) == nullptr) return 0.0;
  const auto tensor = context.constants.value(*node.input(2));
  if (!tensor || tensor->element_count() != 1) return std::nullopt;
  switch (tensor->type()) {
    case DataType::float32:
      return static_cast<double>(*contiguous(*tensor).data<float>());
    case DataType::float64:
      return *contiguous(*tensor).data<double>();
    default:
      return std::nullopt;
  }
}

std::optional<Skip> through_pad(const Node& node, AffineNode& affine, bool /*is_up*/, PassContext& context) {
  const auto dims = shape_of(node.input(0), context);
  const auto pads = dims ? paddings(node, dims->size(), context) : std::nullopt;
  if (affine.axis) {
    const int64_t rank = dims ? static_cast<int64_t>(dims->size()) : -1;
    const int64_t at = from_front(*affine.axis, rank);
    const bool is_whole =
        pads && pads->size() == 2 * dims->size() && at >= 0 && at < rank && (*pads)[as_size(at)] == 0 && (*pads)[as_size(at + rank)] == 0;
    if (!is_whole) return Skip{Reason::channel_axis_moved, node.label()};
  }
  if (Attributes(node).text("mode", "constant") != "constant") return std::nullopt;
  const auto value = pad_value(node, context);
  bool is_same = value.has_value();
  for (std::size_t c = 0; is_same && c < as_size(affine.affine->length()); ++c) is_same = affine.affine->apply(c, *value) == *value;
  return is_same ? std::nullopt : std::optional(Skip{Reason::pads_with_shift, node.label()});
}

/// Whether every output element is a mean of elements, so that a shift of all elements shifts the mean equally.
bool is_mean(const Attributes& attributes) {
  if (attributes.integer("count_include_pad", 0) == 0) return true;
  const std::string padding = attributes.text("auto_pad", "NOTSET");
  return is_zero(attributes.integers("pads")) && (padding == "NOTSET" || padding == "VALID") && attributes.integer("ceil_mode", 0) == 0;
}

std::optional<Skip> through_average(const Node& node, AffineNode& affine, bool /*is_up*/, PassContext& context) {
  if (affine.axis) {
    const auto dims = shape_of(node.input(0), context);
    const int64_t at = from_front(*affine.axis, dims ? static_cast<int64_t>(dims->size()) : -1);
    if (at != 0 && at != 1) return Skip{Reason::channel_axis_moved, node.label()};
  }
  if (!affine.affine->shifts() || is_mean(Attributes(node))) return std::nullopt;
  return Skip{Reason::pads_with_shift, node.label()};
}

using MovedAxis = std::optional<Axis> (*)(const Node& node, AffineNode& affine, bool is_up, PassContext& context);

/// Affines follow their axis. One of length 1 is the same for all elements and needs no axis.
template <MovedAxis kMoved>
std::optional<Skip> with_axis(const Node& node, AffineNode& affine, bool is_up, PassContext& context) {
  affine.misplaced = Reason::channel_axis_moved;
  if (affine.affine->length() == 1) affine.axis.reset();
  if (!affine.axis) return std::nullopt;
  const std::optional<Axis> moved = kMoved(node, affine, is_up, context);
  if (!moved) return Skip{Reason::channel_axis_moved, node.label()};
  affine.axis = moved;
  return std::nullopt;
}

/// Turns an affine of one side of the node into one of the other side, or says why that is impossible.
using Carrier = std::optional<Skip> (*)(const Node& node, AffineNode& affine, bool is_up, PassContext& context);

/// nullptr for an operator that no affine passes.
Carrier carrier_of(const Node& node) {
  if (!node.domain().empty() || node.input(0) == nullptr || node.output(0) == nullptr) return nullptr;
  const Traits traits = traits_of(node);
  if (traits.has(Trait::averages)) return through_average;
  if (node.is("Pad")) return through_pad;
  if (!only_moves_axes(node)) return nullptr;
  if (!traits.has(Trait::keeps_order)) return with_axis<transposed>;
  return traits.along() == Along::axes ? with_axis<squeezed> : with_axis<reshaped>;
}

std::optional<Skip> carry(const Node& node, std::vector<AffineNode>& affines, bool is_up, PassContext& context) {
  if (passes_through(node, context)) return std::nullopt;
  const Carrier carrier = carrier_of(node);
  if (carrier == nullptr || Attributes(node).has_reference()) return Skip{reason_between(node), node.label()};
  for (AffineNode& affine : affines) {
    if (auto skip = carrier(node, affine, is_up, context)) return skip;
  }
  return std::nullopt;
}

}  // namespace

bool passes_through(const Node& node, PassContext& context) {
  if (!has_trait(node, Trait::identity) || node.input(0) == nullptr || node.output(0) == nullptr) return false;
  return !node.is("Dropout") || keeps_all(node, context.constants);
}

bool may_carry(const Node& node) {
  return carrier_of(node) != nullptr;
}

Reason reason_between(const Node& node) {
  if (!node.domain().empty()) return Reason::unknown_op_between;
  if (has_trait(node, Trait::permutes)) return Reason::channel_axis_moved;
  if (has_trait(node, Trait::quantized) || has_trait(node, Trait::quantizes)) return Reason::quantized;
  if (node.is("Pad")) return Reason::pads_with_shift;
  if (node.is("Dropout")) return Reason::training_mode;
  if (node.is("Concat")) return Reason::concat_branch;
  if (arithmetic_of(node) == Arithmetic::add) return Reason::residual;
  return Reason::nonlinear_between;
}

std::optional<Skip> carry_up(const Node& node, std::vector<AffineNode>& affines, PassContext& context) {
  return carry(node, affines, true, context);
}

std::optional<Skip> carry_down(const Node& node, std::vector<AffineNode>& affines, PassContext& context) {
  return carry(node, affines, false, context);
}

std::variant<std::vector<std::vector<AffineNode>>, Skip> cut(const Node& concat, const std::vector<AffineNode>& affines,
                                                             PassContext& context) {
  const Attributes attributes(concat);
  const auto refusal = [&] { return Skip{Reason::concat_branch, concat.label()}; };
  if (attributes.has_reference()) return refusal();
  std::vector<std::vector<AffineNode>> out;
  int64_t begin = 0;
  for (const Value* operand : concat.inputs()) {
    const auto dims = shape_of(operand, context);
    const int64_t rank = dims ? static_cast<int64_t>(dims->size()) : -1;
    const int64_t axis = from_front(attributes.integer("axis", 1), rank);
    const int64_t size = axis >= 0 && axis < rank ? (*dims)[as_size(axis)] : -1;
    std::vector<AffineNode>& branch = out.emplace_back(affines);
    for (AffineNode& affine : branch) {
      if (!affine.axis) continue;
      const int64_t at = from_front(*affine.axis, rank);
      if (rank < 0 || at < 0) return refusal();
      if (at != axis) continue;
      const int64_t length = affine.affine->length();
      // A constant that could make the concatenated tensor grow is not cut.
      if (begin < 0 || size < 0 || begin > length - size || !affine.is_sized) return refusal();
      Affine part = *affine.affine;
      for (std::vector<double>* values : {&part.scale, &part.center, &part.shift}) {
        if (values->size() > 1) *values = std::vector<double>(values->begin() + begin, values->begin() + begin + size);
      }
      affine.affine = std::make_shared<const Affine>(std::move(part));
      affine.misplaced = Reason::channel_axis_moved;
    }
    begin = size < 0 || begin < 0 ? -1 : checked_add(begin, size).value_or(-1);
  }
  return out;
}

}  // namespace relayout::passes
