// Writes tensors into the saved file: copied, under a new header, or computed.

#include "model/origin.h"
#include "model/save.h"
#include "model/segments.h"
#include "model/splicer.h"
#include "model/tensor_data.h"
#include "model/wire.h"
#include "relayout/types.h"

namespace relayout {
namespace {

using onnx::TensorProto;

bool holds_payload(uint32_t field) {
  switch (field) {
    case TensorProto::kFloatDataFieldNumber:
    case TensorProto::kInt32DataFieldNumber:
    case TensorProto::kStringDataFieldNumber:
    case TensorProto::kInt64DataFieldNumber:
    case TensorProto::kRawDataFieldNumber:
    case TensorProto::kDoubleDataFieldNumber:
    case TensorProto::kUint64DataFieldNumber:
      return true;
    default:
      return false;
  }
}

/// Whether `now` is byte-equal to the contents in the file.
bool is_same_payload(const TensorData& now, const TensorData& stored) {
  if (now.type() != stored.type() || now.byte_size() != stored.byte_size()) return false;
  const Bytes &a = now.source(), &b = stored.source();
  if (a.file() != b.file()) return false;
  if (a.file() != nullptr) return a.file_offset() == b.file_offset();
  return std::ranges::equal(a.memory(), b.memory());
}

void put_entry(std::string& out, const char* key, const std::string& value) {
  onnx::StringStringEntryProto entry;
  entry.set_key(key);
  entry.set_value(value);
  const std::string bytes = entry.SerializeAsString();
  out += encode::header(TensorProto::kExternalDataFieldNumber, static_cast<int64_t>(bytes.size())) + bytes;
}

std::string external_entries(const PayloadPlaces::Reference& reference) {
  std::string out;
  put_entry(out, "location", reference.location);
  put_entry(out, "offset", std::to_string(reference.offset));
  put_entry(out, "length", std::to_string(reference.length));
  return out;
}

std::string external_location() {
  std::string out;
  encode::tag(out, TensorProto::kDataLocationFieldNumber, encode::kVarint);
  encode::number(out, TensorProto::EXTERNAL);
  return out;
}

/// The place of the payload, and the bytes to write for it.
struct Payload {
  PayloadPlaces::Place place = PayloadPlaces::Place::as_is;
  std::optional<TensorData> data;  ///< set unless as_is
};

/// Dims in the form of the file: packed into one field, or one field each.
std::string encoded_dims(const TensorProto& message, bool packed) {
  std::string numbers;
  for (const int64_t dim : message.dims()) {
    if (!packed) encode::tag(numbers, TensorProto::kDimsFieldNumber, encode::kVarint);
    encode::number(numbers, static_cast<uint64_t>(dim));
  }
  return packed ? encode::header(TensorProto::kDimsFieldNumber, static_cast<int64_t>(numbers.size())) + numbers : numbers;
}

/// Dims, type and name of a tensor in the file, and which of these have changed.
struct Header {
  TensorProto original;
  bool new_dims = false, new_type = false, new_name = false;
  [[nodiscard]] bool is_new() const { return new_dims || new_type || new_name; }
};

Header read_header(wire::Reader& file, std::span<const wire::Item> items, const TensorProto& now) {
  const auto wanted = [](const wire::Item& item) {
    return item.field == TensorProto::kDimsFieldNumber || item.field == TensorProto::kDataTypeFieldNumber ||
           item.field == TensorProto::kNameFieldNumber;
  };
  std::string bytes;
  for (auto at = items.begin(); at != items.end();) {
    if (!wanted(*at)) {
      ++at;
      continue;
    }
    // Adjacent items are read at once.
    auto last = at;
    while (last + 1 != items.end() && wanted(*(last + 1)) && (last + 1)->start == last->end) ++last;
    bytes += file.bytes(at->start, last->end);
    at = last + 1;
  }
  Header header;
  header.original.ParsePartialFromString(bytes);
  header.new_dims = !std::ranges::equal(header.original.dims(), now.dims());
  header.new_type = header.original.data_type() != now.data_type();
  header.new_name = header.original.name() != now.name();
  return header;
}

}  // namespace

/// Patches the items of one tensor.
class TensorSplicer::Patch {
 public:
  Patch(const ModelOrigin& origin, wire::Reader& window, PayloadPlaces& store, std::span<const wire::Item> items, const TensorState& tensor)
      : origin_(origin),
        window_(window),
        store_(store),
        items_(items),
        message_(*tensor.message),
        own_(message_, items),
        header_(read_header(window, items, message_)) {
    decide(tensor);
  }

