// Reads files of numbers as the values of inputs, and writes the inputs and outputs of a sample as a folder of them.

#include "verify/inputs/data_file.h"

#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>

#include <climits>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/positions.h"
#include "base/text.h"
#include "layout/axis_order.h"
#include "model/origin.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/inputs/port.h"

namespace relayout {

namespace {

constexpr int kMaxLevels = 16;

/// Turns messages of onnx-data.proto into values.
class DataReader {
 public:
  explicit DataReader(const std::filesystem::path& path) { origin_.directory = path.parent_path(); }

  Datum tensor(onnx::TensorProto& message) const {
    // The loader marks tensors of a model in their unknown fields; a tensor of a data file must not have such marks.
    message.DiscardUnknownFields();
    return load_tensor(origin_, message);
  }

  Datum sequence(onnx::SequenceProto& message, int level = 0) const {
    check_level(level);
    Datum out;
    out.kind = Datum::Kind::sequence;
    for (auto& element : *message.mutable_tensor_values()) out.elements.push_back(tensor(element));
    for (auto& element : *message.mutable_sequence_values()) out.elements.push_back(sequence(element, level + 1));
    for (auto& element : *message.mutable_optional_values()) out.elements.push_back(optional(element, level + 1));
    for (auto& element : *message.mutable_map_values()) out.elements.push_back(map(element));
    if (message.sparse_tensor_values_size() > 0) refuse();
    return out;
  }

  Datum optional(onnx::OptionalProto& message, int level = 0) const {
    check_level(level);
    Datum out;
    out.kind = Datum::Kind::optional;
    if (message.has_tensor_value()) out.elements.push_back(tensor(*message.mutable_tensor_value()));
    if (message.has_sequence_value()) out.elements.push_back(sequence(*message.mutable_sequence_value(), level + 1));
    if (message.has_optional_value()) out.elements.push_back(optional(*message.mutable_optional_value(), level + 1));
    if (message.has_map_value()) out.elements.push_back(map(*message.mutable_map_value()));
    if (message.has_sparse_tensor_value()) refuse();
    return out;
  }

  /// Keys of 64 bits or strings; values are scalars, a tensor each.
  Datum map(onnx::MapProto& message) const {
    const bool has_texts = message.key_type() == onnx::TensorProto_DataType_STRING;
    if (!has_texts && message.key_type() != onnx::TensorProto_DataType_INT64) refuse();
    Tensor keys(has_texts ? DataType::string : DataType::int64, {has_texts ? message.string_keys_size() : message.keys_size()});
    if (has_texts) {
      std::ranges::copy(message.string_keys(), keys.data<std::string>());
    } else {
      std::ranges::copy(message.keys(), keys.data<int64_t>());
    }
    const Datum values = sequence(*message.mutable_values());
    const auto count = static_cast<int64_t>(values.elements.size());
    if (count != keys.element_count() || count == 0)
      fail(ErrorKind::invalid, "a map has " + std::to_string(count) + " values for " + std::to_string(keys.element_count()) + " keys");
    Tensor stacked(values.elements.front().tensor.type(), {count});
    for (int64_t i = 0; i < count; ++i) {
      const Tensor& value = values.elements[as_size(i)].tensor;
      if (value.type() != stacked.type() || value.element_count() != 1) refuse();
      const Tensor place = stacked.view({1}, {1}, i);
      copy_elements(1, place, contiguous(value).view({1}, {1}));
    }
    return map_of(keys, stacked);
  }

 private:
  static void check_level(int level) {
    if (level > kMaxLevels) fail(ErrorKind::invalid, "sequences nest more than " + std::to_string(kMaxLevels) + " levels");
  }
  [[noreturn]] static void refuse() { fail(ErrorKind::unsupported, "maps with other keys or values and sparse tensors are not read"); }

