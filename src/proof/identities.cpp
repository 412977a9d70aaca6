// Recognizes nodes that pass one operand on as it is, alone or two together: whole slices, neutral numbers, what the next node undoes.
#include <cmath>

#include "base/positions.h"
#include "model/node.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "ops/partial_dims.h"
#include "proof/claim.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

constexpr int64_t kLongestAxis = int64_t{1} << 48;  ///< no axis is longer

/// Whether a Slice keeps all of each of its axes.
bool slices_nothing(Side& side, Shapes& shapes, Ref output) {
  constexpr int kOperands = 10;
  const Node& node = *output.value->producer();
  if (node.opset() < kOperands) return false;
  std::array<std::vector<int64_t>, 4> lists;  // starts, ends, axes, steps
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const Ref given = side.operand(output, i + 1);
    const auto list = given ? integers_of(side, given) : std::optional<std::vector<int64_t>>();
    if (given && !list) return false;
    if (list) lists[i] = *list;
  }
  const auto& [starts, ends, axes, steps] = lists;
  if (starts.empty() || starts.size() != ends.size() || (!axes.empty() && axes.size() != starts.size())) return false;
  const auto dims = shapes.of(side.operand(output, 0));
  for (std::size_t i = 0; i < starts.size(); ++i) {
    int64_t axis = axes.empty() ? static_cast<int64_t>(i) : axes[i];
    if (dims && axis < 0) axis += std::ssize(*dims);
    const bool is_sized = dims && axis >= 0 && axis < std::ssize(*dims) && (*dims)[as_size(axis)] >= 0;
    const int64_t size = is_sized ? (*dims)[as_size(axis)] : kLongestAxis;
    const bool is_from_first = starts[i] == 0 || (is_sized && starts[i] <= -size);
    if (!is_from_first || ends[i] < size || (!steps.empty() && steps[i] != 1)) return false;
  }
  return true;
}

/// Whether a value keeps its dims when it is broadcast with another.
bool keeps_dims(Shapes& shapes, Ref value, const Dims& other) {
  if (other.empty()) return true;
  const auto dims = shapes.of(value);
  if (!dims || dims->size() < other.size()) return false;
  return std::equal(other.rbegin(), other.rend(), dims->rbegin(),
                    [](int64_t of_other, int64_t dim) { return of_other == 1 || of_other == dim; });
}

/// x · 1, x / 1, x − 0 and x + (−0), which are x for every number; 0 + −0 is 0.
std::optional<std::size_t> beside_neutral(Side& side, Shapes& shapes, Ref output) {
  constexpr int kAsNumpy = 7;  // from this version on operands are broadcast so
  constexpr int64_t kMostNumbers = 1 << 12;
  const Node& node = *output.value->producer();
  const Arithmetic arithmetic = arithmetic_of(node);
  const bool commutes = arithmetic == Arithmetic::add || arithmetic == Arithmetic::multiply;
  if (node.opset() < kAsNumpy || !node.domain().empty() || node.inputs().size() != 2) return std::nullopt;
  if (!commutes && arithmetic != Arithmetic::subtract && arithmetic != Arithmetic::divide) return std::nullopt;
  for (std::size_t of_constant = 1; of_constant <= 1; --of_constant) {
    if (of_constant == 0 && !commutes) break;
    const Ref other = side.operand(output, 1 - of_constant), given = side.operand(output, of_constant);
    const auto constant = given && other ? side.constant(given) : std::nullopt;
    if (!constant || element_count(constant->dims) > kMostNumbers || !kNumericTypes.has(constant->type)) continue;
    const bool is_sum = arithmetic == Arithmetic::add, is_one = !is_sum && arithmetic != Arithmetic::subtract;
    const bool is_neutral = std::ranges::all_of(relayout::reals_of(contiguous(constant->load())), [&](double number) {
      if (is_one) return number == 1;
      return number == 0 && (!kRealTypes.has(constant->type) || std::signbit(number) == is_sum);
    });
    if (is_neutral && keeps_dims(shapes, other, constant->dims)) return 1 - of_constant;
  }
  return std::nullopt;
}

