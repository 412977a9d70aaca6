// Compares the same range of one axis selected by Slice, Split, Gather of one index or Squeeze of one element in the proof, and tells a
// Slice or Split that takes all of its operand.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "proof/claim.h"
#include "proof/examine.h"
#include "proof/shapes.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::proof {
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
    const auto values = constant && constant->dims.empty() ? integers_of(side_, index) : std::nullopt;
    if (!axis || !values || values->size() != 1 || attributes.is_open()) return std::nullopt;
    const int64_t at = values->front() < 0 ? values->front() + axis->second : values->front();
    if (at < 0 || at >= axis->second) return std::nullopt;
    return Selection{{}, axis->first, at, at + 1, axis->second, true, {}, {}};
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
  const auto found = node != nullptr && !node->is("Squeeze") ? SelectionReader(side, shapes).read(output) : std::nullopt;
  return found && !found->is_squeezed && found->begin == 0 && found->end == found->size;
}

bool examine_selection(Sides& sides, const Claim& claim, Look& look) {
  const auto a = SelectionReader(sides.a, sides.shapes_a).read(claim.a);
  const auto b = a ? SelectionReader(sides.b, sides.shapes_b).read(claim.b) : std::nullopt;
  if (!b || !a->takes_same(*b)) return false;
  look.account(*a, *b);
  look.rewritten.push_back(b->nodes.front());
  look.claims.push_back({a->data, b->data, {}, {}, {}, {}, b->nodes.front()});
  return true;
}

}  // namespace relayout::proof
