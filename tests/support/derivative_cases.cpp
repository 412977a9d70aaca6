// Lists models of single operators, each with the forms that its rows tell apart.

#include "support/derivatives.h"

namespace relayout::test {
namespace {

RowCase unary(const std::string& op, double low = -2, double high = 2, const std::string& attributes = "") {
  const bool has_attributes = !attributes.empty();
  return {.name = op + (has_attributes ? "_" + attributes.substr(0, attributes.find(' ')) : ""),
          .text = "g (double[N, 5, 3] x) => (double[N, 5, 3] y) { y = " + op + (has_attributes ? " <" + attributes + "> " : " ") + "(x) }",
          .low = low,
          .high = high};
}

RowCase binary(const std::string& name, const std::string& op, const std::string& a, const std::string& b, const std::string& y,
               double low = -2, double high = 2) {
  return {.name = op + "_" + name,
          .text = "g (double" + a + " a, double" + b + " b) => (double" + y + " y) { y = " + op + " (a, b) }",
          .low = low,
          .high = high};
}

/// A model of one input x, from its dims, those of y, and its nodes.
RowCase moves(const std::string& name, const std::string& x, const std::string& y, const std::string& nodes) {
  return {.name = name, .text = "g (double" + x + " x) => (double" + y + " y) { " + nodes + " }"};
}

void add_elementwise(std::vector<RowCase>& out) {
  for (const char* op :
       {"Abs",  "Asinh", "Atan",  "Cos",    "Cosh",     "Erf",   "Exp",  "Gelu",     "HardSigmoid", "HardSwish", "LeakyRelu",
        "Mish", "Neg",   "Relu",  "Selu",   "Sigmoid",  "Sin",   "Sinh", "Softplus", "Softsign",    "Tanh",      "ThresholdedRelu",
        "Celu", "Elu",   "Swish", "Shrink", "Identity", "Floor", "Sign"}) {
    out.push_back(unary(op));
  }
  for (const char* op : {"Acos", "Asin", "Atanh", "Tan"}) out.push_back(unary(op, -0.8, 0.8));
  for (const char* op : {"Log", "Sqrt", "Reciprocal"}) out.push_back(unary(op, 0.5, 2));
  out.push_back(unary("Acosh", 1.2, 3));
  out.push_back(unary("Gelu", -2, 2, "approximate = \"tanh\""));
  out.push_back(unary("Elu", -2, 2, "alpha = 0.7"));
  out.push_back(unary("Celu", -2, 2, "alpha = 0.7"));
  out.push_back(unary("LeakyRelu", -2, 2, "alpha = 0.2"));
  out.push_back(unary("HardSigmoid", -2, 2, "alpha = 0.3, beta = 0.4"));
  out.push_back(unary("Swish", -2, 2, "alpha = 1.5"));
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "PRelu"}) {
    const double low = std::string(op) == "PRelu" || std::string(op) == "Max" || std::string(op) == "Min" ? -2 : 0.5;
    out.push_back(binary("same", op, "[N, 5]", "[N, 5]", "[N, 5]", low));
    out.push_back(binary("right", op, "[N, 5, 3]", "[5, 1]", "[N, 5, 3]", low));
    out.push_back(binary("scalar", op, "[N, 5]", "", "[N, 5]", low));
    if (std::string(op) != "PRelu") {
      out.push_back(binary("left", op, "[3]", "[N, 5, 3]", "[N, 5, 3]", low));
      out.push_back(binary("both", op, "[N, 1, 3]", "[1, 5, 1]", "[N, 5, 3]", low));
      out.push_back(binary("free", op, "[N, M]", "[N, M]", "[N, M]", low));
    }
  }
  out.push_back(moves("Pow_square", "[N, 5]", "[N, 5]", "two = Constant <value = double {2.0}> () y = Pow (x, two)"));
  out.push_back(moves("Pow_cube", "[N, 5]", "[N, 5]", "n = Constant <value = double {3.0}> () y = Pow (x, n)"));
  out.push_back(moves("Add_constant", "[N, 1]", "[N, 3]", "c = Constant <value = double[3] {1, 2, 3}> () y = Add (x, c)"));
  out.push_back(moves("Sub_from_constant", "[N, 1]", "[N, 3]", "c = Constant <value = double[3] {1, 2, 3}> () y = Sub (c, x)"));
  out.push_back(moves("twice_used", "[N, 3]", "[N, 3]", "a = Tanh (x) b = Mul (x, a) y = Add (b, x)"));
  out.push_back({"Sum_three", "g (double[N, 3] a, double[3] b, double c) => (double[N, 3] y) { y = Sum (a, b, c) }"});
  out.push_back({"Mean_three", "g (double[N, 3] a, double[3] b, double c) => (double[N, 3] y) { y = Mean (a, b, c) }"});
  out.push_back({"Max_three", "g (double[N, 3] a, double[3] b, double c) => (double[N, 3] y) { y = Max (a, b, c) }"});
  out.push_back(
      {"Where_both", "g (double[N, 3] a, double[3] b, double[N, 1] c) => (double[N, 3] y) { p = Greater (a, c) y = Where (p, a, b) }"});
  out.push_back({"Where_one",
                 "g (double[N, 3] a, double[3] b) => (double[N, 3] y) { z = Constant <value = double[3] {1, 2, 3}> () p = Greater "
                 "(a, z) y = Where (p, b, z) }"});
  out.push_back(
      {"Clip_limits",
       "g (double[N, 3] x, double a, double b) => (double[N, 3] y) { l = Abs (a) h = Sub (a, l) m = Neg (h) y = Clip (x, h, m) }"});
  out.push_back(moves("Clip_constants", "[N, 3]", "[N, 3]",
                      "l = Constant <value = double {-0.5}> () h = Constant <value = double {0.5}> () y = Clip (x, l, h)"));
}

