// Compares parts of a value that two models select at the same positions, however these are counted and spelled.

#include "base/positions.h"
#include "ops/op.h"
#include "proof/attributes.h"
#include "proof/claim.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::proof {

// One operator with positions that are counted differently.
namespace {

/// Limit of the number of indices that are examined.
constexpr int64_t kMostIndices = 1 << 16;
/// Marks a number that is kept as written, because the size that it counts within is unknown.
constexpr int64_t kAsWritten = INT64_MIN;

/// The positions that a node specifies, in one form for all spellings.
struct Places {
  std::vector<int64_t> numbers;
  std::vector<std::size_t> operands;  ///< operands that specify them
  std::string_view attribute;         ///< or the attribute that does
};

class PlaceReader {
 public:
  PlaceReader(Side& side, Shapes& shapes, Ref output)
      : side_(side), output_(output), node_(*output.value->producer()), attributes_(node_, output.call) {
    const Traits traits = traits_of(node_);
    const bool may_specify = node_.is("Slice") || traits.along() != Along::none || traits.has(Trait::indexes);
    const Ref data = node_.inputs().empty() || !may_specify ? Ref() : side_.operand(output, 0);
    if (data) dims_ = shapes.of(data);
  }

  /// Empty if the node specifies no positions, or the dims that they count within are unknown.
  [[nodiscard]] std::optional<Places> read() {
    if (!dims_ || !node_.domain().empty()) return std::nullopt;
    const Along along = traits_of(node_).along();
    const bool is_known = node_.is("Slice")              ? slice()
                          : along == Along::axes         ? axes()
                          : along == Along::axis_operand ? axis_operand()
                                                         : axis_and_indices();
    if (!is_known || attributes_.is_open() || (out_.operands.empty() && out_.attribute.empty())) return std::nullopt;
    return std::move(out_);
  }

 private:
  [[nodiscard]] int64_t rank() const { return std::ssize(*dims_); }
  /// Adds an axis, counted from the first.
  [[nodiscard]] bool add_axis(int64_t axis, int64_t of_rank) {
    if (axis < -of_rank || axis > of_rank) return false;  // Flatten accepts the rank itself
    out_.numbers.push_back(axis < 0 ? axis + of_rank : axis);
    return true;
  }

  [[nodiscard]] bool axes() {
    std::optional<std::vector<int64_t>> axes;
    if (attributes_.has("axes")) {
      out_.attribute = "axes";
      axes = attributes_.integers("axes");
    } else if (const Ref given = side_.operand(output_, 1)) {
      out_.operands = {1};
      axes = integers_of(side_, given);
    }
    if (!axes) return false;
    const int64_t of_rank = rank() + (node_.is("Unsqueeze") ? std::ssize(*axes) : 0);
    for (const int64_t axis : *axes) {
      if (!add_axis(axis, of_rank)) return false;
    }
    std::ranges::sort(out_.numbers);
    return true;
  }

  [[nodiscard]] bool axis_operand() {
    const Ref given = side_.operand(output_, 1);
    const auto axis = given ? integers_of(side_, given) : std::nullopt;
    out_.operands = {1};
    return axis && axis->size() == 1 && add_axis(axis->front(), rank());
  }

  /// A number beyond every size in one form: exporters write that of 32 or 64 bits for "to the end".
  [[nodiscard]] static int64_t limited(int64_t at) {
    if (at >= std::numeric_limits<int32_t>::max()) return std::numeric_limits<int64_t>::max();
    return at <= -std::numeric_limits<int32_t>::max() ? std::numeric_limits<int64_t>::min() : at;
  }

