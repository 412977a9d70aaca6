// Reads nodes as affines per channel, collects those upstream of a linear operator, and moves each down to its operand.

#include "proof/chain.h"

#include <cmath>

#include "base/positions.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/partial_dims.h"
#include "proof/linear.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/tensors.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::proof {

// Operators that an affine passes.
namespace {

/// Whether a function of one element commutes with factors, without being an affine itself.
bool passes_factors(const Traits& traits) {
  return traits.has(Trait::homogeneous) && !traits.has(Trait::affine) && !traits.has(Trait::identity);
}

/// Whether the result is the maximum of each window.
bool is_maximum(const Traits& traits) {
  return traits.has(Trait::pools) && traits.has(Trait::exact);
}

bool has_no_shift(const Step& step) {
  return std::ranges::all_of(step.lanes, [](const Lane& lane) { return lane.shift == 0; });
}

bool keeps_order(const Step& step) {
  return std::ranges::all_of(step.lanes, [](const Lane& lane) { return lane.factor >= 0; });
}

bool is_zero(const std::vector<int64_t>& values) {
  return std::ranges::all_of(values, [](int64_t value) { return value == 0; });
}

/// Whether the step has a single lane, or a channel axis before the spatial ones, which keeps its place.
bool is_leading(const Step& step, const std::optional<Dims>& dims) {
  const int64_t rank = dims ? static_cast<int64_t>(dims->size()) : -1;
  const int64_t axis = from_front(step.axis, rank);
  return step.lanes.size() == 1 || axis == 0 || axis == 1;
}

/// Whether every result is a mean of elements of the operand, so that a shift of all elements is a shift of the mean.
bool is_mean(const AttributeReader& attributes) {
  if (attributes.integer("count_include_pad", 0) == 0) return true;
  const std::string padding = attributes.text("auto_pad", "NOTSET");
  return is_zero(attributes.integers("pads")) && (padding == "NOTSET" || padding == "VALID") && attributes.integer("ceil_mode", 0) == 0;
}

bool passes_pad(Side& side, Shapes& shapes, Ref output, const Step& step, const AttributeReader& attributes) {
  const auto pads = paddings(side, output, attributes, shapes.of(side.operand(output, 0)));
  if (!pads) return false;
  const auto rank = static_cast<int64_t>(pads->size() / 2);
  if (step.lanes.size() > 1) {
    const int64_t axis = from_front(step.axis, rank);
    if (axis < 0 || axis >= rank || (*pads)[as_size(axis)] != 0 || (*pads)[as_size(axis + rank)] != 0) {
      return false;
    }
  }
  if (attributes.text("mode", "constant") != "constant") return true;
  const Node& node = *output.value->producer();
  double value = attributes.real("value", 0);
  if (node.opset() >= 11 && side.operand(output, 2)) {
    const auto given = reals_of(side, side.operand(output, 2), 1);
    if (!given || given->size() != 1) return false;
    value = given->front();
  }
  // The affine must map the padding value to itself.
  const auto fixed = static_cast<long double>(value);
  return std::ranges::all_of(step.lanes, [&](const Lane& lane) { return lane.factor * fixed + lane.shift == fixed; });
}

/// Whether a step passes an operator that keeps every axis in place.
bool passes_in_place(Side& side, Shapes& shapes, Ref output, const Step& step) {
  const Node& node = *output.value->producer();
  const AttributeReader attributes(node, output.call);
  bool passes = false;
  const Traits traits = traits_of(node);
  if (passes_factors(traits)) passes = keeps_order(step) && has_no_shift(step);
  if (traits.has(Trait::averages)) passes = is_leading(step, shapes.of(output)) && (has_no_shift(step) || is_mean(attributes));
  if (is_maximum(traits)) passes = is_leading(step, shapes.of(output)) && keeps_order(step) && node.output(1) == nullptr;
  if (node.is("Pad")) passes = passes_pad(side, shapes, output, step, attributes);
  return passes && !attributes.is_open();
}

std::optional<Dims> permutation_of(Shapes& shapes, Ref output) {
  const AttributeReader attributes(*output.value->producer(), output.call);
  Dims permutation = attributes.integers("perm");
  if (attributes.is_open()) return std::nullopt;
  if (permutation.empty()) {
    const auto dims = shapes.of(output);
    for (std::size_t i = dims ? dims->size() : 0; i-- > 0;) permutation.push_back(static_cast<int64_t>(i));
  }
  if (permutation.empty()) return std::nullopt;
  return permutation;
}

bool pull_transpose(Shapes& shapes, Ref output, Step& step) {
  const auto permutation = permutation_of(shapes, output);
  if (!permutation) return false;
  const int64_t axis = from_front(step.axis, static_cast<int64_t>(permutation->size()));
  if (axis < 0) return false;
  step.axis = {(*permutation)[as_size(axis)], false};
  return true;
}

bool push_transpose(Shapes& shapes, Ref output, Step& step) {
  const auto permutation = permutation_of(shapes, output);
  if (!permutation) return false;
  const int64_t axis = from_front(step.axis, static_cast<int64_t>(permutation->size()));
  const auto found = std::ranges::find(*permutation, axis);
  if (found == permutation->end()) return false;
  step.axis = {found - permutation->begin(), false};
  return true;
}

/// Requested dims of a Reshape or Flatten: 0 keeps the operand's dim, −1 is the remainder.
std::optional<std::vector<int64_t>> wanted_dims(Side& side, Shapes& shapes, Ref output) {
  const Node& node = *output.value->producer();
  const AttributeReader attributes(node, output.call);
  std::optional<std::vector<int64_t>> out;
  if (node.is("Flatten")) {
    out = attributes.integer("axis", 1) == 1 ? std::vector<int64_t>{0, -1} : shapes.of(output);
  } else if (attributes.integer("allowzero", 0) == 0) {
    out = node.opset() < 5 ? attributes.integers("shape") : integers_of(side, side.operand(output, 1));
  }
  return attributes.is_open() ? std::nullopt : out;
}

/// Whether −1 stands for the operand's dim `place`: the other dims have the same product on both sides.
bool is_rest_of(const std::vector<int64_t>& wanted, const std::optional<Dims>& dims, std::size_t place) {
  if (!dims || place >= dims->size()) return false;
  int64_t of_operand = 1, of_result = 1;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    if (i != place && ((*dims)[i] < 1 || __builtin_mul_overflow(of_operand, (*dims)[i], &of_operand))) return false;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const int64_t dim = wanted[i] == 0 && i < dims->size() ? (*dims)[i] : wanted[i];
    if (i != place && (dim < 1 || __builtin_mul_overflow(of_result, dim, &of_result))) return false;
  }
  return of_operand == of_result;
}