bool pads_nothing(Side& side, Ref output) {
  constexpr int kFirst = 2, kOperands = 11;
  const Node& node = *output.value->producer();
  const AttributeReader attributes(node, output.call);
  std::optional<std::vector<int64_t>> pads;
  if (node.opset() >= kOperands) {
    const Ref given = side.operand(output, 1);
    pads = given ? integers_of(side, given) : std::nullopt;
  } else if (node.opset() >= kFirst) {
    pads = attributes.integers("pads");
  }
  return pads && !pads->empty() && !attributes.is_open() && std::ranges::count(*pads, 0) == std::ssize(*pads);
}

/// Whether a Reshape, Flatten or Expand results in the dims of its operand.
bool reshapes_nothing(Side& side, Shapes& shapes, Ref output) {
  const Node& node = *output.value->producer();
  const Ref data = side.operand(output, 0);
  const auto before = shapes.of(data), after = shapes.of(output);
  if (!before) return false;
  if (after && *after == *before && std::ranges::find(*after, -1) == after->end()) return true;
  const AttributeReader attributes(node, output.call);
  if (node.is("Flatten")) {
    const int64_t axis = attributes.integer("axis", 1);
    return before->size() == 2 && (axis == 1 || axis == -1) && !attributes.is_open();
  }
  const bool is_expand = node.is("Expand");
  const Ref request = side.operand(output, 1);
  const auto constant = request ? side.constant(request) : std::nullopt;
  const auto wanted = constant && element_count(constant->dims) <= kMostContents ? std::optional<PartialContents>(constant->load())
                      : request                                                  ? side.partial_contents(request)
                                                                                 : std::nullopt;
  if (!wanted || wanted->values.type() != DataType::int64 || wanted->certain.size() != before->size()) return false;
  const bool zero_keeps = attributes.integer("allowzero", 0) == 0;
  int found = 0;
  for (std::size_t i = 0; i < before->size(); ++i) {
    if (!wanted->certain[i]) {
      if (!requests_own_dim(side, shapes, output, i)) return false;
      continue;
    }
    const int64_t dim = wanted->values.data<int64_t>()[i];
    found += dim == -1 ? 1 : 0;
    const bool is_own = dim > 0 && dim == (*before)[i];
    const bool is_kept = is_own || (is_expand ? dim == 1 : dim == -1 || (dim == 0 && zero_keeps));
    if (!is_kept || found > 1) return false;
  }
  return !attributes.is_open();
}

/// Whether a Tile takes its operand once.
bool repeats_nothing(Side& side, Ref output) {
  const Ref given = side.operand(output, 1);
  const auto repeats = given && output.value->producer()->opset() >= 6 ? integers_of(side, given) : std::nullopt;
  return repeats && std::ranges::all_of(*repeats, [](int64_t count) { return count == 1; });
}

/// Whether a Max or Min compares one value with itself.
bool compares_itself(Side& side, Ref output) {
  const Ref first = side.operand(output, 0);
  for (std::size_t i = 1; i < output.value->producer()->inputs().size(); ++i) {
    if (side.operand(output, i) != first) return false;
  }
  return true;
}

/// The operand that a Where takes all elements of.
std::optional<std::size_t> always_chosen(Side& side, Shapes& shapes, Ref output) {
  constexpr int64_t kMostElements = 1 << 12;
  const Ref given = side.operand(output, 0);
  const auto condition = given ? side.constant(given) : std::nullopt;
  if (!condition || condition->type != DataType::boolean || element_count(condition->dims) > kMostElements ||
      element_count(condition->dims) == 0)
    return std::nullopt;
  const Tensor elements = contiguous(condition->load());
  const std::span<const bool> chosen(elements.data<bool>(), as_size(elements.element_count()));
  if (std::ranges::find(chosen, !chosen.front()) != chosen.end()) return std::nullopt;
  const std::size_t taken = chosen.front() ? 1 : 2;
  const Ref value = side.operand(output, taken), other = side.operand(output, 3 - taken);
  const auto dims = value && other ? shapes.of(other) : std::nullopt;
  return dims && keeps_dims(shapes, value, *dims) && keeps_dims(shapes, value, condition->dims) ? std::optional(taken) : std::nullopt;
}

