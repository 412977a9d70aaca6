// Reads files of numbers as the values of inputs, and checks these against the declared input.
#include "verify/inputs/data_file.h"

#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>

#include <climits>

#include "base/file.h"
#include "base/positions.h"
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

}  // namespace relayout
