// Tells for each operator which dims of its result are certain when its operands are known in part; otherwise its own Infer answers.
#include "ops/partial_dims.h"

#include "base/positions.h"
#include "ops/body.h"
#include "ops/call.h"
#include "ops/constants.h"
#include "ops/einsum.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/op_history.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr int64_t kShapeInputOpset = 5;  ///< of Reshape
/// A stand-in for an unknown dim of an operand whose axes are independent: large enough for windows, and small enough for the product of a
/// few.
constexpr int64_t kAnySize = 4096;

int64_t size_at(const PartialDims& dims, std::size_t axis) {
  return dims && axis < dims->size() ? (*dims)[axis] : -1;
}

bool is_certain(const Dims& dims) {
  return std::ranges::none_of(dims, [](int64_t dim) { return dim < 0; });
}

PartialDims all_unknown(const PartialDims& dims) {
  return dims ? PartialDims(Dims(dims->size(), -1)) : std::nullopt;
}

/// A size that is not 1 decides; an unknown one may be 1 or that size.
int64_t broadcast_dim(int64_t a, int64_t b) {
  if (a == 1) return b;
  return b != 1 && a < 0 ? b : a;
}

/// All axes but the last `kept` broadcast to each other, aligned at the end.
void broadcast_into(Dims& out, const Dims& dims, std::size_t kept) {
  if (dims.size() > out.size()) out.insert(out.begin(), dims.size() - out.size(), 1);
  for (std::size_t i = kept; i < dims.size(); ++i) {
    int64_t& dim = out[out.size() - 1 - i];
    dim = broadcast_dim(dim, dims[dims.size() - 1 - i]);
  }
}

/// One node with operands that may be known in part.
struct Question {
  const OpCall& call;
  const Op& op;
  PartialOperands& operands;

  [[nodiscard]] bool is(std::string_view name) const { return op.name == name; }
  [[nodiscard]] PartialDims dims(std::size_t input) const { return operands.dims(input); }

  /// The dims that the operator's own Infer gives when all dims are certain; `first`, if given, replaces the dims of input 0.
  [[nodiscard]] PartialDims inferred(std::size_t output, const PartialDims& first) const {
    const std::size_t count = call.node.inputs().size();
    KnownInfos infos(count);
    std::vector<Tensor> contents(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (!operands.has(i)) continue;
      PartialDims dims = i == 0 && first ? first : operands.dims(i);
      if (!dims || !is_certain(*dims)) return std::nullopt;
      if (element_count(*dims) <= kMostContents) contents[i] = whole_contents(i).value_or(Tensor());
      infos.set(i, {Datum::Kind::tensor, operands.type(i), std::move(*dims), {}, contents[i] ? &contents[i] : nullptr});
    }
    try {
      const auto found = op.infer(call, infos.get());
      if (!found || found->size() <= output || (*found)[output].kind != Datum::Kind::tensor) return std::nullopt;
      return (*found)[output].dims;
    } catch (const Error&) {
      return std::nullopt;  // other code reports operands that do not fit
    }
  }

  /// Contents whose elements are all certain.
  [[nodiscard]] std::optional<Tensor> whole_contents(std::size_t input) const {
    const auto contents = operands.contents(input);
    return contents && contents->is_complete() ? std::optional(contents->values) : std::nullopt;
  }

  /// Elements of an integer operand, each where it is certain.
  [[nodiscard]] std::optional<std::vector<std::optional<int64_t>>> partial_integers(std::size_t input) const {
    const PartialDims dims = operands.has(input) ? operands.dims(input) : std::nullopt;
    if (!dims || !is_certain(*dims) || element_count(*dims) > kMostContents) return std::nullopt;
    const auto contents = operands.contents(input);
    if (!contents || !kIndexTypes.has(contents->values.type()) || contents->values.rank() > 1) return std::nullopt;
    const std::vector<int64_t> integers = truncated_integers_of(contents->values);
    std::vector<std::optional<int64_t>> out;
    for (std::size_t i = 0; i < integers.size(); ++i) out.push_back(contents->certain[i] ? std::optional(integers[i]) : std::nullopt);
    return out;
  }

