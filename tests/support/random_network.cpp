#include "support/random_network.h"

#include <set>

#include "model/float_elements.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::test {

int64_t Dice::from(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random_.below(next_++, static_cast<uint64_t>(high - low + 1)));
}

RandomNetwork::RandomNetwork(uint64_t seed) : dice_(seed, "network") {
  opset_ = dice_.pick<int64_t>({6, 7, 8, 9, 10, 11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 20, 21, 22});
  type_ = dice_.pick<DataType>(
      {DataType::float64, DataType::float64, DataType::float64, DataType::float32, DataType::float32, DataType::float16});
  model_.set_ir_version(dice_.one_in(8) ? 3 : opset_ < 9 ? 4 : opset_ < 15 ? 7 : 8);
  model_.add_opset_import()->set_version(opset_);
  model_.mutable_graph()->set_name("random");
  const int64_t spatial = dice_.pick<int64_t>({0, 1, 2, 2, 2, 2, 3});
  for (int64_t i = dice_.from(1, 2); i > 0; --i) {
    Dims dims{dice_.from(1, 2), dice_.from(1, 6)};
    for (int64_t d = 0; d < spatial; ++d) dims.push_back(dice_.one_in(3) ? dims[1] : dice_.from(2, spatial == 3 ? 4 : 6));
    add_input(fresh("x"), dims);
  }
  for (int64_t left = dice_.from(2, 14); left > 0; --left) add_node();
  add_outputs();
  finish_initializers();
}

void RandomNetwork::add_input(const std::string& name, const Dims& dims) {
  auto& input = *model_.mutable_graph()->add_input();
  input.set_name(name);
  auto& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<int>(type_));
  const bool free_batch = dice_.one_in(4), free_rest = dice_.one_in(6);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    auto& dim = *type.mutable_shape()->add_dim();
    dim.set_dim_value(dims[d]);
    // The symbol states the size: a run of the model needs one.
    if ((d == 0 && free_batch) || (d > 1 && free_rest)) dim.set_dim_param("d" + std::to_string(dims[d]));
    has_free_dims_ = has_free_dims_ || dim.has_dim_param();
  }
  made(name, dims);
}

void RandomNetwork::add_outputs() {
  std::set<std::string> read;
  for (const auto& node : model_.graph().node()) {
    read.insert(node.input().begin(), node.input().end());
    for (const auto& attribute : node.attribute()) {
      for (const auto& inner : attribute.g().node()) read.insert(inner.input().begin(), inner.input().end());
    }
  }
  for (const Entry& entry : values_) {
    const bool is_input = std::ranges::any_of(model_.graph().input(), [&](const auto& input) { return input.name() == entry.name; });
    // A value without consumer is an output, or dead.
    if (is_input || (read.contains(entry.name) && !dice_.one_in(9))) continue;
    if (!read.contains(entry.name) && &entry != &values_.back() && dice_.one_in(6)) continue;
    auto& output = *model_.mutable_graph()->add_output();
    output.set_name(entry.name);
    declare(*output.mutable_type(), entry.dims);
  }
}

/// Declares the network's element type, and the dims; their sizes are left out where the inputs leave some free.
void RandomNetwork::declare(onnx::TypeProto& type, const Dims& dims) {
  auto& tensor = *type.mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(type_));
  tensor.mutable_shape();
  for (const int64_t size : dims) {
    auto& dim = *tensor.mutable_shape()->add_dim();
    if (!has_free_dims_) dim.set_dim_value(size);
  }
}

void RandomNetwork::finish_initializers() {
  // IR 3 requires all of them among the inputs; from IR 4 on that makes one overridable.
  for (const auto& tensor : model_.graph().initializer()) {
    if (model_.ir_version() >= 4 && (tensor.data_type() == onnx::TensorProto::INT64 || !dice_.one_in(40))) continue;
    auto& input = *model_.mutable_graph()->add_input();
    input.set_name(tensor.name());
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(tensor.data_type());
    type.mutable_shape();
    for (const int64_t dim : tensor.dims()) type.mutable_shape()->add_dim()->set_dim_value(dim);
  }
}

onnx::NodeProto& RandomNetwork::node(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                                     const Attributes& attributes) {
  onnx::NodeProto& node = *model_.mutable_graph()->add_node();
  node.set_op_type(op);
  if (!dice_.one_in(5)) node.set_name(op + "_" + std::to_string(model_.graph().node_size()));
  for (const std::string& name : inputs) node.add_input(name);
  for (const std::string& name : outputs) node.add_output(name);
  for (const auto& [name, values] : attributes) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name.substr(0, name.find('!')));
    if (name.ends_with('!')) {
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(values.at(0));
    } else {
      attribute.set_type(onnx::AttributeProto::INTS);
      for (const int64_t value : values) attribute.add_ints(value);
    }
  }
  return node;
}

void RandomNetwork::real(onnx::NodeProto& node, const std::string& name, double value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(static_cast<float>(value));
}

void RandomNetwork::text(onnx::NodeProto& node, const std::string& name, const std::string& value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(value);
}

