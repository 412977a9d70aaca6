// Reads nodes as functions that can be fused, and tells which of them oneDNN applies itself.

#include <unordered_map>

#include "base/machine.h"
#include "base/positions.h"
#include "exec/constant_store.h"
#include "exec/inference.h"
#include "exec/lower/fuse.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "ops/formulas.h"
#include "ops/op.h"
#include "ops/op_history.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

constexpr int64_t kClipInputsOpset = 11;

Stage function(Function which, float alpha = 0, float beta = 0) {
  Stage stage;
  stage.function = which;
  stage.alpha = alpha;
  stage.beta = beta;
  return stage;
}

Stage binary(BinaryFunction which, Tensor constant) {
  Stage stage;
  stage.is_binary = true;
  stage.binary = which;
  stage.constant = std::move(constant);
  return stage;
}

std::optional<Stage> clip(const ValueFacts& facts, const ProgramNode& node) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Stage stage = function(Function::clip, -kInfinity, kInfinity);
  if (node.call.opset < kClipInputsOpset) {
    stage.alpha = node.call.attributes.real("min", -kInfinity);
    stage.beta = node.call.attributes.real("max", kInfinity);
    return stage;
  }
  for (const std::size_t which : {1U, 2U}) {
    if (node.input(which) == ValueId::none) continue;
    const auto bound = small_constant(facts, node.input(which));
    if (!bound || bound->size() != 1) return std::nullopt;
    (which == 1 ? stage.alpha : stage.beta) = static_cast<float>(bound->front());
  }
  return stage;
}

std::optional<Stage> gelu(const ValueFacts& /*facts*/, const ProgramNode& node) {
  return function(node.call.attributes.text("approximate", "none") == "tanh" ? Function::gelu_tanh : Function::gelu_erf);
}

std::optional<Stage> hard_swish(const ValueFacts& /*facts*/, const ProgramNode& /*node*/) {
  return function(Function::hard_swish, static_cast<float>(elementwise::kHardSwishAlpha), static_cast<float>(elementwise::kHardSwishBeta));
}

/// Functions with the parameters that their attributes give, by operator.
struct PlainFunction {
  std::string_view op;
  Function function;
};

constexpr PlainFunction kPlainFunctions[] = {
    {"Abs", Function::abs},
    {"Acos", Function::arc_cosine},
    {"Acosh", Function::area_cosine},
    {"Asin", Function::arc_sine},
    {"Asinh", Function::area_sine},
    {"Atan", Function::arc_tangent},
    {"Atanh", Function::area_tangent},
    {"Ceil", Function::ceil},
    {"Celu", Function::celu},
    {"Cos", Function::cosine},
    {"Cosh", Function::hyperbolic_cosine},
    {"Elu", Function::elu},
    {"Erf", Function::erf},
    {"Exp", Function::exp},
    {"Floor", Function::floor},
    {"HardSigmoid", Function::hard_sigmoid},
    {"LeakyRelu", Function::relu},
    {"Log", Function::log},
    {"Mish", Function::mish},
    {"Neg", Function::negate},
    {"Reciprocal", Function::reciprocal},
    {"Relu", Function::relu},
    {"Round", Function::round},
    {"Selu", Function::selu},
    {"Sigmoid", Function::sigmoid},
    {"Sin", Function::sine},
    {"Sinh", Function::hyperbolic_sine},
    {"Softsign", Function::softsign},
    {"Sqrt", Function::sqrt},
    {"Swish", Function::swish},
    {"Tan", Function::tangent},
    {"Tanh", Function::tanh},
    {"ThresholdedRelu", Function::thresholded_relu},
};

/// Functions whose parameters are no plain attributes, by operator; they may decline.
struct ReadFunction {
  std::string_view op;
  std::optional<Stage> (*read)(const ValueFacts& facts, const ProgramNode& node);
};

constexpr ReadFunction kReadFunctions[] = {
    {"Clip", clip},
    {"Gelu", gelu},
    {"HardSwish", hard_swish},
    {"Softplus", [](const ValueFacts&, const ProgramNode&) { return std::optional(function(Function::softplus, 1.0F)); }},
};

