// Decides whether two nodes name the same operator, with attributes and versions that mean the same.
#include "proof/attributes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/defs/schema.h>

#include <cmath>

#include "model/node.h"
#include "model/origin.h"
#include "ops/constants.h"
#include "ops/formulas.h"
#include "ops/kernels/classical/tree_ensemble.h"
#include "ops/op.h"
#include "ops/op_attributes.h"
#include "ops/op_history.h"
#include "proof/side.h"
#include "proof/tensors.h"
#include "relayout/graph.h"
#include "relayout/proof.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

using onnx::AttributeProto;

Constant constant_of(const Model& model, const onnx::TensorProto& tensor) {
  Constant out;
  if (tensor.data_type() == onnx::TensorProto::STRING) {
    out.strings = load_tensor(model, tensor);
    out.type = out.strings.type();
    out.dims = out.strings.dims();
    return out;
  }
  out.data = tensor_data(model, tensor);
  out.type = out.data.type();
  out.dims = out.data.dims();
  return out;
}

/// A model, or that of a side, which may read numbers in a wider type.
struct Holder {
  const Model& model;
  const Side* side = nullptr;
};

bool same_tensor(const Holder& model_a, const onnx::TensorProto& a, const Holder& model_b, const onnx::TensorProto& b) {
  if (a.data_type() == onnx::TensorProto::UNDEFINED || b.data_type() == onnx::TensorProto::UNDEFINED) {
    return a.data_type() == b.data_type() && std::ranges::equal(a.dims(), b.dims());
  }
  const auto read = [](const Holder& holder, const onnx::TensorProto& tensor) {
    Constant constant = constant_of(holder.model, tensor);
    return holder.side != nullptr ? holder.side->as_read(std::move(constant)) : constant;
  };
  const auto found = difference(read(model_a, a), read(model_b, b));
  return found && found->values == 0;
}

bool same_sparse(const Holder& model_a, const onnx::SparseTensorProto& a, const Holder& model_b, const onnx::SparseTensorProto& b) {
  return std::ranges::equal(a.dims(), b.dims()) && same_tensor(model_a, a.values(), model_b, b.values()) &&
         same_tensor(model_a, a.indices(), model_b, b.indices());
}

/// Serializes an attribute without its name, documentation, tensors and graphs, in one deterministic encoding.
std::string plain_part(const AttributeProto& attribute) {
  AttributeProto plain;
  plain.set_type(attribute.type());
  plain.set_ref_attr_name(attribute.ref_attr_name());
  if (attribute.has_f()) plain.set_f(attribute.f());
  if (attribute.has_i()) plain.set_i(attribute.i());
  if (attribute.has_s()) plain.set_s(attribute.s());
  if (attribute.has_tp()) *plain.mutable_tp() = attribute.tp();
  *plain.mutable_floats() = attribute.floats();
  *plain.mutable_ints() = attribute.ints();
  *plain.mutable_strings() = attribute.strings();
  *plain.mutable_type_protos() = attribute.type_protos();
  std::string out;
  {
    google::protobuf::io::StringOutputStream stream(&out);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    plain.SerializeToCodedStream(&coded);
  }
  return out;
}

/// The real element type that an attribute of an operator names, as those of Cast and generators do; else undefined.
DataType real_type_in(const AttributeProto& attribute, std::string_view name) {
  if (attribute.type() != AttributeProto::INT || (name != "to" && name != "dtype")) return DataType::undefined;
  const DataType type = type_of_number(attribute.i());
  return is_real(type) ? type : DataType::undefined;
}

bool same_attribute(const Holder& model_a, const AttributeProto& a, const Holder& model_b, const AttributeProto& b) {
  const bool same_counts = a.has_t() == b.has_t() && a.has_g() == b.has_g() && a.has_sparse_tensor() == b.has_sparse_tensor() &&
                           a.tensors_size() == b.tensors_size() && a.graphs_size() == b.graphs_size() &&
                           a.sparse_tensors_size() == b.sparse_tensors_size();
  if (!same_counts || plain_part(a) != plain_part(b)) return false;
  if (a.has_t() && !same_tensor(model_a, a.t(), model_b, b.t())) return false;
  if (a.has_sparse_tensor() && !same_sparse(model_a, a.sparse_tensor(), model_b, b.sparse_tensor())) return false;
  for (int i = 0; i < a.tensors_size(); ++i) {
    if (!same_tensor(model_a, a.tensors(i), model_b, b.tensors(i))) return false;
  }
  for (int i = 0; i < a.sparse_tensors_size(); ++i) {
    if (!same_sparse(model_a, a.sparse_tensors(i), model_b, b.sparse_tensors(i))) return false;
  }
  return true;
}

