// Runs the op table's kernel of an operator, or a primitive of oneDNN, as a step of a plan.

#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "relayout/datum.h"

namespace relayout::exec {
namespace {

class OpKernel : public Kernel {
 public:
  OpKernel(const ProgramNode& node, const std::vector<OpOperand>& inputs, const std::vector<OpOperand>& outputs) : node_(node) {
    data_.reserve(inputs.size() + outputs.size());
    for (const OpOperand& input : inputs) inputs_.push_back(add(input));
    for (const OpOperand& output : outputs) outputs_.push_back(add(output));
  }

  void bind(std::size_t operand, std::byte* data) override {
    Datum& datum = *tensors_[operand];
    datum.tensor = Tensor(datum.tensor.desc(), data, nullptr);
  }
  void run() override { node_.op->compute(node_.call, inputs_, outputs_); }
  [[nodiscard]] std::string implementation() const override { return "own"; }

 private:
  Datum* add(const OpOperand& operand) {
    if (operand.slot != nullptr) return operand.slot;
    if (operand.desc == nullptr) return nullptr;
    data_.emplace_back(Tensor(*operand.desc, nullptr, nullptr));
    tensors_.push_back(&data_.back());
    return &data_.back();
  }

  const ProgramNode& node_;
  std::vector<Datum> data_;
  std::vector<Datum*> tensors_;
  std::vector<const Datum*> inputs_;
  std::vector<Datum*> outputs_;
};

}  // namespace

std::unique_ptr<Kernel> make_op_kernel(const ProgramNode& node, const std::vector<OpOperand>& inputs,
                                       const std::vector<OpOperand>& outputs) {
  return std::make_unique<OpKernel>(node, inputs, outputs);
}

// A primitive of oneDNN.
namespace {

class PrimitiveKernel : public Kernel {
 public:
  PrimitiveKernel(std::unique_ptr<Primitive> primitive, std::vector<std::pair<Argument, int>> roles)
      : primitive_(std::move(primitive)), roles_(std::move(roles)) {}

  void bind(std::size_t operand, std::byte* data) override { primitive_->bind(roles_[operand].first, roles_[operand].second, data); }
  void run() override { primitive_->execute(); }
  [[nodiscard]] std::string implementation() const override { return primitive_->implementation(); }
  [[nodiscard]] int64_t scratchpad_bytes() const override { return primitive_->scratchpad_bytes(); }
  void bind_scratchpad(std::byte* data) override { primitive_->bind(Argument::scratchpad, 0, data); }

 private:
  std::unique_ptr<Primitive> primitive_;
  std::vector<std::pair<Argument, int>> roles_;
};

}  // namespace

std::unique_ptr<Kernel> make_primitive_kernel(std::unique_ptr<Primitive> primitive, std::vector<std::pair<Argument, int>> roles) {
  return std::make_unique<PrimitiveKernel>(std::move(primitive), std::move(roles));
}

}  // namespace relayout::exec
