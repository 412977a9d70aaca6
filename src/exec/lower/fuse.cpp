// Groups the nodes that run as one step.

#include "exec/lower/fuse.h"

#include <cstdlib>

#include "base/indexed.h"
#include "base/positions.h"
#include "exec/kernels/kernels.h"
#include "exec/layout_guide.h"
#include "exec/lower/lower.h"
#include "exec/program.h"
#include "layout/axis_order.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

bool is_concat(const ProgramNode& node) {
  return node.node->op_type() == "Concat";
}

bool is_convolution(const ProgramNode& node) {
  const std::string& op = node.node->op_type();
  return op == "Conv" || op == "ConvTranspose";
}

bool is_matrix_product(const ProgramNode& node) {
  const std::string& op = node.node->op_type();
  return op == "Gemm" || op == "MatMul";
}

bool is_elementwise(const ValueFacts& facts, const ProgramNode& node) {
  return std::ranges::any_of(node.inputs, [&](ValueId input) {
    if (input == ValueId::none || facts.state(input).constant || node.output(0) == ValueId::none) return false;
    if (facts.info(input).dims != facts.info(node.output(0)).dims) return false;
    const auto stages = stages_of(facts, node, input);
    return stages && are_own(*stages);
  });
}

/// Operand count, at most, of the stages that a node expands to.
std::size_t most_operands(const ValueFacts& facts, const ProgramNode& node) {
  constexpr std::size_t kOfAffine = 3;
  return channel_affine_of(facts, node) ? kOfAffine : node.inputs.size() - 1;
}

/// The nodes of a plan that no group has taken yet.
class FreeNodes {
 public:
  FreeNodes(const Program& program, const std::vector<NodeId>& nodes)
      : program_(program), free_(program.nodes().size(), false), makers_(program.values().size(), NodeId::none) {
    for (const NodeId node : nodes) {
      free_[node] = true;
      for (const ValueId made : program.nodes()[node].outputs) {
        if (made != ValueId::none) makers_[made] = node;
      }
    }
  }

  [[nodiscard]] bool has(NodeId node) const { return free_[node]; }
  void take(NodeId node) { free_[node] = false; }

  /// The only consumer of a value, if it is free; else none.
  [[nodiscard]] NodeId only_reader(ValueId value) const {
    if (value == ValueId::none || program_.readers(value) != 1 || program_.is_output(value)) return NodeId::none;
    const NodeId reader = program_.consumers(value).front();
    return has(reader) ? reader : NodeId::none;
  }

  /// The node of the plan that makes a value; none: it exists before the plan runs.
  [[nodiscard]] NodeId maker(ValueId value) const { return value == ValueId::none ? NodeId::none : makers_[value]; }

  /// The producer of a value with one consumer, if both are free, and it is the first result; else none.
  [[nodiscard]] NodeId only_maker(ValueId value) const {
    const NodeId maker = this->maker(value);
    if (maker != NodeId::none && program_.nodes()[maker].output(0) != value) return NodeId::none;
    return maker == NodeId::none || !has(maker) || only_reader(value) == NodeId::none ? NodeId::none : maker;
  }

 private:
  const Program& program_;
  IdVector<NodeId, bool> free_;
  IdVector<ValueId, NodeId> makers_;
};

class Fuser {
 public:
  Fuser(const Program& program, const std::vector<NodeId>& nodes, const ValueFacts& facts, const LayoutGuide& guide)
      : program_(program), nodes_(nodes), facts_(facts), guide_(guide), free_(program, nodes) {}