void add_products(std::vector<RowCase>& out) {
  const auto matmul = [&](const std::string& name, const char* a, const char* b, const char* y) {
    out.push_back(binary(name, "MatMul", a, b, y));
  };
  matmul("matrices", "[N, 4]", "[4, 3]", "[N, 3]");
  matmul("batch_by_matrix", "[N, 5, 4]", "[4, 3]", "[N, 5, 3]");
  matmul("matrix_by_batch", "[5, 4]", "[N, 4, 3]", "[N, 5, 3]");
  matmul("batches", "[N, 2, 5, 4]", "[N, 2, 4, 3]", "[N, 2, 5, 3]");
  matmul("broadcast", "[N, 1, 5, 4]", "[3, 4, 2]", "[N, 3, 5, 2]");
  matmul("vector_left", "[4]", "[N, 4, 3]", "[N, 3]");
  matmul("vector_right", "[N, 5, 4]", "[4]", "[N, 5]");
  matmul("vectors", "[4]", "[4]", "");
  for (const int form : {0, 1, 2, 3}) {
    const bool ta = (form & 1) != 0, tb = (form & 2) != 0;
    out.push_back({"Gemm_" + std::to_string(form),
                   std::string("g (double") + (ta ? "[4, N]" : "[N, 4]") + " a, double" + (tb ? "[3, 4]" : "[4, 3]") +
                       " b, double[3] c) => (double[N, 3] y) { y = Gemm <alpha = 1.5, beta = 0.5, transA = " + (ta ? "1" : "0") +
                       ", transB = " + (tb ? "1" : "0") + "> (a, b, c) }"});
  }
  out.push_back(
      {"Gemm_bias_alone",
       "g (double[1] c) => (double[2, 2] y) { a = Constant <value = double[2, 2] {1, 2, 3, 4}> () y = Gemm <beta = 0.5> (a, a, c) }"});
  out.push_back(moves("Einsum_two", "[N, 4]", "[N, N]", "y = Einsum <equation = \"ik,jk->ij\"> (x, x)"));
  out.push_back({"Einsum_batch",
                 "g (double[N, 3, 4] a, double[N, 4, 5] b) => (double[N, 5, 3] y) { y = Einsum <equation = \"bik,bkj->bji\"> (a, b) }"});

  const auto conv = [&](const std::string& name, const std::string& x, const std::string& w, const std::string& bias, const std::string& y,
                        const std::string& attributes, const std::string& op = "Conv") {
    out.push_back({op + "_" + name, "g (double" + x + " x, double" + w + " w, double" + bias + " b) => (double" + y + " y) { y = " + op +
                                        " <" + attributes + "> (x, w, b) }"});
  };
  conv("plain", "[N, 3, 6, 7]", "[4, 3, 3, 2]", "[4]", "[N, 4, 4, 6]", "group = 1");
  conv("free", "[N, 3, H, W]", "[4, 3, 3, 3]", "[4]", "[N, 4, P, Q]", "pads = [1, 1, 1, 1]");
  conv("free_strided", "[N, 3, H, W]", "[4, 3, 3, 3]", "[4]", "[N, 4, P, Q]", "strides = [2, 3], pads = [1, 0, 1, 2]");
  conv("strided", "[N, 3, 7, 8]", "[4, 3, 3, 3]", "[4]", "[N, 4, P, Q]", "strides = [2, 2], pads = [0, 1, 1, 0]");
  conv("rest", "[N, 3, 8, 8]", "[4, 3, 3, 3]", "[4]", "[N, 4, P, Q]", "strides = [3, 2]");
  conv("dilated", "[N, 3, 9, 9]", "[4, 3, 3, 3]", "[4]", "[N, 4, P, Q]", "dilations = [2, 3], strides = [2, 1], pads = [2, 2, 2, 2]");
  conv("groups", "[N, 6, 5, 5]", "[4, 3, 3, 3]", "[4]", "[N, 4, P, Q]", "group = 2, pads = [1, 1, 1, 1], strides = [2, 1]");
  conv("depthwise", "[N, 4, H, W]", "[8, 1, 3, 3]", "[8]", "[N, 8, P, Q]", "group = 4, pads = [1, 1, 1, 1], strides = [2, 2]");
  conv("depthwise_free", "[N, 4, H, W]", "[4, 1, 3, 3]", "[4]", "[N, 4, P, Q]", "group = 4, pads = [1, 1, 1, 1], strides = [2, 2]");
  conv("depthwise_strided", "[N, 4, 7, 8]", "[4, 1, 3, 3]", "[4]", "[N, 4, P, Q]", "group = 4, pads = [1, 1, 1, 1], strides = [2, 2]");
  conv("depthwise_multiplied", "[N, 4, 7, 8]", "[8, 1, 3, 2]", "[8]", "[N, 8, P, Q]", "group = 4, pads = [1, 0, 0, 1], strides = [2, 1]");
  conv("depthwise_dilated", "[N, 4, H, W]", "[4, 1, 2, 3]", "[4]", "[N, 4, P, Q]", "group = 4, pads = [1, 2, 0, 1], dilations = [2, 2]");
  conv("line", "[N, 3, L]", "[2, 3, 2]", "[2]", "[N, 2, P]", "pads = [1, 0]");
  conv("volume", "[N, 2, 4, 4, 4]", "[2, 2, 2, 3, 2]", "[2]", "[N, 2, P, Q, R]", "strides = [2, 1, 2]");
  conv("same_upper", "[N, 3, 8, 8]", "[4, 3, 3, 3]", "[4]", "[N, 4, P, Q]", "auto_pad = \"SAME_UPPER\", strides = [2, 2]");
  conv("plain", "[N, 3, 4, 5]", "[3, 2, 3, 3]", "[2]", "[N, 2, P, Q]", "strides = [2, 2]", "ConvTranspose");
  conv("padded", "[N, 3, H, W]", "[3, 2, 3, 3]", "[2]", "[N, 2, P, Q]", "strides = [2, 3], pads = [1, 1, 0, 1], output_padding = [1, 2]",
       "ConvTranspose");
  conv("groups", "[N, 4, 3, 3]", "[4, 3, 2, 2]", "[6]", "[N, 6, P, Q]", "group = 2, dilations = [1, 2]", "ConvTranspose");
}

