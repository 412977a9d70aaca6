#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/indexed.h"
#include "exec/constant_store.h"
#include "exec/inference.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/layout_guide.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "layout/axis_order.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {

/// A term of a sum: a Conv of the operand that all terms share, or that operand itself, with or without a BatchNormalization; or a
/// constant.
struct ConvolutionTerm {
  const ProgramNode* convolution = nullptr;  ///< null: the operand itself
  const ProgramNode* affine = nullptr;       ///< null: none
  Dims first = {};                           ///< position of its window in the window of the sum, per spatial dim
  ValueId constant = ValueId::none;          ///< of one element, or one per channel
};

/// Nodes that are lowered together; the first is the anchor. Intermediate results are read within the group alone: by the next node, except
/// in functions written out in several nodes (x · f(x) reads x twice: gated_stage_of, is_library_gelu) and in sums; but others may read
/// those of a chain of functions, which then runs where its first node would.
struct Group {
  std::vector<const ProgramNode*> nodes;
  /// Nodes downstream of a Concat of channels, which this group computes for its own channels, those from `first_channel` on. The output of
  /// its last node then holds the result of the last of these.
  std::vector<const ProgramNode*> downstream = {};
  int64_t first_channel = 0;
  bool in_parts = false;  ///< a Concat whose downstream nodes are computed by the groups of its operands
  /// Convolutions of one operand whose results are added, computed as one convolution: the anchor, whose window contains those of the
  /// others, with the sum of their weights. The first term is the anchor's; empty: the anchor alone.
  std::vector<ConvolutionTerm> terms = {};
  std::size_t summed = 1;  ///< number of nodes, from the first on, that compute that sum
  [[nodiscard]] const ProgramNode& anchor() const { return *nodes.front(); }
  [[nodiscard]] const ProgramNode& last() const { return *nodes.back(); }
  /// Result of the group; an anchor without further nodes may have more outputs.
  [[nodiscard]] ValueId output() const { return last().output(0); }
};

/// Facts about the values of a program when a plan is made: type, dims, and contents of constants.
struct ValueFacts {
  const IdVector<ValueId, ValueState>& states;
  ConstantStore& store;

  [[nodiscard]] const ValueState& state(ValueId value) const { return states[value]; }
  [[nodiscard]] const DatumInfo& info(ValueId value) const { return *state(value).info; }
  [[nodiscard]] bool is_tensor(ValueId value) const { return info(value).kind == Datum::Kind::tensor; }
  /// Whether the value is present, and a tensor of f32.
  [[nodiscard]] bool is_float_tensor(ValueId value) const {
    return value != ValueId::none && state(value).is_tensor() && info(value).type == DataType::float32;
  }
  /// Null when the value is not constant.
  [[nodiscard]] KnownConstant* constant(ValueId value) const { return state(value).constant.get(); }
};

/// The two dense orders in which tensors of a plan are kept.
enum class Order : uint8_t { contiguous, channels_last };

/// Strides of a dense tensor: dim 1 innermost for channels_last (rank 3 and more), row-major otherwise.
[[nodiscard]] TensorDesc ordered(DataType type, const Dims& dims, Order order);
/// Strides of a dense tensor for any order of dims.
[[nodiscard]] TensorDesc ordered(DataType type, const Dims& dims, const layout::AxisOrder& order);
/// Whether strides are those of the order, dims of size 1 aside.
[[nodiscard]] bool is_ordered(const TensorDesc& desc, Order order);
/// Whether the strides put the dims in this order, with gaps, backwards or not; repeated dims (stride 0) do not count.
[[nodiscard]] bool follows(const TensorDesc& desc, const layout::AxisOrder& order);
/// The same order as a permutation of the axes.
[[nodiscard]] layout::AxisOrder axes_of(Order order, const Dims& dims);
/// Bytes of all elements, without gaps.
[[nodiscard]] int64_t byte_count(const TensorDesc& desc);

/// Counts the reads that are still to come, of values and of the buffers that hold them: no memory is overwritten before its last read.
class ReadCounts {
 public:
  /// One count per value: reads by nodes that will run, in this plan or after it, and one for each output of the graph that is the value.
  explicit ReadCounts(IdVector<ValueId, int> of_values) : of_values_(std::move(of_values)), buffers_(of_values_.size()) {}

