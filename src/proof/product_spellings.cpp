// Reads Gemm (any transB, alpha of 1, bias per channel) and MatMul by a constant weight as the same matrix product in the proof, and tells
// reshaping nodes and certain dims. Optimizers write either MatMul and Add, or Gemm with its operand flattened to a matrix and the result
// reshaped back, for the other.

#include "proof/product_spellings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ops/op.h"
#include "proof/linear.h"
#include "proof/shapes.h"
#include "proof/side.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

/// Turns a Gemm into a MatMul of matrices, if it uses no feature that MatMul lacks.
std::optional<Linear> product_of(Linear gemm) {
  const AttributeReader attributes(*gemm.node, gemm.output.call);
  if (attributes.integer("transA", 0) != 0 || attributes.is_open() || gemm.alpha != 1) return std::nullopt;
  // A bias per row is not a bias per channel.
  if (gemm.bias_value && (!gemm.bias || gemm.bias->dims.size() > 2 || (gemm.bias->dims.size() == 2 && gemm.bias->dims[0] != 1))) {
    return std::nullopt;
  }
  if (gemm.transposed) {
    gemm.weight.data = gemm.weight.data.permuted(Dims{1, 0});
    gemm.weight.dims = gemm.weight.data.dims();
    gemm.transposed = false;
    std::swap(gemm.rows, gemm.columns);
  }
  gemm.kind = Linear::Kind::matmul_right;
  gemm.output_axis = gemm.input_axis = {0, true};
  return gemm;
}

}  // namespace

bool is_reshaping(const Node& node) {
  return node.input(0) != nullptr && only_moves_axes(node) && has_trait(node, Trait::keeps_order);
}

std::optional<Dims> certain_dims(Shapes& shapes, Ref ref) {
  auto dims = shapes.of(ref);
  if (dims && std::ranges::any_of(*dims, [](int64_t dim) { return dim < 0; })) return std::nullopt;
  return dims;
}

std::optional<Linear> read_product(Side& side, Shapes& shapes, Ref output) {
  auto linear = read_linear(side, shapes, output);
  if (linear && linear->kind == Linear::Kind::gemm) linear = product_of(std::move(*linear));
  if (!linear || linear->kind != Linear::Kind::matmul_right || linear->weight.dims.size() != 2) return std::nullopt;
  return linear;
}

}  // namespace relayout::proof