/// The only operand of a Concat that has elements, where the others have none along its axis.
std::optional<std::size_t> beside_empty(Side& side, Shapes& shapes, Ref output) {
  constexpr int kAxisRequired = 4;  // from this version on; 1 before
  const Node& node = *output.value->producer();
  const AttributeReader attributes(node, output.call);
  if (!attributes.has("axis") && node.opset() >= kAxisRequired) return std::nullopt;
  const int64_t axis = attributes.integer("axis", 1);
  if (attributes.is_open()) return std::nullopt;
  std::optional<std::size_t> kept;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Ref operand = side.operand(output, i);
    const auto dims = operand ? shapes.of(operand) : std::nullopt;
    const auto place = dims ? checked_axis(axis, dims->size()) : std::nullopt;
    if (place && (*dims)[*place] == 0) continue;
    if (kept) return std::nullopt;
    kept = i;
  }
  return kept;
}

}  // namespace

std::optional<std::size_t> operand_passed_on(Side& side, Shapes& shapes, Ref output) {
  const Node* const node = output.value->producer();
  if (node == nullptr || !node->domain().empty() || node->inputs().empty() || !side.operand(output, 0)) return std::nullopt;
  if (is_identity(side, output) || takes_all(side, shapes, output)) return 0;
  if (node->is("Pad")) return pads_nothing(side, output) ? std::optional<std::size_t>(0) : std::nullopt;
  if (node->is("Slice")) return slices_nothing(side, shapes, output) ? std::optional<std::size_t>(0) : std::nullopt;
  if (node->is("Reshape") || node->is("Flatten") || node->is("Expand"))
    return reshapes_nothing(side, shapes, output) ? std::optional<std::size_t>(0) : std::nullopt;
  if (node->is("Concat")) return beside_empty(side, shapes, output);
  if (node->is("Tile")) return repeats_nothing(side, output) ? std::optional<std::size_t>(0) : std::nullopt;
  if (node->is("Max") || node->is("Min")) return compares_itself(side, output) ? std::optional<std::size_t>(0) : std::nullopt;
  if (node->is("Where")) return always_chosen(side, shapes, output);
  return beside_neutral(side, shapes, output);
}

// Two nodes that undo each other.
namespace {

/// The axes that a Slice reverses, as written; nullopt if it does anything else.
std::optional<std::vector<int64_t>> reversed_axes(Side& side, Shapes& shapes, Ref output) {
  std::array<std::vector<int64_t>, 4> lists;  // starts, ends, axes, steps
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const Ref given = side.operand(output, i + 1);
    auto list = given ? integers_of(side, given) : std::nullopt;
    if (!list) return std::nullopt;
    lists[i] = std::move(*list);
  }
  const auto& [starts, ends, axes, steps] = lists;
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) return std::nullopt;
  const auto dims = shapes.of(side.operand(output, 0));
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const int64_t axis = axes[i] < 0 && dims ? axes[i] + std::ssize(*dims) : axes[i];
    const bool is_sized = dims && axis >= 0 && axis < std::ssize(*dims) && (*dims)[as_size(axis)] >= 0;
    const int64_t size = is_sized ? (*dims)[as_size(axis)] : kLongestAxis;
    const bool is_from_last = starts[i] == -1 || starts[i] >= size - 1;
    if (steps[i] != -1 || !is_from_last || ends[i] >= -size) return std::nullopt;
  }
  std::vector<int64_t> out = axes;
  std::ranges::sort(out);
  return out;
}

