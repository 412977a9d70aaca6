#include "support/text_model.h"

#include <onnx/defs/parser.h>

#include <cstring>
#include <map>
#include <set>

#include "base/half.h"
#include "base/random.h"
#include "model/tensor_data.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

/// Calls `action` for each graph of the model, nested ones included.
void for_each_graph(onnx::GraphProto& graph, const std::function<void(onnx::GraphProto&)>& action);

void for_each_nested(onnx::NodeProto& node, const std::function<void(onnx::GraphProto&)>& action) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) for_each_graph(*attribute.mutable_g(), action);
    for (auto& nested : *attribute.mutable_graphs()) for_each_graph(nested, action);
  }
}

void for_each_graph(onnx::GraphProto& graph, const std::function<void(onnx::GraphProto&)>& action) {
  action(graph);
  for (auto& node : *graph.mutable_node()) for_each_nested(node, action);
}

void for_each_graph(onnx::ModelProto& model, const std::function<void(onnx::GraphProto&)>& action) {
  for_each_graph(*model.mutable_graph(), action);
  for (auto& function : *model.mutable_functions()) {
    for (auto& node : *function.mutable_node()) for_each_nested(node, action);
  }
}

void for_each_node(onnx::ModelProto& model, const std::function<void(onnx::NodeProto&)>& action) {
  for_each_graph(model, [&](onnx::GraphProto& graph) {
    for (auto& node : *graph.mutable_node()) action(node);
  });
  for (auto& function : *model.mutable_functions()) {
    for (auto& node : *function.mutable_node()) action(node);
  }
}

/// Every tensor that is an initializer or the value of a Constant.
void for_each_tensor(onnx::ModelProto& model, const std::function<void(onnx::TensorProto&)>& action) {
  for_each_graph(model, [&](onnx::GraphProto& graph) {
    for (auto& tensor : *graph.mutable_initializer()) action(tensor);
  });
  for_each_node(model, [&](onnx::NodeProto& node) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) action(*attribute.mutable_t());
    }
  });
}

int64_t count_of(const onnx::TensorProto& tensor) {
  int64_t count = 1;
  for (const int64_t dim : tensor.dims()) count *= dim;
  return count;
}

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string encode(int32_t type, const std::vector<double>& values) {
  std::string out;
  for (const double value : values) {
    switch (type) {
      case onnx::TensorProto::FLOAT:
        append(out, static_cast<float>(value));
        break;
      case onnx::TensorProto::DOUBLE:
        append(out, value);
        break;
      case onnx::TensorProto::FLOAT16:
        append(out, double_to_half(value));
        break;
      case onnx::TensorProto::BFLOAT16:
        append(out, double_to_bfloat16(value));
        break;
      case onnx::TensorProto::INT64:
        append(out, static_cast<int64_t>(value));
        break;
      case onnx::TensorProto::INT32:
        append(out, static_cast<int32_t>(value));
        break;
      case onnx::TensorProto::INT8:
      case onnx::TensorProto::UINT8:
      case onnx::TensorProto::BOOL:
        append(out, static_cast<int8_t>(static_cast<int>(value)));
        break;
      default:
        throw std::logic_error("text model: type " + std::to_string(type));
    }
  }
  return out;
}

void clear_data(onnx::TensorProto& tensor) {
  tensor.clear_raw_data();
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_uint64_data();
}

void store(onnx::TensorProto& tensor, const std::vector<double>& values) {
  clear_data(tensor);
  tensor.set_raw_data(encode(tensor.data_type(), values));
}

std::vector<double> filling(const onnx::TensorProto& tensor) {
  const RandomStream random(1, tensor.name());
  const bool is_variance = tensor.name().starts_with("var");
  std::vector<double> out;
  for (uint64_t i = 0; i < static_cast<uint64_t>(count_of(tensor)); ++i)
    out.push_back(is_variance ? 0.5 + 1.5 * random.uniform(i) : random.normal(i));
  return out;
}

/// Values with a listed shape that no node computes become initializers.
void fill(onnx::GraphProto& graph) {
  std::set<std::string> made;
  for (const auto& node : graph.node()) made.insert(node.output().begin(), node.output().end());
  std::vector<onnx::ValueInfoProto> kept;
  for (const auto& info : graph.value_info()) {
    if (made.contains(info.name())) {
      kept.push_back(info);
      continue;
    }
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(info.name());
    tensor.set_data_type(info.type().tensor_type().elem_type());
    for (const auto& dim : info.type().tensor_type().shape().dim()) tensor.add_dims(dim.dim_value());
    store(tensor, filling(tensor));
  }
  graph.clear_value_info();
  for (auto& info : kept) *graph.add_value_info() = std::move(info);
}

