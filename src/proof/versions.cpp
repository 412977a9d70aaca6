// Versions of operators between which nothing changed that a node could show, and attributes that say no more than their absence. Tools
// move models to newer operator sets and write defaults out; neither changes what is computed, and both are everywhere.

#include "proof/versions.h"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proof/side.h"
#include "relayout/graph.h"

namespace relayout::proof {
namespace {

/// Versions of an operator (`since_version` of the ONNX specification, Changelog.md) that compute what the version before them computes
/// for every node that is valid in both: they add element types, negative axes, or attributes and operands whose absence keeps the old
/// meaning. 0 fills up. Not in the list, among others, because something changed: BatchNormalization-7, Clip-11, Dropout-12, GridSample-20,
/// GroupNormalization-21, OneHot-11 (negative indices), Resize-11 and from 18 on, RoiAlign-16 (another default), Softmax-13 and its kin
/// (one axis instead of all from it on), Upsample, LpPool. Where an attribute became an operand, see kMoved.
struct Versions {
  std::string_view op;
  std::array<int, 7> harmless;
};
constexpr auto kVersions = std::to_array<Versions>({
    {"Abs", {13}},
    {"Acos", {22}},
    {"Acosh", {22}},
    {"Add", {13, 14}},
    {"ArgMax", {11, 13}},
    {"ArgMin", {11, 13}},
    {"Asin", {22}},
    {"Asinh", {22}},
    {"Atan", {22}},
    {"Atanh", {22}},
    {"AveragePool", {10, 11, 19, 22}},
    {"BatchNormalization", {9, 14, 15}},
    {"Cast", {9, 13, 19, 21, 23}},
    {"CastLike", {19, 21, 23}},
    {"Ceil", {13}},
    {"Clip", {12, 13}},
    {"Compress", {11}},
    {"Concat", {11, 13}},
    {"Constant", {9, 11, 12, 13, 19, 21, 23}},
    {"ConstantOfShape", {20, 21, 23}},
    {"Conv", {11, 22}},
    {"ConvTranspose", {11, 22}},
    {"Cos", {22}},
    {"Cosh", {22}},
    {"CumSum", {14}},
    {"DepthToSpace", {11, 13}},
    {"DequantizeLinear", {13, 19, 21, 23}},
    {"Det", {22}},
    {"Div", {13, 14}},
    {"Dropout", {10, 13, 22}},
    {"Elu", {22}},
    {"Equal", {11, 13, 19}},
    {"Erf", {13}},
    {"Exp", {13}},
    {"Expand", {13}},
    {"EyeLike", {22}},
    {"Flatten", {9, 11, 13, 21, 23}},
    {"Floor", {13}},
    {"GRU", {14, 22}},
    {"Gather", {11, 13}},
    {"GatherElements", {13}},
    {"GatherND", {12, 13}},
    {"Gemm", {9, 11, 13}},
    {"GlobalAveragePool", {22}},
    {"GlobalMaxPool", {22}},
    {"Greater", {9, 13}},
    {"GreaterOrEqual", {16}},
    {"GridSample", {22}},
    {"HardSigmoid", {22}},
    {"HardSwish", {22}},
    {"Hardmax", {11}},
    {"Identity", {13, 14, 16, 19, 21, 23}},
    {"If", {11, 13, 16, 19, 21, 23}},
    {"InstanceNormalization", {22}},
    {"IsInf", {20}},
    {"IsNaN", {13, 20}},
    {"LRN", {13}},
    {"LSTM", {14, 22}},
    {"LeakyRelu", {16}},
    {"Less", {9, 13}},
    {"LessOrEqual", {16}},
    {"Log", {13}},
    {"LogSoftmax", {11}},
    {"Loop", {13, 16, 19, 21, 23}},
    {"MatMul", {9, 13}},
    {"Max", {8, 12, 13}},
    {"MaxPool", {8, 10, 11, 12, 22}},
    {"Mean", {8, 13}},
    {"MeanVarianceNormalization", {13}},
    {"Min", {8, 12, 13}},
    {"Mish", {22}},
    {"Mod", {13}},
    {"Mul", {13, 14}},
    {"Neg", {13}},
    {"NonMaxSuppression", {11}},
    {"NonZero", {13}},
    {"PRelu", {9, 16}},
    {"Pad", {13, 18, 19, 21, 23}},
    {"Pow", {12, 13, 15}},
    {"QLinearMatMul", {21}},
    {"QuantizeLinear", {13, 19, 21, 23}},
    {"RNN", {14, 22}},
    {"Reciprocal", {13}},
    {"ReduceL1", {11, 13, 18}},
    {"ReduceL2", {11, 13, 18}},
    {"ReduceLogSum", {11, 13, 18}},
    {"ReduceLogSumExp", {11, 13, 18}},
    {"ReduceMax", {11, 12, 13, 18, 20}},
    {"ReduceMean", {11, 13, 18}},
    {"ReduceMin", {11, 12, 13, 18, 20}},
    {"ReduceProd", {11, 13, 18}},
    {"ReduceSum", {11, 13}},
    {"ReduceSumSquare", {11, 13, 18}},
    {"Relu", {13, 14}},
    {"Reshape", {13, 14, 19, 21, 23}},
    {"Resize", {13}},
    {"RoiAlign", {22}},
    {"Round", {22}},
    {"Scan", {11, 16, 19, 21, 23}},
    {"ScatterElements", {13, 16, 18}},
    {"ScatterND", {13, 16, 18}},
    {"Selu", {22}},
    {"Shape", {13, 15, 19, 21, 23}},
    {"Sigmoid", {13}},
    {"Sign", {13}},
    {"Sin", {22}},
    {"Sinh", {22}},
    {"Size", {13, 19, 21, 23}},
    {"Slice", {11, 13}},
    {"Softmax", {11}},
    {"Softplus", {22}},
    {"Softsign", {22}},
    {"SpaceToDepth", {13}},
    {"Split", {11, 13, 18}},
    {"Sqrt", {13}},
    {"Squeeze", {11, 13, 21, 23}},
    {"Sub", {13, 14}},
    {"Sum", {8, 13}},
    {"Tan", {22}},
    {"Tanh", {13}},
    {"ThresholdedRelu", {22}},
    {"Tile", {13}},
    {"TopK", {11}},
    {"Transpose", {13, 21, 23}},
    {"Unsqueeze", {11, 13, 21, 23}},
    {"Where", {16}},
});
static_assert(std::ranges::is_sorted(kVersions, {}, &Versions::op));

/// What changed is only shown where this attribute is not at its default: windows that begin behind the data (ceil_mode), the side that
/// gets the larger half of a padding (auto_pad, output_shape).
struct Condition {
  std::string_view op;
  int version;
  std::string_view attribute;
};
constexpr auto kConditions = std::to_array<Condition>({
    {"AveragePool", 19, "ceil_mode"},
    {"AveragePool", 22, "ceil_mode"},
    {"MaxPool", 22, "ceil_mode"},
    {"ConvTranspose", 11, "auto_pad"},
    {"ConvTranspose", 11, "output_shape"},
});

struct Moved {
  std::string_view op;
  int version;  ///< from which on it is an operand
  MovedArgument argument;
};
constexpr auto kMoved = std::to_array<Moved>({
    {"ReduceL1", 18, {"axes", 1}},
    {"ReduceL2", 18, {"axes", 1}},
    {"ReduceLogSum", 18, {"axes", 1}},
    {"ReduceLogSumExp", 18, {"axes", 1}},
    {"ReduceMax", 18, {"axes", 1}},
    {"ReduceMean", 18, {"axes", 1}},
    {"ReduceMin", 18, {"axes", 1}},
    {"ReduceProd", 18, {"axes", 1}},
    {"ReduceSum", 13, {"axes", 1}},
    {"ReduceSumSquare", 18, {"axes", 1}},
    {"Split", 13, {"split", 1}},
    {"Squeeze", 13, {"axes", 1}},
    {"Unsqueeze", 13, {"axes", 1}},
});

const onnx::OpSchema* schema_at(const Node& node, int64_t opset) {
  if (opset <= 0 || opset > std::numeric_limits<int>::max()) return nullptr;
  return onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset), std::string(node.domain()));
}

