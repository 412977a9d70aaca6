// Writes bodies of ONNX Runtime's attention operators around ONNX's own Attention.
// Projections, splitting and joining of heads, and masks of several shapes as one bias are written around it.
#include <limits>

#include "ops/bodies/bodies.h"
#include "ops/body.h"
#include "relayout/types.h"

namespace relayout::bodies {
namespace {

constexpr float kMaskFilter = -10000.0F;  ///< default of attribute mask_filter_value

struct Heads {
  Body::Name query, key, value;  ///< [batch, heads, length, size]; keys and values begin with those of the past
  Body::Name past;               ///< length of the past, a vector of one
};

Body::Name key_positions(Body& body, const Heads& heads) {
  return positions_below(body, dim_of(body, heads.key, 2));
}

/// Where keys count, from a mask that holds their end in each batch and perhaps, in a second row, their begin: [batch, 1, 1, keys].
Body::Name between_ends(Body& body, const Body::Name& ends, const Heads& heads) {
  const Body::Name batch = dim_of(body, heads.query, 0);
  const Body::Name wide = body.cast(ends, DataType::int64);
  const Body::Name rows = body.make("Reshape", {wide, body.make("Concat", {body.integers({-1}), batch}, {{"axis", int64_t{0}}})});
  // Adds a row of begins where it is missing. A mask of three rows or more is not of this form: a tensor of −1 rows fails.
  const Body::Name missing = body.make("Sub", {body.integers({2}), dim_of(body, rows, 0)});
  const Body::Name none = body.make("Expand", {body.integer(0), body.make("Concat", {missing, batch}, {{"axis", int64_t{0}}})});
  const Body::Names both = body.make("Split", {body.make("Concat", {rows, none}, {{"axis", int64_t{0}}})}, 2,
                                     {{"axis", int64_t{0}}, {"num_outputs", int64_t{2}}});
  const auto of_batch = [&](const Body::Name& row) { return body.make("Reshape", {row, body.integers({-1, 1, 1, 1})}); };
  const Body::Name positions = key_positions(body, heads);
  const Body::Name is_before = body.make("Less", {positions, of_batch(both[0])});
  return body.make("And", {is_before, body.make("GreaterOrEqual", {positions, of_batch(both[1])})});
}

/// The bias that a mask adds to the scores; "" without a mask. onnxruntime/contrib_ops/cpu/bert/attention_helper.h, PrepareMask.
Body::Name mask_bias(Body& body, std::size_t input, const Heads& heads) {
  if (!body.has(input)) return {};
  const auto rank = body.rank(input);
  if (!rank) body.refuse("the rank of its mask is not known");
  if (*rank < 1 || *rank > 3) body.refuse("a mask of " + std::to_string(*rank) + " dims");
  Body::Name counts;
  if (*rank == 1) {
    counts = between_ends(body, body.input(input), heads);
  } else {
    const Body::Name wide = body.cast(body.input(input), DataType::int64);
    const Body::Name positive = body.make("Greater", {wide, body.integer(0)});
    counts = unsqueezed(body, positive, *rank == 2 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1});
  }
  const float filter = body.attributes().real("mask_filter_value", kMaskFilter);
  return body.make("Where", {counts, body.like(0, heads.query), body.like(filter, heads.query)});
}

Body::Name sum_of(Body& body, const Body::Name& a, const Body::Name& b) {
  return a.empty() ? b : b.empty() ? a : body.make("Add", {a, b});
}

/// The bias that attribute unidirectional adds to the scores: a query sees the keys up to its own, the last query sees all.
Body::Name causal_bias(Body& body, const Heads& heads) {
  if (!has_flag(body, "unidirectional")) return {};
  const Body::Name count = dim_of(body, heads.query, 2);
  const Body::Name queries = unsqueezed(body, positions_below(body, count), {1});
  const Body::Name is_seen = body.make("LessOrEqual", {key_positions(body, heads), body.make("Add", {queries, heads.past})});
  const Body::Name is_last = body.make("Equal", {queries, body.make("Sub", {count, body.integer(1)})});
  const Body::Name lowest = body.like(std::numeric_limits<float>::lowest(), heads.query);
  return body.make("Where", {body.make("Or", {is_seen, is_last}), body.like(0, heads.query), lowest});
}

/// softmax(scale · Q · Kᵀ + bias) · V. A scale of 0 means the default.
Body::Name attend(Body& body, const Heads& heads, const Body::Name& bias) {
  Body::NamedAttributes attributes;
  const float scale = body.attributes().real("scale", 0);
  if (scale != 0) attributes.emplace_back("scale", scale);
  const Body::Name added = sum_of(body, causal_bias(body, heads), bias);
  return put_together(body, body.make("Attention", {heads.query, heads.key, heads.value, added}, attributes));
}

/// Attention over a projection of the input: queries, keys and values are adjacent along the last axis.
void self_attention(Body& body, const Body::Name& projected, std::size_t mask, std::size_t past, const Body::Name& bias) {
  if (has_flag(body, "do_rotary")) body.refuse("do_rotary");
  if (has_flag(body, "past_present_share_buffer")) body.refuse("past_present_share_buffer");
  const std::vector<int64_t> sizes = body.attributes().integers("qkv_hidden_sizes");
  if (!sizes.empty() && sizes.size() != 3) body.reject("qkv_hidden_sizes of " + std::to_string(sizes.size()));
  const Body::Names parts = sizes.empty() ? body.make("Split", {projected}, 3, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{3}}})
                                          : body.make("Split", {projected, body.integers(sizes)}, 3, {{"axis", int64_t{-1}}});
  const int64_t count = head_count(body);
  Heads heads{by_heads(body, parts[0], count), by_heads(body, parts[1], count), by_heads(body, parts[2], count), body.integers({0})};
  if (body.has(past)) {
    heads.past = dim_of(body, body.input(past), 3);
    const Body::Names before = body.make("Split", {body.input(past)}, 2, {{"axis", int64_t{0}}, {"num_outputs", int64_t{2}}});
    const auto appended = [&](const Body::Name& old, const Body::Name& added) {
      return body.make("Concat", {body.make("Squeeze", {old, body.integers({0})}), added}, {{"axis", int64_t{2}}});
    };
    heads.key = appended(before[0], heads.key);
    heads.value = appended(before[1], heads.value);
  }
  if (body.wants(1)) {
    body.give(1, body.make("Concat", {unsqueezed(body, heads.key, {0}), unsqueezed(body, heads.value, {0})}, {{"axis", int64_t{0}}}));
  }
  const Body::Name added = sum_of(body, mask_bias(body, mask, heads), bias);
  body.give(0, attend(body, heads, added));
}

}  // namespace

