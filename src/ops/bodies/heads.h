#pragma once

#include <cstdint>
#include <vector>

#include "ops/body.h"

namespace relayout::bodies {

// Helpers that bodies of attention operators share.

[[nodiscard]] int64_t head_count(const Body& body, const char* name = "num_heads");
[[nodiscard]] bool has_flag(const Body& body, const char* name);
[[nodiscard]] Body::Name unsqueezed(Body& body, const Body::Name& value, const std::vector<int64_t>& axes);
/// Dim number `axis` as a vector of one.
[[nodiscard]] Body::Name dim_of(Body& body, const Body::Name& value, int64_t axis);
/// 0, 1, 2 … below `count`, a vector of one.
[[nodiscard]] Body::Name positions_below(Body& body, const Body::Name& count);
/// [batch, length, heads · size] to [batch, heads, length, size], and back.
[[nodiscard]] Body::Name by_heads(Body& body, const Body::Name& value, int64_t heads);
[[nodiscard]] Body::Name put_together(Body& body, const Body::Name& value);

}  // namespace relayout::bodies