  /// Reads begin, end and step of each axis. Numbers for axes of unknown size stay as written.
  [[nodiscard]] bool slice() {
    const auto argument = [&](std::size_t input) {
      return side_.operand(output_, input) ? integers_of(side_, side_.operand(output_, input)) : std::nullopt;
    };
    const auto begins = argument(1), ends = argument(2);
    auto axes = argument(3), steps = argument(4);
    if (!begins || !ends || ends->size() != begins->size()) return false;
    const auto stands = [&](std::size_t input) { return static_cast<bool>(side_.operand(output_, input)); };
    if (!axes && !stands(3)) {
      axes.emplace();
      for (int64_t i = 0; i < std::ssize(*begins); ++i) axes->push_back(i);
    }
    if (!steps && !stands(4)) steps.emplace(begins->size(), 1);
    if (!axes || !steps || axes->size() != begins->size() || steps->size() != begins->size()) return false;
    std::vector<std::array<int64_t, 5>> parts;
    for (std::size_t i = 0; i < begins->size(); ++i) {
      const int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + rank() : (*axes)[i], step = (*steps)[i];
      if (axis < 0 || axis >= rank()) return false;
      const int64_t size = (*dims_)[as_size(axis)];
      const auto placed = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
      const bool is_placed = size >= 0 && step > 0;
      if (is_placed) parts.push_back({axis, 0, placed((*begins)[i]), placed((*ends)[i]), step});
      if (!is_placed) parts.push_back({axis, kAsWritten, limited((*begins)[i]), limited((*ends)[i]), step});
    }
    std::ranges::sort(parts);
    for (const auto& part : parts) out_.numbers.insert(out_.numbers.end(), part.begin(), part.end());
    for (std::size_t input = 1; input < 5; ++input) {
      if (stands(input)) out_.operands.push_back(input);
    }
    return true;
  }

  [[nodiscard]] bool axis_and_indices() {
    int64_t axis = 0;
    const bool has_axis = traits_of(node_).along() == Along::axis;
    if (has_axis) {
      const AttributeDefault known = attribute_default(node_, "axis");
      if (!attributes_.has("axis") && known.value == nullptr) return false;
      if (!add_axis(attributes_.integer("axis", known.value != nullptr ? known.value->i() : 0), rank())) return false;
      out_.attribute = "axis";
      axis = out_.numbers.front();
    }
    if (!has_trait(node_, Trait::indexes)) return has_axis;
    // Indices that are computed, or count within an unknown dim, are compared as operands. Then only the axis is read here.
    const std::size_t axes = out_.numbers.size();
    if (add_indices(axis, !has_axis)) {
      out_.operands = {1};
    } else {
      out_.numbers.resize(axes);
    }
    return true;
  }

  /// Adds indices, counted from the first element. In rows, each number counts within the next axis.
  [[nodiscard]] bool add_indices(int64_t axis, bool are_rows) {
    const Ref given = side_.operand(output_, 1);
    const auto constant = given ? side_.constant(given) : std::nullopt;
    if (!constant || (constant->type != DataType::int64 && constant->type != DataType::int32)) return false;
    if (element_count(constant->dims) > kMostIndices || (are_rows && constant->dims.empty())) return false;
    const int64_t length = are_rows ? constant->dims.back() : 1;
    const int64_t first = are_rows ? attributes_.integer("batch_dims", 0) : axis;
    if (length < 1 || first < 0 || first + length > rank()) return false;
    const Tensor tensor = constant->load();
    out_.numbers.push_back(std::ssize(constant->dims));
    out_.numbers.insert(out_.numbers.end(), constant->dims.begin(), constant->dims.end());
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
      const int64_t at = constant->type == DataType::int64 ? tensor.data<int64_t>()[i] : tensor.data<int32_t>()[i];
      const int64_t size = (*dims_)[as_size(first + i % length)];
      if (size < 0 || at < -size || at >= size) return false;
      out_.numbers.push_back(at < 0 ? at + size : at);
    }
    return true;
  }

  Side& side_;
  Ref output_;
  const Node& node_;
  AttributeReader attributes_;
  std::optional<Dims> dims_;
  Places out_;
};

std::optional<Places> places_of(Side& side, Shapes& shapes, Ref output) {
  return PlaceReader(side, shapes, output).read();
}

