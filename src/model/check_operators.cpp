// Checks the operands and attributes of the operators that passes rewrite.

#include <onnx/onnx_pb.h>

#include <array>

#include "base/positions.h"
#include "base/text.h"
#include "model/check.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Attributes that this tool reads, by type; an attribute's type is the same in all its operators.
constexpr auto kIntegers =
    std::to_array<std::string_view>({"axis", "broadcast", "group", "is_test", "spatial", "training_mode", "transA", "transB"});
constexpr auto kReals = std::to_array<std::string_view>({"alpha", "beta", "epsilon", "momentum"});
constexpr auto kTexts = std::to_array<std::string_view>({"auto_pad"});
constexpr auto kLists = std::to_array<std::string_view>(
    {"consumed_inputs", "dilations", "kernel_shape", "output_padding", "output_shape", "pads", "perm", "strides"});

/// Operand counts over all opsets. For a convolution also the indices of its weight and, where its type is known, its bias.
struct Operator {
  std::string_view name;
  std::size_t least_inputs, most_inputs, most_outputs;
  std::size_t weight = 0, bias = 0;
};
constexpr auto kOperators = std::to_array<Operator>({{"Add", 2, 2, 1},
                                                     {"BatchNormalization", 5, 5, 5},
                                                     {"Conv", 2, 3, 1, 1, 2},
                                                     {"ConvInteger", 2, 4, 1, 1},
                                                     {"ConvTranspose", 2, 3, 1, 1, 2},
                                                     {"Div", 2, 2, 1},
                                                     {"Gemm", 2, 3, 1},
                                                     {"Identity", 1, 1, 1},
                                                     {"MatMul", 2, 2, 1},
                                                     {"Mul", 2, 2, 1},
                                                     {"QLinearConv", 8, 9, 1, 3, 8},
                                                     {"Sub", 2, 2, 1},
                                                     {"Transpose", 1, 1, 1}});

/// Operators with a window of which nothing else is checked here.
constexpr auto kWindows = std::to_array<std::string_view>({"AveragePool", "DeformConv", "LpPool", "MaxPool", "MaxUnpool"});

/// The largest rank of a convolution weight that any runtime supports.
constexpr std::size_t kLargestRank = 12;

[[noreturn]] void invalid(const Node& node, const std::string& what) {
  fail(ErrorKind::invalid, "node " + node.label() + ": " + what);
}

void check_operands(const Node& node, const Operator& known) {
  const std::size_t inputs = node.inputs().size();
  if (inputs < known.least_inputs || inputs > known.most_inputs) {
    const std::string range = known.least_inputs == known.most_inputs
                                  ? std::to_string(known.least_inputs)
                                  : std::to_string(known.least_inputs) + " to " + std::to_string(known.most_inputs);
    invalid(node, std::to_string(inputs) + " inputs, not " + range);
  }
  for (std::size_t i = 0; i < known.least_inputs; ++i) {
    if (node.input(i) == nullptr) invalid(node, "input " + std::to_string(i) + " is missing");
  }
  const std::size_t outputs = node.outputs().size();
  if (outputs == 0 || outputs > known.most_outputs) {
    invalid(node,
            std::to_string(outputs) + " outputs, not " + (known.most_outputs == 1 ? "1" : "1 to " + std::to_string(known.most_outputs)));
  }
}

void check_attributes(const Node& node) {
  const Attributes attributes(node);
  for (const std::string_view name : kIntegers) (void)attributes.integer(name);
  for (const std::string_view name : kReals) (void)attributes.real(name);
  for (const std::string_view name : kTexts) (void)attributes.text(name, "");
  for (const std::string_view name : kLists) (void)attributes.integers(name);
}

/// Type and dims of a stored operand; refers to where they are stored.
struct Stored {
  std::string_view name;
  DataType type;
  std::span<const int64_t> dims;
};