/// Functions of two variables, by operator.
struct PairFunction {
  std::string_view op;
  BinaryFunction function;
  bool takes_many = false;  ///< any number of inputs, in any order
  bool is_first = false;    ///< the result has the dims of the first input, to which the others broadcast
};

constexpr PairFunction kPairFunctions[] = {
    {"Add", BinaryFunction::add},           {"Sub", BinaryFunction::subtract},
    {"Mul", BinaryFunction::multiply},      {"Div", BinaryFunction::divide},
    {"Min", BinaryFunction::minimum, true}, {"Max", BinaryFunction::maximum, true},
    {"Sum", BinaryFunction::add},           {"PRelu", BinaryFunction::slope_below, false, true},
};

constexpr std::string_view kPower = "Pow", kChannelAffine = "BatchNormalization", kCast = "Cast", kQuantize = "QuantizeLinear";

/// The entry of an operator, or null.
template <class Entry, std::size_t kCount>
const Entry* find_in(const Entry (&entries)[kCount], std::string_view op) {
  const auto* const found = std::ranges::find(entries, op, &Entry::op);
  return found == std::end(entries) ? nullptr : found;
}

std::optional<Stage> unary(const ValueFacts& facts, const ProgramNode& node) {
  const std::string& op = node.node->op_type();
  if (const PlainFunction* const plain = find_in(kPlainFunctions, op)) {
    const auto [alpha, beta] = elementwise::parameters_of(op, node.call.attributes, node.call.opset);
    return function(plain->function, alpha, beta);
  }
  const ReadFunction* const entry = find_in(kReadFunctions, op);
  return entry == nullptr ? std::nullopt : entry->read(facts, node);
}

/// The node's other inputs, each as the operand of a function of two variables.
std::vector<Stage> pairwise(const ProgramNode& node, ValueId through) {
  const PairFunction* const entry = find_in(kPairFunctions, node.node->op_type());
  if (entry == nullptr || node.call.opset < kNumpyOpset || node.inputs.size() < 2) return {};
  if ((node.inputs.size() > 2 && !entry->takes_many) || std::ranges::count(node.inputs, ValueId::none) > 0) return {};
  const auto self = std::ranges::find(node.inputs, through);
  if (self == node.inputs.end() || (entry->is_first && self != node.inputs.begin())) return {};
  std::vector<Stage> stages;
  for (auto input = node.inputs.begin(); input != node.inputs.end(); ++input) {
    if (input == self) continue;
    Stage& stage = stages.emplace_back();
    stage.is_binary = true;
    stage.binary = entry->function;
    stage.reversed = input < self;
    stage.value = *input;
  }
  return stages;
}

/// x to a constant power, or a power with another operand of x's type. Roots and reciprocals differ from powers at −0 and −∞.
std::optional<Stage> power(const ValueFacts& facts, const ProgramNode& node, ValueId through) {
  if (node.node->op_type() != kPower || node.call.opset < kNumpyOpset || node.inputs.size() != 2) return std::nullopt;
  if (node.inputs[0] == through) {
    const auto exponent = small_constant(facts, node.inputs[1]);
    if (exponent && exponent->size() == 1) {
      const double y = exponent->front();
      if (y == 1) return function(Function::linear, 1, 0);
      if (y == 2) return function(Function::square);
      if (y == 3) return function(Function::cube);
      if (static_cast<double>(static_cast<float>(y)) != y) return std::nullopt;
      Stage stage = binary(BinaryFunction::power, Tensor(DataType::float32, {}));
      *stage.constant.data<float>() = static_cast<float>(y);
      return stage;
    }
  }
  Stage stage;
  stage.is_binary = true;
  stage.binary = BinaryFunction::power;
  stage.reversed = node.inputs[0] != through;
  stage.value = node.inputs[stage.reversed ? 0 : 1];
  return stage;
}