bool is_written(const Node& node, const Call* call, std::string_view name) {
  const onnx::AttributeProto* const written = AttributeReader(node, call).find(name);
  if (written == nullptr) return false;
  const AttributeDefault known = attribute_default(node, std::string(name));
  return known.value == nullptr || written->i() != known.value->i() || written->s() != known.value->s();
}

bool are(const onnx::AttributeProto& attribute, int64_t wanted) {
  return std::ranges::all_of(attribute.ints(), [&](int64_t value) { return value == wanted; });
}

bool is_any_of(const Node& node, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return node.is(name); });
}

/// kernel_shape says what the weight's dims behind the channels are.
bool is_kernel_of_weight(Side& side, Ref output, const onnx::AttributeProto& attribute) {
  const Ref weight = side.operand(output, 1);
  const auto contents = weight ? side.contents(weight) : std::nullopt;
  return contents && contents->dims.size() >= 2 &&
         std::ranges::equal(contents->dims.begin() + 2, contents->dims.end(), attribute.ints().begin(), attribute.ints().end());
}

bool is_implied_by_window(Side& side, Ref output, const onnx::AttributeProto& attribute) {
  const Node& node = *output.value->producer();
  const bool is_convolution = is_any_of(node, {"Conv", "ConvTranspose"});
  if (!is_convolution && !is_any_of(node, {"AveragePool", "MaxPool"})) return false;
  const std::string& name = attribute.name();
  if (name == "strides" || name == "dilations") return are(attribute, 1);
  if (name == "pads" || name == "output_padding") return are(attribute, 0);
  return name == "kernel_shape" && is_convolution && is_kernel_of_weight(side, output, attribute);
}