void add_pools(std::vector<RowCase>& out) {
  const auto pool = [&](const std::string& name, const std::string& x, const std::string& op, const std::string& attributes) {
    const std::string y = x.find(", 8]") != std::string::npos || x.find("W]") != std::string::npos ? "[N, 3, P, Q]" : "[N, 3, P]";
    out.push_back(moves(op + "_" + name, x, y, "y = " + op + " <" + attributes + "> (x)"));
  };
  pool("plain", "[N, 3, 8, 8]", "MaxPool", "kernel_shape = [2, 2], strides = [2, 2]");
  pool("overlapping", "[N, 3, H, W]", "MaxPool", "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]");
  pool("plain", "[N, 3, 8, 8]", "AveragePool", "kernel_shape = [2, 2], strides = [2, 2]");
  pool("padded", "[N, 3, H, W]", "AveragePool", "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]");
  pool("counting", "[N, 3, 7, 8]", "AveragePool", "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], count_include_pad = 1");
  pool("line", "[N, 3, L]", "AveragePool", "kernel_shape = [2]");
  pool("rest", "[N, 3, 8, 8]", "AveragePool", "kernel_shape = [3, 3], strides = [3, 3]");
  out.push_back(moves("GlobalAveragePool", "[N, 3, H, W]", "[N, 3, 1, 1]", "y = GlobalAveragePool (x)"));
  out.push_back(moves("GlobalMaxPool", "[N, 3, H, W]", "[N, 3, 1, 1]", "y = GlobalMaxPool (x)"));
}

