#pragma once

#include "support/network.h"

namespace relayout::testing {

using test::Network;

/// conv 3×3 → BN → Relu → conv → BN → Clip 6, + residual, pooling, conv 1×1, global pooling, Gemm. Free batch.
inline Network classifier(uint64_t seed) {
  Network n(seed);
  n.input("x", {"N", "3", "12", "10"}).output("y", {"N", "40"}).output("f", {"N", "8", "12", "10"});
  n.convolution("c1", "x", "c1.y", {8, 3, 3, 3}, {"pads=1,1,1,1"}).batch_norm("n1", "c1.y", "n1.y", 8).node("Relu", {"n1.y"}, {"r1"});
  n.convolution("c2", "r1", "c2.y", {8, 8, 3, 3}, {"pads=1,1,1,1"}).batch_norm("n2", "c2.y", "n2.y", 8);
  n.floats("zero", {}, {0}).floats("six", {}, {6}).node("Clip", {"n2.y", "zero", "six"}, {"r2"});
  n.node("Add", {"r2", "r1"}, {"f"});
  n.node("MaxPool", {"f"}, {"p"}, {"kernel_shape=2,2", "strides=2,2"});
  n.convolution("c3", "p", "c3.y", {12, 8, 1, 1}, {}).batch_norm("n3", "c3.y", "n3.y", 12).node("Relu", {"n3.y"}, {"r3"});
  n.node("GlobalAveragePool", {"r3"}, {"g"});
  n.node("Flatten", {"g"}, {"flat"});
  n.normal("fc.w", {40, 12}, 0.4).normal("fc.b", {40}, 0.1).node("Gemm", {"flat", "fc.w", "fc.b"}, {"y"}, {"transB=1"});
  return n;
}

/// Depthwise separable blocks with strides and dilation, average pooling that counts its padding, LeakyRelu, a channel of tiny variance.
inline Network mobile(uint64_t seed) {
  Network n(seed);
  n.input("x", {"N", "4", "13", "13"}).output("y", {"N", "6", "5", "5"});
  n.convolution("c1", "x", "c1.y", {4, 1, 3, 3}, {"group=4", "pads=0,0,2,2"}).batch_norm("n1", "c1.y", "n1.y", 4);
  n.edit("n1.var", [](std::vector<float>& v) { v[2] = 1e-5F; });
  n.node("LeakyRelu", {"n1.y"}, {"r1"}, {"alpha=0.1"});
  n.convolution("c2", "r1", "c2.y", {6, 4, 1, 1}, {}).batch_norm("n2", "c2.y", "n2.y", 6).node("Relu", {"n2.y"}, {"r2"});
  n.convolution("c3", "r2", "c3.y", {6, 1, 3, 3}, {"group=6", "dilations=2,2", "pads=2,2,2,2"}).batch_norm("n3", "c3.y", "n3.y", 6);
  n.node("AveragePool", {"n3.y"}, {"p"}, {"kernel_shape=3,3", "strides=3,3", "pads=1,1,1,1", "count_include_pad=1"});
  n.node("Sigmoid", {"p"}, {"y"});
  return n;
}

/// Down and up again with ConvTranspose and Concat; no two spatial sizes are equal.
inline Network segmenter(uint64_t seed) {
  Network n(seed);
  n.input("x", {"1", "2", "8", "12"}).output("y", {"1", "3", "8", "12"});
  n.convolution("c1", "x", "c1.y", {6, 2, 3, 3}, {"pads=1,1,1,1"}).batch_norm("n1", "c1.y", "n1.y", 6).node("Relu", {"n1.y"}, {"r1"});
  n.node("MaxPool", {"r1"}, {"p"}, {"kernel_shape=2,2", "strides=2,2"});
  n.convolution("c2", "p", "c2.y", {8, 6, 3, 3}, {"pads=1,1,1,1"}).batch_norm("n2", "c2.y", "n2.y", 8).node("Relu", {"n2.y"}, {"r2"});
  n.convolution("u", "r2", "u.y", {8, 6, 2, 2}, {"strides=2,2"}, "ConvTranspose").batch_norm("n3", "u.y", "n3.y", 6);
  n.node("Relu", {"n3.y"}, {"r3"});
  n.node("Concat", {"r1", "r3"}, {"cat"}, {"axis=1"});
  n.convolution("c3", "cat", "y", {3, 12, 1, 1}, {});
  return n;
}

/// 1-D convolutions and 3-D ones would be the same code: one of each.
inline Network volumes(uint64_t seed) {
  Network n(seed);
  n.input("x", {"N", "2", "5", "6", "7"}).output("y", {"N", "4", "5", "6", "7"});
  n.convolution("c1", "x", "c1.y", {4, 2, 3, 3, 3}, {"pads=1,1,1,1,1,1"})
      .batch_norm("n1", "c1.y", "n1.y", 4)
      .node("Relu", {"n1.y"}, {"r1"});
  n.convolution("c2", "r1", "c2.y", {4, 4, 1, 3, 3}, {"pads=0,1,1,0,1,1"}).batch_norm("n2", "c2.y", "n2.y", 4);
  n.node("Tanh", {"n2.y"}, {"y"});
  return n;
}

inline Network lines(uint64_t seed) {
  Network n(seed);
  n.input("x", {"N", "3", "40"}).output("y", {"N", "5", "20"});
  n.convolution("c1", "x", "c1.y", {5, 3, 5}, {"pads=2,2"}).batch_norm("n1", "c1.y", "n1.y", 5).node("Relu", {"n1.y"}, {"r1"});
  n.convolution("c2", "r1", "c2.y", {5, 5, 3}, {"pads=1,1", "strides=2,"})
      .batch_norm("n2", "c2.y", "n2.y", 5)
      .node("Relu", {"n2.y"}, {"y"});
  return n;
}

/// Embedding with positions, one attention with a mask, layer normalizations, feed-forward.
inline Network transformer(uint64_t seed) {
  Network n(seed);
  n.input("ids", {"batch", "seq"}, onnx::TensorProto::INT64).input("mask", {"batch", "seq"}, onnx::TensorProto::INT64);
  n.output("y", {"batch", "seq", "16"});
  n.normal("table", {50, 16}, 1).node("Gather", {"table", "ids"}, {"e"});
  n.uniform("ln1.s", {16}, 0.5, 1.5).normal("ln1.b", {16}, 0.2).node("LayerNormalization", {"e", "ln1.s", "ln1.b"}, {"h"}, {"axis=-1"});
  for (const char* name : {"q", "k", "v", "o"}) n.normal(std::string(name) + ".w", {16, 16}, 0.3);
  n.normal("q.b", {16}, 0.1);
  n.node("MatMul", {"h", "q.w"}, {"q0"}), n.node("Add", {"q0", "q.b"}, {"q"});
  n.node("MatMul", {"h", "k.w"}, {"k"}), n.node("MatMul", {"h", "v.w"}, {"v"});
  n.node("Transpose", {"k"}, {"kt"}, {"perm=0,2,1"}), n.node("MatMul", {"q", "kt"}, {"s0"});
  n.floats("root", {}, {4}).node("Div", {"s0", "root"}, {"s1"});
  n.integers("axis", {1}, {1}).floats("one", {}, {1}).floats("far", {}, {-10000});
  n.node("Unsqueeze", {"mask", "axis"}, {"m0"}), n.node("Cast", {"m0"}, {"m1"}, {"to=1"});
  n.node("Sub", {"one", "m1"}, {"m2"}), n.node("Mul", {"m2", "far"}, {"m3"}), n.node("Add", {"s1", "m3"}, {"s2"});
  n.node("Softmax", {"s2"}, {"a"}, {"axis=-1"}), n.node("MatMul", {"a", "v"}, {"c0"}), n.node("MatMul", {"c0", "o.w"}, {"c1"});
  n.node("Add", {"c1", "e"}, {"z"});
  n.normal("f1.w", {16, 32}, 0.3).normal("f2.w", {32, 16}, 0.2).normal("f1.b", {32}, 0.1);
  n.node("MatMul", {"z", "f1.w"}, {"f1"}), n.node("Add", {"f1", "f1.b"}, {"f1b"}), n.node("Relu", {"f1b"}, {"f2"});
  n.node("MatMul", {"f2", "f2.w"}, {"f3"}), n.node("Add", {"f3", "z"}, {"y"});
  return n;
}

/// Where exact outputs come from: the best class, a shape, a mask, and the scores they come from.
inline Network decisions(uint64_t seed) {
  Network n(seed);
  n.input("x", {"N", "6"}).output("scores", {"N", "9"}).output("best", {"N", "1"}, onnx::TensorProto::INT64);
  n.output("positive", {"N", "9"}, onnx::TensorProto::BOOL).output("shape", {"2"}, onnx::TensorProto::INT64);
  n.normal("w", {6, 9}, 0.5).normal("b", {9}, 0.2).node("Gemm", {"x", "w", "b"}, {"l"});
  n.node("Softmax", {"l"}, {"scores"}, {"axis=1"}), n.node("ArgMax", {"l"}, {"best"}, {"axis=1"});
  n.floats("null", {}, {0}).node("Greater", {"l", "null"}, {"positive"}), n.node("Shape", {"x"}, {"shape"});
  return n;
}

}  // namespace relayout::testing
