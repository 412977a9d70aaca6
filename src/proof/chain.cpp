// Collects the affines, and the operators that they may pass, upstream of the data operand of a Conv, Gemm or MatMul (at most 64 nodes,
// 2^20 lanes), and composes them into one affine per input channel. Affines that would enlarge the operand are refused.
#include "proof/chain.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "ops/partial_dims.h"
#include "proof/affine_steps.h"
#include "proof/cancelling_transposes.h"
#include "proof/identities.h"
#include "proof/linear.h"
#include "proof/passable.h"
#include "proof/shapes.h"
#include "proof/side.h"
#include "relayout/graph.h"

namespace relayout::proof {
namespace {

constexpr std::size_t kLongestChain = 64;

/// Whether a step does not enlarge the data operand, by a constant of more dims or of more channels than its own operand.
bool keeps_shape(Shapes& shapes, const Step& step, int64_t data_rank, bool is_direct) {
  if (step.constant_rank == 0) return true;
  const auto dims = shapes.of(step.input);
  const bool fits = dims ? static_cast<int64_t>(dims->size()) >= step.constant_rank : is_direct && step.constant_rank < data_rank;
  if (!fits) return false;
  if (!step.broadcasts || step.lanes.size() == 1) return true;
  const int64_t axis = dims ? from_front(step.axis, static_cast<int64_t>(dims->size())) : -1;
  return axis >= 0 && axis < static_cast<int64_t>(dims->size()) && (*dims)[as_size(axis)] == static_cast<int64_t>(step.lanes.size());
}

}  // namespace

Chain chain_upstream(Side& side, Ref data, bool rounded, Transposes transposes) {
  Chain out;
  out.values.push_back(data);
  std::size_t lanes = 0;
  while (out.links.size() < kLongestChain && lanes < kMostLanes) {
    const Ref at = out.values.back();
    const Node* const node = at.value->producer();
    if (node == nullptr) break;
    Link link{read_step(side, at, rounded), node, at, is_identity(side, at), false, {}};
    const auto inside = side.entered(at);
    const Ref upstream_of_pair = transposes == Transposes::paired ? upstream_of_transposes(side, at, link.others) : Ref();
    link.is_call = inside.has_value();
    link.is_identity = link.is_identity || link.is_call || upstream_of_pair;
    if (!link.step && !link.is_identity && !is_passable(*node)) break;
    const Ref upstream = link.step ? link.step->input : link.is_call ? *inside : upstream_of_pair ? upstream_of_pair : side.operand(at, 0);
    if (!upstream) break;
    if (link.step) lanes += link.step->lanes.size();
    out.links.push_back(std::move(link));
    out.values.push_back(upstream);
  }
  return out;
}

std::optional<Composed> compose_upstream(Side& side, Shapes& shapes, const Chain& chain, std::size_t count, const Linear& linear) {
  int64_t rank = linear.rank;
  if (linear.kind == Linear::Kind::matmul_left || linear.kind == Linear::Kind::matmul_right) {
    const auto dims = shapes.of(linear.data);
    rank = dims ? static_cast<int64_t>(dims->size()) : -1;
  }
  Steps steps;
  std::size_t first_passed = count;
  for (std::size_t i = 0; i < count; ++i) {
    const Link& link = chain.links[i];
    if (!link.step && !link.is_identity) first_passed = std::min(first_passed, i);
    if (!link.step) continue;
    Step step = *link.step;
    if (!keeps_shape(shapes, step, rank, first_passed > i)) return std::nullopt;
    step.constant_rank = 0;
    for (std::size_t k = i; k-- > 0;) {
      const Link& downstream = chain.links[k];
      if (downstream.step || downstream.is_identity) continue;
      if (!push(side, shapes, downstream.output, k == first_passed ? linear.inputs : -1, step)) return std::nullopt;
    }
    steps.push_back(std::move(step));
  }
  return compose(steps, linear.input_axis, linear.inputs, rank, linear.weight.type);
}

}  // namespace relayout::proof
