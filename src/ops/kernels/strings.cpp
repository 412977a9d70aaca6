// Computes the operators on strings, which are UTF-8.
#include <locale.h>
#include <wctype.h>

#include <clocale>
#include <cwctype>

#include "base/positions.h"
#include "base/text.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/regex.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

std::span<const std::string> texts_of(const Tensor& dense) {
  return {dense.data<std::string>(), as_size(dense.element_count())};
}

}  // namespace

Inferred infer_string_concat(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo &x = tensor_info(call, inputs, 0, kStringTypes), &y = tensor_info(call, inputs, 1, kStringTypes);
  return one(call, DataType::string, broadcast_dims(call, x.dims, y.dims));
}

void string_concat(const OpCall&, InputData inputs, OutputData outputs) {
  const Tensor& out = outputs[0]->tensor;
  const StridedLoop loop(
      out.dims(), {operand(out), broadcast_operand(tensor_at(inputs, 0), out.dims()), broadcast_operand(tensor_at(inputs, 1), out.dims())});
  loop.run([](std::byte* const* data, const int64_t* strides, int64_t count) {
    auto* to = reinterpret_cast<std::string*>(data[0]);
    const auto *a = reinterpret_cast<const std::string*>(data[1]), *b = reinterpret_cast<const std::string*>(data[2]);
    for (int64_t i = 0; i < count; ++i) to[i * strides[0]] = a[i * strides[1]] + b[i * strides[2]];
  });
}

namespace {

/// Splits as Python's str.split: at the delimiter, or at runs of white space when there is none.
std::vector<std::string_view> split_text(std::string_view text, std::string_view delimiter, std::optional<int64_t> most) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  std::vector<std::string_view> out;
  const auto may_split = [&] { return !most || static_cast<int64_t>(out.size()) < *most; };
  if (!delimiter.empty()) {
    for (std::size_t at = text.find(delimiter); at != std::string_view::npos && may_split(); at = text.find(delimiter)) {
      out.push_back(text.substr(0, at));
      text.remove_prefix(at + delimiter.size());
    }
    out.push_back(text);
    return out;
  }
  while (true) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return out;
    text.remove_prefix(begin);
    const std::size_t end = may_split() ? text.find_first_of(kBlanks) : std::string_view::npos;
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end);
  }
}

/// Parts of every string, as views into the tensor.
std::vector<std::vector<std::string_view>> split_all(const OpCall& call, const Tensor& dense) {
  const std::string delimiter = call.attributes.text("delimiter", "");
  const auto most = call.attributes.integer("maxsplit");
  std::vector<std::vector<std::string_view>> out;
  for (const std::string& text : texts_of(dense)) out.push_back(split_text(text, delimiter, most));
  return out;
}

}  // namespace

Inferred infer_string_split(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kStringTypes);
  if (x.value == nullptr) return std::nullopt;
  std::size_t longest = 0;
  for (const auto& parts : split_all(call, contiguous(*x.value))) longest = std::max(longest, parts.size());
  Dims dims = x.dims;
  dims.push_back(static_cast<int64_t>(longest));
  checked_count(call, dims);
  std::vector<DatumInfo> out = results(call, tensor_of(DataType::string, std::move(dims)));
  if (out.size() > 1) out[1] = tensor_of(DataType::int64, x.dims);
  return out;
}

void string_split(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor dense = contiguous(tensor_at(inputs, 0));
  const auto all = split_all(call, dense);
  if (const Tensor* const parts = wanted(outputs, 0)) {
    const DenseOutput target(*parts);
    const auto width = as_size(parts->dims().back());
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t k = 0; k < width; ++k) {
        target.tensor().data<std::string>()[i * width + k] = k < all[i].size() ? std::string(all[i][k]) : std::string();
      }
    }
    target.finish();
  }
  if (const Tensor* const counts = wanted(outputs, 1)) {
    const DenseOutput target(*counts);
    for (std::size_t i = 0; i < all.size(); ++i) target.tensor().data<int64_t>()[i] = static_cast<int64_t>(all[i].size());
    target.finish();
  }
}

