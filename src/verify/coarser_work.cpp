// `verify --precision`: whether B's 16-bit or quantized computation is intended, the floor of which type applies, the refusal, and the
// words that suggest `--precision` or `--accept`.
#include "verify/coarser_work.h"

#include <cstdint>
#include <string>

#include "base/numbers.h"
#include "model/walk.h"
#include "ops/op_attributes.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/computing_types.h"
#include "verify/judge.h"
#include "verify/measured_types.h"
#include "verify/output_loss.h"
#include "verify/pair.h"
#include "verify/quantized_work.h"

namespace relayout {
namespace {

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
  const NarrowWork a = narrow_work(pair.a.model->graph()), b = narrow_work(pair.b.model->graph());
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

std::string find_coarser(Pair& pair, VerifyResult& result) {
  if (pair.proved || !result.proof) return {};
  const std::string refused = find_coarser_results(pair, result), inside = find_coarser_inside(pair, result);
  return refused.empty() ? inside : refused;
}

void refuse_coarser(const Pair& pair, const std::string& coarser, VerifyResult& result) {
  if (coarser.empty()) return;
  const bool within = !is_different(result);
  const std::string option = option_of(pair.grain);
  const std::string type(name_of(pair.grain));
  result.outcome = Outcome::different;
  std::string why = coarser;
  if (pair.grain == DataType::undefined) {
    if (pair.options->precision != DataType::undefined) why += ", coarser than --precision means";
  } else if (within) {
    why += "; within the floor of " + type + (option.empty() ? "" : ": " + option + " accepts");
  }
  if (within || result.reason.empty()) {
    result.reason = why;
  } else {
    result.remarks.push_back(why);
  }
}

namespace {

/// The bounds of --accept that apply to the outputs: "snr=…,top1=…".
std::string bounds_of(const VerifyResult& result) {
  bool has_real = false, has_scores = false, has_other_integers = false;
  for (const OutputComparison& output : result.outputs) {
    const bool is_real = is_measured(output.type);
    has_real = has_real || is_real;
    has_scores = has_scores || (is_real && output.loss && output.loss->top1);
    has_other_integers = has_other_integers || (!is_real && output.outcome == Outcome::different);
  }
  std::string out;
  const auto add = [&](bool has, const char* bound) { out += has ? (out.empty() ? "" : ",") + std::string(bound) : ""; };
  add(has_real, "snr=…"), add(has_scores, "top1=…"), add(has_other_integers, "match=…");
  return out;
}

}  // namespace

void say_loss(const Pair& pair, VerifyResult& result) {
  if (result.lossy.empty() || !is_different(result) || !result.reason.empty()) return;
  result.reason = result.lossy + ": " + describe_loss(result);
  if (!pair.options->accept.is_given()) result.reason += " (--accept " + bounds_of(result) + " takes a loss)";
}

}  // namespace relayout
