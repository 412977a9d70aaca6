#include "support/op_cases.h"

#include <numeric>

#include "base/random.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/evaluate.h"

namespace relayout::test {
namespace {

using enum DataType;

/// The name of an element type in ONNX's textual syntax.
std::string text_name(DataType type) {
  switch (type) {
    case float32:
      return "float";
    case float64:
      return "double";
    case boolean:
      return "bool";
    case int8:
      return "int8";
    case int16:
      return "int16";
    case int32:
      return "int32";
    case int64:
      return "int64";
    case uint8:
      return "uint8";
    case uint16:
      return "uint16";
    case uint32:
      return "uint32";
    case uint64:
      return "uint64";
    case string:
      return "string";
    case DataType::float16:
      return "float16";
    case DataType::bfloat16:
      return "bfloat16";
    default:
      return "float";
  }
}

std::string dims_text(const Dims& dims) {
  std::string text = to_string(dims);
  return dims.empty() ? "[]" : text;
}

std::string node_text(const std::string& op, const std::string& attributes, std::size_t inputs, const std::vector<bool>& absent,
                      int outputs) {
  std::string text;
  for (int i = 0; i < outputs; ++i) text += (i == 0 ? "" : ", ") + ("y" + std::to_string(i));
  text += " = " + op + (attributes.empty() ? "" : " <" + attributes + ">") + " (";
  for (std::size_t i = 0; i < inputs; ++i) text += (i == 0 ? "" : ", ") + (absent[i] ? std::string() : "x" + std::to_string(i));
  return text + ")";
}

std::string model_text(int64_t opset, const std::string& declared_inputs, int outputs, const std::string& node) {
  std::string declared_outputs;
  for (int i = 0; i < outputs; ++i) declared_outputs += (i == 0 ? "float y" : ", float y") + std::to_string(i);
  return "<ir_version: 10, opset_import: [\"\" : " + std::to_string(opset) + "]>\ntest (" + declared_inputs + ") => (" + declared_outputs +
         ") {\n  " + node + "\n}\n";
}

double filled(const OperandCase& operand, const RandomStream& random, uint64_t i) {
  const bool is_unsigned = kUnsignedTypes.has(operand.type);
  switch (operand.fill) {
    case Fill::normal:
      return (is_unsigned ? 8 : 0) + 2 * random.normal(i);
    case Fill::unit:
      return 2 * random.uniform(i) - 1;
    case Fill::small:
      return (2 * random.uniform(i) - 1) / 10;
    case Fill::positive:
      return 0.5 + 1.5 * random.uniform(i);
    case Fill::integers:
      return static_cast<double>(random.below(i, 17)) - (is_unsigned ? 0 : 8);
    case Fill::boolean:
      return static_cast<double>(random.below(i, 2));
    default:
      return 0;
  }
}

}  // namespace

Tensor tensor_of_values(DataType type, const Dims& dims, const std::vector<double>& values) {
  Tensor tensor(type, dims);
  if (values.empty()) {
    fill_zero(tensor);
    return tensor;
  }
  store(type, tensor.bytes(), 1, tensor.element_count(), values.data());
  return tensor;
}

std::vector<double> numbers_of(const Tensor& tensor) {
  const Tensor dense = contiguous(tensor);
  std::vector<double> values(static_cast<std::size_t>(dense.element_count()));
  load(dense.type(), dense.bytes(), 1, dense.element_count(), values.data());
  return values;
}

onnx::ModelProto message_of(const OpCase& op_case) {
  std::string declared;
  std::vector<bool> absent;
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    const OperandCase& operand = op_case.inputs[i];
    absent.push_back(operand.type == undefined);
    if (absent.back()) continue;
    declared += (declared.empty() ? "" : ", ") + text_name(operand.type) + dims_text(operand.dims) + " x" + std::to_string(i);
  }
  const auto model = Model::from_text(model_text(
      op_case.opset, declared, op_case.outputs, node_text(op_case.op, op_case.attributes, op_case.inputs.size(), absent, op_case.outputs)));
  model->graph().sync();
  onnx::ModelProto message = model->message();
  auto& declared_inputs = *message.mutable_graph()->mutable_input();
  const std::vector<Tensor> data = data_of(op_case);
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (!op_case.inputs[i].constant) continue;
    const std::string name = "x" + std::to_string(i);
    declared_inputs.erase(std::ranges::find(declared_inputs, name, &onnx::ValueInfoProto::name));
    onnx::TensorProto& tensor = *message.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(static_cast<int32_t>(data[i].type()));
    for (const int64_t dim : data[i].dims()) tensor.add_dims(dim);
    tensor.set_raw_data(data[i].bytes(), static_cast<std::size_t>(data[i].element_count() * element_stride(data[i].type())));
  }
  return message;
}

std::unique_ptr<Model> model_of(const OpCase& op_case) {
  return Model::from_bytes(message_of(op_case).SerializeAsString(), op_case.name);
}

Inputs inputs_of(const OpCase& op_case, const std::vector<Tensor>& data) {
  Inputs out;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] && !op_case.inputs[i].constant) out.emplace("x" + std::to_string(i), data[i]);
  }
  return out;
}

