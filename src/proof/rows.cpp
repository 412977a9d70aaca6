// Compares nodes in a row that only move elements or change dims or types, where the models do the same by fewer or more.

#include "base/positions.h"
#include "model/node.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "proof/attributes.h"
#include "proof/claim.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::proof {

namespace {

constexpr std::size_t kLongest = 16;

/// Nodes of one kind in a row, from the last one upstream, and what they do together to the value in front of them.
struct Row {
  Ref base;
  std::vector<const Node*> nodes;
  std::vector<const Node*> passed;  ///< between them: nodes that pass their operand on as it is
  std::vector<Ref> constants;
  Dims permutation;                  ///< of Transposes
  DataType type;                     ///< of Casts: that of the result
  std::optional<Dims> request = {};  ///< of reshapes: what the last one requests, if that does not depend on the dims of its operand
  bool keeps_dims = false;           ///< of reshapes: the result certainly has the dims of `base`
  /// Of Transposes, Squeezes and Unsqueezes: for each axis of the result, that of `base`, or −1 for a new one; and those that are taken.
  std::optional<Dims> moved = {};
  Dims squeezed = {};
};

/// The node that makes a value of a row; nullptr if it does more than this row's kind.
const Node* maker_of(const Side& side, Ref at) {
  const Node* const node = at ? at.value->producer() : nullptr;
  const bool is_plain = node != nullptr && node->domain().empty() && at.value->output_index() == 0 && side.operand(at, 0);
  return is_plain ? node : nullptr;
}

/// Adds a node, and continues upstream of it and of those that do nothing.
void add(Side& side, Shapes& shapes, const Node& node, Row& row) {
  row.nodes.push_back(&node);
  row.base = side.resolve(side.operand(row.base, 0));
  while (row.base && row.passed.size() < kLongest) {
    if (const Ref inside = of_taken_branch(side, row.base)) {
      row.passed.push_back(row.base.value->producer());
      row.base = side.resolve(inside);
      continue;
    }
    const auto index = operand_passed_on(side, shapes, row.base);
    if (!index) return;
    const Node& idle = *row.base.value->producer();
    row.passed.push_back(&idle);
    for (std::size_t i = 0; i < idle.inputs().size(); ++i) {
      if (const Ref other = i == *index ? Ref() : side.operand(row.base, i)) row.constants.push_back(other);
    }
    row.base = side.resolve(side.operand(row.base, *index));
  }
}

Row transposes(Side& side, Shapes& shapes, Ref result) {
  Row out{result, {}, {}, {}, {}, DataType::undefined};
  while (out.nodes.size() < kLongest) {
    const Node* const node = maker_of(side, out.base);
    if (node == nullptr || !node->is("Transpose")) break;
    Dims permutation = written_permutation(*node, out.base.call);
    const auto dims = permutation.empty() && !Attributes(*node).has("perm") ? shapes.of(out.base) : std::nullopt;
    for (std::size_t axis = dims ? dims->size() : 0; axis-- > 0;) permutation.push_back(static_cast<int64_t>(axis));
    if (permutation.empty() || (!out.nodes.empty() && permutation.size() != out.permutation.size())) break;
    const auto rank = std::ssize(permutation);
    if (std::ranges::any_of(permutation, [&](int64_t axis) { return axis < 0 || axis >= rank; })) break;
    Dims both = permutation;
    for (std::size_t i = 0; i < both.size() && !out.nodes.empty(); ++i) both[i] = permutation[as_size(out.permutation[i])];
    out.permutation = std::move(both);
    add(side, shapes, *node, out);
  }
  return out;
}

/// Casts of which all but the last lose nothing.
Row casts(Side& side, Shapes& shapes, Ref result) {
  Row out{result, {}, {}, {}, {}, side.type_of(result)};
  while (out.nodes.size() < kLongest) {
    const Node* const node = maker_of(side, out.base);
    if (node == nullptr || !has_trait(*node, Trait::casts)) break;
    const Ref operand = side.operand(out.base, 0);
    if (!out.nodes.empty() && !holds_all(side.type_of(out.base), side.type_of(operand))) break;
    add(side, shapes, *node, out);
  }
  return out;
}

/// What a Reshape requests, where that does not depend on the dims of its operand. One dim that is computed beside others that are not 0
/// is the one that the number of elements tells.
std::optional<Dims> free_request(Side& side, Ref result, const Node& node) {
  const Ref given = node.is("Reshape") ? side.operand(result, 1) : Ref();
  const AttributeReader attributes(node, result.call);
  const bool copies = attributes.integer("allowzero", 0) == 0;
  if (!given || attributes.is_open()) return std::nullopt;
  if (side.constant(given)) {
    auto request = integers_of(side, given);
    return request && copies && std::ranges::find(*request, 0) != request->end() ? std::nullopt : std::move(request);
  }
  const auto contents = side.partial_contents(given);
  if (!contents || contents->values.type() != DataType::int64 || std::ranges::count(contents->certain, false) != 1) return std::nullopt;
  Dims out;
  for (std::size_t i = 0; i < contents->certain.size(); ++i) {
    out.push_back(contents->certain[i] ? contents->values.data<int64_t>()[i] : -1);
    if (contents->certain[i] && out.back() <= 0) return std::nullopt;
  }
  return out;
}

/// Whether an Unsqueeze adds the axes that a Squeeze upstream takes, which count in the same dims.
bool adds_what_is_taken(Side& side, const Node& last, Ref result, const Node& first, Ref between) {
  if (!last.is("Unsqueeze") || !first.is("Squeeze")) return false;
  auto added = written_axes(side, result), taken = written_axes(side, between);
  if (!added || !taken || taken->empty()) return false;
  std::ranges::sort(*added);
  std::ranges::sort(*taken);
  return *added == *taken;
}

/// Whether a request gives a value back the dims that it has: the one dim that is found is what remains of the elements.
bool requests_own_dims(const Dims& request, const std::optional<Dims>& dims) {
  if (!dims || dims->size() != request.size() || std::ranges::count(request, -1) > 1) return false;
  return std::ranges::equal(request, *dims, [](int64_t wanted, int64_t dim) { return wanted == -1 || (wanted > 0 && wanted == dim); });
}

/// Takes axes that are counted in the result of a node to those of its operand: −1 for one that the node adds.
std::optional<std::vector<int64_t>> axes_of_operand(Side& side, Shapes& shapes, Ref output) {
  const Node& node = *output.value->producer();
  if (!node.is("Transpose") && !node.is("Squeeze") && !node.is("Unsqueeze")) return std::nullopt;
  const auto dims = shapes.of(side.operand(output, 0));
  std::vector<int64_t> out;
  if (node.is("Transpose")) {
    out = written_permutation(node, output.call);
    const bool is_written = !out.empty() || Attributes(node).has("perm");
    for (std::size_t axis = dims && !is_written ? dims->size() : 0; axis-- > 0;) out.push_back(static_cast<int64_t>(axis));
    std::vector<int64_t> sorted = out;
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i] != static_cast<int64_t>(i)) return std::nullopt;
    }
    return out.empty() ? std::nullopt : std::optional(out);
  }
  auto axes = written_axes(side, output);
  if (!axes || axes->empty() || !dims) return std::nullopt;
  const bool adds = node.is("Unsqueeze");
  const int64_t rank = std::ssize(*dims), longest = adds ? rank + std::ssize(*axes) : rank;
  for (int64_t& axis : *axes) {
    axis += axis < 0 ? longest : 0;
    if (axis < 0 || axis >= longest || std::ranges::count(*axes, axis) > 1) return std::nullopt;
  }
  int64_t kept = 0;
  for (int64_t axis = 0; axis < longest; ++axis) {
    const bool is_named = std::ranges::find(*axes, axis) != axes->end();
    if (adds) out.push_back(is_named ? -1 : kept);
    if (!adds && !is_named) out.push_back(axis);
    kept += is_named ? 0 : 1;
  }
  return out;
}

