#include "support/network.h"

#include <cmath>
#include <cstring>
#include <set>
#include <stdexcept>

#include "base/random.h"

namespace relayout::test {
namespace {

int64_t count_of(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

void set_type(onnx::ValueInfoProto& info, const std::string& name, const std::vector<std::string>& dims, int type) {
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (const std::string& dim : dims) {
    auto& out = *tensor.mutable_shape()->add_dim();
    if (dim.find_first_not_of("0123456789") == std::string::npos) {
      out.set_dim_value(std::stoll(dim));
    } else {
      out.set_dim_param(dim);
    }
  }
}

}  // namespace

Network::Network(uint64_t seed, int64_t opset) : seed_(seed) {
  model_.set_ir_version(8);
  model_.add_opset_import()->set_version(opset);
  model_.mutable_graph()->set_name("network");
}

Network& Network::input(const std::string& name, const std::vector<std::string>& dims, int type) {
  set_type(*graph().add_input(), name, dims, type);
  return *this;
}

Network& Network::output(const std::string& name, const std::vector<std::string>& dims, int type) {
  set_type(*graph().add_output(), name, dims, type);
  return *this;
}

void Network::set_attribute(onnx::NodeProto& node, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  onnx::AttributeProto* attribute = nullptr;
  for (auto& old : *node.mutable_attribute()) attribute = old.name() == name ? &old : attribute;
  if (attribute == nullptr) attribute = node.add_attribute();
  attribute->Clear();
  attribute->set_name(name);
  if (value.front() == '\'') {
    attribute->set_type(onnx::AttributeProto::STRING);
    attribute->set_s(value.substr(1, value.size() - 2));
  } else if (value.find('.') != std::string::npos || value.find('e') != std::string::npos) {
    attribute->set_type(onnx::AttributeProto::FLOAT);
    attribute->set_f(std::stof(value));
  } else if (value.find(',') != std::string::npos) {
    attribute->set_type(onnx::AttributeProto::INTS);
    for (std::size_t at = 0; at < value.size(); at = std::min(value.find(',', at), value.size() - 1) + 1) {
      attribute->add_ints(std::stoll(value.substr(at)));
      if (value.find(',', at) == std::string::npos) break;
    }
  } else {
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(std::stoll(value));
  }
}

onnx::NodeProto& Network::node(const std::string& op_type, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                               const std::vector<std::string>& attributes) {
  onnx::NodeProto& node = *graph().add_node();
  node.set_op_type(op_type);
  node.set_name("/" + outputs.front() + "/" + op_type);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  for (const std::string& attribute : attributes) set_attribute(node, attribute);
  return node;
}

Network& Network::floats(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
  onnx::TensorProto& tensor = *graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
  return *this;
}

Network& Network::normal(const std::string& name, const std::vector<int64_t>& dims, double scale, double shift) {
  const RandomStream random(seed_, name);
  std::vector<float> values(static_cast<std::size_t>(count_of(dims)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(scale * random.normal(i) + shift);
  return floats(name, dims, values);
}

Network& Network::uniform(const std::string& name, const std::vector<int64_t>& dims, double least, double most) {
  const RandomStream random(seed_, name);
  std::vector<float> values(static_cast<std::size_t>(count_of(dims)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(least + (most - least) * random.uniform(i));
  return floats(name, dims, values);
}

Network& Network::integers(const std::string& name, const std::vector<int64_t>& dims, const std::vector<int64_t>& values) {
  onnx::TensorProto& tensor = *graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t)));
  return *this;
}

Network& Network::convolution(const std::string& name, const std::string& x, const std::string& y, const std::vector<int64_t>& weight_dims,
                              const std::vector<std::string>& attributes, const std::string& op_type) {
  const bool transposed = op_type == "ConvTranspose";
  const int64_t fan_in = count_of(weight_dims) / weight_dims[transposed ? 1 : 0];
  normal(name + ".w", weight_dims, std::sqrt(2 / static_cast<double>(fan_in)));
  normal(name + ".b", {weight_dims[transposed ? 1 : 0]}, 0.2);
  node(op_type, {x, name + ".w", name + ".b"}, {y}, attributes).set_name(name);
  return *this;
}

Network& Network::batch_norm(const std::string& name, const std::string& x, const std::string& y, int64_t channels) {
  uniform(name + ".scale", {channels}, 0.5, 1.5);
  normal(name + ".bias", {channels}, 0.3);
  normal(name + ".mean", {channels}, 0.3);
  uniform(name + ".var", {channels}, 0.2, 2);
  node("BatchNormalization", {x, name + ".scale", name + ".bias", name + ".mean", name + ".var"}, {y}).set_name(name);
  return *this;
}

onnx::NodeProto& Network::producer(const std::string& value) {
  for (auto& node : *graph().mutable_node()) {
    if (std::ranges::find(node.output(), value) != node.output().end()) return node;
  }
  throw std::logic_error("no node produces " + value);
}

onnx::TensorProto& Network::tensor(const std::string& name) {
  for (auto& tensor : *graph().mutable_initializer()) {
    if (tensor.name() == name) return tensor;
  }
  throw std::logic_error("no initializer " + name);
}

std::vector<float> Network::values(const std::string& name) {
  const std::string& raw = tensor(name).raw_data();
  std::vector<float> out(raw.size() / sizeof(float));
  std::memcpy(out.data(), raw.data(), raw.size());
  return out;
}

void Network::set_values(const std::string& name, const std::vector<float>& values) {
  tensor(name).set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}

void Network::edit(const std::string& name, const std::function<void(std::vector<float>&)>& change) {
  auto all = values(name);
  change(all);
  set_values(name, all);
}

void Network::replace_uses(const std::string& from, const std::string& to) {
  for (auto& node : *graph().mutable_node()) {
    for (auto& input : *node.mutable_input()) {
      if (input == from) input = to;
    }
  }
}

bool Network::is_graph_output(const std::string& name) {
  return std::ranges::any_of(graph().output(), [&](const auto& output) { return output.name() == name; });
}

onnx::NodeProto& Network::insert_after(const std::string& value, const std::string& op_type, const std::vector<std::string>& more_inputs,
                                       const std::vector<std::string>& attributes) {
  const std::string other = value + "/inserted";
  std::string from = value, to = other;
  if (is_graph_output(value)) {
    // The old producer gets the new name, the new node the visible one.
    std::ranges::replace(*producer(value).mutable_output(), value, other);
    std::swap(from, to);
  } else {
    replace_uses(value, other);
  }
  std::vector<std::string> inputs{from};
  inputs.insert(inputs.end(), more_inputs.begin(), more_inputs.end());
  node(op_type, inputs, {to}, attributes);
  sort();
  return producer(to);
}

void Network::remove_node(const std::string& output) {
  auto& nodes = *graph().mutable_node();
  for (int i = 0; i < nodes.size(); ++i) {
    if (std::ranges::find(nodes[i].output(), output) == nodes[i].output().end()) continue;
    nodes.DeleteSubrange(i, 1);
    return;
  }
  throw std::logic_error("no node produces " + output);
}

void Network::remove_initializer(const std::string& name) {
  auto& all = *graph().mutable_initializer();
  for (int i = 0; i < all.size(); ++i) {
    if (all[i].name() != name) continue;
    all.DeleteSubrange(i, 1);
    return;
  }
  throw std::logic_error("no initializer " + name);
}

void Network::sort() {
  std::set<std::string> made{""};
  for (const auto& input : graph().input()) made.insert(input.name());
  for (const auto& tensor : graph().initializer()) made.insert(tensor.name());
  std::vector<onnx::NodeProto> pending(graph().node().begin(), graph().node().end());
  graph().clear_node();
  while (!pending.empty()) {
    const auto ready = std::ranges::find_if(pending, [&](const auto& node) {
      return std::ranges::all_of(node.input(), [&](const auto& input) { return made.contains(input); });
    });
    if (ready == pending.end()) throw std::logic_error("a cycle or a missing value");
    for (const auto& output : ready->output()) made.insert(output);
    *graph().add_node() = *ready;
    pending.erase(ready);
  }
}

std::vector<std::string> Network::outputs_of(const std::string& op_type) {
  std::vector<std::string> out;
  for (const auto& node : graph().node()) {
    if (node.op_type() == op_type) out.push_back(node.output(0));
  }
  return out;
}

void fold_batch_norm(Network& network, const std::string& value, const FoldOptions& options) {
  const onnx::NodeProto norm = network.producer(value);
  onnx::NodeProto& convolution = network.producer(norm.input(0));
  const bool transposed = convolution.op_type() == "ConvTranspose";
  const auto scale = network.values(norm.input(1)), shift = network.values(norm.input(2)), mean = network.values(norm.input(3)),
             variance = network.values(norm.input(4));
  double epsilon = 1e-5;
  int64_t group = 1;
  for (const auto& attribute : norm.attribute()) epsilon = attribute.name() == "epsilon" ? static_cast<double>(attribute.f()) : epsilon;
  for (const auto& attribute : convolution.attribute()) group = attribute.name() == "group" ? attribute.i() : group;
  epsilon *= options.epsilon_factor;

  std::vector<double> factor(scale.size());
  for (std::size_t c = 0; c < factor.size(); ++c) {
    const auto v = static_cast<double>(variance[c]);
    factor[c] = static_cast<double>(scale[c]) / (options.epsilon_outside ? std::sqrt(v) + std::sqrt(epsilon) : std::sqrt(v + epsilon));
    if (options.in_float) {
      factor[c] = static_cast<double>(scale[c] / std::sqrt(variance[c] + static_cast<float>(epsilon)));
    }
  }
  const auto& weight = network.tensor(convolution.input(1));
  const int64_t rows = weight.dims(0), columns = weight.dims(1);
  network.edit(convolution.input(1), [&](std::vector<float>& w) {
    const std::size_t inner = w.size() / static_cast<std::size_t>(rows * columns);
    for (std::size_t i = 0; i < w.size(); ++i) {
      const auto row = static_cast<int64_t>(i / inner) / columns, column = static_cast<int64_t>(i / inner) % columns;
      // ConvTranspose [I, O/g, k…]: output channel = group of the input channel, then the column.
      const int64_t channel = transposed ? row / (rows / group) * columns + column : row;
      w[i] = static_cast<float>(static_cast<double>(w[i]) * factor[static_cast<std::size_t>(channel)]);
    }
  });
  network.edit(convolution.input(2), [&](std::vector<float>& b) {
    for (std::size_t c = 0; c < b.size(); ++c) {
      const double own = static_cast<double>(b[c]) - static_cast<double>(mean[c]);
      const double unscaled = static_cast<double>(b[c]) - static_cast<double>(mean[c]) * factor[c];
      b[c] = static_cast<float>((options.scale_bias ? own * factor[c] : unscaled) + static_cast<double>(shift[c]));
    }
  });
  const std::string old = norm.input(0);
  network.remove_node(value);
  std::ranges::replace(*network.producer(old).mutable_output(), old, value);
}

}  // namespace relayout::test