namespace {

void fill(onnx::TensorProto& tensor, DataType type, const Dims& dims, const std::vector<double>& values) {
  tensor.set_data_type(static_cast<int>(type));
  for (const int64_t dim : dims) tensor.add_dims(dim);
  if (type == DataType::int64) {
    std::vector<int64_t> integers(values.begin(), values.end());
    tensor.set_raw_data(integers.data(), integers.size() * sizeof(int64_t));
    return;
  }
  const Tensor data = from_doubles(type, dims, values).load();
  tensor.set_raw_data(data.bytes(), values.size() * memory_size(type));
}

}  // namespace

std::string RandomNetwork::initializer(DataType type, const Dims& dims, const std::vector<double>& values) {
  auto& tensor = *model_.mutable_graph()->add_initializer();
  tensor.set_name(fresh(type == DataType::int64 ? "i" : "c"));
  fill(tensor, type, dims, values);
  return tensor.name();
}

std::string RandomNetwork::constant(const std::string& role, const Dims& dims, const std::vector<double>& values, DataType type) {
  if (type == DataType::undefined) type = type_;
  std::vector<std::string>& known = known_[{role + std::string(name_of(type)), dims}];
  if (!known.empty() && dice_.one_in(6)) return dice_.pick(known);
  known.push_back(spelled(type, dims, values));
  return known.back();
}

std::string RandomNetwork::spelled(DataType type, const Dims& dims, const std::vector<double>& values) {
  const std::string out = fresh("k");
  switch (dice_.from(1, 16)) {
    case 1:
    case 2: {
      auto& attribute = *node("Constant", {}, {out}).add_attribute();
      attribute.set_name("value");
      attribute.set_type(onnx::AttributeProto::TENSOR);
      fill(*attribute.mutable_t(), type, dims, values);
      return out;
    }
    case 3:
      node("Identity", {initializer(type, dims, values)}, {out});
      return out;
    case 4:
      node("Reshape", {initializer(type, {static_cast<int64_t>(values.size())}, values), integers(dims)}, {out});
      return out;
    case 5: {
      // Not by Neg: some implementations of opset 6 lack it for f64.
      std::vector<double> halves = values;
      for (double& value : halves) value /= 2;
      const std::string half = initializer(type, dims, halves);
      node("Add", {half, half}, {out});
      return out;
    }
    case 6:
      if (opset_ < 9 || type == DataType::float64) break;
      node("Cast", {initializer(DataType::float64, dims, values)}, {out}, {{"to!", {static_cast<int64_t>(type)}}});
      return out;
    default:
      break;
  }
  return initializer(type, dims, values);
}

std::vector<double> RandomNetwork::normal_values(const Dims& dims, double scale) {
  std::vector<double> out(static_cast<std::size_t>(element_count(dims)));
  for (double& value : out) value = scale * dice_.normal();
  return out;
}

std::vector<double> RandomNetwork::factors(const Dims& dims) {
  std::vector<double> out(static_cast<std::size_t>(element_count(dims)));
  for (double& value : out) value = dice_.uniform(0.5, 1.5) * (dice_.one_in(3) ? -1 : 1);
  return out;
}

const RandomNetwork::Entry& RandomNetwork::pick() {
  const auto last = static_cast<int64_t>(values_.size()) - 1;
  return values_[static_cast<std::size_t>(dice_.one_in(4) ? dice_.from(0, last) : last)];
}

void RandomNetwork::add_node() {
  const Entry x = pick();
  const int64_t kind = dice_.from(1, 20);
  if (kind <= 6) return add_linear(x);
  if (kind <= 14) return add_affine(x);
  if (kind <= 17) return add_movement(x);
  return add_other(x);
}

void RandomNetwork::add_linear(const Entry& x) {
  if (x.dims.size() >= 3 && x.dims.size() <= 5 && !dice_.one_in(8)) return dice_.one_in(4) ? deconvolution(x) : convolution(x);
  if (x.dims.size() == 2 && !dice_.one_in(3)) return gemm(x);
  matmul(x);
}

void RandomNetwork::add_affine(const Entry& x) {
  if (x.dims.size() >= 2 && dice_.one_in(2)) return batch_norm(x);
  if (opset_ < 7) return old_elementwise(x);
  if (dice_.one_in(8)) return negation(x);
  if (x.dims.size() >= 2 && dice_.one_in(8)) return decomposed(x);
  elementwise(x);
}

void RandomNetwork::add_movement(const Entry& x) {
  switch (dice_.from(1, 7)) {
    case 1:
      return identity(x);
    case 2:
      return dropout(x);
    case 3:
      return transpose(x);
    case 4:
      return reshape(x);
    case 5:
      return flatten(x);
    case 6:
      return squeeze(x);
    default:
      return concat(x);
  }
}

void RandomNetwork::add_other(const Entry& x) {
  switch (dice_.from(1, 7)) {
    case 1:
      return pad(x);
    case 2:
      return pool(x);
    case 3:
      return global_pool(x);
    case 4:
      return residual(x);
    case 5:
      return branch(x);
    case 6:
      return call(x);
    default:
      return unary(x);
  }
}

}  // namespace relayout::test
