// Reads a node as factor and shift per channel, and composes consecutive ones.
// Composition uses extended precision, so that stored values can be judged to half a unit in the last place.

#include "proof/affine_steps.h"

#include <cmath>

#include "base/positions.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/partial_dims.h"
#include "proof/side.h"
#include "proof/tensors.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

/// A lane takes 64 bytes; the largest vocabularies have this many entries.
constexpr int64_t kMostChannels = int64_t{1} << 18;

bool is_binary(const Node& node) {
  return has_trait(node, Trait::affine) && node.inputs().size() == 2 && node.input(0) != nullptr && node.input(1) != nullptr;
}

/// Whether a BatchNormalization uses the stored statistics, as each opset expresses it.
bool is_inference(const Node& node, const AttributeReader& attributes) {
  const int64_t opset = node.opset();
  if (opset >= 14) return attributes.integer("training_mode", 0) == 0;
  if (opset < 9 && attributes.integer("spatial", 1) == 0) return false;
  if (opset < 7) return attributes.integer("is_test", 0) != 0;
  return std::ranges::count_if(node.outputs(), [](const Value* output) { return output != nullptr; }) == 1;
}

/// ONNX BatchNormalization: y = scale · (x − mean) / √(var + ε) + B.
std::optional<Step> read_batch_norm(Side& side, Ref output) {
  const Node& node = *output.value->producer();
  const AttributeReader attributes(node, output.call);
  if (output.value->output_index() != 0 || node.input(0) == nullptr) return std::nullopt;
  if (!is_inference(node, attributes)) return std::nullopt;
  std::array<std::vector<double>, 4> parameters;
  for (std::size_t i = 0; i < 4; ++i) {
    auto values = reals_of(side, side.operand(output, i + 1), kMostChannels);
    if (!values || (i > 0 && values->size() != parameters[0].size())) return std::nullopt;
    parameters[i] = std::move(*values);
  }
  const long double epsilon = attributes.real("epsilon", 1e-5F);
  if (attributes.is_open()) return std::nullopt;
  // Roundings of γ / √(σ² + ε): half of the error of the sum, the root, possibly a reciprocal, a product or quotient. Then the product with
  // the weight.
  constexpr double kRoundings = 4.5;
  Step step{&node, output.call, side.operand(output, 0), {1, false}, {}, 0, false, kRoundings};
  for (std::size_t c = 0; c < parameters[0].size(); ++c) {
    const long double factor = parameters[0][c] / std::sqrt(static_cast<long double>(parameters[3][c]) + epsilon);
    const long double offset = factor * parameters[2][c];
    const long double beta = parameters[1][c];
    step.lanes.push_back({factor, beta - offset, std::abs(offset) + std::abs(beta), 0});
  }
  return step;
}

/// Axis of the constant's channels in the result. Empty if it varies along more than one axis or is not broadcast.
std::optional<Axis> axis_of(const Node& node, const AttributeReader& attributes, const Dims& dims, std::size_t constant_at) {
  const auto wide = std::ranges::find_if(dims, [](int64_t dim) { return dim != 1; });
  if (wide != dims.end() && std::find_if(wide + 1, dims.end(), [](int64_t dim) { return dim != 1; }) != dims.end()) return std::nullopt;
  const int64_t position = wide == dims.end() ? 0 : wide - dims.begin();
  const Axis suffix{static_cast<int64_t>(dims.size()) - 1 - position, true};
  if (node.opset() >= 7 || attributes.integer("broadcast", 0) == 0) return suffix;
  // Before opset 7, only the second operand is broadcast, from `axis` on or as a suffix.
  if (constant_at != 1) return std::nullopt;
  if (!attributes.has("axis")) return suffix;
  const int64_t axis = attributes.integer("axis", 0);
  if (axis < 0) return std::nullopt;
  return Axis{axis + position, false};
}

Lane lane_of(Arithmetic arithmetic, double constant, std::size_t constant_at, double slack) {
  const long double c = constant;
  if (arithmetic == Arithmetic::multiply) return {c, 0, 0, 0};
  if (arithmetic == Arithmetic::divide) return {1 / c, 0, 0, 0};
  if (arithmetic == Arithmetic::add) return {1, c, std::abs(c), slack};
  return constant_at == 0 ? Lane{-1, c, std::abs(c), slack} : Lane{1, -c, std::abs(c), slack};
}

