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

/// The work of a group on the result of its convolution: an affine, which goes into the weights, and stages behind it.
struct ConvolutionRest {
  std::optional<ChannelAffine> affine;
  std::string affine_key;
  std::vector<Stage> stages;
};

/// A Conv or ConvTranspose and what a group adds to it.
struct ConvolutionGroup {
  const ProgramNode* node = nullptr;
  std::vector<ConvolutionTerm> terms;  ///< of the sum that it computes, itself the first; empty: no sum
  Convolution spec;                    ///< without descs' strides and post-ops
  ConvolutionRest rest;
};

/// Names the affine of a BatchNormalization: equal keys mean equal affines, of one node for the same contents of its operands.
[[nodiscard]] std::string key_of_affine(Lowering& lowering, const ProgramNode& node);
/// Gives the f32 weights, those of all terms added, with the affine in them; read anew at each call.
[[nodiscard]] std::function<Tensor()> reader_of_weights(Lowering& lowering, const ConvolutionGroup& group);
/// Weights as the library wants them.
[[nodiscard]] Place pack_weights(Lowering& lowering, const ConvolutionGroup& group, const WeightsFormat& format);
/// The same of what `change` makes of them; `kind` names that.
[[nodiscard]] Place pack_weights(Lowering& lowering, const ConvolutionGroup& group, const WeightsFormat& format, const std::string& kind,
                                 const std::function<Tensor(Tensor)>& change);
/// The bias, those of all terms added, with the affine in it; nothing when there is none.
[[nodiscard]] std::optional<Place> make_bias(Lowering& lowering, const ConvolutionGroup& group);

}  // namespace relayout::exec
