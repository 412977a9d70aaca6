// Computes attention and the other parts of transformer decoders.
#include "ops/kernels/attention.h"

#include <limits>

#include "base/positions.h"
#include "base/threads.h"
#include "ops/call.h"
#include "ops/formulas.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/window.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Dims of Q, K or V as [batch, heads, length, size], from that form or from [batch, length, heads · size].
Dims head_dims(const OpCall& call, const Dims& dims, std::string_view heads_attribute) {
  if (dims.size() == 4) return dims;
  if (dims.size() != 3) reject(call, "dims " + to_string(dims) + ", wanted are three or four");
  const int64_t heads = call.attributes.integer(heads_attribute, 0);
  if (heads < 1 || dims[2] % heads != 0)
    reject(call, std::string(heads_attribute) + " is " + std::to_string(heads) + " for dims " + to_string(dims));
  return {dims[0], heads, dims[1], dims[2] / heads};
}

}  // namespace

TensorDesc by_heads(const OpCall& call, const TensorDesc& desc, std::string_view heads_attribute) {
  const Dims dims = head_dims(call, desc.dims, heads_attribute);
  if (desc.dims.size() == 4) return desc;
  const Dims& s = desc.strides;
  return {desc.type, dims, {s[0], dims[3] * s[2], s[1], s[2]}};
}

Span AttentionShape::visible(int64_t i, std::optional<int64_t> valid) const {
  const int64_t position = i + (valid ? *valid - queries : past);
  Span span{0, std::min(total(), valid.value_or(total()))};
  if (is_causal) span.end = std::min(span.end, position + 1);
  if (right >= 0) span.end = std::min(span.end, position + right + 1);
  if (left >= 0) span.begin = std::max<int64_t>(position - left, 0);
  return {std::min(span.begin, std::max<int64_t>(span.end, 0)), std::max<int64_t>(span.end, 0)};
}

AttentionShape attention_shape(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 3, 7);
  const DatumInfo &query = tensor_info(call, inputs, AttentionInput::query, kRealTypes),
                  &key = tensor_info(call, inputs, AttentionInput::key, kRealTypes),
                  &value = tensor_info(call, inputs, AttentionInput::value, kRealTypes);
  const Dims q = head_dims(call, query.dims, "q_num_heads"), k = head_dims(call, key.dims, "kv_num_heads"),
             v = head_dims(call, value.dims, "kv_num_heads");
  AttentionShape shape{q[0], q[1], k[1], q[2], k[2], 0, q[3], v[3]};
  const bool fits = k[0] == q[0] && v[0] == q[0] && k[1] == v[1] && k[2] == v[2] && k[3] == q[3] && k[1] > 0 && q[1] % k[1] == 0;
  if (!fits) reject(call, "queries " + to_string(query.dims) + ", keys " + to_string(key.dims) + ", values " + to_string(value.dims));
  const DatumInfo* const past_key = optional_tensor_info(call, inputs, AttentionInput::past_key, kRealTypes);
  const DatumInfo* const past_value = optional_tensor_info(call, inputs, AttentionInput::past_value, kRealTypes);
  if ((past_key == nullptr) != (past_value == nullptr)) reject(call, "past_key and past_value go together");
  if (past_key != nullptr) {
    require_same_type(call, key, *past_key);
    require_same_type(call, value, *past_value);
    if (past_key->dims.size() != 4) reject(call, "past_key has dims " + to_string(past_key->dims));
    shape.past = past_key->dims[2];
    const bool past_fits = past_key->dims == Dims{k[0], k[1], shape.past, k[3]} && past_value->dims == Dims{v[0], v[1], shape.past, v[3]};
    if (!past_fits) reject(call, "past_key " + to_string(past_key->dims) + " and past_value " + to_string(past_value->dims));
  }
  const DatumInfo* const valid = optional_tensor_info(call, inputs, AttentionInput::valid_keys, {DataType::int64});
  if (valid != nullptr && valid->dims != Dims{shape.batch}) reject(call, "nonpad_kv_seqlen has dims " + to_string(valid->dims));
  if (valid != nullptr && past_key != nullptr) reject(call, "nonpad_kv_seqlen does not go with past_key");
  shape.is_causal = call.attributes.integer("is_causal", 0) != 0;
  shape.left = call.attributes.integer("left_window_size", -1);
  shape.right = call.attributes.integer("right_window_size", -1);
  if (shape.left < -1 || shape.right < -1) reject(call, "a window of negative size");
  return shape;
}