std::optional<Step> read_binary(Side& side, Ref output, bool rounded) {
  const Node& node = *output.value->producer();
  std::optional<Constant> constant;
  std::size_t at = 1;
  for (; at < 2; --at) {
    constant = side.constant(side.operand(output, at));
    if (constant) break;
  }
  const Arithmetic arithmetic = arithmetic_of(node);
  if (!constant || !is_real(constant->type) || (at == 0 && arithmetic == Arithmetic::divide)) return std::nullopt;
  const AttributeReader attributes(node, output.call);
  const auto axis = axis_of(node, attributes, constant->dims, at);
  if (!axis || attributes.is_open() || element_count(constant->dims) > kMostChannels) return std::nullopt;
  const std::vector<double> values = to_doubles(constant->load());
  Step step{&node,
            output.call,
            side.operand(output, 1 - at),
            *axis,
            {},
            static_cast<int64_t>(constant->dims.size()),
            true,
            arithmetic == Arithmetic::multiply || arithmetic == Arithmetic::divide ? 1.0 : 0.0};
  for (const double value : values)
    step.lanes.push_back(lane_of(arithmetic, value, at, rounded ? ulp(value, stored_type(*constant)) / 2 : 0));
  return step;
}

/// NaN (of a variance below −ε) equals NaN here.
bool same_number(long double x, long double y) {
  return x == y || (std::isnan(x) && std::isnan(y));
}

}  // namespace

Lane compose(const Lane& outer, const Lane& inner) {
  return {outer.factor * inner.factor, outer.factor * inner.shift + outer.shift, std::abs(outer.factor) * inner.magnitude + outer.magnitude,
          std::abs(outer.factor) * inner.slack + outer.slack};
}

bool same_lanes(const Step& a, const Step& b) {
  const bool same_axis = a.lanes.size() == 1 || (a.axis.index == b.axis.index && a.axis.from_back == b.axis.from_back);
  return same_axis && a.constant_rank == b.constant_rank && a.broadcasts == b.broadcasts &&
         std::ranges::equal(a.lanes, b.lanes,
                            [](const Lane& x, const Lane& y) { return same_number(x.factor, y.factor) && same_number(x.shift, y.shift); });
}

std::optional<Step> read_step(Side& side, Ref output, bool rounded) {
  const Node* const node = output.value->producer();
  if (node == nullptr) return std::nullopt;
  if (node->is("BatchNormalization")) return read_batch_norm(side, output);
  if (arithmetic_of(*node) == Arithmetic::negate && node->input(0) != nullptr)
    return Step{node, output.call, side.operand(output, 0), {}, {{-1, 0, 0, 0}}, 0, false, 0};
  return is_binary(*node) ? read_binary(side, output, rounded) : std::nullopt;
}

namespace {

/// Whether cancelling shifts round their operand, for a value whose elements are of size 1: the shifts take more than half of the digits of
/// the type. (x + 12582912) − 12582912 rounds a float32 to integers.
bool rounds_its_operand(const Lane& lane, DataType type) {
  const long double largest = std::ldexp(1.0L, (fraction_bits(type) + 1) / 2 + 2);
  return lane.magnitude > largest * std::max(std::abs(lane.factor), std::abs(lane.shift));
}

}  // namespace

std::optional<Composed> compose(const Steps& steps, Axis axis, int64_t channels, int64_t rank, DataType type) {
  Composed out{std::vector<Lane>(as_size(channels)), static_cast<int64_t>(steps.size()), 0};
  for (const Step& step : steps) {
    // Ranks above 1 enlarge a value unless its own rank is known to be enough.
    if (step.constant_rank > std::max<int64_t>(rank, 1)) return std::nullopt;
    out.roundings += step.roundings;
    const bool one_for_all = step.lanes.size() == 1;
    if (!one_for_all && (static_cast<int64_t>(step.lanes.size()) != channels || !is_same(step.axis, axis, rank))) return std::nullopt;
    for (std::size_t c = 0; c < out.lanes.size(); ++c) out.lanes[c] = compose(out.lanes[c], step.lanes[one_for_all ? 0 : c]);
  }
  const auto rounds = [&](const Lane& lane) { return lane.factor != 0 && std::isfinite(lane.factor) && rounds_its_operand(lane, type); };
  if (std::ranges::any_of(out.lanes, rounds)) return std::nullopt;
  return out;
}

}  // namespace relayout::proof
