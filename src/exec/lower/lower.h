// Declares the lower_… functions of lower_table.cpp, and helpers that they share for copies, views, broadcasting and chains of functions.
#pragma once

#include <optional>
#include <vector>

#include "exec/lower/lowering.h"
#include "exec/lower/stages.h"

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
bool lower_scatter_nd(Lowering& lowering, const Group& group);
bool lower_blocks(Lowering& lowering, const Group& group);
bool lower_tile(Lowering& lowering, const Group& group);

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

}  // namespace relayout::exec