float attention_scale(const OpCall& call, const AttentionShape& shape) {
  return call.attributes.real("scale").value_or(static_cast<float>(1 / std::sqrt(static_cast<double>(shape.size))));
}

TensorDesc broadcast_mask(const OpCall& call, const AttentionShape& shape, const TensorDesc& mask) {
  const Dims wanted{shape.batch, shape.heads, shape.queries, shape.total()};
  Dims dims = mask.dims, strides = mask.strides;
  if (dims.empty() || dims.size() > 4) reject(call, "attn_mask has dims " + to_string(mask.dims));
  while (dims.size() < 4) {
    dims.insert(dims.begin(), 1);
    strides.insert(strides.begin(), 0);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const bool short_row = i == 3 && dims[i] < wanted[i] && dims[i] != 1;
    if (dims[i] == wanted[i] || short_row) continue;
    if (dims[i] != 1) reject(call, "attn_mask has dims " + to_string(mask.dims) + ", wanted are " + to_string(wanted));
    dims[i] = wanted[i];
    strides[i] = 0;
  }
  return {mask.type, dims, strides};
}

}  // namespace relayout

namespace relayout::kernels {
namespace {

/// As by_heads(), for tensors.
Tensor heads_of(const OpCall& call, const Tensor& tensor, std::string_view heads_attribute) {
  TensorDesc desc = by_heads(call, tensor.desc(), heads_attribute);
  return tensor.view(std::move(desc.dims), std::move(desc.strides));
}

constexpr double kMasked = -std::numeric_limits<double>::infinity();

class Attention {
 public:
  Attention(const OpCall& call, InputData inputs, OutputData outputs)
      : call_(call),
        shape_(attention_shape(call, KnownInfos(inputs).get())),
        query_(heads_of(call, tensor_at(inputs, AttentionInput::query), "q_num_heads")),
        key_(heads_of(call, tensor_at(inputs, AttentionInput::key), "kv_num_heads")),
        value_(heads_of(call, tensor_at(inputs, AttentionInput::value), "kv_num_heads")),
        scale_(attention_scale(call, shape_)),
        softcap_(call.attributes.real("softcap", 0)) {
    if (present(inputs, AttentionInput::past_key)) {
      past_key_ = tensor_at(inputs, AttentionInput::past_key);
      past_value_ = tensor_at(inputs, AttentionInput::past_value);
    }
    if (present(inputs, AttentionInput::mask)) {
      const Tensor& mask = tensor_at(inputs, AttentionInput::mask);
      TensorDesc desc = broadcast_mask(call, shape_, mask.desc());
      mask_ = mask.view(std::move(desc.dims), std::move(desc.strides));
    }
    if (present(inputs, AttentionInput::valid_keys)) valid_ = integers_of(call, tensor_at(inputs, AttentionInput::valid_keys));
    if (const Tensor* const out = wanted(outputs, 0)) output_ = heads_of(call, *out, "q_num_heads");
    if (const Tensor* const scores = wanted(outputs, 3)) scores_ = *scores;
    mode_ = call.attributes.integer("qk_matmul_output_mode", 0);
  }

  void run() const {
    parallel_for(shape_.batch * shape_.kv_heads, call_.threads,
                 [&](int64_t unit) { run_group(unit / shape_.kv_heads, unit % shape_.kv_heads); });
  }

 private:
  /// Rows of keys or values of one head, starting with those of the past.
  [[nodiscard]] std::vector<double> rows_of(const Tensor& past, const Tensor& now, int64_t batch, int64_t head) const {
    const int64_t size = now.dims()[3];
    std::vector<double> out(as_size(shape_.total() * size));
    double* to = out.data();
    for (const Tensor* part : {&past, &now}) {
      if (!*part) continue;
      for (int64_t row = 0; row < part->dims()[2]; ++row, to += size) read_row(*part, batch, head, row, to);
    }
    return out;
  }