  [[nodiscard]] std::optional<std::vector<int64_t>> integers(std::size_t input) const {
    const auto partial = partial_integers(input);
    if (!partial) return std::nullopt;
    std::vector<int64_t> out;
    for (const auto& one : *partial) {
      if (!one) return std::nullopt;
      out.push_back(*one);
    }
    return out;
  }

  /// Dims that an integer operand requests: −1 for each that is not certain.
  [[nodiscard]] PartialDims requested(std::size_t input) const {
    const auto wanted = partial_integers(input);
    if (!wanted) return std::nullopt;
    Dims out;
    for (const auto& dim : *wanted) out.push_back(std::max<int64_t>(dim.value_or(-1), -1));
    return out;
  }
};

/// The dims that follow for an output of the operator's body.
PartialDims of_body(const Question& node, std::size_t output) {
  const FunctionInstance body = compose(node.op, node.call.node, node.operands);
  CertainShapes shapes;
  Constants constants;
  for (std::size_t i = 0; i < body.graph->inputs().size(); ++i) shapes.assume(*body.graph->inputs()[i], node.dims(i));
  return output < body.graph->outputs().size() ? shapes.of(*body.graph->outputs()[output], constants) : std::nullopt;
}

/// Unknown dims, as many as a vector with these dims requests.
PartialDims as_many_as(const PartialDims& request) {
  constexpr int64_t kMostDims = 64;
  if (!request || request->size() != 1 || (*request)[0] < 0 || (*request)[0] > kMostDims) return std::nullopt;
  return Dims(as_size((*request)[0]), -1);
}

/// Unknown dims, as many as input 1 requests, whatever its contents.
PartialDims as_many_as_requested(const Question& node) {
  return node.operands.has(1) ? as_many_as(node.dims(1)) : std::nullopt;
}

/// The size of axis `rest` that makes the elements of `dims` fit; −1 when it is not certain.
int64_t remaining(const Dims& dims, const Dims& out, std::size_t rest) {
  const int64_t whole = product_of(dims);
  int64_t others = 1;
  for (std::size_t i = 0; i < out.size(); ++i) others = i == rest ? others : times(others, out[i]);
  return whole > 0 && others > 0 && whole % others == 0 ? whole / others : -1;
}

/// For each axis of a tensor of that rank, whether attribute or input `axes` names it; nothing when that is not known.
std::optional<std::vector<bool>> named_axes(std::optional<std::vector<int64_t>> axes, std::size_t rank) {
  if (!axes) return std::nullopt;
  std::vector<bool> named(rank, false);
  for (const int64_t axis : *axes) {
    const auto place = checked_axis(axis, rank);
    if (!place) return std::nullopt;
    named[*place] = true;
  }
  return named;
}

/// Whether Squeeze, Unsqueeze or a reduction reads its axes from an operand.
bool axes_are_operand(const Question& node) {
  return argument_is_operand(node.op.name, node.call.opset);
}

std::optional<std::vector<int64_t>> axes(const Question& node) {
  if (!axes_are_operand(node)) return node.call.attributes.integers("axes");
  return node.operands.has(1) ? node.integers(1) : std::optional(std::vector<int64_t>());
}

PartialDims broadcast(const Question& node) {
  if (node.call.opset < kNumpyOpset) return node.dims(0);
  Dims out;
  for (std::size_t i = 0; i < node.call.node.inputs().size(); ++i) {
    const PartialDims dims = node.dims(i);
    if (!dims) return std::nullopt;
    broadcast_into(out, *dims, 0);
  }
  return out;
}

PartialDims same_rank(const Question& node) {
  return all_unknown(node.dims(0));
}

