// Writes the body of an operator of another domain as a graph of standard operators, and runs such a body.
#include "ops/body.h"

#include <map>
#include <tuple>

#include "model/node.h"
#include "ops/call.h"
#include "ops/constants.h"
#include "ops/loops/strided.h"
#include "ops/op.h"
#include "ops/partial_dims.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Values of a body must not be mistaken for those of the graph around it: initializers are identified by name.
std::string prefix_of(const Node& call) {
  const Value* const output = first_output(call);
  return (output == nullptr ? call.name() : output->name()) + "/";
}

}  // namespace

void set_value(onnx::AttributeProto& attribute, const BodyCall::Number& value) {
  using enum onnx::AttributeProto::AttributeType;
  std::visit(
      [&]<class T>(const T& given) {
        if constexpr (std::is_same_v<T, int64_t>) {
          attribute.set_type(onnx::AttributeProto_AttributeType_INT);
          attribute.set_i(given);
        } else if constexpr (std::is_same_v<T, float>) {
          attribute.set_type(onnx::AttributeProto_AttributeType_FLOAT);
          attribute.set_f(given);
        } else if constexpr (std::is_same_v<T, std::string>) {
          attribute.set_type(onnx::AttributeProto_AttributeType_STRING);
          attribute.set_s(given);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          attribute.set_type(onnx::AttributeProto_AttributeType_INTS);
          for (const int64_t one : given) attribute.add_ints(one);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          attribute.set_type(onnx::AttributeProto_AttributeType_STRINGS);
          for (const std::string& one : given) attribute.add_strings(one);
        } else if constexpr (std::is_same_v<T, onnx::TensorProto>) {
          attribute.set_type(onnx::AttributeProto_AttributeType_TENSOR);
          *attribute.mutable_t() = given;
        } else {
          attribute.set_type(onnx::AttributeProto_AttributeType_FLOATS);
          for (const float one : given) attribute.add_floats(one);
        }
      },
      value);
}

Body::Body(const Node& call, PartialOperands& operands) : BodyCall(call, operands), prefix_(prefix_of(call)) {
  message_.set_name(call.op_type());
  message_.set_domain(std::string(call.domain()));
  auto& import = *message_.add_opset_import();
  import.set_domain("");
  import.set_version(kOpset);
  for (std::size_t i = 0; i < call.inputs().size(); ++i) message_.add_input(prefix_ + std::to_string(i));
  outputs_.resize(call.outputs().size());
}

Body::Name Body::input(std::size_t index) const {
  return has(index) ? prefix_ + std::to_string(index) : Name();
}

std::optional<std::size_t> BodyCall::rank(std::size_t input) const {
  const PartialDims dims = operands_->dims(input);
  return dims ? std::optional(dims->size()) : std::nullopt;
}

std::optional<int64_t> BodyCall::dim(std::size_t input, std::size_t axis) const {
  const PartialDims dims = operands_->dims(input);
  return dims && axis < dims->size() && (*dims)[axis] >= 0 ? std::optional((*dims)[axis]) : std::nullopt;
}

DataType BodyCall::type(std::size_t input) const {
  return operands_->type(input);
}

BodyCall::NamedAttributes BodyCall::given(std::initializer_list<std::string_view> names) const {
  NamedAttributes out;
  for (const std::string_view name : names) {
    if (!attributes_.has(name)) continue;
    switch (call_->attribute(name)->type()) {
      case onnx::AttributeProto_AttributeType_INT:
        out.emplace_back(name, attributes_.integer(name, 0));
        break;
      case onnx::AttributeProto_AttributeType_FLOAT:
        out.emplace_back(name, attributes_.real(name, 0));
        break;
      case onnx::AttributeProto_AttributeType_INTS:
        out.emplace_back(name, attributes_.integers(name));
        break;
      case onnx::AttributeProto_AttributeType_FLOATS:
        out.emplace_back(name, attributes_.reals(name));
        break;
      case onnx::AttributeProto_AttributeType_STRINGS:
        out.emplace_back(name, attributes_.texts(name));
        break;
      case onnx::AttributeProto_AttributeType_STRING:
        out.emplace_back(name, attributes_.text(name, ""));
        break;
      case onnx::AttributeProto_AttributeType_TENSOR:
        out.emplace_back(name, *attributes_.tensor(name));
        break;
      default:
        reject("attribute '" + std::string(name) + "' has another type");
    }
  }
  return out;
}

const onnx::TensorProto& BodyCall::tensor_attribute(const std::string& name) const {
  const onnx::TensorProto* const tensor = attributes_.tensor(name);
  if (tensor == nullptr) reject("no " + name);
  return *tensor;
}

void BodyCall::refuse(const std::string& why) const {
  fail(ErrorKind::unsupported, call_->label() + ": " + why);
}