/// The claim about the values that stand for those written, if nodes of one operator make both.
std::optional<Claim> made_by_one_operator(Sides& sides, const Claim& written) {
  Claim claim = written;
  claim.a = sides.a.resolve(claim.a);
  claim.b = sides.b.resolve(claim.b);
  const Node *const a = claim.a ? claim.a.value->producer() : nullptr, *const b = claim.b ? claim.b.value->producer() : nullptr;
  return a != nullptr && b != nullptr && same_operator(*a, *b) ? std::optional(claim) : std::nullopt;
}

}  // namespace

Found examine_positions(Sides& sides, const Claim& written) {
  const auto found = made_by_one_operator(sides, written);
  if (!found) return std::nullopt;
  const Claim& claim = *found;
  const Node *const a = claim.a.value->producer(), *const b = claim.b.value->producer();
  const auto of_a = places_of(sides.a, sides.shapes_a, claim.a);
  const auto of_b = of_a ? places_of(sides.b, sides.shapes_b, claim.b) : std::nullopt;
  if (!of_b || of_a->numbers != of_b->numbers) return std::nullopt;
  Look look;
  compare_heads(sides, claim, of_a->attribute.empty() ? of_b->attribute : of_a->attribute, look);
  if (!look.issues.empty()) return std::nullopt;
  const auto specifies = [](const Places& places, std::size_t input) {
    return std::ranges::find(places.operands, input) != places.operands.end();
  };
  for (std::size_t i = 0; i < std::max(a->inputs().size(), b->inputs().size()); ++i) {
    const Ref operand_a = sides.a.operand(claim.a, i), operand_b = sides.b.operand(claim.b, i);
    const bool specifies_a = specifies(*of_a, i), specifies_b = specifies(*of_b, i);
    if (specifies_a) look.constants_a.push_back(operand_a);
    if (specifies_b) look.constants_b.push_back(operand_b);
    if (specifies_a || specifies_b || (!operand_a && !operand_b)) continue;
    if (!operand_a || !operand_b) return std::nullopt;
    look.claims.push_back({operand_a, operand_b, {}, {}, {}, {}, b});
  }
  return look;
}

// Resizes whose corners are aligned: the lengths of both tensors alone place the elements.
namespace {

/// Dims of the result of such a Resize, where the file tells them all; adds its operands but the first.
std::optional<Dims> aligned_dims(Side& side, Shapes& shapes, Ref output, std::vector<Ref>& constants) {
  constexpr int kWithModes = 11;
  const Node& node = *output.value->producer();
  const AttributeReader attributes(node, output.call);
  const bool is_aligned = node.is("Resize") && node.opset() >= kWithModes && attributes.integer("antialias", 0) == 0 &&
                          attributes.text("coordinate_transformation_mode", "half_pixel") == "align_corners";
  if (!is_aligned || attributes.is_open()) return std::nullopt;
  for (std::size_t i = 1; i < node.inputs().size(); ++i) {
    const Ref operand = side.operand(output, i);
    if (!operand) continue;
    if (!side.constant(operand)) return std::nullopt;
    constants.push_back(operand);
  }
  const auto dims = shapes.of(output);
  return dims && std::ranges::all_of(*dims, [](int64_t dim) { return dim >= 0; }) ? dims : std::nullopt;
}

}  // namespace

Found examine_resized(Sides& sides, const Claim& written) {
  const auto found = made_by_one_operator(sides, written);
  if (!found) return std::nullopt;
  const Claim& claim = *found;
  Look look;
  const auto dims = aligned_dims(sides.a, sides.shapes_a, claim.a, look.constants_a);
  if (!dims || dims != aligned_dims(sides.b, sides.shapes_b, claim.b, look.constants_b)) return std::nullopt;
  compare_heads(sides, claim, "", look);
  if (!look.issues.empty()) return std::nullopt;
  look.claims.push_back({sides.a.operand(claim.a, 0), sides.b.operand(claim.b, 0), {}, {}, {}, {}, claim.b.value->producer()});
  return look;
}