  static std::byte* row_at(const Tensor& tensor, int64_t batch, int64_t head, int64_t row) {
    const Dims& s = tensor.strides();
    return tensor.bytes() + (batch * s[0] + head * s[1] + row * s[2]) * element_stride(tensor.type());
  }
  static void read_row(const Tensor& tensor, int64_t batch, int64_t head, int64_t row, double* out) {
    load(tensor.type(), row_at(tensor, batch, head, row), tensor.strides()[3], tensor.dims()[3], out);
  }
  static void write_row(const Tensor& tensor, int64_t batch, int64_t head, int64_t row, const double* from) {
    store(tensor.type(), row_at(tensor, batch, head, row), tensor.strides()[3], tensor.dims()[3], from);
  }

  /// Computes all query heads that share one head of keys and values.
  void run_group(int64_t batch, int64_t kv_head) const {
    const std::vector<double> keys = rows_of(past_key_, key_, batch, kv_head), values = rows_of(past_value_, value_, batch, kv_head);
    const int64_t share = shape_.heads / shape_.kv_heads;
    for (int64_t head = kv_head * share; head < (kv_head + 1) * share; ++head) {
      for (int64_t i = 0; i < shape_.queries; ++i) run_query(batch, head, i, keys, values);
    }
  }

  void run_query(int64_t batch, int64_t head, int64_t i, const std::vector<double>& keys, const std::vector<double>& values) const {
    const auto total = as_size(shape_.total());
    std::vector<double> query(as_size(shape_.size)), scores(total), out(as_size(shape_.value_size), 0.0);
    read_row(query_, batch, head, i, query.data());
    for (std::size_t j = 0; j < total; ++j) {
      double sum = 0;
      const double* const key = keys.data() + j * query.size();
      for (std::size_t d = 0; d < query.size(); ++d) sum += query[d] * key[d];
      scores[j] = sum * scale_;
    }
    show_scores(0, batch, head, i, scores);
    if (softcap_ > 0) {
      for (double& score : scores) score = softcap_ * std::tanh(score / softcap_);
    }
    show_scores(1, batch, head, i, scores);
    add_mask(batch, head, i, scores);
    show_scores(2, batch, head, i, scores);
    soften(scores);
    show_scores(3, batch, head, i, scores);
    for (std::size_t j = 0; j < total; ++j) {
      if (scores[j] == 0) continue;  // masked values may be anything, NaN too
      for (std::size_t d = 0; d < out.size(); ++d) out[d] += scores[j] * values[j * out.size() + d];
    }
    if (output_) write_row(output_, batch, head, i, out.data());
  }

  void show_scores(int64_t mode, int64_t batch, int64_t head, int64_t i, const std::vector<double>& scores) const {
    if (mode == mode_ && scores_) write_row(scores_, batch, head, i, scores.data());
  }

  void add_mask(int64_t batch, int64_t head, int64_t i, std::vector<double>& scores) const {
    if (mask_) {
      const bool is_choice = mask_->type() == DataType::boolean;
      std::vector<double> row(as_size(mask_->dims()[3]));
      read_row(*mask_, batch, head, i, row.data());
      for (std::size_t j = 0; j < scores.size(); ++j) {
        const double added = j >= row.size() ? kMasked : !is_choice ? row[j] : row[j] != 0 ? 0 : kMasked;
        scores[j] = added == kMasked ? kMasked : scores[j] + added;
      }
    }
    const auto [begin, end] = shape_.visible(i, valid_.empty() ? std::nullopt : std::optional(element_at(valid_, batch)));
    std::fill(scores.begin(), scores.begin() + begin, kMasked);
    std::fill(scores.begin() + end, scores.end(), kMasked);
  }