namespace {

std::string mapped(std::string_view text, char32_t (*map)(char32_t)) {
  std::u32string points = decode_utf8(text);
  for (char32_t& point : points) point = map(point);
  return encode_utf8(points);
}

/// Languages whose letters have another case mapping than Unicode's: dotted and dotless i.
void refuse_other_mappings(const OpCall& call) {
  const std::string locale = call.attributes.text("locale", "en_US");
  for (const char* const language : {"az", "lt", "tr"}) {
    if (locale.starts_with(language)) fail(ErrorKind::unsupported, call.node.label() + ": case mapping of locale " + quote(locale));
  }
}

/// The normalized strings without stopwords, or one empty string.
std::vector<std::string> normalized(const OpCall& call, const Tensor& tensor) {
  refuse_other_mappings(call);
  const bool exact = call.attributes.integer("is_case_sensitive", 0) != 0;
  const std::string action = call.attributes.text("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER") reject(call, "case_change_action is none of LOWER, UPPER, NONE");
  const auto key = [&](const std::string& text) { return exact ? text : mapped(text, to_lower); };
  std::unordered_set<std::string> stopwords;
  for (const std::string& word : call.attributes.texts("stopwords")) stopwords.insert(key(word));
  const Tensor dense = contiguous(tensor);
  std::vector<std::string> out;
  for (const std::string& text : texts_of(dense)) {
    if (stopwords.contains(key(text))) continue;
    out.push_back(action == "NONE" ? text : mapped(text, action == "LOWER" ? to_lower : to_upper));
  }
  if (out.empty()) out.emplace_back();
  return out;
}

}  // namespace

Inferred infer_string_normalizer(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kStringTypes);
  const bool fits = x.dims.size() == 1 || (x.dims.size() == 2 && x.dims[0] == 1);
  if (!fits) reject(call, "dims " + to_string(x.dims) + ", wanted are [C] or [1, C]");
  if (x.value == nullptr) return std::nullopt;
  Dims dims = x.dims;
  dims.back() = static_cast<int64_t>(normalized(call, *x.value).size());
  return one(call, DataType::string, std::move(dims));
}

void string_normalizer(const OpCall& call, InputData inputs, OutputData outputs) {
  const std::vector<std::string> texts = normalized(call, tensor_at(inputs, 0));
  const DenseOutput target(outputs[0]->tensor);
  std::ranges::copy(texts, target.tensor().data<std::string>());
  target.finish();
}

Inferred infer_regex_full_match(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  return one(call, DataType::boolean, tensor_info(call, inputs, 0, kStringTypes).dims);
}

void regex_full_match(const OpCall& call, InputData inputs, OutputData outputs) {
  const Regex regex(call.attributes.text("pattern", ""));
  const Tensor dense = contiguous(tensor_at(inputs, 0));
  const DenseOutput target(outputs[0]->tensor);
  const auto texts = texts_of(dense);
  for (std::size_t i = 0; i < texts.size(); ++i) target.tensor().data<uint8_t>()[i] = regex.matches_all(texts[i]) ? 1 : 0;
  target.finish();
}

namespace {

/// The n-grams of a TfIdfVectorizer's pool, as numbers of tokens.
class NgramPool {
 public:
  explicit NgramPool(const OpCall& call) : indexes_(call.attributes.integers("ngram_indexes")), weights_(call.attributes.reals("weights")) {
    integers_ = call.attributes.integers("pool_int64s");
    texts_ = call.attributes.texts("pool_strings");
    if (integers_.empty() == texts_.empty()) reject(call, "one of pool_int64s and pool_strings must be given");
    least_ = call.attributes.integer("min_gram_length", 1);
    most_ = call.attributes.integer("max_gram_length", 1);
    skips_ = call.attributes.integer("max_skip_count", 0);
    if (least_ < 1 || most_ < least_ || skips_ < 0) reject(call, "lengths or skips of n-grams do not fit");
    mode_ = call.attributes.text("mode", "");
    if (mode_ != "TF" && mode_ != "IDF" && mode_ != "TFIDF") reject(call, "mode is none of TF, IDF, TFIDF");
    if (!weights_.empty() && weights_.size() != indexes_.size()) reject(call, "weights and ngram_indexes differ in length");
    for (const int64_t index : indexes_) {
      if (index < 0 || index > INT32_MAX) reject(call, "an n-gram's index is " + std::to_string(index));
      width_ = std::max(width_, index + 1);
    }
    if (indexes_.empty()) reject(call, "ngram_indexes is empty");
    number_grams(call);
  }

