// The text and the document of a verification.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/report.h"
#include "cli/verification_failure.h"
#include "cli/verify_losses.h"
#include "relayout/execute.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "relayout/version.h"
#include "report/json.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

/// A ratio to its floor from which on people want to hear of it (the bound is 5).
constexpr double kRemarkable = 3;
/// A floor from which on an output tells little.
constexpr double kCoarse = 0.05;

bool is_exact(DataType type) {
  return !traits(type).is_float && type != DataType::complex64 && type != DataType::complex128;
}

std::string format(const char* pattern, double value) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), pattern, value);
  return text.data();
}

std::string seconds_text(double seconds) {
  return format(seconds < 10 ? "%.1f s" : "%.0f s", seconds);
}

const SampleMetrics* worst_sample(const OutputComparison& output) {
  const SampleMetrics* worst = nullptr;
  for (const SampleMetrics& metrics : output.samples) {
    if (worst == nullptr || (metrics.outcome == Outcome::different && worst->outcome != Outcome::different) ||
        (metrics.outcome == worst->outcome && metrics.ratio > worst->ratio)) {
      worst = &metrics;
    }
  }
  return worst;
}

/// "  floor by sample: 0: 6.5e-07 · 1: 1.2e-02 (ill-conditioned) …"
std::string floors_line(const OutputComparison& output) {
  std::string out;
  for (const SampleMetrics& metrics : output.samples) {
    out += (out.empty() ? "  floor by sample  " : " · ") + std::to_string(metrics.sample) + ": " + scientific(metrics.floor_max);
    if (metrics.ill_conditioned) out += " (ill-conditioned)";
  }
  return out;
}

void add_output(TextTable& table, const OutputComparison& output) {
  const SampleMetrics* const worst = worst_sample(output);
  std::vector<Cell> cells{{escape(output.name), Style::strong}, shape_of(output)};
  const auto is_empty = [](const SampleMetrics& metrics) { return std::ranges::find(metrics.dims, 0) != metrics.dims.end(); };
  const bool has_elements = worst != nullptr && !std::ranges::all_of(output.samples, is_empty);
  const bool measured = has_elements && !is_exact(output.type) && worst->bound_max > 0;
  if (worst != nullptr && !has_elements) {
    cells.emplace_back("no elements");
  } else if (measured) {
    cells.emplace_back("error/range " + scientific(output.max_error), output.outcome == Outcome::different ? Style::bad : Style::plain);
    cells.emplace_back("floor " + scientific(output.floor));
    cells.emplace_back("ratio " + ratio_text(output.ratio), output.ratio > kRemarkable ? style_of(output.outcome) : Style::plain);
  } else if (worst != nullptr && output.outcome == Outcome::same) {
    int64_t ties = 0;
    for (const SampleMetrics& metrics : output.samples) ties += metrics.ties;
    cells.emplace_back(ties == 0 ? "equal" : "equal but for " + counted(ties, "tie"));
  }
  if (output.outcome == Outcome::different && measured && worst->max_abs > 0) {
    cells.emplace_back("worst " + to_string(worst->at) + ": " + format("%.6g", worst->value_b) + ", was " + format("%.6g", worst->value_a));
  }
  table.row(std::move(cells));
  if (output.outcome != Outcome::same && !output.reason.empty()) {
    table.line("  " + std::string(to_string(output.outcome)) + ": " + output.reason, style_of(output.outcome));
  } else if (output.outcome == Outcome::same && output.ratio > kRemarkable) {
    table.line(output.least_bound ? "  within " + scientific(output.bound) + ", the least bound of " + std::string(name_of(output.type)) +
                                        ": 5 × floor is less"
                                  : "  within the bound of 5 × floor, but above what correct evaluations usually differ by");
  }
  if (output.floor > kCoarse && output.outcome == Outcome::same) {
    table.line("  the floor is " + format("%.0f", 100 * output.floor) + " % of the range: so far may correct evaluations lie apart here");
  }
  const auto is_ill = [](const SampleMetrics& metrics) { return metrics.ill_conditioned; };
  if (measured && output.samples.size() > 1 && std::ranges::any_of(output.samples, is_ill)) table.line(floors_line(output));
  for (const SampleMetrics& metrics : output.samples) {
    if (metrics.ties == 0) continue;
    table.line("  sample " + std::to_string(metrics.sample) + ": " + metrics.reason);
    break;
  }
  if (!output.hint.empty()) table.line("  " + output.hint);
}