void add_movements(std::vector<RowCase>& out) {
  const auto add = [&](const std::string& name, const std::string& x, const std::string& y, const std::string& nodes) {
    out.push_back(moves(name, x, y, nodes));
  };
  const std::string c = " = Constant <value_ints = ";
  add("Reshape", "[N, 3, 4]", "[N, 12]", "s" + c + "[0, -1]> () y = Reshape (x, s)");
  add("Flatten", "[N, 3, 4]", "[N, 12]", "y = Flatten (x)");
  add("Transpose", "[N, 3, 4]", "[4, N, 3]", "y = Transpose <perm = [2, 0, 1]> (x)");
  add("Transpose_reversed", "[N, 3, 4]", "[4, 3, N]", "y = Transpose (x)");
  add("Squeeze", "[N, 1, 4]", "[N, 4]", "a" + c + "[1]> () y = Squeeze (x, a)");
  add("Unsqueeze", "[N, 4]", "[N, 1, 4, 1]", "a" + c + "[1, -1]> () y = Unsqueeze (x, a)");
  add("Expand", "[N, 1, 4]", "[3, N, 5, 4]", "s" + c + "[3, 1, 5, 1]> () y = Expand (x, s)");
  add("Expand_free", "[N, 1]", "[N, N]", "s = Shape (x) n = Shape <start = 0, end = 1> (x) t = Concat <axis = 0> (n, n) y = Expand (x, t)");
  add("Tile", "[N, 3]", "[P, 6]", "r" + c + "[3, 2]> () y = Tile (x, r)");
  add("Pad", "[N, 3]", "[N, 6]", "p" + c + "[0, 1, 0, 2]> () v = Constant <value = double {5.0}> () y = Pad (x, p, v)");
  add("Pad_negative", "[N, 5]", "[N, 5]", "p" + c + "[0, -1, 0, 1]> () y = Pad (x, p)");
  for (const char* mode : {"reflect", "edge", "wrap"}) {
    add(std::string("Pad_") + mode, "[N, 4, W]", "[N, 7, P]",
        std::string("p") + c + "[0, 1, 2, 0, 2, 1]> () y = Pad <mode = \"" + mode + "\"> (x, p)");
  }
  add("Pad_reflect_axes", "[N, 4, 3]", "[N, 6, 3]", "p" + c + "[1, 1]> () a" + c + "[-2]> () y = Pad <mode = \"reflect\"> (x, p, , a)");
  add("Slice", "[N, 6, 5]", "[N, 3, 2]", "s" + c + "[1, -3]> () e" + c + "[4, -1]> () a" + c + "[1, 2]> () y = Slice (x, s, e, a)");
  add("Slice_free", "[N, M, 5]", "[N, P, 5]", "s" + c + "[1]> () e" + c + "[99]> () a" + c + "[1]> () y = Slice (x, s, e, a)");
  add("Slice_steps", "[N, 6, 5]", "[N, 3, 3]",
      "s" + c + "[5, 0]> () e" + c + "[-99, 9]> () a" + c + "[1, 2]> () t" + c + "[-2, 2]> () y = Slice (x, s, e, a, t)");
  add("Split", "[N, 6]", "[N, 2]", "s" + c + "[2, 3, 1]> () y, q, r = Split <axis = 1> (x, s)");
  out.push_back({"Split_all",
                 "g (double[N, 6] x) => (double[N, 2] y, double[N, 4] z) { s = Constant <value_ints = [2, 4]> () y, z = Split <axis "
                 "= 1> (x, s) }"});
  out.push_back({"Concat", "g (double[N, 2] a, double[N, 3] b) => (double[N, 7] y) { y = Concat <axis = -1> (a, b, a) }"});
  out.push_back({"Concat_free", "g (double[N, 3] a, double[M, 3] b) => (double[P, 3] y) { y = Concat <axis = 0> (a, b) }"});
  add("Gather", "[5, N]", "[3, N]", "i" + c + "[4, 1, 1]> () y = Gather (x, i)");
  add("Gather_axis", "[N, 5, 2]", "[N, 2, 3, 2]", "i = Constant <value = int64[2, 3] {4, 1, 1, 0, -1, 2}> () y = Gather <axis = 1> (x, i)");
  add("Gather_scalar", "[N, 5, 2]", "[N, 2]", "i = Constant <value = int64 {3}> () y = Gather <axis = 1> (x, i)");
  add("Gather_table", "[5, 2]", "[2, 3, 2]", "i = Constant <value = int64[2, 3] {4, 1, 1, 0, 3, 2}> () y = Gather (x, i)");
  add("GatherElements", "[3, 2]", "[2, 2]", "i = Constant <value = int64[2, 2] {2, 1, 2, 0}> () y = GatherElements (x, i)");
  add("GatherND", "[3, 2, 2]", "[2, 2]", "i = Constant <value = int64[2, 2] {2, 1, 0, 0}> () y = GatherND (x, i)");
  add("ScatterElements", "[3, 2]", "[3, 2]",
      "i = Constant <value = int64[2, 2] {2, 1, 2, 0}> () s" + c +
          "[2]> () u, v = Split <num_outputs = 2> (x) w = Concat <axis = 0> (u) y = "
          "ScatterElements <reduction = \"add\"> (x, i, u)");
  add("ScatterND", "[3, 2]", "[3, 2]", "i = Constant <value = int64[3, 1] {2, 1, 2}> () y = ScatterND <reduction = \"add\"> (x, i, x)");
  add("TopK", "[N, 6]", "[N, 3]", "k" + c + "[3]> () y, i = TopK (x, k)");
  add("CumSum", "[N, 5]", "[N, 5]", "a = Constant <value = int64 {1}> () y = CumSum (x, a)");
  add("CumSum_reverse", "[N, 5]", "[N, 5]", "a = Constant <value = int64 {1}> () y = CumSum <reverse = 1, exclusive = 1> (x, a)");
  add("Trilu", "[N, 4, 4]", "[N, 4, 4]", "y = Trilu <upper = 0> (x)");
  add("DepthToSpace", "[N, 8, H, W]", "[N, 2, P, Q]", "y = DepthToSpace <blocksize = 2> (x)");
  add("DepthToSpace_CRD", "[N, 8, H, W]", "[N, 2, P, Q]", "y = DepthToSpace <blocksize = 2, mode = \"CRD\"> (x)");
  add("SpaceToDepth", "[N, 2, 4, 6]", "[N, 8, 2, 3]", "y = SpaceToDepth <blocksize = 2> (x)");
  add("Cast", "[N, 3]", "[N, 3]", "y = Cast <to = 11> (x)");
  add("Dropout", "[N, 3]", "[N, 3]", "y = Dropout (x)");
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    add(std::string("Resize_") + mode, "[N, 2, 4, 5]", "[N, 2, 8, 8]",
        std::string("s") + c + "[1, 2, 8, 8]> () n = Shape <start = 0, end = 1> (x) r" + c +
            "[2, 8, 8]> () t = Concat <axis = 0> (n, r) y = "
            "Resize <mode = \"" +
            mode + "\"> (x, , , t)");
  }
  for (const char* mode : {"nearest", "linear"}) {
    add(std::string("Resize_free_") + mode, "[N, 2, H, W]", "[N, 2, P, Q]",
        std::string("s = Constant <value_floats = [1.0, 1.0, 1.5, 2.0]> () y = Resize <mode = \"") + mode + "\"> (x, , s)");
  }
  add("Resize_scales", "[N, 2, 4, 5]", "[N, 2, 6, 10]",
      "s = Constant <value_floats = [1.0, 1.0, 1.5, 2.0]> () y = Resize <mode = \"linear\", coordinate_transformation_mode = "
      "\"asymmetric\"> "
      "(x, , s)");
}