  /// Softmax; a row in which all scores are masked becomes 0.
  static void soften(std::vector<double>& scores) {
    double most = kMasked;
    for (const double score : scores) most = std::isnan(score) || score > most ? score : most;
    double sum = 0;
    for (double& score : scores) {
      score = most == kMasked ? 0 : std::exp(score - most);
      sum += score;
    }
    if (sum == 0) return;
    for (double& score : scores) score /= sum;
  }

  const OpCall& call_;
  AttentionShape shape_;
  Tensor query_, key_, value_, past_key_, past_value_, output_, scores_;
  std::optional<Tensor> mask_;
  std::vector<int64_t> valid_;
  double scale_, softcap_;
  int64_t mode_ = 0;
};

}  // namespace

Inferred infer_attention(const OpCall& call, InputInfos inputs) {
  const AttentionShape shape = attention_shape(call, inputs);
  const DatumInfo& query = *inputs[AttentionInput::query];
  const bool flat = query.dims.size() == 3;
  std::vector<DatumInfo> out =
      results(call, tensor_of(query.type, flat ? Dims{shape.batch, shape.queries, checked_product(call, shape.heads, shape.value_size)}
                                               : Dims{shape.batch, shape.heads, shape.queries, shape.value_size}));
  if (out.size() > 1) out[1] = tensor_of(inputs[AttentionInput::key]->type, {shape.batch, shape.kv_heads, shape.total(), shape.size});
  if (out.size() > 2)
    out[2] = tensor_of(inputs[AttentionInput::value]->type, {shape.batch, shape.kv_heads, shape.total(), shape.value_size});
  if (out.size() > 3) out[3] = tensor_of(query.type, {shape.batch, shape.heads, shape.queries, shape.total()});
  return out;
}

void attention(const OpCall& call, InputData inputs, OutputData outputs) {
  Attention(call, inputs, outputs).run();
  for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
    const Tensor* const joined = wanted(outputs, which + 1);
    if (joined == nullptr) continue;
    const Tensor now = heads_of(call, tensor_at(inputs, AttentionInput::key + which), "kv_num_heads");
    const int64_t past = joined->dims()[2] - now.dims()[2];
    const Dims& strides = joined->strides();
    if (past > 0) {
      const Tensor& before = tensor_at(inputs, AttentionInput::past_key + which);
      copy_elements(call.threads, joined->view(before.dims(), strides), before);
    }
    if (now.element_count() > 0) copy_elements(call.threads, joined->view(now.dims(), strides, past * strides[2]), now);
  }
}

namespace {

struct RotaryInput {
  enum : std::size_t { tokens, cosines, sines, positions };
};

/// Dims as [batch, heads, length, size], and the number of elements of `size` that are rotated.
struct RotaryShape {
  Dims dims;
  int64_t turned = 0;
};

RotaryShape rotary_shape(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 3, 4);
  const DatumInfo& x = tensor_info(call, inputs, RotaryInput::tokens, kRealTypes);
  RotaryShape shape{head_dims(call, x.dims, "num_heads"), call.attributes.integer("rotary_embedding_dim", 0)};
  if (shape.turned == 0) shape.turned = shape.dims[3];
  if (shape.turned < 0 || shape.turned > shape.dims[3] || shape.turned % 2 != 0) {
    reject(call, "cannot turn " + std::to_string(shape.turned) + " of " + std::to_string(shape.dims[3]) + " elements");
  }
  const DatumInfo* const positions = optional_tensor_info(call, inputs, RotaryInput::positions, {DataType::int64});
  if (positions != nullptr && positions->dims != Dims{shape.dims[0], shape.dims[2]}) {
    reject(call, "position_ids have dims " + to_string(positions->dims));
  }
  for (const std::size_t input : {RotaryInput::cosines, RotaryInput::sines}) {
    const Dims& dims = tensor_info(call, inputs, input, kRealTypes).dims;
    const bool fits = positions == nullptr ? dims == Dims{shape.dims[0], shape.dims[2], shape.turned / 2}
                                           : dims.size() == 2 && dims[1] == shape.turned / 2;
    if (!fits) reject(call, "a cache has dims " + to_string(dims));
  }
  return shape;
}

/// The elements of each pair are at `first` and `second`, plus multiples of `stride`.
struct Pairs {
  int64_t first, second, stride;
};

