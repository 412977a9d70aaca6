#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "exec/kernels/kernel.h"
#include "exec/primitives.h"
#include "relayout/types.h"

namespace relayout::exec {

/// A function of one variable, or of that and an operand.
struct ElementFunction {
  bool is_binary = false;
  Function function = Function::relu;
  float alpha = 0, beta = 0;
  BinaryFunction binary = BinaryFunction::add;
  bool reversed = false;  ///< the operand is the first argument
};

/// One function of a chain.
struct ElementwiseStage : ElementFunction {
  std::size_t operand = 0;  ///< of a binary: number among the further operands of the kernel
};

/// Further operands that one chain may have.
inline constexpr std::size_t kMostElementwiseOperands = 8;

/// NaN and infinities come out as IEEE 754 has them, unlike the library's.
/// destination = stages(source): operand 0 is the source, then the further operands, then the destination. All f32, all of the
/// destination's dims, broadcast ones with strides 0; any strides. The destination may be the source's memory when strides agree.
[[nodiscard]] std::unique_ptr<Kernel> make_elementwise_kernel(const std::vector<TensorDesc>& operands, const TensorDesc& destination,
                                                              std::vector<ElementwiseStage> stages, Team team);

/// destination = stage(source) of `count` neighbouring 16-bit floats, computed in f32.
[[nodiscard]] std::unique_ptr<Kernel> make_narrow_elementwise_kernel(DataType type, int64_t count, const ElementwiseStage& stage,
                                                                     Team team);

}  // namespace relayout::exec
