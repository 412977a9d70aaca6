
#include "relayout/types.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

using enum DataType;

/// Collects cases; names state the origin of a shape.
class Cases {
 public:
  void add(std::string name, std::string op, std::string attributes, std::vector<OperandCase> inputs, int outputs = 1, int64_t opset = 21) {
    list_.push_back({std::move(name), std::move(op), std::move(attributes), std::move(inputs), opset, outputs});
  }
  [[nodiscard]] std::vector<OpCase> list() && { return std::move(list_); }

 private:
  std::vector<OpCase> list_;
};

OperandCase f32(Dims dims, Fill fill = Fill::normal) {
  return {float32, std::move(dims), fill, {}, false};
}
OperandCase weights(Dims dims, Fill fill = Fill::unit) {
  return {float32, std::move(dims), fill, {}, true};
}
OperandCase of(DataType type, Dims dims, Fill fill = Fill::integers) {
  return {type, std::move(dims), fill, {}, false};
}
OperandCase constant(DataType type, Dims dims, Fill fill = Fill::integers) {
  return {type, std::move(dims), fill, {}, true};
}
OperandCase listed(DataType type, Dims dims, std::vector<double> values) {
  return {type, std::move(dims), Fill::values, std::move(values), true};
}
OperandCase numbers(std::vector<double> values) {
  const auto count = static_cast<int64_t>(values.size());
  return listed(int64, {count}, std::move(values));
}
const OperandCase kNone{undefined, {}, Fill::values, {}, false};

/// `count` indices below `size`, spread over all of it.
OperandCase indices(Dims dims, int64_t size) {
  std::vector<double> values;
  for (int64_t i = 0; i < element_count(dims); ++i) values.push_back(static_cast<double>(i * 7919 % size));
  OperandCase operand = listed(int64, std::move(dims), std::move(values));
  operand.constant = false;
  return operand;
}

void add_convolutions(Cases& cases) {
  const auto conv = [&](std::string name, Dims x, Dims w, std::string attributes) {
    const Dims bias{w[0]};
    cases.add(std::move(name), "Conv", std::move(attributes), {f32(std::move(x)), weights(std::move(w)), weights(bias)});
  };
  conv("resnet stem 7x7/2", {1, 3, 224, 224}, {64, 3, 7, 7}, "strides = [2, 2], pads = [3, 3, 3, 3]");
  conv("resnet 3x3 64", {1, 64, 56, 56}, {64, 64, 3, 3}, "pads = [1, 1, 1, 1]");
  conv("resnet 3x3 512", {1, 512, 7, 7}, {512, 512, 3, 3}, "pads = [1, 1, 1, 1]");
  conv("resnet 1x1 64 to 256", {1, 64, 56, 56}, {256, 64, 1, 1}, "");
  conv("resnet 1x1/2 256 to 512", {1, 256, 56, 56}, {512, 256, 1, 1}, "strides = [2, 2]");
  conv("resnext groups", {1, 128, 56, 56}, {128, 4, 3, 3}, "group = 32, pads = [1, 1, 1, 1]");
  conv("mobilenet depthwise 144", {1, 144, 56, 56}, {144, 1, 3, 3}, "group = 144, pads = [1, 1, 1, 1]");
  conv("efficientnet depthwise 5x5", {1, 672, 14, 14}, {672, 1, 5, 5}, "group = 672, pads = [2, 2, 2, 2]");
  conv("convnext depthwise 7x7", {1, 96, 56, 56}, {96, 1, 7, 7}, "group = 96, pads = [3, 3, 3, 3]");
  conv("squeeze and excite", {1, 960, 1, 1}, {240, 960, 1, 1}, "");
  conv("inception 1x7", {1, 192, 17, 17}, {192, 192, 1, 7}, "pads = [0, 3, 0, 3]");
  conv("deeplab dilated", {1, 256, 28, 28}, {64, 256, 3, 3}, "dilations = [12, 12], pads = [12, 12, 12, 12]");
  conv("vit patches", {1, 3, 224, 224}, {384, 3, 16, 16}, "strides = [16, 16]");
  conv("unet last 1x1", {1, 64, 128, 128}, {2, 64, 1, 1}, "");
  conv("video 3x3x3", {1, 64, 4, 28, 28}, {64, 64, 3, 3, 3}, "pads = [1, 1, 1, 1, 1, 1]");
  conv("video 3x1x1", {1, 144, 8, 28, 28}, {64, 144, 3, 1, 1}, "pads = [1, 0, 0, 1, 0, 0]");
  conv("speech k3", {1, 80, 3000}, {384, 80, 3}, "pads = [1, 1]");
  conv("samples k10/5", {1, 1, 16000}, {512, 1, 10}, "strides = [5]");
  conv("conformer depthwise k31", {1, 256, 500}, {256, 1, 31}, "group = 256, pads = [15, 15]");
  const auto transposed = [&](std::string name, Dims x, Dims w, std::string attributes) {
    cases.add(std::move(name), "ConvTranspose", std::move(attributes), {f32(std::move(x)), weights(std::move(w))});
  };
  transposed("unet up 2x2", {1, 128, 32, 32}, {128, 64, 2, 2}, "strides = [2, 2]");
  transposed("gan up 4x4", {1, 256, 16, 16}, {256, 128, 4, 4}, "strides = [2, 2], pads = [1, 1, 1, 1]");
  transposed("gan first layer", {1, 100, 1, 1}, {100, 512, 4, 4}, "");
  transposed("vocoder up", {1, 256, 100}, {256, 128, 16}, "strides = [8], pads = [4, 4]");
  transposed("unet 3-d up", {1, 64, 8, 8, 8}, {64, 32, 2, 2, 2}, "strides = [2, 2, 2]");
  cases.add("deformable", "DeformConv", "pads = [1, 1, 1, 1]", {f32({1, 32, 28, 28}), weights({32, 32, 3, 3}), f32({1, 18, 28, 28})});
}

