// Reports what is in a model, and what convert would do and refuse.
#include <algorithm>
#include <iterator>

#include "base/file.h"
#include "cli/convert/convert.h"
#include "cli/inspect/inspect.h"

namespace relayout::cli {
namespace {

constexpr std::size_t kOpsShown = 8;  ///< most frequent first; the others are only counted

/// The cell of the table. "?" replaces a 0 that results from operators without a count.
std::string macs_cell(const InspectResult& result) {
  if (!result.macs || (result.macs == 0 && result.macs_are_least)) return "?";
  return (result.macs_are_least ? "≥ " : "") + macs_text(*result.macs);
}

/// " at N = 1, H = 224"
std::string sizes_text(const InspectResult& result) {
  std::string out;
  for (const std::string& dim : result.assumed) out += (out.empty() ? " at " : ", ") + dim;
  return out;
}

/// Whether the model contains operators of a domain. Runtimes import every domain that they know.
bool is_used(const InspectResult& result, const std::string& domain) {
  const auto first = result.op_counts.lower_bound(domain + ":");
  return first != result.op_counts.end() && first->first.starts_with(domain + ":");
}

std::string head(const InspectResult& result, bool all) {
  std::string out = "ONNX opset " + std::to_string(result.opset) + ", IR " + std::to_string(result.ir_version);
  for (const auto& [domain, version] : result.domains) {
    if (all || is_used(result, domain)) out += ", " + escape(domain) + " " + std::to_string(version);
  }
  if (!result.producer.empty()) out += ", " + escape(result.producer);
  out += " · " + counted(result.nodes, "node");
  if (result.functions > 0) out += " · " + counted(result.functions, "function");
  out += " · " + short_count(result.parameters) + (result.parameters == 1 ? " parameter, " : " parameters, ") +
         format_bytes(result.parameter_bytes);
  const bool counts_nothing = result.macs == 0 && !result.ops_without_macs.empty();
  if (result.macs && !counts_nothing) out += " · " + macs_text(*result.macs) + sizes_text(result);
  return out;
}

void add_ports(TextTable& table, std::string_view side, const std::vector<PortSummary>& ports) {
  for (const PortSummary& port : ports) {
    table.row({std::string(side), escape(port.name), port.type + (port.shape.empty() ? "" : " " + port.shape)});
  }
}

bool is_depthwise(const ConvolutionSummary& convolution) {
  return convolution.groups > 1 && convolution.weight_dims.size() > 1 && convolution.weight_dims[1] == 1;
}

/// "Conv 52 (17 depthwise) · BatchNormalization 52 · … · 3 others"
std::string operators(const InspectResult& result, bool all) {
  std::vector<std::pair<std::string, int64_t>> counts(result.op_counts.begin(), result.op_counts.end());
  std::ranges::stable_sort(counts, [](const auto& a, const auto& b) { return a.second > b.second; });
  const auto depthwise = std::ranges::count_if(result.convolutions, is_depthwise);
  std::string out;
  int64_t others = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto& [name, count] = counts[i];
    if (i >= kOpsShown && !all) {
      others += count;
      continue;
    }
    out += (out.empty() ? "" : " · ") + escape(name) + " " + format_count(count);
    if (name == "Conv" && depthwise > 0) out += " (" + format_count(depthwise) + " depthwise)";
  }
  if (others > 0) out += " · " + counted(others, "other");
  return out;
}

/// The nodes that a pass leaves unchanged, by reason; with -v also by name.
std::string refusals(const InspectResult& result, const std::string& pass, const ReportStyle& style) {
  Findings findings;
  std::ranges::copy_if(result.findings, std::back_inserter(findings), [&](const Finding& finding) { return finding.pass == pass; });
  if (std::ranges::none_of(findings, [](const Finding& finding) { return finding.verdict == Verdict::skipped; })) return {};
  const std::string lines = findings_text(findings, {.passes = {pass}, .will = true}, style);
  return lines.substr(lines.find('\n') + 1);  // the outlook replaces its first line
}

/// The work of convert, with the nodes that it leaves unchanged below the respective line.
std::string outlook_with_refusals(const InspectResult& result, const ReportStyle& style) {
  const std::string folds = refusals(result, "fold-batch-norm", style) + refusals(result, "fold-affine", style);
  const std::string weights = refusals(result, "conv-weights-layout", style);
  if (weights.empty()) return "  " + outlook_text(result.findings) + "\n" + folds;
  return "  " + folds_outlook(result.findings) + "\n" + folds + "  " + weights_outlook(result.findings) + "\n" + weights;
}

std::string convolution_table(const InspectResult& result, const ReportStyle& style) {
  TextTable table({.indent = 2, .gap = 2, .color = style.color, .width = style.width});
  table.row({{"convolution", Style::faint},
             {"op", Style::faint},
             {"weight", Style::faint},
             {"groups", Style::faint, Align::right},
             {"layout", Style::faint},
             {"BatchNormalization", Style::faint}});
  for (const ConvolutionSummary& convolution : result.convolutions) {
    table.row({escape(convolution.node), convolution.op_type, convolution.weight_dims.empty() ? "?" : to_string(convolution.weight_dims),
               Cell(std::to_string(convolution.groups), Style::plain, Align::right), convolution.layout,
               convolution.batch_norm.empty() ? "–" : convolution.batch_norm});
  }
  return table.text();
}

/// [1, "N", null]: sizes, names of free dims, and dims without either; null when no shape is declared.
Json shape_json(const PortSummary& port) {
  if (port.shape.empty()) return {};
  Json out = Json::array();
  for (std::size_t i = 0; i < port.dims.size(); ++i) {
    out.add(port.dims[i] >= 0 ? Json(port.dims[i]) : port.symbols[i].empty() ? Json() : Json(port.symbols[i]));
  }
  return out;
}

Json ports_json(const std::vector<PortSummary>& ports) {
  Json out = Json::array();
  for (const PortSummary& port : ports)
    out.add(Json::object().set("name", port.name).set("type", port.type).set("shape", shape_json(port)));
  return out;
}

}  // namespace