void add_reductions(std::vector<RowCase>& out) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum",
                         "ReduceLogSumExp"}) {
    const std::string name(op);
    const double low = name == "ReduceLogSum" ? 0.5 : -2;
    const auto add = [&](const std::string& suffix, const std::string& y, const std::string& nodes) {
      out.push_back(moves(name + suffix, "[N, 3, 4]", y, nodes));
      out.back().low = low;
    };
    add("", "[N, 1, 4]", "a = Constant <value_ints = [1]> () y = " + name + " (x, a)");
    add("_two", "[3]", "a = Constant <value_ints = [0, -1]> () y = " + name + " <keepdims = 0> (x, a)");
    add("_all", "", "y = " + name + " <keepdims = 0> (x)");
  }
  const auto add_product = [&](const std::string& suffix, const std::string& y, const std::string& node) {
    out.push_back(moves("ReduceProd" + suffix, "[N, 5, 4]", y, node));
  };
  add_product("", "[N, 1, 4]", "a = Constant <value_ints = [1]> () y = ReduceProd (x, a)");
  add_product("_two", "[N]", "a = Constant <value_ints = [1, -1]> () y = ReduceProd <keepdims = 0> (x, a)");
  out.push_back(unary("Softmax"));
  out.push_back(unary("LogSoftmax"));
  out.push_back(unary("Softmax", -2, 2, "axis = 1"));
  out.push_back(unary("LogSoftmax", -2, 2, "axis = 0"));
  out.push_back(unary("LpNormalization", 0.5, 2));
}