void add_products(Cases& cases) {
  cases.add("classifier", "Gemm", "transB = 1", {f32({1, 2048}), weights({1000, 2048}), weights({1000})});
  cases.add("bert feed forward", "MatMul", "", {f32({1, 128, 768}), weights({768, 3072})});
  cases.add("vit scores", "MatMul", "", {f32({1, 12, 197, 64}), f32({1, 12, 64, 197})});
  cases.add("swin windows", "MatMul", "", {f32({64, 3, 49, 32}), f32({64, 3, 32, 49})});
  cases.add("decoder step", "MatMul", "", {f32({1, 12, 1, 64}), f32({1, 12, 64, 512})});
  cases.add("relative positions", "Einsum", "equation = \"bhwc,hkc->bhwk\"", {f32({8, 14, 14, 64}), f32({14, 14, 64})});
  cases.add("einsum scores", "Einsum", "equation = \"bqhd,bkhd->bhqk\"", {f32({1, 128, 12, 64}), f32({1, 128, 12, 64})});
  cases.add("masks of queries", "Einsum", "equation = \"bqc,bchw->bqhw\"", {f32({1, 100, 256}), f32({1, 256, 64, 64})});
  cases.add("attention", "Attention", "", {f32({1, 12, 128, 64}), f32({1, 12, 128, 64}), f32({1, 12, 128, 64})}, 1, 23);
  const auto recurrent = [&](std::string name, std::string op, int64_t gates, int64_t steps, int64_t batch, int64_t input, int64_t hidden) {
    cases.add(std::move(name), std::move(op), "hidden_size = " + std::to_string(hidden),
              {f32({steps, batch, input}, Fill::unit), weights({1, gates * hidden, input}, Fill::small),
               weights({1, gates * hidden, hidden}, Fill::small), weights({1, 2 * gates * hidden}, Fill::small)});
  };
  recurrent("speech LSTM", "LSTM", 4, 100, 1, 128, 128);
  recurrent("batched LSTM", "LSTM", 4, 50, 4, 64, 64);
  recurrent("speech GRU", "GRU", 3, 100, 1, 80, 256);
}