/// The axis of a Reshape's operand that is also an axis of the result, counted from the front: all dims before it are kept.
std::optional<int64_t> kept_axis(const std::vector<int64_t>& wanted, const std::optional<Dims>& dims, Axis axis, int64_t rank) {
  const int64_t at = from_front(axis, rank);
  if (at < 0 || at >= static_cast<int64_t>(wanted.size())) return std::nullopt;
  for (std::size_t i = 0; i < as_size(at); ++i) {
    const bool is_kept = wanted[i] == 0 || (wanted[i] == -1 && is_rest_of(wanted, dims, i)) ||
                         (dims && i < dims->size() && (*dims)[i] >= 0 && (*dims)[i] == wanted[i]);
    if (!is_kept) return std::nullopt;
  }
  return at;
}

/// The number of elements per index of an axis, the product of the dims after it; −1 if unknown.
int64_t elements_per_index(const Dims& dims, std::size_t axis) {
  int64_t out = 1;
  for (std::size_t i = axis + 1; i < dims.size(); ++i) {
    if (dims[i] < 0 || __builtin_mul_overflow(out, dims[i], &out)) return -1;
  }
  return out;
}

/// The axis across a Reshape with as many elements as there are lanes, and the same product of the dims after it.
std::optional<int64_t> moved_axis(const Dims& from, const Dims& to, Axis axis, int64_t lanes) {
  const int64_t at = from_front(axis, static_cast<int64_t>(from.size()));
  if (at < 0 || at >= static_cast<int64_t>(from.size()) || from[as_size(at)] != lanes) return std::nullopt;
  const int64_t rest = elements_per_index(from, as_size(at));
  for (std::size_t i = 0; i < to.size() && rest > 0 && lanes > 1; ++i) {
    if (to[i] == lanes && elements_per_index(to, i) == rest) return static_cast<int64_t>(i);
  }
  return std::nullopt;
}

bool move_through_reshape(Shapes& shapes, Ref from, Ref to, Step& step) {
  const auto dims_from = shapes.of(from);
  const auto dims_to = shapes.of(to);
  const auto moved =
      dims_from && dims_to ? moved_axis(*dims_from, *dims_to, step.axis, static_cast<int64_t>(step.lanes.size())) : std::nullopt;
  if (moved) step.axis = {*moved, false};
  return moved.has_value();
}