  Segments run() {
    if (header_.new_dims && !has(TensorProto::kDimsFieldNumber)) out_.literal(encoded_dims(message_, false));
    for (const wire::Item& item : items_) put(item);
    if (header_.new_name && !has(TensorProto::kNameFieldNumber)) put_name();
    if (header_.new_type && !has(TensorProto::kDataTypeFieldNumber)) put_type();
    if (payload_.place != PayloadPlaces::Place::as_is) put_payload();
    return std::move(out_);
  }

 private:
  void decide(const TensorState& tensor) {
    external_ = is_external(message_);
    // Strings have no payload that could change or move.
    if (message_.data_type() == TensorProto::STRING) return;
    if (tensor.data == nullptr && !store_.moves_unchanged()) return;
    const TensorData now = tensor.data != nullptr ? *tensor.data : stored_data();
    const bool changed = tensor.data != nullptr && (!now.is_plain() || !is_same_payload(now, stored_data()));
    payload_.place = store_.place({now.byte_size(), external_, false, changed, tensor.in_attribute});
    if (payload_.place != PayloadPlaces::Place::as_is) payload_.data = now;
  }

  [[nodiscard]] TensorData stored_data() const {
    if (!header_.new_dims && !header_.new_type) return tensor_data(origin_, message_);
    TensorProto stored = message_;
    *stored.mutable_dims() = header_.original.dims();
    stored.set_data_type(header_.original.data_type());
    return tensor_data(origin_, stored);
  }

  [[nodiscard]] bool has(int field) const {
    return std::ranges::find(items_, static_cast<uint32_t>(field), &wire::Item::field) != items_.end();
  }

  /// The last of several occurrences of a singular field counts, and is the only one to change.
  [[nodiscard]] bool is_last(const wire::Item& item, int field) const {
    return item.field == static_cast<uint32_t>(field) &&
           std::none_of(&item + 1, items_.data() + items_.size(), [&](const wire::Item& later) { return later.field == item.field; });
  }

  void put(const wire::Item& item) {
    const bool moves = payload_.place != PayloadPlaces::Place::as_is;
    if (item.field == TensorProto::kDimsFieldNumber && header_.new_dims) {
      if (!dims_done_) out_.literal(encoded_dims(message_, item.type == wire::WireType::bytes));
      dims_done_ = true;
    } else if (header_.new_name && is_last(item, TensorProto::kNameFieldNumber)) {
      put_name();
    } else if (header_.new_type && is_last(item, TensorProto::kDataTypeFieldNumber)) {
      put_type();
    } else if (moves && (holds_payload(item.field) || item.field == TensorProto::kExternalDataFieldNumber)) {
      typed_field_ = item.field;
      put_payload();
    } else if (own_.put(out_, item)) {
      return;
    } else if (moves && item.field == TensorProto::kDataLocationFieldNumber) {
      // Written with the payload, unless it was and stays external.
      if (external_ && payload_.place == PayloadPlaces::Place::outside) copy(item);
    } else {
      copy(item);
    }
  }

  /// Copies an item. In a changed tensor, its few bytes become part of the surrounding literal.
  void copy(const wire::Item& item) {
    constexpr int64_t kFewBytes = 64;
    const bool changes = payload_.place != PayloadPlaces::Place::as_is || header_.is_new();
    if (!changes || item.end - item.start > kFewBytes) return out_.copy(origin_.file, item.start, item.end);
    out_.literal(window_.bytes(item.start, item.end));
  }

  void put_name() {
    const std::string& name = message_.name();
    out_.literal(encode::header(TensorProto::kNameFieldNumber, static_cast<int64_t>(name.size())) + name);
  }

  void put_type() {
    std::string bytes;
    encode::tag(bytes, TensorProto::kDataTypeFieldNumber, encode::kVarint);
    encode::number(bytes, static_cast<uint64_t>(message_.data_type()));
    out_.literal(bytes);
  }