/// "p50 12, p99 768, max 16 k": upper ends of the bins that hold these shares.
std::string ulp_text(const std::vector<int64_t>& histogram) {
  int64_t total = 0, sum = 0;
  for (const int64_t count : histogram) total += count;
  std::string p50, p99;
  for (std::size_t bin = 0; bin < histogram.size(); ++bin) {
    sum += histogram[bin];
    const std::string upper = bin == 0 ? "0" : "<2^" + std::to_string(bin);
    if (p50.empty() && 2 * sum >= total) p50 = upper;
    if (p99.empty() && 100 * sum >= 99 * total) p99 = upper;
  }
  if (histogram.empty()) return "–";
  return p50 + " · " + p99 + " · " + (histogram.size() == 1 ? "0" : "<2^" + std::to_string(histogram.size() - 1));
}

std::string samples_table(const OutputComparison& output, const ReportStyle& style) {
  TextTable table({.indent = 4, .gap = 2, .color = style.color, .width = style.width});
  const auto right = [](std::string text) { return Cell(std::move(text), Style::plain, Align::right); };
  std::vector<Cell> head;
  for (const char* const title : {"sample", "error/range", "floor", "bound", "RMS/σ", "floor", "cosine", "PSNR", "ULP p50 · p99 · max"}) {
    head.emplace_back(title, Style::faint, Align::right);
  }
  table.row(std::move(head));
  for (const SampleMetrics& metrics : output.samples) {
    table.row({right(std::to_string(metrics.sample)), right(scientific(metrics.max_error)), right(scientific(metrics.floor_max)),
               right(scientific(metrics.bound_max)), right(scientific(metrics.rms_error)), right(scientific(metrics.floor_rms)),
               right(format("%.9f", metrics.cosine)), right(std::isinf(metrics.psnr) ? "∞" : format("%.1f", metrics.psnr)),
               right(ulp_text(metrics.ulp_histogram))});
  }
  return table.text();
}

void add_inputs(std::string& out, const VerifyResult& result, const ReportStyle& style) {
  for (const SampleInputs& inputs : result.inputs) {
    if (!style.verbose && inputs.rejected.empty()) continue;
    out += "sample " + std::to_string(inputs.sample);
    for (const auto& [name, dims] : inputs.shapes) out += "  " + escape(name) + " " + to_string(dims);
    if (!inputs.rejected.empty()) out += "  not compared, " + escape(result.a) + " refuses it: " + inputs.rejected;
    out += "\n";
  }
}

/// Nodes that cannot run: a line per operator; -v: every one.
void add_unsupported(std::string& out, const std::string& model, const std::vector<Unsupported>& nodes, const ReportStyle& style) {
  std::vector<std::string> lines;
  if (!style.verbose) lines = unsupported_groups(nodes);
  for (const Unsupported& node : nodes) {
    if (style.verbose) lines.push_back(unsupported_groups({node}).front());
  }
  for (const std::string& line : lines) out += escape(model) + ": cannot run " + line + "\n";
}

/// What nothing explains, each held against the floor of its node.
void add_checks(std::string& out, const VerifyResult& result, const ReportStyle& style) {
  constexpr std::size_t kMostLines = 5;
  TextTable table({.indent = 2, .gap = 2, .color = style.color, .width = style.width});
  std::vector<const UnexplainedCheck*> checks;
  for (const UnexplainedCheck& check : result.checks) checks.push_back(&check);
  std::ranges::stable_sort(checks, [](const UnexplainedCheck* x, const UnexplainedCheck* y) {
    return std::pair(x->outcome != Outcome::different, y->error * x->floor) <
           std::pair(y->outcome != Outcome::different, x->error * y->floor);
  });
  if (checks.empty()) return;
  // Those that are judged at one node, of which one stands for all.
  const auto is_alike = [](const UnexplainedCheck* x, const UnexplainedCheck* y) {
    return x->node == y->node && x->outcome == y->outcome && x->felt == y->felt && x->error == y->error && x->floor == y->floor;
  };
  table.row({{"unexplained, at its node", Style::faint},
             {"node", Style::faint},
             {"local error", Style::faint, Align::right},
             {"local floor", Style::faint, Align::right}});
  std::size_t shown = 0;
  for (std::size_t lines = 0; shown < checks.size() && (style.verbose || lines < kMostLines); ++lines) {
    const UnexplainedCheck& check = *checks[shown];
    const auto next = std::find_if(checks.begin() + static_cast<std::ptrdiff_t>(shown), checks.end(),
                                   [&](const UnexplainedCheck* other) { return !is_alike(other, &check); });
    const std::size_t alike = style.verbose ? 1 : static_cast<std::size_t>(next - checks.begin()) - shown;
    shown += alike;
    const Style of = check.outcome == Outcome::different ? Style::bad : Style::plain;
    const std::string others = alike > 1 ? " and " + format_count(static_cast<int64_t>(alike - 1)) + " more" : "";
    table.row({{escape(result.proof->unexplained[check.entry].name) + others, of},
               escape(check.node) + " (" + escape(check.op_type) + ")",
               {check.felt ? scientific(check.error) : "equal", of, Align::right},
               {scientific(check.floor), Style::plain, Align::right}});
  }
  out += table.text();
  if (shown < checks.size()) out += "  " + format_count(static_cast<int64_t>(checks.size() - shown)) + " more" + " (-v)\n";
}