/// Per-channel values as a tensor that broadcasts over [N, C, …].
Tensor along_channels(const std::vector<double>& values, std::size_t rank) {
  Dims dims(rank, 1);
  dims[1] = static_cast<int64_t>(values.size());
  Tensor out(DataType::float32, dims);
  std::ranges::transform(values, out.data<float>(), [](double value) { return static_cast<float>(value); });
  return out;
}

}  // namespace

bool ChannelAffine::is_finite() const {
  const auto all = [](const std::vector<double>& values) {
    return std::ranges::all_of(values, [](double value) { return std::isfinite(static_cast<float>(value)); });
  };
  return all(mean) && all(scale) && all(bias);
}

ChannelAffine ChannelAffine::part(std::size_t first, std::size_t count) const {
  const auto cut = [&](const std::vector<double>& values) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
    return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  return {cut(mean), cut(scale), cut(bias)};
}

Stage add_per_channel(const std::vector<double>& values, std::size_t rank) {
  return binary(BinaryFunction::add, along_channels(values, rank));
}

std::vector<Stage> ChannelAffine::stages(std::size_t rank) const {
  return {binary(BinaryFunction::subtract, along_channels(mean, rank)), binary(BinaryFunction::multiply, along_channels(scale, rank)),
          add_per_channel(bias, rank)};
}

std::optional<std::vector<double>> small_constant(const ValueFacts& facts, ValueId value) {
  if (value == ValueId::none) return std::nullopt;
  KnownConstant* const known = facts.state(value).constant.get();
  if (known == nullptr || known->element_count() > 65536) return std::nullopt;
  const Tensor tensor = contiguous(facts.store.load(*known));
  std::vector<double> out(as_size(tensor.element_count()));
  const auto convert = [&](const auto* elements) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(elements[i]);
  };
  switch (tensor.type()) {
    case DataType::float32:
      convert(tensor.data<float>());
      break;
    case DataType::float64:
      convert(tensor.data<double>());
      break;
    case DataType::int64:
      convert(tensor.data<int64_t>());
      break;
    case DataType::int32:
      convert(tensor.data<int32_t>());
      break;
    case DataType::uint8:
      convert(tensor.data<uint8_t>());
      break;
    case DataType::int8:
      convert(tensor.data<int8_t>());
      break;
    default:
      return std::nullopt;
  }
  return out;
}

std::optional<Dims> reduced_axes(const ValueFacts& facts, const ProgramNode& node) {
  const auto rank = static_cast<int64_t>(facts.info(node.inputs[0]).dims.size());
  Dims axes;
  if (!argument_is_operand(node.node->op_type(), node.call.opset)) {
    axes = node.call.attributes.integers("axes");
  } else if (node.input(1) != ValueId::none) {
    const auto values = small_constant(facts, node.inputs[1]);
    if (!values) return std::nullopt;
    axes.assign(values->begin(), values->end());
  }
  if (axes.empty()) return std::nullopt;
  for (int64_t& axis : axes) axis = from_front(axis, rank);
  std::ranges::sort(axes);
  return axes;
}

std::size_t reduced_last_dims(const ValueFacts& facts, const ProgramNode& node) {
  const auto axes = reduced_axes(facts, node);
  if (!axes) return 0;
  const auto rank = std::ssize(facts.info(node.inputs[0]).dims), count = std::ssize(*axes);
  for (int64_t i = 0; i < count; ++i) {
    if (element_at(*axes, i) != rank - count + i) return 0;
  }
  return axes->size();
}

bool sums_lines(const ValueFacts& facts, const ProgramNode& node, ValueId through) {
  const std::string& op = node.node->op_type();
  if ((op != "ReduceMean" && op != "ReduceSum") || node.input(0) != through || node.output(0) == ValueId::none) return false;
  if (!facts.is_float_tensor(through) || reduced_last_dims(facts, node) == 0) return false;
  const int64_t lines = element_count(facts.info(node.output(0)).dims);
  return lines > 0 && element_count(facts.info(through).dims) / lines >= kShortLine;
}