bool pull_reshape(Side& side, Shapes& shapes, Ref output, Step& step) {
  const auto wanted = wanted_dims(side, shapes, output);
  const auto dims = shapes.of(side.operand(output, 0));
  if (!wanted || !dims) return false;
  const auto at = kept_axis(*wanted, dims, step.axis, static_cast<int64_t>(wanted->size()));
  if (!at || *at >= static_cast<int64_t>(dims->size())) return false;
  const auto lanes = static_cast<int64_t>(step.lanes.size());
  const int64_t size = (*wanted)[as_size(*at)];
  // The operand's axis is the same whole axis only if its dim and the result's dim both equal the number of lanes.
  const bool is_sized = size == 0 || size == lanes || (size == -1 && !step.broadcasts);
  if (!is_sized || (*dims)[as_size(*at)] != lanes) return false;
  step.axis = {*at, false};
  return true;
}

bool push_reshape(Side& side, Shapes& shapes, Ref output, int64_t channels, Step& step) {
  const auto wanted = wanted_dims(side, shapes, output);
  const auto dims = shapes.of(side.operand(output, 0));
  if (!wanted) return false;
  const auto at = kept_axis(*wanted, dims, step.axis, dims ? static_cast<int64_t>(dims->size()) : -1);
  if (!at) return false;
  const auto lanes = static_cast<int64_t>(step.lanes.size());
  const int64_t size = (*wanted)[as_size(*at)];
  step.axis = {*at, false};
  if (size == 0 || size == lanes) return true;
  const bool merges_the_rest = *at + 1 == static_cast<int64_t>(wanted->size()) && (size == -1 || size == channels);
  if (!merges_the_rest || channels % lanes != 0) return false;
  std::vector<Lane> repeated;
  for (const Lane& lane : step.lanes) repeated.insert(repeated.end(), as_size(channels / lanes), lane);
  step.lanes = std::move(repeated);
  return true;
}

/// For each axis of the longer side of a Squeeze or Unsqueeze: whether the shorter side has it.
std::optional<std::vector<char>> kept_axes(Side& side, Shapes& shapes, Ref output) {
  const Node& node = *output.value->producer();
  const bool longer_is_output = node.is("Unsqueeze");
  const auto longer = shapes.of(longer_is_output ? output : side.operand(output, 0));
  if (!longer) return std::nullopt;
  const auto axes = written_axes(side, output);
  if (!axes) return std::nullopt;
  const auto rank = static_cast<int64_t>(longer->size());
  std::vector<char> kept(longer->size(), 1);
  if (axes->empty()) {
    // Squeeze removes all dims that are 1.
    if (longer_is_output || std::ranges::any_of(*longer, [](int64_t dim) { return dim < 0; })) return std::nullopt;
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = (*longer)[i] != 1 ? 1 : 0;
    return kept;
  }
  for (const int64_t axis : *axes) {
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank) return std::nullopt;
    kept[as_size(at)] = 0;
  }
  return kept;
}

/// Maps an axis of the longer side to the shorter one, or back; −1 if it is removed.
int64_t map_axis(const std::vector<char>& kept, Axis axis, bool to_shorter) {
  const auto shorter = static_cast<int64_t>(std::ranges::count(kept, 1));
  const int64_t at = from_front(axis, to_shorter ? static_cast<int64_t>(kept.size()) : shorter);
  int64_t place = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (to_shorter && static_cast<int64_t>(i) == at) return kept[i] != 0 ? place : -1;
    if (!to_shorter && kept[i] != 0 && place == at) return static_cast<int64_t>(i);
    place += kept[i];
  }
  return -1;
}

bool pass_squeeze(Side& side, Shapes& shapes, Ref output, bool is_pull, Step& step) {
  const auto kept = kept_axes(side, shapes, output);
  if (!kept) return false;
  const bool from_output = is_pull;
  const bool longer_is_output = output.value->producer()->is("Unsqueeze");
  step.axis = {map_axis(*kept, step.axis, from_output == longer_is_output), false};
  return step.axis.index >= 0;
}

}  // namespace

bool is_passable(const Node& node) {
  if (!node.domain().empty() || node.input(0) == nullptr) return false;
  const Traits traits = traits_of(node);
  return only_moves_axes(node) || traits.has(Trait::averages) || is_maximum(traits) || passes_factors(traits) || node.is("Pad");
}