/// What follows from the files alone, or what does not.
void add_proof(std::string& out, const ProofResult& proof, const ReportStyle& style) {
  constexpr int64_t kMostLines = 3;
  if (proof.proved) out += paint("proof", Style::good, style.color) + "   " + proof_counts(proof) + ", nothing unexplained\n";
  if (style.verbose) {
    if (!proof.proved) out += "explained     " + proof_counts(proof) + "\n";
    out += "  " + counted(proof.nodes_equal, "node") + " equal, " + counted(proof.folded_nodes, "node") + " folded, " +
           counted(proof.nodes_bypassed, "node") + " bypassed, " + counted(proof.nodes_evaluated, "node") + " evaluated, " +
           counted(proof.nodes_dead, "node") + " that nothing needed gone\n";
  }
  // Conversions of precision change the type of every tensor: one line of each kind.
  std::map<std::pair<std::string, std::string>, int64_t> retyped;
  for (const Unexplained& entry : proof.unexplained) ++retyped[{entry.type_a, entry.type_b}];
  int64_t lines = 0, hidden = 0;
  for (const Unexplained& entry : proof.unexplained) {
    // Differences of the interfaces have been told.
    if (entry.kind == Unexplained::Kind::interface) continue;
    int64_t& alike = retyped[{entry.type_a, entry.type_b}];
    if (!style.verbose && !entry.type_a.empty() && alike != 1) {
      if (alike > 1) {
        out += paint("unexplained", Style::warning, style.color) + "   " + counted(alike, "tensor") + " are stored as " + entry.type_b +
               ", were " + entry.type_a + " (-v)\n";
      }
      alike = 0;
      continue;
    }
    if (!style.verbose && lines == kMostLines) {
      ++hidden;
      continue;
    }
    ++lines;
    out += paint("unexplained", Style::warning, style.color) + "   " + entry.text + "\n";
  }
  if (hidden > 0) out += "              " + counted(hidden, "more difference") + " (-v)\n";
}

/// The first node that does something else, and how many more.
void add_divergence(std::string& out, const VerifyResult& result, const ReportStyle& style) {
  const LayerResult* first = nullptr;
  int64_t more = 0;
  for (const LayerResult& layer : result.layers) {
    if (layer.outcome != Outcome::different) continue;
    if (first == nullptr) {
      first = &layer;
    } else {
      ++more;
    }
  }
  if (first == nullptr) return;
  out +=
      paint(divergence_title(result), Style::strong, style.color) + "   " + layer_label(*first) + ", its inputs agree, its output does not";
  out += first->bound > 0 ? " (" + scientific(first->error) + ", floor " + scientific(first->floor) + ")" : " (" + first->reason + ")";
  out += "\n";
  if (!first->inside.empty()) out += "  inside: " + first->inside + "\n";
  if (!first->replaces.empty()) {
    constexpr std::size_t kMostNodes = 6;
    const std::size_t shown = style.verbose || first->replaces.size() <= kMostNodes + 1 ? first->replaces.size() : kMostNodes;
    out += "  it does what these do in " + escape(result.a) + ":";
    for (std::size_t i = 0; i < shown; ++i) out += (i == 0 ? " " : ", ") + first->replaces[i];
    const std::size_t rest = first->replaces.size() - shown;
    out += rest == 0 ? "\n" : " and " + counted(static_cast<int64_t>(rest), "more node") + " (-v)\n";
  }
  if (first->by_structure) {
    out += "  compared with " + quote(first->reference) + " of " + escape(result.a) + ", which stands in its place (names differ)\n";
  }
  if (more > 0)
    out += "  " + counted(more, "more node") + " that " + (more == 1 ? "does" : "do") + " so on " + (more == 1 ? "its" : "their") +
           " own (--layers)\n";
}

