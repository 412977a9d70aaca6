// Reads the contents of tensors wherever the file stores them, and refuses payloads that do not fit.
#include "model/origin.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include <cstring>

#include "base/file.h"
#include "base/positions.h"
#include "base/text.h"
#include "model/diagnose.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "model/wire.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// The field of TensorProto that holds typed data.
enum class TypedField { float_data, int32_data, int64_data, double_data, uint64_data, string_data };

struct TypedCount {
  TypedField field;
  const char* name;
  int64_t count;
};

TypedField typed_field(DataType type) {
  switch (type) {
    case DataType::float32:
    case DataType::complex64:
      return TypedField::float_data;
    case DataType::int64:
      return TypedField::int64_data;
    case DataType::float64:
    case DataType::complex128:
      return TypedField::double_data;
    case DataType::uint32:
    case DataType::uint64:
      return TypedField::uint64_data;
    case DataType::string:
      return TypedField::string_data;
    default:
      return TypedField::int32_data;
  }
}

/// Number of entries in the typed field of a tensor of `count` elements: complex numbers take two, 4-bit types share one.
int64_t typed_entries(DataType type, int64_t count) {
  if (type == DataType::complex64 || type == DataType::complex128) return 2 * count;
  if (traits(type).bits < 8 && type != DataType::string) return packed_byte_size(type, count);
  return count;
}

std::array<TypedCount, 6> typed_counts(const onnx::TensorProto& tensor, const wire::Elided* elided) {
  const auto elided_count = [&](int field, int64_t size) -> int64_t {
    return elided != nullptr && elided->field == static_cast<uint32_t>(field) ? elided->length / size : 0;
  };
  return {{
      {TypedField::float_data, "float_data", tensor.float_data_size() + elided_count(onnx::TensorProto::kFloatDataFieldNumber, 4)},
      {TypedField::int32_data, "int32_data", tensor.int32_data_size()},
      {TypedField::int64_data, "int64_data", tensor.int64_data_size()},
      {TypedField::double_data, "double_data", tensor.double_data_size() + elided_count(onnx::TensorProto::kDoubleDataFieldNumber, 8)},
      {TypedField::uint64_data, "uint64_data", tensor.uint64_data_size()},
      {TypedField::string_data, "string_data", tensor.string_data_size()},
  }};
}

/// Whether the tensor has entries in a typed field. Error{invalid} when these are in the field of a different type, or their number is
/// wrong.
bool has_typed_data(const onnx::TensorProto& tensor, const wire::Elided* elided, DataType type, int64_t count) {
  bool found = false;
  for (const TypedCount& typed : typed_counts(tensor, elided)) {
    if (typed.count == 0) continue;
    if (typed.field != typed_field(type)) {
      fail(ErrorKind::invalid, std::string(typed.name) + " in a tensor of type " + std::string(name_of(type)));
    }
    const int64_t expected = typed_entries(type, count);
    if (typed.count != expected) {
      fail(ErrorKind::invalid, std::string(typed.name) + " has " + std::to_string(typed.count) + " entries, dims " +
                                   to_string(Dims(tensor.dims().begin(), tensor.dims().end())) + " need " + std::to_string(expected));
    }
    found = true;
  }
  return found;
}

/// Values of a typed field as little-endian bytes of `Stored`. Excess bits are cut off, as in every reader of this format.
template <class Stored, class Field>
Bytes typed_bytes(const Field& values) {
  std::vector<std::byte> bytes(as_size(values.size()) * sizeof(Stored));
  std::byte* out = bytes.data();
  for (const auto value : values) {
    const auto stored = static_cast<Stored>(value);
    std::memcpy(out, &stored, sizeof stored);
    out += sizeof stored;
  }
  return Bytes::owned(std::move(bytes));
}