bool moves_indices(const ValueFacts& facts, const ProgramNode& node, const ProgramNode& reader) {
  if (node.node->op_type() != "Sub" || reader.node->op_type() != "GatherElements" || node.output(0) == ValueId::none) return false;
  if (reader.input(1) != node.output(0) || reader.input(0) == node.output(0)) return false;
  const auto is_index = [&](ValueId value) { return facts.is_tensor(value) && facts.info(value).type == DataType::int64; };
  return std::ranges::all_of(node.inputs, is_index) && facts.constant(node.input(1)) != nullptr &&
         facts.info(node.input(0)).dims == facts.info(node.output(0)).dims;
}

std::optional<ChannelAffine> channel_affine_of(const ValueFacts& facts, const ProgramNode& node) {
  if (node.node->op_type() != kChannelAffine || node.inputs.size() != 5) return std::nullopt;
  for (std::size_t k = 1; k < node.outputs.size(); ++k) {
    if (node.outputs[k] != ValueId::none) return std::nullopt;
  }
  if (node.call.attributes.integer("training_mode", 0) != 0) return std::nullopt;
  if (node.call.opset < 9 && node.call.attributes.integer("spatial", 1) == 0) return std::nullopt;
  const ValueState& x = facts.state(node.inputs[0]);
  if (!facts.is_float_tensor(node.inputs[0]) || x.info->dims.size() < 2) return std::nullopt;
  std::vector<double> parameters[4];
  for (std::size_t i = 0; i < 4; ++i) {
    auto values = small_constant(facts, node.inputs[i + 1]);
    if (!values || static_cast<int64_t>(values->size()) != x.info->dims[1]) return std::nullopt;
    parameters[i] = std::move(*values);
  }
  const auto epsilon = static_cast<double>(node.call.attributes.real("epsilon", 1e-5F));
  ChannelAffine out{std::move(parameters[2]), std::move(parameters[0]), std::move(parameters[1])};
  for (std::size_t i = 0; i < out.scale.size(); ++i) out.scale[i] /= std::sqrt(parameters[3][i] + epsilon);
  return out;
}

bool may_be_stages(std::string_view op_type) {
  return find_in(kPlainFunctions, op_type) != nullptr || find_in(kReadFunctions, op_type) != nullptr ||
         find_in(kPairFunctions, op_type) != nullptr || op_type == kPower || op_type == kChannelAffine || op_type == kCast ||
         op_type == kQuantize;
}

std::optional<Stage> unary_stage_of(const ValueFacts& facts, const ProgramNode& node) {
  return unary(facts, node);
}

std::optional<std::vector<Stage>> stages_of(const ValueFacts& facts, const ProgramNode& node, ValueId through) {
  if (!facts.is_float_tensor(through) || !facts.is_float_tensor(node.output(0))) return std::nullopt;
  if (const auto affine = channel_affine_of(facts, node)) {
    if (node.inputs[0] != through) return std::nullopt;
    return affine->stages(facts.state(through).info->dims.size());
  }
  auto stages = pairwise(node, through);
  if (const auto stage = power(facts, node, through)) stages.push_back(*stage);
  for (const Stage& stage : stages) {
    if (stage.value != ValueId::none && !facts.is_float_tensor(stage.value)) return std::nullopt;
  }
  if (!stages.empty()) return stages;
  if (node.input(0) != through) return std::nullopt;
  if (const auto stage = unary(facts, node)) return std::vector<Stage>{*stage};
  return std::nullopt;
}

std::optional<Stage> gated_stage_of(const ValueFacts& facts, const ProgramNode& gate, const ProgramNode& product, ValueId through) {
  if (product.node->op_type() != "Mul" || gate.input(0) != through || product.inputs.size() != 2) return std::nullopt;
  if (std::ranges::count(product.inputs, through) != 1 || std::ranges::count(product.inputs, gate.output(0)) != 1) return std::nullopt;
  auto stages = stages_of(facts, gate, through);
  if (!stages || stages->size() != 1 || !stages_of(facts, product, through)) return std::nullopt;
  Stage& stage = stages->front();
  if (stage.is_binary) return std::nullopt;
  if (stage.function == Function::sigmoid) return function(Function::swish, 1);
  if (stage.function != Function::hard_sigmoid) return std::nullopt;
  stage.function = Function::hard_swish;
  return stage;
}

