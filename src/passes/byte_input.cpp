// Lets inputs take the bytes of images, and computes the numbers that the model was made for from them.
//
//     float[N, 3, H, W] x          uint8[N, 3, H, W] x
//     y = Conv (x, W)              a = Cast <to = 1> (x)
//                                  b = Add (a, −mean / scale)
//                                  c = Mul (b, scale / deviation)
//                                  y = Conv (c, W)
//
// The folds, which run later, take the Mul into convolutions, and the Add where they do not pad. Reversed channels are read by reversed
// weights if only convolutions read them, else by a Gather.
#include "passes/byte_input.h"

#include <cmath>

#include "base/positions.h"
#include "base/text.h"
#include "model/float_elements.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "ops/constants.h"
#include "ops/operands.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

constexpr int64_t kBroadcasting = 7;  ///< first opset whose arithmetic repeats operands along dims of 1
constexpr int64_t kRounding = 11;     ///< first opset with Round, and with a Clip whose limits are operands
constexpr int64_t kColors = 3;

bool are_all(const std::vector<double>& values, double wanted) {
  return std::ranges::all_of(values, [&](double value) { return value == wanted; });
}

class BytePortReader {
 public:
  BytePortReader(const Graph& graph, const ByteImages& bytes, const std::string& name, ByteSide side, DataType type)
      : graph_(graph),
        bytes_(bytes),
        name_(name),
        is_input_(side == ByteSide::input),
        type_(type),
        place_(escape(graph.model().name()) + (is_input_ ? ": --input-u8 " : ": --output-u8 ") + quote(name)) {}

  [[nodiscard]] BytePort read() const {
    Value& value = port();
    if (value.initializer() != nullptr) refuse(is_input_ ? "it has a default, which is not made of bytes" : "it is a constant");
    if (is_input_ && value.is_output()) refuse("it is an output too");
    if (!is_input_ && value.producer() == nullptr) refuse("it is an input too");
    if (!is_input_ && (is_output_elsewhere(value) || value.output_count() > 1)) refuse("it is an output in two places");
    const auto declared = value.declared();
    if (!declared) refuse("it is no tensor of a declared type");
    check_type(declared->type);
    const int64_t least = is_input_ ? kBroadcasting : kRounding;
    if (graph_.opset("") < least) {
      refuse("opset " + std::to_string(graph_.opset("")) + " is below " + std::to_string(least) + " (convert --opset moves it)");
    }
    const BytePort out{&value, declared->dims.size(), channel_axis(*declared)};
    const int64_t channels = declared->dims[out.axis];
    if (channels < 1) refuse("its number of channels is free: " + declared_text(value.info()) + " (--set-dim or --set-shape fixes it)");
    check_count("mean", bytes_.mean, channels);
    check_count("std", bytes_.deviation, channels);
    if (bytes_.swaps_channels && channels != kColors)
      refuse(option("swap-channels") + " needs 3 channels, it has " + std::to_string(channels));
    check_numbers();
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { fail(ErrorKind::unsupported, place_ + ": " + why); }

  [[nodiscard]] std::string option(const std::string& word) const { return (is_input_ ? "--" : "--output-") + word; }

  [[nodiscard]] Value& port() const {
    std::vector<std::string> names;
    for (Value* const value : is_input_ ? graph_.inputs() : graph_.outputs()) {
      if (value->name() == name_) return *value;
      names.push_back(value->name());
    }
    fail(ErrorKind::usage, place_ + ": the model has no such " + (is_input_ ? "input" : "output"), did_you_mean(name_, names));
  }

  void check_type(DataType type) const {
    if (type == type_) return;
    if (type_ == DataType::uint8) refuse("it is " + std::string(name_of(type)) + ", no bytes that --undo-io could make numbers of");
    if (type == DataType::uint8) refuse(is_input_ ? "it takes bytes already" : "it gives bytes already");
    const bool is_short = type == DataType::float16 || type == DataType::bfloat16;
    refuse("it is " + std::string(name_of(type)) + ", and only f32 is computed " + (is_input_ ? "from" : "to") + " bytes" +
           (is_short ? " (convert --precision fp32 --io-precision makes it f32)" : ""));
  }

  /// As pictures are read: channels come first, or last if only that dim may be theirs.
  [[nodiscard]] std::size_t channel_axis(const ShapeInfo& declared) const {
    const std::size_t rank = declared.dims.size();
    if (!declared.has_shape || rank < 4 || rank > 5) refuse("it holds no images, which have 4 dims, or 5: " + declared_text(port().info()));
    const auto may_be_channels = [&](std::size_t axis) {
      const int64_t dim = declared.dims[axis];
      return dim == 1 || dim == 3 || dim == 4;
    };
    return !may_be_channels(1) && may_be_channels(rank - 1) ? rank - 1 : 1;
  }

  void check_count(const char* word, const std::vector<double>& values, int64_t channels) const {
    if (values.size() < 2 || std::ssize(values) == channels) return;
    refuse(option(word) + " has " + std::to_string(values.size()) + " numbers for " + std::to_string(channels) + " channels");
  }

  /// The numbers that stand in the model have to be in the range of f32.
  void check_numbers() const {
    const auto is_held = [](double value) { return std::isfinite(rounded(DataType::float32, value)); };
    const auto is_factor = [&](double value) { return is_held(value) && std::fabs(value) >= smallest_normal(DataType::float32); };
    for (const ByteArithmetic& one : {bytes_to_numbers(bytes_), numbers_to_bytes(bytes_)}) {
      if (!std::ranges::all_of(one.factors, is_factor)) refuse(option("scale") + " by " + option("std") + " leaves the range of f32");
      if (!std::ranges::all_of(one.shifts, is_held)) refuse(option("mean") + " by " + option("scale") + " leaves the range of f32");
    }
  }

  const Graph& graph_;
  const ByteImages& bytes_;
  const std::string& name_;
  bool is_input_;
  DataType type_;
  std::string place_;
};

/// Adds nodes in front of all others, in this order.
class FrontNodes {
 public:
  FrontNodes(Graph& graph, const BytePort& input) : graph_(graph), input_(input), last_(input.value), first_(graph.nodes().begin()) {}

