// Multiply-accumulates of one node, from its dims.

#include "ops/macs.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/checked.h"
#include "model/attributes.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

std::optional<int64_t> macs_of(const Node& node, const std::function<const Dims*(const Value*)>& dims_of) {
  const bool is_convolution = node.is("Conv") || node.is("ConvTranspose") || node.is("ConvInteger") || node.is("QLinearConv");
  const bool is_product = node.is("Gemm") || node.is("MatMul") || node.is("MatMulInteger") || node.is("QLinearMatMul");
  if (!is_convolution && !is_product) return 0;
  // Quantized operators have scale and zero point of `a` between the two.
  const std::size_t second = node.is("QLinearConv") || node.is("QLinearMatMul") ? 3 : 1;
  const Dims* a = dims_of(node.input(0));
  const Dims* b = dims_of(node.input(second));
  const Dims* out = dims_of(node.output(0));
  if (a == nullptr || b == nullptr || out == nullptr || a->empty() || b->empty()) return std::nullopt;
  if (is_convolution) {
    // Each element of the result (of the operand when transposed) meets all of a filter but its first dim.
    if (b->front() == 0) return 0;
    const int64_t elements = element_count(node.is("ConvTranspose") ? *a : *out);
    return checked_mul(elements, element_count(*b) / b->front());
  }
  const bool is_transposed = node.is("Gemm") && Attributes(node).integer("transA", 0) != 0;
  return checked_mul(element_count(*out), is_transposed ? a->front() : a->back());
}

}  // namespace relayout