namespace {

/// The one number that an operand of both nodes holds.
std::optional<float> common_number(const ValueFacts& facts, const ProgramNode& first, const ProgramNode& second, std::size_t operand) {
  const auto one = small_constant(facts, first.input(operand)), other = small_constant(facts, second.input(operand));
  if (!one || one->size() != 1 || one != other) return std::nullopt;
  return static_cast<float>(one->front());
}

std::optional<Stage> quantized_stage(const ValueFacts& facts, const ProgramNode& first, const ProgramNode& second) {
  if (first.node->op_type() != kQuantize || second.node->op_type() != "DequantizeLinear") return std::nullopt;
  if (!facts.is_float_tensor(first.input(1)) || first.call.attributes.integer("precision", 0) != 0) return std::nullopt;
  const auto step = common_number(facts, first, second, 1);
  const bool has_zero = first.input(2) != ValueId::none || second.input(2) != ValueId::none;
  const auto zero = has_zero ? common_number(facts, first, second, 2) : std::optional(0.0F);
  const DataType type = facts.info(first.output(0)).type;
  if (!step || !zero || (type != DataType::uint8 && type != DataType::int8)) return std::nullopt;
  return function(type == DataType::uint8 ? Function::steps_u8 : Function::steps_i8, *step, *zero);
}

}  // namespace

std::optional<Stage> round_trip_of(const ValueFacts& facts, const ProgramNode& first, const ProgramNode& second, ValueId through) {
  if (first.input(0) != through || second.input(0) != first.output(0)) return std::nullopt;
  if (!facts.is_float_tensor(through) || !facts.is_tensor(first.output(0)) || !facts.is_float_tensor(second.output(0))) return std::nullopt;
  if (first.node->op_type() != kCast || second.node->op_type() != kCast) return quantized_stage(facts, first, second);
  switch (facts.info(first.output(0)).type) {
    case DataType::boolean:
      return function(Function::is_nonzero);
    case DataType::float16:
      return function(Function::round_half);
    case DataType::bfloat16:
      return function(Function::round_bfloat);
    default:
      return std::nullopt;
  }
}

