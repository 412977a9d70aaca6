// Maps labels and categories to others, to single columns, and to maps of scores.
#include <onnx/onnx_pb.h>

#include <cmath>
#include <variant>

#include "base/positions.h"
#include "base/text.h"
#include "model/node.h"
#include "model/origin.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

constexpr TypeSet kLabelTypes{DataType::string, DataType::int64, DataType::float32, DataType::int32, DataType::int16, DataType::float64};

/// The elements of a tensor of labels: of strings, or of numbers that are compared.
class LabelColumn {
 public:
  LabelColumn() = default;
  explicit LabelColumn(Tensor tensor) : tensor_(contiguous(tensor)) {
    if (tensor_.type() == DataType::string) return;
    if (traits(tensor_.type()).is_float) {
      for (const double value : reals_of(tensor_)) keys_.push_back(key_of(value));
    } else {
      for (const int64_t value : integers()) keys_.push_back(std::bit_cast<uint64_t>(value));
    }
  }
  template <class T>
  static LabelColumn of(DataType type, const std::vector<T>& values) {
    Tensor tensor(type, {static_cast<int64_t>(values.size())});
    std::ranges::copy(values, tensor.data<T>());
    return LabelColumn(std::move(tensor));
  }

  [[nodiscard]] DataType type() const { return tensor_.type(); }
  [[nodiscard]] const Tensor& tensor() const { return tensor_; }
  [[nodiscard]] std::size_t size() const { return tensor_ ? as_size(tensor_.element_count()) : 0; }
  [[nodiscard]] bool holds_texts() const { return tensor_.type() == DataType::string; }
  [[nodiscard]] const std::string& text(std::size_t i) const { return tensor_.data<std::string>()[i]; }
  /// Equal for equal numbers, and for all NaN.
  [[nodiscard]] uint64_t number(std::size_t i) const { return keys_[i]; }

 private:
  static uint64_t key_of(double value) {
    if (value == 0) return 0;  // of both signs
    return std::isnan(value) ? ~uint64_t{0} : std::bit_cast<uint64_t>(value);
  }
  [[nodiscard]] std::vector<int64_t> integers() const { return truncated_integers_of(tensor_); }

  Tensor tensor_;
  std::vector<uint64_t> keys_;
};

/// Positions of labels in a list. Of equal ones the last counts, or the first.
class LabelPlaces {
 public:
  LabelPlaces(const LabelColumn& labels, bool first_counts) {
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels.holds_texts()) {
        add(texts_, labels.text(i), i, first_counts);
      } else {
        add(numbers_, labels.number(i), i, first_counts);
      }
    }
  }

  [[nodiscard]] std::optional<std::size_t> find(const LabelColumn& labels, std::size_t i) const {
    return labels.holds_texts() ? find(texts_, labels.text(i)) : find(numbers_, labels.number(i));
  }

 private:
  template <class Map, class Key>
  static void add(Map& map, const Key& key, std::size_t place, bool first_counts) {
    const auto [at, is_new] = map.try_emplace(key, place);
    if (!is_new && !first_counts) at->second = place;
  }
  template <class Map, class Key>
  static std::optional<std::size_t> find(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  }

  std::unordered_map<std::string, std::size_t> texts_;
  std::unordered_map<uint64_t, std::size_t> numbers_;
};

/// What an encoder maps to what: `values` at the place of a key, or the only element of `otherwise`.
struct Encoding {
  LabelColumn keys, values, otherwise;
  bool first_counts = false;
};

std::optional<LabelColumn> tensor_attribute(const OpCall& call, const std::string& name) {
  const onnx::TensorProto* const tensor = call.attributes.tensor(name);
  return tensor == nullptr ? std::nullopt : std::optional(LabelColumn(load_tensor(call.node.graph().model(), *tensor)));
}

/// The labels in one of the attributes `kind`_strings, `kind`_int64s, `kind`_floats and `kind`_tensor.
LabelColumn list_of(const OpCall& call, const std::string& kind) {
  std::vector<LabelColumn> given;
  if (auto texts = call.attributes.texts(kind + "_strings"); !texts.empty()) given.push_back(LabelColumn::of(DataType::string, texts));
  if (auto numbers = call.attributes.integers(kind + "_int64s"); !numbers.empty())
    given.push_back(LabelColumn::of(DataType::int64, numbers));
  if (auto reals = call.attributes.reals(kind + "_floats"); !reals.empty()) given.push_back(LabelColumn::of(DataType::float32, reals));
  if (call.opset >= 4) {
    if (auto tensor = tensor_attribute(call, kind + "_tensor")) given.push_back(*std::move(tensor));
  }
  if (given.size() != 1) reject(call, std::to_string(given.size()) + " attributes " + kind + "_*, wanted is 1");
  return std::move(given.front());
}