void turn(const Pairs& pairs, const std::vector<double>& cosines, const std::vector<double>& sines, std::vector<double>& row) {
  for (std::size_t d = 0; d < cosines.size(); ++d) {
    double& a = element_at(row, pairs.first + static_cast<int64_t>(d) * pairs.stride);
    double& b = element_at(row, pairs.second + static_cast<int64_t>(d) * pairs.stride);
    const double real = cosines[d] * a - sines[d] * b;
    b = sines[d] * a + cosines[d] * b;
    a = real;
  }
}

}  // namespace

Inferred infer_rotary_embedding(const OpCall& call, InputInfos inputs) {
  (void)rotary_shape(call, inputs);
  return one(call, inputs[RotaryInput::tokens]->type, inputs[RotaryInput::tokens]->dims);
}

void rotary_embedding(const OpCall& call, InputData inputs, OutputData outputs) {
  const RotaryShape shape = rotary_shape(call, KnownInfos(inputs).get());
  const Tensor x = heads_of(call, tensor_at(inputs, RotaryInput::tokens), "num_heads"), y = heads_of(call, outputs[0]->tensor, "num_heads");
  const Tensor positions = present(inputs, RotaryInput::positions) ? contiguous(tensor_at(inputs, RotaryInput::positions)) : Tensor();
  const bool interleaved = call.attributes.integer("interleaved", 0) != 0;
  const Pairs pairs = interleaved ? Pairs{0, 1, 2} : Pairs{0, shape.turned / 2, 1};
  std::vector<double> row(as_size(shape.dims[3])), cosines(as_size(shape.turned / 2)), sines(cosines);
  const auto read_cache = [&](const Tensor& cache, int64_t batch, int64_t token, std::vector<double>& out) {
    int64_t offset = 0;
    if (positions) {
      const int64_t position = positions.data<int64_t>()[batch * shape.dims[2] + token];
      if (position < 0 || position >= cache.dims()[0]) reject(call, "position " + std::to_string(position) + " is beyond the cache");
      offset = position * cache.strides()[0];
    } else {
      offset = batch * cache.strides()[0] + token * cache.strides()[1];
    }
    load(cache.type(), cache.bytes() + offset * element_stride(cache.type()), cache.strides().back(), shape.turned / 2, out.data());
  };
  const auto at = [](const Tensor& t, int64_t batch, int64_t head, int64_t token) {
    return t.bytes() + (batch * t.strides()[0] + head * t.strides()[1] + token * t.strides()[2]) * element_stride(t.type());
  };
  for (int64_t batch = 0; batch < shape.dims[0]; ++batch) {
    for (int64_t token = 0; token < shape.dims[2]; ++token) {
      read_cache(tensor_at(inputs, RotaryInput::cosines), batch, token, cosines);
      read_cache(tensor_at(inputs, RotaryInput::sines), batch, token, sines);
      for (int64_t head = 0; head < shape.dims[1]; ++head) {
        load(x.type(), at(x, batch, head, token), x.strides()[3], shape.dims[3], row.data());
        turn(pairs, cosines, sines, row);
        store(y.type(), at(y, batch, head, token), y.strides()[3], shape.dims[3], row.data());
      }
    }
  }
}

// SwiGLU.

Inferred infer_swiglu(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const auto [gate, value] = two_of_one_type(call, inputs, kRealTypes);
  if (gate.dims != value.dims) reject(call, "dims " + to_string(gate.dims) + " and " + to_string(value.dims) + " differ");
  return one(call, gate.type, gate.dims);
}

void swiglu(const OpCall& call, InputData inputs, OutputData outputs) {
  const double alpha = call.attributes.real("alpha", elementwise::default_parameters("Swish").alpha);
  const auto gated = [&](double gate, double value) { return elementwise::swish<elementwise::DoubleMath>(gate, alpha) * value; };
  map_elements<double, double>(call.threads, outputs[0]->tensor, gated, tensor_at(inputs, 0), tensor_at(inputs, 1));
}

}  // namespace relayout::kernels
