// Compares nodes that quantize and dequantize, where the models do it in other places, or in one of them alone.

#include <cmath>

#include "base/positions.h"
#include "ops/loops/dtypes.h"
#include "ops/operands.h"
#include "proof/attributes.h"
#include "proof/claim.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "proof/tensors.h"
#include "relayout/graph.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::proof {

// Integers that are dequantized and quantized again.
namespace {

/// The node of the default domain that makes a value, if it is of this operator.
const Node* maker_of(Ref at, const char* op) {
  const Node* const node = at.value->producer();
  return node != nullptr && node->is(op) && node->domain().empty() ? node : nullptr;
}

/// The integers upstream of a DequantizeLinear and a QuantizeLinear by the same scales and zero points; empty where there are none.
/// x · s / s differs from x by less than half a step, where no product leaves the normal numbers of f32.
Undone upstream_of_quantizers(Side& side, Ref result) {
  const Node* const there = maker_of(result, "QuantizeLinear");
  const Ref between = there != nullptr ? side.resolve(side.operand(result, 0)) : Ref();
  const Node* const back = between ? maker_of(between, "DequantizeLinear") : nullptr;
  if (back == nullptr || !side.operand(between, 0) || there->inputs().size() != back->inputs().size()) return {};
  Undone out{side.operand(between, 0), {there, back}, {}};
  // Zero points have the type of the integers.
  const Ref zero_there = side.operand(result, 2), zero_back = side.operand(between, 2);
  const DataType type = zero_back ? side.type_of(zero_back) : side.type_of(out.value);
  const DataType made = zero_there ? side.type_of(zero_there) : DataType::uint8;
  if (!kIntegerTypes.has(type) || traits(type).bits > 8 || made != type) return {};
  for (std::size_t i = 1; i < there->inputs().size(); ++i) {
    const Ref of_there = side.operand(result, i), of_back = side.operand(between, i);
    const auto a = of_there ? side.contents(of_there) : std::nullopt, b = of_back ? side.contents(of_back) : std::nullopt;
    const auto apart = a && b ? difference(*a, *b) : std::nullopt;
    if (!apart || apart->values > 0) return {};
    constexpr double kLeast = 1e-30, kMost = 1e30;
    const auto is_usual = [](double scale) { return scale >= kLeast && scale <= kMost; };
    if (i == 1 && (a->type != DataType::float32 || !std::ranges::all_of(relayout::reals_of(contiguous(a->load())), is_usual))) return {};
    out.constants.push_back(of_there);
    out.constants.push_back(of_back);
  }
  const AttributeReader of_there(*there, result.call), of_back(*back, between.call);
  for (const char* const name : {"axis", "block_size"}) {
    const int64_t otherwise = std::string_view(name) == "axis" ? 1 : 0;
    if (of_there.integer(name, otherwise) != of_back.integer(name, otherwise)) return {};
  }
  if (of_there.integer("precision", 0) != 0 || of_there.integer("output_dtype", 0) != 0 || of_there.is_open() || of_back.is_open())
    return {};
  return out;
}

}  // namespace

Found examine_requantized(Sides& sides, const Claim& claim) {
  for (const bool is_first : {true, false}) {
    Undone undone = upstream_of_quantizers(is_first ? sides.a : sides.b, is_first ? claim.a : claim.b);
    if (!undone.value) continue;
    const Node* const other = (is_first ? claim.b : claim.a).value->producer();
    const Node* const before = undone.value.value->producer();
    // Where both models requantize, their nodes are compared as they stand.
    const bool is_alone = other == nullptr || before == nullptr || !other->is("QuantizeLinear") || before->is("QuantizeLinear");
    if (!is_alone) continue;
    Look look;
    (is_first ? look.bypassed : look.nodes_b) = std::move(undone.nodes);
    (is_first ? look.constants_a : look.constants_b) = std::move(undone.constants);
    look.next = claim;
    (is_first ? look.next->a : look.next->b) = undone.value;
    return look;
  }
  return std::nullopt;
}

// Weights that are transposed before they are quantized, or after it.
namespace {

/// Whether a quantizing operator works along the same logical axis downstream (`b`) as upstream (`a`) of a permutation.
bool same_axis(const Node& a, const Call* call_a, const Node& b, const Call* call_b, const std::vector<int64_t>& permutation,
               const Dims& scale) {
  if (scale.size() > 1) return false;  // blocks
  if (element_count(scale) == 1) return true;
  const auto rank = static_cast<int64_t>(permutation.size());
  const auto axis_of = [&](const Node& node, const Call* call) {
    const int64_t axis = AttributeReader(node, call).integer("axis", 1);
    return axis < 0 ? axis + rank : axis;
  };
  const int64_t downstream = axis_of(b, call_b);
  return downstream >= 0 && downstream < rank && permutation[as_size(downstream)] == axis_of(a, call_a);
}

}  // namespace