  void cast(DataType type) {
    onnx::NodeProto message = message_of("Cast", "." + std::string(name_of(type)), {});
    set_integer(message, "to", static_cast<int64_t>(type));
    add(message);
  }
  /// `values`: one for each channel, or one for all.
  void compute(const char* op_type, const char* what, DataType type, const std::vector<double>& values) {
    Dims dims(input_.rank, 1);
    dims[input_.axis] = std::ssize(values);
    const Value& constant = graph_.add_initializer(unique(std::string(".") + what), from_doubles(type, std::move(dims), values));
    add(message_of(op_type, std::string(".") + op_type, constant.name()));
  }
  void reverse_channels() {
    constexpr auto kReversed = std::to_array<int64_t>({2, 1, 0});
    const auto* const bytes = reinterpret_cast<const char*>(kReversed.data());
    const Value& order =
        graph_.add_initializer(unique(".order"), TensorData(DataType::int64, {kColors}, Bytes::owned({bytes, sizeof(kReversed)})));
    onnx::NodeProto message = message_of("Gather", ".reversed", order.name());
    set_integer(message, "axis", static_cast<int64_t>(input_.axis));
    add(message);
  }
  /// Gives the result of the last node to all that read the input, which takes bytes.
  void finish() {
    Node* const reader = made_.front();
    graph_.replace_uses(*input_.value, *last_);
    graph_.set_input(*reader, 0, input_.value);
    graph_.declare_types({{input_.value->name(), DataType::uint8}});
  }

 private:
  [[nodiscard]] std::string unique(const std::string& suffix) const { return graph_.model().unique_name(input_.value->name() + suffix); }
  [[nodiscard]] onnx::NodeProto message_of(const char* op_type, const std::string& suffix, const std::string& operand) const {
    const std::string node = graph_.model().unique_name(input_.value->name() + "/" + op_type), out = unique(suffix);
    return operand.empty() ? node_message(op_type, {last_->name()}, {out}, node)
                           : node_message(op_type, {last_->name(), operand}, {out}, node);
  }
  void add(const onnx::NodeProto& message) {
    made_.push_back(&graph_.insert_before(first_, message));
    last_ = made_.back()->output(0);
  }