void add_normalizations(std::vector<RowCase>& out) {
  const auto add = [&](const std::string& name, const std::string& inputs, const std::string& dims, const std::string& node) {
    out.push_back({name, "g (" + inputs + ") => (double" + dims + " y) { y = " + node + " }"});
  };
  out.push_back({"BatchNormalization",
                 "g (double[N, 3, H, 2] x, double[3] s, double[3] b) => (double[N, 3, H, 2] y) { m = Constant <value = double[3] "
                 "{1, 2, 3}> () v = Constant <value = double[3] {4, 1, 0.5}> () y = BatchNormalization (x, s, b, m, v) }"});
  out.push_back({.name = "BatchNormalization_statistics",
                 .text = "g (double[N, 3, H] x, double[3] s, double[3] b, double[3] m, double[3] v) => (double[N, 3, H] y) { y = "
                         "BatchNormalization <epsilon = 0.1> (x, s, b, m, v) }",
                 .low = 0.5,
                 .high = 2});
  add("LayerNormalization", "double[N, 3, 4] x, double[4] s, double[4] b", "[N, 3, 4]", "LayerNormalization (x, s, b)");
  add("LayerNormalization_axis", "double[N, 3, 4] x, double[3, 4] s", "[N, 3, 4]", "LayerNormalization <axis = 1, epsilon = 0.01> (x, s)");
  add("RMSNormalization", "double[N, 3, 4] x, double[4] s", "[N, 3, 4]", "RMSNormalization (x, s)");
  add("InstanceNormalization", "double[N, 3, H, 4] x, double[3] s, double[3] b", "[N, 3, H, 4]", "InstanceNormalization (x, s, b)");
  add("GroupNormalization", "double[N, 4, H, 4] x, double[4] s, double[4] b", "[N, 4, H, 4]",
      "GroupNormalization <num_groups = 2> (x, s, b)");
  add("MeanVarianceNormalization", "double[N, 3, H, 4] x", "[N, 3, H, 4]", "MeanVarianceNormalization (x)");
  add("LRN", "double[N, 5, H, 4] x", "[N, 5, H, 4]", "LRN <size = 3, alpha = 0.5> (x)");
}