/// "29.6 dB (worst sample 24.0 dB), cosine 0.9995, error/range 3.1e-02, top-1 100 %, top-5 98 %"
std::string loss_text(const OutputComparison& output) {
  const Loss& loss = *output.loss;
  // Never 100 % of what is not all.
  const auto percent = [](double share) { return format("%.4g", share < 1 ? std::min(100 * share, 99.99) : 100.0) + " %"; };
  if (is_exact(output.type)) return percent(loss.match) + " equal";
  std::string out = decibels(loss.snr);
  if (output.samples.size() > 1 && loss.worst_snr < loss.snr) out += " (worst sample " + decibels(loss.worst_snr) + ")";
  out += ", cosine " + format("%.6f", loss.cosine) + ", error/range " + scientific(loss.error);
  if (loss.top1) out += ", top-1 " + percent(*loss.top1);
  if (loss.top5) out += ", top-5 " + percent(*loss.top5);
  return out;
}

/// The nodes that a quantized model loses most at, those first that compute something else.
std::string losses_table(const VerifyResult& result, const ReportStyle& style) {
  constexpr std::size_t kMostNodes = 5;
  const std::size_t shown = style.verbose ? result.losses.size() : std::min(kMostNodes, result.losses.size());
  TextTable table({.indent = 2, .gap = 2, .color = style.color, .width = style.width});
  const auto right = [](std::string text, Style of = Style::plain) { return Cell(std::move(text), of, Align::right); };
  table.row(
      {{"loss by node", Style::faint}, right("alone", Style::faint), right("expected", Style::faint), right("clipped", Style::faint), ""});
  for (const QuantizationLoss& loss : std::span(result.losses).first(shown)) {
    const Style of = !loss.fault.empty() ? Style::bad : Style::plain;
    const LossWords words = words_of(loss);
    table.row({{words.node, of}, right(words.alone, of), right(words.expected), right(words.clipped), {words.fault, of}});
  }
  std::string out = table.text();
  if (shown < result.losses.size()) out += "  " + counted(static_cast<int64_t>(result.losses.size() - shown), "more node") + " (-v)\n";
  return out;
}

/// How much of each output is lost, where b computes in coarser numbers.
void add_loss(std::string& out, const VerifyResult& result, const ReportStyle& style) {
  if (result.lossy.empty()) return;
  TextTable table({.indent = 2, .gap = 2, .color = style.color, .width = style.width});
  for (const OutputComparison& output : result.outputs) {
    if (output.loss) table.row({{escape(output.name), Style::strong}, loss_text(output)});
  }
  out += result.lossy + "\n" + table.text();
}

/// Errors against depth.
std::string layers_table(const VerifyResult& result, const ReportStyle& style) {
  TextTable table({.indent = 2, .gap = 2, .color = style.color, .width = style.width});
  const auto right = [](std::string text, Style of = Style::plain) { return Cell(std::move(text), of, Align::right); };
  table.row({{"node by node", Style::faint},
             "",
             right("alone", Style::faint),
             right("floor", Style::faint),
             right("in place", Style::faint),
             right("floor", Style::faint)});
  const auto number = [](const std::optional<double>& value) { return value ? scientific(*value) : std::string("–"); };
  for (const LayerResult& layer : result.layers) {
    const bool bad = layer.outcome == Outcome::different;
    table.row({{layer_label(layer), bad ? Style::bad : Style::plain},
               std::string(name_of(layer.type)) + " " + to_string(layer.dims),
               right(layer.error == 0 && layer.reason.empty() ? "equal" : scientific(layer.error), bad ? Style::bad : Style::plain),
               right(scientific(layer.floor)),
               right(number(layer.depth_error)),
               right(number(layer.depth_floor))});
    if (bad) table.line("    " + layer.reason, Style::bad);
  }
  return table.text();
}

Json layer_json(const LayerResult& layer) {
  Json out = Json::object();
  out.set("sample", layer.sample).set("node", layer.node).set("op", layer.op_type).set("tensor", layer.tensor);
  out.set("reference", layer.reference).set("by_structure", layer.by_structure).set("replaces", layer.replaces);
  out.set("dtype", name_of(layer.type)).set("shape", layer.dims).set("verdict", to_string(layer.outcome)).set("reason", layer.reason);
  out.set("local_err", layer.error).set("local_rms", layer.rms).set("local_floor", layer.floor).set("local_floor_rms", layer.floor_rms);
  if (!layer.inside.empty()) out.set("inside", layer.inside);
  out.set("ratio", layer.ratio).set("bound", layer.bound).set("depth_err", layer.depth_error).set("depth_floor", layer.depth_floor);
  return out;
}