/// Effective value of an attribute of a node.
struct Effective {
  const AttributeProto* stated = nullptr;  ///< as written, or the default
  const AttributeProto* value = nullptr;   ///< as `stated`; nullptr if the operator's definition implies it
  bool is_defined = false;                 ///< the operator's version defines the attribute
  bool is_default = false;
};

Effective effective(Side& side, Ref output, const std::string& name) {
  const Node& node = *output.value->producer();
  const AttributeDefault known = attribute_default(node, name);
  const AttributeProto* const written = AttributeReader(node, output.call).find(name);
  const AttributeProto* const value = written != nullptr ? written : known.value;
  if (value == nullptr || is_implied(side, output, *value)) return {value, nullptr, known.is_defined, true};
  if (written == nullptr) return {value, value, known.is_defined, true};
  const Model& model = node.graph().model();
  return {written, written, known.is_defined, known.value != nullptr && same_attribute({model}, *written, {model}, *known.value)};
}

/// Whether an attribute of classical machine learning affects no result.
bool is_hint(const Node& node, std::string_view name) {
  if (node.domain() != kMlDomain) return false;
  const auto is_it = [&](const UnreadAttribute& unread) { return unread.domain == kMlDomain && unread.name == name; };
  return std::ranges::any_of(unread_attributes(), is_it);
}

/// Whether a node does not read an attribute because of its other attributes, operands or results.
bool is_unread_here(Ref output, std::string_view name) {
  const Node& node = *output.value->producer();
  if (!node.domain().empty()) return false;
  const AttributeReader attributes(node, output.call);
  const auto is_it = [&](const ConditionalAttribute& entry) { return node.is(entry.op) && name == entry.name; };
  const auto found = std::ranges::find_if(conditional_attributes(), is_it);
  if (found == conditional_attributes().end()) return false;
  if (!found->other.empty()) return attributes.text(found->other, found->otherwise) != found->text;
  if (found->input > 0) return node.input(found->input) == nullptr;
  const auto made = std::ranges::count_if(node.outputs(), [](const Value* value) { return value != nullptr; });
  return made == 1 && attributes.integer("training_mode", 0) == 0;
}

/// The largest difference of two lists relative to the elements of the first; 1 at zeros and where one is not finite.
template <class Numbers>
double largest_difference(const Numbers& a, const Numbers& b) {
  double out = 0;
  for (int i = 0; i < a.size(); ++i) {
    const double right = a[i], apart = std::abs(b[i] - right);
    if (apart == 0 || (std::isnan(right) && std::isnan(b[i]))) continue;
    out = std::max(out, right != 0 && std::isfinite(apart) ? apart / std::abs(right) : 1);
  }
  return out;
}

bool have_equal_trees(const Node& a, const Node& b) {
  const auto of_a = listed_trees(a);
  return of_a && of_a == listed_trees(b);
}

}  // namespace

bool same_operator(const Node& a, const Node& b) {
  return a.op_type() == b.op_type() && a.domain() == b.domain() && a.message().overload() == b.message().overload();
}

