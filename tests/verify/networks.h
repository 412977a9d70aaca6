#pragma once

#include <cstdint>
#include <string>

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

/// Downsampling and upsampling with ConvTranspose and Concat; no two spatial sizes are equal.
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

/// 1-D and 3-D convolutions use the same code: one of each.
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

/// Exact outputs (the best class, a shape, a mask) and the scores from which they are computed.
inline Network decisions(uint64_t seed) {
  Network n(seed);
  n.input("x", {"N", "6"}).output("scores", {"N", "9"}).output("best", {"N", "1"}, onnx::TensorProto::INT64);
  n.output("positive", {"N", "9"}, onnx::TensorProto::BOOL).output("shape", {"2"}, onnx::TensorProto::INT64);
  n.normal("w", {6, 9}, 0.5).normal("b", {9}, 0.2).node("Gemm", {"x", "w", "b"}, {"l"});
  n.node("Softmax", {"l"}, {"scores"}, {"axis=1"}), n.node("ArgMax", {"l"}, {"best"}, {"axis=1"});
  n.floats("null", {}, {0}).node("Greater", {"l", "null"}, {"positive"}), n.node("Shape", {"x"}, {"shape"});
  return n;
}

/// Two halves of the channels, one through depthwise convolutions, shuffled together.
inline Network shuffled(uint64_t seed) {
  Network n(seed);
  n.input("x", {"N", "4", "10", "8"}).output("y", {"N", "5", "5", "4"});
  n.convolution("c1", "x", "c1.y", {8, 4, 3, 3}, {"pads=1,1,1,1"}).batch_norm("n1", "c1.y", "n1.y", 8).node("Relu", {"n1.y"}, {"r1"});
  n.integers("halves", {2}, {4, 4}).node("Split", {"r1", "halves"}, {"s1", "s2"}, {"axis=1"});
  n.convolution("c2", "s2", "c2.y", {4, 1, 3, 3}, {"group=4", "pads=1,1,1,1"}).batch_norm("n2", "c2.y", "n2.y", 4);
  n.convolution("c3", "n2.y", "c3.y", {4, 4, 1, 1}, {}).batch_norm("n3", "c3.y", "n3.y", 4).node("Relu", {"n3.y"}, {"r3"});
  n.node("Concat", {"s1", "r3"}, {"cat"}, {"axis=1"});
  n.integers("split", {5}, {0, 2, 4, 10, 8}).integers("joined", {4}, {0, 8, 10, 8}).node("Reshape", {"cat", "split"}, {"g"});
  n.node("Transpose", {"g"}, {"t"}, {"perm=0,2,1,3,4"}), n.node("Reshape", {"t", "joined"}, {"sh"});
  n.node("MaxPool", {"sh"}, {"p"}, {"kernel_shape=3,3", "strides=2,2", "pads=1,1,1,1"});
  n.convolution("c4", "p", "c4.y", {5, 8, 1, 1}, {}).node("HardSwish", {"c4.y"}, {"y"});
  return n;
}

/// Normalizations before convolutions, concatenated growth, squeeze and excitation, PRelu, bilinear upsampling.
inline Network preactivated(uint64_t seed) {
  Network n(seed);
  n.input("x", {"N", "3", "8", "6"}).output("y", {"N", "3", "16", "12"});
  n.convolution("c1", "x", "c1.y", {6, 3, 3, 3}, {"pads=1,1,1,1"}).batch_norm("n1", "c1.y", "n1.y", 6).node("Relu", {"n1.y"}, {"r1"});
  n.convolution("c2", "r1", "c2.y", {4, 6, 3, 3}, {"pads=1,1,1,1"}).node("Concat", {"c1.y", "c2.y"}, {"cat"}, {"axis=1"});
  n.batch_norm("n2", "cat", "n2.y", 10).uniform("slopes", {10, 1, 1}, 0.05, 0.4).node("PRelu", {"n2.y", "slopes"}, {"r2"});
  n.node("GlobalAveragePool", {"r2"}, {"g"});
  n.convolution("e1", "g", "e1.y", {10, 10, 1, 1}, {}).node("HardSigmoid", {"e1.y"}, {"e"}, {"alpha=0.3"});
  n.node("Mul", {"r2", "e"}, {"m"});
  n.floats("twice", {4}, {1, 1, 2, 2}).node("Resize", {"m", "", "twice"}, {"up"}, {"mode='linear'"});
  n.convolution("c3", "up", "c3.y", {3, 10, 1, 1}, {}).node("Tanh", {"c3.y"}, {"y"});
  return n;
}

