// Finds computation in coarser types than A's, and whether the user means B to have it.
#include "verify/coarser_work.h"

#include "base/numbers.h"
#include "model/walk.h"
#include "ops/element_types.h"
#include "ops/op.h"
#include "ops/op_attributes.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/finding.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/quantizer.h"

namespace relayout {

// The types in which a model computes.
namespace {

/// Whether a Cast to a narrow type rounds nothing: its operand has no more bits, or was of that type before it was widened.
bool is_exact_cast(const Node& node, const ElementTypes& types) {
  if (!has_trait(node, Trait::casts) || node.input(0) == nullptr || node.output(0) == nullptr) return false;
  const DataType to = types.of(*node.output(0));
  const int bits = traits(to).fraction_bits + 1;
  const Value* value = node.input(0);
  while (true) {
    const DataType from = types.of(*value);
    if (from == to || from == DataType::boolean || (traits(from).is_integer && traits(from).bits <= bits)) return true;
    const Node* const maker = value->producer();
    const bool passes_on = maker != nullptr && maker->input(0) != nullptr &&
                           (has_trait(*maker, Trait::casts) || has_trait(*maker, Trait::identity) || traits_of(*maker).moves_input(0));
    if (!passes_on) return false;
    value = maker->input(0);
  }
}

}  // namespace

NarrowWork narrow_work(const Graph& graph) {
  NarrowWork work;
  OpSignatures signatures;
  const ElementTypes types(graph, signatures);
  for_each_node(graph.model(), [&](const Node& node) {
    const bool linear = has_trait(node, Trait::linear);
    work.linear_in_all += linear ? 1 : 0;
    if (node.input(0) != nullptr && node.output(0) != nullptr && (node.is("Cast") || node.is("CastLike")) &&
        node.input(0)->is_stored_constant() && is_narrow(types.of(*node.input(0))) && !is_narrow(types.of(*node.output(0)))) {
      work.coarsest = coarser(work.coarsest, types.of(*node.input(0)));
      ++work.constants;
      if (work.first.empty()) work.first = node.label();
    }
    const Traits traits = traits_of(node);
    if (traits.has(Trait::exact) || traits.moves_input(0) || !node.subgraphs().empty() || is_exact_cast(node, types)) return;
    const auto rounds = [&](const Value* output) { return output != nullptr && is_narrow(types.of(*output)); };
    if (std::ranges::none_of(node.outputs(), rounds)) return;
    for (const Value* const output : node.outputs()) {
      if (rounds(output)) work.coarsest = coarser(work.coarsest, types.of(*output));
    }
    if (work.nodes++ == 0) work.first = node.label();
    if (linear && work.linear++ == 0) work.first_linear = node.label();
  });
  return work;
}

namespace {

/// Whether b's coarsest type is coarser than a's.
bool is_coarser(const NarrowWork& b, const NarrowWork& a) {
  return unit_roundoff(b.coarsest) > unit_roundoff(a.coarsest);
}

/// "B computes 57 of 60 convolutions and matrix products in f16 (first: 'conv1' (Conv)), A does not".
std::string describe(const NarrowWork& b) {
  const std::string type(name_of(b.coarsest));
  std::string what;
  if (b.linear > 0) {
    what = "B computes " + format_count(b.linear) + " of " +
           counted(b.linear_in_all, "convolution or matrix product", "convolutions and matrix products") + " in " + type;
  } else if (b.nodes > 0) {
    what = "B rounds the results of " + counted(b.nodes, "node to ", "nodes to ") + type;
  } else {
    what = "B holds " + counted(b.constants, "constant in ", "constants in ") + type;
  }
  return what + " (first: " + (b.linear > 0 ? b.first_linear : b.first) + "), A does not";
}

/// Whether the user intends b to compute in this floating-point type, or to quantize to this number of bits.
bool is_meant(DataType type, const VerifyOptions& options) {
  return options.precision != DataType::undefined &&
         (!is_measured(options.precision) || unit_roundoff(options.precision) >= unit_roundoff(type));
}
bool is_meant(int bits, const VerifyOptions& options) {
  return options.precision != DataType::undefined && !is_measured(options.precision) && traits(options.precision).bits <= bits;
}

std::string option_of(DataType type) {
  switch (type) {
    case DataType::float16:
      return "--precision fp16";
    case DataType::bfloat16:
      return "--precision bf16";
    case DataType::int8:
      return "--precision int8";
    default:
      return "";
  }
}

/// Nodes that an attribute lets compute inside in a type of at most some bits.
struct InnerWork {
  int64_t nodes = 0;
  DataType type = DataType::undefined;
  std::string first;
};

InnerWork inner_work(const Graph& graph, int bits) {
  InnerWork out;
  for_each_node(graph.model(), [&](const Node& node) {
    const DataType type = inner_type(node);
    if (type == DataType::undefined || traits(type).bits > bits) return;
    if (out.nodes++ > 0) return;
    out.type = type;
    out.first = node.label();
  });
  return out;
}

/// Describes nodes of b that compute inside in a coarser type than a's, where options do not allow that. No run shows it: kernels do not
/// imitate these types.
std::string find_coarser_inside(const Pair& pair, VerifyResult& result) {
  const VerifyOptions& options = *pair.options;
  for (const int bits : {8, 16}) {
    const InnerWork a = inner_work(pair.a.model->graph(), bits), b = inner_work(pair.b.model->graph(), bits);
    if (b.nodes <= a.nodes) continue;
    const std::string type(name_of(b.type));
    const std::string what = "B lets " + counted(b.nodes, "node") + " compute in " + type + " inside (first: " + b.first + "), A " +
                             (a.nodes > 0 ? format_count(a.nodes) : "none");
    const bool meant = bits == 8 ? is_meant(bits, options) : is_meant(b.type, options);
    if (!meant && (!options.accept.is_given() || options.precision != DataType::undefined)) {
      return what + (options.precision == DataType::undefined ? ": " + option_of(b.type) + " accepts" : "");
    }
    result.remarks.push_back(what + "; here they compute in f32");
    break;
  }
  return {};
}

/// The same of results and constants in coarser types, which runs show.
std::string find_coarser_results(Pair& pair, VerifyResult& result) {
  const VerifyOptions& options = *pair.options;
  NarrowWork a = narrow_work(pair.a.model->graph());
  const NarrowWork b = narrow_work(pair.b.model->graph());
  const QuantizedWork quantized = quantized_work(pair.b.model->graph());
  pair.narrow = is_coarser(b, a) ? b.coarsest : a.coarsest;
  std::string refused;
  pair.quantized = is_coarser(quantized, quantized_work(pair.a.model->graph()));
  if (pair.quantized) {
    result.lossy = describe(quantized);
    if (options.precision != DataType::undefined && !is_meant(quantized.bits, options)) refused = result.lossy;
  }
  if (is_measured(options.precision) && (b.nodes > 0 || b.constants > 0)) pair.grain = options.precision;
  if (!is_coarser(b, a)) return refused;
  const std::string what = describe(b);
  result.lossy += (result.lossy.empty() ? "" : " and ") + (result.lossy.empty() ? what : what.substr(what.find(' ') + 1));
  if (!is_meant(b.coarsest, options)) {
    pair.grain = b.coarsest;
    if (!options.accept.is_given() || options.precision != DataType::undefined) refused = result.lossy;
    return refused;
  }
  if (!is_measured(options.precision)) pair.grain = b.coarsest;
  result.remarks.push_back("floors and bounds are those of " + std::string(name_of(pair.grain)) + ", as --precision means");
  return refused;
}

}  // namespace

VerifyFindings find_coarser(Pair& pair, VerifyResult& result) {
  if (pair.proved || !result.proof) return {};
  const std::string refused = find_coarser_results(pair, result), inside = find_coarser_inside(pair, result);
  VerifyFinding finding{.severity = Severity::difference, .name = kCoarserType, .text = refused.empty() ? inside : refused};
  if (finding.text.empty()) return {};
  if (pair.grain != DataType::undefined) {
    const std::string option = option_of(pair.grain);
    finding.advice = "; within the floor of " + std::string(name_of(pair.grain)) + (option.empty() ? "" : ": " + option + " accepts");
  } else if (pair.options->precision != DataType::undefined) {
    finding.text += ", coarser than --precision means";
  }
  return {finding};
}

}  // namespace relayout
