// Determines the element types of a graph's values, from declarations, from nodes and from ONNX's schemas.
#include "ops/element_types.h"

#include <onnx/defs/data_type_utils.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <limits>

#include "base/positions.h"
#include "base/text.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "ops/branches.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout {
namespace {

DataType stored_type(const Initializer& initializer) {
  if (initializer.data) return initializer.data->type();
  if (initializer.message != nullptr) return type_of_number(initializer.message->data_type());
  return initializer.sparse != nullptr ? type_of_number(initializer.sparse->values().data_type()) : DataType::undefined;
}

}  // namespace

DataType declared_type(const Value& value) {
  if (const Initializer* const initializer = value.initializer()) return stored_type(*initializer);
  const auto declared = value.declared();
  return declared ? declared->type : DataType::undefined;
}

DataType ElementTypes::of(const Value& value) const {
  const auto found = types_.find(&value);
  return found != types_.end() ? found->second : DataType::undefined;
}

void ElementTypes::visit(const Graph& graph) {
  const auto add_sources = [&](const Graph& entered) {
    for (const Value* const input : entered.inputs()) types_.emplace(input, declared_type(*input));
    for (const Initializer& initializer : entered.initializers()) types_[initializer.value] = stored_type(initializer);
  };
  const auto add_outputs = [&](const Node& node) {
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const Value* const value = node.output(i);
      if (value == nullptr) continue;
      const DataType type = output_type(node, static_cast<int>(i));
      types_[value] = type != DataType::undefined ? type : declared_type(*value);
    }
  };
  for_each_node<Nested::before>(graph, add_outputs, add_sources);
}

DataType ElementTypes::output_type(const Node& node, int index) {
  if (!node.domain().empty()) return DataType::undefined;
  if (!node.subgraphs().empty()) {
    // The body of a Loop produces a condition first; outputs of Scan and If are those of their bodies.
    const auto& made = node.subgraphs().front()->outputs();
    const std::size_t place = as_size(index) + outputs_before_results(node);
    return place < made.size() ? of(*made[place]) : DataType::undefined;
  }
  // A sequence is not a tensor of its element type.
  if (node.is("SequenceConstruct") || node.is("SplitToSequence")) return DataType::undefined;
  const auto rule = type_rule(node, index);
  if (const auto* const own = std::get_if<DataType>(&rule)) return *own;
  if (const auto* const like = std::get_if<const Value*>(&rule)) return of(**like);
  return by_signature(node, index);
}

DataType ElementTypes::by_signature(const Node& node, int index) {
  const OpSignature* const signature = signatures_.find(node);
  if (signature == nullptr) return DataType::undefined;
  const OpSignature::Port port = signature->output(as_size(index));
  if (port.variable < 0) return port.fixed;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    if (node.input(i) != nullptr && signature->input(i).variable == port.variable) return of(*node.input(i));
  }
  const TypeSet allowed = signature->allowed(port.variable);
  if (allowed.empty()) return DataType::undefined;  // of a sequence or an optional
  if (allowed.only() != DataType::undefined) return allowed.only();
  // The type is named by an attribute, or follows from its absence.
  const Attributes attributes(node);
  constexpr auto kNames = std::to_array<const char*>({"dtype", "output_datatype", "output_dtype", "stash_type"});
  for (const char* const name : kNames) {
    const DataType type = attributes.has_reference() ? DataType::undefined : type_of_number(attributes.integer(name, 0));
    if (type != DataType::undefined) return type;
  }
  const bool is_statistic = index > 0 && allowed.has(DataType::float32);
  const DataType like = node.input(0) != nullptr && !is_statistic ? of(*node.input(0)) : DataType::undefined;
  if (allowed.has(like)) return like;
  return allowed.has(DataType::float32) ? DataType::float32 : DataType::undefined;
}

// Types that a schema allows.
namespace {

/// "tensor(float16)" → float16; undefined for other types.
DataType type_of(const std::string& text) {
  if (!text.starts_with("tensor(")) return DataType::undefined;
  const auto& proto = onnx::Utils::DataTypeUtils::ToTypeProto(onnx::Utils::DataTypeUtils::ToType(text));
  const DataTypeTraits* const known = find_traits(proto.tensor_type().elem_type());
  return known != nullptr ? known->type : DataType::undefined;
}

bool repeats(const std::vector<onnx::OpSchema::FormalParameter>& ports) {
  return !ports.empty() && ports.back().GetOption() == onnx::OpSchema::Variadic;
}

}  // namespace

const OpSignature* OpSignatures::find(const Node& node) {
  const int64_t opset = node.opset();
  if (!node.domain().empty() || opset <= 0 || opset > std::numeric_limits<int>::max()) return nullptr;
  const std::string key = node.op_type() + "/" + std::to_string(opset);
  if (const auto found = known_.find(key); found != known_.end()) return found->second.get();
  std::unique_ptr<OpSignature>& out = known_[key];
  const onnx::OpSchema* const schema = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset), "");
  if (schema == nullptr) return nullptr;
  out = std::make_unique<OpSignature>();
  const auto& constraints = schema->typeConstraintParams();
  for (const auto& constraint : constraints) {
    TypeSet& allowed = out->allowed_.emplace_back();
    for (const std::string& text : constraint.allowed_type_strs) {
      if (const DataType type = type_of(text); type != DataType::undefined) allowed = allowed | TypeSet{type};
    }
  }
  const auto ports = [&](const std::vector<onnx::OpSchema::FormalParameter>& formals) {
    std::vector<OpSignature::Port> made;
    for (const auto& formal : formals) {
      OpSignature::Port port;
      const auto constraint = std::ranges::find(constraints, formal.GetTypeStr(), &onnx::OpSchema::TypeConstraintParam::type_param_str);
      const bool shared = formal.GetOption() != onnx::OpSchema::Variadic || formal.GetIsHomogeneous();
      if (constraint == constraints.end()) {
        port.fixed = type_of(formal.GetTypeStr());
      } else if (shared) {
        port.variable = static_cast<int>(constraint - constraints.begin());
      }
      made.push_back(port);
    }
    return made;
  };
  out->inputs_ = ports(schema->inputs());
  out->outputs_ = ports(schema->outputs());
  out->repeats_input_ = repeats(schema->inputs());
  out->repeats_output_ = repeats(schema->outputs());
  out->since_ = schema->SinceVersion();
  return out.get();
}