  [[nodiscard]] int64_t width() const { return width_; }
  [[nodiscard]] bool takes_strings() const { return integers_.empty(); }

  /// A token's number; −1 for a token that is in no n-gram.
  [[nodiscard]] int64_t token(const std::string& text) const { return find(text_numbers_, text); }
  [[nodiscard]] int64_t token(int64_t value) const { return find(integer_numbers_, value); }

  /// Weighted counts of the n-grams in a row of tokens.
  void count(const std::vector<int64_t>& tokens, float* out) const {
    std::vector<int64_t> counts(indexes_.size(), 0);
    const auto length = static_cast<int64_t>(tokens.size());
    for (int64_t n = least_; n <= std::min(most_, length); ++n) {
      const int64_t last_skip = n == 1 ? 0 : std::min(skips_, length);
      for (int64_t step = 1; step <= last_skip + 1; ++step) {
        for (int64_t start = 0; start + (n - 1) * step < length; ++start) count_one(tokens, start, n, step, counts);
      }
    }
    for (std::size_t id = 0; id < counts.size(); ++id) {
      const float weight = mode_ == "TF" || weights_.empty() ? 1 : weights_[id];
      const auto times = static_cast<float>(mode_ == "IDF" ? std::min<int64_t>(counts[id], 1) : counts[id]);
      out[indexes_[id]] += times * weight;
    }
  }

 private:
  using Gram = std::vector<int64_t>;
  struct GramHash {
    std::size_t operator()(const Gram& gram) const {
      std::size_t out = gram.size();
      for (const int64_t token : gram) out = out * 1000003 + as_size(token);
      return out;
    }
  };

  template <class Map, class Key>
  static int64_t find(const Map& numbers, const Key& key) {
    const auto found = numbers.find(key);
    return found == numbers.end() ? -1 : found->second;
  }

  int64_t number_token(std::size_t position) {
    const auto next = static_cast<int64_t>(text_numbers_.size() + integer_numbers_.size());
    return takes_strings() ? text_numbers_.try_emplace(texts_[position], next).first->second
                           : integer_numbers_.try_emplace(integers_[position], next).first->second;
  }

  void number_grams(const OpCall& call) {
    const auto size = static_cast<int64_t>(takes_strings() ? texts_.size() : integers_.size());
    const std::vector<int64_t> starts = call.attributes.integers("ngram_counts");
    std::size_t id = 0;
    for (std::size_t n = 1; n <= starts.size(); ++n) {
      const int64_t begin = starts[n - 1], end = n < starts.size() ? starts[n] : size;
      if (begin < 0 || end < begin || end > size || (end - begin) % static_cast<int64_t>(n) != 0) {
        reject(call, "ngram_counts does not fit the pool");
      }
      for (int64_t at = begin; at < end; at += static_cast<int64_t>(n), ++id) {
        Gram gram;
        for (std::size_t k = 0; k < n; ++k) gram.push_back(number_token(as_size(at) + k));
        grams_.try_emplace(std::move(gram), id);
      }
    }
    if (id != indexes_.size())
      reject(call, "the pool has " + std::to_string(id) + " n-grams, ngram_indexes " + std::to_string(indexes_.size()));
  }

  void count_one(const std::vector<int64_t>& tokens, int64_t start, int64_t n, int64_t step, std::vector<int64_t>& counts) const {
    Gram gram;
    for (int64_t k = 0; k < n; ++k) {
      gram.push_back(element_at(tokens, start + k * step));
      if (gram.back() < 0) return;
    }
    const auto found = grams_.find(gram);
    if (found != grams_.end()) ++counts[found->second];
  }