/// Whether a Slice takes away what the Pad in front of it added.
bool cuts_padding(Side& side, Shapes& shapes, Ref sliced, Ref padded) {
  const AttributeReader attributes(*padded.value->producer(), padded.call);
  const auto dims = shapes.of(side.operand(padded, 0));
  const auto pads = dims ? paddings(side, padded, attributes, dims) : std::nullopt;
  if (!pads || attributes.is_open() || pads->size() != 2 * dims->size()) return false;
  const auto starts = integers_of(side, side.operand(sliced, 1)), ends = integers_of(side, side.operand(sliced, 2));
  const auto axes = side.operand(sliced, 3) ? integers_of(side, side.operand(sliced, 3)) : std::nullopt;
  const auto steps = side.operand(sliced, 4) ? integers_of(side, side.operand(sliced, 4)) : std::vector<int64_t>{};
  if (!starts || !ends || !axes || !steps || ends->size() != starts->size() || axes->size() != starts->size()) return false;
  if (std::ranges::find_if(*steps, [](int64_t step) { return step != 1; }) != steps->end()) return false;
  std::vector<int64_t> left = *pads;  // what no axis of the Slice has taken away
  const auto rank = dims->size();
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = as_size((*axes)[i] < 0 ? (*axes)[i] + std::ssize(*dims) : (*axes)[i]);
    if (axis >= rank || left[axis] < 0 || left[axis + rank] < 0) return false;
    const int64_t size = (*dims)[axis], before = std::exchange(left[axis], 0), after = std::exchange(left[axis + rank], 0);
    const bool ends_there = after > 0 ? (*ends)[i] == -after : (*ends)[i] >= kLongestAxis;
    if ((*starts)[i] != before || (!ends_there && (size < 0 || (*ends)[i] != before + size))) return false;
  }
  return std::ranges::all_of(left, [](int64_t pad) { return pad == 0; });
}

/// Whether one of two nodes moves channels into blocks of pixels, and the other back.
bool rearrange_back(const AttributeReader& outer, bool outer_is_depth, const AttributeReader& inner) {
  const AttributeReader& to_pixels = outer_is_depth ? outer : inner;
  return outer.integer("blocksize", 0) == inner.integer("blocksize", -1) && to_pixels.text("mode", "DCR") == "DCR" && !outer.is_open() &&
         !inner.is_open();
}

/// The index of an element of a sequence that a SequenceConstruct makes.
std::optional<std::size_t> place_in_sequence(Side& side, Ref element, const Node& sequence) {
  const Ref given = side.operand(element, 1);
  const auto place = given ? integers_of(side, given) : std::nullopt;
  const int64_t count = std::ssize(sequence.inputs());
  if (!place || place->size() != 1 || place->front() < -count || place->front() >= count) return std::nullopt;
  return as_size(place->front() < 0 ? place->front() + count : place->front());
}

}  // namespace

Undone upstream_of_inverse(Side& side, Shapes& shapes, Ref ref) {
  const Node* const outer = ref.value->producer();
  if (outer == nullptr || !outer->domain().empty() || !side.operand(ref, 0)) return {};
  if (outer->is("Concat")) return upstream_of_parts(side, shapes, ref);
  const Ref between = side.operand(ref, 0);
  const Node* const inner = between.value->producer();
  if (inner == nullptr || !inner->domain().empty() || !side.operand(between, 0)) return {};
  const bool are_slices = outer->is("Slice") && inner->is("Slice"), is_cut = outer->is("Slice") && inner->is("Pad");
  const bool to_depth = outer->is("SpaceToDepth") && inner->is("DepthToSpace");
  const bool to_space = outer->is("DepthToSpace") && inner->is("SpaceToDepth");
  std::optional<std::size_t> taken;
  if (are_slices) {
    const auto first = reversed_axes(side, shapes, between);
    if (first && first == reversed_axes(side, shapes, ref)) taken = 0;
  } else if (is_cut) {
    if (cuts_padding(side, shapes, ref, between)) taken = 0;
  } else if (to_depth || to_space) {
    if (rearrange_back({*outer, ref.call}, to_space, {*inner, between.call})) taken = 0;
  } else if (outer->is("SequenceAt") && inner->is("SequenceConstruct")) {
    taken = place_in_sequence(side, ref, *inner);
  }
  if (!taken) return {};
  Undone out{side.operand(between, *taken), {outer, inner}, {}};
  for (std::size_t i = 1; i < outer->inputs().size(); ++i) {
    if (const Ref other = side.operand(ref, i)) out.constants.push_back(other);
  }
  for (std::size_t i = 0; i < inner->inputs().size(); ++i) {
    if (const Ref other = i == *taken ? Ref() : side.operand(between, i)) out.constants.push_back(other);
  }
  return out;
}

