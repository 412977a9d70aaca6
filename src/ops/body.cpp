// Writes the body of an operator of another domain in opset 24: names of its inner values, attributes handed on, constants, operators that
// only bodies use, refusals ("output 1 is not made").

#include "ops/body.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "model/attributes.h"
#include "model/node_name.h"
#include "ops/partial_dims.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Values of a body must not be mistaken for those of the graph around it: initializers are identified by name.
std::string prefix_of(const Node& call) {
  const Value* const output = first_output(call);
  return (output == nullptr ? call.name() : output->name()) + "/";
}

void set(onnx::AttributeProto& attribute, const Body::Number& value) {
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
        } else {
          attribute.set_type(onnx::AttributeProto_AttributeType_FLOATS);
          for (const float one : given) attribute.add_floats(one);
        }
      },
      value);
}

}  // namespace

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
      default:
        reject("attribute '" + std::string(name) + "' has another type");
    }
  }
  return out;
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
    set(attribute, value);
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

}  // namespace relayout