  std::vector<int64_t> indexes_, integers_;
  std::vector<float> weights_;
  std::vector<std::string> texts_;
  std::string mode_;
  int64_t least_ = 1, most_ = 1, skips_ = 0, width_ = 0;
  std::unordered_map<std::string, int64_t> text_numbers_;
  std::unordered_map<int64_t, int64_t> integer_numbers_;
  std::unordered_map<Gram, std::size_t, GramHash> grams_;
};

}  // namespace

Inferred infer_tf_idf_vectorizer(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const NgramPool pool(call);
  const DatumInfo& x = tensor_info(call, inputs, 0, pool.takes_strings() ? kStringTypes : kIndexTypes);
  if (x.dims.empty() || x.dims.size() > 2) reject(call, "rank " + std::to_string(x.dims.size()) + ", wanted is 1 or 2");
  Dims dims = x.dims;
  dims.back() = pool.width();
  return one(call, DataType::float32, std::move(dims));
}

void tf_idf_vectorizer(const OpCall& call, InputData inputs, OutputData outputs) {
  const NgramPool pool(call);
  const Tensor dense = contiguous(tensor_at(inputs, 0));
  const DenseOutput target(outputs[0]->tensor);
  const int64_t columns = dense.dims().back();
  const int64_t rows = dense.rank() == 1 ? 1 : dense.dims()[0];
  std::fill_n(target.tensor().data<float>(), rows * pool.width(), 0.0F);
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<int64_t> tokens(as_size(columns));
    for (int64_t i = 0; i < columns; ++i) {
      const int64_t at = row * columns + i;
      element_at(tokens, i) = pool.takes_strings()              ? pool.token(dense.data<std::string>()[at])
                              : dense.type() == DataType::int32 ? pool.token(int64_t{dense.data<int32_t>()[at]})
                                                                : pool.token(dense.data<int64_t>()[at]);
    }
    pool.count(tokens, target.tensor().data<float>() + row * pool.width());
  }
  target.finish();
}

}  // namespace relayout::kernels

namespace relayout {

// UTF-8, stray bytes included, and cases independently of the locale.
namespace {

constexpr char32_t kStrayByte = 0xDC00;

/// Case mappings of all of Unicode, independent of the process's locale; null when the system lacks them.
locale_t case_locale() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

}  // namespace

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    out.push_back(character.length > 0 ? character.code : kStrayByte + static_cast<uint8_t>(text[0]));
    text.remove_prefix(character.length > 0 ? character.length : 1);
  }
  return out;
}

std::string encode_utf8(std::u32string_view points) {
  std::string out;
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(static_cast<uint8_t>(byte))); };
  for (const char32_t point : points) {
    if (point < 0x80) {
      put(point);
    } else if (point >= kStrayByte && point < kStrayByte + 0x100) {
      put(point - kStrayByte);
    } else if (point < 0x800) {
      put(0xC0U | point >> 6U);
      put(0x80U | (point & 0x3FU));
    } else {
      if (point < 0x10000) {
        put(0xE0U | point >> 12U);
      } else {
        put(0xF0U | point >> 18U);
        put(0x80U | (point >> 12U & 0x3FU));
      }
      put(0x80U | (point >> 6U & 0x3FU));
      put(0x80U | (point & 0x3FU));
    }
  }
  return out;
}

char32_t to_lower(char32_t point) {
  if (point < 0x80 || case_locale() == nullptr) return point >= 'A' && point <= 'Z' ? point + ('a' - 'A') : point;
  return static_cast<char32_t>(towlower_l(static_cast<wint_t>(point), case_locale()));
}

char32_t to_upper(char32_t point) {
  if (point < 0x80 || case_locale() == nullptr) return point >= 'a' && point <= 'z' ? point - ('a' - 'A') : point;
  return static_cast<char32_t>(towupper_l(static_cast<wint_t>(point), case_locale()));
}

}  // namespace relayout
