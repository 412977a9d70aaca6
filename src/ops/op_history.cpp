// States in which versions an operator computes the same, and where its attributes became operands.
#include "ops/op_history.h"

#include <onnx/defs/schema.h>

#include <array>
#include <limits>

#include "model/node.h"
#include "relayout/graph.h"

namespace relayout {
namespace {

/// Versions of an operator (ONNX specification: `since_version`) that compute the same as the version before them for every node that is
/// valid in both: they add element types, negative axes, or attributes and operands whose absence keeps the old meaning. 0 fills up. Among
/// the versions that are absent because something changed: BatchNormalization-7, Clip-11, Dropout-12, GridSample-20, GroupNormalization-21,
/// OneHot-11 (negative indices), Resize-11 and from 18 on, RoiAlign-16 (another default), Softmax-13, LogSoftmax-13, Hardmax-13 (one axis
/// instead of all from it on), Upsample, LpPool. For attributes that became operands, see kMoved.
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

/// A change that shows only when this attribute is not at its default: windows that begin beyond the end of the data (ceil_mode), the side
/// that gets the larger half of a padding (auto_pad, output_shape).
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

struct Entry {
  std::string_view op;
  MovedArgument argument;
};
constexpr auto kMoved = std::to_array<Entry>({
    {"ReduceL1", {"axes", 1, 18}},
    {"ReduceL2", {"axes", 1, 18}},
    {"ReduceLogSum", {"axes", 1, 18}},
    {"ReduceLogSumExp", {"axes", 1, 18}},
    {"ReduceMax", {"axes", 1, 18}},
    {"ReduceMean", {"axes", 1, 18}},
    {"ReduceMin", {"axes", 1, 18}},
    {"ReduceProd", {"axes", 1, 18}},
    {"ReduceSum", {"axes", 1, 13}},
    {"ReduceSumSquare", {"axes", 1, 18}},
    {"Split", {"split", 1, 13}},
    {"Squeeze", {"axes", 1, 13}},
    {"Unsqueeze", {"axes", 1, 13}},
});

}  // namespace

bool is_unchanged(std::string_view op_type, int version) {
  const auto* const listed = std::ranges::find(kVersions, op_type, &Versions::op);
  return listed != kVersions.end() && std::ranges::find(listed->harmless, version) != listed->harmless.end();
}

std::vector<std::string_view> attributes_changed(std::string_view op_type, int version) {
  std::vector<std::string_view> out;
  for (const Condition& condition : kConditions) {
    if (condition.op == op_type && condition.version == version) out.push_back(condition.attribute);
  }
  return out;
}

const MovedArgument* moved_argument(std::string_view op_type) {
  const auto* const found = std::ranges::find(kMoved, op_type, &Entry::op);
  return found == kMoved.end() ? nullptr : &found->argument;
}

bool argument_is_operand(std::string_view op_type, int64_t opset) {
  const MovedArgument* const moved = moved_argument(op_type);
  return moved != nullptr && opset >= moved->version;
}

// Opsets in which an operator is the same.

int64_t softmax_axis(const Node& node) {
  return Attributes(node).integer("axis", node.opset() < kOneAxisOpset ? 1 : -1);
}

bool is_same_operator(const std::string& op_type, int64_t opset, int64_t other_opset) {
  constexpr int64_t kLimit = std::numeric_limits<int>::max();
  if (opset <= 0 || other_opset <= 0 || opset > kLimit || other_opset > kLimit) return false;
  if (opset == other_opset) return true;
  const auto* const schema = onnx::OpSchemaRegistry::Schema(op_type, static_cast<int>(opset), "");
  return schema != nullptr && schema == onnx::OpSchemaRegistry::Schema(op_type, static_cast<int>(other_opset), "");
}

}  // namespace relayout