/// Embedding, LSTM in both directions, scores and the best of them.
inline Network recurrent(uint64_t seed) {
  Network n(seed);
  n.input("ids", {"batch", "seq"}, onnx::TensorProto::INT64).output("scores", {"batch", "seq", "7"});
  n.output("best", {"batch", "seq"}, onnx::TensorProto::INT64);
  n.normal("table", {40, 8}, 1).node("Gather", {"table", "ids"}, {"e"}), n.node("Transpose", {"e"}, {"t"}, {"perm=1,0,2"});
  n.normal("W", {2, 24, 8}, 0.4).normal("R", {2, 24, 6}, 0.4).normal("B", {2, 48}, 0.1);
  n.node("LSTM", {"t", "W", "R", "B"}, {"h"}, {"hidden_size=6", "direction='bidirectional'"});
  n.integers("flat", {3}, {0, 0, -1}).node("Transpose", {"h"}, {"ht"}, {"perm=2,0,1,3"}), n.node("Reshape", {"ht", "flat"}, {"hf"});
  n.normal("fc.w", {12, 7}, 0.4).normal("fc.b", {7}, 0.1).node("MatMul", {"hf", "fc.w"}, {"l"});
  n.node("Add", {"l", "fc.b"}, {"scores"}), n.node("ArgMax", {"scores"}, {"best"}, {"axis=2", "keepdims=0"});
  return n;
}

/// Patches of an image with positions through one attention of several heads.
inline Network patches(uint64_t seed) {
  Network n(seed);
  n.input("x", {"N", "3", "16", "12"}).output("y", {"N", "9"});
  n.convolution("c1", "x", "c1.y", {12, 3, 4, 4}, {"strides=4,4"});
  n.integers("rows", {3}, {0, 12, 12}).node("Reshape", {"c1.y", "rows"}, {"p0"}), n.node("Transpose", {"p0"}, {"p1"}, {"perm=0,2,1"});
  n.normal("positions", {1, 12, 12}, 0.3).node("Add", {"p1", "positions"}, {"p"});
  n.uniform("ln.s", {12}, 0.5, 1.5).normal("ln.b", {12}, 0.2).node("LayerNormalization", {"p", "ln.s", "ln.b"}, {"h"}, {"axis=-1"});
  n.normal("qkv.w", {12, 36}, 0.3).normal("qkv.b", {36}, 0.1).node("MatMul", {"h", "qkv.w"}, {"a0"});
  n.node("Add", {"a0", "qkv.b"}, {"a1"}), n.integers("heads", {5}, {0, 12, 3, 3, 4}).node("Reshape", {"a1", "heads"}, {"a2"});
  n.node("Transpose", {"a2"}, {"a3"}, {"perm=2,0,3,1,4"}), n.node("Split", {"a3"}, {"q0", "k0", "v0"}, {"axis=0"});
  n.integers("first", {1}, {0});
  for (const std::string name : {"q", "k", "v"}) n.node("Squeeze", {name + "0", "first"}, {name});
  n.node("Transpose", {"k"}, {"kt"}, {"perm=0,1,3,2"}), n.node("MatMul", {"q", "kt"}, {"s0"});
  n.floats("root", {}, {0.5F}).node("Mul", {"s0", "root"}, {"s1"}), n.node("Softmax", {"s1"}, {"s"}, {"axis=-1"});
  n.node("MatMul", {"s", "v"}, {"o0"}), n.node("Transpose", {"o0"}, {"o1"}, {"perm=0,2,1,3"});
  n.integers("joined", {3}, {0, 12, 12}).node("Reshape", {"o1", "joined"}, {"o"}), n.node("Add", {"p", "o"}, {"z"});
  n.integers("token", {}, {3}).node("Gather", {"z", "token"}, {"z3"}, {"axis=1"});
  n.normal("fc.w", {12, 9}, 0.3).normal("fc.b", {9}, 0.1).node("Gemm", {"z3", "fc.w", "fc.b"}, {"y"});
  return n;
}