/// Convolutions, pools and Pad: each axis of the result depends on the same axis of the data, except a convolution's channels, which depend
/// on its weight. Unknown axes get some size, so that the others follow from the operator's own Infer.
PartialDims by_axis(const Question& node) {
  const PartialDims data = node.dims(0);
  const bool has_weight = node.is("Conv") || node.is("ConvTranspose");
  const PartialDims weight = has_weight ? node.dims(1) : data;
  if (!weight || weight->size() < (has_weight ? 3U : 2U)) return all_unknown(data);
  Dims out(weight->size(), -1);
  const int64_t grouped = has_weight ? times((*weight)[1], node.call.attributes.integer("group", 1)) : -1;
  const bool fits = data && data->size() == out.size();
  if (fits) {
    Dims tried = *data;
    for (int64_t& dim : tried) dim = dim < 0 ? kAnySize : dim;
    if (has_weight && (*data)[1] < 0) tried[1] = node.is("Conv") ? grouped : (*weight)[0];
    if (tried[0] == kAnySize) tried[0] = 1;
    const PartialDims found = node.inferred(0, tried);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = found && (*data)[i] >= 0 ? (*found)[i] : -1;
    // Batch and channels of convolutions and pools are certain even when the window is not.
    if (!found && !node.is("Pad")) std::copy_n(data->begin(), 2, out.begin());
  }
  if (node.op.name.starts_with("Global")) std::fill(out.begin() + 2, out.end(), 1);
  if (has_weight) out[1] = node.is("Conv") ? (*weight)[0] : grouped;
  return out;
}

/// Axes that a Slice names; nothing where they are not known.
std::optional<std::vector<int64_t>> sliced_axes(const Question& node) {
  constexpr int kListsAsOperands = 10;
  constexpr std::size_t kStarts = 1, kAxes = 3;
  if (node.call.opset < kListsAsOperands) return std::nullopt;
  if (node.operands.has(kAxes)) return node.integers(kAxes);
  const PartialDims count = node.dims(kStarts);
  if (!count || count->size() != 1 || count->front() < 0 || count->front() > kMostContents) return std::nullopt;
  std::vector<int64_t> out;
  for (int64_t axis = 0; axis < count->front(); ++axis) out.push_back(axis);
  return out;
}

/// Slice, Split and the statistics of a LayerNormalization, likewise axis by axis. When the operator's own Infer gives nothing, a Slice
/// keeps the axes that it does not name.
PartialDims axis_by_axis(const Question& node, std::size_t output) {
  const PartialDims data = node.dims(0);
  if (!data) return std::nullopt;
  Dims tried = *data;
  for (int64_t& dim : tried) dim = dim < 0 ? kAnySize : dim;
  const PartialDims found = node.inferred(output, tried);
  Dims out(data->size(), -1);
  for (std::size_t i = 0; found && found->size() == out.size() && i < out.size(); ++i) out[i] = (*data)[i] >= 0 ? (*found)[i] : -1;
  const auto named = !found && node.is("Slice") ? named_axes(sliced_axes(node), out.size()) : std::nullopt;
  for (std::size_t i = 0; named && i < out.size(); ++i) out[i] = (*named)[i] ? -1 : (*data)[i];
  return out;
}

PartialDims gemm(const Question& node) {
  const PartialDims a = node.dims(0), b = node.dims(1);
  const bool is_turned_a = node.call.attributes.integer("transA", 0) != 0, is_turned_b = node.call.attributes.integer("transB", 0) != 0;
  return Dims{size_at(a, is_turned_a ? 1 : 0), size_at(b, is_turned_b ? 0 : 1)};
}

PartialDims matmul(const Question& node) {
  const PartialDims a = node.dims(0), b = node.dims(1);
  if (!a || !b || a->size() < 2 || b->size() < 2) return std::nullopt;
  Dims out(std::max(a->size(), b->size()), 1);
  broadcast_into(out, *a, 2);
  broadcast_into(out, *b, 2);
  out[out.size() - 2] = (*a)[a->size() - 2];
  out[out.size() - 1] = b->back();
  return out;
}