void attention(Body& body) {
  constexpr std::size_t kBias = 2, kMask = 3, kPast = 4, kScores = 5, kPastLength = 6;
  if (body.has(kPastLength)) body.refuse("input past_sequence_length");
  const Body::Name product = body.make("MatMul", {body.input(0), body.input(1)});
  self_attention(body, sum_of(body, product, body.input(kBias)), kMask, kPast, body.input(kScores));
}

/// Input and weight are 8-bit numbers; all else has the type of the scales.
void qattention(Body& body) {
  constexpr std::size_t kBias = 2, kInputScale = 3, kWeightScale = 4, kMask = 5, kInputZero = 6, kWeightZero = 7, kPast = 8;
  const Body::Name sums = body.make("MatMulInteger", {body.input(0), body.input(1), body.input(kInputZero), body.input(kWeightZero)});
  // In f32: the sums exceed the range of f16.
  const auto wide = [&](const Body::Name& value) { return body.cast(value, DataType::float32); };
  const Body::Name factor = body.make("Mul", {wide(body.input(kInputScale)), wide(body.input(kWeightScale))});
  const Body::Name product = body.cast_like(body.make("Mul", {wide(sums), factor}), body.input(kBias));
  self_attention(body, body.make("Add", {product, body.input(kBias)}), kMask, kPast, {});
}