void BodyCall::reject(const std::string& why) const {
  fail(ErrorKind::invalid, call_->label() + ": " + why);
}

int64_t BodyCall::required(std::string_view attribute, int64_t least, int64_t most) const {
  const auto value = attributes_.integer(attribute);
  if (!value) reject("no " + std::string(attribute));
  if (*value < least || *value > most) reject(std::string(attribute) + " is " + std::to_string(*value));
  return *value;
}

Body::Name Body::make(std::string_view op, const Names& inputs, const NamedAttributes& attributes) {
  return make(op, inputs, 1, attributes).front();
}

Body::Names Body::make(std::string_view op, const Names& inputs, std::size_t outputs, const NamedAttributes& attributes) {
  onnx::NodeProto& node = *message_.add_node();
  node.set_op_type(std::string(op));
  node.set_name(prefix_ + std::string(op) + "_" + std::to_string(made_++));
  for (const Name& input : inputs) node.add_input(input);
  while (node.input_size() > 0 && node.input(node.input_size() - 1).empty()) node.mutable_input()->RemoveLast();
  Names out;
  for (std::size_t k = 0; k < outputs; ++k) {
    out.push_back(node.name() + (k == 0 ? "" : ":" + std::to_string(k)));
    node.add_output(out.back());
  }
  for (const auto& [name, value] : attributes) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    set_value(attribute, value);
  }
  return out;
}

Body::Names Body::make_own(std::string_view op, const Names& inputs, std::size_t outputs, const NamedAttributes& attributes) {
  Names out = make(op, inputs, outputs, attributes);
  message_.mutable_node(message_.node_size() - 1)->set_domain(std::string(kOwnDomain));
  if (message_.opset_import_size() == 1) {
    auto& import = *message_.add_opset_import();
    import.set_domain(std::string(kOwnDomain));
    import.set_version(1);
  }
  return out;
}

Body::Name Body::integers(const std::vector<int64_t>& values) {
  return make("Constant", {}, {{"value_ints", values}});
}

Body::Name Body::integer(int64_t value) {
  return make("Constant", {}, {{"value_int", value}});
}

Body::Name Body::real(double value) {
  return make("Constant", {}, {{"value_float", static_cast<float>(value)}});
}

Body::Name Body::reals(const std::vector<float>& values) {
  return make("Constant", {}, {{"value_floats", values}});
}

Body::Name Body::reals(const std::vector<float>& values, const Dims& dims) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto_DataType_FLOAT);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  tensor.mutable_float_data()->Add(values.begin(), values.end());
  return make("Constant", {}, {{"value", tensor}});
}

Body::Name Body::like(double value, const Name& model) {
  return cast_like(real(value), model);
}

Body::Name Body::cast(const Name& value, DataType type) {
  return make("Cast", {value}, {{"to", static_cast<int64_t>(type)}});
}

void Body::give(std::size_t index, const Name& value) {
  if (index >= outputs_.size()) return;
  const bool is_taken = std::ranges::find(outputs_, value) != outputs_.end() || std::ranges::count(message_.input(), value) > 0;
  outputs_[index] = is_taken ? make("Identity", {value}) : value;
}

onnx::FunctionProto Body::finish() {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (wants(i) && outputs_[i].empty()) refuse("output " + std::to_string(i) + " is not made");
    // An output that the call omits needs a value of its own.
    message_.add_output(outputs_[i].empty() ? integer(0) : outputs_[i]);
  }
  return std::move(message_);
}

// Inference and computation of a composition by the nodes of its body.
namespace {

/// Operands with known types and dims, and no known contents.
class KnownOperands : public PartialOperands {
 public:
  explicit KnownOperands(std::span<const DatumInfo* const> infos) : infos_(infos) {}
  [[nodiscard]] bool has(std::size_t input) override { return input < infos_.size() && infos_[input] != nullptr; }
  [[nodiscard]] PartialDims dims(std::size_t input) override { return has(input) ? PartialDims(infos_[input]->dims) : std::nullopt; }
  [[nodiscard]] DataType type(std::size_t input) override { return has(input) ? infos_[input]->type : DataType::undefined; }
  [[nodiscard]] std::optional<PartialContents> contents(std::size_t) override { return std::nullopt; }

 private:
  std::span<const DatumInfo* const> infos_;
};

FunctionInstance composed(const OpCall& call, std::span<const DatumInfo* const> inputs) {
  KnownOperands operands(inputs);
  return compose(*find_op(call.node), call.node, operands);
}

bool is_small(const std::vector<DatumInfo>& infos) {
  return std::ranges::all_of(
      infos, [](const DatumInfo& info) { return info.kind == Datum::Kind::tensor && element_count(info.dims) <= kSmallElements; });
}

/// Infers the values of a body in order; small contents that follow from known contents are computed on the way.
class BodyInference {
 public:
  explicit BodyInference(const Graph& graph) : graph_(graph) {}