/// Of an equation of letters that writes its result out: a size that is not 1 decides.
PartialDims einsum(const Question& node) {
  const EinsumEquation equation = read_einsum(node.call.attributes.text("equation", ""));
  if (!equation.result || equation.has_ellipsis()) return std::nullopt;
  Dims out(equation.result->size(), -1);
  for (std::size_t term = 0; term < equation.operands.size(); ++term) {
    const std::string& letters = equation.operands[term];
    for (std::size_t axis = 0; axis < letters.size(); ++axis) {
      const int64_t size = size_at(node.dims(term), axis);
      for (std::size_t at = 0; at < out.size(); ++at) {
        if ((*equation.result)[at] == letters[axis] && size > 1) out[at] = size;
      }
    }
  }
  return out;
}

PartialDims flatten(const Question& node) {
  const PartialDims dims = node.dims(0);
  if (!dims) return Dims{-1, -1};
  const auto rank = static_cast<int64_t>(dims->size());
  const int64_t axis = from_front(node.call.attributes.integer("axis", 1), rank);
  Dims out = {1, 1};
  for (int64_t i = 0; i < rank; ++i) {
    int64_t& part = out[i < axis ? 0 : 1];
    part = times(part, element_at(*dims, i));
  }
  return out;
}

PartialDims reshape(const Question& node) {
  std::optional<std::vector<std::optional<int64_t>>> wanted;
  if (node.call.opset < kShapeInputOpset) {
    const std::vector<int64_t> given = node.call.attributes.integers("shape");
    wanted.emplace(given.begin(), given.end());
  } else {
    wanted = node.partial_integers(1);
  }
  if (!wanted) return as_many_as_requested(node);
  const PartialDims dims = node.dims(0);
  const bool zero_is_zero = node.call.attributes.integer("allowzero", 0) != 0;
  Dims out;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    const bool keeps = (*wanted)[i] == 0 && !zero_is_zero;
    out.push_back(keeps ? size_at(dims, i) : std::max<int64_t>((*wanted)[i].value_or(-1), -1));
  }
  const auto rest = find_position(*wanted, std::optional<int64_t>(-1));
  if (dims && rest < out.size()) out[rest] = remaining(*dims, out, rest);
  return out;
}

PartialDims constant_of_shape(const Question& node) {
  const PartialDims wanted = node.requested(0);
  return wanted ? wanted : as_many_as(node.dims(0));
}

PartialDims expand(const Question& node) {
  const PartialDims dims = node.dims(0);
  PartialDims wanted = node.requested(1);
  if (!wanted) wanted = as_many_as_requested(node);
  if (!dims || !wanted) return std::nullopt;
  Dims out = *dims;
  broadcast_into(out, *wanted, 0);
  return out;
}

/// The dims of the queries, with the last dim of the values.
PartialDims attention(const Question& node) {
  const PartialDims query = node.dims(0), value = node.dims(2);
  if (!query || query->size() != 4) return all_unknown(query);
  Dims out = *query;
  out.back() = size_at(value, 3);
  return out;
}

/// One dim, as long as its operands say.
PartialDims range(const Question& /*node*/) {
  return Dims{-1};
}

PartialDims indices(const Question& node) {
  return node.dims(1);
}

/// The dims of the indices replace the axis.
PartialDims gather(const Question& node) {
  const PartialDims dims = node.dims(0), indices = node.dims(1);
  if (!dims || !indices) return std::nullopt;
  const auto axis = checked_axis(node.call.attributes.integer("axis", 0), dims->size());
  if (!axis) return std::nullopt;
  const auto place = dims->begin() + static_cast<std::ptrdiff_t>(*axis);
  Dims out(dims->begin(), place);
  out.insert(out.end(), indices->begin(), indices->end());
  out.insert(out.end(), place + 1, dims->end());
  return out;
}