void add_recurrent(std::vector<RowCase>& out) {
  const auto add = [&](const std::string& name, const std::string& attributes, int gates, const std::string& more, const std::string& given,
                       int directions = 1, bool has_cells = false) {
    const std::string op = name.substr(0, name.find('_')), d = std::to_string(directions);
    const auto sum = [&](int times) { return std::to_string(times * gates * 2); };
    const bool is_batch_first = attributes.find("layout") != std::string::npos;
    const std::string batch = given.find('l') == std::string::npos ? "N" : "2";
    const auto sized = [&](std::string text) {
      for (std::size_t at = text.find('N'); at != std::string::npos; at = text.find('N', at + 1)) text.replace(at, 1, batch);
      return text;
    };
    out.push_back({name, std::string("g (double") + sized(is_batch_first ? "[N, 4, 3]" : "[4, N, 3]") + " x, double[" + d + ", " + sum(1) +
                             ", 3] w, double[" + d + ", " + sum(1) + ", 2] r, double[" + d + ", " + sum(2) + "] b" + sized(more) +
                             ") => (double" + sized(is_batch_first ? "[N, 4, " + d + ", 2]" : "[4, " + d + ", N, 2]") + " y, double" +
                             sized(is_batch_first ? "[N, " + d + ", 2]" : "[" + d + ", N, 2]") +
                             " h) { l = Constant <value = int32[2] {3, 2}> () y, h" + (has_cells ? ", c" : "") + " = " + op +
                             " <hidden_size = 2" + attributes + "> (x, w, r, b, " + given + ") }"});
  };
  add("LSTM_plain", "", 4, "", "", 1, true);
  add("LSTM_states", "", 4, ", double[1, N, 2] i, double[1, N, 2] j, double[1, 6] p", ", i, j, p", 1, true);
  add("LSTM_both", ", direction = \"bidirectional\"", 4, ", double[2, N, 2] i, double[2, N, 2] j", ", i, j", 2, true);
  add("LSTM_reverse_lengths", ", direction = \"reverse\"", 4, "", "l", 1, true);
  add("LSTM_batch_first", ", layout = 1, activations = [\"Sigmoid\", \"Softsign\", \"Tanh\"]", 4, ", double[N, 1, 2] i", ", i", 1, true);
  add("GRU_plain", "", 3, "", "");
  add("GRU_linear", ", linear_before_reset = 1, direction = \"bidirectional\"", 3, ", double[2, N, 2] i", ", i", 2);
  add("GRU_lengths", ", direction = \"bidirectional\"", 3, ", double[2, N, 2] i", "l, i", 2);
  add("RNN_plain", "", 1, "", "");
  add("RNN_both", ", direction = \"bidirectional\", activations = [\"Tanh\", \"Sigmoid\"]", 1, ", double[2, N, 2] i", ", i", 2);
}

void add_attention(std::vector<RowCase>& out) {
  const auto add = [&](const std::string& name, const std::string& dims, const std::string& more, const std::string& attributes,
                       const std::string& given = "") {
    const std::string heads = dims.find("[N, 2") != std::string::npos ? "[N, 2, 5, 4]" : "[N, 5, 8]";
    out.push_back({"Attention_" + name,
                   "g (" + dims + more + ") => (double" + heads + " y) { y = Attention <" + attributes + "> (q, k, v" + given + ") }"});
  };
  const std::string of_heads = "double[N, 2, 5, 4] q, double[N, 2, 3, 4] k, double[N, 2, 3, 4] v";
  add("heads", of_heads, "", "scale = 0.5");
  add("mask", of_heads, ", double[5, 3] m", "scale = 0.7", ", m");
  add("causal", "double[N, 2, 5, 4] q, double[N, 2, 5, 4] k, double[N, 2, 5, 4] v", "", "is_causal = 1");
  add("softcap", of_heads, "", "softcap = 1.5");
  add("groups", "double[N, 2, 5, 4] q, double[N, 1, 3, 4] k, double[N, 1, 3, 4] v", "", "is_causal = 0");
  add("rows", "double[N, 5, 8] q, double[N, 3, 8] k, double[N, 3, 8] v", "", "q_num_heads = 2, kv_num_heads = 2");
  add("causal_past", of_heads, ", double[N, 2, 2, 4] pk, double[N, 2, 2, 4] pv", "is_causal = 1", ", , pk, pv");
  out.push_back({"Attention_closed",
                 "g (" + of_heads +
                     ") => (double[N, 2, 5, 4] y) { m = Constant <value = bool[5, 3] {1, 1, 1, 0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1, 0}> () "
                     "y = Attention (q, k, v, m) }"});
}