/// Fully connected layers followed by normalizations, one of them by hand: differences, quotients, roots.
inline Network statistics(uint64_t seed) {
  Network n(seed);
  n.input("x", {"N", "20"}).output("y", {"N", "6"});
  n.normal("w1", {20, 24}, 0.3).normal("b1", {24}, 0.1).node("Gemm", {"x", "w1", "b1"}, {"g1"});
  n.batch_norm("n1", "g1", "n1.y", 24).node("Relu", {"n1.y"}, {"r1"});
  n.normal("w2", {24, 16}, 0.3).normal("b2", {16}, 0.1).node("MatMul", {"r1", "w2"}, {"m2"}), n.node("Add", {"m2", "b2"}, {"a2"});
  n.batch_norm("n2", "a2", "n2.y", 16).node("Elu", {"n2.y"}, {"r2"}, {"alpha=1.3"});
  n.node("ReduceMean", {"r2"}, {"mean"}, {"axes=1,"}), n.node("Sub", {"r2", "mean"}, {"d"}), n.node("Mul", {"d", "d"}, {"dd"});
  n.floats("eps", {}, {1e-3F}).node("ReduceMean", {"dd"}, {"v"}, {"axes=1,"}), n.node("Add", {"v", "eps"}, {"ve"});
  n.node("Sqrt", {"ve"}, {"root"}), n.node("Div", {"d", "root"}, {"z"});
  n.normal("w3", {16, 6}, 0.4).normal("b3", {6}, 0.1).node("Gemm", {"z", "w3", "b3"}, {"y"});
  return n;
}

/// Scores of places, and the best of them with their boxes.
inline Network detector(uint64_t seed) {
  Network n(seed);
  n.input("x", {"1", "3", "16", "12"}).output("scores", {"1", "48"}).output("best", {"1", "5"});
  n.output("places", {"1", "5"}, onnx::TensorProto::INT64).output("boxes", {"1", "5", "4"});
  n.convolution("c1", "x", "c1.y", {8, 3, 3, 3}, {"pads=1,1,1,1", "strides=2,2"}).batch_norm("n1", "c1.y", "n1.y", 8);
  n.node("Relu", {"n1.y"}, {"r1"}), n.convolution("c2", "r1", "c2.y", {1, 8, 1, 1}, {});
  n.integers("flat", {2}, {1, 48}).node("Reshape", {"c2.y", "flat"}, {"l"}), n.node("Sigmoid", {"l"}, {"scores"});
  n.integers("five", {1}, {5}).node("TopK", {"scores", "five"}, {"best", "places"}, {"axis=1"});
  n.convolution("c3", "r1", "c3.y", {4, 8, 1, 1}, {}).integers("rows", {2}, {4, 48});
  n.node("Reshape", {"c3.y", "rows"}, {"b0"}), n.node("Transpose", {"b0"}, {"b1"}, {"perm=1,0"});
  n.node("Gather", {"b1", "places"}, {"boxes"}, {"axis=0"});
  return n;
}

/// Before opset 13, a Softmax flattens all dims from its axis on.
inline Network probabilities(uint64_t seed) {
  Network n(seed, 12);
  n.input("x", {"N", "4", "5", "6"}).output("y", {"N", "4", "5", "6"});
  n.convolution("c1", "x", "c1.y", {4, 4, 1, 1}, {}).batch_norm("n1", "c1.y", "n1.y", 4).node("Softmax", {"n1.y"}, {"y"}, {"axis=1"});
  return n;
}

}  // namespace relayout::testing