// One part, selected by different operators.
namespace {

/// Elements [begin, end) of an axis.
struct Selection {
  Ref data;
  int64_t axis = 0, begin = 0, end = 0;
  int64_t size = 0;          ///< of the axis
  bool is_squeezed = false;  ///< the axis is removed; it had one element
  std::vector<const Node*> nodes;
  std::vector<Ref> constants;
  [[nodiscard]] bool takes_same(const Selection& other) const {
    return axis == other.axis && begin == other.begin && end == other.end && is_squeezed == other.is_squeezed;
  }
};

/// Reads one side's selections. All dims involved must be certain.
class SelectionReader {
 public:
  SelectionReader(Side& side, Shapes& shapes) : side_(side), shapes_(shapes) {}

  [[nodiscard]] std::optional<Selection> read(Ref output) {
    const Node* const node = output.value->producer();
    if (node == nullptr || !side_.operand(output, 0)) return std::nullopt;
    if (node->is("Squeeze")) return squeeze(output);
    if (node->is("SequenceAt")) return sequence_at(output);
    const bool is_known = node->is("Slice") || node->is("Split") || node->is("Gather");
    const auto dims = is_known ? shapes_.of(side_.operand(output, 0)) : std::nullopt;
    if (!dims) return std::nullopt;
    auto out = node->is("Slice") ? slice(output, *dims) : node->is("Split") ? split(output, *dims) : gather(output, *dims);
    if (!out) return std::nullopt;
    out->data = side_.operand(output, 0);
    out->nodes.push_back(node);
    for (std::size_t i = 1; i < node->inputs().size(); ++i) {
      if (node->input(i) != nullptr) out->constants.push_back(side_.operand(output, i));
    }
    return out;
  }

 private:
  /// An argument that is an attribute in old versions and an operand in later ones; empty if it is absent or not certain.
  [[nodiscard]] std::vector<int64_t> argument(Ref output, const char* attribute, std::size_t input) {
    const AttributeReader attributes(*output.value->producer(), output.call);
    if (attributes.has(attribute)) return attributes.is_open() ? std::vector<int64_t>() : attributes.integers(attribute);
    const Ref operand = side_.operand(output, input);
    return operand ? integers_of(side_, operand).value_or(std::vector<int64_t>()) : std::vector<int64_t>();
  }

  /// The axis and its number of elements, if both are certain.
  [[nodiscard]] static std::optional<std::pair<int64_t, int64_t>> axis_of(int64_t axis, const Dims& dims) {
    if (axis < 0) axis += std::ssize(dims);
    if (axis < 0 || axis >= std::ssize(dims) || dims[as_size(axis)] < 0) return std::nullopt;
    return std::pair(axis, dims[as_size(axis)]);
  }

  [[nodiscard]] std::optional<Selection> slice(Ref output, const Dims& dims) {
    const auto begins = argument(output, "starts", 1), ends = argument(output, "ends", 2), axes = argument(output, "axes", 3);
    const Ref steps = side_.operand(output, 4);
    if (begins.size() != 1 || ends.size() != 1 || axes.size() != 1) return std::nullopt;
    if (steps && integers_of(side_, steps) != std::vector<int64_t>{1}) return std::nullopt;
    const auto axis = axis_of(axes[0], dims);
    if (!axis) return std::nullopt;
    const int64_t size = axis->second;
    const auto placed = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
    return Selection{{}, axis->first, placed(begins[0]), placed(ends[0]), size, false, {}, {}};
  }

  [[nodiscard]] std::optional<Selection> split(Ref output, const Dims& dims) {
    const Node& node = *output.value->producer();
    const AttributeReader attributes(node, output.call);
    const auto axis = axis_of(attributes.integer("axis", 0), dims);
    const auto count = std::ssize(node.outputs());
    std::vector<int64_t> sizes = argument(output, "split", 1);
    if (!axis || attributes.is_open()) return std::nullopt;
    if (sizes.empty() && !side_.operand(output, 1) && !attributes.has("split") && count > 0 && axis->second % count == 0) {
      sizes.assign(as_size(count), axis->second / count);
    }
    if (std::ssize(sizes) != count) return std::nullopt;
    int64_t rest = axis->second;
    for (const int64_t size : sizes) {
      if (size < 0 || size > rest) return std::nullopt;
      rest -= size;
    }
    if (rest != 0) return std::nullopt;
    Selection out{{}, axis->first, 0, 0, axis->second, false, {}, {}};
    for (int i = 0; i <= output.value->output_index(); ++i) {
      out.begin = out.end;
      out.end += sizes[as_size(i)];
    }
    return out;
  }

