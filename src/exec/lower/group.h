// Declares groups of nodes, and what is known about their values before they are lowered.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/indexed.h"
#include "exec/constant_store.h"
#include "exec/inference.h"
#include "exec/kernels/kernel.h"
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
/// in functions written out in several nodes (x · f(x) reads x twice: gated_stage_of, is_library_gelu) and in sums.
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

}  // namespace relayout::exec