  /// Writes the payload in place of the first item with payload; the other such items are dropped.
  void put_payload() {
    if (payload_done_) return;
    payload_done_ = true;
    if (payload_.place == PayloadPlaces::Place::outside) {
      out_.literal(external_entries(store_.add(*payload_.data)));
      if (!external_) out_.literal(external_location());
      return;
    }
    out_.literal(encode::header(payload_field(), payload_.data->byte_size()));
    out_.tensor(*payload_.data);
  }

  /// The field for the payload. Packed floats and doubles have the same bytes as raw_data, so that they can keep their fields.
  [[nodiscard]] uint32_t payload_field() const {
    const DataType type = payload_.data->type();
    if (typed_field_ == TensorProto::kFloatDataFieldNumber && type == DataType::float32) return typed_field_;
    if (typed_field_ == TensorProto::kDoubleDataFieldNumber && type == DataType::float64) return typed_field_;
    return TensorProto::kRawDataFieldNumber;
  }

  const ModelOrigin& origin_;
  wire::Reader& window_;
  PayloadPlaces& store_;
  std::span<const wire::Item> items_;
  const TensorProto& message_;
  OwnAnnotations<TensorProto> own_;
  Header header_;
  Payload payload_;
  Segments out_;
  uint32_t typed_field_ = 0;
  bool external_ = false, dims_done_ = false, payload_done_ = false;
};

Segments TensorSplicer::patched(std::span<const wire::Item> items, const TensorState& tensor) const {
  return Patch(origin_, window_, store_, items, tensor).run();
}

Segments TensorSplicer::anew(const TensorState& tensor) const {
  Segments out;
  const TensorProto& message = *tensor.message;
  const bool apart = tensor.data != nullptr || is_external(message) || origin_.elided_of(message) != nullptr;
  if (!apart || message.data_type() == TensorProto::STRING) {
    out.literal(encode::serialized(message));
    return out;
  }
  const TensorData data = tensor.data != nullptr ? *tensor.data : tensor_data(origin_, message);
  const PayloadPlaces::Place place =
      store_.place({data.byte_size(), is_external(message), tensor.is_new, tensor.data != nullptr, tensor.in_attribute});
  TensorProto header = message;
  encode::unmark(header);
  if (place == PayloadPlaces::Place::as_is && is_external(message)) {
    out.literal(header.SerializePartialAsString());
    return out;
  }
  for (auto clear : {&TensorProto::clear_raw_data, &TensorProto::clear_float_data, &TensorProto::clear_int32_data,
                     &TensorProto::clear_int64_data, &TensorProto::clear_double_data, &TensorProto::clear_uint64_data,
                     &TensorProto::clear_external_data, &TensorProto::clear_data_location}) {
    (header.*clear)();
  }
  out.literal(header.SerializePartialAsString());
  if (place == PayloadPlaces::Place::outside) {
    out.literal(external_entries(store_.add(data)) + external_location());
  } else {
    out.literal(encode::header(TensorProto::kRawDataFieldNumber, data.byte_size()));
    out.tensor(data);
  }
  return out;
}

Segments TensorSplicer::in_attribute(const TensorProto& tensor, const wire::Item& item, const TensorData* data) const {
  const TensorState state{.message = &tensor, .data = data, .in_attribute = true};
  const std::span<const wire::Item> items = origin_.items_of(tensor);
  if (!items.empty()) return patched(items, state);
  if (data != nullptr || !encode::is_same(window_, item, tensor)) return anew(state);
  Segments out;
  out.copy(origin_.file, item.payload(), item.end);
  return out;
}

Segments TensorSplicer::sparse(const onnx::SparseTensorProto& tensor) const {
  using onnx::SparseTensorProto;
  SparseTensorProto shell = tensor;
  shell.clear_values();
  shell.clear_indices();
  Segments out;
  const auto put_part = [&](uint32_t field, const TensorProto& part) {
    Segments body = anew({.message = &part, .in_attribute = true});
    out.literal(encode::header(field, body.size()));
    out.append(std::move(body));
  };
  if (tensor.has_values()) put_part(SparseTensorProto::kValuesFieldNumber, tensor.values());
  if (tensor.has_indices()) put_part(SparseTensorProto::kIndicesFieldNumber, tensor.indices());
  out.literal(encode::serialized(shell));
  return out;
}

}  // namespace relayout