  [[nodiscard]] std::optional<Selection> gather(Ref output, const Dims& dims) {
    const AttributeReader attributes(*output.value->producer(), output.call);
    const auto axis = axis_of(attributes.integer("axis", 0), dims);
    const Ref index = side_.operand(output, 1);
    const auto constant = index ? side_.constant(index) : std::nullopt;
    const bool is_known = constant && constant->dims.size() <= 1 && element_count(constant->dims) <= kMostIndices;
    const auto values = is_known ? integers_of(side_, index) : std::nullopt;
    if (!axis || !values || values->empty() || attributes.is_open()) return std::nullopt;
    const int64_t size = axis->second, begin = values->front() < 0 ? values->front() + size : values->front();
    for (std::size_t i = 0; i < values->size(); ++i) {
      const int64_t at = (*values)[i] < 0 ? (*values)[i] + size : (*values)[i];
      if (at != begin + static_cast<int64_t>(i) || at < 0 || at >= size) return std::nullopt;
    }
    return Selection{{}, axis->first, begin, begin + std::ssize(*values), size, constant->dims.empty(), {}, {}};
  }

  /// An element of the sequence that a SplitToSequence makes.
  [[nodiscard]] std::optional<Selection> sequence_at(Ref output) {
    const Ref sequence = side_.operand(output, 0), place = side_.operand(output, 1);
    const Node* const node = sequence.value->producer();
    if (node == nullptr || !node->is("SplitToSequence") || !node->domain().empty() || !place || !side_.operand(sequence, 0))
      return std::nullopt;
    const AttributeReader attributes(*node, sequence.call);
    const auto dims = shapes_.of(side_.operand(sequence, 0));
    const auto axis = dims ? axis_of(attributes.integer("axis", 0), *dims) : std::nullopt;
    const auto at = integers_of(side_, place);
    const Ref given = side_.operand(sequence, 1);
    const auto constant = given ? side_.constant(given) : std::nullopt;
    const auto numbers = constant ? integers_of(side_, given) : std::nullopt;
    const bool drops_axis = !given && attributes.integer("keepdims", 1) == 0;
    if (!axis || !at || at->size() != 1 || (given && (!numbers || numbers->empty())) || drops_axis || attributes.is_open())
      return std::nullopt;
    // One number is the length of all parts but the last.
    std::vector<int64_t> sizes = numbers.value_or(std::vector<int64_t>{1});
    if (!given || constant->dims.empty()) {
      const int64_t part = sizes.front(), size = axis->second;
      if (part <= 0 || size / part > kMostIndices) return std::nullopt;
      sizes.assign(as_size(size / part), part);
      if (size % part != 0) sizes.push_back(size % part);
    }
    const int64_t count = std::ssize(sizes), wanted = at->front() < 0 ? at->front() + count : at->front();
    if (wanted < 0 || wanted >= count) return std::nullopt;
    Selection out{side_.operand(sequence, 0), axis->first, 0, 0, axis->second, false, {output.value->producer(), node}, {place}};
    for (int64_t i = 0; i <= wanted; ++i) {
      out.begin = out.end;
      out.end += sizes[as_size(i)];
    }
    if (given) out.constants.push_back(given);
    return out.end <= out.size ? std::optional(std::move(out)) : std::nullopt;
  }