void add_quantized(Cases& cases) {
  const OperandCase scale = listed(float32, {}, {0.02}), small = listed(float32, {}, {0.01}), half = listed(float32, {}, {0.5});
  const OperandCase zero = listed(uint8, {}, {128}), none = listed(int8, {}, {0});
  const auto conv = [&](std::string name, Dims x, Dims w, std::string attributes) {
    cases.add(std::move(name), "QLinearConv", std::move(attributes),
              {of(uint8, std::move(x)), scale, zero, constant(int8, std::move(w)), small, none, half, zero});
  };
  conv("quantized 3x3", {1, 64, 56, 56}, {64, 64, 3, 3}, "pads = [1, 1, 1, 1]");
  conv("quantized 1x1", {1, 144, 56, 56}, {24, 144, 1, 1}, "");
  conv("quantized depthwise", {1, 144, 56, 56}, {144, 1, 3, 3}, "group = 144, pads = [1, 1, 1, 1]");
  cases.add("quantized product", "MatMulInteger", "", {of(uint8, {128, 768}), constant(int8, {768, 768}), listed(uint8, {}, {120})});
  cases.add("quantize", "QuantizeLinear", "", {f32({1, 64, 56, 56}), scale, zero});
  cases.add("dequantize", "DequantizeLinear", "", {of(uint8, {1, 64, 56, 56}), scale, zero});
}

void add_pools(Cases& cases) {
  cases.add("resnet pool", "MaxPool", "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]", {f32({1, 64, 112, 112})});
  cases.add("unet pool", "MaxPool", "kernel_shape = [2, 2], strides = [2, 2]", {f32({1, 64, 112, 112})});
  cases.add("spatial pyramid", "MaxPool", "kernel_shape = [5, 5], strides = [1, 1], pads = [2, 2, 2, 2]", {f32({1, 256, 20, 20})});
  cases.add("video pool", "MaxPool", "kernel_shape = [1, 3, 3], strides = [1, 2, 2], pads = [0, 1, 1, 0, 1, 1]", {f32({1, 64, 8, 56, 56})});
  cases.add("inception pool", "AveragePool", "kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1]", {f32({1, 192, 28, 28})});
  cases.add("densenet pool", "AveragePool", "kernel_shape = [2, 2], strides = [2, 2]", {f32({1, 128, 56, 56})});
  cases.add("global pool", "GlobalAveragePool", "", {f32({1, 2048, 7, 7})});
  cases.add("global pool as mean", "ReduceMean", "", {f32({1, 2048, 7, 7}), numbers({2, 3})});
}

void add_norms(Cases& cases) {
  cases.add("vit norm", "LayerNormalization", "axis = -1", {f32({1, 197, 768}), weights({768}), weights({768})});
  cases.add("swin norm", "LayerNormalization", "axis = -1", {f32({1, 3136, 96}), weights({96}), weights({96})});
  cases.add("style norm", "InstanceNormalization", "", {f32({1, 64, 56, 56}), weights({64}), weights({64})});
  cases.add("group norm", "GroupNormalization", "num_groups = 32", {f32({1, 64, 28, 28}), weights({64}), weights({64})});
  cases.add("batch norm", "BatchNormalization", "",
            {f32({1, 64, 56, 56}), weights({64}), weights({64}), weights({64}), weights({64}, Fill::positive)});
  cases.add("alexnet norm", "LRN", "size = 5", {f32({1, 96, 27, 27})});
  cases.add("bert softmax", "Softmax", "axis = -1", {f32({1, 12, 128, 128})});
  cases.add("ctc log softmax", "LogSoftmax", "axis = -1", {f32({26, 5000})});
}

void add_elementwise(Cases& cases) {
  for (const char* op : {"Relu", "Sigmoid", "Tanh", "Exp", "Log", "Erf", "HardSwish", "Gelu", "Sqrt"}) {
    cases.add(std::string("activation ") + op, op, "", {f32({1, 64, 56, 56}, Fill::positive)});
  }
  cases.add("relu6", "Clip", "", {f32({1, 96, 56, 56}), listed(float32, {}, {0}), listed(float32, {}, {6})});
  cases.add("prelu", "PRelu", "", {f32({1, 64, 56, 56}), weights({64, 1, 1})});
  cases.add("residual", "Add", "", {f32({1, 64, 56, 56}), f32({1, 64, 56, 56})});
  cases.add("excited", "Mul", "", {f32({1, 64, 56, 56}), f32({1, 64, 1, 1})});
  cases.add("squares", "Pow", "", {f32({1, 64, 56, 56}), listed(float32, {}, {2})});
  cases.add("mask", "Where", "", {of(boolean, {1, 1, 128, 128}, Fill::boolean), f32({1, 12, 128, 128}), listed(float32, {}, {-1e9})});
  cases.add("to integers", "Cast", "to = 7", {f32({1, 64, 56, 56})});
  cases.add("from bytes", "Cast", "to = 1", {of(uint8, {1, 3, 224, 224})});
}

