// Writes the inputs and outputs of a sample as a folder that other tools read, complete or not at all.
#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/positions.h"
#include "base/text.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/inputs/data_file.h"

namespace relayout {
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
