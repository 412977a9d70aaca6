// Runs the op table's kernel of an operator (src/ops/kernels) as a step of a plan, for operators without a faster kernel.
#include "exec/kernels/op_kernel.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "exec/kernels/kernel.h"
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

}  // namespace relayout::exec