/// Whether a node keeps the elements in their order: a reshape, or a Transpose that moves axes of one element alone.
bool keeps_order(Side& side, Shapes& shapes, Ref output) {
  const Node& node = *output.value->producer();
  if (!node.is("Transpose")) return is_reshaping(node);
  const auto dims = shapes.of(side.operand(output, 0));
  auto axes = dims ? axes_of_operand(side, shapes, output) : std::nullopt;
  if (!axes || axes->size() != dims->size()) return false;
  std::erase_if(*axes, [&](int64_t axis) { return element_at(*dims, axis) == 1; });
  return std::ranges::is_sorted(*axes);
}

/// What a Reshape requests, in the order in which the Transpose downstream of it leaves the axes.
std::optional<Dims> turned_request(Side& side, Shapes& shapes, Ref transposed, Ref reshaped, const Node& reshape) {
  const auto request = free_request(side, reshaped, reshape);
  const auto axes = request ? axes_of_operand(side, shapes, transposed) : std::nullopt;
  if (!axes || axes->size() != request->size() || std::ranges::find(*request, 0) != request->end()) return std::nullopt;
  Dims out;
  for (const int64_t axis : *axes) out.push_back(element_at(*request, axis));
  return out;
}

Row reshapes(Side& side, Shapes& shapes, Ref result) {
  Row out{result, {}, {}, {}, {}, DataType::undefined};
  bool has_reshape = false;
  while (out.nodes.size() < kLongest) {
    const Node* const node = maker_of(side, out.base);
    if (node == nullptr || !keeps_order(side, shapes, out.base)) break;
    // The shortest row that does nothing is one.
    if (out.keeps_dims) break;
    if (out.nodes.empty()) out.request = free_request(side, result, *node);
    if (out.nodes.size() == 1 && out.nodes.front()->is("Transpose")) out.request = turned_request(side, shapes, result, out.base, *node);
    const bool is_back = out.nodes.size() == 1 && adds_what_is_taken(side, *out.nodes.front(), result, *node, out.base);
    for (std::size_t i = 1; i < node->inputs().size(); ++i) {
      const Ref other = side.operand(out.base, i);
      const Node* const maker = other && !side.constant(other) ? other.value->producer() : nullptr;
      if (maker != nullptr) out.passed.push_back(maker);
      if (other && maker == nullptr) out.constants.push_back(other);
    }
    has_reshape = has_reshape || is_reshaping(*node);
    add(side, shapes, *node, out);
    if (!out.base) break;
    const auto before = certain_dims(shapes, out.base), after = before ? certain_dims(shapes, result) : std::nullopt;
    out.keeps_dims = is_back || (has_reshape && before && after && *before == *after) ||
                     (out.request && requests_own_dims(*out.request, shapes.of(out.base)));
  }
  // Transposes alone are compared as such.
  return has_reshape ? out : Row{result, {}, {}, {}, {}, DataType::undefined};
}