  [[nodiscard]] std::optional<Selection> squeeze(Ref output) {
    const Ref data = side_.operand(output, 0);
    auto out = data.value->producer() != nullptr && !data.value->producer()->is("Squeeze") ? read(data) : std::nullopt;
    std::vector<int64_t> axes = argument(output, "axes", 1);
    if (!out || out->is_squeezed || out->end - out->begin != 1 || axes.size() != 1) return std::nullopt;
    const auto dims = shapes_.of(out->data);
    if (axes[0] < 0 && dims) axes[0] += std::ssize(*dims);
    if (axes[0] != out->axis) return std::nullopt;
    out->is_squeezed = true;
    out->nodes.push_back(output.value->producer());
    if (const Ref given = side_.operand(output, 1)) out->constants.push_back(given);
    return out;
  }

  Side& side_;
  Shapes& shapes_;
};

}  // namespace

bool takes_all(Side& side, Shapes& shapes, Ref output) {
  const Node* const node = output.value->producer();
  const auto found =
      node != nullptr && !node->is("Squeeze") && !node->is("SequenceAt") ? SelectionReader(side, shapes).read(output) : std::nullopt;
  return found && !found->is_squeezed && found->begin == 0 && found->end == found->size;
}

Undone upstream_of_parts(Side& side, Shapes& shapes, Ref joined) {
  const Node& node = *joined.value->producer();
  const AttributeReader attributes(node, joined.call);
  Undone out{{}, {&node}, {}};
  int64_t at = 0, size = -1;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Ref operand = side.operand(joined, i);
    const auto part = operand ? SelectionReader(side, shapes).read(operand) : std::nullopt;
    if (!part || part->is_squeezed || part->begin != at || (i > 0 && part->data != out.value)) return {};
    const auto dims = shapes.of(part->data);
    const int64_t axis = attributes.integer("axis", 0);
    if (!dims || (axis < 0 ? axis + std::ssize(*dims) : axis) != part->axis) return {};
    out.value = part->data;
    out.nodes.insert(out.nodes.end(), part->nodes.begin(), part->nodes.end());
    out.constants.insert(out.constants.end(), part->constants.begin(), part->constants.end());
    at = part->end;
    size = part->size;
  }
  return at == size && !attributes.is_open() ? out : Undone();
}

Found examine_selection(Sides& sides, const Claim& claim) {
  const auto a = SelectionReader(sides.a, sides.shapes_a).read(claim.a);
  const auto b = a ? SelectionReader(sides.b, sides.shapes_b).read(claim.b) : std::nullopt;
  if (!b || !a->takes_same(*b)) return std::nullopt;
  Look look;
  look.account(*a, *b);
  look.rewritten.push_back(b->nodes.front());
  look.claims.push_back({a->data, b->data, {}, {}, {}, {}, b->nodes.front()});
  return look;
}

// Slices in a row.
namespace {

/// Elements begin, begin + step, … before end of one axis.
struct AxisPart {
  int64_t begin = 0, end = kToTheEnd, step = 1;
  static constexpr int64_t kToTheEnd = int64_t{1} << 48;  ///< no axis is longer
  bool operator==(const AxisPart&) const = default;
};

/// What some Slices in a row take of a value.
struct SlicedParts {
  Ref data;
  std::map<int64_t, AxisPart> parts;  ///< by axis, without those that are taken whole
  std::vector<const Node*> nodes;
  std::vector<Ref> constants;
};

/// The parts that one Slice takes by axis. An axis of known size is counted from its first element.
std::optional<std::map<int64_t, AxisPart>> parts_of(Side& side, Shapes& shapes, Ref output) {
  constexpr int kListsAsOperands = 10;
  if (output.value->producer()->opset() < kListsAsOperands) return std::nullopt;
  std::array<std::optional<std::vector<int64_t>>, 4> lists;  // starts, ends, axes, steps
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const Ref given = side.operand(output, i + 1);
    if (!given) continue;
    lists[i] = integers_of(side, given);
    if (!lists[i]) return std::nullopt;
  }
  const auto& [starts, ends, axes, steps] = lists;
  if (!starts || !ends || starts->size() != ends->size() || (axes && axes->size() != starts->size()) ||
      (steps && steps->size() != starts->size()))
    return std::nullopt;
  const auto dims = shapes.of(side.operand(output, 0));
  std::map<int64_t, AxisPart> out;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    int64_t axis = axes ? (*axes)[i] : static_cast<int64_t>(i);
    if (axis < 0 && dims) axis += std::ssize(*dims);
    AxisPart part{(*starts)[i], std::min((*ends)[i], AxisPart::kToTheEnd), steps ? (*steps)[i] : 1};
    const int64_t size = dims && axis >= 0 && axis < std::ssize(*dims) ? (*dims)[as_size(axis)] : -1;
    if (size >= 0 && part.step > 0) {
      part.begin = std::clamp<int64_t>(part.begin < 0 ? part.begin + size : part.begin, 0, size);
      part.end = std::clamp<int64_t>(part.end < 0 ? part.end + size : part.end, 0, size);
      if (part == AxisPart{0, size, 1}) part.end = AxisPart::kToTheEnd;
    }
    if (axis < 0 || out.contains(axis)) return std::nullopt;
    out.emplace(axis, part);
  }
  return out;
}