Found examine_moved_quantizer(Sides& sides, const Claim& claim) {
  const Node* const transpose = claim.a.value->producer();
  const Node* const node_b = claim.b.value->producer();
  if (transpose == nullptr || node_b == nullptr || !(node_b->is("DequantizeLinear") || node_b->is("QuantizeLinear"))) return std::nullopt;
  const auto permutation = written_permutation(*transpose, claim.a.call);
  const Ref upstream = permutation.empty() ? Ref{} : sides.a.operand(claim.a, 0);
  const Node* const node_a = upstream ? upstream.value->producer() : nullptr;
  if (node_a == nullptr || !same_operator(*node_a, *node_b)) return std::nullopt;
  const Ref of_a = sides.a.operand(upstream, 0), of_b = sides.b.operand(claim.b, 0), scale = sides.b.operand(claim.b, 1);
  auto data_a = of_a ? sides.a.contents(of_a) : std::nullopt;
  const auto data_b = of_b ? sides.b.contents(of_b) : std::nullopt;
  const auto scales = scale ? sides.b.contents(scale) : std::nullopt;
  Dims sorted = permutation;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) return std::nullopt;
  }
  if (!data_a || !data_b || !scales || data_a->type == DataType::string || data_a->dims.size() != permutation.size()) return std::nullopt;
  data_a->data = data_a->data.permuted(permutation);
  data_a->dims = data_a->data.dims();
  const auto found = difference(*data_a, *data_b);
  if (!found || found->values != 0 || !same_axis(*node_a, upstream.call, *node_b, claim.b.call, permutation, scales->dims))
    return std::nullopt;
  if (!different_attributes(sides.a, upstream, sides.b, claim.b, "axis").empty()) return std::nullopt;

  Look look;
  look.bypassed.push_back(transpose);
  look.nodes_a.push_back(node_a);
  look.nodes_b.push_back(node_b);
  look.constants_a.push_back(of_a);
  look.constants_b.push_back(of_b);
  look.tensors.emplace_back(of_b.value, true);
  examine_operands(sides, {upstream, claim.b, {}, {}, {}, {}, claim.reader}, 1, look);
  return look;
}

// Roundings in the second model alone.
namespace {

/// Whether a QuantizeLinear cuts off exactly the numbers below zero, as a Relu upstream of it would.
bool cuts_off_negatives(Side& side, Ref integers) {
  const Ref zero = side.operand(integers, 2);
  const auto known = zero ? side.contents(zero) : std::nullopt;
  if (!known) return !zero;
  const Tensor zeros = contiguous(known->load());
  std::vector<double> numbers(as_size(zeros.element_count()));
  load(zeros.type(), zeros.bytes(), 1, zeros.element_count(), numbers.data());
  const bool is_signed = known->type == DataType::int8 || known->type == DataType::int16;
  const double lowest = is_signed ? -std::ldexp(1.0, traits(known->type).bits - 1) : 0;
  return std::ranges::all_of(numbers, [&](double number) { return number == lowest; });
}

}  // namespace

Found examine_rounding(Sides& sides, const Claim& claim) {
  const Node* const node_a = claim.a.value->producer();
  const Node* const back = claim.b.value->producer();
  if (sides.rounds_first || back == nullptr || !back->is("DequantizeLinear")) return std::nullopt;
  if (node_a != nullptr && node_a->is("DequantizeLinear")) return std::nullopt;
  const Ref integers = sides.b.resolve(sides.b.operand(claim.b, 0));
  const Node* const there = integers ? integers.value->producer() : nullptr;
  if (there == nullptr || !there->is("QuantizeLinear") || sides.b.constant(integers)) return std::nullopt;
  const Ref rounded = sides.b.operand(integers, 0);
  if (!rounded) return std::nullopt;
  Look look;
  look.issues.push_back(issue_of_node(sides, Unexplained::Kind::node_added, *there, false, "rounds a value that was not rounded"));
  for (std::size_t i = 1; i < 3; ++i) {
    const Ref of_there = sides.b.resolve(sides.b.operand(integers, i)), of_back = sides.b.resolve(sides.b.operand(claim.b, i));
    if (!of_there || !of_back || !sides.b.constant(of_there) || !sides.b.constant(of_back)) continue;
    look.constants_b.push_back(of_there);
    look.constants_b.push_back(of_back);
    const auto apart = difference(*sides.b.contents(of_there), *sides.b.contents(of_back));
    if (!apart || apart->values > 0) {
      look.issues.push_back(issue_of_node(sides, Unexplained::Kind::node_added, *back, false,
                                          "dequantizes by other numbers than " + there->label() + " quantizes by"));
    }
  }
  look.nodes_b.push_back(there);
  look.nodes_b.push_back(back);
  const Node* const before = sides.b.resolve(rounded) ? sides.b.resolve(rounded).value->producer() : nullptr;
  const bool is_absorbed = node_a != nullptr && node_a->is("Relu") && (before == nullptr || !before->is("Relu"));
  if (is_absorbed && cuts_off_negatives(sides.b, integers)) {
    look.bypassed.push_back(node_a);
    look.claims.push_back({sides.a.operand(claim.a, 0), rounded, {}, {}, {}, {}, there});
  } else {
    look.claims.push_back({claim.a, rounded, {}, {}, {}, {}, there});
  }
  return look;
}

}  // namespace relayout::proof