std::vector<std::string> different_attributes(Side& side_a, Ref a, Side& side_b, Ref b, std::string_view ignored) {
  const Node& node_a = *a.value->producer();
  const Node& node_b = *b.value->producer();
  // Those of functions and of other domains mean anything.
  const bool names_types = node_a.domain().empty() && side_a.function_of(node_a) == nullptr && side_b.function_of(node_b) == nullptr;
  std::vector<std::string> out;
  const auto compare = [&](const std::string& name) {
    if (is_hint(node_a, name) || (is_unread_here(a, name) && is_unread_here(b, name))) return;
    const Effective in_a = effective(side_a, a, name);
    const Effective in_b = effective(side_b, b, name);
    if (in_a.value == nullptr && in_b.value == nullptr) return;
    const auto is_same = [&](const AttributeProto* of_a, const AttributeProto* of_b) {
      if (of_a == nullptr || of_b == nullptr) return false;
      const DataType type_a = names_types ? real_type_in(*of_a, name) : DataType::undefined, type_b = real_type_in(*of_b, name);
      if (type_a != DataType::undefined && side_a.as_read(type_a) == side_b.as_read(type_b)) return true;
      return same_attribute({node_a.graph().model(), &side_a}, *of_a, {node_b.graph().model(), &side_b}, *of_b);
    };
    // Equal as stated, though implied in one model alone: a kernel_shape is implied by a stored weight, not by a computed one.
    if (is_same(in_a.stated, in_b.stated)) return;
    // A version without the attribute behaves like the default in a later version.
    const bool is_new =
        (in_a.value == nullptr && !in_a.is_defined && in_b.is_default) || (in_b.value == nullptr && !in_b.is_defined && in_a.is_default);
    if (!is_new) out.push_back(name);
  };
  for (const AttributeProto& attribute : node_a.message().attribute()) {
    if (attribute.name() != ignored) compare(attribute.name());
  }
  for (const AttributeProto& attribute : node_b.message().attribute()) {
    if (attribute.name() != ignored && node_a.attribute(attribute.name()) == nullptr) compare(attribute.name());
  }
  if (!out.empty() && node_a.domain() == kMlDomain && have_equal_trees(node_a, node_b)) std::erase_if(out, lists_trees);
  return out;
}

void measure_number(const Node& a, const Node& b, std::string_view name, Unexplained& entry) {
  const onnx::AttributeProto *const in_a = a.attribute(name), *const in_b = b.attribute(name);
  const auto is_number = [](const onnx::AttributeProto* attribute) {
    return attribute != nullptr && (attribute->type() == onnx::AttributeProto::FLOAT || attribute->type() == onnx::AttributeProto::FLOATS);
  };
  if (!is_number(in_a) && !is_number(in_b)) return;
  entry.values = 1;
  entry.largest = 1;
  if (in_a != nullptr && in_b != nullptr && in_a->floats_size() > 0 && in_a->floats_size() == in_b->floats_size()) {
    entry.largest = largest_difference(in_a->floats(), in_b->floats());
    return;
  }
  if (in_a == nullptr || in_b == nullptr || !std::isfinite(in_a->f()) || !std::isfinite(in_b->f())) return;
  if (!in_a->has_f() || !in_b->has_f()) return;
  const double right = in_a->f(), difference = std::abs(in_b->f() - right);
  entry.largest = right != 0 ? difference / std::abs(right) : difference;
}

// Versions of operators.
namespace {

const onnx::OpSchema* schema_at(const Node& node, int64_t opset) {
  if (opset <= 0 || opset > std::numeric_limits<int>::max()) return nullptr;
  return onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset), std::string(node.domain()));
}

bool is_written(const Node& node, const Call* call, std::string_view name) {
  const onnx::AttributeProto* const written = AttributeReader(node, call).find(name);
  if (written == nullptr) return false;
  const AttributeDefault known = attribute_default(node, std::string(name));
  return known.value == nullptr || written->i() != known.value->i() || written->s() != known.value->s();
}

}  // namespace

bool same_semantics(const Node& a, const Call* call_a, const Node& b, const Call* call_b) {
  if (a.opset() == b.opset()) return true;
  if (!a.domain().empty() || !b.domain().empty()) return false;
  const onnx::OpSchema* const of_a = schema_at(a, a.opset());
  const onnx::OpSchema* const of_b = schema_at(b, b.opset());
  if (of_a == nullptr || of_b == nullptr) return false;
  const int older = std::min(of_a->since_version(), of_b->since_version());
  const int newer = std::max(of_a->since_version(), of_b->since_version());
  const auto is_written_for_either = [&](std::string_view attribute) {
    return is_written(a, call_a, attribute) || is_written(b, call_b, attribute);
  };
  for (int version = newer; version > older;) {
    if (!is_unchanged(a.op_type(), version)) return false;
    if (std::ranges::any_of(attributes_changed(a.op_type(), version), is_written_for_either)) return false;
    const onnx::OpSchema* const before = schema_at(a, version - 1);
    version = before != nullptr ? before->since_version() : 0;
  }
  return true;
}

std::optional<MovedArgument> moved_argument(const Node& a, const Node& b) {
  if (!a.domain().empty() || !b.domain().empty()) return std::nullopt;
  const MovedArgument* const found = relayout::moved_argument(a.op_type());
  if (found == nullptr || (a.opset() < found->version) == (b.opset() < found->version)) return std::nullopt;
  return *found;
}