  Graph& graph_;
  const BytePort& input_;
  Value* last_;
  std::list<Node>::iterator first_;
  std::vector<Node*> made_;
};

/// Collects the convolutions that read a value, or a Transpose of it. False if anything else does, or a weight cannot be read in reverse.
bool collect_reversible(const Value& value, std::size_t axis, PassContext& context, std::vector<Node*>& out, int depth = 0) {
  constexpr int kMostTransposes = 4;
  if (value.is_output() || depth > kMostTransposes) return false;
  return std::ranges::all_of(value.uses(), [&](const Use& use) {
    Node& node = *use.node;
    const Attributes attributes(node);
    if (&node.graph() != &value.graph() || use.index != 0 || is_excluded(node, context.options) || attributes.has_reference()) return false;
    if (node.is("Transpose")) {
      const Dims permutation = attributes.integers("perm");
      const auto moved = std::ranges::find(permutation, static_cast<int64_t>(axis));
      return moved != permutation.end() &&
             collect_reversible(*node.output(0), as_size(moved - permutation.begin()), context, out, depth + 1);
    }
    if (!node.is("Conv") || axis != 1 || attributes.integer("group", 1) != 1 || node.input(1) == nullptr) return false;
    const auto found = context.constants.find(*node.input(1));
    const auto* const weight = std::get_if<Constant>(&found);
    if (weight == nullptr || !is_scalable(weight->type) || weight->dims.size() < 2 || weight->dims[1] != kColors) return false;
    out.push_back(&node);
    return true;
  });
}

/// The convolutions that read an input whose channels are along `axis`; none if others do too.
std::vector<Node*> reversible_readers(const BytePort& input, PassContext& context) {
  std::vector<Node*> out;
  return collect_reversible(*input.value, input.axis, context, out) ? out : std::vector<Node*>();
}

void reverse_weight(Node& convolution, PassContext& context) {
  const auto found = context.constants.find(*convolution.input(1));
  const Constant& weight = std::get<Constant>(found);
  std::vector<double> values = reals_of(weight.load());
  const std::size_t taps = values.size() / (as_size(std::max<int64_t>(weight.dims[0], 1)) * kColors);
  for (std::size_t first = 0; first < values.size(); first += kColors * taps) {
    const auto red = values.begin() + static_cast<std::ptrdiff_t>(first), blue = red + static_cast<std::ptrdiff_t>((kColors - 1) * taps);
    std::swap_ranges(red, red + static_cast<std::ptrdiff_t>(taps), blue);
  }
  set_constant_input(convolution, 1, from_doubles(weight.type, weight.dims, values), {}, context);
}

void compute_in_front(Graph& graph, const BytePort& input, PassContext& context) {
  const ByteImages& bytes = context.options.bytes;
  FrontNodes front(graph, input);
  auto [factors, shifts] = bytes_to_numbers(bytes);
  if (bytes.swaps_channels) {
    const std::vector<Node*> readers = reversible_readers(input, context);
    for (Node* const reader : readers) reverse_weight(*reader, context);
    if (readers.empty()) {
      front.reverse_channels();
    } else {
      std::ranges::reverse(shifts);
      std::ranges::reverse(factors);
    }
  }
  front.cast(DataType::float32);
  if (!shifts.empty()) front.compute("Add", "shift", DataType::float32, shifts);
  if (!factors.empty()) front.compute("Mul", "factor", DataType::float32, factors);
  front.finish();
}

}  // namespace

BytePort find_byte_port(const Graph& graph, const ByteImages& bytes, const std::string& name, ByteSide side, DataType type) {
  return BytePortReader(graph, bytes, name, side, type).read();
}

ByteArithmetic bytes_to_numbers(const ByteImages& bytes) {
  ByteArithmetic out{bytes.deviation.empty() ? std::vector<double>{1} : bytes.deviation, bytes.mean};
  for (double& value : out.factors) value = bytes.scale / value;
  for (double& value : out.shifts) value = -value / bytes.scale;
  if (are_all(out.factors, 1)) out.factors.clear();
  if (are_all(out.shifts, 0)) out.shifts.clear();
  return out;
}

ByteArithmetic numbers_to_bytes(const ByteImages& bytes) {
  ByteArithmetic out{bytes.deviation.empty() ? std::vector<double>{1} : bytes.deviation, bytes.mean};
  for (double& value : out.factors) value /= bytes.scale;
  for (double& value : out.shifts) value /= bytes.scale;
  if (are_all(out.factors, 1)) out.factors.clear();
  if (are_all(out.shifts, 0)) out.shifts.clear();
  return out;
}

void compute_from_bytes(Graph& graph, const ByteImages& bytes) {
  for (const std::string& name : bytes.names) {
    const BytePort input = find_byte_port(graph, bytes, name, ByteSide::input);
    FrontNodes front(graph, input);
    if (bytes.swaps_channels) front.reverse_channels();
    front.cast(DataType::float64);
    front.compute("Mul", "scale", DataType::float64, {bytes.scale});
    if (!bytes.mean.empty()) front.compute("Sub", "mean", DataType::float64, bytes.mean);
    if (!bytes.deviation.empty()) front.compute("Div", "std", DataType::float64, bytes.deviation);
    front.cast(DataType::float32);
    front.finish();
  }
}

void byte_input(Graph& graph, PassContext& context) {
  if (graph.outer() != nullptr || graph.is_function()) return;
  for (const std::string& name : context.options.bytes.names) {
    rewrite_one(
        {"input", name}, context, [&]() -> Match<BytePort> { return find_byte_port(graph, context.options.bytes, name, ByteSide::input); },
        [&](const BytePort& input) { compute_in_front(graph, input, context); });
  }
  context.constants.clear();  // remembers the old type
}

}  // namespace relayout::passes