void add_functions(std::vector<RowCase>& out) {
  const std::string head = "g (double[2, 4, 3] x, double[4] w) => (", labels = "t = Constant <value = int64[2, 3] {3, 1, 0, 0, 2, 1}> () ";
  for (const char* op : {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"}) {
    const std::string name(op);
    const auto add = [&](const std::string& suffix, const std::string& y, const std::string& attributes, const std::string& weights) {
      out.push_back(
          {name + suffix, head + "double" + y + " y) { " + labels + "y = " + name + " <" + attributes + "> (x, t" + weights + ") }"});
      out.back().low = 0.3;
    };
    add("_none", "[2, 3]", "reduction = \"none\"", "");
    add("_sum", "", "reduction = \"sum\"", "");
    add("_mean", "", "reduction = \"mean\"", "");
    add("_weights", "", "reduction = \"mean\"", ", w");
    add("_ignored", "", "reduction = \"mean\", ignore_index = 1", ", w");
    add("_ignored_none", "[2, 3]", "reduction = \"none\", ignore_index = 0", "");
  }
  out.push_back({"SoftmaxCrossEntropyLoss_both",
                 "g (double[2, 4] x) => (double y, double[2, 4] z) { t = Constant <value = int64[2] {3, 1}> () y, z = "
                 "SoftmaxCrossEntropyLoss (x, t) }"});
  out.push_back(
      moves("CenterCropPad", "[N, 6, 3]", "[N, 4, 5]", "s = Constant <value_ints = [4, 5]> () y = CenterCropPad <axes = [1, 2]> (x, s)"));
}

void add_branches(std::vector<RowCase>& out) {
  // The numbers of i are 0: each branch is taken once.
  const std::string branches =
      "<then_branch = p () => (double[N, 3] q) { u = MatMul (x, w) q = Tanh (u) }, else_branch = d () => (double[N, 3] r) <double[3] k = "
      "{1, 2, 3}> { v = "
      "Mul (x, x) h = Exp (v) r = Mul (h, k) }> ";
  const std::string head =
      "(int64[1] i, double[N, 3] x, double[3, 3] w) => (double[N, 3] y) { z = Constant <value_int = 0> () e = Equal (i, z) c = Squeeze "
      "(e) ";
  out.push_back({"If_then", "g " + head + "a = If (c) " + branches + "y = Softmax (a) }"});
  out.push_back({"If_else", "g " + head + "n = Not (c) a = If (n) " + branches + "y = Softmax (a) }"});
  // Within another, of two outputs, of which a branch passes one on.
  out.push_back({"If_nested",
                 "g " + head +
                     "s = Sin (x) a, b = If (c) <then_branch = p () => (double[N, 3] q, double[N, 3] o) { n = Not (c) q = If (n) "
                     "<then_branch = p2 () => "
                     "(double[N, 3] q2) { q2 = Neg (s) }, else_branch = d2 () => (double[N, 3] r2) { t = MatMul (s, w) r2 = MatMul (t, w) "
                     "}> o = Identity (x) }, else_branch = d () => (double[N, 3] r, double[N, 3] f) { r = Identity (s) f = Identity (s) }> "
                     "h = ReduceLogSumExp (a) j = Mul (b, b) y = Add (j, h) }"});
  // Branches with pools, which read the dims of what they capture.
  const std::string pool = "{ m = MaxPool <kernel_shape = [2]> (s) r = Sin (m) }";
  const std::string none = "{ f = Slice (s, zero, two, last) r = Neg (f) }";
  const std::string nested = "{ n = Not (c) r = If (n) <then_branch = p2 () => (double[N, M, L] r) " + none +
                             ", else_branch = d2 () => (double[N, M, L] r) " + pool + "> }";
  const auto pools = [&](const std::string& name, const std::string& first, const std::string& second) {
    const std::string start =
        "g (int64[1] i, double[N, M, 3] x) => (double[N, M, 2] y) { z = Constant <value_int = 0> () zero = Constant <value_ints = [0]> () "
        "two = Constant <value_ints = [2]> () last = Constant <value_ints = [2]> () e = Equal (i, z) c = Squeeze (e) s = Mul (x, x) a = If "
        "(c) "
        "<then_branch = p () => (double[N, M, L] r) ";
    out.push_back({"If_" + name, start + first + ", else_branch = d () => (double[N, M, L] r) " + second + "> y = Softmax (a) }"});
  };
  pools("pool_then", pool, none);
  pools("pool_else", none, pool);
  pools("pools", pool, pool);
  pools("pool_nested", nested, pool);
}

}  // namespace

const std::vector<RowCase>& row_cases() {
  static const std::vector<RowCase> cases = [] {
    std::vector<RowCase> out;
    add_elementwise(out);
    add_products(out);
    add_pools(out);
    add_movements(out);
    add_reductions(out);
    add_normalizations(out);
    add_recurrent(out);
    add_attention(out);
    add_functions(out);
    add_branches(out);
    return out;
  }();
  return cases;
}

}  // namespace relayout::test