/// Queries are [batch, length, hidden]; keys and values too, or already by heads, as other layers produce them.
void multi_head_attention(Body& body) {
  constexpr std::size_t kKey = 1, kValue = 2, kBias = 3, kMask = 4, kScores = 5, kPastKey = 6, kPastValue = 7, kPastLength = 8, kBeams = 9;
  if (body.has(kPastLength) || body.has(kBeams)) body.refuse("past and present in one buffer");
  if (!body.has(kKey) || !body.has(kValue)) body.refuse("packed queries, keys and values");
  // Queries of five dims include keys and values, keys of five dims include values.
  const auto key_rank = body.rank(kKey);
  if (!key_rank) body.refuse("the rank of its keys is not known");
  if (*key_rank != 3 && *key_rank != 4) body.refuse("packed keys and values");
  const bool is_by_heads = *key_rank == 4;
  const int64_t count = head_count(body);
  Body::Name query = body.input(0), key = body.input(kKey), value = body.input(kValue);
  if (body.has(kBias)) {
    if (is_by_heads) body.refuse("a bias of keys that come by heads");
    const Body::Name hidden = dim_of(body, query, 2), end = body.make("Add", {hidden, hidden});
    const auto part = [&](const Body::Name& from, const Body::Name& to) {
      return body.make("Slice", {body.input(kBias), from, to, body.integers({0})});
    };
    query = body.make("Add", {query, part(body.integers({0}), hidden)});
    key = body.make("Add", {key, part(hidden, end)});
    value = body.make("Add", {value, part(end, body.make("Shape", {body.input(kBias)}))});
  }
  Heads heads{by_heads(body, query, count), is_by_heads ? key : by_heads(body, key, count),
              is_by_heads ? value : by_heads(body, value, count), body.integers({0})};
  if (body.has(kPastKey)) {
    heads.past = dim_of(body, body.input(kPastKey), 2);
    heads.key = body.make("Concat", {body.input(kPastKey), heads.key}, {{"axis", int64_t{2}}});
    heads.value = body.make("Concat", {body.input(kPastValue), heads.value}, {{"axis", int64_t{2}}});
  }
  if (body.wants(1)) body.give(1, heads.key);
  if (body.wants(2)) body.give(2, heads.value);
  if (body.wants(3)) body.refuse("output qk");
  const Body::Name bias = sum_of(body, mask_bias(body, kMask, heads), body.input(kScores));
  body.give(0, attend(body, heads, bias));
}

namespace {

/// positions[batch, length] that begin at `first`, which is the same in each batch.
Body::Name positions_from(Body& body, const Body::Name& first, const Body::Name& batch, const Body::Name& length) {
  const Body::Name positions = body.make("Add", {positions_below(body, length), first});
  return body.make("Expand", {positions, body.make("Concat", {batch, length}, {{"axis", int64_t{0}}})});
}

}  // namespace

