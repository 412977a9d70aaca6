// Tells which operands must keep their bits when a model gets 16-bit types, and why.

#include "model/node.h"
#include "ops/op.h"
#include "passes/precision/precision_plan.h"
#include "relayout/graph.h"

namespace relayout::passes {
namespace {

/// Why 16 bits do not do, for people.
std::string_view words_of(Weakness weakness) {
  switch (weakness) {
    case Weakness::none:
      return {};
    case Weakness::exponential:
      return "exponentials leave the range of 16 bits";
    case Weakness::logarithm:
      return "logarithms near their singularity need every bit of their operand";
    case Weakness::sum:
      return "sums of many elements lose small ones and leave the range";
    case Weakness::variance:
      return "squares and small variances leave the range";
    case Weakness::position:
      return "positions and coordinates above 2048 are no whole numbers any more";
    case Weakness::scale:
      return "scales decide integers";
    case Weakness::steep:
      return "steep where small errors of the operand matter";
    case Weakness::feedback:
      return "errors add up from step to step";
  }
  return {};
}

/// Operators that ONNX Runtime 1.31 registers for f16 on the CPU, but runs only without the attribute `reduction`: all others of ONNX's
/// tests of single operators run in f16.
constexpr auto kOnlyWithoutReduction = std::to_array<std::string_view>({"ScatterElements", "ScatterND"});

}  // namespace

std::string_view fragile_reason(const Node& node, std::size_t input) {
  if (!node.domain().empty()) return {};
  const Op* const op = find_op(node.op_type());
  const Weakness weakness = op != nullptr ? op->traits.weakness(input) : Weakness::none;
  // Normalizations from opset 17 on compute in 32 bits inside, unless stash_type says otherwise.
  const bool is_stashed =
      node.is("LayerNormalization") || node.is("RMSNormalization") || (node.is("GroupNormalization") && node.opset() >= 21);
  if (weakness == Weakness::none || !is_stashed) return words_of(weakness);
  const Attributes attributes(node);
  return !attributes.has_reference() && attributes.integer("stash_type", 1) == 1 ? std::string_view() : words_of(weakness);
}

bool lacks_kernel(const Node& node) {
  if (!node.domain().empty() || std::ranges::find(kOnlyWithoutReduction, node.op_type()) == kOnlyWithoutReduction.end()) return false;
  return Attributes(node).text("reduction", "none") != "none";
}

}  // namespace relayout::passes