void add_movement(Cases& cases) {
  cases.add("to channels-last", "Transpose", "perm = [0, 2, 3, 1]", {f32({1, 64, 56, 56})});
  cases.add("heads", "Transpose", "perm = [0, 2, 1, 3]", {f32({1, 197, 12, 64})});
  cases.add("dense block", "Concat", "axis = 1", {f32({1, 64, 56, 56}), f32({1, 32, 56, 56})});
  cases.add("queries, keys, values", "Split", "axis = 2, num_outputs = 3", {f32({1, 197, 2304})}, 3);
  cases.add("focus", "Slice", "", {f32({1, 3, 320, 320}), numbers({0, 0}), numbers({320, 320}), numbers({2, 3}), numbers({2, 2})});
  cases.add("pixel shuffle", "DepthToSpace", "blocksize = 2", {f32({1, 64, 56, 56})});
  cases.add("zero padding", "Pad", "", {f32({1, 64, 56, 56}), numbers({0, 0, 1, 1, 0, 0, 1, 1})});
  cases.add("reflection", "Pad", "mode = \"reflect\"", {f32({1, 64, 56, 56}), numbers({0, 0, 3, 3, 0, 0, 3, 3})});
  cases.add("broadcast", "Expand", "", {f32({1, 64, 1, 1}), numbers({1, 64, 56, 56})});
  cases.add("embedding", "Gather", "", {weights({30522, 64}), indices({1, 128}, 30522)});
  cases.add("scatter", "ScatterND", "", {f32({100, 100, 64}), indices({1000, 2}, 100), f32({1000, 64})});
  cases.add("upsample nearest", "Resize", "mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\"",
            {f32({1, 64, 40, 40}), kNone, listed(float32, {4}, {1, 1, 2, 2})});
  cases.add("upsample linear", "Resize", "mode = \"linear\"", {f32({1, 21, 28, 28}), kNone, kNone, numbers({1, 21, 112, 112})});
  cases.add("downsample linear", "Resize", "mode = \"linear\"", {f32({1, 3, 224, 224}), kNone, listed(float32, {4}, {1, 1, 0.5, 0.5})});
}

void add_detection(Cases& cases) {
  std::vector<double> boxes;
  for (int i = 0; i < 100; ++i) {
    const int row = i / 10, column = i % 10;
    const double x = 15.0 * column, y = 15.0 * row;
    boxes.insert(boxes.end(), {x, y, x + 40, y + 40});
  }
  cases.add("regions", "RoiAlign", "output_height = 7, output_width = 7, sampling_ratio = 2, spatial_scale = 0.25",
            {f32({1, 64, 50, 50}), listed(float32, {100, 4}, boxes), listed(int64, {100}, std::vector<double>(100, 0))});
  cases.add("best scores", "TopK", "", {f32({1, 8400}, Fill::distinct), numbers({300})}, 2);
  cases.add("classes of pixels", "ArgMax", "axis = 1", {f32({1, 21, 112, 112})});
  cases.add("sampling grid", "GridSample", "mode = \"linear\"", {f32({1, 64, 32, 32}), f32({1, 32, 32, 2}, Fill::unit)});
  cases.add("running totals", "CumSum", "", {f32({128, 512}), listed(int64, {}, {1})});
  cases.add("means of tokens", "ReduceMean", "", {f32({1, 197, 768}), numbers({-1})});
}

}  // namespace

const std::vector<OpCase>& network_cases() {
  static const std::vector<OpCase> cases = [] {
    Cases all;
    for (const auto add :
         {add_convolutions, add_products, add_quantized, add_pools, add_norms, add_elementwise, add_movement, add_detection}) {
      add(all);
    }
    return std::move(all).list();
  }();
  return cases;
}

}  // namespace relayout::test
