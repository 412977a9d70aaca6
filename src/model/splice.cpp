// Assembles the model file to be written, in the order of the original file.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>

#include "model/origin.h"
#include "model/save.h"
#include "model/segments.h"
#include "model/splicer.h"
#include "model/wire.h"
#include "relayout/graph.h"

namespace relayout {
namespace {

using onnx::ModelProto;

/// New encodings of the model's own fields (versions, producer, metadata) that were changed, by field number.
class OwnFields {
 public:
  OwnFields(wire::Reader& file, std::span<const wire::Item> items, const ModelProto& now) {
    std::string bytes;
    for (const wire::Item& item : items) {
      if (!is_own(item.field)) continue;
      bytes += encode::item_bytes(file, item);
    }
    ModelProto original, current;
    original.ParsePartialFromString(bytes);
    copy_own_fields(now, current);
    // Protobuf's reflection takes a millisecond to initialize, and most models keep their fields.
    if (original.SerializePartialAsString() == current.SerializePartialAsString()) return;
    const auto* const descriptor = ModelProto::descriptor();
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const auto* const field = descriptor->field(i);
      std::string before = isolate(original, field), after = isolate(current, field);
      if (before != after) changed_.emplace(static_cast<uint32_t>(field->number()), std::move(after));
    }
  }

  /// Writes the new encoding in place of the field's first item, and nothing for the others. False for an unchanged field.
  bool put(Segments& out, uint32_t field) {
    const auto found = changed_.find(field);
    if (found == changed_.end()) return false;
    out.literal(found->second);
    found->second.clear();
    return true;
  }
  /// Writes the changed fields that had no item.
  void put_rest(Segments& out) {
    for (const auto& [field, bytes] : changed_) out.literal(bytes);
  }

 private:
  static bool is_own(uint32_t field) {
    return field != ModelProto::kGraphFieldNumber && field != ModelProto::kTrainingInfoFieldNumber &&
           field != ModelProto::kFunctionsFieldNumber;
  }

  static void copy_own_fields(const ModelProto& from, ModelProto& to) {
    if (from.has_ir_version()) to.set_ir_version(from.ir_version());
    if (from.has_producer_name()) to.set_producer_name(from.producer_name());
    if (from.has_producer_version()) to.set_producer_version(from.producer_version());
    if (from.has_domain()) to.set_domain(from.domain());
    if (from.has_model_version()) to.set_model_version(from.model_version());
    if (from.has_doc_string()) to.set_doc_string(from.doc_string());
    *to.mutable_opset_import() = from.opset_import();
    *to.mutable_metadata_props() = from.metadata_props();
  }

  static std::string isolate(ModelProto& model, const google::protobuf::FieldDescriptor* field) {
    if (!is_own(static_cast<uint32_t>(field->number()))) return {};
    ModelProto alone;
    model.GetReflection()->SwapFields(&model, &alone, {field});
    return alone.SerializePartialAsString();
  }

  std::map<uint32_t, std::string> changed_;
};

}  // namespace

Segments Splicer::model() {
  const Items items = origin_.items_of(model_.message());
  OwnFields own(window_, items, model_.message());
  Segments out;
  int next_function = 0;
  std::size_t kept = 0;
  bool graph_done = false;
  for (const Item& item : items) {
    if (item.is(ModelProto::kGraphFieldNumber) && touched(model_.graph())) {
      if (!std::exchange(graph_done, true)) put(out, ModelProto::kGraphFieldNumber, &item, graph(model_.graph()));
    } else if (item.is(ModelProto::kFunctionsFieldNumber)) {
      // Functions erased by passes are missing here.
      const auto* const message = &model_.message().functions(next_function++);
      if (kept == model_.functions().size() || model_.functions()[kept]->function() != message) continue;
      const Graph& called = *model_.functions()[kept++];
      touched(called) ? put(out, ModelProto::kFunctionsFieldNumber, &item, function(called)) : copy(out, item);
    } else if (item.is(ModelProto::kTrainingInfoFieldNumber) && model_.message().training_info().empty()) {
      continue;  // erased
    } else if (!own.put(out, item.field)) {
      copy(out, item);
    }
  }
  own.put_rest(out);
  return out;
}

void Splicer::put(Segments& out, int field, const Item* item, Segments&& body) {
  if (item != nullptr && body.is_copy(origin_.file, item->payload(), item->end)) return copy(out, *item);
  out.literal(item != nullptr ? encode::header_like(window_, *item, body.size())
                              : encode::header(static_cast<uint32_t>(field), body.size()));
  out.append(std::move(body));
}

Segments splice(const Model& model, PayloadPlaces& store) {
  return Splicer(model, store).model();
}

}  // namespace relayout

namespace relayout::encode {

// Protobuf's encoding for the parts that are not copied.

void number(std::string& out, uint64_t value, std::size_t width) {
  std::size_t written = 1;
  for (; value >= 0x80 || written < width; value >>= 7U, ++written) out.push_back(static_cast<char>((value & 0x7FU) | 0x80U));
  out.push_back(static_cast<char>(value));
}

void tag(std::string& out, uint32_t field, uint32_t wire_type) {
  number(out, static_cast<uint64_t>(field) << 3U | wire_type);
}

std::string header(uint32_t field, int64_t length) {
  std::string out;
  tag(out, field, kBytes);
  number(out, static_cast<uint64_t>(length));
  return out;
}

std::string header_like(wire::Reader& file, const wire::Item& item, int64_t length) {
  const std::string original = file.bytes(item.start, item.payload());
  std::size_t tag_size = 1;
  while ((static_cast<unsigned char>(original[tag_size - 1]) & 0x80U) != 0) ++tag_size;
  std::string needed;
  number(needed, static_cast<uint64_t>(item.end - item.payload()));
  const std::size_t width = original.size() - tag_size;
  std::string out = original.substr(0, tag_size);
  number(out, static_cast<uint64_t>(length), width > needed.size() ? width : 1);
  return out;
}

void unmark(google::protobuf::UnknownFieldSet& unknown) {
  unknown.DeleteByNumber(wire::kMarkerField);
  unknown.DeleteByNumber(wire::kElidedField);
}

std::string serialized_fields(const google::protobuf::Message& message, int first, int last) {
  const std::unique_ptr<google::protobuf::Message> copy(message.New());
  copy->CopyFrom(message);
  const auto& reflection = *copy->GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(*copy, &fields);
  for (const auto* field : fields) {
    if (field->number() < first || field->number() > last) reflection.ClearField(copy.get(), field);
  }
  google::protobuf::UnknownFieldSet& unknown = *reflection.MutableUnknownFields(copy.get());
  last == kLastField ? unmark(unknown) : unknown.Clear();
  return copy->SerializePartialAsString();
}

bool parse_item(wire::Reader& file, const wire::Item& item, google::protobuf::Message& out) {
  const std::string stored = item_bytes(file, item);
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(stored.data()) + item.header,
                                                static_cast<int>(stored.size()) - item.header);
  stream.SetRecursionLimit(kRecursionLimit);
  return out.ParsePartialFromCodedStream(&stream);
}

}  // namespace relayout::encode