/// Type and dims of an initializer or a Constant's tensor; nothing for a computed value.
std::optional<Stored> stored(const Value* value) {
  if (value == nullptr) return std::nullopt;
  if (const Initializer* initializer = value->initializer(); initializer != nullptr && initializer->data) {
    return Stored{value->name(), initializer->data->type(), initializer->data->dims()};
  }
  const Node* const producer = value->producer();
  if (producer == nullptr || !producer->is("Constant")) return std::nullopt;
  const onnx::AttributeProto* const attribute = producer->attribute("value");
  if (attribute == nullptr || !attribute->has_t()) return std::nullopt;
  const onnx::TensorProto& tensor = attribute->t();
  const DataTypeTraits* const type = find_traits(tensor.data_type());
  if (type == nullptr) return std::nullopt;
  return Stored{value->name(), type->type, {tensor.dims().data(), as_size(tensor.dims_size())}};
}

/// "weight 'W' f32[64, 3, 7, 7]"
std::string describe(std::string_view role, const Stored& operand) {
  return std::string(role) + " " + quote(operand.name) + " " + std::string(name_of(operand.type)) + to_string(operand.dims);
}

void check_vector(const Node& node, std::string_view role, const Stored& vector, int64_t length) {
  if (vector.dims.size() != 1 || vector.dims[0] != length) {
    invalid(node, describe(role, vector) + " is not a vector of " + std::to_string(length));
  }
}

/// Spatial dims of an operator with a window, as far as a stored weight or a model input's declaration says.
std::optional<std::size_t> spatial_dims_of(const Node& node, std::size_t weight_index) {
  std::optional<std::size_t> rank;
  if (const Value* const data = node.input(0); data != nullptr && data->is_model_input()) {
    if (const std::optional<ShapeInfo> declared = data->declared()) rank = declared->dims.size();
  }
  const std::optional<Stored> weight = weight_index > 0 ? stored(node.input(weight_index)) : std::nullopt;
  if (weight) rank = weight->dims.size();
  return rank && *rank > 2 ? std::optional(*rank - 2) : std::nullopt;
}

/// Checks that every list of a window has an entry for each spatial dim: none for batch and channels, one list as long as the others.
void check_window(const Node& node, const Attributes& attributes, std::size_t weight_index) {
  constexpr auto kListsOfWindows =
      std::to_array<std::string_view>({"kernel_shape", "strides", "dilations", "pads", "output_padding", "output_shape"});
  std::optional<std::size_t> spatial = spatial_dims_of(node, weight_index);
  for (const std::string_view name : kListsOfWindows) {
    const Dims values = attributes.integers(name);
    if (values.empty()) continue;
    const std::size_t each = name == "pads" ? 2 : 1;
    if (!spatial) spatial = values.size() / each;
    if (values.size() == each * *spatial) continue;
    const std::string wanted = each == 1 ? "one entry" : "two entries";
    invalid(node, std::string(name) + " " + to_string(values) + " must have " + wanted + " for each spatial dim, " +
                      std::to_string(each * *spatial) + " in all");
  }
}

/// Checks kernel_shape against the weight's kernel dims, and that no step is empty.
void check_kernel(const Node& node, const Attributes& attributes, const Stored& weight) {
  const Dims kernel = attributes.integers("kernel_shape");
  if (!kernel.empty() && !std::ranges::equal(kernel, weight.dims.subspan(2))) {
    invalid(node, "kernel_shape " + to_string(kernel) + " does not fit " + describe("weight", weight));
  }
  for (const std::string_view name : {"strides", "dilations"}) {
    const Dims values = attributes.integers(name);
    if (std::ranges::any_of(values, [](int64_t v) { return v <= 0; })) invalid(node, std::string(name) + " " + to_string(values));
  }
}

/// Channels of all groups; an empty tensor may have any dims.
int64_t of_all_groups(const Node& node, int64_t channels, int64_t group) {
  const std::optional<int64_t> product = checked_mul(channels, group);
  if (!product) invalid(node, std::to_string(channels) + " channels in each of " + std::to_string(group) + " groups");
  return *product;
}

/// Dim 1 of a value, if the weight of the convolution that produces it determines it. Declared shapes are not trusted, except for those of
/// the model's inputs, which are its contract.
std::optional<int64_t> channels_of(const Value* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_model_input()) {
    const std::optional<ShapeInfo> declared = value->declared();
    if (declared && declared->dims.size() > 2 && declared->dims[1] >= 0) return declared->dims[1];
  }
  const Node* const producer = value->producer();
  if (producer == nullptr) return std::nullopt;
  const bool transposed = producer->is("ConvTranspose");
  if ((!transposed && !producer->is("Conv")) || Attributes(*producer).has_reference()) return std::nullopt;
  const std::optional<Stored> weight = stored(producer->input(1));
  if (!weight || weight->dims.size() < 3) return std::nullopt;
  return transposed ? of_all_groups(*producer, weight->dims[1], Attributes(*producer).integer("group", 1)) : weight->dims[0];
}

