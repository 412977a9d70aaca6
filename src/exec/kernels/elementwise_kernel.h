#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "exec/kernels/kernel.h"
#include "exec/primitives.h"
#include "relayout/types.h"

namespace relayout::exec {

/// A function of one variable, or of a variable and an operand.
struct ElementFunction {
  bool is_binary = false;
  Function function = Function::relu;
  float alpha = 0, beta = 0;
  BinaryFunction binary = BinaryFunction::add;
  bool reversed = false;  ///< the operand is the first argument
};

/// One function of a chain.
struct ElementwiseStage : ElementFunction {
  std::size_t operand = 0;  ///< of a binary: index among the further operands of the kernel
};

/// Further operands that one chain may have.
inline constexpr std::size_t kMostElementwiseOperands = 8;

/// destination = stages(source): operand 0 is the source, then the further operands, then the destination. All are f32 and have the
/// destination's dims, broadcast ones with strides 0; any strides. The destination may be the source's memory when strides agree. NaN and
/// infinities follow IEEE 754, unlike in the library's kernels.
[[nodiscard]] std::unique_ptr<Kernel> make_elementwise_kernel(const std::vector<TensorDesc>& operands, const TensorDesc& destination,
                                                              std::vector<ElementwiseStage> stages, Team team);

/// destination = stage(source) of `count` adjacent 16-bit floats, computed in f32.
[[nodiscard]] std::unique_ptr<Kernel> make_narrow_elementwise_kernel(DataType type, int64_t count, const ElementwiseStage& stage,
                                                                     Team team);

}  // namespace relayout::exec