namespace {

/// The other argument of a function of two variables, if it is one known number.
std::optional<double> number_in(const ValueFacts& facts, const Stage& stage, BinaryFunction wanted) {
  if (!stage.is_binary || stage.binary != wanted || stage.value == ValueId::none) return std::nullopt;
  const auto values = small_constant(facts, stage.value);
  return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

/// Factor of a product with a number, or of a division by one.
std::optional<double> factor_of(const ValueFacts& facts, const Stage& stage) {
  if (const auto factor = number_in(facts, stage, BinaryFunction::multiply)) return factor;
  const auto divisor = stage.reversed ? std::nullopt : number_in(facts, stage, BinaryFunction::divide);
  return divisor && *divisor != 0 ? std::optional(1 / *divisor) : std::nullopt;
}

/// Joins the last stages, over x = `through`, into one function if they compute factor · x · (1 + erf(x · factor)), which is GELU as it is
/// written out.
void join_erf_gate(const ValueFacts& facts, std::vector<Stage>& stages, ValueId through) {
  const std::span<const Stage> last = std::span<const Stage>(stages).last(kErfGateStages);
  if (last[1].is_binary || last[1].function != Function::erf || number_in(facts, last[2], BinaryFunction::add) != 1.0) return;
  const Stage& product = last[3];
  if (through == ValueId::none || !product.is_binary || product.binary != BinaryFunction::multiply || product.value != through) return;
  const auto inner = factor_of(facts, last[0]), outer = factor_of(facts, last[4]);
  if (!inner || !outer) return;
  stages.resize(stages.size() - kErfGateStages);
  stages.push_back(function(Function::erf_gate, static_cast<float>(*inner), static_cast<float>(*outer)));
}

}  // namespace

std::optional<Stage> shift_of(const ValueFacts& facts, const Stage& stage) {
  if (const auto added = number_in(facts, stage, BinaryFunction::add)) return function(Function::linear, 1, static_cast<float>(*added));
  const auto other = number_in(facts, stage, BinaryFunction::subtract);
  if (!other) return std::nullopt;
  const auto number = static_cast<float>(*other);
  return stage.reversed ? function(Function::linear, -1, number) : function(Function::linear, 1, -number);
}

std::optional<std::vector<Stage>> stages_of(const ValueFacts& facts, std::span<const ProgramNode* const> nodes, ValueId through) {
  std::vector<Stage> out;
  std::vector<ValueId> arguments;  // of the stages, where they are values of the program
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto pair = i + 1 < nodes.size() ? gated_stage_of(facts, *nodes[i], *nodes[i + 1], through) : std::nullopt;
    if (!pair && i + 1 < nodes.size()) pair = round_trip_of(facts, *nodes[i], *nodes[i + 1], through);
    if (pair) {
      out.push_back(*pair);
      ++i;
    } else {
      const auto stages = stages_of(facts, *nodes[i], through);
      if (!stages) return std::nullopt;
      out.insert(out.end(), stages->begin(), stages->end());
    }
    arguments.push_back(through);
    arguments.resize(out.size(), ValueId::none);
    through = nodes[i]->output(0);
    if (out.size() >= kErfGateStages) join_erf_gate(facts, out, arguments[out.size() - kErfGateStages]);
    arguments.resize(out.size());
  }
  return out;
}

std::optional<std::vector<Stage>> kept_stages_of(const Program& program, const ValueFacts& facts, std::span<const ProgramNode* const> nodes,
                                                 ValueId through) {
  std::unordered_map<ValueId, int> reads;  // within the group
  for (const ProgramNode* const node : nodes) {
    for (const ValueId input : node->inputs) ++reads[input];
  }
  std::vector<Stage> out;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ValueId made = nodes[i]->output(0);
    const bool is_last = i + 1 == nodes.size(), is_kept = !is_last && program.readers(made) > reads[made];
    if (!is_last && !is_kept) continue;
    const auto part = stages_of(facts, nodes.subspan(begin, i + 1 - begin), through);
    if (!part) return std::nullopt;
    out.insert(out.end(), part->begin(), part->end());
    if (is_kept) out.back().kept = made;
    through = made;
    begin = i + 1;
  }
  return out;
}

// Stages that oneDNN applies.

/// A power of 1 counts as a function, too. Broadcast operands crash some of the library's kernels on AMX (oneDNN issue 3450).
bool is_applied_by_convolution(const ValueFacts& facts, const Stage& stage, const ProgramNode& node, const Dims& dims) {
  if (!stage.is_binary) return stage.function == Function::linear || node.op->traits.has(Trait::post_op) || is_library_gelu(stage);
  return shift_of(facts, stage).has_value() || (stage.binary == BinaryFunction::add && facts.info(stage.value).dims == dims);
}

bool is_gate_applied_by_convolution(const Stage& stage) {
  return stage.function == Function::hard_swish;
}

bool is_library_gelu(const Stage& stage) {
  if (stage.is_binary || instruction_set() != InstructionSet::avx512) return false;
  const bool is_written_out = stage.function == Function::erf_gate && stage.beta == 0.5F &&
                              std::fabs(stage.alpha * std::numbers::sqrt2_v<float> - 1) < 4 * std::numeric_limits<float>::epsilon();
  return is_written_out || stage.function == Function::gelu_erf;
}

PostOp function_op(const Stage& stage) {
  PostOp out;
  out.function = is_library_gelu(stage) ? Function::gelu_erf : stage.function;
  out.alpha = stage.alpha;
  out.beta = stage.beta;
  return out;
}

}  // namespace relayout::exec
