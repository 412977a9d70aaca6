// Compares a Transpose downstream of the DequantizeLinear or QuantizeLinear of a weight with a weight stored transposed (channels-last),
// and checks that the quantization axis moved along.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/positions.h"
#include "proof/cancelling_transposes.h"
#include "proof/claim.h"
#include "proof/examine.h"
#include "proof/node_differences.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "proof/tensors.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::proof {
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

bool examine_moved_quantizer(Sides& sides, const Claim& claim, Look& look) {
  const Node* const transpose = claim.a.value->producer();
  const Node* const node_b = claim.b.value->producer();
  if (transpose == nullptr || node_b == nullptr || !(node_b->is("DequantizeLinear") || node_b->is("QuantizeLinear"))) return false;
  const auto permutation = written_permutation(*transpose, claim.a.call);
  const Ref upstream = permutation.empty() ? Ref{} : sides.a.operand(claim.a, 0);
  const Node* const node_a = upstream ? upstream.value->producer() : nullptr;
  if (node_a == nullptr || !same_operator(*node_a, *node_b)) return false;
  const Ref of_a = sides.a.operand(upstream, 0), of_b = sides.b.operand(claim.b, 0), scale = sides.b.operand(claim.b, 1);
  auto data_a = of_a ? sides.a.contents(of_a) : std::nullopt;
  const auto data_b = of_b ? sides.b.contents(of_b) : std::nullopt;
  const auto scales = scale ? sides.b.contents(scale) : std::nullopt;
  Dims sorted = permutation;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) return false;
  }
  if (!data_a || !data_b || !scales || data_a->type == DataType::string || data_a->dims.size() != permutation.size()) return false;
  data_a->data = data_a->data.permuted(permutation);
  data_a->dims = data_a->data.dims();
  const auto found = difference(*data_a, *data_b);
  if (!found || found->values != 0 || !same_axis(*node_a, upstream.call, *node_b, claim.b.call, permutation, scales->dims)) return false;
  if (!different_attributes(sides.a, upstream, sides.b, claim.b, "axis").empty()) return false;

  look.bypassed.push_back(transpose);
  look.nodes_a.push_back(node_a);
  look.nodes_b.push_back(node_b);
  look.constants_a.push_back(of_a);
  look.constants_b.push_back(of_b);
  look.tensors.emplace_back(of_b.value, true);
  examine_operands(sides, {upstream, claim.b, {}, {}, {}, {}, claim.reader}, 1, look);
  return true;
}

}  // namespace relayout::proof