bool pull(Side& side, Shapes& shapes, Ref output, Step& step) {
  const Node& node = *output.value->producer();
  if (output.value->output_index() != 0) return false;
  if (!only_moves_axes(node)) return passes_in_place(side, shapes, output, step);
  // A constant of more dims than the result would enlarge it. This is checked here, because ranks differ upstream.
  const auto dims = shapes.of(output);
  if (step.constant_rank > 0 && (!dims || static_cast<int64_t>(dims->size()) < step.constant_rank)) return false;
  step.constant_rank = 0;
  if (step.lanes.size() == 1) return true;
  if (!has_trait(node, Trait::keeps_order)) return pull_transpose(shapes, output, step);
  if (traits_of(node).along() == Along::axes) return pass_squeeze(side, shapes, output, true, step);
  return pull_reshape(side, shapes, output, step) || move_through_reshape(shapes, output, side.operand(output, 0), step);
}

bool push(Side& side, Shapes& shapes, Ref output, int64_t channels, Step& step) {
  const Node& node = *output.value->producer();
  if (output.value->output_index() != 0) return false;
  if (!only_moves_axes(node)) return passes_in_place(side, shapes, output, step);
  step.constant_rank = 0;  // growth is judged where the step is applied
  if (step.lanes.size() == 1) return true;
  if (!has_trait(node, Trait::keeps_order)) return push_transpose(shapes, output, step);
  if (traits_of(node).along() == Along::axes) return pass_squeeze(side, shapes, output, false, step);
  const Step before = step;
  if (push_reshape(side, shapes, output, channels, step)) return true;
  step = before;
  return move_through_reshape(shapes, side.operand(output, 0), output, step);
}

std::vector<Steps> cut(Side& side, Shapes& shapes, Ref output, const Steps& steps) {
  const Node& node = *output.value->producer();
  const AttributeReader attributes(node, output.call);
  const auto dims = shapes.of(output);
  const int64_t rank = dims ? static_cast<int64_t>(dims->size()) : -1;
  const int64_t given = attributes.integer("axis", 1);
  const Axis joined = given < 0 ? Axis{-given - 1, true} : Axis{given, false};
  // Each operand gets a copy of the steps that are not cut.
  constexpr std::size_t kMostCut = std::size_t{1} << 22U;
  std::size_t lanes = 0;
  for (const Step& step : steps) lanes += step.lanes.size();
  if (attributes.is_open() || lanes * node.inputs().size() > kMostCut) return {};
  std::vector<Steps> out(node.inputs().size());
  std::size_t begin = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto part = shapes.of(side.operand(output, i));
    const int64_t at = part ? from_front(joined, static_cast<int64_t>(part->size())) : -1;
    const int64_t size = at >= 0 ? (*part)[as_size(at)] : -1;
    for (const Step& step : steps) {
      Step own = step;
      if (step.lanes.size() > 1 && is_same(step.axis, joined, rank)) {
        if (size < 0 || begin + as_size(size) > step.lanes.size()) return {};
        const auto first = step.lanes.begin() + static_cast<std::ptrdiff_t>(begin);
        own.lanes.assign(first, first + static_cast<std::ptrdiff_t>(size));
        own.broadcasts = false;
      } else if (step.lanes.size() > 1 && rank < 0 && step.axis.from_back != joined.from_back) {
        return {};
      }
      out[i].push_back(std::move(own));
    }
    begin += as_size(std::max<int64_t>(size, 0));
  }
  for (const Step& step : steps) {
    if (step.lanes.size() > 1 && is_same(step.axis, joined, rank) && begin != step.lanes.size()) return {};
  }
  return out;
}

// Chains upstream of a linear operator.
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

Chain chain_upstream(Side& side, Shapes& shapes, Ref data, bool rounded, Transposes transposes) {
  Chain out;
  out.values.push_back(data);
  std::size_t lanes = 0;
  while (out.links.size() < kLongestChain && lanes < kMostLanes) {
    const Ref at = out.values.back();
    const Node* const node = at.value->producer();
    if (node == nullptr) break;
    Link link{read_step(side, at, rounded), node, at, false, false, {}};
    link.is_identity = !link.step && operand_passed_on(side, shapes, at) == std::optional<std::size_t>(0);
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

// A node as factor and shift per channel, and consecutive ones composed. Composition uses extended precision, so that stored values can be
// judged to half a unit in the last place.
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