std::vector<Tensor> data_of(const OpCase& op_case, uint64_t seed) {
  std::vector<Tensor> data;
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    const OperandCase& operand = op_case.inputs[i];
    if (operand.type == undefined) {
      data.emplace_back();
      continue;
    }
    const auto count = static_cast<std::size_t>(element_count(operand.dims));
    if (operand.type == string) {
      Tensor tensor(string, operand.dims);
      for (std::size_t k = 0; k < count; ++k) tensor.data<std::string>()[k] = "text " + std::to_string(k % 5);
      data.push_back(std::move(tensor));
      continue;
    }
    const RandomStream random(seed, op_case.name, i);
    std::vector<double> values = operand.listed;
    values.resize(count);
    if (operand.fill == Fill::distinct) {
      std::iota(values.begin(), values.end(), 0.0);
      for (std::size_t k = count; k > 1; --k) std::swap(values[k - 1], values[random.below(k, k)]);
    } else if (operand.fill != Fill::values) {
      for (std::size_t k = 0; k < count; ++k) values[k] = filled(operand, random, k);
    }
    data.push_back(tensor_of_values(operand.type, operand.dims, values));
  }
  return data;
}

std::vector<Datum> run_op(const std::string& op, const std::vector<Datum>& inputs, int64_t opset, int outputs) {
  std::string declared;
  std::vector<bool> absent;
  std::vector<const Datum*> data;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    absent.push_back(inputs[i].kind == Datum::Kind::tensor && !inputs[i].tensor);
    data.push_back(absent.back() ? nullptr : &inputs[i]);
    if (!absent.back()) declared += (declared.empty() ? "float x" : ", float x") + std::to_string(i);
  }
  const auto model = Model::from_text(model_text(opset, declared, outputs, node_text(op, "", inputs.size(), absent, outputs)));
  return run_node(model->graph().nodes().front(), data);
}

Tensor run_one(const std::string& op, const std::vector<Datum>& inputs, int64_t opset) {
  return run_op(op, inputs, opset).front().tensor;
}