std::optional<int> OpSignatures::first_opset(const std::string& op_type, std::size_t index, DataType type) {
  std::optional<int> out;
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op_type);
  for (; schema != nullptr; schema = onnx::OpSchemaRegistry::Schema(op_type, schema->SinceVersion() - 1, "")) {
    const auto& inputs = schema->inputs();
    if (inputs.empty()) return out;
    const auto& formal = inputs[std::min(index, inputs.size() - 1)];
    const auto& types = formal.GetTypes();
    const bool takes = std::ranges::any_of(types, [&](const onnx::DataType text) { return type_of(*text) == type; });
    if (!takes) return out;
    out = schema->SinceVersion();
  }
  return out;
}

// Types that follow from a node alone.
namespace {

DataType constant_type(const Node& node) {
  for (const onnx::AttributeProto& attribute : node.message().attribute()) {
    if (!attribute.ref_attr_name().empty()) return DataType::undefined;
    const std::string& name = attribute.name();
    if (name == "value") return type_of_number(attribute.t().data_type());
    if (name == "sparse_value") return type_of_number(attribute.sparse_tensor().values().data_type());
    if (name == "value_float" || name == "value_floats") return DataType::float32;
    if (name == "value_int" || name == "value_ints") return DataType::int64;
    if (name == "value_string" || name == "value_strings") return DataType::string;
  }
  return DataType::undefined;
}

}  // namespace

std::variant<std::monostate, DataType, const Value*> type_rule(const Node& node, int output_index) {
  const Op* const known = find_op(node);
  if (known == nullptr) return {};
  const std::string& op = node.op_type();
  const auto like = [&](std::size_t index) -> std::variant<std::monostate, DataType, const Value*> {
    if (const Value* const value = node.input(index)) return value;
    return {};
  };
  if (op == "If" && !node.subgraphs().empty()) {
    const auto outputs = node.subgraphs().front()->outputs();  // both graphs give the same types
    if (as_size(output_index) < outputs.size()) return outputs[as_size(output_index)];
    return {};
  }
  if (output_index > 0) {
    if (op == "Split" || op == "LSTM" || op == "GRU" || op == "RNN") return like(0);
    if (op == "TopK" || (op == "MaxPool" && output_index == 1)) return DataType::int64;
    return {};
  }
  if (op == "Cast") {
    const onnx::AttributeProto* const to = node.attribute("to");
    if (to != nullptr && to->ref_attr_name().empty() && to->has_i()) return type_of_number(to->i());
    return {};
  }
  if (op == "CastLike" || op == "Where" || op == "RMSNormalization") return like(1);
  if (op == "Constant") return constant_type(node);
  if (op == "ConstantOfShape") {
    const onnx::AttributeProto* const value = node.attribute("value");
    if (value == nullptr) return DataType::float32;
    return value->ref_attr_name().empty() ? type_of_number(value->t().data_type()) : DataType::undefined;
  }
  if (known->traits.has(Trait::makes_boolean)) return DataType::boolean;
  if (known->traits.has(Trait::makes_int64)) return DataType::int64;
  if (known->traits.has(Trait::same_type)) return like(0);
  return {};
}

// Types that the file declares.
namespace {

int index_of(const Node& node, const Value& output) {
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    if (node.output(i) == &output) return static_cast<int>(i);
  }
  return -1;
}

/// The type of a node's result: its fixed type, or that of the nearest value upstream with the same type whose type is declared.
DataType made_type(const Node& node, int index) {
  for (const Node* from = &node; from != nullptr;) {
    const auto rule = type_rule(*from, index);
    if (const auto* const fixed = std::get_if<DataType>(&rule)) return *fixed;
    const auto* const like = std::get_if<const Value*>(&rule);
    if (like == nullptr) break;
    const DataType declared = declared_type(**like);
    if (declared != DataType::undefined) return declared;
    from = (*like)->producer();
    if (from != nullptr) index = index_of(*from, **like);
  }
  return DataType::undefined;
}

void check_result(const Model& model, const Node& node, std::size_t index) {
  const Value* const value = node.output(index);
  if (value == nullptr) return;
  const DataType declared = declared_type(*value);
  if (declared == DataType::undefined) return;
  const DataType made = made_type(node, static_cast<int>(index));
  if (made == DataType::undefined || made == declared) return;
  fail(ErrorKind::invalid, escape(model.name()) + ": " + type_conflict(*value, made));
}

}  // namespace

std::string type_conflict(const Value& result, DataType made) {
  return "node " + result.producer()->label() + ": its result " + quote(result.name()) + " is " + std::string(name_of(made)) +
         ", the file declares " + std::string(name_of(declared_type(result)));
}

void check_declared_types(const Model& model) {
  for_each_node(model, [&](const Node& node) {
    for (std::size_t i = 0; i < node.outputs().size(); ++i) check_result(model, node, i);
  });
}

}  // namespace relayout