/// What a label becomes that is not in the list.
LabelColumn default_of(const OpCall& call, DataType type) {
  const Attributes& attributes = call.attributes;
  if (call.opset >= 4) {
    if (auto tensor = tensor_attribute(call, "default_tensor")) {
      if (tensor->type() != type || tensor->size() != 1) reject(call, "default_tensor is not one value of the type of the values");
      return *std::move(tensor);
    }
  }
  const std::string text = attributes.text("default_string", "_Unused");
  const int64_t integer = attributes.integer("default_int64", -1);
  const float real = attributes.real("default_float", -0.0F);
  if (type == DataType::string) return LabelColumn::of(type, std::vector{text});
  Tensor out(type, {1});
  if (traits(type).is_float) {
    store_one(type, out.bytes(), static_cast<double>(real));
  } else {
    store_one(type, out.bytes(), integer);
  }
  return LabelColumn(std::move(out));
}

std::vector<int64_t> numbers_below(std::size_t count) {
  std::vector<int64_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<int64_t>(i);
  return out;
}

/// Strings and integers in both directions, by the type of the operand.
Encoding two_way(const OpCall& call, DataType from, LabelColumn texts, LabelColumn numbers) {
  if (texts.size() != numbers.size()) reject(call, "strings and integers differ in number");
  const bool reads_texts = from == DataType::string;
  Encoding out;
  out.otherwise = default_of(call, reads_texts ? DataType::int64 : DataType::string);
  out.keys = reads_texts ? texts : numbers;
  out.values = reads_texts ? std::move(numbers) : std::move(texts);
  return out;
}

Encoding encoding_of(const OpCall& call, DataType from) {
  const Attributes& attributes = call.attributes;
  if (call.node.op_type() == "CategoryMapper") {
    return two_way(call, from, LabelColumn::of(DataType::string, attributes.texts("cats_strings")),
                   LabelColumn::of(DataType::int64, attributes.integers("cats_int64s")));
  }
  if (call.opset < 2) {
    const auto texts = attributes.texts("classes_strings");
    return two_way(call, from, LabelColumn::of(DataType::string, texts), LabelColumn::of(DataType::int64, numbers_below(texts.size())));
  }
  Encoding out{list_of(call, "keys"), list_of(call, "values"), {}, call.opset < 4};
  if (out.keys.size() != out.values.size()) reject(call, "keys and values differ in number");
  out.otherwise = default_of(call, out.values.type());
  return out;
}

template <class T>
void copy_labels(const Encoding& encoding, const std::vector<std::optional<std::size_t>>& places, const Tensor& out) {
  const T* const values = encoding.values.tensor().data<T>();
  const T& otherwise = *encoding.otherwise.tensor().data<T>();
  for (std::size_t i = 0; i < places.size(); ++i) out.data<T>()[i] = places[i] ? values[*places[i]] : otherwise;
}

}  // namespace

Inferred infer_encoder(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kLabelTypes);
  const Encoding encoding = encoding_of(call, x.type);
  if (encoding.keys.type() != x.type) {
    reject(call, "keys are " + std::string(name_of(encoding.keys.type())) + ", the operand is " + std::string(name_of(x.type)));
  }
  return one(call, encoding.values.type(), x.dims);
}

void encoder(const OpCall& call, InputData inputs, OutputData outputs) {
  const LabelColumn x(tensor_at(inputs, 0));
  const Encoding encoding = encoding_of(call, x.type());
  const LabelPlaces known(encoding.keys, encoding.first_counts);
  std::vector<std::optional<std::size_t>> places(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) places[i] = known.find(x, i);
  const DenseOutput target(outputs[0]->tensor);
  with_storage(encoding.values.type(), [&]<class T>(const T&) { copy_labels<T>(encoding, places, target.tensor()); });
  target.finish();
}

namespace {

/// The categories of a OneHotEncoder; numbers are compared as integers.
LabelColumn categories_of(const OpCall& call) {
  const auto numbers = call.attributes.integers("cats_int64s");
  const auto texts = call.attributes.texts("cats_strings");
  if (numbers.empty() == texts.empty()) reject(call, "one of cats_int64s and cats_strings must be given");
  return texts.empty() ? LabelColumn::of(DataType::int64, numbers) : LabelColumn::of(DataType::string, texts);
}

}  // namespace