  [[nodiscard]] int of(ValueId value) const { return of_values_[value]; }
  [[nodiscard]] int64_t in(BufferId buffer) const { return index_of(buffer) < in_buffers_.size() ? in_buffers_[buffer] : 0; }
  /// Records that a value is stored in a buffer, perhaps besides others.
  void settle(ValueId value, BufferId buffer) {
    std::vector<BufferId>& buffers = buffers_[value];
    if (std::ranges::find(buffers, buffer) != buffers.end()) return;
    buffers.push_back(buffer);
    if (in_buffers_.size() <= index_of(buffer)) in_buffers_.resize(index_of(buffer) + 1);
    in_buffers_[buffer] += of(value);
  }
  void add(ValueId value, int change) {
    of_values_[value] += change;
    for (const BufferId buffer : buffers_[value]) in_buffers_[buffer] += change;
  }
  /// Adds `change` for each read by nodes of a group.
  void add(const Group& group, int change) {
    for (const ProgramNode* const node : group.nodes) {
      for (const ValueId input : node->inputs) {
        if (input != ValueId::none) add(input, change);
      }
    }
  }

 private:
  IdVector<ValueId, int> of_values_;
  IdVector<BufferId, int64_t> in_buffers_;            ///< of all values in each buffer
  IdVector<ValueId, std::vector<BufferId>> buffers_;  ///< that hold each value, each once
};

/// Number of nodes in which GELU by erf is written out: x / √2, Erf, + 1, · x, / 2.
inline constexpr std::size_t kErfGateStages = 5;

/// A function whose operand is a value of the program, or a computed constant.
struct Stage : ElementFunction {
  ValueId value = ValueId::none;  ///< the operand, when it is a value
  Tensor constant;                ///< the operand, when it is computed
  ValueId kept = ValueId::none;   ///< the result, where others read it
  /// The function without its operand.
  [[nodiscard]] const ElementFunction& alone() const { return *this; }
};

/// y = (x − mean) · scale + bias per channel, of an inference BatchNormalization with constant parameters.
struct ChannelAffine {
  std::vector<double> mean, scale, bias;
  [[nodiscard]] bool is_finite() const;
  /// The affine of `count` channels from `first` on.
  [[nodiscard]] ChannelAffine part(std::size_t first, std::size_t count) const;
  /// The affine as functions over dims of this rank, of which the second is that of channels.
  [[nodiscard]] std::vector<Stage> stages(std::size_t rank) const;
};

/// Contents of a constant of at most 65,536 elements as doubles; nothing when the value is absent, not constant, larger, or of a type other
/// than f32, f64, i32, i64, u8, i8.
[[nodiscard]] std::optional<std::vector<double>> small_constant(const ValueFacts& facts, ValueId value);

/// The axes that a reduction reduces, ascending, if they are given and known.
[[nodiscard]] std::optional<Dims> reduced_axes(const ValueFacts& facts, const ProgramNode& node);
/// Number of dims that a reduction reduces, if those are the last ones and known; else 0.
[[nodiscard]] std::size_t reduced_last_dims(const ValueFacts& facts, const ProgramNode& node);
/// Reductions over shorter lines are left to the op table's kernel, which takes several lines side by side.
inline constexpr int64_t kShortLine = 16;
/// Whether the node adds up lines of the value `through`, of f32 and not short, or takes their means.
[[nodiscard]] bool sums_lines(const ValueFacts& facts, const ProgramNode& node, ValueId through);
/// Whether `node` subtracts constants from all indices of `reader`, a GatherElements.
[[nodiscard]] bool moves_indices(const ValueFacts& facts, const ProgramNode& node, const ProgramNode& reader);

/// Whether stages_of reads some nodes of this operator.
[[nodiscard]] bool may_be_stages(std::string_view op_type);
/// The node as elementwise stages over its input value `through` (f32 to f32), or nothing.
[[nodiscard]] std::optional<std::vector<Stage>> stages_of(const ValueFacts& facts, const ProgramNode& node, ValueId through);
/// x · f(x) as one function of x = `through`, from `gate`, which is f, and `product`; or nothing.
[[nodiscard]] std::optional<Stage> gated_stage_of(const ValueFacts& facts, const ProgramNode& gate, const ProgramNode& product,
                                                  ValueId through);