void check_convolution(const Node& node, const Operator& known) {
  const bool transposed = node.is("ConvTranspose");
  const Attributes attributes(node);
  const int64_t group = attributes.integer("group", 1);
  if (group <= 0) invalid(node, "group " + std::to_string(group));
  check_window(node, attributes, known.weight);
  const std::optional<Stored> weight = stored(node.input(known.weight));
  if (!weight) return;
  if (weight->dims.size() < 3 || weight->dims.size() > kLargestRank) {
    invalid(node, describe("weight", *weight) + " has rank " + std::to_string(weight->dims.size()));
  }
  // ConvTranspose has [I, O/group, k…], the others [O, I/group, k…]: the groups divide dim 0.
  if (weight->dims[0] % group != 0) invalid(node, "group " + std::to_string(group) + " does not divide " + describe("weight", *weight));
  const int64_t channels_read = transposed ? weight->dims[0] : of_all_groups(node, weight->dims[1], group);
  if (const std::optional<int64_t> channels = channels_of(node.input(0)); channels && *channels != channels_read) {
    invalid(node, quote(node.input(0)->name()) + " has " + std::to_string(*channels) + " channels, " + describe("weight", *weight) +
                      " with group " + std::to_string(group) + " reads " + std::to_string(channels_read));
  }
  check_kernel(node, attributes, *weight);
  const std::optional<Stored> bias = known.bias > 0 ? stored(node.input(known.bias)) : std::nullopt;
  if (!bias) return;
  check_vector(node, "bias", *bias, transposed ? of_all_groups(node, weight->dims[1], group) : weight->dims[0]);
  const bool quantized = node.op_type() == "QLinearConv";
  const DataType expected = quantized ? DataType::int32 : weight->type;
  if (bias->type != expected) invalid(node, describe("bias", *bias) + " is not of type " + std::string(name_of(expected)));
}

void check_batch_normalization(const Node& node) {
  // Before opset 9 the statistics may be per activation.
  if (Attributes(node).integer("spatial", 1) == 0) return;
  constexpr std::array<std::string_view, 4> kRoles = {"scale", "bias", "mean", "variance"};
  std::array<std::optional<Stored>, 4> parameters;
  std::optional<int64_t> length = channels_of(node.input(0));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i] = stored(node.input(i + 1));
    if (!parameters[i]) continue;
    if (!is_float(parameters[i]->type)) invalid(node, describe(kRoles[i], *parameters[i]) + " is not of a float type");
    if (!length && parameters[i]->dims.size() == 1) length = parameters[i]->dims[0];
    if (!length) invalid(node, describe(kRoles[i], *parameters[i]) + " is not a vector");
    check_vector(node, kRoles[i], *parameters[i], *length);
  }
  // From opset 15 on the statistics may have a different type than scale and bias; each pair has one type.
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    if (parameters[i] && parameters[i + 1] && parameters[i]->type != parameters[i + 1]->type) {
      invalid(node, describe(kRoles[i], *parameters[i]) + " and " + describe(kRoles[i + 1], *parameters[i + 1]) + " differ in type");
    }
  }
}

}  // namespace

void check_operator(const Node& node) {
  if (!node.domain().empty()) return;
  if (std::ranges::find(kWindows, std::string_view(node.op_type())) != kWindows.end()) {
    if (const Attributes attributes(node); !attributes.has_reference()) check_window(node, attributes, 0);
    return;
  }
  const auto* const known = std::ranges::find(kOperators, std::string_view(node.op_type()), &Operator::name);
  if (known == kOperators.end()) return;
  check_operands(node, *known);
  const Attributes attributes(node);
  if (attributes.has_reference()) return;  // known only for each call of the function
  check_attributes(node);
  if (known->weight > 0) check_convolution(node, *known);
  if (node.op_type() == "BatchNormalization") check_batch_normalization(node);
}

}  // namespace relayout