/// onnxruntime/contrib_ops/cpu/bert/rotary_embedding.cc ignores attribute `scale`.
void rotary_embedding(Body& body) {
  constexpr std::size_t kPositions = 1, kCos = 2, kSin = 3;
  if (has_flag(body, "is_packed_batching")) body.refuse("is_packed_batching");
  const auto rank = body.rank(0), position_rank = body.rank(kPositions);
  if (!rank || !position_rank) body.refuse("the rank of its input or its positions is not known");
  if (*rank != 3 && *rank != 4) body.reject("an input of " + std::to_string(*rank) + " dims");
  const Body::Name x = body.input(0);
  const Body::Name length = dim_of(body, x, *rank == 3 ? 1 : 2);
  const Body::Name positions =
      *position_rank == 1 ? positions_from(body, body.input(kPositions), dim_of(body, x, 0), length) : body.input(kPositions);
  Body::NamedAttributes attributes = body.given({"interleaved", "rotary_embedding_dim"});
  const int64_t count = body.attributes().integer("num_heads", 0);
  if (*rank == 4) return body.give(0, body.make("RotaryEmbedding", {x, body.input(kCos), body.input(kSin), positions}, attributes));
  if (count > 0) {
    attributes.emplace_back("num_heads", count);
    return body.give(0, body.make("RotaryEmbedding", {x, body.input(kCos), body.input(kSin), positions}, attributes));
  }
  // The size of a head is twice the width of the table.
  const Body::Name size = body.make("Mul", {dim_of(body, body.input(kCos), 1), body.integers({2})});
  const Body::Name dims = body.make("Concat", {body.integers({0, 0, -1}), size}, {{"axis", int64_t{0}}});
  const std::vector<int64_t> swap = {0, 2, 1, 3};
  const Body::Name heads = body.make("Transpose", {body.make("Reshape", {x, dims})}, {{"perm", swap}});
  const Body::Name turned = body.make("RotaryEmbedding", {heads, body.input(kCos), body.input(kSin), positions}, attributes);
  body.give(0, put_together(body, turned));
}

/// The mask index is the number of ones in each row of the mask.
void embed_layer_normalization(Body& body) {
  constexpr std::size_t kSegments = 1, kWords = 2, kPlaces = 3, kSegmentTable = 4, kGamma = 5, kBeta = 6, kMask = 7, kPositions = 8;
  const Body::Name words = body.make("Gather", {body.input(kWords), body.input(0)});
  const Body::Name length = dim_of(body, body.input(0), 1);
  const Body::Name places = body.has(kPositions)
                                ? body.make("Gather", {body.input(kPlaces), body.input(kPositions)})
                                : body.make("Slice", {body.input(kPlaces), body.integers({0}), length, body.integers({0})});
  Body::Name sum = body.make("Add", {words, places});
  if (body.has(kSegments)) sum = body.make("Add", {sum, body.make("Gather", {body.input(kSegmentTable), body.input(kSegments)})});
  const float epsilon = body.attributes().real("epsilon", 1e-12F);
  body.give(0, body.make("LayerNormalization", {sum, body.input(kGamma), body.input(kBeta)}, {{"epsilon", epsilon}}));
  if (body.wants(2)) body.give(2, sum);
  if (!body.wants(1)) return;
  if (!body.has(kMask)) {
    const Body::Name zero = body.cast(body.integer(0), DataType::int32);
    return body.give(1, body.make("Expand", {zero, dim_of(body, body.input(0), 0)}));
  }
  const Body::Name is_one = body.make("Equal", {body.input(kMask), body.cast_like(body.integer(1), body.input(kMask))});
  const Body::Name count = body.make("ReduceSum", {body.cast(is_one, DataType::int32), body.integers({1})}, {{"keepdims", int64_t{0}}});
  body.give(1, count);
}

void bias_add(Body& body) {
  body.give(0, body.make("Add", {body.make("Add", {body.input(0), body.input(1)}), body.input(2)}));
}

/// Softmax over all dims from `axis` on, as before opset 13. The bias has dims of 1 where it broadcasts.
void bias_softmax(Body& body) {
  const Body::Name sum = body.make("Add", {body.input(0), body.input(1)});
  const Body::Name flat = body.make("Flatten", {sum}, {{"axis", body.attributes().integer("axis", 1)}});
  const Body::Name made = body.make("Softmax", {flat}, {{"axis", int64_t{-1}}});
  body.give(0, body.make("Reshape", {made, body.make("Shape", {sum})}, {{"allowzero", int64_t{1}}}));
}

// Splitting and joining heads.

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
