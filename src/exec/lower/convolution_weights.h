#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "exec/kernels/kernel.h"
#include "exec/lower/group.h"
#include "exec/lower/lowering.h"
#include "exec/lower/stages.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "relayout/tensor.h"

namespace relayout::exec {

/// Operations of a group on the result of its convolution: an affine, which is folded into the weights, and the stages after it.
struct ConvolutionRest {
  std::optional<ChannelAffine> affine;
  std::string affine_key;
  std::vector<Stage> stages;
};

/// A Conv or ConvTranspose and the operations that a group adds to it.
struct ConvolutionGroup {
  const ProgramNode* node = nullptr;
  std::vector<ConvolutionTerm> terms;  ///< of the sum that it computes, its own term first; empty: no sum
  Convolution spec;                    ///< without post-ops and the strides of descs
  ConvolutionRest rest;
};

/// Key of the affine of a BatchNormalization: equal keys mean equal affines, of one node with the same contents of its operands.
[[nodiscard]] std::string key_of_affine(Lowering& lowering, const ProgramNode& node);
/// Computes the f32 weights, added over all terms, with the affine folded in; read anew at each call.
[[nodiscard]] std::function<Tensor()> reader_of_weights(Lowering& lowering, const ConvolutionGroup& group);
/// Weights packed as the library needs them.
[[nodiscard]] Place pack_weights(Lowering& lowering, const ConvolutionGroup& group, const WeightsFormat& format);
/// As above, for weights that `change` transforms before they are packed; `kind` identifies the transformation.
[[nodiscard]] Place pack_weights(Lowering& lowering, const ConvolutionGroup& group, const WeightsFormat& format, const std::string& kind,
                                 const std::function<Tensor(Tensor)>& change);
/// The bias, added over all terms, with the affine folded in; nothing when there is none.
[[nodiscard]] std::optional<Place> make_bias(Lowering& lowering, const ConvolutionGroup& group);

}  // namespace relayout::exec