std::string inspect_text(const InspectResult& result, const ReportStyle& style) {
  const std::string name = is_stream(result.path) ? kStandardInput : escape(result.path);
  if (style.quiet) return paint(name, Style::strong, style.color) + "   " + outlook_text(result.findings) + "\n";
  std::string out = paint(name, Style::strong, style.color) + "   " + head(result, style.verbose) + "\n";
  TextTable ports({.indent = 2, .gap = 3, .color = style.color, .width = style.width});
  add_ports(ports, "input", result.inputs);
  add_ports(ports, "output", result.outputs);
  out += ports.text();
  if (!result.op_counts.empty()) out += "  " + operators(result, style.verbose) + "\n";
  if (result.macs && !result.ops_without_macs.empty()) {
    std::string names;
    for (const auto& [op, count] : result.ops_without_macs) names += (names.empty() ? "" : " · ") + escape(op) + " " + format_count(count);
    out += "  " + paint("not in the number of MACs:", Style::warning, style.color) + " " + names + "\n";
  }
  if (result.misfit) {
    out += "  " + paint("dims do not fit:", Style::warning, style.color) + " " + *result.misfit + sizes_text(result) + "\n";
  }
  if (!result.unknown_ops.empty()) {
    out += "  " + paint("unknown, passed through untouched:", Style::warning, style.color);
    for (const std::string& op : result.unknown_ops) out += " " + escape(op);
    out += "\n";
  }
  out += outlook_with_refusals(result, style);
  if (result.layout) out += layout_text(*result.layout, style);
  if (style.verbose && !result.convolutions.empty()) out += convolution_table(result, style);
  return out;
}

std::string inspect_table(const std::vector<InspectResult>& results, const ReportStyle& style) {
  TextTable table({.gap = 2, .color = style.color, .width = style.width});
  const auto head = [](const char* text, Align align = Align::right) { return Cell(text, Style::faint, align); };
  const auto add = [&](std::vector<Cell> cells, std::vector<Cell> sizes, std::vector<Cell> work) {
    if (has_columns(style, kUsualWidth)) std::ranges::move(sizes, std::back_inserter(cells));
    std::ranges::move(work, std::back_inserter(cells));
    table.row(std::move(cells));
  };
  add({head("model", Align::left), head("opset"), head("nodes")}, {head("parameters"), head("weights")},
      {head("MACs"), head("folds"), head("moves")});
  for (const InspectResult& result : results) {
    const Outlook outlook = outlook_of(result.findings);
    add({{is_stream(result.path) ? kStandardInput : escape(result.path), Style::strong},
         right(std::to_string(result.opset)),
         right(format_count(result.nodes))},
        {right(short_count(result.parameters)), right(format_bytes(result.parameter_bytes))},
        {right(macs_cell(result)), right(format_count(outlook.folds) + "/" + format_count(outlook.batch_norms)),
         right(format_count(outlook.moves) + "/" + format_count(outlook.weights))});
  }
  if (!style.quiet)
    table.line("folds: BatchNormalizations that convert folds; moves: convolution weights that it stores channels-last", Style::faint);
  return table.text();
}

Json inspect_json(const InspectResult& result) {
  Json out = Json::object();
  out.set("schema", "relayout.inspect/1").set("model", result.path).set("producer", result.producer);
  Json opsets = Json::object();
  opsets.set("", result.opset);
  for (const auto& [domain, version] : result.domains) opsets.set(domain, version);
  out.set("ir_version", result.ir_version).set("opset", std::move(opsets)).set("file_bytes", result.file_bytes);
  out.set("parameters", result.parameters).set("parameter_bytes", result.parameter_bytes);
  out.set("nodes", result.nodes).set("functions", result.functions).set("macs", result.macs);
  out.set("macs_at_least", result.macs_are_least).set("assumed", result.assumed);
  out.set("misfit", result.misfit);
  Json left_out = Json::object();
  for (const auto& [op, count] : result.ops_without_macs) left_out.set(op, count);
  out.set("ops_without_macs", std::move(left_out));
  out.set("inputs", ports_json(result.inputs)).set("outputs", ports_json(result.outputs));
  Json counts = Json::object();
  for (const auto& [name, count] : result.op_counts) counts.set(name, count);
  out.set("op_counts", std::move(counts)).set("unknown_ops", result.unknown_ops);
  Json repeated = Json::object();
  for (const auto& [name, count] : result.repeated_names) repeated.set(name, count);
  out.set("repeated_names", std::move(repeated));
  Json convolutions = Json::array();
  for (const ConvolutionSummary& convolution : result.convolutions) {
    Json entry = Json::object();
    entry.set("node", convolution.node).set("op_type", convolution.op_type).set("weight_dims", convolution.weight_dims);
    entry.set("groups", convolution.groups).set("layout", convolution.layout);
    if (!convolution.batch_norm.empty()) entry.set("batch_norm", convolution.batch_norm);
    convolutions.add(std::move(entry));
  }
  out.set("convolutions", std::move(convolutions)).set("findings", findings_json(result.findings));
  if (result.layout) out.set("layout", layout_json(*result.layout));
  return out;
}

}  // namespace relayout::cli