Bytes typed_bytes_of(const onnx::TensorProto& tensor, DataType type) {
  switch (typed_field(type)) {
    case TypedField::float_data:
      return typed_bytes<float>(tensor.float_data());
    case TypedField::double_data:
      return typed_bytes<double>(tensor.double_data());
    case TypedField::int64_data:
      return typed_bytes<int64_t>(tensor.int64_data());
    case TypedField::uint64_data:
      return type == DataType::uint32 ? typed_bytes<uint32_t>(tensor.uint64_data()) : typed_bytes<uint64_t>(tensor.uint64_data());
    default:
      break;
  }
  switch (traits(type).bits) {
    case 32:
      return typed_bytes<int32_t>(tensor.int32_data());
    case 16:
      return typed_bytes<uint16_t>(tensor.int32_data());
    default:
      return typed_bytes<uint8_t>(tensor.int32_data());
  }
}

DataType checked_type(const onnx::TensorProto& tensor) {
  const DataTypeTraits* const known = find_traits(tensor.data_type());
  if (known == nullptr) fail(ErrorKind::invalid, "unknown data type " + std::to_string(tensor.data_type()));
  if (tensor.has_segment()) fail(ErrorKind::unsupported, "its data comes in segments");
  return known->type;
}

Bytes payload(const ModelOrigin& origin, const onnx::TensorProto& tensor, DataType type, const Dims& dims) {
  const int64_t count = element_count(dims);
  const int64_t size = packed_byte_size(type, count);
  const wire::Elided* const elided = origin.elided_of(tensor);
  const bool elided_raw = elided != nullptr && elided->field == onnx::TensorProto::kRawDataFieldNumber;
  const int64_t raw_size = elided_raw ? elided->length : static_cast<int64_t>(tensor.raw_data().size());
  const bool typed = has_typed_data(tensor, elided, type, count);
  if (typed && raw_size > 0) fail(ErrorKind::invalid, "both raw_data and typed data");
  if (is_external(tensor)) {
    if (typed || raw_size > 0) fail(ErrorKind::invalid, "both external and own data");
    return external_bytes(origin, tensor, size);
  }
  if (typed) return elided != nullptr ? Bytes::of_file(origin.file, elided->offset, elided->length) : typed_bytes_of(tensor, type);
  if (raw_size != size) {
    fail(ErrorKind::invalid, "raw_data has " + std::to_string(raw_size) + " bytes, " + std::string(name_of(type)) + to_string(dims) +
                                 " needs " + std::to_string(size));
  }
  if (elided_raw) return Bytes::of_file(origin.file, elided->offset, elided->length);
  const bool is_of_file = origin.arena != nullptr && tensor.GetArena() == origin.arena.get();
  return is_of_file ? Bytes::held(origin.arena, tensor.raw_data()) : Bytes::owned(tensor.raw_data());
}

/// Runs `read`, and prefixes errors with the tensor's name.
template <class Read>
auto with_name_of(const onnx::TensorProto& tensor, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    const std::string label = tensor.name().empty() ? "a tensor without name" : "tensor " + quote(tensor.name());
    fail(error.kind(), label + ": " + error.what(), error.hint());
  }
}

Tensor load_strings(const onnx::TensorProto& tensor, Dims dims) {
  const int64_t count = element_count(dims);
  if (tensor.has_raw_data() || is_external(tensor)) fail(ErrorKind::invalid, "a string tensor must have its data in string_data");
  if (!has_typed_data(tensor, nullptr, DataType::string, count) && count != 0) {
    fail(ErrorKind::invalid, "a string tensor without string_data");
  }
  Tensor out(DataType::string, std::move(dims));
  auto* target = out.data<std::string>();
  for (const std::string& text : tensor.string_data()) *target++ = text;
  return out;
}

int64_t marker(const google::protobuf::UnknownFieldSet& fields, int number) {
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i).number() == number) return static_cast<int64_t>(fields.field(i).varint());
  }
  return -1;
}

}  // namespace

