#include "ops/value_type.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <variant>

#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Operators of the default domain whose first output has the element type of input 0, in every version.
constexpr auto kLikeFirstInput = std::to_array<std::string_view>({
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "AveragePool",
    "BatchNormalization",
    "BitShift",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Ceil",
    "Celu",
    "CenterCropPad",
    "Clip",
    "Col2Im",
    "Compress",
    "Concat",
    "ConcatFromSequence",
    "Conv",
    "ConvTranspose",
    "Cos",
    "Cosh",
    "CumSum",
    "DeformConv",
    "DepthToSpace",
    "Det",
    "Div",
    "Dropout",
    "Einsum",
    "Elu",
    "Erf",
    "Exp",
    "Expand",
    "Flatten",
    "Floor",
    "Gather",
    "GatherElements",
    "GatherND",
    "Gelu",
    "Gemm",
    "GlobalAveragePool",
    "GlobalLpPool",
    "GlobalMaxPool",
    "GridSample",
    "GroupNormalization",
    "HardSigmoid",
    "HardSwish",
    "Hardmax",
    "Identity",
    "InstanceNormalization",
    "LRN",
    "LayerNormalization",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "LpNormalization",
    "LpPool",
    "MatMul",
    "Max",
    "MaxPool",
    "MaxRoiPool",
    "MaxUnpool",
    "Mean",
    "MeanVarianceNormalization",
    "Min",
    "Mish",
    "Mod",
    "Mul",
    "Neg",
    "PRelu",
    "Pad",
    "Pow",
    "RMSNormalization",
    "Reciprocal",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Relu",
    "Reshape",
    "Resize",
    "ReverseSequence",
    "RoiAlign",
    "RotaryEmbedding",
    "Round",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "Selu",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceErase",
    "SequenceInsert",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Slice",
    "Softmax",
    "Softplus",
    "Softsign",
    "SpaceToDepth",
    "Split",
    "SplitToSequence",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Sum",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Tile",
    "TopK",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    "Upsample",
});

constexpr auto kBoolean = std::to_array<std::string_view>({
    "And",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "IsInf",
    "IsNaN",
    "Less",
    "LessOrEqual",
    "Not",
    "Or",
    "Xor",
});

constexpr auto kIndices =
    std::to_array<std::string_view>({"ArgMax", "ArgMin", "NonMaxSuppression", "NonZero", "SequenceLength", "Shape", "Size"});

static_assert(std::ranges::is_sorted(kLikeFirstInput) && std::ranges::is_sorted(kBoolean) && std::ranges::is_sorted(kIndices));

DataType known_type(int64_t number) {
  const DataTypeTraits* const traits = number > 0 && number < 1000 ? find_traits(static_cast<int32_t>(number)) : nullptr;
  return traits != nullptr ? traits->type : DataType::undefined;
}

DataType constant_type(const Node& node) {
  for (const onnx::AttributeProto& attribute : node.message().attribute()) {
    if (!attribute.ref_attr_name().empty()) return DataType::undefined;
    const std::string& name = attribute.name();
    if (name == "value") return known_type(attribute.t().data_type());
    if (name == "sparse_value") return known_type(attribute.sparse_tensor().values().data_type());
    if (name == "value_float" || name == "value_floats") return DataType::float32;
    if (name == "value_int" || name == "value_ints") return DataType::int64;
    if (name == "value_string" || name == "value_strings") return DataType::string;
  }
  return DataType::undefined;
}

}  // namespace

std::variant<std::monostate, DataType, const Value*> type_rule(const Node& node, int output_index) {
  if (!node.domain().empty()) return {};
  const std::string& op = node.op_type();
  const auto like = [&](std::size_t index) -> std::variant<std::monostate, DataType, const Value*> {
    if (const Value* const value = node.input(index)) return value;
    return {};
  };
  if (output_index > 0) {
    if (op == "Split") return like(0);
    if (op == "TopK" || (op == "MaxPool" && output_index == 1)) return DataType::int64;
    return {};
  }
  if (op == "Cast") {
    const onnx::AttributeProto* const to = node.attribute("to");
    if (to != nullptr && to->ref_attr_name().empty() && to->has_i()) return known_type(to->i());
    return {};
  }
  if (op == "CastLike" || op == "Where") return like(1);
  if (op == "Constant") return constant_type(node);
  if (op == "ConstantOfShape") {
    const onnx::AttributeProto* const value = node.attribute("value");
    if (value == nullptr) return DataType::float32;
    return value->ref_attr_name().empty() ? known_type(value->t().data_type()) : DataType::undefined;
  }
  if (std::ranges::binary_search(kBoolean, op)) return DataType::boolean;
  if (std::ranges::binary_search(kIndices, op)) return DataType::int64;
  if (std::ranges::binary_search(kLikeFirstInput, op)) return like(0);
  return {};
}

}  // namespace relayout
