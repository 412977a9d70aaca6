#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/kernels/window.h"
#include "ops/operands.h"
#include "relayout/tensor.h"

namespace relayout {

/// Inputs of Attention (ONNX opset 23 to 25).
struct AttentionInput {
  enum : std::size_t { query, key, value, mask, past_key, past_value, valid_keys };
};

/// Sizes of an Attention, and its window.
struct AttentionShape {
  int64_t batch = 0, heads = 0, kv_heads = 0, queries = 0, keys = 0, past = 0, size = 0, value_size = 0;
  bool is_causal = false;
  int64_t left = -1, right = -1;  ///< sizes of the window to either side, -1: unbounded
  [[nodiscard]] int64_t total() const { return past + keys; }
  /// The keys that query `i` may attend to, counted from the first of the past; `valid` keys are valid, if given.
  [[nodiscard]] Span visible(int64_t i, std::optional<int64_t> valid) const;
};

[[nodiscard]] AttentionShape attention_shape(const OpCall& call, InputInfos inputs);
/// Attribute `scale`, by default 1 / √size.
[[nodiscard]] float attention_scale(const OpCall& call, const AttentionShape& shape);

/// Queries, keys or values as [batch, heads, length, size], from that form or from [batch, length, heads · size].
[[nodiscard]] TensorDesc by_heads(const OpCall& call, const TensorDesc& desc, std::string_view heads_attribute);
/// attn_mask as [batch, heads, queries, columns]; columns may be fewer than keys.
[[nodiscard]] TensorDesc broadcast_mask(const OpCall& call, const AttentionShape& shape, const TensorDesc& mask);

}  // namespace relayout
