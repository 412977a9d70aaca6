// Counts the multiply-accumulates of one node from the dims of its values.

#include "base/positions.h"
#include "model/node.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// How multiplications of an operator that adds up products are counted.
struct Product {
  std::string_view domain, name;
  bool is_convolution;
  std::size_t weight;  ///< the input that multiplies input 0
};

constexpr auto kProducts = std::to_array<Product>({
    {"", "Conv", true, 1},
    {"", "ConvTranspose", true, 1},
    {"", "ConvInteger", true, 1},
    {"", "QLinearConv", true, 3},
    {"", "Gemm", false, 1},
    {"", "MatMul", false, 1},
    {"", "MatMulInteger", false, 1},
    {"", "QLinearMatMul", false, 3},
    {kMicrosoftDomain, "FusedConv", true, 1},
    {kMicrosoftDomain, "NhwcConv", true, 1},
    {kMicrosoftDomain, "NhwcFusedConv", true, 1},
    {kMicrosoftDomain, "QLinearConv", true, 3},
    {kMicrosoftDomain, "DynamicQuantizeMatMul", false, 1},
    {kMicrosoftDomain, "FusedGemm", false, 1},
    {kMicrosoftDomain, "FusedMatMul", false, 1},
    {kMicrosoftDomain, "MatMulBnb4", false, 1},
    {kMicrosoftDomain, "MatMulIntegerToFloat", false, 1},
    {kMicrosoftDomain, "MatMulNBits", false, 1},
    {kMicrosoftDomain, "QGemm", false, 3},
});

/// Length of the sums of a product of matrices: a dim of operand `a`.
int64_t depth_of(const Node& node, const Dims& a) {
  const Attributes attributes(node);
  const std::string& op = node.op_type();
  const bool takes_transposed = op == "Gemm" || op == "FusedGemm" || op == "QGemm" || op == "FusedMatMul";
  if (!takes_transposed || attributes.integer("transA", 0) == 0) return a.back();
  const bool moves_batch = op != "FusedMatMul" || attributes.integer("transBatchA", 0) != 0;
  return moves_batch || a.size() < 2 ? a.front() : a[a.size() - 2];
}

/// At each step of each sequence, every element of W [directions, gates · hidden, input] and R [directions, gates · hidden, hidden] is a
/// factor once. Input 0 is [steps, sequences, input], or with `layout` = 1 [sequences, steps, input].
std::optional<int64_t> macs_of_recurrent(const Node& node, const DimsOf& dims_of) {
  const Dims *const x = dims_of(node.input(0)), *const w = dims_of(node.input(1)), *const r = dims_of(node.input(2));
  if (x == nullptr || w == nullptr || r == nullptr || x->size() != 3) return std::nullopt;
  const auto steps = checked_mul((*x)[0], (*x)[1]);
  const auto factors = checked_add(element_count(*w), element_count(*r));
  return steps && factors ? checked_mul(*steps, *factors) : std::nullopt;
}

}  // namespace

std::optional<int64_t> macs_of(const Node& node, const DimsOf& dims_of) {
  if (has_trait(node, Trait::recurrent)) return macs_of_recurrent(node, dims_of);
  const auto is_it = [&](const Product& product) { return product.name == node.op_type() && product.domain == node.domain(); };
  const auto* const product = std::ranges::find_if(kProducts, is_it);
  if (product == kProducts.end()) return 0;
  const Dims* a = dims_of(node.input(0));
  const Dims* b = dims_of(node.input(product->weight));
  const Dims* out = dims_of(node.output(0));
  if (a == nullptr || b == nullptr || out == nullptr || a->empty() || b->empty()) return std::nullopt;
  if (!product->is_convolution) return checked_mul(element_count(*out), depth_of(node, *a));
  // Each element of the result (of the operand when transposed) is multiplied with the whole filter except its first dim.
  if (b->front() == 0) return 0;
  const int64_t elements = element_count(node.is("ConvTranspose") ? *a : *out);
  return checked_mul(elements, element_count(*b) / b->front());
}

}  // namespace relayout