Json losses_json(const VerifyResult& result) {
  Json out = Json::array();
  for (const QuantizationLoss& loss : result.losses) {
    Json entry = Json::object();
    entry.set("node", loss.node).set("op", loss.op_type).set("tensor", loss.tensor).set("snr", loss.snr);
    out.add(std::move(entry.set("expected_snr", loss.expected).set("clipped", loss.clipped).set("fault", loss.fault)));
  }
  return out;
}

Json checks_json(const VerifyResult& result) {
  Json out = Json::array();
  for (const UnexplainedCheck& check : result.checks) {
    Json entry = Json::object();
    entry.set("name", result.proof->unexplained[check.entry].name).set("node", check.node).set("op", check.op_type);
    entry.set("sample", check.sample).set("local_err", check.error).set("local_floor", check.floor).set("bound", check.bound);
    out.add(std::move(entry.set("felt", check.felt).set("verdict", to_string(check.outcome))));
  }
  return out;
}

Json proof_json(const ProofResult& proof) {
  Json out = Json::object();
  out.set("proved", proof.proved).set("weights_folded", proof.folds).set("weights_permuted", proof.permutations);
  out.set("nodes_rewritten", proof.rewritten);
  out.set("folds_near", proof.near_folds).set("folds_near_ulp", proof.near_ulp);
  out.set("tensors_equal", proof.tensors_equal).set("nodes_equal", proof.nodes_equal).set("nodes_folded", proof.folded_nodes);
  out.set("nodes_bypassed", proof.nodes_bypassed).set("nodes_evaluated", proof.nodes_evaluated).set("nodes_dead", proof.nodes_dead);
  Json unexplained = Json::array();
  for (const Unexplained& entry : proof.unexplained) {
    Json line = Json::object();
    line.set("kind", to_string(entry.kind)).set("side", entry.in_first ? "a" : "b").set("name", entry.name).set("text", entry.text);
    unexplained.add(std::move(line.set("values", entry.values).set("largest", entry.largest)));
  }
  return std::move(out.set("unexplained", std::move(unexplained)));
}

Json unsupported_json(const std::vector<Unsupported>& nodes, const char* side) {
  Json out = Json::array();
  for (const Unsupported& node : nodes) {
    Json entry = Json::object();
    entry.set("side", side).set("node", node.node).set("op_type", node.op_type).set("domain", node.domain).set("opset", node.opset);
    out.add(std::move(entry.set("why", node.why)));
  }
  return out;
}

/// What decided a bound.
const char* bound_by(bool least_bound) {
  return least_bound ? "type" : "floor";
}

Json sample_json(const SampleMetrics& metrics, uint64_t seed) {
  Json out = Json::object();
  out.set("sample", metrics.sample).set("seed", seed).set("shape", metrics.dims).set("verdict", to_string(metrics.outcome));
  if (!metrics.reason.empty()) out.set("reason", metrics.reason);
  out.set("ill_conditioned", metrics.ill_conditioned);
  out.set("err", metrics.max_error).set("rms", metrics.rms_error).set("floor", metrics.floor_max).set("floor_rms", metrics.floor_rms);
  out.set("ratio", metrics.ratio).set("bound", metrics.bound_max).set("bound_rms", metrics.bound_rms);
  out.set("bound_by", bound_by(metrics.least_bound));
  out.set("reference_run", metrics.reference_run).set("max_abs", metrics.max_abs).set("at", metrics.at);
  out.set("a", metrics.value_a).set("b", metrics.value_b).set("cosine", metrics.cosine).set("psnr", metrics.psnr);
  out.set("ulp", metrics.ulp_histogram).set("mismatches", metrics.mismatches).set("ties", metrics.ties);
  out.set("beyond_tolerance", metrics.beyond_tolerance);
  out.set("nan", Json::object().set("a", metrics.nan_a).set("b", metrics.nan_b).set("both", metrics.nan_both));
  out.set("infinite_mismatches", metrics.infinite_mismatches);
  if (metrics.top1) out.set("top1", *metrics.top1);
  if (metrics.top5) out.set("top5", *metrics.top5);
  return out;
}

