// Finds sums of convolutions over one operand that one convolution can compute.

#include "exec/constant_store.h"
#include "exec/lower/fuse.h"
#include "exec/program.h"
#include "ops/kernels/convolution.h"
#include "ops/kernels/window.h"
#include "ops/op_history.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Most operands of a sum. A longer chain is not searched: each of its nodes would walk it again.
constexpr std::size_t kMostOperands = 64;
/// Most channels of a constant term: small_constant reads no more.
constexpr int64_t kMostChannels = 65536;

/// A term with its operand and its window.
struct Branch {
  ConvolutionTerm term;
  ValueId operand = ValueId::none;
  Window window = {};
  int64_t groups = 0;
};

class SumFinder {
 public:
  SumFinder(const Program& program, const ValueFacts& facts, const std::function<NodeId(ValueId)>& maker)
      : program_(program), facts_(facts), maker_(maker) {}

  std::optional<ConvolutionSum> find(NodeId root) {
    dims_ = facts_.info(node_at(root).output(0)).dims;
    if (!collect(root)) return std::nullopt;
    const auto is_convolution = [](const Branch& branch) { return branch.term.convolution != nullptr; };
    const auto taps = [&](const Branch& branch) { return is_convolution(branch) ? branch.window.taps() : 0; };
    const auto largest = std::ranges::max_element(branches_, {}, taps);
    if (largest == branches_.end() || !is_convolution(*largest)) return std::nullopt;
    if (std::ranges::count_if(branches_, [&](const Branch& branch) { return is_convolution(branch) || branch.term.affine; }) < 2) {
      return std::nullopt;
    }
    std::rotate(branches_.begin(), largest, largest + 1);
    ConvolutionSum out;
    for (Branch& branch : branches_) {
      if (!place(branch) || !has_finite_affine(branch.term)) return std::nullopt;
      out.terms.push_back(std::move(branch.term));
    }
    out.terms.insert(out.terms.end(), constants_.begin(), constants_.end());
    const NodeId anchor = out.terms.front().convolution->id;
    std::ranges::sort(nodes_);
    std::erase(nodes_, anchor);
    out.nodes = {anchor};
    out.nodes.insert(out.nodes.end(), nodes_.begin(), nodes_.end());
    return out;
  }

 private:
  [[nodiscard]] const ProgramNode& node_at(NodeId node) const { return program_.nodes()[node]; }
  [[nodiscard]] bool is(NodeId node, std::string_view op_type) const {
    return node != NodeId::none && node_at(node).node->op_type() == op_type;
  }
  [[nodiscard]] bool has_result_dims(ValueId value) const {
    return value != ValueId::none && facts_.is_tensor(value) && facts_.info(value).dims == dims_;
  }

  /// Whether a value is a constant number, or one for each channel.
  [[nodiscard]] bool is_per_channel(ValueId value) const {
    if (facts_.constant(value) == nullptr || dims_.size() < 2 || dims_[1] > kMostChannels) return false;
    const Dims& dims = facts_.info(value).dims;
    const std::size_t channel = dims_.size() - 1;  // counted from the end
    return dims.size() <= dims_.size() && (element_count(dims) == 1 || (dims.size() >= channel && element_count(dims) == dims_[1] &&
                                                                        dims[dims.size() - channel] == dims_[1]));
  }

  /// Collects all operands of `root`, and of the additions upstream, as branches.
  bool collect(NodeId root) {
    std::vector<NodeId> additions{root};
    while (!additions.empty()) {
      const NodeId addition = additions.back();
      additions.pop_back();
      nodes_.push_back(addition);
      for (const ValueId input : node_at(addition).inputs) {
        if (branches_.size() + constants_.size() + additions.size() > kMostOperands || input == ValueId::none) return false;
        if (is_per_channel(input)) {
          constants_.push_back({.constant = input});
          continue;
        }
        if (!has_result_dims(input)) return false;
        const NodeId maker = maker_(input);
        if (maker != NodeId::none && is_addition(node_at(maker))) {
          additions.push_back(maker);
        } else if (!add_branch(input)) {
          return false;
        }
      }
    }
    return true;
  }

  bool add_branch(ValueId value) {
    Branch branch;
    branch.operand = value;
    NodeId maker = maker_(value);
    if (is(maker, "BatchNormalization")) {
      branch.term.affine = &node_at(maker);
      branch.operand = node_at(maker).inputs[0];
      nodes_.push_back(maker);
      maker = maker_(branch.operand);
    }
    if (is(maker, "Conv")) {
      if (!read_convolution(node_at(maker), branch)) return false;
      nodes_.push_back(maker);
    } else if (facts_.info(branch.operand).type != DataType::float32) {
      return false;
    }
    branches_.push_back(std::move(branch));
    const Branch& first = branches_.front();
    return branches_.back().operand == first.operand;
  }

  bool read_convolution(const ProgramNode& node, Branch& branch) const {
    branch.operand = node.inputs[0];
    if (!facts_.is_tensor(branch.operand) || facts_.info(branch.operand).type != DataType::float32) return false;
    const KnownConstant* const weights = facts_.constant(node.inputs[1]);
    if (weights == nullptr || !has_known_bias(facts_, node)) return false;
    const ConvolutionShape shape = convolution_shape(node.call, facts_.info(branch.operand).dims, weights->dims());
    branch.term.convolution = &node;
    branch.window = shape.window;
    branch.groups = shape.groups;
    return true;
  }

  [[nodiscard]] bool has_finite_affine(const ConvolutionTerm& term) const {
    if (term.affine == nullptr) return true;
    const auto affine = channel_affine_of(facts_, *term.affine);
    return affine && affine->is_finite();
  }

  /// Finds the position of a branch's window in that of the first branch; false when it does not fit in.
  [[nodiscard]] bool place(Branch& branch) const {
    const Window& all = branches_.front().window;
    const bool is_operand = branch.term.convolution == nullptr;
    if (is_operand ? !has_result_dims(branch.operand) : branch.groups != branches_.front().groups) return false;
    for (std::size_t i = 0; i < all.kernel.size(); ++i) {
      const int64_t kernel = is_operand ? 1 : branch.window.kernel[i], stride = is_operand ? 1 : branch.window.strides[i];
      const int64_t shift = all.before[i] - (is_operand ? 0 : branch.window.before[i]), step = all.dilations[i];
      if (stride != all.strides[i] || (kernel > 1 && branch.window.dilations[i] != step)) return false;
      if (shift < 0 || shift % step != 0 || shift / step + kernel > all.kernel[i]) return false;
      branch.term.first.push_back(shift / step);
    }
    return true;
  }

  const Program& program_;
  const ValueFacts& facts_;
  const std::function<NodeId(ValueId)>& maker_;
  Dims dims_;
  std::vector<NodeId> nodes_;
  std::vector<Branch> branches_;
  std::vector<ConvolutionTerm> constants_;
};

}  // namespace

bool is_addition(const ProgramNode& node) {
  const std::string& op = node.node->op_type();
  return (op == "Add" || op == "Sum") && node.call.opset >= kNumpyOpset;
}

bool has_known_bias(const ValueFacts& facts, const ProgramNode& node) {
  return node.input(2) == ValueId::none || small_constant(facts, node.input(2)).has_value();
}

std::optional<ConvolutionSum> find_convolution_sum(const Program& program, const ValueFacts& facts, NodeId root,
                                                   const std::function<NodeId(ValueId)>& maker) {
  return SumFinder(program, facts, maker).find(root);
}

}  // namespace relayout::exec