// Initial states of zeros, which LSTM, GRU and RNN assume where none is given (ONNX).
namespace {

/// Whether each element of a value is 0, not −0: a constant, or one number that nodes repeat, join and select from.
bool is_all_zeros(Side& side, Ref value, std::vector<const Node*>& nodes, std::vector<Ref>& constants) {
  constexpr int64_t kMostNumbers = 1 << 16;
  constexpr std::size_t kMostNodes = 32;
  const auto is_zero = [](double number) { return number == 0 && !std::signbit(number); };
  std::vector<Ref> open{value};
  while (!open.empty()) {
    const Ref at = side.resolve(open.back());
    open.pop_back();
    if (!at || nodes.size() > kMostNodes) return false;
    const auto constant = side.constant(at);
    if (constant && element_count(constant->dims) <= kMostNumbers) {
      if (!kRealTypes.has(constant->type) || !std::ranges::all_of(relayout::reals_of(contiguous(constant->load())), is_zero)) return false;
      constants.push_back(at);
      continue;
    }
    const Node* const node = at.value->producer();
    if (node == nullptr || !node->domain().empty() || Attributes(*node).has_reference()) return false;
    nodes.push_back(node);
    const auto operand_is_shape = [&](std::size_t first) {
      for (std::size_t i = first; i < node->inputs().size(); ++i) {
        if (const Ref other = side.operand(at, i)) constants.push_back(other);
      }
    };
    if (node->is("ConstantOfShape")) {
      const auto fill = fill_of(*node);
      if (!fill || !is_zero(*fill)) return false;
      operand_is_shape(0);
    } else if (node->is("Concat")) {
      for (std::size_t i = 0; i < node->inputs().size(); ++i) open.push_back(side.operand(at, i));
    } else if (only_selects(*at.value)) {
      open.push_back(side.operand(at, 0));
      operand_is_shape(1);
    } else {
      return false;
    }
  }
  return true;
}

/// Whether a state certainly has as many sequences as the data: with others, the node cannot run.
bool has_batch_of_data(Side& side, Shapes& shapes, Ref output, Ref state) {
  const AttributeReader attributes(*output.value->producer(), output.call);
  const std::size_t batch = attributes.integer("layout", 0) == 1 ? 0 : 1;
  const auto of_data = shapes.of(side.operand(output, 0)), of_state = shapes.of(state);
  if (!of_data || !of_state || of_data->size() != 3 || of_state->size() != 3 || attributes.is_open()) return false;
  return (*of_data)[batch] >= 0 && (*of_data)[batch] == (*of_state)[batch];
}

}  // namespace

bool is_default_operand(Sides& sides, Ref output, std::size_t index, bool is_first, Look& look) {
  if (!traits_of(*output.value->producer()).is_initial_state(index)) return false;
  Look found;
  Side& side = is_first ? sides.a : sides.b;
  const Ref given = side.operand(output, index);
  if (!is_first && !has_batch_of_data(side, sides.shapes_b, output, given)) return false;
  if (!is_all_zeros(side, given, is_first ? found.bypassed : found.nodes_b, is_first ? found.constants_a : found.constants_b)) return false;
  look.add(std::move(found));
  return true;
}

// Nodes that change nothing of themselves, alone or in pairs: Identities, Dropouts, Casts, Transposes and Squeezes.
namespace {

bool drops_nothing(Side& side, Ref output) {
  const Node* const node = output.value->producer();
  const AttributeReader attributes(*node, output.call);
  if (node->opset() < 7) return attributes.integer("is_test", 0) != 0 && !attributes.is_open();
  if (node->opset() < 12) return true;
  const Ref training = side.operand(output, 2);
  if (!training) return true;
  const auto mode = side.constant(training);
  return mode && mode->type == DataType::boolean && element_count(mode->dims) == 1 && *mode->load().bytes() == std::byte{0};
}

bool moves_nothing(Ref output) {
  const AttributeReader attributes(*output.value->producer(), output.call);
  const std::vector<int64_t> permutation = attributes.integers("perm");
  bool in_place = !permutation.empty() && !attributes.is_open();
  for (std::size_t i = 0; i < permutation.size(); ++i) in_place = in_place && permutation[i] == static_cast<int64_t>(i);
  return in_place;
}

/// The result type of a Cast; undefined if the caller decides it.
DataType type_after(Side& side, Ref output) {
  const Node& node = *output.value->producer();
  if (traits_of(node).reads(1) == Reads::type)
    return node.input(1) != nullptr ? side.type_of(side.operand(output, 1)) : DataType::undefined;
  const AttributeReader attributes(node, output.call);
  const int64_t to = attributes.integer("to", 0);
  return attributes.is_open() ? DataType::undefined : side.as_read(type_of_number(to));
}

}  // namespace