  std::vector<Group> run() {
    for (const NodeId node : nodes_) {
      if (is_concat(node_at(node))) divide(node);
    }
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      if (free_.has(*node) && is_addition(node_at(*node))) sum(*node);
    }
    // When several convolutions feed one Add, the last one takes it: the results of the others are available by then.
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      if (!free_.has(*node)) continue;
      if (is_convolution(node_at(*node))) grow({*node}, &Fuser::follows_convolution);
      if (is_matrix_product(node_at(*node))) grow({*node}, &Fuser::follows_elementwise);
    }
    for (const NodeId node : nodes_) {
      if (!free_.has(node)) continue;
      if (const NodeId reader = free_.only_reader(node_at(node).output(0));
          reader != NodeId::none && moves_indices(facts_, node_at(node), node_at(reader))) {
        chains_.push_back({node, reader});
        free_.take(node);
        free_.take(reader);
        continue;
      }
      if (is_elementwise(facts_, node_at(node))) {
        grow({node}, &Fuser::follows_elementwise);
        take_sum(chains_.back());
      } else if (const NodeId next = way_back(node, node_at(node).input(0)); next != NodeId::none) {
        grow({node, next}, &Fuser::follows_elementwise);
      }
    }
    for (const NodeId node : nodes_) {
      if (free_.has(node)) chains_.push_back({node});
    }
    // Where others read an inner result, a chain runs as early as its first node; else as late as its last.
    std::ranges::sort(chains_, {},
                      [&](const std::vector<NodeId>& chain) { return keeping_.contains(chain.front()) ? chain.front() : chain.back(); });
    std::vector<Group> out;
    for (const std::vector<NodeId>& chain : chains_) {
      const auto special = parts_and_sums_.find(chain.front());
      Group& group = out.emplace_back(special == parts_and_sums_.end() ? Group{} : special->second);
      for (const NodeId node : chain) group.nodes.push_back(&node_at(node));
    }
    return out;
  }

 private:
  using Follows = bool (Fuser::*)(const std::vector<NodeId>& chain, NodeId node, ValueId through) const;

  [[nodiscard]] const ProgramNode& node_at(NodeId node) const { return program_.nodes()[node]; }
  [[nodiscard]] const Dims& dims(ValueId value) const { return facts_.state(value).info->dims; }

  /// Builds a chain that begins with these nodes.
  void grow(const std::vector<NodeId>& nodes, Follows follows) {
    std::vector<NodeId> chain;
    chain_operands_ = 0;
    for (const NodeId node : nodes) take(chain, node);
    const NodeId anchor = chain.front();
    while (true) {
      const ValueId through = node_at(chain.back()).output(0);
      const NodeId next = free_.only_reader(through);
      const bool is_timely = !keeping_.contains(anchor) || (next != NodeId::none && is_early(anchor, chain.back(), next));
      if (next != NodeId::none && is_timely && keeps(next, anchor, through) && (this->*follows)(chain, next, through)) {
        take(chain, next);
        continue;
      }
      const bool is_function = !keeping_.contains(anchor) && (take_gate(chain, through) || take_gelu(chain, through));
      if (!is_function && !take_round_trip(chain, next, through) && !take_kept(chain, through)) break;
    }
    chains_.push_back(std::move(chain));
  }

  /// Whether a node reads the result of the one before it once, and else what exists before the chain begins with `front`.
  [[nodiscard]] bool is_early(NodeId front, NodeId before, NodeId node) const {
    const std::vector<ValueId>& inputs = node_at(node).inputs;
    if (std::ranges::count(inputs, node_at(before).output(0)) != 1) return false;
    return std::ranges::all_of(inputs, [&](ValueId input) {
      const NodeId maker = free_.maker(input);
      return maker == NodeId::none || maker < front || maker == before;
    });
  }

  /// Whether the chain that would begin with `node` can become a part of the one from `front` to `before`, whole.
  [[nodiscard]] bool continues(NodeId front, NodeId before, NodeId node) const {
    while (is_early(front, before, node)) {
      const ValueId made = node_at(node).output(0);
      const NodeId next = free_.only_reader(made);
      if (next == NodeId::none || !keeps(next, front, made) || !stages_of(facts_, node_at(next), made)) return true;
      before = std::exchange(node, next);
    }
    return false;
  }

  /// Takes one of several readers of the last result of a chain of functions, which the chain then writes, too.
  bool take_kept(std::vector<NodeId>& chain, ValueId through) {
    const NodeId front = chain.front();
    const ProgramNode& anchor = node_at(front);
    if (through == ValueId::none || is_convolution(anchor) || is_concat(anchor) || is_matrix_product(anchor)) return false;
    for (std::size_t i = 1; i < chain.size(); ++i) {
      if (!is_early(front, chain[i - 1], chain[i])) return false;
    }
    for (const NodeId reader : program_.consumers(through)) {
      if (!free_.has(reader) || !keeps(reader, front, through) || !continues(front, chain.back(), reader)) continue;
      if (guide_.made(reader, 0) != guide_.made(chain.back(), 0) || !follows_elementwise(chain, reader, through)) continue;
      keeping_.insert(front);
      take(chain, reader);
      return true;
    }
    return false;
  }

  void take(std::vector<NodeId>& chain, NodeId node) {
    chain.push_back(node);
    free_.take(node);
    chain_operands_ += most_operands(facts_, node_at(node));
  }

  /// Whether a node's result has the dims of `through` and the order of the group's values.
  [[nodiscard]] bool keeps(NodeId node, NodeId anchor, ValueId through) const {
    return node_at(node).output(0) != ValueId::none && dims(node_at(node).output(0)) == dims(through) &&
           guide_.is_ordered(node).value_or(false) == guide_.is_ordered(anchor).value_or(false) &&
           (!is_concat(node_at(anchor)) || guide_.made(node, 0) == guide_.made(anchor, 0));
  }

  /// Takes the sum that ends in `root` if one convolution can compute it.
  void sum(NodeId root) {
    if (node_at(root).output(0) == ValueId::none || !facts_.is_tensor(node_at(root).output(0))) return;
    auto found = find_convolution_sum(program_, facts_, root, [this](ValueId value) { return free_.only_maker(value); });
    if (!found) return;
    const bool order = guide_.is_ordered(found->nodes.front()).value_or(false);
    if (!std::ranges::all_of(found->nodes, [&](NodeId node) { return guide_.is_ordered(node).value_or(order) == order; })) return;
    Group& group = parts_and_sums_[found->nodes.front()];
    group.terms = std::move(found->terms);
    group.summed = found->nodes.size();
    grow(found->nodes, &Fuser::follows_convolution);
  }

  /// Takes a function and the product of its result with its argument, the two consumers of the chain's last value.
  bool take_gate(std::vector<NodeId>& chain, ValueId through) {
    if (through == ValueId::none || program_.readers(through) != 2 || program_.is_output(through)) return false;
    const auto readers = program_.consumers(through);
    const NodeId gate = readers.front(), product = readers.back();
    if (!free_.has(gate) || free_.only_reader(node_at(gate).output(0)) != product) return false;
    if (!keeps(gate, chain.front(), through) || !keeps(product, chain.front(), through)) return false;
    const auto stage = gated_stage_of(facts_, node_at(gate), node_at(product), through);
    const ProgramNode& anchor = node_at(chain.front());
    const bool is_applied_by_library = is_convolution(anchor) || is_concat(anchor);
    if (!stage || (is_applied_by_library && !is_gate_applied_by_convolution(*stage))) return false;
    take(chain, gate);
    take(chain, product);
    return true;
  }

  /// The second of two nodes, to another type and back, of which `node` is the first; or none.
  [[nodiscard]] NodeId way_back(NodeId node, ValueId through) const {
    const NodeId next = free_.only_reader(node_at(node).output(0));
    return next != NodeId::none && round_trip_of(facts_, node_at(node), node_at(next), through) ? next : NodeId::none;
  }

  bool take_round_trip(std::vector<NodeId>& chain, NodeId node, ValueId through) {
    const ProgramNode& anchor = node_at(chain.front());
    if (node == NodeId::none || is_convolution(anchor) || is_concat(anchor) || is_matrix_product(anchor)) return false;
    const NodeId next = way_back(node, through);
    if (next == NodeId::none || !keeps(node, chain.front(), through) || !keeps(next, chain.front(), through)) return false;
    take(chain, node);
    take(chain, next);
    return true;
  }

  /// Takes the sum or mean of lines that a chain of functions makes.
  void take_sum(std::vector<NodeId>& chain) {
    const ValueId through = node_at(chain.back()).output(0);
    const NodeId next = free_.only_reader(through);
    if (next == NodeId::none || !sums_lines(facts_, node_at(next), through)) return;
    const auto is_contiguous = [&](NodeId node) { return !guide_.is_ordered(node).value_or(false); };
    if (is_contiguous(chain.front()) && is_contiguous(next)) take(chain, next);
  }

  /// Takes the nodes of a GELU that is written out, where the library computes it as a post-op of a convolution or a product.
  bool take_gelu(std::vector<NodeId>& chain, ValueId through) {
    const ProgramNode& anchor = node_at(chain.front());
    if (!is_convolution(anchor) && !is_matrix_product(anchor)) return false;
    if (through == ValueId::none || program_.readers(through) != 2 || program_.is_output(through)) return false;
    std::vector<NodeId> found;
    std::vector<const ProgramNode*> nodes;
    for (NodeId node = program_.consumers(through).front(); nodes.size() < kErfGateStages;
         node = free_.only_reader(node_at(node).output(0))) {
      if (node == NodeId::none || !free_.has(node) || !keeps(node, chain.front(), through)) return false;
      found.push_back(node);
      nodes.push_back(&node_at(node));
    }
    const auto stages = stages_of(facts_, nodes, through);
    if (!stages || stages->size() != 1 || !is_library_gelu(stages->front())) return false;
    for (const NodeId node : found) take(chain, node);
    return true;
  }

  /// Assigns the channel-wise nodes downstream of a Concat of convolutions to the convolutions: as part of their weights, or as post-ops.
  void divide(NodeId concat) {
    const std::vector<NodeId> parts = parts_of(concat);
    if (parts.empty()) return;
    std::vector<NodeId> chain{concat};
    while (take_downstream(chain)) {
    }
    if (chain.size() == 1) return;
    free_.take(concat);
    std::vector<const ProgramNode*> downstream;
    for (const NodeId node : std::span(chain).subspan(1)) downstream.push_back(&node_at(node));
    int64_t channel = 0;
    for (const NodeId part : parts) {
      parts_and_sums_[part] = {{}, downstream, channel};
      channel += element_at(dims(node_at(part).output(0)), 1);
    }
    parts_and_sums_[concat].in_parts = true;
    chains_.push_back(std::move(chain));
  }

  /// The convolutions whose channels a Concat joins and whose only consumer it is; none where some operand is anything else.
  [[nodiscard]] std::vector<NodeId> parts_of(NodeId concat) const {
    const ProgramNode& node = node_at(concat);
    std::vector<NodeId> out;
    if (node.output(0) == ValueId::none || element_count(dims(node.output(0))) == 0) return out;
    if (from_front(node.call.attributes.integer("axis", 1), std::ssize(dims(node.output(0)))) != 1) return out;
    for (const ValueId input : node.inputs) {
      const NodeId maker = free_.only_maker(input);
      if (maker == NodeId::none || !is_convolution(node_at(maker)) || element_count(dims(input)) == 0 || !takes_affine(maker)) return {};
      out.push_back(maker);
    }
    return out;
  }

  /// Takes the next node downstream of a Concat of convolutions, or the next two, if each operand can be given to it separately.
  bool take_downstream(std::vector<NodeId>& chain) {
    const ValueId through = node_at(chain.back()).output(0);
    const NodeId next = free_.only_reader(through);
    if (next == NodeId::none) return take_gate(chain, through);
    if (!keeps(next, chain.front(), through) || !follows_convolution(chain, next, through)) return false;
    const bool is_affine = chain.size() == 1 && channel_affine_of(facts_, node_at(next)).has_value();
    if (!is_affine && stages_of(facts_, node_at(next), through)->front().is_binary) return false;
    take(chain, next);
    return true;
  }

  /// Accepts a BatchNormalization directly downstream, then post-ops.
  [[nodiscard]] bool follows_convolution(const std::vector<NodeId>& chain, NodeId node, ValueId through) const {
    if (chain.size() == anchors_of(chain)) {
      const auto affine = channel_affine_of(facts_, node_at(node));
      if (affine) return affine->is_finite() && (is_concat(node_at(chain.front())) || takes_affine(chain.front()));
    }
    const auto stages = stages_of(facts_, node_at(node), through);
    return stages && stages->size() == 1 && is_applied_by_convolution(facts_, stages->front(), node_at(node), dims(through));
  }

  /// Number of nodes of a chain that its convolution stands for.
  [[nodiscard]] std::size_t anchors_of(const std::vector<NodeId>& chain) const {
    const auto special = parts_and_sums_.find(chain.front());
    return special == parts_and_sums_.end() ? 1 : special->second.summed;
  }

  /// Whether an affine can be folded into the bias of a convolution, or become its bias.
  [[nodiscard]] bool takes_affine(NodeId node) const { return has_known_bias(facts_, node_at(node)); }

  [[nodiscard]] bool follows_elementwise(const std::vector<NodeId>& /*chain*/, NodeId node, ValueId through) const {
    const auto stages = stages_of(facts_, node_at(node), through);
    if (!stages) return false;
    return chain_operands_ + most_operands(facts_, node_at(node)) <= kMostElementwiseOperands;
  }

  const Program& program_;
  const std::vector<NodeId>& nodes_;
  ValueFacts facts_;
  const LayoutGuide& guide_;
  FreeNodes free_;
  std::vector<std::vector<NodeId>> chains_;
  std::size_t chain_operands_ = 0;                    ///< upper limit of the operands of the stages in the growing chain
  std::unordered_set<NodeId> keeping_;                ///< the first nodes of chains that write inner results
  std::unordered_map<NodeId, Group> parts_and_sums_;  ///< attributes of groups besides their nodes, by anchor
};

}  // namespace

