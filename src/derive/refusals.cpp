// Says why operators have no derivative.
#include "derive/row.h"

namespace relayout::derive {
namespace {

/// A reason, and the operators that it holds for, each between spaces.
struct Refusal {
  std::string_view why, ops;
};

constexpr std::array<Refusal, 5> kRefusals = {{
    {"it computes with quantized numbers",
     " ConvInteger DequantizeLinear DynamicQuantizeLinear MatMulInteger QLinearConv QLinearMatMul QuantizeLinear "},
    {"it draws random numbers", " Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike "},
    {"it runs other graphs", " If Loop Scan SequenceMap "},
    {"it works with sequences or optional values",
     " ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct SequenceEmpty SequenceErase "
     "SequenceInsert SequenceLength SplitToSequence "},
    {"its derivative is not written",
     " AffineGrid Attention BitCast CausalConvWithState Col2Im Compress CumProd DFT DeformConv Det GlobalLpPool GridSample Hardmax "
     "LinearAttention LpPool MaxRoiPool MaxUnpool OneHot Range ReduceProd RoiAlign RotaryEmbedding STFT Scatter SwiGLU TensorScatter "
     "Unique "
     "Upsample "},
}};

}  // namespace

std::string_view why_refused(std::string_view op) {
  const std::string word = " " + std::string(op) + " ";
  for (const Refusal& refusal : kRefusals) {
    if (refusal.ops.find(word) != std::string_view::npos) return refusal.why;
  }
  return {};
}

}  // namespace relayout::derive