  ModelOrigin origin_;
};

template <class Message>
Message parse(const std::string& bytes, const char* what) {
  Message message;
  if (!message.ParseFromString(bytes)) {
    fail(ErrorKind::invalid,
         std::string("neither a ") + what + " in protobuf nor .npy; images are known by their extension (.png, .jpg, .bmp, .gif, .ppm)");
  }
  return message;
}

Datum read_protobuf(const std::string& bytes, const std::filesystem::path& path, Datum::Kind kind) {
  const DataReader reader(path);
  if (kind == Datum::Kind::sequence) {
    auto message = parse<onnx::SequenceProto>(bytes, "SequenceProto");
    return reader.sequence(message);
  }
  if (kind == Datum::Kind::optional) {
    auto message = parse<onnx::OptionalProto>(bytes, "OptionalProto");
    return reader.optional(message);
  }
  if (kind == Datum::Kind::map) {
    auto message = parse<onnx::MapProto>(bytes, "MapProto");
    return reader.map(message);
  }
  auto message = parse<onnx::TensorProto>(bytes, "TensorProto");
  return reader.tensor(message);
}

}  // namespace

std::string whole_data_file(const File& file) {
  if (file.size() > INT_MAX) fail(ErrorKind::unsupported, "data files of 2 GiB and more are not read");
  return file.text(0, file.size());
}

Datum read_data_file(const std::filesystem::path& path, Datum::Kind kind) {
  return named(path.string(), [&] {
    const std::string bytes = whole_data_file(*File::open(path));
    const bool is_npy = bytes.starts_with("\x93NUMPY") || path.extension() == ".npy";
    return is_npy ? Datum(parse_npy(std::as_bytes(std::span(bytes)))) : read_protobuf(bytes, path, kind);
  });
}

namespace {

/// Hint for a tensor that fits the port once its channels are moved to the other end; empty: it does not.
std::string hint_at_order(const Datum& datum, const Port& port) {
  const std::size_t rank = port.dims.size();
  if (datum.kind != Datum::Kind::tensor || rank < 3 || datum.tensor.dims().size() != rank) return {};
  const auto fits = [&](const std::vector<int64_t>& permutation) {
    const Dims dims = datum.tensor.transposed(permutation).dims();
    return std::ranges::equal(dims, port.dims, [](int64_t held, int64_t declared) { return declared < 0 || held == declared; });
  };
  const Dims to_front = layout::from_channels_last(rank), to_back = layout::to_channels_last(rank);
  if (fits(to_front)) {
    return "it is channels-last: transpose it by " + to_string(to_front) + ", or let convert --io nhwc make a model that takes it so";
  }
  if (fits(to_back)) {
    return "the model takes it channels-last: transpose it by " + to_string(to_back) +
           ", or take convert --io nhwc back by --layout contiguous";
  }
  return {};
}

}  // namespace

void check_fits(const Datum& datum, const Port& port, const std::string& name) {
  const auto refuse = [&](const std::string& holds) {
    fail(ErrorKind::invalid, name + " is declared " + type_text(port) + ", the file holds " + holds, hint_at_order(datum, port));
  };
  if (datum.kind != port.kind) refuse(datum.kind == Datum::Kind::tensor ? "a tensor" : "a sequence, optional or map");
  if (datum.kind != Datum::Kind::tensor) {
    for (std::size_t i = 0; i < datum.elements.size(); ++i) {
      Port element = port.element[datum.kind == Datum::Kind::map ? i : 0];
      if (datum.kind == Datum::Kind::map) element.has_shape = false;  // it is that of one key or value
      check_fits(datum.elements[i], element, name);
    }
    return;
  }
  const std::string held = std::string(name_of(datum.tensor.type())) + to_string(datum.tensor.dims());
  if (port.type != DataType::undefined && datum.tensor.type() != port.type) refuse(held);
  if (!port.has_shape) return;
  if (datum.tensor.dims().size() != port.dims.size()) refuse(held);
  for (std::size_t i = 0; i < port.dims.size(); ++i) {
    if (port.dims[i] >= 0 && port.dims[i] != datum.tensor.dims()[i]) refuse(held);
  }
}

// Folders that other tools read, written whole or not at all.
namespace {

namespace fs = std::filesystem;

/// Elements as stored in files: 4 bits and fewer packed, the first element in the low bits.
std::string packed(const Tensor& dense) {
  const auto count = as_size(dense.element_count());
  const auto bits = static_cast<unsigned>(traits(dense.type()).bits);
  if (bits >= 8 || dense.type() == DataType::boolean) {
    return {reinterpret_cast<const char*>(dense.bytes()), count * memory_size(dense.type())};
  }
  std::string out((count * bits + 7) / 8, '\0');
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned value = std::to_integer<unsigned>(dense.bytes()[i]) & ((1U << bits) - 1);
    char& byte = out[i * bits / 8];
    byte = static_cast<char>(static_cast<unsigned char>(byte) | value << (i * bits % 8));
  }
  return out;
}

onnx::TensorProto tensor_message(const Tensor& tensor, const std::string& name) {
  onnx::TensorProto message;
  if (!name.empty()) message.set_name(name);
  message.set_data_type(static_cast<int32_t>(tensor.type()));
  for (const int64_t dim : tensor.dims()) message.add_dims(dim);
  const Tensor dense = contiguous(tensor);
  if (tensor.type() == DataType::string) {
    for (int64_t i = 0; i < dense.element_count(); ++i) message.add_string_data(dense.data<std::string>()[i]);
  } else {
    message.set_raw_data(packed(dense));
  }
  return message;
}

onnx::OptionalProto optional_message(const Datum& datum, const std::string& name);
onnx::MapProto map_message(const Datum& datum, const std::string& name);

onnx::SequenceProto sequence_message(const Datum& datum, const std::string& name) {
  onnx::SequenceProto message;
  message.set_name(name);
  message.set_elem_type(onnx::SequenceProto::TENSOR);
  for (const Datum& element : datum.elements) {
    switch (element.kind) {
      case Datum::Kind::tensor:
        *message.add_tensor_values() = tensor_message(element.tensor, {});
        break;
      case Datum::Kind::sequence:
        message.set_elem_type(onnx::SequenceProto::SEQUENCE);
        *message.add_sequence_values() = sequence_message(element, {});
        break;
      case Datum::Kind::optional:
        message.set_elem_type(onnx::SequenceProto::OPTIONAL);
        *message.add_optional_values() = optional_message(element, {});
        break;
      case Datum::Kind::map:
        message.set_elem_type(onnx::SequenceProto::MAP);
        *message.add_map_values() = map_message(element, {});
        break;
    }
  }
  return message;
}

onnx::OptionalProto optional_message(const Datum& datum, const std::string& name) {
  onnx::OptionalProto message;
  message.set_name(name);
  message.set_elem_type(onnx::OptionalProto::UNDEFINED);
  if (datum.elements.empty()) return message;
  const Datum& element = datum.elements.front();
  if (element.kind == Datum::Kind::tensor) {
    message.set_elem_type(onnx::OptionalProto::TENSOR);
    *message.mutable_tensor_value() = tensor_message(element.tensor, {});
  } else if (element.kind == Datum::Kind::sequence) {
    message.set_elem_type(onnx::OptionalProto::SEQUENCE);
    *message.mutable_sequence_value() = sequence_message(element, {});
  } else if (element.kind == Datum::Kind::map) {
    message.set_elem_type(onnx::OptionalProto::MAP);
    *message.mutable_map_value() = map_message(element, {});
  } else {
    message.set_elem_type(onnx::OptionalProto::OPTIONAL);
    *message.mutable_optional_value() = optional_message(element, {});
  }
  return message;
}

onnx::MapProto map_message(const Datum& datum, const std::string& name) {
  onnx::MapProto message;
  message.set_name(name);
  const Tensor keys = contiguous(datum.elements.front().tensor), values = contiguous(datum.elements.back().tensor);
  message.set_key_type(static_cast<int32_t>(keys.type()));
  Datum each;
  for (int64_t i = 0; i < keys.element_count(); ++i) {
    if (keys.type() == DataType::string) {
      message.add_string_keys(keys.data<std::string>()[i]);
    } else {
      message.add_keys(keys.data<int64_t>()[i]);
    }
    each.elements.emplace_back(values.view({}, {}, i));
  }
  *message.mutable_values() = sequence_message(each, {});
  return message;
}

std::string file_bytes(const Datum& datum, const std::string& name) {
  if (datum.kind == Datum::Kind::sequence) return sequence_message(datum, name).SerializeAsString();
  if (datum.kind == Datum::Kind::optional) return optional_message(datum, name).SerializeAsString();
  if (datum.kind == Datum::Kind::map) return map_message(datum, name).SerializeAsString();
  return tensor_message(datum.tensor, name).SerializeAsString();
}

/// Errors name the final file, not the draft.
void write_in_draft(const fs::path& path, const fs::path& final_path, const std::string& bytes) {
  try {
    write_text_file(path, bytes);
  } catch (const Error& error) {
    const std::string draft = escape(path.string());
    std::string message = error.what();
    if (message.starts_with(draft)) message.replace(0, draft.size(), escape(final_path.string()));
    fail(error.kind(), message, error.hint());
  }
}

}  // namespace

void save_data_set(const fs::path& directory, int number, const std::vector<Datum>& inputs, const std::vector<Datum>& outputs,
                   const std::vector<std::string>& input_names, const std::vector<std::string>& output_names) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) fail_io(directory.string(), error.message());
  const fs::path target = directory / (std::string(kDataSetPrefix) + std::to_string(number));
  if (fs::exists(target, error)) fail(ErrorKind::usage, escape(target.string()) + " is there already");
  DraftFolder draft(target);
  const auto write = [&](const std::string& side, const std::vector<Datum>& data, const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      const std::string name = side + "_" + std::to_string(i) + ".pb";
      write_in_draft(draft.path() / name, target / name, file_bytes(data[i], names[i]));
    }
  };
  write("input", inputs, input_names);
  write("output", outputs, output_names);
  draft.publish();
}

}  // namespace relayout