std::vector<Group> single_groups(const Program& program, const std::vector<NodeId>& nodes) {
  std::vector<Group> out;
  out.reserve(nodes.size());
  for (const NodeId node : nodes) out.push_back({{&program.nodes()[node]}});
  return out;
}

std::vector<Group> fused_groups(const Program& program, const std::vector<NodeId>& nodes, const ValueFacts& facts,
                                const LayoutGuide& guide) {
  return Fuser(program, nodes, facts, guide).run();
}

// Orders as strides.
TensorDesc ordered(DataType type, const Dims& dims, Order order) {
  TensorDesc desc{type, dims, contiguous_strides(dims)};
  if (order == Order::contiguous || dims.size() < 3) return desc;
  int64_t stride = std::max<int64_t>(dims[1], 1);
  desc.strides[1] = 1;
  for (std::size_t i = dims.size(); i-- > 2;) {
    desc.strides[i] = stride;
    stride *= std::max<int64_t>(dims[i], 1);
  }
  desc.strides[0] = stride;
  return desc;
}

TensorDesc ordered(DataType type, const Dims& dims, const layout::AxisOrder& order) {
  return {type, dims, layout::strides_of(order, dims)};
}

bool is_ordered(const TensorDesc& desc, Order order) {
  if (std::ranges::find(desc.dims, 0) != desc.dims.end()) return true;
  const TensorDesc wanted = ordered(desc.type, desc.dims, order);
  for (std::size_t i = 0; i < desc.dims.size(); ++i) {
    if (desc.dims[i] != 1 && desc.strides[i] != wanted.strides[i]) return false;
  }
  return true;
}

bool follows(const TensorDesc& desc, const layout::AxisOrder& order) {
  int64_t inner = 0;  // elements from the first to the last of the inner dims
  for (std::size_t i = order.size(); i-- > 0;) {
    const int64_t stride = std::abs(element_at(desc.strides, order[i]));
    if (stride == 0) continue;
    if (stride < inner) return false;
    inner = stride * (element_at(desc.dims, order[i]) - 1) + std::max<int64_t>(inner, 1);
  }
  return true;
}

layout::AxisOrder axes_of(Order order, const Dims& dims) {
  return layout::order_of(
      order == Order::contiguous || dims.size() < 3 ? layout::contiguous_axes(dims.size()) : layout::channels_last_axes(dims.size()), dims);
}

int64_t byte_count(const TensorDesc& desc) {
  return element_count(desc.dims) * static_cast<int64_t>(memory_size(desc.type));
}

}  // namespace relayout::exec