/// x = `through` in another type and back: 1 where x is not 0, else 0, as Casts to bool write masks, x rounded to 16 bits, or to one of 256
/// equal steps; or nothing.
[[nodiscard]] std::optional<Stage> round_trip_of(const ValueFacts& facts, const ProgramNode& first, const ProgramNode& second,
                                                 ValueId through);
/// Consecutive nodes of a group as stages over `through`, or nothing.
[[nodiscard]] std::optional<std::vector<Stage>> stages_of(const ValueFacts& facts, std::span<const ProgramNode* const> nodes,
                                                          ValueId through);
/// The same for nodes of a program: results that other nodes read are kept.
[[nodiscard]] std::optional<std::vector<Stage>> kept_stages_of(const Program& program, const ValueFacts& facts,
                                                               std::span<const ProgramNode* const> nodes, ValueId through);
/// A sum or difference with one known number as alpha · x + beta: alpha is 1 or −1, so that it is rounded once as well. Nothing for other
/// stages.
[[nodiscard]] std::optional<Stage> shift_of(const ValueFacts& facts, const Stage& stage);
/// Adds one number per channel, dim 1 of `rank` dims.
[[nodiscard]] Stage add_per_channel(const std::vector<double>& values, std::size_t rank);
/// The node as a function of its first input, or nothing. Types are not checked.
[[nodiscard]] std::optional<Stage> unary_stage_of(const ValueFacts& facts, const ProgramNode& node);
/// The node as an affine per channel, or nothing.
[[nodiscard]] std::optional<ChannelAffine> channel_affine_of(const ValueFacts& facts, const ProgramNode& node);

/// Whether the library applies the stage of this node to a convolution's result, which has these dims.
[[nodiscard]] bool is_applied_by_convolution(const ValueFacts& facts, const Stage& stage, const ProgramNode& node, const Dims& dims);
/// The same for a stage x · f(x) that is written as two nodes: hard-swish alone. The library takes longer for swish than a separate pass
/// (efficientnet_b0: 109 against 73 µs for 400,000 elements; Zen 5, oneDNN 3.7.2).
[[nodiscard]] bool is_gate_applied_by_convolution(const Stage& stage);
/// Whether a stage is GELU by erf and the library computes it, as a post-op of a convolution or a product: with AVX-512 alone. There it
/// takes 0.1 to 0.3 ns an element, against 0.9 in a separate pass; with AVX2 1 to 1.9 against 1.5 (Xeon of 2023 at 2.3 GHz, oneDNN 3.7.2,
/// 2026-11-25). The library's result for +∞ is NaN.
[[nodiscard]] bool is_library_gelu(const Stage& stage);
/// A function of one operand as a post-op of the library.
[[nodiscard]] PostOp function_op(const Stage& stage);

/// A sum of convolutions of one operand, of that operand itself, and of BatchNormalizations of these.
struct ConvolutionSum {
  std::vector<NodeId> nodes;           ///< the convolution of the largest window first, then the others in their order
  std::vector<ConvolutionTerm> terms;  ///< the first is that of the first convolution
};

/// Whether a node is an Add or Sum whose operands broadcast from their last dims on.
[[nodiscard]] bool is_addition(const ProgramNode& node);
/// Whether a Conv or ConvTranspose has no bias, or one whose contents are known.
[[nodiscard]] bool has_known_bias(const ValueFacts& facts, const ProgramNode& node);

/// The sum that ends in `root`, if one convolution can compute it: its window contains all others, and its weights are the sum of theirs,
/// added in double and rounded once. RepVGG and MobileOne are trained with such branches. `maker` returns the free producer of a value
/// whose single consumer is free too; else none.
[[nodiscard]] std::optional<ConvolutionSum> find_convolution_sum(const Program& program, const ValueFacts& facts, NodeId root,
                                                                 const std::function<NodeId(ValueId)>& maker);

/// The nodes as groups in running order, one node per group.
[[nodiscard]] std::vector<Group> single_groups(const Program& program, const std::vector<NodeId>& nodes);
/// The nodes as groups in running order: convolutions, products and elementwise operators together with the nodes that are their only
/// consumers. A group runs at the position of its last node, and in one layout.
[[nodiscard]] std::vector<Group> fused_groups(const Program& program, const std::vector<NodeId>& nodes, const ValueFacts& facts,
                                              const LayoutGuide& guide);

}  // namespace relayout::exec
