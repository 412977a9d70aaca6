// Splits the hidden axis into heads and joins heads again, for the bodies of attention operators; limit of num_heads.

#include "ops/bodies/heads.h"

#include <cstdint>
#include <vector>

#include "ops/body.h"

namespace relayout::bodies {

int64_t head_count(const Body& body, const char* name) {
  constexpr int64_t kMost = 1 << 20;
  return body.required(name, 1, kMost);
}

bool has_flag(const Body& body, const char* name) {
  return body.attributes().integer(name, 0) != 0;
}

Body::Name unsqueezed(Body& body, const Body::Name& value, const std::vector<int64_t>& axes) {
  return body.make("Unsqueeze", {value, body.integers(axes)});
}

Body::Name dim_of(Body& body, const Body::Name& value, int64_t axis) {
  Body::NamedAttributes attributes = {{"start", axis}};
  if (axis != -1) attributes.emplace_back("end", axis + 1);
  return body.make("Shape", {value}, attributes);
}

Body::Name by_heads(Body& body, const Body::Name& value, int64_t heads) {
  const Body::Name apart = body.make("Reshape", {value, body.integers({0, 0, heads, -1})});
  return body.make("Transpose", {apart}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

Body::Name put_together(Body& body, const Body::Name& value) {
  const Body::Name moved = body.make("Transpose", {value}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  return body.make("Reshape", {moved, body.integers({0, 0, -1})});
}

Body::Name positions_below(Body& body, const Body::Name& count) {
  return body.make("Range", {body.integer(0), body.make("Squeeze", {count}), body.integer(1)});
}

}  // namespace relayout::bodies