bool is_same_argument(Side& side_a, Ref a, Side& side_b, Ref b, const MovedArgument& argument) {
  struct Numbers {
    bool is_there = false;
    std::optional<std::vector<int64_t>> values;
    bool operator==(const Numbers&) const = default;
  };
  const auto read = [&](Side& side, Ref output) -> Numbers {
    const AttributeReader attributes(*output.value->producer(), output.call);
    if (attributes.has(argument.attribute)) {
      auto values = attributes.integers(argument.attribute);
      return {true, attributes.is_open() ? std::nullopt : std::optional(std::move(values))};
    }
    const Ref operand = side.operand(output, argument.input);
    if (!operand) return {};
    return {true, integers_of(side, operand)};
  };
  const Numbers of_a = read(side_a, a);
  return of_a == read(side_b, b) && (!of_a.is_there || of_a.values);
}

AttributeDefault attribute_default(const Node& node, const std::string& name) {
  const onnx::OpSchema* const schema = schema_at(node, node.opset());
  const auto* const attributes = schema == nullptr ? nullptr : &schema->attributes();
  if (attributes == nullptr || !attributes->contains(name)) {
    const onnx::AttributeProto* const known = default_beyond_schemas(node.domain(), node.op_type(), name);
    return {known != nullptr, known};
  }
  const auto found = attributes->find(name);
  const bool has_value = found->second.default_value.has_name();
  return {true, has_value ? &found->second.default_value : nullptr};
}