/// Whether axes that were moved are back in their places.
bool is_in_place(const Row& row) {
  if (!row.moved || !row.squeezed.empty()) return false;
  for (std::size_t i = 0; i < row.moved->size(); ++i) {
    if ((*row.moved)[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

/// Transposes, Squeezes and Unsqueezes of axes that are known.
Row axes_in_a_row(Side& side, Shapes& shapes, Ref result) {
  Row out{result, {}, {}, {}, {}, DataType::undefined};
  while (out.nodes.size() < kLongest) {
    const Node* const node = maker_of(side, out.base);
    const auto from = node != nullptr ? axes_of_operand(side, shapes, out.base) : std::nullopt;
    if (!from || is_in_place(out)) break;
    const auto carry = [&](Dims& axes) {
      for (int64_t& axis : axes) axis = axis < 0 ? axis : element_at(*from, axis);
    };
    if (!out.moved) {
      out.moved = *from;
    } else {
      carry(*out.moved);
    }
    carry(out.squeezed);
    std::erase(out.squeezed, -1);  // an axis that is added and taken again
    const auto dims = shapes.of(side.operand(out.base, 0));
    for (int64_t axis = 0; dims && node->is("Squeeze") && axis < std::ssize(*dims); ++axis) {
      if (std::ranges::find(*from, axis) == from->end()) out.squeezed.push_back(axis);
    }
    std::ranges::sort(out.squeezed);
    if (const Ref given = side.operand(out.base, 1)) out.constants.push_back(given);
    add(side, shapes, *node, out);
  }
  return out;
}

bool is_identity(const Row& row, Side& side) {
  if (!row.base || row.nodes.empty()) return false;
  if (!row.permutation.empty()) return std::ranges::is_sorted(row.permutation);
  if (row.moved) return is_in_place(row);
  if (row.type != DataType::undefined) {
    // The last one loses nothing either: it gives back what the others held.
    return row.nodes.size() > 1 && side.type_of(row.base) == row.type;
  }
  return row.keeps_dims;
}

/// The claim about what is in front of two rows that do the same.
Found same_effect(const Claim& claim, const Row& a, const Row& b, bool is_undone) {
  Look look;
  look.bypassed = a.passed;
  look.nodes_b = b.passed;
  if (is_undone) {
    look.bypassed.insert(look.bypassed.end(), a.nodes.begin(), a.nodes.end());
    look.nodes_b.insert(look.nodes_b.end(), b.nodes.begin(), b.nodes.end());
    look.constants_a = a.constants;
    look.constants_b = b.constants;
    look.next = claim;
    look.next->a = a.base;
    look.next->b = b.base;
    return look;
  }
  look.account(a, b);
  look.rewritten.push_back(b.nodes.front());
  look.claims.push_back({a.base, b.base, {}, {}, {}, {}, b.nodes.back()});
  look.claims.back().as_numbers = claim.as_numbers;  // elements are moved, or of one type in both models
  return look;
}

}  // namespace

Found examine_rows(Sides& sides, const Claim& claim) {
  const auto examine_kind = [&](const Row& a, const Row& b) -> Found {
    if (!a.base || !b.base || a.nodes.size() == b.nodes.size()) return std::nullopt;
    const bool undone_a = is_identity(a, sides.a), undone_b = is_identity(b, sides.b);
    if (undone_a || undone_b) {
      const Row none{undone_a ? claim.b : claim.a, {}, {}, {}, {}, DataType::undefined};
      return undone_a ? same_effect(claim, a, undone_b ? b : none, true) : same_effect(claim, none, b, true);
    }
    if (a.nodes.empty() || b.nodes.empty()) return std::nullopt;
    // Affines between nodes of one model alone are followed by other rules, but for moves of axes, which what is upstream does not change.
    const Node *const before_a = a.base.value->producer(), *const before_b = b.base.value->producer();
    const bool are_apart = !a.moved && before_a != nullptr && before_b != nullptr && !same_operator(*before_a, *before_b);
    if (are_apart) return std::nullopt;
    const bool is_same =
        a.permutation == b.permutation && a.type == b.type && a.request == b.request && a.moved == b.moved && a.squeezed == b.squeezed;
    const bool is_known = !a.permutation.empty() || a.type != DataType::undefined || a.request || a.moved;
    return is_same && is_known ? same_effect(claim, a, b, false) : std::nullopt;
  };
  if (auto found = examine_kind(transposes(sides.a, sides.shapes_a, claim.a), transposes(sides.b, sides.shapes_b, claim.b))) return found;
  if (auto found = examine_kind(casts(sides.a, sides.shapes_a, claim.a), casts(sides.b, sides.shapes_b, claim.b))) return found;
  if (auto found = examine_kind(reshapes(sides.a, sides.shapes_a, claim.a), reshapes(sides.b, sides.shapes_b, claim.b))) return found;
  return examine_kind(axes_in_a_row(sides.a, sides.shapes_a, claim.a), axes_in_a_row(sides.b, sides.shapes_b, claim.b));
}

}  // namespace relayout::proof