/// Named axes become 1 or are removed; without names, all axes.
PartialDims reduce(const Question& node) {
  PartialDims dims = node.dims(0);
  const bool keeps = node.call.attributes.integer("keepdims", 1) != 0;
  const auto given = axes(node);
  if (!dims || !given) return keeps ? all_unknown(dims) : std::nullopt;
  if (given->empty() && axes_are_operand(node) && node.call.attributes.integer("noop_with_empty_axes", 0) != 0) return dims;
  const auto named = named_axes(given, dims->size());
  if (!named) return std::nullopt;
  Dims out;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    const bool goes = given->empty() || (*named)[i];
    if (!goes || keeps) out.push_back(goes ? 1 : (*dims)[i]);
  }
  return out;
}

/// One dim: the number of the operand's axes from `start` to `end`.
PartialDims shape(const Question& node) {
  const PartialDims dims = node.dims(0);
  if (!dims) return Dims{-1};
  const auto rank = static_cast<int64_t>(dims->size());
  const auto bound = [&](const char* name, int64_t otherwise) {
    return std::clamp<int64_t>(from_front(node.call.attributes.integer(name, otherwise), rank), 0, rank);
  };
  return Dims{std::max<int64_t>(bound("end", rank) - bound("start", 0), 0)};
}

PartialDims squeeze(const Question& node) {
  const PartialDims dims = node.dims(0);
  const auto given = axes(node);
  // Without axes, the dims that are 1 are removed.
  if (!dims || !given || (given->empty() && !is_certain(*dims))) return std::nullopt;
  const auto named = named_axes(given, dims->size());
  if (!named) return std::nullopt;
  Dims out;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    const bool goes = given->empty() ? (*dims)[i] == 1 : (*named)[i];
    if (!goes) out.push_back((*dims)[i]);
  }
  return out;
}

PartialDims unsqueeze(const Question& node) {
  const PartialDims dims = node.dims(0);
  const auto given = axes(node);
  if (!dims || !given) return std::nullopt;
  const auto named = named_axes(given, dims->size() + given->size());
  // An axis that is named twice leaves one too few.
  if (!named || std::ranges::count(*named, true) != std::ssize(*given)) return std::nullopt;
  Dims out;
  auto next = dims->begin();
  for (const bool is_new : *named) out.push_back(is_new ? 1 : *next++);
  return out;
}

PartialDims transpose(const Question& node) {
  const PartialDims dims = node.dims(0);
  const Dims permutation = node.call.attributes.integers("perm");
  if (permutation.empty()) return dims ? PartialDims(Dims(dims->rbegin(), dims->rend())) : std::nullopt;
  Dims out;
  for (const int64_t from : permutation) out.push_back(from >= 0 ? size_at(dims, as_size(from)) : -1);
  return out;
}

PartialDims concat(const Question& node) {
  std::vector<PartialDims> parts;
  for (std::size_t i = 0; i < node.call.node.inputs().size(); ++i) parts.push_back(node.dims(i));
  const auto known = std::ranges::find_if(parts, [](const PartialDims& part) { return part.has_value(); });
  if (known == parts.end()) return std::nullopt;
  const auto axis = checked_axis(node.call.attributes.integer("axis", 1), (*known)->size());
  if (!axis) return std::nullopt;
  Dims out = **known;
  int64_t sum = 0;
  for (const PartialDims& part : parts) {
    const bool fits = part && part->size() == out.size();
    const int64_t size = fits ? (*part)[*axis] : -1;
    sum = sum < 0 || size < 0 ? -1 : checked_add(sum, size).value_or(-1);
    // One operand may determine a dim that another leaves open.
    for (std::size_t i = 0; fits && i < out.size(); ++i) out[i] = out[i] < 0 ? (*part)[i] : out[i];
  }
  out[*axis] = sum;
  return out;
}