  std::optional<std::vector<DatumInfo>> run(std::span<const DatumInfo* const> inputs) {
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
      if (i < inputs.size() && inputs[i] != nullptr) infos_[graph_.inputs()[i]] = *inputs[i];
    }
    for (const Node& node : graph_.nodes()) {
      if (!infer(node)) return std::nullopt;
    }
    std::vector<DatumInfo> out;
    for (const Value* output : graph_.outputs()) {
      out.push_back(infos_.at(output));
      out.back().value = nullptr;
    }
    return out;
  }

 private:
  bool infer(const Node& node) {
    const Op& op = *find_kernel(node);
    const OpCall call(node, node.opset());
    KnownInfos operands(node.inputs().size());
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const auto known = infos_.find(node.input(i));
      if (known != infos_.end()) operands.set(i, known->second);
    }
    auto results = op.infer(call, operands.get());
    if (!results) return false;
    const auto is_known = [&](std::size_t i) { return infos_.at(node.input(i)).value != nullptr; };
    if (follows_from(op, node, is_known) && is_small(*results)) return compute(op, call, *results);
    for (std::size_t k = 0; k < node.outputs().size(); ++k) {
      if (node.output(k) != nullptr) infos_[node.output(k)] = (*results)[k];
    }
    return true;
  }

  bool compute(const Op& op, const OpCall& call, const std::vector<DatumInfo>& results) {
    std::vector<Datum> operands(call.node.inputs().size());
    std::vector<const Datum*> pointers(operands.size(), nullptr);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto known = infos_.find(call.node.input(i));
      if (known == infos_.end()) continue;
      const DatumInfo& info = known->second;
      operands[i] = info.value != nullptr ? Datum(*info.value) : Datum(without_elements(info.type, info.dims));
      pointers[i] = &operands[i];
    }
    std::vector<Datum> made = relayout::compute(op, call, pointers, results, [&](std::size_t k) { return call.node.output(k) != nullptr; });
    for (std::size_t k = 0; k < made.size() && k < call.node.outputs().size(); ++k) {
      if (call.node.output(k) == nullptr) continue;
      contents_.push_back(std::make_unique<Tensor>(std::move(made[k].tensor)));
      DatumInfo& info = infos_[call.node.output(k)] = results[k];
      info.value = contents_.back().get();
    }
    return true;
  }

  const Graph& graph_;
  std::map<const Value*, DatumInfo> infos_;
  std::vector<std::unique_ptr<Tensor>> contents_;
};

}  // namespace

FunctionInstance compose(const Op& op, const Node& call, PartialOperands& operands) {
  Body body(call, operands);
  op.body(body);
  FunctionInstance out;
  out.message = std::make_unique<onnx::FunctionProto>(body.finish());
  out.graph = std::make_unique<Graph>(call.graph().model(), *out.message);
  return out;
}

std::optional<std::vector<DatumInfo>> infer_composed(const OpCall& call, std::span<const DatumInfo* const> inputs) {
  return BodyInference(*composed(call, inputs).graph).run(inputs);
}

void compute_composed(const OpCall& call, std::span<const Datum* const> inputs, std::span<Datum* const> outputs) {
  const FunctionInstance body = composed(call, KnownInfos(inputs).get());
  std::map<const Value*, Datum> values;
  for (std::size_t i = 0; i < body.graph->inputs().size(); ++i) {
    if (i < inputs.size() && inputs[i] != nullptr) values[body.graph->inputs()[i]] = *inputs[i];
  }
  for (const Node& node : body.graph->nodes()) {
    OpCall inner(node, node.opset());
    inner.threads = call.threads;
    std::vector<const Datum*> operands;
    for (const Value* input : node.inputs()) {
      const auto known = values.find(input);
      operands.push_back(known == values.end() ? nullptr : &known->second);
    }
    std::vector<Datum> made =
        infer_and_compute(*find_kernel(node), inner, operands, [&](std::size_t k) { return node.output(k) != nullptr; });
    for (std::size_t k = 0; k < node.outputs().size(); ++k) {
      if (node.output(k) != nullptr) values[node.output(k)] = std::move(made[k]);
    }
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k] != nullptr) copy_elements(call.threads, outputs[k]->tensor, values.at(body.graph->outputs()[k]).tensor);
  }
}

const Op* find_composed(std::string_view domain, std::string_view name) {
  const auto key = [](const Op& op) { return std::tuple(op.domain, op.name); };
  const auto table = composed_table();
  const auto found = std::ranges::lower_bound(table, std::tuple(domain, name), {}, key);
  return found != table.end() && key(*found) == std::tuple(domain, name) ? &*found : nullptr;
}

}  // namespace relayout