void ModelOrigin::note_elements(const onnx::ModelProto& model) {
  std::vector<const onnx::GraphProto*> open{&model.graph()};
  const auto note_nodes = [&](const auto& nodes, OriginalElements& out) {
    for (const onnx::NodeProto& node : nodes) {
      ++out.nodes;
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        for_each_graph_in(attribute, [&](const onnx::GraphProto& nested) { open.push_back(&nested); });
      }
    }
  };
  const auto note = [](const auto& field, auto& out) {
    for (const auto& element : field) out.push_back(&element);
  };
  for (const onnx::FunctionProto& function : model.functions()) {
    OriginalElements& out = elements[&function];
    note_nodes(function.node(), out);
    note(function.value_info(), out.value_infos);
  }
  while (!open.empty()) {
    const onnx::GraphProto& graph = *open.back();
    open.pop_back();
    OriginalElements& out = elements[&graph];
    note_nodes(graph.node(), out);
    out.initializers = as_size(graph.initializer_size());
    out.sparse_initializers = as_size(graph.sparse_initializer_size());
    note(graph.input(), out.inputs);
    note(graph.output(), out.outputs);
    note(graph.value_info(), out.value_infos);
  }
  OriginalElements& of_main = elements.at(&model.graph());
  of_main.nodes = walk.main_nodes.size();
  of_main.initializers = walk.initializer_ends.size();
}

std::string_view ModelOrigin::bytes_of_initializer(std::size_t number) const {
  const std::size_t begin = number == 0 ? 0 : walk.initializer_ends[number - 1];
  return std::string_view(*initializer_bytes).substr(begin, walk.initializer_ends[number] - begin);
}

template <class Message>
void ModelOrigin::parse(std::string_view bytes, Message& out) const {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kRecursionLimit);
  if (!out.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    refuse_foreign(*file);
    refuse_malformed(*this);
  }
}
template void ModelOrigin::parse(std::string_view bytes, onnx::NodeProto& out) const;

void ModelOrigin::read_initializer(std::size_t number, onnx::TensorProto& out) const {
  parse(bytes_of_initializer(number), out);
}

void write_header(const Initializer& initializer, onnx::TensorProto& out) {
  const Dims& dims = initializer.data->dims();
  out.set_name(initializer.value->name());
  out.set_data_type(static_cast<int>(initializer.data->type()));
  out.mutable_dims()->Assign(dims.begin(), dims.end());
}

void write_operands(const Node& node, onnx::NodeProto& out) {
  const auto write = [](std::span<Value* const> values, auto& names) {
    names.Clear();
    names.Reserve(static_cast<int>(values.size()));
    for (const Value* const value : values) value != nullptr ? *names.Add() = value->name() : *names.Add();
  };
  // A name that is present but empty is kept.
  if (!node.name().empty()) out.set_name(node.name());
  write(node.inputs(), *out.mutable_input());
  write(node.outputs(), *out.mutable_output());
}

const wire::Message* ModelOrigin::record_with(const google::protobuf::UnknownFieldSet& fields) const {
  const int64_t number = marker(fields, wire::kMarkerField);
  return number < 0 ? nullptr : &walk.messages[as_size(number)];
}

const wire::Elided* ModelOrigin::elided_of(const onnx::TensorProto& tensor) const {
  const int64_t number = marker(tensor.unknown_fields(), wire::kElidedField);
  return number < 0 ? nullptr : &walk.elided[as_size(number)];
}

TensorData tensor_data(const ModelOrigin& origin, const onnx::TensorProto& tensor) {
  return with_name_of(tensor, [&] {
    const DataType type = checked_type(tensor);
    if (type == DataType::string) fail(ErrorKind::defect, "strings have no bytes");
    Dims dims(tensor.dims().begin(), tensor.dims().end());
    Bytes bytes = payload(origin, tensor, type, dims);
    return TensorData(type, std::move(dims), std::move(bytes));
  });
}

TensorData tensor_data(const Model& model, const onnx::TensorProto& tensor) {
  return tensor_data(origin_of(model), tensor);
}

Tensor load_tensor(const ModelOrigin& origin, const onnx::TensorProto& tensor) {
  if (tensor.data_type() != onnx::TensorProto::STRING) return tensor_data(origin, tensor).load();
  return with_name_of(tensor, [&] {
    (void)checked_type(tensor);
    return load_strings(tensor, Dims(tensor.dims().begin(), tensor.dims().end()));
  });
}