bool is_identity(Side& side, Ref output) {
  const Node* const node = output.value->producer();
  if (node == nullptr || output.value->output_index() != 0 || node->input(0) == nullptr) return false;
  if (has_trait(*node, Trait::identity)) return has_trait(*node, Trait::keeps_order) || drops_nothing(side, output);
  if (node->is("Transpose")) return moves_nothing(output);
  if (has_trait(*node, Trait::one_is_itself)) return node->inputs().size() == 1;
  if (!has_trait(*node, Trait::casts)) return false;
  const DataType before = side.type_of(side.operand(output, 0));
  return before != DataType::undefined && before == type_after(side, output);
}

// Transposes that cancel.

std::vector<int64_t> written_permutation(const Node& node, const Call* call) {
  if (!node.is("Transpose")) return {};
  const AttributeReader attributes(node, call);
  std::vector<int64_t> out = attributes.integers("perm");
  if (attributes.is_open()) out.clear();
  return out;
}

Ref upstream_of_transposes(const Side& side, Ref ref, std::vector<const Node*>& nodes) {
  const Node* const outer = ref.value->producer();
  if (outer == nullptr || !outer->is("Transpose")) return {};
  const Ref between = side.operand(ref, 0);
  const Node* const inner = between ? between.value->producer() : nullptr;
  if (inner == nullptr || !inner->is("Transpose")) return {};
  const auto first = written_permutation(*inner, between.call);
  const auto second = written_permutation(*outer, ref.call);
  if (first.empty() || first.size() != second.size()) return {};
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto from = as_size(second[i]);
    if (from >= first.size() || first[from] != static_cast<int64_t>(i)) return {};
  }
  nodes.push_back(outer);
  nodes.push_back(inner);
  return side.operand(between, 0);
}

// Squeezes that cancel.

std::optional<std::vector<int64_t>> written_axes(Side& side, Ref output) {
  const Node& node = *output.value->producer();
  const AttributeReader attributes(node, output.call);
  const bool is_attribute = node.opset() < 13;
  const Ref given = is_attribute ? Ref() : side.operand(output, 1);
  auto axes = is_attribute ? std::optional(attributes.integers("axes"))
              : given      ? integers_of(side, given)
                           : std::optional(std::vector<int64_t>());
  return attributes.is_open() ? std::nullopt : std::move(axes);
}

Ref upstream_of_squeeze(Side& side, Ref ref, std::vector<const Node*>& nodes) {
  const Node* const outer = ref.value->producer();
  if (outer == nullptr || !outer->is("Squeeze")) return {};
  const Ref between = side.operand(ref, 0);
  const Node* const inner = between ? between.value->producer() : nullptr;
  if (const Ref stacked = inner != nullptr ? side.stacked_once(between) : Ref()) {
    if (written_axes(side, ref) != std::optional(std::vector<int64_t>{0})) return {};
    nodes.push_back(outer);
    nodes.push_back(inner);
    return stacked;
  }
  if (inner == nullptr || !inner->is("Unsqueeze")) return {};
  // Both count in the dims between them.
  auto removed = written_axes(side, ref), added = written_axes(side, between);
  if (!removed || !added || added->empty()) return {};
  std::ranges::sort(*removed);
  std::ranges::sort(*added);
  if (*removed != *added) return {};
  nodes.push_back(outer);
  nodes.push_back(inner);
  return side.operand(between, 0);
}

}  // namespace relayout::proof
