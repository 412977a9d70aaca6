// Lists the operators and operands that must keep their bits when a model gets 16-bit types, each with its reason.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "base/positions.h"
#include "model/node.h"
#include "passes/precision_plan.h"
#include "relayout/graph.h"

namespace relayout::passes {
namespace {

constexpr std::string_view kExponential = "exponentials leave the range of 16 bits";
constexpr std::string_view kLogarithm = "logarithms near their singularity need every bit of their operand";
constexpr std::string_view kSum = "sums of many elements lose small ones and leave the range";
constexpr std::string_view kVariance = "squares and small variances leave the range";
constexpr std::string_view kPosition = "positions and coordinates above 2048 are no whole numbers any more";
constexpr std::string_view kScale = "scales decide integers";
constexpr std::string_view kSteep = "steep where small errors of the operand matter";
constexpr std::string_view kFeedback = "errors add up from step to step";

constexpr int kAll = -1;

/// An operator of the default domain, and the input that stays in 32 bits, or all of them.
struct Fragile {
  std::string_view op;
  int input;
  std::string_view why;
};

/// Operators that mixed-precision training and inference keep in 32 bits everywhere, sorted by name.
constexpr auto kTable = std::to_array<Fragile>({
    {"Acos", kAll, kSteep},
    {"Acosh", kAll, kSteep},
    {"AffineGrid", kAll, kPosition},
    {"Asin", kAll, kSteep},
    {"Atanh", kAll, kSteep},
    {"BatchNormalization", 1, kVariance},
    {"BatchNormalization", 2, kVariance},
    {"BatchNormalization", 3, kVariance},
    {"BatchNormalization", 4, kVariance},
    {"Col2Im", kAll, kSum},
    {"Cos", kAll, kPosition},
    {"Cosh", kAll, kExponential},
    {"CumProd", kAll, kSum},
    {"CumSum", kAll, kSum},
    {"DFT", kAll, kSum},
    {"DeformConv", kAll, kPosition},
    {"DequantizeLinear", kAll, kScale},
    {"Det", kAll, kSum},
    {"DynamicQuantizeLinear", kAll, kScale},
    {"Exp", kAll, kExponential},
    {"GridSample", 1, kPosition},
    {"GroupNormalization", kAll, kVariance},
    {"InstanceNormalization", kAll, kVariance},
    {"LRN", kAll, kVariance},
    {"LayerNormalization", kAll, kVariance},
    {"LinearAttention", kAll, kFeedback},
    {"Log", kAll, kLogarithm},
    {"LogSoftmax", kAll, kExponential},
    {"LpNormalization", kAll, kVariance},
    {"LpPool", kAll, kVariance},
    {"MaxRoiPool", kAll, kPosition},
    {"MeanVarianceNormalization", kAll, kVariance},
    {"MelWeightMatrix", kAll, kPosition},
    {"Mod", kAll, kPosition},
    {"Multinomial", kAll, kExponential},
    {"NegativeLogLikelihoodLoss", kAll, kSum},
    {"NonMaxSuppression", kAll, kPosition},
    {"Pow", kAll, kVariance},
    {"QLinearConv", kAll, kScale},
    {"QLinearMatMul", kAll, kScale},
    {"QuantizeLinear", kAll, kScale},
    {"RMSNormalization", kAll, kVariance},
    {"Range", kAll, kPosition},
    {"Reciprocal", kAll, kSteep},
    {"ReduceL1", kAll, kSum},
    {"ReduceL2", kAll, kVariance},
    {"ReduceLogSum", kAll, kLogarithm},
    {"ReduceLogSumExp", kAll, kExponential},
    {"ReduceMean", kAll, kSum},
    {"ReduceProd", kAll, kSum},
    {"ReduceSum", kAll, kSum},
    {"ReduceSumSquare", kAll, kVariance},
    {"Resize", 1, kPosition},
    {"Resize", 2, kPosition},
    {"RoiAlign", kAll, kPosition},
    {"STFT", kAll, kSum},
    {"Sin", kAll, kPosition},
    {"Sinh", kAll, kExponential},
    {"Softmax", kAll, kExponential},
    {"SoftmaxCrossEntropyLoss", kAll, kExponential},
    {"Softplus", kAll, kExponential},
    {"Tan", kAll, kSteep},
    {"Upsample", 1, kPosition},
});
static_assert(std::ranges::is_sorted(kTable, {}, &Fragile::op));

/// Operators that ONNX Runtime 1.31 registers for f16 on the CPU, but runs only without the attribute `reduction`: all others of ONNX's
/// tests of single operators run in f16.
constexpr auto kOnlyWithoutReduction = std::to_array<std::string_view>({"ScatterElements", "ScatterND"});

}  // namespace

std::string_view fragile_reason(const Node& node, std::size_t input) {
  if (!node.domain().empty()) return {};
  const auto found = std::ranges::equal_range(kTable, std::string_view(node.op_type()), {}, &Fragile::op);
  for (const Fragile& entry : found) {
    if (entry.input != kAll && as_size(entry.input) != input) continue;
    // Normalizations from opset 17 on compute in 32 bits inside, unless stash_type says otherwise.
    const bool is_stashed =
        node.is("LayerNormalization") || node.is("RMSNormalization") || (node.is("GroupNormalization") && node.opset() >= 21);
    const Attributes attributes(node);
    if (is_stashed && !attributes.has_reference() && attributes.integer("stash_type", 1) == 1) return {};
    return entry.why;
  }
  return {};
}

bool lacks_kernel(const Node& node) {
  if (!node.domain().empty() || std::ranges::find(kOnlyWithoutReduction, node.op_type()) == kOnlyWithoutReduction.end()) return false;
  return Attributes(node).text("reduction", "none") != "none";
}

}  // namespace relayout::passes