Json loss_json(const Loss& loss) {
  Json out = Json::object();
  out.set("snr", loss.snr).set("worst_snr", loss.worst_snr).set("cosine", loss.cosine).set("err", loss.error).set("match", loss.match);
  if (loss.top1) out.set("top1", *loss.top1);
  if (loss.top5) out.set("top5", *loss.top5);
  return out;
}

Json output_json(const OutputComparison& output, uint64_t seed) {
  Json out = Json::object();
  out.set("name", output.name).set("dtype", name_of(output.type)).set("shape", output.dims).set("declared", output.shape);
  out.set("verdict", to_string(output.outcome)).set("reason", output.reason).set("hint", output.hint);
  out.set("err", output.max_error).set("rms", output.rms_error).set("floor", output.floor).set("bound", output.bound);
  out.set("ratio", output.ratio).set("bound_by", bound_by(output.least_bound));
  if (output.loss) out.set("loss", loss_json(*output.loss));
  Json samples = Json::array();
  for (const SampleMetrics& metrics : output.samples) samples.add(sample_json(metrics, seed));
  return std::move(out.set("samples", std::move(samples)));
}

Json inputs_json(const VerifyResult& result) {
  Json out = Json::array();
  for (const SampleInputs& inputs : result.inputs) {
    Json shapes = Json::object(), dims = Json::object();
    for (const auto& [name, shape] : inputs.shapes) shapes.set(name, shape);
    for (const auto& [name, value] : inputs.dims) dims.set(name, value);
    Json entry = Json::object();
    entry.set("sample", inputs.sample).set("shapes", std::move(shapes)).set("dims", std::move(dims));
    Json files = Json::object();
    for (const auto& [name, file] : inputs.files) files.set(name, file.string());
    if (!inputs.files.empty()) entry.set("files", std::move(files));
    if (inputs.deviation > 0) entry.set("deviation", inputs.deviation);
    if (!inputs.rejected.empty()) entry.set("rejected", inputs.rejected);
    out.add(std::move(entry));
  }
  return out;
}

/// What is another, and what it was.
std::string plain_sentence(const InterfaceDifference& difference, const VerifyResult& result) {
  const std::string place = difference.side + " " + quote(difference.name);
  const std::string b = escape(result.b);
  if (difference.field == "missing") return place + " (" + difference.a + ") is missing in " + b;
  if (difference.field == "added") return place + " (" + difference.b + ") is only in " + b;
  if (difference.field == "renamed") return place + " is named " + quote(difference.b) + " in " + b;
  if (difference.field == "order") return difference.side + "s are in another order: " + difference.b + "; was " + difference.a;
  if (difference.field == "type") return place + " is " + difference.b + ", was " + difference.a;
  return place + ": " + difference.field + " is " + difference.b + ", was " + difference.a;
}

std::string exit_text(int code) {
  return "exit " + std::to_string(code);
}

/// What decided on a case with stored outputs.
std::string limit_text(const DataCase& one) {
  if (!one.by_tolerance) return "may be " + scientific(one.bound);
  return "each element within rtol " + scientific(one.rtol) + ", atol " + scientific(one.atol);
}

}  // namespace

Style style_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::same:
    case Outcome::accepted:
      return Style::good;
    case Outcome::different:
      return Style::bad;
    case Outcome::inconclusive:
      break;
  }
  return Style::warning;
}

std::string scientific(double value) {
  return format("%.1e", value);
}

std::string ratio_text(double ratio) {
  if (std::isnan(ratio)) return "nan";
  if (ratio < 9.95) return format("%.1f", ratio);
  if (!(ratio < 1e15)) return "∞";
  double unit = 1;
  while (ratio / unit >= 99.5) unit *= 10;
  return format_count(static_cast<int64_t>(std::llround(ratio / unit) * std::llround(unit)));
}

std::string shape_of(const OutputComparison& output) {
  return std::string(name_of(output.type)) + " " + (output.samples.empty() ? output.shape : to_string(output.dims));
}

/// " from images/, masks/": where samples come from that were not made up.
std::string folders_text(const VerifyResult& result) {
  std::set<std::string> folders;
  for (const SampleInputs& inputs : result.inputs) {
    for (const auto& [name, file] : inputs.files) folders.insert(escape(file.parent_path().string()));
  }
  std::string out;
  for (const std::string& folder : folders) out += (out.empty() ? " from " : ", ") + folder + (folder.ends_with('/') ? "" : "/");
  return out;
}