bool is_reversal(const onnx::AttributeProto& permutation) {
  for (int i = 0; i < permutation.ints_size(); ++i) {
    if (permutation.ints(i) != permutation.ints_size() - 1 - i) return false;
  }
  return permutation.ints_size() > 0;
}

/// A scale for the whole tensor has no axis.
bool is_scaled_whole(Side& side, Ref output) {
  const Ref scale = side.operand(output, 1);
  const auto contents = scale ? side.contents(scale) : std::nullopt;
  return contents && contents->dims.empty();
}

}  // namespace

bool same_semantics(const Node& a, const Call* call_a, const Node& b, const Call* call_b) {
  if (a.opset() == b.opset()) return true;
  if (!a.domain().empty() || !b.domain().empty()) return false;
  const onnx::OpSchema* const of_a = schema_at(a, a.opset());
  const onnx::OpSchema* const of_b = schema_at(b, b.opset());
  if (of_a == nullptr || of_b == nullptr) return false;
  const int older = std::min(of_a->since_version(), of_b->since_version());
  const int newer = std::max(of_a->since_version(), of_b->since_version());
  const auto listed = std::ranges::find(kVersions, std::string_view(a.op_type()), &Versions::op);
  for (int version = newer; version > older;) {
    if (listed == kVersions.end() || std::ranges::find(listed->harmless, version) == listed->harmless.end()) return false;
    for (const Condition& condition : kConditions) {
      if (condition.op != a.op_type() || condition.version != version) continue;
      if (is_written(a, call_a, condition.attribute) || is_written(b, call_b, condition.attribute)) return false;
    }
    const onnx::OpSchema* const before = schema_at(a, version - 1);
    version = before != nullptr ? before->since_version() : 0;
  }
  return true;
}

std::optional<MovedArgument> moved_argument(const Node& a, const Node& b) {
  if (!a.domain().empty() || !b.domain().empty()) return std::nullopt;
  const auto found = std::ranges::find(kMoved, std::string_view(a.op_type()), &Moved::op);
  if (found == kMoved.end() || (a.opset() < found->version) == (b.opset() < found->version)) return std::nullopt;
  return found->argument;
}

bool is_same_argument(Side& side_a, Ref a, Side& side_b, Ref b, const MovedArgument& argument) {
  struct Numbers {
    bool is_there = false;
    std::optional<std::vector<int64_t>> values;
    bool operator==(const Numbers&) const = default;
  };
  const auto read = [&](Side& side, Ref output) -> Numbers {
    const AttributeReader attributes(*output.value->producer(), output.call);
    if (attributes.has(argument.attribute)) {
      auto values = attributes.integers(argument.attribute);
      return {true, attributes.is_open() ? std::nullopt : std::optional(std::move(values))};
    }
    const Ref operand = side.operand(output, argument.input);
    if (!operand) return {};
    return {true, side.integers(operand)};
  };
  const Numbers of_a = read(side_a, a);
  return of_a == read(side_b, b) && (!of_a.is_there || of_a.values);
}

AttributeDefault attribute_default(const Node& node, const std::string& name) {
  const onnx::OpSchema* const schema = schema_at(node, node.opset());
  if (schema == nullptr) return {};
  const auto found = schema->attributes().find(name);
  if (found == schema->attributes().end()) return {};
  const bool has_value = found->second.default_value.has_name();
  return {true, has_value ? &found->second.default_value : nullptr};
}

bool is_implied(Side& side, Ref output, const onnx::AttributeProto& attribute) {
  const Node& node = *output.value->producer();
  if (!node.domain().empty() || !attribute.ref_attr_name().empty()) return false;
  const std::string& name = attribute.name();
  if (is_implied_by_window(side, output, attribute)) return true;
  if (node.is("Transpose") && name == "perm") return is_reversal(attribute);
  if (node.is("Split") && name == "num_outputs") return attribute.i() == static_cast<int64_t>(node.outputs().size());
  if (is_any_of(node, {"DequantizeLinear", "QuantizeLinear"}) && name == "axis") return is_scaled_whole(side, output);
  return false;
}

}  // namespace relayout::proof
