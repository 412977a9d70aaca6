// Writes the body of attention with a cache, whose heads of queries share those of keys and values.

#include <limits>

#include "ops/bodies/bodies.h"
#include "ops/body.h"
#include "relayout/types.h"

namespace relayout::bodies {
namespace {

struct Input {
  enum : std::size_t {
    query,
    key,
    value,
    past_key,
    past_value,
    lengths,
    total,
    cosines,
    sines,
    positions,
    scores,
    sink,
    key_scale,
    value_scale,
    query_norm,
    key_norm
  };
};

void refuse_what_is_not_composed(const Body& body) {
  for (const char* const name : {"sliding_window_cache", "qk_output"}) {
    if (has_flag(body, name)) body.refuse(name);
  }
  for (const char* const name : {"k_quant_type", "v_quant_type"}) {
    if (body.attributes().text(name, "NONE") != "NONE") body.refuse(name);
  }
  if (body.has(Input::positions)) body.refuse("input position_ids");
  if (body.has(Input::query_norm) || body.has(Input::key_norm)) body.refuse("input q_norm_weight");
  if (body.has(Input::key_scale) || body.has(Input::value_scale)) body.refuse("a quantized cache");
  if (body.wants(3)) body.refuse("output output_qk");
  if (body.has(Input::past_key) != body.has(Input::past_value)) body.reject("past_key and past_value go together");
}

/// Writes the body step by step; the members are its values.
class Groups {
 public:
  explicit Groups(Body& body) : body_(body), heads_(head_count(body)), kv_heads_(head_count(body, "kv_num_heads")) {
    if (heads_ % kv_heads_ != 0) body.reject(std::to_string(heads_) + " heads of queries, " + std::to_string(kv_heads_) + " of keys");
  }

  void write() {
    split_heads();
    find_lengths();
    if (has_flag(body_, "do_rotary")) rotate();
    key_ = cached(key_, Input::past_key);
    value_ = cached(value_, Input::past_value);
    body_.give(1, key_);
    body_.give(2, value_);
    const bool has_sink = body_.attributes().integer("smooth_softmax", -1) > 0;
    body_.give(0, put_together(body_, has_sink || body_.has(Input::sink) ? attend_with_sink() : attend()));
  }

 private:
  void split_heads() {
    if (body_.has(Input::key)) {
      query_ = by_heads(body_, body_.input(Input::query), heads_);
      key_ = by_heads(body_, body_.input(Input::key), kv_heads_);
      value_ = by_heads(body_, body_.input(Input::value), kv_heads_);
      return;
    }
    const Body::Name all = by_heads(body_, body_.input(Input::query), heads_ + 2 * kv_heads_);
    const Body::Names parts = body_.make("Split", {all, body_.integers({heads_, kv_heads_, kv_heads_})}, 3, {{"axis", int64_t{1}}});
    query_ = parts[0];
    key_ = parts[1];
    value_ = parts[2];
  }

  /// A first prompt is as long as the longest of the batch, and has no past.
  void find_lengths() {
    length_ = dim_of(body_, query_, 2);
    total_ = body_.make("Reshape", {body_.cast(body_.input(Input::total), DataType::int64), body_.integers({1})});
    const Body::Name last = body_.make("Reshape", {body_.cast(body_.input(Input::lengths), DataType::int64), body_.integers({-1})});
    lengths_ = body_.make("Add", {last, body_.integer(1)});
    const Body::Name is_first = body_.make("Equal", {length_, total_});
    past_ = body_.make("Where", {is_first, body_.integer(0), body_.make("Sub", {lengths_, length_})});
  }

  /// Positions past the end of a sequence are 1 (group_query_attention_helper.h, GeneratePositionIds).
  void rotate() {
    if (!body_.has(Input::cosines) || !body_.has(Input::sines)) body_.reject("do_rotary without cos_cache and sin_cache");
    const Body::Name positions =
        body_.make("Add", {unsqueezed(body_, past_, {1}), unsqueezed(body_, positions_below(body_, length_), {0})});
    const Body::Name is_inside = body_.make("Less", {positions, unsqueezed(body_, lengths_, {1})});
    const Body::Name ids = body_.make("Where", {is_inside, positions, body_.integer(1)});
    Body::NamedAttributes attributes = {{"interleaved", int64_t{has_flag(body_, "rotary_interleaved")}}};
    constexpr int64_t kMost = int64_t{1} << 31;
    if (const auto width = body_.dim(Input::cosines, 1); width && *width < kMost)
      attributes.emplace_back("rotary_embedding_dim", 2 * *width);
    const auto rotated = [&](const Body::Name& value) {
      return body_.make("RotaryEmbedding", {value, body_.input(Input::cosines), body_.input(Input::sines), ids}, attributes);
    };
    query_ = rotated(query_);
    key_ = rotated(key_);
  }