bool is_float_type(int32_t type) {
  return type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::DOUBLE || type == onnx::TensorProto::FLOAT16 ||
         type == onnx::TensorProto::BFLOAT16;
}

void retype(onnx::TensorProto& tensor, DataType type) {
  const std::vector<double> values = values_of(tensor);
  tensor.set_data_type(static_cast<int>(type));
  store(tensor, values);
}

std::string print(const onnx::TensorProto& tensor) {
  std::string out = "tensor" + std::to_string(tensor.data_type()) + "[";
  for (const int64_t dim : tensor.dims()) out += std::to_string(dim) + ",";
  return out + "]";
}

/// Numbers values by first appearance.
class Namer {
 public:
  std::string operator()(const Value* value) {
    if (value == nullptr) return "-";
    if (value->is_own_output() || (value->is_input() && value->initializer() == nullptr)) return value->name();
    if (const Initializer* const initializer = value->initializer()) {
      std::string out = initializer->sparse != nullptr ? "sparse[" : std::string(name_of(initializer->data->type())) + "[";
      if (initializer->data) {
        for (const int64_t dim : initializer->data->dims()) out += std::to_string(dim) + ",";
      }
      out += "]";
      // Distinguishes shared constants from equal ones.
      return value->uses().size() > 1 ? out + "#" + number(value) : out;
    }
    return "%" + number(value);
  }

 private:
  std::string number(const Value* value) { return std::to_string(numbers_.try_emplace(value, numbers_.size()).first->second); }
  std::map<const Value*, std::size_t> numbers_;
};

void print_graph(const Graph& graph, const std::string& indent, Namer& name, std::string& out);

void print_node(const Node& node, const std::string& indent, Namer& name, std::string& out) {
  out += indent;
  std::string inputs;
  for (const Value* input : node.inputs()) inputs += name(input) + " ";
  for (const Value* output : node.outputs()) out += name(output) + " ";
  out += "= " + (node.domain().empty() ? "" : std::string(node.domain()) + ".") + node.op_type() + " <";
  std::map<std::string, std::string> attributes;
  for (const auto& attribute : node.message().attribute()) {
    if (attribute.has_g() || attribute.graphs_size() > 0) continue;
    onnx::AttributeProto copy = attribute;
    if (copy.has_t()) copy.clear_t();
    attributes[attribute.name()] = copy.ShortDebugString() + (attribute.has_t() ? print(attribute.t()) : "");
  }
  for (const auto& [key, text] : attributes) out += text + "; ";
  out += "> " + inputs + "\n";
  for (const auto& nested : node.subgraphs()) print_graph(*nested, indent + "  ", name, out);
}

void print_graph(const Graph& graph, const std::string& indent, Namer& name, std::string& out) {
  out += indent + "inputs:";
  for (const Value* input : graph.inputs())
    out += " " + (input->initializer() != nullptr && !input->is_overridable() ? "(constant)" : input->name());
  out += "\n";
  for (const Node& node : graph.nodes()) print_node(node, indent, name, out);
  out += indent + "outputs:";
  for (const Value* output : graph.outputs()) out += " " + name(output);
  out += "\n";
}

}  // namespace

TextModel::TextModel(const std::string& body, const std::string& head) {
  const std::string text = head + "\n" + body;
  const auto status = onnx::OnnxParser::Parse(message_, text.c_str());
  if (!status.IsOK()) throw std::logic_error("text model: " + status.ErrorMessage());
  for_each_graph(message_, fill);
  for_each_tensor(message_, [](onnx::TensorProto& tensor) {
    if (tensor.data_type() != onnx::TensorProto::STRING && !tensor.has_raw_data()) store(tensor, values_of(tensor));
  });
}

TextModel TextModel::of(const std::string& bytes) {
  TextModel out;
  if (!out.message_.ParseFromString(bytes)) throw std::logic_error("text model: bytes that are no model");
  out.bytes_ = bytes;
  return out;
}

TextModel& TextModel::rename(const std::string& from, const std::string& to) {
  const auto change = [&](std::string& name) {
    if (name == from) name = to;
  };
  for_each_graph(message_, [&](onnx::GraphProto& graph) {
    for (auto& tensor : *graph.mutable_initializer()) change(*tensor.mutable_name());
    for (auto* infos : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
      for (auto& info : *infos) change(*info.mutable_name());
    }
  });
  for_each_node(message_, [&](onnx::NodeProto& node) {
    for (auto& name : *node.mutable_input()) change(name);
    for (auto& name : *node.mutable_output()) change(name);
  });
  return *this;
}

TextModel& TextModel::name_nodes() {
  int number = 0;
  for_each_node(message_, [&](onnx::NodeProto& node) {
    if (node.name().empty()) node.set_name(node.op_type() + "_" + std::to_string(number));
    ++number;
  });
  return *this;
}