/// Rules for the first result, sorted by name; operators whose traits suffice are not listed.
struct DimsRule {
  std::string_view op_type;
  PartialDims (*rule)(const Question& node);
};
constexpr auto kEntries = std::to_array<DimsRule>({
    {"Attention", attention},
    {"AveragePool", by_axis},
    {"Concat", concat},
    {"ConstantOfShape", constant_of_shape},
    {"Conv", by_axis},
    {"ConvTranspose", by_axis},
    {"Einsum", einsum},
    {"Expand", expand},
    {"Flatten", flatten},
    {"Gather", gather},
    {"GatherElements", indices},
    {"Gemm", gemm},
    {"GlobalAveragePool", by_axis},
    {"GlobalLpPool", by_axis},
    {"GlobalMaxPool", by_axis},
    {"LpPool", by_axis},
    {"MatMul", matmul},
    {"MatMulInteger", matmul},
    {"MaxPool", by_axis},
    {"Pad", by_axis},
    {"Range", range},
    {"Reshape", reshape},
    {"Resize", same_rank},
    {"Shape", shape},
    {"Squeeze", squeeze},
    {"Transpose", transpose},
    {"Unsqueeze", unsqueeze},
    {"Upsample", same_rank},
});
static_assert(std::ranges::is_sorted(kEntries, {}, &DimsRule::op_type));

/// All steps, or the last one alone.
PartialDims recurrent(const Question& node, std::size_t output) {
  const OpCall& call = node.call;
  const PartialDims data = node.dims(0), weight = node.dims(1);
  const int64_t hidden = call.attributes.integer("hidden_size", -1), directions = size_at(weight, 0);
  if (output > 2 || (data && data->size() != 3) || (weight && weight->size() != 3)) return std::nullopt;
  const bool is_batch_first = call.attributes.integer("layout", 0) != 0;
  const int64_t steps = size_at(data, is_batch_first ? 1 : 0), batch = size_at(data, is_batch_first ? 0 : 1);
  if (output > 0) return is_batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  return is_batch_first ? Dims{batch, steps, directions, hidden} : Dims{steps, directions, batch, hidden};
}

PartialDims answer(const Question& node, std::size_t output) {
  if (auto dims = node.inferred(output, std::nullopt)) return dims;
  if (node.op.body != nullptr) return of_body(node, output);
  const bool is_statistic = node.is("LayerNormalization") && output > 0;
  if (is_statistic || node.is("Split") || node.is("Slice")) return axis_by_axis(node, output);
  if (node.is("GRU") || node.is("RNN") || node.op.name.ends_with("LSTM")) return recurrent(node, output);
  if (output != 0) return node.is("DynamicQuantizeLinear") ? PartialDims(Dims()) : std::nullopt;  // a scale, a zero point
  if (node.op.traits.has(Trait::same_dims)) return node.dims(0);
  if (node.op.traits.has(Trait::broadcasts)) return broadcast(node);
  if (node.op.traits.reduces() != Reduces::none) return reduce(node);
  const auto* const entry = std::ranges::lower_bound(kEntries, node.op.name, {}, &DimsRule::op_type);
  return entry != kEntries.end() && entry->op_type == node.op.name ? entry->rule(node) : std::nullopt;
}

}  // namespace

int64_t times(int64_t a, int64_t b) noexcept {
  return a < 0 || b < 0 ? -1 : checked_mul(a, b).value_or(-1);
}

int64_t product_of(std::span<const int64_t> dims) noexcept {
  int64_t out = 1;
  for (const int64_t dim : dims) out = times(out, dim);
  return out;
}

PartialDims partial_dims(const OpCall& call, std::size_t output, PartialOperands& operands) {
  const Op* const op = find_kernel(call.node);
  if (op == nullptr || call.opset <= 0 || call.attributes.has_reference()) return std::nullopt;
  try {
    return answer({call, *op, operands}, output);
  } catch (const Error&) {
    return std::nullopt;  // other code reports attributes of a wrong type
  }
}

// Axes counted from either end.

int64_t from_front(Axis axis, int64_t rank) {
  if (!axis.from_back) return rank < 0 || axis.index < rank ? axis.index : -1;
  return axis.index < rank ? rank - 1 - axis.index : -1;
}

bool is_same(Axis a, Axis b, int64_t rank) {
  if (a.from_back == b.from_back) return a.index == b.index;
  const int64_t place = from_front(a, rank);
  return rank >= 0 && place >= 0 && place == from_front(b, rank);
}

}  // namespace relayout