  /// The past of each batch, then `added`, then zeros up to the length of the cache.
  Body::Name cached(const Body::Name& added, std::size_t past) {
    if (!body_.has(past)) return added;
    const Body::Name size = dim_of(body_, body_.input(past), 2);
    const Body::Name capacity = body_.make("Max", {size, total_});
    const Body::Name zeros = body_.integers({0, 0, 0, 0, 0, 0});
    const Body::Name pads = body_.make("Concat", {zeros, body_.make("Sub", {capacity, size}), body_.integers({0})}, {{"axis", int64_t{0}}});
    const Body::Name wide = body_.make("Pad", {body_.input(past), pads});
    const Body::Name row = unsqueezed(body_, positions_below(body_, capacity), {1});
    const Body::Name is_past = body_.make("Less", {row, unsqueezed(body_, past_, {1, 2, 3})});
    const Body::Name kept = body_.make("Where", {is_past, wide, body_.like(0, wide)});
    return body_.make("TensorScatter", {kept, added, past_}, {{"axis", int64_t{2}}});
  }

  /// The bias added to the scores: [batch or 1, heads or 1, queries, keys].
  Body::Name bias() {
    const Body::Name keys = positions_below(body_, dim_of(body_, key_, 2));
    const Body::Name queries =
        body_.make("Add", {unsqueezed(body_, positions_below(body_, length_), {1}), unsqueezed(body_, past_, {1, 2, 3})});
    Body::Name sees = body_.attributes().integer("causal", 1) != 0 ? body_.make("LessOrEqual", {keys, queries})
                                                                   : body_.make("Less", {keys, unsqueezed(body_, lengths_, {1, 2, 3})});
    if (const int64_t window = body_.attributes().integer("local_window_size", -1); window > 0) {
      const Body::Name first = body_.make("Sub", {queries, body_.integer(window)});
      sees = body_.make("And", {sees, body_.make("Greater", {keys, first})});
    }
    const Body::Name lowest = body_.like(std::numeric_limits<float>::lowest(), query_);
    Body::Name mask = body_.make("Where", {sees, body_.like(0, query_), lowest});
    if (!body_.has(Input::scores)) return mask;
    const Body::Name missing = body_.make("Sub", {dim_of(body_, key_, 2), dim_of(body_, body_.input(Input::scores), 3)});
    const Body::Name pads = body_.make("Concat", {body_.integers({0, 0, 0, 0, 0, 0, 0}), missing}, {{"axis", int64_t{0}}});
    return body_.make("Add", {mask, body_.make("Pad", {body_.input(Input::scores), pads})});
  }

  Body::Name attend() {
    Body::NamedAttributes attributes = body_.given({"softcap"});
    if (const float scale = body_.attributes().real("scale", 0); scale != 0) attributes.emplace_back("scale", scale);
    return body_.make("Attention", {query_, key_, value_, bias()}, attributes);
  }

  /// Keys or values repeated for each head of the queries.
  Body::Name for_each_head(const Body::Name& value) {
    const int64_t group = heads_ / kv_heads_;
    const Body::Name copies = body_.make("Expand", {unsqueezed(body_, value, {2}), body_.integers({1, 1, group, 1, 1})});
    const Body::Name dims =
        body_.make("Concat", {body_.integers({-1, heads_}), dim_of(body_, value, 2), dim_of(body_, value, 3)}, {{"axis", int64_t{0}}});
    return body_.make("Reshape", {copies, dims});
  }

  /// With one more score in each row, for a key without value: one for each head, or 0.
  Body::Name attend_with_sink() {
    Body::Name scale = body_.like(body_.attributes().real("scale", 0), query_);
    if (body_.attributes().real("scale", 0) == 0) {
      const Body::Name size = body_.cast_like(dim_of(body_, query_, 3), query_);
      scale = body_.make("Reciprocal", {body_.make("Sqrt", {size})});
    }
    const Body::Name turned = body_.make("Transpose", {for_each_head(key_)}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    Body::Name scores = body_.make("Mul", {body_.make("MatMul", {query_, turned}), scale});
    if (const float cap = body_.attributes().real("softcap", 0); cap > 0) {
      const Body::Name limit = body_.like(cap, query_);
      scores = body_.make("Mul", {body_.make("Tanh", {body_.make("Div", {scores, limit})}), limit});
    }
    scores = body_.make("Add", {scores, bias()});
    const Body::Name sink = body_.has(Input::sink) ? body_.make("Reshape", {body_.input(Input::sink), body_.integers({1, -1, 1, 1})})
                                                   : body_.make("Reshape", {body_.like(0, query_), body_.integers({1, 1, 1, 1})});
    const Body::Name front = body_.make("Shape", {scores}, {{"end", int64_t{-1}}});
    const Body::Name column = body_.make("Expand", {sink, body_.make("Concat", {front, body_.integers({1})}, {{"axis", int64_t{0}}})});
    const Body::Name shares =
        body_.make("Softmax", {body_.make("Concat", {scores, column}, {{"axis", int64_t{-1}}})}, {{"axis", int64_t{-1}}});
    const Body::Name kept = body_.make("Slice", {shares, body_.integers({0}), body_.integers({-1}), body_.integers({-1})});
    return body_.make("MatMul", {kept, for_each_head(value_)});
  }

  Body& body_;
  int64_t heads_, kv_heads_;
  Body::Name query_, key_, value_;  ///< by heads
  Body::Name length_, total_;       ///< of the queries, and of the longest of the batch with its past: vectors of one
  Body::Name lengths_, past_;       ///< of each batch
};

}  // namespace

void group_query_attention(Body& body) {
  refuse_what_is_not_composed(body);
  Groups(body).write();
}

}  // namespace relayout::bodies
