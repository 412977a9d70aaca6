// Declares the functions that lower operators to steps, and what they share.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/lower/fuse.h"
#include "exec/lower/lowering.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {

// Functions of the lowering table, file by file.
bool lower_convolution(Lowering& lowering, const Group& group);
bool lower_gemm(Lowering& lowering, const Group& group);
bool lower_matmul(Lowering& lowering, const Group& group);
bool lower_einsum(Lowering& lowering, const Group& group);
bool lower_attention(Lowering& lowering, const Group& group);
bool lower_integer_matmul(Lowering& lowering, const Group& group);
bool lower_integer_convolution(Lowering& lowering, const Group& group);
bool lower_recurrent(Lowering& lowering, const Group& group);
bool lower_pool(Lowering& lowering, const Group& group);
bool lower_spatial(Lowering& lowering, const Group& group);
bool lower_reduce(Lowering& lowering, const Group& group);
bool lower_elementwise(Lowering& lowering, const Group& group);
bool lower_softmax(Lowering& lowering, const Group& group);
bool lower_log_softmax(Lowering& lowering, const Group& group);
bool lower_layer_normalization(Lowering& lowering, const Group& group);
bool lower_group_normalization(Lowering& lowering, const Group& group);
bool lower_instance_normalization(Lowering& lowering, const Group& group);
bool lower_concat(Lowering& lowering, const Group& group);
bool lower_reshape(Lowering& lowering, const Group& group);
bool lower_split_to_sequence(Lowering& lowering, const Group& group);
bool lower_sequence_construct(Lowering& lowering, const Group& group);
bool lower_sequence_at(Lowering& lowering, const Group& group);
bool lower_transpose(Lowering& lowering, const Group& group);
bool lower_resize(Lowering& lowering, const Group& group);
bool lower_blocks(Lowering& lowering, const Group& group);
bool lower_tile(Lowering& lowering, const Group& group);
bool lower_indexed(Lowering& lowering, const Group& group);

/// Applies the nodes downstream of a Concat to a group's own channels, in place: for a convolution computed by the op table's kernel.
void lower_part(Lowering& lowering, const Group& group);
/// Copies elements in one step of the current node. `through`: the destination, from its first element on, under the source's dims.
void emit_copy(Lowering& lowering, const Place& source, const Place& destination, const TensorDesc& through);
/// Defines a node's output by elements that exist already: as `view` where the plan allows that layout (true), else as a copy.
bool define_view(Lowering& lowering, const ProgramNode& node, const Place& view);
/// A tensor under larger dims, numpy's way: strides 0 where it repeats.
[[nodiscard]] TensorDesc broadcast(const TensorDesc& operand, const Dims& dims);
/// Whether the chain kernel computes all of them.
[[nodiscard]] bool are_own(const std::vector<Stage>& stages);
/// destination = stages(source), in one step; full-size operands in another order are copied into the destination's.
void emit_stages(Lowering& lowering, const Place& source, const Place& destination, const std::vector<Stage>& stages);

/// A matrix product requested from the library, and the places of its operands. Dims are [batch…, rows, columns], of one rank.
struct MatrixProduct {
  Place source, weights;              ///< of any strides; they repeat along dims of the batch that are 1
  Place destination;                  ///< contiguous
  std::optional<Place> bias;          ///< over the columns
  KnownConstant* constant = nullptr;  ///< packed in place of `weights`
  std::vector<PostOp> post_ops = {};  ///< functions of one operand
};

/// False when the library has no such product; `swap_constant`: the constant's own elements are [columns, rows].
[[nodiscard]] bool emit_product(Lowering& lowering, MatrixProduct product, bool swap_constant = false);

/// A tensor under other dims of the same elements in row-major order; copied where strides cannot express them.
[[nodiscard]] Place as_matrices(Lowering& lowering, const Place& place, const Dims& dims);
/// The same elements with the last two dims swapped.
[[nodiscard]] TensorDesc swap_last(TensorDesc desc);

/// Whether the inputs and the first output of a node are f32 tensors with elements.
[[nodiscard]] bool are_floats(Lowering& lowering, const ProgramNode& node);

/// Emits the product with a group's stages and defines the group's output; false when the library has no such product. `destination` is the
/// product's destination under the dims of the output.
[[nodiscard]] bool emit_with_stages(Lowering& lowering, const Group& group, MatrixProduct product, const Place& destination,
                                    const std::vector<Stage>& stages, bool swap_constant = false);
/// Emits stages over the product in place and defines the group's output.
void finish(Lowering& lowering, const Group& group, const Place& destination, const std::vector<Stage>& stages);
/// Stages of the nodes downstream of a group's anchor, if the chain kernel computes them all.
[[nodiscard]] std::optional<std::vector<Stage>> rest_of(Lowering& lowering, const Group& group);

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

/// A convolution of images x by weights w to images y in Winograd's form, with fewer products: for 3 × 3 windows at stride 1, if
/// it is expected to pay on `threads` threads; else nothing.
[[nodiscard]] std::optional<WinogradConvolution> winograd_of(const Convolution& spec, const Dims& x, const Dims& w, const Dims& y,
                                                             int threads);

}  // namespace relayout::exec
