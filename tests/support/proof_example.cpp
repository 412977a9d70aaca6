#include "support/proof_example.h"

#include <cstring>
#include <limits>

#include "base/half.h"
#include "base/random.h"
#include "model/text_format.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

template <class Make>
Array filled(Dims dims, DataType type, const Make& make) {
  Array out{type, std::move(dims), {}};
  const auto count = static_cast<std::size_t>(element_count(out.dims));
  for (std::size_t i = 0; i < count; ++i) out.values.push_back(rounded(make(i), type));
  return out;
}

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string raw_bytes(const Array& array) {
  std::string out;
  for (const double value : array.values) {
    switch (array.type) {
      case DataType::float64:
        append(out, value);
        break;
      case DataType::float16:
        append(out, double_to_half(value));
        break;
      case DataType::bfloat16:
        append(out, double_to_bfloat16(value));
        break;
      default:
        append(out, static_cast<float>(value));
    }
  }
  return out;
}

}  // namespace

Array normal(std::string_view name, Dims dims, DataType type) {
  const RandomStream stream(7, name);
  return filled(std::move(dims), type, [&](std::size_t i) { return stream.normal(i); });
}

Array uniform(std::string_view name, Dims dims, double least, double most, DataType type) {
  const RandomStream stream(7, name);
  return filled(std::move(dims), type, [&](std::size_t i) { return least + (most - least) * stream.uniform(i); });
}

double rounded(double value, DataType type) {
  switch (type) {
    case DataType::float64:
      return value;
    case DataType::float16:
      return static_cast<double>(half_to_float(double_to_half(value)));
    case DataType::bfloat16:
      return static_cast<double>(bfloat16_to_float(double_to_bfloat16(value)));
    default:
      return static_cast<double>(static_cast<float>(value));
  }
}

double next(double value, DataType type) {
  const double away = std::copysign(std::numeric_limits<double>::infinity(), value);
  switch (type) {
    case DataType::float64:
      return std::nextafter(value, away);
    case DataType::float16:
      return static_cast<double>(half_to_float(static_cast<uint16_t>(double_to_half(value) + 1)));
    case DataType::bfloat16:
      return static_cast<double>(bfloat16_to_float(static_cast<uint16_t>(double_to_bfloat16(value) + 1)));
    default:
      return static_cast<double>(std::nextafter(static_cast<float>(value), static_cast<float>(away)));
  }
}

Array permuted(const Array& array, const Dims& permutation) {
  Array out{array.type, {}, std::vector<double>(array.size())};
  for (const int64_t from : permutation) out.dims.push_back(array.dims[static_cast<std::size_t>(from)]);
  const Dims strides = contiguous_strides(array.dims);
  Dims index(out.dims.size(), 0);
  for (double& value : out.values) {
    int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * strides[static_cast<std::size_t>(permutation[d])];
    value = array[static_cast<std::size_t>(at)];
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < out.dims[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

BatchNorm::BatchNorm(std::string_view name, int64_t channels, DataType type)
    : scale(uniform(std::string(name) + "scale", {channels}, 0.5, 1.5, type)),
      bias(normal(std::string(name) + "bias", {channels}, type)),
      mean(normal(std::string(name) + "mean", {channels}, type)),
      variance(uniform(std::string(name) + "var", {channels}, 0.1, 2, type)) {}

double BatchNorm::factor(std::size_t channel) const {
  return scale[channel] / std::sqrt(variance[channel] + epsilon);
}

double BatchNorm::shift(std::size_t channel) const {
  return bias[channel] - factor(channel) * mean[channel];
}

Example::Example(std::string_view graph, int opset) {
  const std::string text =
      "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + ", \"own\" : 1, \"com.microsoft\" : 1]> " + std::string(graph);
  message_.ParseFromString(text_format::to_binary(text, FileFormat::onnx_text));
}

Example& Example::add(std::string_view name, const Array& array) {
  onnx::TensorProto& out = *message_.mutable_graph()->add_initializer();
  out.set_name(std::string(name));
  out.set_data_type(static_cast<int>(array.type));
  for (const int64_t dim : array.dims) out.add_dims(dim);
  out.set_raw_data(raw_bytes(array));
  return *this;
}

Example& Example::add(std::string_view name, std::vector<int64_t> integers) {
  onnx::TensorProto& out = *message_.mutable_graph()->add_initializer();
  out.set_name(std::string(name));
  out.set_data_type(onnx::TensorProto::INT64);
  out.add_dims(static_cast<int64_t>(integers.size()));
  out.set_raw_data(std::string(reinterpret_cast<const char*>(integers.data()), integers.size() * sizeof(int64_t)));
  return *this;
}

Example& Example::add(std::string_view name, const BatchNorm& batch_norm) {
  const std::string prefix(name);
  add(prefix + "_scale", batch_norm.scale);
  add(prefix + "_bias", batch_norm.bias);
  add(prefix + "_mean", batch_norm.mean);
  return add(prefix + "_var", batch_norm.variance);
}

Example& Example::edit(const std::function<void(onnx::ModelProto&)>& change) {
  change(message_);
  return *this;
}

onnx::TensorProto& Example::tensor(std::string_view name) {
  for (onnx::TensorProto& tensor : *message_.mutable_graph()->mutable_initializer()) {
    if (tensor.name() == name) return tensor;
  }
  throw std::out_of_range(std::string(name));
}

std::unique_ptr<Model> Example::model() const {
  return Model::from_bytes(message_.SerializeAsString());
}

ProofResult prove(const Example& a, const Example& b) {
  return relayout::prove(*a.model(), *b.model());
}

testing::AssertionResult is_proved(const ProofResult& result) {
  if (result.proved && result.unexplained.empty()) return testing::AssertionSuccess();
  testing::AssertionResult out = testing::AssertionFailure() << "not proved:";
  for (const Unexplained& entry : result.unexplained) out << "\n  " << to_string(entry.kind) << ": " << entry.text;
  return out;
}

testing::AssertionResult names(const ProofResult& result, Unexplained::Kind kind, std::string_view part) {
  if (!result.proved && result.unexplained.size() == 1 && result.unexplained[0].kind == kind &&
      result.unexplained[0].text.find(part) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  if (result.proved) return testing::AssertionFailure() << "proved";
  return testing::AssertionFailure() << is_proved(result).message() << "\nexpected one of kind " << to_string(kind) << " with \"" << part
                                     << '"';
}

}  // namespace relayout::test
