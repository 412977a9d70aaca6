#pragma once

#include <memory>
#include <vector>

#include "exec/kernels/kernel.h"
#include "exec/program.h"

namespace relayout::exec {

/// An operand of an op kernel: a tensor (bound like any kernel's), a datum in a slot of the plan, or absent.
struct OpOperand {
  const TensorDesc* desc = nullptr;
  Datum* slot = nullptr;
};

/// The op table's kernel for one node. Operands to bind are the tensors, in order, inputs before outputs.
[[nodiscard]] std::unique_ptr<Kernel> make_op_kernel(const ProgramNode& node, const std::vector<OpOperand>& inputs,
                                                     const std::vector<OpOperand>& outputs);

}  // namespace relayout::exec