const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> cases = [] {
    std::vector<OpCase> list;
    const auto add = [&](std::string name, std::string op, std::string attributes, std::vector<OperandCase> inputs, int64_t opset = 22,
                         int outputs = 1) {
      list.push_back({std::move(name), std::move(op), std::move(attributes), std::move(inputs), opset, outputs});
    };
    const auto f32 = [](Dims dims, Fill fill = Fill::normal) { return OperandCase{float32, std::move(dims), fill, {}, false}; };
    const auto of = [](DataType type, Dims dims, Fill fill) { return OperandCase{type, std::move(dims), fill, {}, false}; };
    const auto list_of = [](DataType type, Dims dims, std::vector<double> values) {
      return OperandCase{type, std::move(dims), Fill::values, std::move(values), false};
    };
    const auto numbers = [&](std::vector<double> values) {
      const auto count = static_cast<int64_t>(values.size());
      return list_of(int64, {count}, std::move(values));
    };
    const OperandCase none{undefined, {}, Fill::values, {}, false};

    for (const char* op :
         {"Abs",    "Asinh",   "Atan",        "Ceil",      "Celu",      "Cos",      "Cosh",     "Elu",  "Erf",   "Exp",
          "Floor",  "Gelu",    "HardSigmoid", "HardSwish", "LeakyRelu", "Mish",     "Neg",      "Relu", "Round", "Selu",
          "Shrink", "Sigmoid", "Sign",        "Sin",       "Sinh",      "Softplus", "Softsign", "Tan",  "Tanh",  "ThresholdedRelu"}) {
      add(op, op, "", {f32({2, 5, 3, 7})});
    }
    for (const char* op : {"Acos", "Asin", "Atanh"}) add(op, op, "", {f32({2, 5, 3, 7}, Fill::unit)});
    for (const char* op : {"Log", "Reciprocal", "Sqrt"}) add(op, op, "", {f32({2, 5, 3, 7}, Fill::positive)});
    add("Acosh", "Acosh", "", {list_of(float32, {4}, {1, 1.5, 2, 40})});
    add("Swish", "Swish", "alpha = 1.5", {f32({2, 5, 3, 7})}, 24);
    add("CeluOfNegativeAlpha", "Celu", "alpha = -0.5", {f32({2, 5, 3, 7})});
    add("GeluTanh", "Gelu", "approximate = \"tanh\"", {f32({2, 5, 3, 7})});
    add("LeakyReluHalf", "LeakyRelu", "alpha = 0.3", {of(DataType::float16, {3, 4, 5}, Fill::normal)});
    add("SigmoidBrain", "Sigmoid", "", {of(DataType::bfloat16, {3, 4, 5}, Fill::normal)});
    add("TanhDouble", "Tanh", "", {of(float64, {3, 4, 5}, Fill::normal)});
    add("AbsInteger", "Abs", "", {of(int8, {3, 4, 5}, Fill::integers)});
    add("BitwiseNot", "BitwiseNot", "", {of(uint16, {3, 4, 5}, Fill::integers)});
    add("IsNaN", "IsNaN", "", {f32({3, 4, 5})});
    add("IsInf", "IsInf", "", {f32({3, 4, 5})});
    add("Not", "Not", "", {of(boolean, {3, 4, 5}, Fill::boolean)});

    for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
      add(op, op, "", {f32({2, 5, 3, 7}), f32({2, 5, 3, 7}, Fill::positive)});
      add(std::string(op) + "Channel", op, "", {f32({2, 5, 3, 7}), f32({5, 1, 1}, Fill::positive)});
      add(std::string(op) + "Both", op, "", {f32({5, 1, 7}), f32({2, 1, 3, 1}, Fill::positive)});
      add(std::string(op) + "Scalar", op, "", {f32({}), f32({2, 5, 3}, Fill::positive)});
      add(std::string(op) + "Integer", op, "", {of(int32, {4, 5, 3}, Fill::integers), list_of(int32, {3}, {2, -3, 5})});
      add(std::string(op) + "AxisOfOpset6", op, "axis = 1, broadcast = 1", {f32({2, 5, 3, 7}), f32({5, 3}, Fill::positive)}, 6);
    }
    add("AddHalf", "Add", "", {of(DataType::float16, {2, 5, 3}, Fill::normal), of(DataType::float16, {5, 1}, Fill::normal)});
    add("AddUnsigned", "Add", "", {of(uint64, {4, 5}, Fill::integers), of(uint64, {5}, Fill::integers)});
    add("Pow", "Pow", "", {f32({2, 5, 3, 7}, Fill::positive), f32({3, 1})});
    add("PowInteger", "Pow", "", {of(int32, {4, 5}, Fill::integers), list_of(int64, {5}, {0, 1, 2, 3, 4})});
    add("Mod", "Mod", "", {of(int32, {4, 5}, Fill::integers), list_of(int32, {5}, {3, -3, 5, -5, 7})});
    add("ModFloat", "Mod", "fmod = 1", {f32({4, 5}), f32({5}, Fill::positive)});
    add("BitShift", "BitShift", "direction = \"LEFT\"", {of(uint8, {4, 5}, Fill::integers), list_of(uint8, {5}, {0, 1, 2, 3, 9})});
    for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
      add(op, op, "", {of(int32, {4, 5, 3}, Fill::integers), of(int32, {5, 1}, Fill::integers)});
    }
    for (const char* op : {"And", "Or", "Xor"})
      add(op, op, "", {of(boolean, {4, 5, 3}, Fill::boolean), of(boolean, {5, 1}, Fill::boolean)});
    for (const char* op : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}) {
      add(op, op, "", {of(int64, {4, 5, 3}, Fill::integers), of(int64, {5, 1}, Fill::integers)});
    }
    add("EqualString", "Equal", "", {of(string, {4, 5}, Fill::values), of(string, {5}, Fill::values)});
    for (const char* op : {"Max", "Min", "Sum", "Mean"}) add(op, op, "", {f32({2, 5, 3, 7}), f32({5, 1, 1}), f32({7})});
    add("MaxInteger", "Max", "", {of(uint64, {4, 5}, Fill::integers), of(uint64, {5}, Fill::integers)});
    add("PRelu", "PRelu", "", {f32({2, 5, 3, 7}), f32({5, 1, 1})});
    add("Where", "Where", "", {of(boolean, {5, 1, 7}, Fill::boolean), f32({2, 5, 3, 7}), f32({3, 1})});
    add("Clip", "Clip", "", {f32({2, 5, 3, 7}), f32({}, Fill::unit), list_of(float32, {}, {1.5})});
    add("ClipOfOpset6", "Clip", "min = -1.0, max = 1.5", {f32({2, 5, 3, 7})}, 6);
    add("ClipUpperInteger", "Clip", "", {of(int32, {4, 5}, Fill::integers), none, list_of(int32, {}, {3})});

    add("CastToHalf", "Cast", "to = 10", {f32({2, 5, 3, 7})});
    add("CastToInteger", "Cast", "to = 7", {f32({2, 5, 3, 7})});
    add("CastToFloat8", "Cast", "to = 17", {f32({2, 5, 3, 7})});
    add("CastToInt4", "Cast", "to = 22", {f32({2, 5, 3, 7})});
    add("CastToString", "Cast", "to = 8", {f32({2, 5, 3})});
    add("CastToBool", "Cast", "to = 9", {of(int32, {2, 5, 3}, Fill::integers)});
    add("CastLike", "CastLike", "", {f32({2, 5, 3}), of(float64, {1}, Fill::normal)});
    add("BitCast", "BitCast", "to = 6", {f32({2, 5, 3})}, 26);

    add("Shape", "Shape", "start = 1", {f32({2, 5, 3, 7})});
    add("Size", "Size", "", {f32({2, 5, 3, 7})});
    add("Identity", "Identity", "", {f32({2, 5, 3, 7})});
    add("Dropout", "Dropout", "", {f32({2, 5, 3, 7})}, 22, 2);
    add("Reshape", "Reshape", "", {f32({2, 6, 3, 7}), numbers({0, 3, -1, 7})});
    add("ReshapeSplitsChannels", "Reshape", "", {f32({2, 6, 3, 7}), numbers({2, 2, 3, 3, 7})});
    add("Flatten", "Flatten", "axis = 2", {f32({2, 5, 3, 7})});
    add("Squeeze", "Squeeze", "", {f32({2, 1, 3, 1}), numbers({-1})});
    add("Unsqueeze", "Unsqueeze", "", {f32({2, 5, 3}), numbers({0, -2})});
    add("Transpose", "Transpose", "perm = [2, 0, 3, 1]", {f32({2, 5, 3, 7})});
    add("TransposeString", "Transpose", "", {of(string, {2, 5, 3}, Fill::values)});
    add("Expand", "Expand", "", {f32({5, 1, 7}), numbers({2, 1, 3, 1})});
    add("Slice", "Slice", "",
        {f32({5, 6, 3, 7}), numbers({-2, 1, 10}), numbers({-100, 100, -4}), numbers({0, 1, 3}), numbers({-1, 2, -3})});
    add("SliceOfOpset1", "Slice", "starts = [1, 0], ends = [3, -1], axes = [1, 3]", {f32({5, 6, 3, 7})}, 1);
    add("Split", "Split", "axis = 1", {f32({2, 7, 3}), numbers({2, 1, 4})}, 22, 3);
    add("SplitEqual", "Split", "axis = -1, num_outputs = 3", {f32({2, 3, 7})}, 22, 3);
    add("Concat", "Concat", "axis = 1", {f32({2, 5, 3, 7}), f32({2, 1, 3, 7}), f32({2, 4, 3, 7})});
    add("Tile", "Tile", "", {f32({2, 5, 3}), numbers({3, 1, 2})});
    for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
      add(std::string("Pad_") + mode, "Pad", "mode = \"" + std::string(mode) + "\"",
          {f32({2, 5, 3, 7}), numbers({0, 1, 2, -2, 1, 0, 1, 3})});
    }
    add("PadValue", "Pad", "", {f32({2, 5, 3}), numbers({1, 2}), list_of(float32, {}, {2.5}), numbers({-1})});
    add("Gather", "Gather", "axis = 1", {f32({2, 5, 3, 7}), list_of(int64, {2, 3}, {0, -1, 3, 2, 2, -5})});
    add("GatherElements", "GatherElements", "axis = 1",
        {f32({2, 5, 3}), list_of(int64, {2, 2, 3}, {0, 1, 2, 3, 4, -1, -2, 0, 1, 2, 3, -5})});
    add("GatherND", "GatherND", "batch_dims = 1", {f32({2, 5, 3}), list_of(int64, {2, 2, 1}, {0, -1, 3, 2})});
    add("ScatterElements", "ScatterElements", "axis = 1, reduction = \"add\"",
        {f32({2, 5, 3}), list_of(int64, {2, 2, 3}, {0, 1, 2, 0, 4, -1, -2, 0, 1, 2, 0, -5}), f32({2, 2, 3})});
    add("Scatter", "Scatter", "axis = 0", {f32({4, 3}), list_of(int64, {2, 3}, {0, 1, 2, 3, 0, 1}), f32({2, 3})}, 10);
    add("ScatterND", "ScatterND", "", {f32({4, 5, 3}), list_of(int64, {2, 1}, {3, -4}), f32({2, 5, 3})});
    add("ScatterNDMax", "ScatterND", "reduction = \"max\"", {f32({4, 5, 3}), list_of(int64, {3, 2}, {3, 1, 0, 2, 3, 1}), f32({3, 3})});
    add("DepthToSpaceDCR", "DepthToSpace", "blocksize = 2", {f32({2, 12, 3, 5})});
    add("DepthToSpaceCRD", "DepthToSpace", "blocksize = 2, mode = \"CRD\"", {f32({2, 12, 3, 5})});
    add("SpaceToDepth", "SpaceToDepth", "blocksize = 3", {f32({2, 4, 6, 9})});
    add("ReverseSequence", "ReverseSequence", "batch_axis = 0, time_axis = 1", {f32({2, 5, 3}), numbers({3, 5})});
    add("CenterCropPad", "CenterCropPad", "", {f32({4, 5, 6}), numbers({7, 2, 6})});
    add("Trilu", "Trilu", "upper = 0", {f32({2, 5, 7}), list_of(int64, {}, {1})});
    add("CumSum", "CumSum", "exclusive = 1, reverse = 1", {f32({2, 5, 3}), list_of(int32, {}, {1})});
    add("CumProd", "CumProd", "", {f32({2, 5, 3}), list_of(int64, {}, {-1})}, 26);

    add("ConstantOfShape", "ConstantOfShape", "", {numbers({2, 5, 3})});
    add("Range", "Range", "", {list_of(float32, {}, {1.5}), list_of(float32, {}, {-4}), list_of(float32, {}, {-0.75})});
    add("EyeLike", "EyeLike", "k = 1", {f32({4, 5})});
    add("HannWindow", "HannWindow", "", {list_of(int32, {}, {9})});
    add("HammingWindow", "HammingWindow", "periodic = 0", {list_of(int32, {}, {9})});
    add("BlackmanWindow", "BlackmanWindow", "", {list_of(int32, {}, {9})});
    add("MelWeightMatrix", "MelWeightMatrix", "",
        {list_of(int32, {}, {8}), list_of(int32, {}, {16}), list_of(int32, {}, {8192}), list_of(float32, {}, {0}),
         list_of(float32, {}, {4096})});

    add("Conv", "Conv", "", {f32({2, 3, 9, 11}), f32({5, 3, 3, 2}), f32({5})});
    add("Conv1d", "Conv", "pads = [2, 1], strides = [2]", {f32({2, 3, 17}), f32({5, 3, 4})});
    add("Conv3d", "Conv", "pads = [1, 0, 1, 0, 2, 1]", {f32({1, 3, 5, 6, 7}), f32({4, 3, 3, 2, 3}), f32({4})});
    add("ConvGroups", "Conv", "group = 2, pads = [1, 1, 1, 1], strides = [2, 1], dilations = [1, 2]",
        {f32({2, 6, 9, 11}), f32({8, 3, 3, 3}), f32({8})});
    add("ConvDepthwise", "Conv", "group = 6, pads = [1, 2, 0, 1]", {f32({2, 6, 9, 11}), f32({6, 1, 3, 3})});
    add("ConvSame", "Conv", "auto_pad = \"SAME_UPPER\", strides = [2, 3]", {f32({2, 3, 10, 11}), f32({5, 3, 3, 4})});
    add("ConvPointwise", "Conv", "", {f32({2, 7, 9, 11}), f32({5, 7, 1, 1})});
    add("ConvDouble", "Conv", "", {of(float64, {2, 3, 9, 11}, Fill::normal), of(float64, {5, 3, 3, 2}, Fill::normal)});
    add("ConvHalf", "Conv", "", {of(DataType::float16, {2, 3, 9, 11}, Fill::unit), of(DataType::float16, {5, 3, 3, 2}, Fill::unit)});
    add("ConvTranspose", "ConvTranspose", "strides = [2, 3], pads = [1, 0, 0, 2], output_padding = [1, 0]",
        {f32({2, 3, 5, 4}), f32({3, 4, 3, 4}), f32({4})});
    add("ConvTransposeGroups", "ConvTranspose", "group = 2, dilations = [2, 1], strides = [3, 2]", {f32({2, 4, 5, 4}), f32({4, 3, 2, 3})});
    add("ConvTransposeShape", "ConvTranspose", "output_shape = [11, 9], strides = [2, 2]", {f32({1, 3, 5, 4}), f32({3, 2, 3, 3})});
    for (const char* automatic : {"VALID", "SAME_UPPER", "SAME_LOWER"}) {
      add(std::string("ConvTransposeShape_") + automatic, "ConvTranspose",
          "output_shape = [10, 8], strides = [2, 2], auto_pad = \"" + std::string(automatic) + "\"",
          {f32({1, 3, 5, 4}), f32({3, 2, 3, 4})});
    }
    add("ConvTranspose3d", "ConvTranspose", "strides = [1, 2, 2]", {f32({1, 3, 2, 3, 4}), f32({3, 2, 2, 3, 2})});
    add("ConvInteger", "ConvInteger", "pads = [1, 1, 1, 1]",
        {of(uint8, {2, 3, 7, 6}, Fill::integers), of(int8, {4, 3, 3, 3}, Fill::integers), list_of(uint8, {}, {3}),
         list_of(int8, {4}, {1, -2, 0, 3})},
        10);
    add("QLinearConv", "QLinearConv", "",
        {of(uint8, {2, 3, 7, 6}, Fill::integers), list_of(float32, {}, {0.1}), list_of(uint8, {}, {5}),
         of(int8, {4, 3, 3, 3}, Fill::integers), list_of(float32, {4}, {0.1, 0.2, 0.05, 0.3}), list_of(int8, {4}, {0, 0, 0, 0}),
         list_of(float32, {}, {0.7}), list_of(uint8, {}, {100}), of(int32, {4}, Fill::integers)},
        10);
    add("DeformConv", "DeformConv", "pads = [1, 0, 1, 0]",
        {f32({2, 4, 5, 6}), f32({3, 4, 3, 2}), f32({2, 12, 5, 5}, Fill::unit), f32({3}), f32({2, 6, 5, 5}, Fill::unit)});
    add("Col2Im", "Col2Im", "pads = [0, 1, 0, 1]", {f32({2, 12, 21}), numbers({4, 6}), numbers({2, 2})});

    add("MaxPool", "MaxPool", "kernel_shape = [3, 2], strides = [2, 2], pads = [1, 0, 1, 1]", {f32({2, 5, 9, 11})});
    add("MaxPoolIndices", "MaxPool", "kernel_shape = [3, 2], dilations = [2, 1], storage_order = 1", {f32({2, 5, 9, 11}, Fill::distinct)},
        22, 2);
    add("MaxPoolCeil", "MaxPool", "kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1", {f32({2, 5, 8, 10})});
    add("MaxPoolInteger", "MaxPool", "kernel_shape = [2, 2]", {of(uint8, {2, 5, 4, 6}, Fill::integers)});
    add("MaxPool1d", "MaxPool", "kernel_shape = [3]", {f32({2, 5, 11})});
    add("AveragePool", "AveragePool", "kernel_shape = [3, 2], strides = [2, 1], pads = [1, 1, 1, 0]", {f32({2, 5, 9, 11})});
    add("AveragePoolInclude", "AveragePool",
        "kernel_shape = [3, 2], strides = [2, 2], pads = [1, 1, 1, 0], count_include_pad = 1, ceil_mode = 1", {f32({2, 5, 8, 10})});
    add("AveragePool3d", "AveragePool", "kernel_shape = [2, 3, 2], dilations = [2, 1, 1]", {f32({1, 3, 5, 6, 7})});
    add("LpPool", "LpPool", "kernel_shape = [2, 3], p = 3", {f32({2, 5, 6, 7})});
    for (const char* op : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}) add(op, op, "", {f32({2, 5, 6, 7})});
    add("MaxUnpool", "MaxUnpool", "kernel_shape = [2, 2], strides = [2, 2]",
        {f32({1, 2, 2, 2}), list_of(int64, {1, 2, 2, 2}, {0, 3, 9, 14, 17, 18, 24, 31})});
    add("RoiAlign", "RoiAlign", "output_height = 2, output_width = 3, spatial_scale = 0.5",
        {f32({2, 5, 8, 9}), list_of(float32, {3, 4}, {0, 0, 9, 7, 2.5, 1, 14, 12, 5, 5, 6, 15}), numbers({0, 1, 1})});
    add("MaxRoiPool", "MaxRoiPool", "pooled_shape = [2, 3]", {f32({2, 5, 8, 9}), list_of(float32, {2, 5}, {0, 0, 0, 7, 6, 1, 2, 3, 8, 7})});
    for (const char* mode : {"linear", "nearest", "cubic"}) {
      add(std::string("GridSample_") + mode, "GridSample", "mode = \"" + std::string(mode) + "\", padding_mode = \"reflection\"",
          {f32({2, 5, 4, 6}), OperandCase{float32, {2, 3, 7, 2}, Fill::unit, {}, false}});
    }
    add("AffineGrid", "AffineGrid", "", {f32({2, 2, 3}), numbers({2, 3, 4, 5})});

    add("MatMul", "MatMul", "", {f32({2, 1, 5, 7}), f32({3, 7, 4})});
    add("MatMulVectors", "MatMul", "", {f32({7}), f32({3, 7, 4})});
    add("MatMulVector", "MatMul", "", {f32({2, 5, 7}), f32({7})});
    add("MatMulInteger64", "MatMul", "", {of(int64, {5, 7}, Fill::integers), of(int64, {7, 4}, Fill::integers)});
    add("Gemm", "Gemm", "alpha = 0.5, beta = 2.0, transA = 1, transB = 1", {f32({7, 5}), f32({4, 7}), f32({4})});
    add("GemmNoC", "Gemm", "", {f32({5, 70}), f32({70, 130})});
    add("MatMulInteger", "MatMulInteger", "",
        {of(uint8, {2, 5, 7}, Fill::integers), of(int8, {7, 4}, Fill::integers), list_of(uint8, {}, {3}),
         list_of(int8, {4}, {1, -2, 0, 3})});
    add("QLinearMatMul", "QLinearMatMul", "",
        {of(uint8, {5, 7}, Fill::integers), list_of(float32, {}, {0.1}), list_of(uint8, {}, {5}), of(int8, {7, 4}, Fill::integers),
         list_of(float32, {4}, {0.1, 0.2, 0.05, 0.3}), list_of(int8, {4}, {1, 0, 0, -3}), list_of(float32, {}, {0.3}),
         list_of(uint8, {}, {100})});
    add("Einsum", "Einsum", "equation = \"bhid,bhjd->bhij\"", {f32({2, 3, 4, 5}), f32({2, 3, 6, 5})});
    add("EinsumThree", "Einsum", "equation = \"...ij, jk, k -> ...i\"", {f32({2, 3, 4, 5}), f32({5, 6}), f32({6})});
    add("EinsumDiagonal", "Einsum", "equation = \"bii->bi\"", {f32({3, 4, 4})});
    add("EinsumPositions", "Einsum", "equation = \"bhwc,hkc->bhwk\"", {f32({2, 3, 4, 5}), f32({3, 6, 5})});
    add("EinsumOuter", "Einsum", "equation = \"i,j->ji\"", {f32({3}), f32({5})});
    add("EinsumElements", "Einsum", "equation = \"bij,bj->jib\"", {f32({2, 3, 5}), f32({2, 5})});
    add("EinsumSidesSummed", "Einsum", "equation = \"aib,cjb->ij\"", {f32({2, 3, 5}), f32({4, 6, 5})});
    add("EinsumSpread", "Einsum", "equation = \"bij,bjk->bki\"", {f32({1, 3, 5}), f32({4, 5, 6})});
    add("Det", "Det", "", {f32({2, 3, 4, 4})});

    add("BatchNormalization", "BatchNormalization", "epsilon = 0.001",
        {f32({2, 5, 3, 7}), f32({5}), f32({5}), f32({5}), f32({5}, Fill::positive)});
    add("InstanceNormalization", "InstanceNormalization", "", {f32({2, 5, 3, 7}), f32({5}), f32({5})});
    add("GroupNormalization", "GroupNormalization", "num_groups = 3", {f32({2, 6, 3, 7}), f32({6}), f32({6})});
    add("GroupNormalization18", "GroupNormalization", "num_groups = 3", {f32({2, 6, 3, 7}), f32({3}), f32({3})}, 18);
    add("LayerNormalization", "LayerNormalization", "axis = 2", {f32({2, 5, 3, 7}), f32({3, 7}), f32({7})}, 22, 3);
    add("RMSNormalization", "RMSNormalization", "", {f32({2, 5, 7}), f32({7})}, 23);
    add("LRN", "LRN", "size = 4, alpha = 0.1", {f32({2, 7, 3, 5})});
    add("LpNormalization", "LpNormalization", "axis = 1", {f32({2, 5, 3})});
    add("MeanVarianceNormalization", "MeanVarianceNormalization", "", {f32({2, 5, 3, 7})});
    for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
      add(op, op, "axis = 1", {f32({2, 5, 3, 7})});
      add(std::string(op) + "OfOpset11", op, "axis = 2", {f32({2, 5, 3, 7})}, 11);
    }
    for (const char* op : {"ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
                           "ReduceSumSquare"}) {
      add(std::string(op) + "Plane", op, "", {f32({2, 5, 3, 7}), numbers({2, 3})});
      add(std::string(op) + "Channels", op, "keepdims = 0", {f32({2, 5, 3, 7}), numbers({1})});
      add(std::string(op) + "All", op, "", {f32({2, 5, 3, 7})});
      add(std::string(op) + "OfOpset11", op, "axes = [0, -2]", {f32({2, 5, 3, 7})}, 11);
    }
    add("ReduceLogSum", "ReduceLogSum", "", {f32({2, 5, 3, 7}, Fill::positive), numbers({0, 2})});
    add("ReduceSumInteger", "ReduceSum", "", {of(int32, {4, 5, 6}, Fill::integers), numbers({1})});
    add("ReduceMaxBool", "ReduceMax", "", {of(boolean, {4, 5, 6}, Fill::boolean), numbers({1})});
    add("ArgMax", "ArgMax", "axis = 1", {f32({2, 5, 3})});
    add("ArgMinLast", "ArgMin", "axis = -1, keepdims = 0, select_last_index = 1", {of(int32, {2, 5, 30}, Fill::integers)});
    add("TopK", "TopK", "axis = 1", {f32({2, 7, 3}), numbers({4})}, 22, 2);
    add("TopKSmallest", "TopK", "largest = 0", {of(int32, {2, 3, 30}, Fill::integers), numbers({9})}, 22, 2);
    add("NonZero", "NonZero", "", {of(int32, {4, 5, 3}, Fill::boolean)});
    add("Compress", "Compress", "axis = 1", {f32({2, 5, 3}), list_of(boolean, {4}, {1, 0, 0, 1})});
    add("Unique", "Unique", "", {of(int32, {4, 5}, Fill::integers)}, 22, 4);
    add("UniqueAxis", "Unique", "axis = 1, sorted = 0", {list_of(int64, {2, 4}, {3, 1, 3, 1, 2, 0, 2, 5})}, 22, 4);
    add("OneHot", "OneHot", "axis = 1", {of(int64, {2, 3}, Fill::integers), list_of(int64, {}, {6}), list_of(float32, {2}, {-1, 2})});
    add("NonMaxSuppression", "NonMaxSuppression", "",
        {list_of(float32, {1, 4, 4}, {0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, -0.1, 1, 0.9, 0, 10, 1, 11}),
         list_of(float32, {1, 2, 4}, {.9, .75, .6, .95, .2, .8, .6, .5}), list_of(int64, {1}, {3}), list_of(float32, {1}, {0.5}),
         list_of(float32, {1}, {0.3})});

    for (const char* mode : {"nearest", "linear", "cubic"}) {
      add(std::string("ResizeUp_") + mode, "Resize", "mode = \"" + std::string(mode) + "\"",
          {f32({2, 3, 4, 5}), none, list_of(float32, {4}, {1, 1, 2, 1.6}), none});
      add(std::string("ResizeDown_") + mode, "Resize", "antialias = 1, mode = \"" + std::string(mode) + "\"",
          {f32({2, 3, 9, 8}), none, none, numbers({2, 3, 4, 5})});
      add(std::string("ResizeCorners_") + mode, "Resize",
          "coordinate_transformation_mode = \"align_corners\", mode = \"" + std::string(mode) + "\"",
          {f32({2, 3, 4, 5}), none, none, numbers({2, 3, 7, 6})});
      add(std::string("ResizeCornersCut_") + mode, "Resize",
          "coordinate_transformation_mode = \"align_corners\", mode = \"" + std::string(mode) + "\"",
          {f32({2, 3, 4, 5}), none, list_of(float32, {4}, {1, 1, 0.6, 1.5}), none});
    }
    add("ResizeCrop", "Resize",
        "axes = [2, 3], coordinate_transformation_mode = \"tf_crop_and_resize\", mode = \"linear\", extrapolation_value = 9.0",
        {f32({2, 3, 6, 5}), list_of(float32, {4}, {0.2, -0.1, 0.9, 0.7}), none, numbers({4, 6})});
    add("ResizeOfOpset10", "Resize", "mode = \"linear\"", {f32({2, 3, 4, 5}), list_of(float32, {4}, {1, 1, 2, 2})}, 10);
    add("Upsample", "Upsample", "mode = \"nearest\"", {f32({2, 3, 4, 5}), list_of(float32, {4}, {1, 1, 2, 3})}, 9);

    add("QuantizeLinear", "QuantizeLinear", "", {f32({2, 5, 3, 7}), list_of(float32, {}, {0.05}), list_of(uint8, {}, {100})});
    add("QuantizeLinearChannels", "QuantizeLinear", "axis = 1",
        {f32({2, 5, 3}), list_of(float32, {5}, {.05, .1, .2, .02, .3}), list_of(int8, {5}, {0, 1, -2, 3, 4})});
    add("QuantizeLinearBlocks", "QuantizeLinear", "axis = 1, block_size = 2",
        {f32({2, 5, 3}), f32({2, 3, 3}, Fill::positive), of(int16, {2, 3, 3}, Fill::integers)});
    add("QuantizeLinearFloat8", "QuantizeLinear", "output_dtype = 19", {f32({2, 5, 3}), list_of(float32, {}, {0.5})});
    add("DequantizeLinear", "DequantizeLinear", "axis = 1",
        {of(int8, {2, 5, 3}, Fill::integers), list_of(float32, {5}, {.05, .1, .2, .02, .3}), list_of(int8, {5}, {0, 1, -2, 3, 4})});
    add("DynamicQuantizeLinear", "DynamicQuantizeLinear", "", {f32({2, 5, 3})}, 22, 3);

    add("RNN", "RNN", "hidden_size = 4, activations = [\"Relu\"]",
        {f32({5, 2, 3}), f32({1, 4, 3}), f32({1, 4, 4}, Fill::unit), f32({1, 8})}, 22, 2);
    add("GRU", "GRU", "hidden_size = 4, direction = \"bidirectional\"",
        {f32({5, 2, 3}), f32({2, 12, 3}), f32({2, 12, 4}, Fill::unit), f32({2, 24}), list_of(int32, {2}, {5, 3}), f32({2, 2, 4})}, 22, 2);
    add("GRUReset", "GRU", "hidden_size = 4, linear_before_reset = 1, layout = 1",
        {f32({2, 5, 3}), f32({1, 12, 3}), f32({1, 12, 4}, Fill::unit), f32({1, 24})}, 22, 2);
    add("LSTM", "LSTM", "hidden_size = 4, direction = \"reverse\", clip = 2.0",
        {f32({5, 2, 3}), f32({1, 16, 3}), f32({1, 16, 4}, Fill::unit), f32({1, 32}), list_of(int32, {2}, {3, 5}), f32({1, 2, 4}),
         f32({1, 2, 4}), f32({1, 12})},
        22, 3);
    add("NegativeLogLikelihoodLoss", "NegativeLogLikelihoodLoss", "",
        {f32({2, 5, 3}), list_of(int64, {2, 3}, {0, 4, 2, 1, 1, 3}), f32({5}, Fill::positive)});
    add("SoftmaxCrossEntropyLoss", "SoftmaxCrossEntropyLoss", "reduction = \"none\", ignore_index = 2",
        {f32({2, 5, 3}), list_of(int64, {2, 3}, {0, 4, 2, 1, 1, 3})}, 22, 2);
    add("DFT", "DFT", "onesided = 1", {f32({2, 12, 1}), none, none});
    add("DFTInverse", "DFT", "inverse = 1", {f32({2, 7, 3, 2}), none, list_of(int64, {}, {1})});
    add("STFT", "STFT", "", {f32({2, 20, 1}), list_of(int64, {}, {3}), f32({8}), none});
    const auto text = [](Dims dims) { return OperandCase{string, std::move(dims), Fill::values, {}, false}; };
    add("StringConcat", "StringConcat", "", {text({2, 1, 3}), text({5, 1})});
    add("StringSplit", "StringSplit", "maxsplit = 1", {text({2, 3})}, 22, 2);
    add("StringNormalizer", "StringNormalizer", "stopwords = [\"TEXT 2\"], case_change_action = \"UPPER\"", {text({5})});
    add("RegexFullMatch", "RegexFullMatch", "pattern = \"t[a-f]xt [1-3]\"", {text({2, 3})});
    add("TfIdfVectorizer", "TfIdfVectorizer",
        "mode = \"TFIDF\", min_gram_length = 1, max_gram_length = 2, max_skip_count = 1, ngram_counts = [0, 2], ngram_indexes = [2, 0, 1], "
        "pool_int64s = [1, 4, 1, -2], weights = [0.5, 2.0, 3.0]",
        {of(int64, {3, 9}, Fill::integers)});
    add("Attention", "Attention", "is_causal = 1, softcap = 3.0, qk_matmul_output_mode = 2",
        {f32({2, 6, 4, 5}), f32({2, 3, 7, 5}), f32({2, 3, 7, 8}), f32({4, 7})}, 23, 4);
    add("AttentionFlat", "Attention", "q_num_heads = 4, kv_num_heads = 2",
        {f32({2, 3, 20}), f32({2, 6, 10}), f32({2, 6, 14}), of(boolean, {3, 6}, Fill::boolean)}, 24);
    add("AttentionCapped", "Attention", "is_causal = 1, softcap = 3.0, scale = 0.5",
        {f32({2, 6, 4, 5}), f32({2, 3, 7, 5}), f32({2, 3, 7, 8})}, 23);
    add("AttentionWithPast", "Attention", "is_causal = 1",
        {f32({2, 6, 4, 5}), f32({2, 3, 7, 5}), f32({2, 3, 7, 8}), f32({2, 1, 4, 9}), f32({2, 3, 2, 5}), f32({2, 3, 2, 8})}, 23, 3);
    add("RotaryEmbedding", "RotaryEmbedding", "rotary_embedding_dim = 4",
        {f32({2, 3, 5, 6}), f32({9, 2}, Fill::unit), f32({9, 2}, Fill::unit), list_of(int64, {2, 5}, {0, 1, 2, 3, 4, 8, 7, 6, 5, 4})}, 23);
    add("TensorScatter", "TensorScatter", "mode = \"circular\"", {f32({2, 3, 6, 4}), f32({2, 3, 4, 4}), numbers({1, 4})}, 24);
    add("SwiGLU", "SwiGLU", "alpha = 1.5", {f32({2, 5, 3, 7}), f32({2, 5, 3, 7})}, 28);
    add("LinearAttention", "LinearAttention", "q_num_heads = 4, kv_num_heads = 2",
        {f32({2, 5, 12}), f32({2, 5, 6}), f32({2, 5, 8}), none, f32({2, 5, 2}, Fill::unit), f32({2, 5, 2}, Fill::unit)}, 27, 2);
    add("CausalConvWithState", "CausalConvWithState", "activation = \"silu\"", {f32({2, 5, 9}), f32({5, 1, 4}), f32({5}), f32({2, 5, 3})},
        27, 2);
    add("SplitToSequence", "SplitToSequence", "axis = 1", {f32({2, 5, 3}), list_of(int64, {}, {2})});
    return list;
  }();
  return cases;
}

}  // namespace relayout::test