std::string circumstances(const VerifyResult& result) {
  if (result.samples == 0) return {};
  std::string out = counted(result.samples, "sample") + folders_text(result) + ", seed " + std::to_string(result.seed) + ", floor from " +
                    std::to_string(result.draws) + " runs with moved weights";
  if (result.reference_run) out += " and the double-precision reference";
  out += " · oneDNN " + result.onednn + ", " + result.isa + ", " + counted(result.threads, "thread");
  return out + " · " + seconds_text(result.seconds);
}

std::string proof_counts(const ProofResult& proof) {
  std::vector<std::string> parts;
  const int64_t exact = proof.folds - proof.near_folds;
  if (exact > 0) parts.push_back(counted(exact, "fold") + " recomputed");
  if (proof.near_folds > 0) {
    parts.push_back(counted(proof.near_folds, "fold") + " within " + std::to_string(static_cast<int64_t>(std::ceil(proof.near_ulp))) +
                    " ULP, not rounded as doubles would be");
  }
  if (proof.permutations > 0) {
    parts.push_back(counted(proof.permutations, "weight") +
                    (proof.permutations == 1 ? " is a byte permutation" : " are byte permutations"));
  }
  if (proof.rewritten > 0) parts.push_back(counted(proof.rewritten, "operator") + " equal by formula");
  parts.push_back(counted(proof.tensors_equal, "tensor") + " byte-equal");
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

const char* divergence_title(const VerifyResult& result) {
  return result.outcome == Outcome::different ? "first wrong node" : "first node beyond rounding";
}

std::string layer_label(const LayerResult& layer) {
  return escape(layer.node) + " (" + escape(layer.op_type) + ")";
}

std::string sentence(const InterfaceDifference& difference, const VerifyResult& result) {
  const bool is_type = difference.field == "type";
  const char* const how = difference.field == "renamed" ? "" : is_type ? ": cast" : ": run at that size";
  std::string what = plain_sentence(difference, result) + (difference.adapted ? how : "");
  if (!difference.adapted || difference.remark) return what;
  return what + " (" + (is_type ? "--precision or " : "") + "--allow-interface takes it)";
}

std::string verify_text(const VerifyResult& result, bool allow_inconclusive, const ReportStyle& style) {
  std::string out;
  for (const InterfaceDifference& difference : result.interface) {
    if (difference.remark && !difference.adapted && !style.verbose) continue;
    out += paint(sentence(difference, result), difference.remark ? Style::faint : Style::bad, style.color) + "\n";
  }
  add_unsupported(out, result.a, result.unsupported_a, style);
  add_unsupported(out, result.b, result.unsupported_b, style);
  if (result.proof) add_proof(out, *result.proof, style);
  add_inputs(out, result, style);
  for (const std::string& remark : result.remarks) out += remark + "\n";
  add_loss(out, result, style);
  TextTable table({.color = style.color, .width = style.width});
  for (const OutputComparison& output : result.outputs) {
    if (output.samples.empty() && output.outcome == Outcome::same) continue;
    add_output(table, output);
  }
  out += table.text();
  if (style.verbose) {
    for (const OutputComparison& output : result.outputs) {
      if (output.samples.empty() || is_exact(output.type)) continue;
      out += "  " + escape(output.name) + "\n" + samples_table(output, style);
    }
  }
  add_checks(out, result, style);
  if (result.losses.empty()) {
    add_divergence(out, result, style);
  } else {
    out += losses_table(result, style);
  }
  const bool listed = std::ranges::any_of(result.layers, [](const LayerResult& layer) { return layer.depth_error.has_value(); });
  if (style.layers && listed) out += layers_table(result, style);
  if (!result.defect.empty()) out += paint("defect in relayout: " + result.defect, Style::bad, style.color) + "\n";

  const bool unsupported = result.is_blocked();
  TextTable verdict({.color = style.color, .width = style.width});
  const std::string word = !result.defect.empty() ? "defect" : unsupported ? "not supported" : std::string(to_string(result.outcome));
  const Style word_style = !result.defect.empty() ? Style::bad : style_of(result.outcome);
  std::string details = result.reason;
  const std::string run = circumstances(result);
  if (!run.empty()) details += (details.empty() ? "" : " · ") + run;
  verdict.row({{word, word_style}, details, exit_text(exit_code(result, allow_inconclusive))});
  return out + verdict.text();
}

Json verify_json(const VerifyResult& result, bool allow_inconclusive) {
  Json out = Json::object();
  out.set("schema", "relayout.verify/1");
  out.set("tool", Json::object().set("version", kVersion).set("onednn", result.onednn).set("isa", result.isa));
  out.set("a", Json::object().set("path", result.a).set("sha256", result.sha256_a));
  out.set("b", Json::object().set("path", result.b).set("sha256", result.sha256_b));
  Json options = Json::object();
  options.set("seed", result.seed).set("samples", result.samples).set("k", 5).set("threads", result.threads);
  out.set("options", std::move(options)).set("identical", result.identical).set("inputs", inputs_json(result));
  Json interface = Json::array();
  for (const InterfaceDifference& difference : result.interface) {
    Json entry = Json::object();
    entry.set("side", difference.side).set("name", difference.name).set("field", difference.field).set("a", difference.a);
    interface.add(std::move(entry.set("b", difference.b).set("remark", difference.remark).set("adapted", difference.adapted)));
  }
  out.set("interface", std::move(interface));
  out.set("unexplained", checks_json(result));
  out.set("structure", result.proof ? proof_json(*result.proof) : Json());
  Json unsupported = unsupported_json(result.unsupported_a, "a");
  const Json others = unsupported_json(result.unsupported_b, "b");
  for (std::size_t i = 0; i < others.size(); ++i) unsupported.add(*others.at(i));
  out.set("unsupported", std::move(unsupported));
  Json outputs = Json::array();
  for (const OutputComparison& output : result.outputs) outputs.add(output_json(output, result.seed));
  Json layers = Json::array(), first;
  for (const LayerResult& layer : result.layers) {
    layers.add(layer_json(layer));
    if (layer.outcome == Outcome::different && !first.is_object()) first = layer_json(layer);
  }
  out.set("first_divergence", std::move(first)).set("layers", std::move(layers));
  if (!result.losses.empty()) out.set("losses", losses_json(result));
  out.set("outputs", std::move(outputs)).set("remarks", result.remarks).set("reference_run", result.reference_run);
  out.set("lossy", result.lossy).set("verdict", to_string(result.outcome)).set("reason", result.reason).set("defect", result.defect);
  out.set("exit_code", exit_code(result, allow_inconclusive));
  Json seconds = Json::object();
  seconds.set("total", result.seconds).set("a", result.seconds_a).set("b", result.seconds_b).set("floor", result.seconds_floor);
  return std::move(out.set("seconds", std::move(seconds)));
}

std::string data_text(const DataResult& result, const ReportStyle& style) {
  TextTable table({.color = style.color, .width = style.width});
  int64_t passed = 0;
  for (const DataCase& one : result.cases) {
    const bool good = one.status == "passed";
    passed += good ? 1 : 0;
    const bool measured = one.bound > 0 && one.status != "unsupported";
    table.row({one.name,
               {one.status, good ? Style::good : Style::bad},
               measured ? "error/range " + scientific(one.error) : std::string(),
               measured ? limit_text(one) : std::string(),
               {seconds_text(one.seconds), Style::faint, Align::right}});
    if (!good && !one.message.empty()) table.line("  " + one.message, Style::bad);
    if (one.flips > 0) {
      table.line("  values moved by one ULP put " + format_count(one.flips) + (one.flips == 1 ? " element" : " elements") +
                 " of quantized tensors on another step, the first at node " + escape(one.flips_node));
    }
  }
  TextTable verdict({.color = style.color, .width = style.width});
  verdict.row({{format_count(passed) + " of " + format_count(static_cast<int64_t>(result.cases.size())) + " passed",
                result.passed() ? Style::good : Style::bad},
               exit_text(exit_code(result))});
  return table.text() + verdict.text();
}

Json data_json(const DataResult& result) {
  Json out = Json::object();
  out.set("schema", "relayout.verify-data/1").set("model", result.model);
  Json cases = Json::array(), summary = Json::object();
  for (const DataCase& one : result.cases) {
    Json entry = Json::object();
    entry.set("name", one.name).set("status", one.status).set("seconds", one.seconds).set("message", one.message);
    entry.set("error", one.error).set("bound", one.bound).set("decided_by", one.by_tolerance ? "tolerance" : "bound");
    entry.set("rtol", one.rtol).set("atol", one.atol);
    cases.add(std::move(entry.set("flips", one.flips).set("flips_node", one.flips_node)));
  }
  for (const char* const status : {"passed", "failed", "pass-loose", "unsupported"}) {
    summary.set(status, std::ranges::count(result.cases, std::string(status), &DataCase::status));
  }
  out.set("cases", std::move(cases)).set("summary", std::move(summary)).set("unsupported", unsupported_json(result.unsupported, "model"));
  return std::move(out.set("exit_code", exit_code(result)));
}

}  // namespace relayout::cli