// Attributes that equal their absence.
namespace {

bool are(const onnx::AttributeProto& attribute, int64_t wanted) {
  return std::ranges::all_of(attribute.ints(), [&](int64_t value) { return value == wanted; });
}

/// Whether kernel_shape equals the weight's dims after the channels.
bool is_kernel_of_weight(Side& side, Ref output, const onnx::AttributeProto& attribute) {
  const Ref weight = side.operand(output, traits_of(*output.value->producer()).convolution_weight().value());
  const auto contents = weight ? side.contents(weight) : std::nullopt;
  return contents && contents->dims.size() >= 2 &&
         std::ranges::equal(contents->dims.begin() + 2, contents->dims.end(), attribute.ints().begin(), attribute.ints().end());
}

bool is_implied_by_window(Side& side, Ref output, const onnx::AttributeProto& attribute) {
  const Node& node = *output.value->producer();
  const bool is_convolution = traits_of(node).convolution_weight().has_value();
  if (!is_convolution && !has_trait(node, Trait::pools) && node.op_type() != "NhwcMaxPool" && node.op_type() != "QLinearAveragePool") {
    return false;
  }
  const std::string& name = attribute.name();
  if (name == "strides" || name == "dilations") return are(attribute, 1);
  if (name == "pads" || name == "output_padding") return are(attribute, 0);
  return name == "kernel_shape" && is_convolution && is_kernel_of_weight(side, output, attribute);
}

bool is_reversal(const onnx::AttributeProto& permutation) {
  for (int i = 0; i < permutation.ints_size(); ++i) {
    if (permutation.ints(i) != permutation.ints_size() - 1 - i) return false;
  }
  return permutation.ints_size() > 0;
}

/// Whether one scale holds for the whole tensor, so that the axis has no effect.
bool is_scaled_whole(Side& side, Ref output) {
  const Ref scale = side.operand(output, 1);
  const auto contents = scale ? side.contents(scale) : std::nullopt;
  return contents && contents->dims.empty();
}

/// The dim of an operand; −1 if unknown.
int64_t dim_of(Side& side, Ref output, std::size_t input, std::size_t axis) {
  const Ref operand = side.operand(output, input);
  const auto dims = operand ? Shapes(side).of(operand) : std::nullopt;
  return dims && axis < dims->size() ? (*dims)[axis] : -1;
}

/// The size of an attention's head, from its operands; −1 if unknown.
int64_t head_size(Side& side, Ref output) {
  const Node& node = *output.value->producer();
  const AttributeReader attributes(node, output.call);
  const bool is_microsoft = node.domain() == kMicrosoftDomain;
  int64_t width = -1, heads = attributes.integer(is_microsoft ? "num_heads" : "q_num_heads", 0);
  if (is_microsoft && (node.op_type() == "Attention" || node.op_type() == "QAttention")) {
    // Queries, keys and values are adjacent.
    const std::vector<int64_t> parts = attributes.integers("qkv_hidden_sizes");
    const int64_t all = dim_of(side, output, 1, 1);
    width = !parts.empty() ? parts[0] : all % 3 == 0 ? all / 3 : -1;
  } else {
    const Ref query = side.operand(output, 0);
    const auto dims = query ? Shapes(side).of(query) : std::nullopt;
    if (!dims) return -1;
    if (dims->size() != 3) return dims->size() > 3 ? dims->back() : -1;  // by heads already
    if (node.op_type() == "GroupQueryAttention" && !side.operand(output, 1)) heads += 2 * attributes.integer("kv_num_heads", 0);
    width = dims->back();
  }
  return !attributes.is_open() && heads > 0 && width > 0 && width % heads == 0 ? width / heads : -1;
}

/// Whether the scale of an attention is 1 / √(size of a head), rounded in any way. ONNX Runtime reads 0 as that.
bool is_scale_of_heads(Side& side, Ref output, const onnx::AttributeProto& attribute) {
  const Node& node = *output.value->producer();
  if (attribute.f() == 0) return node.domain() == kMicrosoftDomain;
  const int64_t size = head_size(side, output);
  const double scale = 1 / std::sqrt(static_cast<double>(size));
  return size > 0 &&
         std::abs(static_cast<double>(attribute.f()) - scale) <= scale * static_cast<double>(std::numeric_limits<float>::epsilon());
}

/// Whether the activations of each direction are those that a recurrent operator has without the attribute.
bool are_usual_activations(const Node& node, const onnx::AttributeProto& attribute) {
  const std::vector<std::string_view>& usual = recurrent_cell::kind_of(node.op_type()).activations;
  const onnx::AttributeProto* const direction = node.attribute("direction");
  const int count = static_cast<int>(usual.size()) * (direction != nullptr && direction->s() == "bidirectional" ? 2 : 1);
  // The default that ONNX writes down for a RNN has a name too many for one direction.
  const bool is_as_written = usual.size() == 1 && attribute.strings_size() == 2;
  if (attribute.strings_size() != count && !is_as_written) return false;
  for (int i = 0; i < attribute.strings_size(); ++i) {
    if (attribute.strings(i) != usual[static_cast<std::size_t>(i) % usual.size()]) return false;
  }
  return true;
}

bool is_implied_by_cell(Side& side, Ref output, const onnx::AttributeProto& attribute) {
  const Node& node = *output.value->producer();
  const bool is_quantized = node.op_type() == "DynamicQuantizeLSTM" && node.domain() == kMicrosoftDomain;
  if (!is_quantized && !has_trait(node, Trait::recurrent)) return false;
  // The recurrence weight is [directions, gates · hidden, hidden], transposed for the quantized operator.
  if (attribute.name() == "hidden_size") return attribute.i() > 0 && attribute.i() == dim_of(side, output, 2, is_quantized ? 1 : 2);
  return attribute.name() == "activations" && are_usual_activations(node, attribute);
}

/// Whether the activation of a product has no such parameter.
bool is_unused_parameter(const Node& node, const Call* call, std::string_view name) {
  const std::string activation = AttributeReader(node, call).text("activation", "");
  const auto parameters = activation_parameters(activation);
  const bool is_plain = activation.empty() || activation == "Silu" || (parameters && parameters->empty());
  return node.domain() == kMicrosoftDomain && name.starts_with("activation_") && name != "activation" &&
         node.op_type().starts_with("Fused") && is_plain;
}

}  // namespace

bool is_implied(Side& side, Ref output, const onnx::AttributeProto& attribute) {
  const Node& node = *output.value->producer();
  const bool is_microsoft = node.domain() == kMicrosoftDomain;
  if ((!node.domain().empty() && !is_microsoft) || !attribute.ref_attr_name().empty()) return false;
  const std::string& name = attribute.name();
  if (is_implied_by_window(side, output, attribute) || is_implied_by_cell(side, output, attribute)) return true;
  if (node.is("Transpose") && name == "perm") return is_reversal(attribute);
  if (node.is("Split") && name == "num_outputs") return attribute.i() == static_cast<int64_t>(node.outputs().size());
  if (has_trait(node, Trait::quantizes) && name == "axis") return is_scaled_whole(side, output);
  if (name == "smooth_softmax") return attribute.i() <= 0;  // ONNX Runtime's schema has −1 for off, like 0
  if (name == "scale" && node.op_type().ends_with("Attention")) return is_scale_of_heads(side, output, attribute);
  return is_unused_parameter(node, output.call, name);
}

}  // namespace relayout::proof
