#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "base/half.h"
#include "networks.h"
#include "support/network.h"

namespace relayout::testing {

using test::fold_batch_norm;

using Make = Network (*)(uint64_t seed);
using Change = void (*)(Network& network);

/// A network and a change to it.
struct Case {
  const char* name;
  Make make;
  Change change;
};

inline void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

/// Exchanges rows i and k of a tensor.
inline void swap_rows(Network& n, const std::string& name, int64_t i, int64_t k) {
  const auto row = static_cast<std::size_t>(n.values(name).size()) / static_cast<std::size_t>(n.tensor(name).dims(0));
  n.edit(name, [&](std::vector<float>& v) {
    for (std::size_t j = 0; j < row; ++j) std::swap(v[static_cast<std::size_t>(i) * row + j], v[static_cast<std::size_t>(k) * row + j]);
  });
}

inline void scale(Network& n, const std::string& name, float by) {
  n.edit(name, [by](std::vector<float>& v) {
    for (float& value : v) value *= by;
  });
}

/// Reverses the last two dims of a weight.
inline void mirror(Network& n, const std::string& name) {
  const auto& dims = n.tensor(name).dims();
  const auto plane = static_cast<std::size_t>(dims[dims.size() - 1] * dims[dims.size() - 2]);
  n.edit(name, [&](std::vector<float>& v) {
    for (auto at = v.begin(); at != v.end(); at += static_cast<std::ptrdiff_t>(plane))
      std::reverse(at, at + static_cast<std::ptrdiff_t>(plane));
  });
}

/// The values of a weight [O, I, H, W] in a different order of axes, under the old dims: bytes read in the wrong order.
inline void misread(Network& n, const std::string& name, const std::vector<std::size_t>& order) {
  const std::vector<int64_t> dims(n.tensor(name).dims().begin(), n.tensor(name).dims().end());
  n.edit(name, [&](std::vector<float>& v) {
    std::vector<int64_t> strides(4, 1);
    for (std::size_t i = 3; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
    std::vector<float> out;
    std::vector<int64_t> index(4);
    for (index[0] = 0; index[0] < dims[order[0]]; ++index[0])
      for (index[1] = 0; index[1] < dims[order[1]]; ++index[1])
        for (index[2] = 0; index[2] < dims[order[2]]; ++index[2])
          for (index[3] = 0; index[3] < dims[order[3]]; ++index[3]) {
            int64_t at = 0;
            for (std::size_t k = 0; k < 4; ++k) at += index[k] * strides[order[k]];
            out.push_back(v[static_cast<std::size_t>(at)]);
          }
    v = out;
  });
}

inline void through_half(Network& n, const std::string& name) {
  n.edit(name, [](std::vector<float>& v) {
    for (float& value : v) value = half_to_float(double_to_half(static_cast<double>(value)));
  });
}

/// Wrong conversions that verify must catch.
inline const std::vector<Case> kWrong{
    {"OneWeightOff", classifier, [](Network& n) { n.edit("c2.w", [](auto& v) { v[100] *= 1.5F; }); }},
    {"OneWeightZero", mobile, [](Network& n) { n.edit("c1.w", [](auto& v) { v[4] = 0; }); }},
    {"OneWeightNegated", segmenter, [](Network& n) { n.edit("u.w", [](auto& v) { v[7] = -v[7]; }); }},
    {"WeightsScaledBy1_05", classifier, [](Network& n) { scale(n, "c1.w", 1.05F); }},
    {"WeightsScaledBy1_001", classifier, [](Network& n) { scale(n, "c3.w", 1.001F); }},
    {"V26WeightsThroughHalf", classifier, [](Network& n) { through_half(n, "c2.w"); }},
    {"V27OutputTimes1_001", classifier, [](Network& n) { n.floats("f1001", {}, {1.001F}).insert_after("y", "Mul", {"f1001"}); }},
    {"OutputPlus1e-4", mobile, [](Network& n) { n.floats("e", {}, {1e-4F}).insert_after("y", "Add", {"e"}); }},
    {"V29EpsilonIgnored", mobile, [](Network& n) { fold_batch_norm(n, "n1.y", {.epsilon_factor = 0}); }},
    {"V29EpsilonTenfold", mobile, [](Network& n) { fold_batch_norm(n, "n1.y", {.epsilon_factor = 10}); }},
    {"V29EpsilonOutsideTheRoot", mobile, [](Network& n) { fold_batch_norm(n, "n1.y", {.epsilon_outside = true}); }},
    {"V29EpsilonAttributeChanged", classifier, [](Network& n) { Network::set_attribute(n.producer("n1.y"), "epsilon=0.001"); }},
    {"V30BiasDropped", classifier, [](Network& n) { n.producer("c1.y").mutable_input()->RemoveLast(); }},
    {"V30BiasDoubled", classifier, [](Network& n) { scale(n, "c2.b", 2); }},
    {"V30BiasRolledByOneChannel", segmenter, [](Network& n) { n.edit("c1.b", [](auto& v) { std::ranges::rotate(v, v.begin() + 1); }); }},
    {"V30BiasNotScaled", classifier, [](Network& n) { fold_batch_norm(n, "n2.y", {.scale_bias = false}); }},
    {"V30GemmBiasDropped", classifier, [](Network& n) { n.producer("y").mutable_input()->RemoveLast(); }},
    {"V31ChannelsExchanged", classifier, [](Network& n) { swap_rows(n, "c2.w", 2, 5); }},
    {"V31ChannelsExchangedIn3D", volumes, [](Network& n) { swap_rows(n, "c1.w", 0, 1); }},
    {"V31KernelMirrored", classifier, [](Network& n) { mirror(n, "c1.w"); }},
    {"V31KernelMirroredInTransposed", segmenter, [](Network& n) { mirror(n, "u.w"); }},
    {"V31HeightAndWidthExchanged", classifier, [](Network& n) { misread(n, "c2.w", {0, 1, 3, 2}); }},
    {"V31InputAndOutputExchanged", classifier, [](Network& n) { misread(n, "c2.w", {1, 0, 2, 3}); }},
    {"V31ChannelsLastBytesReadAsContiguous", segmenter, [](Network& n) { misread(n, "c2.w", {0, 2, 3, 1}); }},
    {"MeanForgotten", classifier, [](Network& n) { scale(n, "n2.mean", 0); }},
    {"ScaleAndBiasExchanged", classifier,
     [](Network& n) {
       auto& norm = n.producer("n1.y");
       norm.mutable_input()->SwapElements(1, 2);
     }},
    {"VarianceForDeviation", classifier,
     [](Network& n) {
       n.edit("n3.var", [](auto& v) {
         for (float& x : v) x = std::sqrt(x);
       });
     }},
    {"BatchNormOfAnotherLayer", classifier, [](Network& n) { n.producer("n2.y").set_input(3, "n1.mean"); }},
    {"BatchNormSkipped", segmenter, [](Network& n) { n.producer("r3").set_input(0, "u.y"); }},
    {"TransposedFoldOnWrongAxis", segmenter,
     [](Network& n) {
       // Columns are the output channels of a ConvTranspose; here rows are scaled.
       n.edit("u.w", [&](auto& v) {
         for (std::size_t i = 0; i < v.size(); ++i) v[i] *= 1 + 0.01F * static_cast<float>(i / 24);
       });
     }},
    {"V32FoldedForwardThroughPadding", mobile,
     [](Network& n) {
       // A shift before a padded convolution moved into its bias: right inside, wrong at the border.
       n.floats("s", {1, 6, 1, 1}, {0.3F, -0.2F, 0.5F, 0.1F, 0.4F, -0.3F}).insert_after("r2", "Sub", {"s"});
       const auto w = n.values("c3.w");
       n.edit("c3.b", [&](auto& b) {
         const float s[] = {0.3F, -0.2F, 0.5F, 0.1F, 0.4F, -0.3F};
         for (std::size_t c = 0; c < 6; ++c) {
           for (std::size_t k = 0; k < 9; ++k) b[c] += s[c] * w[c * 9 + k];
         }
       });
     }},
    {"V33FoldedDownstreamOfTwoReaders", classifier,
     [](Network& n) {
       // f is read by the pooling and is an output: the scale for one reader reaches both.
       n.floats("half", {}, {0.5F}).insert_after("r2", "Mul", {"half"});
     }},
    {"V34ClipLost", classifier, [](Network& n) { n.producer("r2").mutable_input()->RemoveLast(); }},
    {"V34ClipAtSevenInsteadOfSix", classifier, [](Network& n) { n.set_values("six", {7}); }},
    {"V35ReluOnTheInput", classifier, [](Network& n) { n.node("Relu", {"x"}, {"x.r"}), n.producer("c1.y").set_input(0, "x.r"), n.sort(); }},
    {"V35AbsOnTheInput", mobile, [](Network& n) { n.node("Abs", {"x"}, {"x.r"}), n.producer("c1.y").set_input(0, "x.r"), n.sort(); }},
    {"V35InputClippedAtThree", segmenter,
     [](Network& n) {
       n.floats("m3", {}, {-3}).floats("p3", {}, {3}).node("Clip", {"x", "m3", "p3"}, {"x.c"});
       n.producer("c1.y").set_input(0, "x.c");
       n.sort();
     }},
    {"V35InputClippedToUnit", lines,
     [](Network& n) {
       n.floats("m0", {}, {0}).floats("p1", {}, {1}).node("Clip", {"x", "m0", "p1"}, {"x.c"});
       n.producer("c1.y").set_input(0, "x.c");
       n.sort();
     }},
    {"V36OnlyTheFirstOfTheBatch", classifier,
     [](Network& n) {
       n.integers("i0", {1}, {0}).integers("i1", {1}, {1}).integers("ax", {1}, {0});
       n.node("Slice", {"x", "i0", "i1", "ax"}, {"x.1"}), n.node("Shape", {"x"}, {"x.s"}), n.node("Expand", {"x.1", "x.s"}, {"x.e"});
       n.producer("c1.y").set_input(0, "x.e");
       n.sort();
     }},
    {"V37ReshapeForOneBatch", classifier,
     [](Network& n) {
       n.remove_node("flat");
       n.integers("to", {2}, {1, 12}).node("Reshape", {"g", "to"}, {"flat"});
       n.sort();
     }},
    {"V38CountIncludePad", mobile, [](Network& n) { Network::set_attribute(n.producer("p"), "count_include_pad=0"); }},
    {"V38PadsExchanged", mobile, [](Network& n) { Network::set_attribute(n.producer("c1.y"), "pads=2,2,0,0"); }},
    {"V38LeakyReluAlpha", mobile, [](Network& n) { Network::set_attribute(n.producer("r1"), "alpha=0.101"); }},
    {"V38DilationAndPads", mobile,
     [](Network& n) {
       Network::set_attribute(n.producer("c3.y"), "dilations=1,1");
       Network::set_attribute(n.producer("c3.y"), "pads=1,1,1,1");
     }},
    {"V38SoftmaxAxis", transformer, [](Network& n) { Network::set_attribute(n.producer("a"), "axis=1"); }},
    {"ConcatOrder", segmenter,
     [](Network& n) { n.convolution("c4", "r3", "c4.y", {6, 6, 1, 1}, {}), n.producer("cat").set_input(1, "c4.y"), n.sort(); }},
    {"ConcatInputsExchanged", segmenter, [](Network& n) { n.producer("cat").mutable_input()->SwapElements(0, 1); }},
    {"ResidualDropped", classifier, [](Network& n) { n.producer("f").set_input(1, "zero"); }},
    {"ResidualAddedTwice", classifier, [](Network& n) { n.insert_after("f", "Add", {"r1"}); }},
    {"ActivationDropped", classifier, [](Network& n) { n.producer("c2.y").set_input(0, "n1.y"); }},
    {"ActivationChanged", lines, [](Network& n) { n.producer("r1").set_op_type("Abs"); }},
    {"MaxPoolForAveragePool", classifier, [](Network& n) { n.producer("p").set_op_type("AveragePool"); }},
    {"V47NanInjected", classifier, [](Network& n) { n.edit("c2.w", [](auto& v) { v[5] = std::numeric_limits<float>::quiet_NaN(); }); }},
    {"V48InfinityInjected", transformer,
     [](Network& n) { n.edit("f2.w", [](auto& v) { v[5] = std::numeric_limits<float>::infinity(); }); }},
    {"V60TableRowsFromTenZero", transformer,
     [](Network& n) { n.edit("table", [](auto& v) { std::fill(v.begin() + 160, v.end(), 0.0F); }); }},
    {"V60IdsClampedToNine", transformer,
     [](Network& n) {
       n.integers("i0", {}, {0}).integers("i9", {}, {9}).node("Clip", {"ids", "i0", "i9"}, {"ids.c"});
       n.producer("e").set_input(1, "ids.c");
       n.sort();
     }},
    {"V61LastRowOfTheTable", transformer, [](Network& n) { n.edit("table", [](auto& v) { v.back() += 0.01F; }); }},
    {"V61FirstRowOfTheTable", transformer, [](Network& n) { n.edit("table", [](auto& v) { v.front() = 0; }); }},
    {"V61MiddleRowOfTheTable", transformer, [](Network& n) { n.edit("table", [](auto& v) { v[23 * 16 + 5] *= 1.1F; }); }},
    {"V63MaskIgnored", transformer, [](Network& n) { n.replace_uses("s2", "s1"); }},
    {"V63MaskInverted", transformer, [](Network& n) { n.replace_uses("m2", "m1"); }},
    {"AttentionScale", transformer, [](Network& n) { n.set_values("root", {4.1F}); }},
    {"AttentionTransposeLost", transformer, [](Network& n) { n.edit("k.w", [](auto& v) { std::ranges::reverse(v); }); }},
    {"QueryBiasDropped", transformer, [](Network& n) { n.replace_uses("q", "q0"); }},
    {"LayerNormEpsilon", transformer, [](Network& n) { Network::set_attribute(n.producer("h"), "epsilon=0.01"); }},
    {"LayerNormBiasDropped", transformer, [](Network& n) { scale(n, "ln1.b", 0); }},
    {"MatrixTransposed", transformer,
     [](Network& n) {
       n.edit("o.w", [](auto& v) {
         for (std::size_t i = 0; i < 16; ++i) {
           for (std::size_t k = 0; k < i; ++k) std::swap(v[i * 16 + k], v[k * 16 + i]);
         }
       });
     }},
    {"V56BestClassOffByOne", decisions, [](Network& n) { n.integers("o1", {}, {1}).insert_after("best", "Add", {"o1"}); }},
    {"BoolInverted", decisions, [](Network& n) { n.insert_after("positive", "Not"); }},
    {"ThresholdMoved", decisions, [](Network& n) { n.set_values("null", {0.5F}); }},
    {"ShapeConstant", decisions,
     [](Network& n) {
       n.remove_node("shape");
       n.integers("s", {2}, {1, 6}).node("Identity", {"s"}, {"shape"});
     }},
    {"V1OutputToDouble", classifier,
     [](Network& n) {
       n.insert_after("y", "Cast", {}, {"to=11"});
       n.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::DOUBLE);
     }},
    {"V2BoolToUint8", decisions,
     [](Network& n) {
       n.insert_after("positive", "Cast", {}, {"to=2"});
       n.graph().mutable_output(2)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::UINT8);
     }},
    {"V4ScalarForAVector", decisions,
     [](Network& n) {
       n.graph().mutable_output(3)->mutable_type()->mutable_tensor_type()->clear_shape();
       n.graph().mutable_output(3)->mutable_type()->mutable_tensor_type()->mutable_shape();
       n.insert_after("shape", "ReduceMax", {}, {"keepdims=0"});
     }},
    {"V13InputDtype", decisions,
     [](Network& n) {
       n.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::DOUBLE);
       n.node("Cast", {"x"}, {"x.f"}, {"to=1"}), n.producer("l").set_input(0, "x.f"), n.sort();
     }},
    {"V13InputLayout", classifier,
     [](Network& n) {
       auto& dims = *n.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim();
       dims.SwapElements(1, 2), dims.SwapElements(2, 3);
       n.node("Transpose", {"x"}, {"x.t"}, {"perm=0,3,1,2"}), n.producer("c1.y").set_input(0, "x.t"), n.sort();
     }},
    {"V14InputFrozen", transformer,
     [](Network& n) {
       n.graph().mutable_input()->RemoveLast();
       n.integers("mask", {1, 1}, {1});
     }},
    {"V15UnusedInputAdded", lines, [](Network& n) { n.input("more", {"2"}); }},
    {"V39RandomNoiseNode", segmenter,
     [](Network& n) {
       n.node("RandomNormalLike", {"r1"}, {"noise"}, {"scale=0.001"});
       n.node("Add", {"r1", "noise"}, {"r1.n"}), n.producer("p").set_input(0, "r1.n"), n.sort();
     }},
    {"V3OutputRank", segmenter,
     [](Network& n) {
       n.integers("ax0", {1}, {0}).insert_after("y", "Squeeze", {"ax0"});
       n.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()->DeleteSubrange(0, 1);
     }},
    {"V5OutputAxesExchanged", segmenter,
     [](Network& n) {
       n.insert_after("y", "Transpose", {}, {"perm=0,1,3,2"});
       auto& shape = *n.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
       shape.mutable_dim()->SwapElements(2, 3);
     }},
    {"V6OutputMissing", classifier, [](Network& n) { n.graph().mutable_output()->RemoveLast(); }},
    {"V7OutputAdded", segmenter, [](Network& n) { n.output("r3", {"1", "6", "8", "12"}); }},
    {"V8OutputRenamed", segmenter,
     [](Network& n) {
       n.producer("y").set_output(0, "Y");
       n.graph().mutable_output(0)->set_name("Y");
     }},
    {"V10OutputsReordered", classifier, [](Network& n) { n.graph().mutable_output()->SwapElements(0, 1); }},
    {"V11InputRenamed", lines,
     [](Network& n) {
       n.graph().mutable_input(0)->set_name("X");
       n.producer("c1.y").set_input(0, "X");
     }},
    {"V12InputsReordered", transformer, [](Network& n) { n.graph().mutable_input()->SwapElements(0, 1); }},
    {"V16BatchFixed", classifier,
     [](Network& n) {
       n.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(1);
     }},
    {"V17DeclaredDimIsNotYielded", lines,
     [](Network& n) {
       n.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(7);
     }},
    {"V61OneRowOfALargeTable", transformer, [](Network& n) { n.edit("table", [](auto& v) { v[31 * 16] += 0.05F; }); }},
    {"V60RecurrentIdsClamped", recurrent,
     [](Network& n) {
       n.integers("i0", {}, {0}).integers("i30", {}, {30}).node("Clip", {"ids", "i0", "i30"}, {"ids.c"});
       n.producer("e").set_input(1, "ids.c");
       n.sort();
     }},
    {"V47NanInATablesRow", recurrent,
     [](Network& n) { n.edit("table", [](auto& v) { v[8 * 17] = std::numeric_limits<float>::quiet_NaN(); }); }},
    {"V38GatesExchanged", recurrent,
     [](Network& n) { n.edit("W", [](auto& v) { std::swap_ranges(v.begin(), v.begin() + 48, v.begin() + 48); }); }},
    {"V38DirectionsExchanged", recurrent,
     [](Network& n) { n.edit("R", [](auto& v) { std::ranges::rotate(v, v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2)); }); }},
    {"RecurrentBiasDropped", recurrent, [](Network& n) { n.producer("h").mutable_input()->RemoveLast(); }},
    {"RecurrentStatesReshapedWrong", recurrent, [](Network& n) { Network::set_attribute(n.producer("ht"), "perm=2,0,3,1"); }},
    {"V56TagsTakenAlongAnotherAxis", recurrent,
     [](Network& n) {
       n.node("Neg", {"scores"}, {"negated"}), n.producer("best").set_input(0, "negated");
       n.sort();
     }},
    {"V29EpsilonByHand", statistics, [](Network& n) { n.set_values("eps", {1e-2F}); }},
    {"V29EpsilonByHandLost", statistics, [](Network& n) { n.set_values("eps", {0}); }},
    {"SubInputsExchanged", statistics, [](Network& n) { n.producer("d").mutable_input()->SwapElements(0, 1); }},
    {"DivInputsExchanged", statistics, [](Network& n) { n.producer("z").mutable_input()->SwapElements(0, 1); }},
    {"MatMulInputsExchanged", patches,
     [](Network& n) { n.producer("s0").set_input(0, "k"), n.producer("kt").set_input(0, "q"), n.sort(); }},
    {"RootLost", statistics, [](Network& n) { n.replace_uses("root", "ve"); }},
    {"EluAlpha", statistics, [](Network& n) { Network::set_attribute(n.producer("r2"), "alpha=1.28"); }},
    {"V30MatMulBiasDropped", statistics, [](Network& n) { n.replace_uses("a2", "m2"); }},
    {"BatchNormOfDenseLayerSkipped", statistics, [](Network& n) { n.replace_uses("n1.y", "g1"); }},
    {"MatrixRowsExchanged", statistics, [](Network& n) { swap_rows(n, "w2", 3, 20); }},
    {"MeanOverAnotherAxis", statistics, [](Network& n) { Network::set_attribute(n.producer("mean"), "axes=0,"); }},
    {"ShuffleLost", shuffled, [](Network& n) { n.producer("sh").set_input(0, "g"); }},
    {"ShufflePermutation", shuffled, [](Network& n) { Network::set_attribute(n.producer("t"), "perm=0,1,2,4,3"); }},
    {"HalvesExchanged", shuffled, [](Network& n) { n.producer("cat").mutable_input()->SwapElements(0, 1); }},
    {"SplitsOtherHalf", shuffled, [](Network& n) { n.producer("c2.y").set_input(0, "s1"), n.producer("cat").set_input(0, "s2"); }},
    {"DepthwiseWeightsReordered", shuffled, [](Network& n) { swap_rows(n, "c2.w", 1, 3); }},
    {"HardSwishAsRelu", shuffled, [](Network& n) { n.producer("y").set_op_type("Relu"); }},
    {"V38PoolPadsExchanged", shuffled, [](Network& n) { Network::set_attribute(n.producer("p"), "pads=0,0,2,2"); }},
    {"PReluSlopesRolled", preactivated, [](Network& n) { n.edit("slopes", [](auto& v) { std::ranges::rotate(v, v.begin() + 1); }); }},
    {"ExcitationAlpha", preactivated, [](Network& n) { Network::set_attribute(n.producer("e"), "alpha=0.297"); }},
    {"ExcitationLost", preactivated, [](Network& n) { n.replace_uses("m", "r2"); }},
    {"ResizeNearest", preactivated, [](Network& n) { Network::set_attribute(n.producer("up"), "mode='nearest'"); }},
    {"ResizeCoordinates", preactivated,
     [](Network& n) { Network::set_attribute(n.producer("up"), "coordinate_transformation_mode='asymmetric'"); }},
    {"ResizeCorners", preactivated,
     [](Network& n) { Network::set_attribute(n.producer("up"), "coordinate_transformation_mode='align_corners'"); }},
    {"GrowthConcatenatedFirst", preactivated, [](Network& n) { n.producer("cat").set_input(0, "r1"); }},
    {"V32NormalizationFoldedForwardThroughPadding", preactivated,
     [](Network& n) {
       // r1 loses a constant that the bias of c2 absorbs: right except at the border.
       n.floats("s", {1, 6, 1, 1}, {0.1F, 0.2F, -0.1F, 0.3F, -0.2F, 0.1F}).insert_after("r1", "Sub", {"s"});
       const auto w = n.values("c2.w");
       n.edit("c2.b", [&](auto& b) {
         const float s[] = {0.1F, 0.2F, -0.1F, 0.3F, -0.2F, 0.1F};
         for (std::size_t o = 0; o < 4; ++o)
           for (std::size_t k = 0; k < 54; ++k) b[o] += s[k / 9] * w[o * 54 + k];
       });
     }},
    {"PositionsRolled", patches, [](Network& n) { n.edit("positions", [](auto& v) { std::ranges::rotate(v, v.begin() + 12); }); }},
    {"AnotherToken", patches, [](Network& n) { n.remove_initializer("token"), n.integers("token", {}, {4}); }},
    {"QueriesAndKeysExchanged", patches,
     [](Network& n) { n.producer("q").set_input(0, "k0"), n.producer("v").set_input(0, "q0"), n.producer("k").set_input(0, "v0"); }},
    {"HeadsJoinedWrong", patches, [](Network& n) { Network::set_attribute(n.producer("o1"), "perm=0,1,2,3"); }},
    {"PatchesTransposedWrong", patches, [](Network& n) { n.insert_after("c1.y", "Transpose", {}, {"perm=0,1,3,2"}); }},
    {"AttentionFactor", patches, [](Network& n) { n.set_values("root", {0.51F}); }},
    {"SmallestInsteadOfLargest", detector, [](Network& n) { Network::set_attribute(n.producer("best"), "largest=0"); }},
    {"V57PlacesOffByOne", detector, [](Network& n) { n.integers("o1", {}, {1}).insert_after("places", "Sub", {"o1"}); }},
    {"BoxesOfOtherPlaces", detector,
     [](Network& n) {
       n.integers("o1", {}, {1}).node("Sub", {"places", "o1"}, {"before"}), n.producer("boxes").set_input(1, "before");
       n.sort();
     }},
    {"BoxesTransposedWrong", detector,
     [](Network& n) {
       n.integers("cols", {2}, {48, 4}).remove_node("b1");
       n.node("Reshape", {"b0", "cols"}, {"b1"});
       n.sort();
     }},
    {"SigmoidAsHardSigmoid", detector, [](Network& n) { n.producer("scores").set_op_type("HardSigmoid"); }},
    {"OpsetsSemantics", probabilities, [](Network& n) { n.model().mutable_opset_import(0)->set_version(13); }},
    {"SoftmaxOverChannels", probabilities, [](Network& n) { Network::set_attribute(n.producer("y"), "axis=2"); }},
    {"V1IntegersNarrowed", detector,
     [](Network& n) {
       n.insert_after("places", "Cast", {}, {"to=6"});
       n.graph().mutable_output(2)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT32);
     }},
    {"V9OutputsExchanged", detector,
     [](Network& n) {
       n.node("Identity", {"scores"}, {"kept"});
       n.graph().mutable_output(0)->set_name("kept");
     }},
    {"V28OutputReplacedByZero", statistics, [](Network& n) { n.floats("tiny", {}, {0}).insert_after("y", "Mul", {"tiny"}); }},
    {"V35InputRoundedToBytes", patches,
     [](Network& n) {
       n.floats("steps", {}, {64}).node("Mul", {"x", "steps"}, {"x.s"}), n.node("Round", {"x.s"}, {"x.q"});
       n.node("Div", {"x.q", "steps"}, {"x.r"}), n.producer("c1.y").set_input(0, "x.r"), n.sort();
     }},
    {"V36BatchReversed", lines,
     [](Network& n) {
       n.integers("from", {1}, {-1}).integers("until", {1}, {-1000}).integers("axis", {1}, {0}).integers("back", {1}, {-1});
       n.node("Slice", {"x", "from", "until", "axis", "back"}, {"x.r"}), n.producer("c1.y").set_input(0, "x.r"), n.sort();
     }},
};

}  // namespace relayout::testing