TextModel& TextModel::cast(DataType type) {
  for_each_tensor(message_, [&](onnx::TensorProto& tensor) {
    if (is_float_type(tensor.data_type())) retype(tensor, type);
  });
  for_each_graph(message_, [&](onnx::GraphProto& graph) {
    for (auto* infos : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
      for (auto& info : *infos) {
        auto* const tensor = info.mutable_type()->mutable_tensor_type();
        if (is_float_type(tensor->elem_type())) tensor->set_elem_type(static_cast<int>(type));
      }
    }
  });
  return *this;
}

TextModel& TextModel::cast_initializer(const std::string& name, DataType type) {
  for_each_tensor(message_, [&](onnx::TensorProto& tensor) {
    if (tensor.name() == name) retype(tensor, type);
  });
  return *this;
}

TextModel& TextModel::typed_data() {
  for_each_tensor(message_, [](onnx::TensorProto& tensor) {
    const std::vector<double> values = values_of(tensor);
    const std::string raw = tensor.raw_data();
    clear_data(tensor);
    for (std::size_t i = 0; i < values.size(); ++i) {
      switch (tensor.data_type()) {
        case onnx::TensorProto::FLOAT:
          tensor.add_float_data(static_cast<float>(values[i]));
          break;
        case onnx::TensorProto::DOUBLE:
          tensor.add_double_data(values[i]);
          break;
        case onnx::TensorProto::INT64:
          tensor.add_int64_data(static_cast<int64_t>(values[i]));
          break;
        case onnx::TensorProto::FLOAT16:
        case onnx::TensorProto::BFLOAT16: {
          uint16_t bits = 0;
          std::memcpy(&bits, raw.data() + i * 2, 2);
          tensor.add_int32_data(bits);
          break;
        }
        default:
          tensor.add_int32_data(static_cast<int32_t>(values[i]));
      }
    }
  });
  return *this;
}

TextModel& TextModel::set(const std::string& name, const std::vector<double>& values) {
  for (auto& tensor : *message_.mutable_graph()->mutable_initializer()) {
    if (tensor.name() != name) continue;
    if (count_of(tensor) != static_cast<int64_t>(values.size())) throw std::logic_error("text model: number of values for " + name);
    store(tensor, values);
    return *this;
  }
  throw std::logic_error("text model: no initializer " + name);
}

TextModel& TextModel::edit(const std::function<void(onnx::ModelProto&)>& change) {
  change(message_);
  return *this;
}

std::unique_ptr<Model> TextModel::load() const {
  return Model::from_bytes(bytes(), "model");
}

std::vector<double> values_of(const onnx::TensorProto& tensor) {
  std::vector<double> out;
  const auto count = static_cast<std::size_t>(count_of(tensor));
  const auto raw = [&]<class T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      T value{};
      std::memcpy(&value, tensor.raw_data().data() + i * sizeof(T), sizeof(T));
      out.push_back(static_cast<double>(value));
    }
  };
  const auto half = [&](uint16_t bits) {
    return static_cast<double>(tensor.data_type() == onnx::TensorProto::FLOAT16 ? half_to_float(bits) : bfloat16_to_float(bits));
  };
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
      if (tensor.has_raw_data()) raw(float{});
      out.insert(out.end(), tensor.float_data().begin(), tensor.float_data().end());
      break;
    case onnx::TensorProto::DOUBLE:
      if (tensor.has_raw_data()) raw(double{});
      out.insert(out.end(), tensor.double_data().begin(), tensor.double_data().end());
      break;
    case onnx::TensorProto::INT64:
      if (tensor.has_raw_data()) raw(int64_t{});
      for (const int64_t value : tensor.int64_data()) out.push_back(static_cast<double>(value));
      break;
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16:
      if (tensor.has_raw_data()) raw(uint16_t{});
      for (double& bits : out) bits = half(static_cast<uint16_t>(bits));
      for (const int32_t bits : tensor.int32_data()) out.push_back(half(static_cast<uint16_t>(bits)));
      break;
    case onnx::TensorProto::INT32:
      if (tensor.has_raw_data()) raw(int32_t{});
      out.insert(out.end(), tensor.int32_data().begin(), tensor.int32_data().end());
      break;
    default:
      if (tensor.has_raw_data()) raw(int8_t{});
      out.insert(out.end(), tensor.int32_data().begin(), tensor.int32_data().end());
  }
  return out;
}

std::string structure_of(const Model& model) {
  std::string out;
  Namer name;
  print_graph(model.graph(), "", name, out);
  for (const auto& function : model.functions()) {
    out += "function " + function->function()->name() + "\n";
    print_graph(*function, "", name, out);
  }
  return out;
}

}  // namespace relayout::test
