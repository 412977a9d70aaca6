// The operators of other domains, and those that ONNX Runtime has in the default domain beside ONNX's: each a composition of standard
// operators. Their text is ONNX Runtime's docs/ContribOperators.md (version 1.31) under the same name; where that leaves something open,
// the files that write bodies name the source that settles it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <tuple>

#include "ops/bodies/bodies.h"
#include "ops/composed.h"
#include "ops/op.h"
#include "ops/traits.h"

namespace relayout {
namespace {

using enum LayoutRule;
using enum Trait;
using namespace bodies;

constexpr std::string_view kMicrosoft = "com.microsoft";

constexpr Traits kElementwise = same_dims | same_type;
constexpr Traits kProduct = multiplies | costly;

constexpr Op of(std::string_view domain, int reviewed, std::string_view name, LayoutRule layout, Traits traits, WriteBody body) {
  return {.name = name,
          .since = 1,
          .reviewed = reviewed,
          .layout = layout,
          .traits = traits,
          .infer = infer_composed,
          .compute = compute_composed,
          .domain = domain,
          .body = body};
}

/// Version 1 of com.microsoft is the only one.
constexpr Op microsoft(std::string_view name, LayoutRule layout, Traits traits, WriteBody body) {
  return of(kMicrosoft, 1, name, layout, traits, body);
}

/// Registered by ONNX Runtime at every opset of the default domain.
constexpr Op standard(std::string_view name, LayoutRule layout, Traits traits, WriteBody body) {
  constexpr int kNewest = 28;
  return of("", kNewest, name, layout, traits, body);
}

/// One line per operator, sorted by domain and name.
constexpr auto kTable = std::to_array<Op>({
    standard("SimplifiedLayerNormalization", barrier, same_dims, simplified_layer_normalization),
    microsoft("BiasGelu", barrier, same_type, bias_gelu),
    microsoft("FastGelu", barrier, kElementwise, fast_gelu),
    microsoft("FusedConv", barrier, same_type | kProduct, fused_conv),
    microsoft("FusedGemm", barrier, same_type | kProduct, fused_gemm),
    microsoft("FusedMatMul", barrier, same_type | kProduct, fused_matmul),
    microsoft("Gelu", barrier, kElementwise, gelu),
    microsoft("QuickGelu", barrier, kElementwise, quick_gelu),
    microsoft("SkipLayerNormalization", barrier, kElementwise, skip_layer_normalization),
    microsoft("SkipSimplifiedLayerNormalization", barrier, kElementwise, skip_simplified_layer_normalization),
});

constexpr bool is_sorted_and_unique() {
  for (std::size_t i = 1; i < kTable.size(); ++i) {
    if (std::tuple(kTable[i - 1].domain, kTable[i - 1].name) >= std::tuple(kTable[i].domain, kTable[i].name)) return false;
  }
  return true;
}
static_assert(is_sorted_and_unique(), "the table is sorted by domain and name, each once");

}  // namespace

std::span<const Op> composed_table() {
  return kTable;
}

}  // namespace relayout
