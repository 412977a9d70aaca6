// Chooses oneDNN's post-ops: after a convolution functions with the trait post_op, sums with a number or a tensor of its size, hard-swish
// written out, GELU by erf (AVX-512); after a product that GELU.
#include "exec/lower/post_op_choice.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "base/instruction_set.h"
#include "exec/lower/stages.h"
#include "exec/lower/value_facts.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "ops/op.h"
#include "relayout/types.h"

namespace relayout::exec {

/// A power of 1 counts as a function, too. Broadcast operands crash some of the library's kernels on AMX (oneDNN issue 3450).
bool is_applied_by_convolution(const ValueFacts& facts, const Stage& stage, const ProgramNode& node, const Dims& dims) {
  if (!stage.is_binary) return stage.function == Function::linear || node.op->traits.has(Trait::post_op) || is_library_gelu(stage);
  return shift_of(facts, stage).has_value() || (stage.binary == BinaryFunction::add && facts.info(stage.value).dims == dims);
}

bool is_gate_applied_by_convolution(const Stage& stage) {
  return stage.function == Function::hard_swish;
}

bool is_library_gelu(const Stage& stage) {
  if (stage.is_binary || instruction_set() != InstructionSet::avx512) return false;
  const bool is_written_out = stage.function == Function::erf_gate && stage.beta == 0.5F &&
                              std::fabs(stage.alpha * std::numbers::sqrt2_v<float> - 1) < 4 * std::numeric_limits<float>::epsilon();
  return is_written_out || stage.function == Function::gelu_erf;
}

PostOp function_op(const Stage& stage) {
  PostOp out;
  out.function = is_library_gelu(stage) ? Function::gelu_erf : stage.function;
  out.alpha = stage.alpha;
  out.beta = stage.beta;
  return out;
}

}  // namespace relayout::exec