Tensor load_tensor(const Model& model, const onnx::TensorProto& tensor) {
  return load_tensor(origin_of(model), tensor);
}

// Payloads in data files.
namespace {

namespace fs = std::filesystem;

/// The entries of external_data that locate the payload; `checksum` and unknown entries are preserved but not read.
struct Location {
  std::string path;
  int64_t offset = 0;
  std::optional<int64_t> length;
};

int64_t parse_number(const std::string& key, const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) fail(ErrorKind::invalid, "external " + key + " " + quote(text) + " is beyond 2^63");
  if (error != std::errc() || end != text.data() + text.size() || text.starts_with('-')) {
    fail(ErrorKind::invalid, "external " + key + " " + quote(text) + " is not a number of bytes");
  }
  return value;
}

Location parse_location(const onnx::TensorProto& tensor) {
  Location location;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") location.path = entry.value();
    if (entry.key() == "offset") location.offset = parse_number("offset", entry.value());
    if (entry.key() == "length") location.length = parse_number("length", entry.value());
  }
  return location;
}

void check_location(const std::string& location) {
  const auto refuse = [&](const std::string& why) { fail(ErrorKind::invalid, "external location " + quote(location) + " " + why); };
  if (location.empty()) refuse("is empty");
  if (location.find('\0') != std::string::npos) refuse("contains a NUL character");
  const fs::path path(location);
  if (path.is_absolute()) refuse("is not relative to the model");
  for (const fs::path& part : path) {
    if (part == "..") refuse("leads out of the model's folder");
  }
}

bool is_inside(const fs::path& path, const fs::path& directory) {
  const fs::path relative = path.lexically_relative(directory);
  return !relative.empty() && *relative.begin() != "..";
}

/// Whether symbolic links keep `path` within the model's folder, or within the folder that the model's own link resolves to: hub
/// caches link a model and its data into one store.
bool stays_with_model(const fs::path& path, const ModelOrigin& origin) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return true;  // opening it will report the error
  const fs::path folder = fs::canonical(origin.directory, error);
  if (!error && is_inside(real, folder)) return true;
  if (origin.source->path().empty()) return false;
  const fs::path model = fs::canonical(origin.source->path(), error);
  return !error && is_inside(real, model.parent_path());
}

}  // namespace

bool is_external(const onnx::TensorProto& tensor) {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL;
}

std::shared_ptr<const File> ModelOrigin::external_file(const std::string& location) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const File>& data_file = external_files_[location];
  if (!data_file) {
    check_location(location);
    const fs::path path = directory / location;
    if (!stays_with_model(path, *this)) {
      fail(ErrorKind::invalid, "external location " + quote(location) + " leads out of the model's folder through a symbolic link");
    }
    data_file = File::open(path);
  }
  return data_file;
}

std::unordered_map<std::string, std::shared_ptr<const File>> ModelOrigin::external_files() const {
  const std::lock_guard lock(mutex_);
  return external_files_;
}

Bytes external_bytes(const ModelOrigin& origin, const onnx::TensorProto& tensor, int64_t expected_size) {
  const Location location = parse_location(tensor);
  if (location.length && *location.length != expected_size) {
    fail(ErrorKind::invalid, "external length " + std::to_string(*location.length) + " is not the " + std::to_string(expected_size) +
                                 " bytes of its dims and type");
  }
  std::shared_ptr<const File> file = origin.external_file(location.path);
  if (expected_size > file->size() || location.offset > file->size() - expected_size) {
    fail(ErrorKind::invalid, std::to_string(expected_size) + " bytes at offset " + std::to_string(location.offset) +
                                 " are beyond the end of " + quote(location.path) + " (" + std::to_string(file->size()) + " bytes)");
  }
  return Bytes::of_file(std::move(file), location.offset, expected_size);
}

}  // namespace relayout
