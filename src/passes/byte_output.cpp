// Lets outputs give the bytes of images, as displays and encoders take them, from the numbers that the model computes.
//
//     y = Conv (x, W)              y.f32 = Conv (x, W)
//     float[N, 3, H, W] y          a = Mul (y.f32, deviation / scale)
//                                  b = Add (a, mean / scale)
//                                  c = Clip (b, 0, 255)
//                                  d = Round (c)
//                                  y = Cast <to = 2> (d)
//                                  uint8[N, 3, H, W] y
//
// The folds, which run later, take Mul and Add into a convolution. Round takes halves to the even number.

#include "model/float_elements.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "passes/byte_input.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

constexpr double kLargestByte = 255;

/// Adds nodes behind all others, from what made an output to the node that makes it now.
class BackNodes {
 public:
  BackNodes(Graph& graph, const BytePort& output)
      : graph_(graph), output_(output), last_(&graph.detach(*output.value, unique("." + std::string(name_of(DataType::float32))))) {
    graph.replace_uses(*output.value, *last_);
  }

  void cast(DataType type) {
    onnx::NodeProto message = message_of("Cast", {last_->name()});
    set_integer(message, "to", static_cast<int64_t>(type));
    add(message);
  }
  /// `values`: one for each channel, or one for all.
  void compute(const char* op_type, const char* what, DataType type, const std::vector<double>& values) {
    Dims dims(output_.rank, 1);
    dims[output_.axis] = std::ssize(values);
    add(message_of(op_type, {last_->name(), constant(what, from_doubles(type, std::move(dims), values))}));
  }
  /// Limits and rounds to bytes, and reverses the channels if wanted.
  void finish(DataType type, bool swaps_channels) {
    add(message_of("Clip", {last_->name(), constant("least", from_doubles(type, {}, std::array{0.0})),
                            constant("most", from_doubles(type, {}, std::array{kLargestByte}))}));
    add(message_of("Round", {last_->name()}));
    onnx::NodeProto message = message_of("Cast", {last_->name()});
    set_integer(message, "to", static_cast<int64_t>(DataType::uint8));
    if (swaps_channels) {
      add(message);
      constexpr auto kReversed = std::to_array<int64_t>({2, 1, 0});
      const auto* const bytes = reinterpret_cast<const char*>(kReversed.data());
      const std::string order =
          constant("order", TensorData(DataType::int64, {std::ssize(kReversed)}, Bytes::owned(std::string_view(bytes, sizeof(kReversed)))));
      message = message_of("Gather", {last_->name(), order});
      set_integer(message, "axis", static_cast<int64_t>(output_.axis));
    }
    message.set_output(0, output_.value->name());
    (void)graph_.insert_before(graph_.nodes().end(), message);
    graph_.declare_types({{output_.value->name(), DataType::uint8}});
  }

 private:
  [[nodiscard]] std::string unique(const std::string& suffix) const { return graph_.model().unique_name(output_.value->name() + suffix); }
  [[nodiscard]] std::string constant(const char* what, TensorData data) {
    return graph_.add_initializer(unique(std::string(".") + what), std::move(data)).name();
  }
  [[nodiscard]] onnx::NodeProto message_of(const std::string& op_type, const std::vector<std::string>& operands) const {
    onnx::NodeProto out = node_message(op_type, {}, {unique("." + op_type)}, unique("/" + op_type));
    for (const std::string& operand : operands) out.add_input(operand);
    return out;
  }
  void add(const onnx::NodeProto& message) { last_ = graph_.insert_before(graph_.nodes().end(), message).output(0); }

  Graph& graph_;
  const BytePort& output_;
  Value* last_;
};

void compute_behind(Graph& graph, const BytePort& output, const ByteImages& bytes) {
  const auto [factors, shifts] = numbers_to_bytes(bytes);
  BackNodes back(graph, output);
  if (!factors.empty()) back.compute("Mul", "factor", DataType::float32, factors);
  if (!shifts.empty()) back.compute("Add", "shift", DataType::float32, shifts);
  back.finish(DataType::float32, bytes.swaps_channels);
}

}  // namespace

void compute_to_bytes(Graph& graph, const ByteImages& bytes) {
  // Factors and shifts as the pass stores them: numbers at which an operator saturates may be halves of a byte.
  auto [factors, shifts] = numbers_to_bytes(bytes);
  for (std::vector<double>* const list : {&factors, &shifts}) {
    for (double& value : *list) value = rounded(DataType::float32, value);
  }
  for (const std::string& name : bytes.names) {
    const BytePort output = find_byte_port(graph, bytes, name, ByteSide::output);
    BackNodes back(graph, output);
    back.cast(DataType::float64);
    if (!factors.empty()) back.compute("Mul", "factor", DataType::float64, factors);
    if (!shifts.empty()) back.compute("Add", "shift", DataType::float64, shifts);
    back.finish(DataType::float64, bytes.swaps_channels);
  }
}

void byte_output(Graph& graph, PassContext& context) {
  if (graph.outer() != nullptr || graph.is_function()) return;
  const ByteImages& bytes = context.options.output_bytes;
  for (const std::string& name : bytes.names) {
    rewrite_one(
        {"output", name}, context, [&]() -> Match<BytePort> { return find_byte_port(graph, bytes, name, ByteSide::output); },
        [&](const BytePort& output) { compute_behind(graph, output, bytes); });
  }
  context.constants.clear();  // remembers the old type
}

}  // namespace relayout::passes