/// Adds what a Slice takes in front of others. Both parts of one axis are counted from its first element, or this fails.
bool add_upstream(std::map<int64_t, AxisPart>& parts, const std::map<int64_t, AxisPart>& upstream) {
  for (const auto& [axis, inner] : upstream) {
    if (inner == AxisPart()) continue;
    const auto [found, is_new] = parts.try_emplace(axis, inner);
    AxisPart& outer = found->second;
    if (is_new || outer == AxisPart()) {
      outer = inner;
      continue;
    }
    const bool is_counted = inner.step == 1 && outer.step == 1 && std::min({inner.begin, inner.end, outer.begin, outer.end}) >= 0 &&
                            std::max(inner.begin, outer.begin) < AxisPart::kToTheEnd;
    if (!is_counted) return false;
    outer.end = outer.end == AxisPart::kToTheEnd ? inner.end : std::min(inner.end, inner.begin + outer.end);
    outer.begin += inner.begin;
  }
  return true;
}

SlicedParts sliced(Side& side, Shapes& shapes, Ref output) {
  SlicedParts out{output, {}, {}, {}};
  for (;;) {
    const Node* const node = out.data.value->producer();
    const bool is_slice = node != nullptr && node->is("Slice") && node->domain().empty() && side.operand(out.data, 0);
    const auto parts = is_slice ? parts_of(side, shapes, out.data) : std::nullopt;
    auto together = out.parts;
    if (!parts || !add_upstream(together, *parts)) break;
    out.parts = std::move(together);
    out.nodes.push_back(node);
    for (std::size_t i = 1; i < node->inputs().size(); ++i) {
      if (const Ref list = side.operand(out.data, i)) out.constants.push_back(list);
    }
    out.data = side.operand(out.data, 0);
  }
  std::erase_if(out.parts, [](const auto& entry) { return entry.second == AxisPart(); });
  for (auto& [axis, part] : out.parts) {
    if (part.step == 1 && part.begin >= part.end && part.end >= 0) part = {0, 0, 1};  // empty, wherever
  }
  return out;
}

}  // namespace

Found examine_slices(Sides& sides, const Claim& claim) {
  if (!claim.a.value->producer()->is("Slice") || !claim.b.value->producer()->is("Slice")) return std::nullopt;
  const SlicedParts a = sliced(sides.a, sides.shapes_a, claim.a), b = sliced(sides.b, sides.shapes_b, claim.b);
  if (a.nodes.size() == b.nodes.size() || a.nodes.empty() || b.nodes.empty() || a.parts != b.parts) return std::nullopt;
  Look look;
  look.account(a, b);
  look.rewritten.push_back(b.nodes.front());
  look.claims.push_back({a.data, b.data, {}, {}, {}, {}, b.nodes.back()});
  return look;
}

}  // namespace relayout::proof