Inferred infer_one_hot_encoder(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, kLabelTypes);
  const LabelColumn categories = categories_of(call);
  if (categories.holds_texts() != (x.type == DataType::string)) reject(call, "categories and operand are not both strings");
  Dims dims = x.dims;
  dims.push_back(static_cast<int64_t>(categories.size()));
  return one(call, DataType::float32, std::move(dims));
}

void one_hot_encoder(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor dense = contiguous(tensor_at(inputs, 0));
  const LabelColumn x =
      dense.type() == DataType::string ? LabelColumn(dense) : LabelColumn::of(DataType::int64, truncated_integers_of(dense));
  const LabelColumn categories = categories_of(call);
  const LabelPlaces known(categories, false);
  const bool may_be_unknown = call.attributes.integer("zeros", 1) != 0;
  const DenseOutput target(outputs[0]->tensor);
  auto* to = target.tensor().data<float>();
  std::fill_n(to, target.tensor().element_count(), 0.0F);
  for (std::size_t i = 0; i < x.size(); ++i, to += categories.size()) {
    const auto place = known.find(x, i);
    if (!place && !may_be_unknown) reject(call, "element " + std::to_string(i) + " is in no category");
    if (place) to[*place] = 1;
  }
  target.finish();
}

namespace {

/// The attribute of integers or that of strings, of which a node has one: the keys of a map.
Tensor map_keys(const OpCall& call, const char* integers, const char* strings) {
  const auto numbers = call.attributes.integers(integers);
  const auto texts = call.attributes.texts(strings);
  if (numbers.empty() == texts.empty()) reject(call, "one of " + std::string(integers) + " and " + strings + " must be given");
  return (texts.empty() ? LabelColumn::of(DataType::int64, numbers) : LabelColumn::of(DataType::string, texts)).tensor();
}

Tensor class_labels(const OpCall& call) {
  return map_keys(call, "classlabels_int64s", "classlabels_strings");
}

DatumInfo map_info(DataType key, DataType value, int64_t count) {
  DatumInfo info;
  info.kind = Datum::Kind::map;
  info.type = value;
  info.elements = {tensor_of(key, {count}), tensor_of(value, {count})};
  return info;
}

}  // namespace

Tensor vocabulary(const OpCall& call) {
  return map_keys(call, "int64_vocabulary", "string_vocabulary");
}

/// A row is a map.
Inferred infer_zip_map(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& x = tensor_info(call, inputs, 0, {DataType::float32});
  const Tensor keys = class_labels(call);
  if (x.dims.empty() || x.dims.size() > 2 || x.dims.back() != keys.element_count()) {
    reject(call, "scores of dims " + to_string(x.dims) + " for " + std::to_string(keys.element_count()) + " labels");
  }
  DatumInfo out;
  out.kind = Datum::Kind::sequence;
  out.type = DataType::float32;
  out.elements.assign(as_size(x.dims.size() == 1 ? 1 : x.dims[0]), map_info(keys.type(), DataType::float32, keys.element_count()));
  return results(call, std::move(out));
}

void zip_map(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor keys = class_labels(call), x = contiguous(tensor_at(inputs, 0));
  const int64_t count = keys.element_count();
  Datum out;
  out.kind = Datum::Kind::sequence;
  for (int64_t at = 0; at < x.element_count(); at += count) {
    Tensor values(DataType::float32, {count});
    std::copy_n(x.data<float>() + at, count, values.data<float>());
    out.elements.push_back(map_of(keys, values));
  }
  *outputs[0] = std::move(out);
}

Inferred infer_dict_vectorizer(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo* const x = optional_info(inputs, 0);
  if (x == nullptr || x->kind != Datum::Kind::map) reject(call, "input 0 is not a map");
  const Tensor keys = vocabulary(call);
  if (x->elements.front().type != keys.type()) reject(call, "keys of the map and of the vocabulary differ in type");
  return one(call, x->type, {1, keys.element_count()});
}

/// The value of each key of the vocabulary, or zero.
void dict_vectorizer(const OpCall& call, InputData inputs, OutputData outputs) {
  const LabelColumn given(inputs[0]->elements.front().tensor);
  const Tensor values = contiguous(inputs[0]->elements.back().tensor);
  const LabelPlaces known(LabelColumn(vocabulary(call)), false);
  const DenseOutput target(outputs[0]->tensor);
  fill_zero(target.tensor());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto place = known.find(given, i);
    if (!place) reject(call, "key " + std::to_string(i) + " of the map is not in the vocabulary");
    const Tensor to = target.tensor().view({1}, {1}, static_cast<int64_t>(*place));
    copy_elements(1, to, values.view({1}, {1}, static_cast<int64_t>(i)));
  }
  target.finish();
}

}  // namespace relayout::kernels
