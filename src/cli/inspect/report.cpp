// Reports what is in a model, and what convert would do and refuse.

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
  return result.assumed.empty() ? "" : " at " + joined(result.assumed, ", ");
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

bool is_depthwise(const ConvolutionSummary& convolution) {
  return convolution.groups > 1 && convolution.weight_dims.size() > 1 && convolution.weight_dims[1] == 1;
}

/// "Conv 52 (17 depthwise) · BatchNormalization 52 · … · 3 others"
std::string operators(const InspectResult& result, bool all) {
  std::vector<std::pair<std::string, int64_t>> counts(result.op_counts.begin(), result.op_counts.end());
  std::ranges::stable_sort(counts, std::greater{}, &std::pair<std::string, int64_t>::second);
  const auto depthwise = std::ranges::count_if(result.convolutions, is_depthwise);
  const std::size_t shown = all ? counts.size() : std::min(kOpsShown, counts.size());
  int64_t others = 0;
  for (const auto& [name, count] : std::span(counts).subspan(shown)) others += count;
  const std::string list = joined(std::span(counts).first(shown), " · ", [&](const auto& entry) {
    const auto& [name, count] = entry;
    const bool has_depthwise = name == "Conv" && depthwise > 0;
    return escape(name) + " " + format_count(count) + (has_depthwise ? " (" + format_count(depthwise) + " depthwise)" : "");
  });
  return joined({list, others > 0 ? counted(others, "other") : ""}, " · ");
}

/// The nodes that a pass leaves unchanged, by reason; with -v also by name.
std::string refusals(const InspectResult& result, const std::string& pass, const ReportStyle& style) {
  Findings findings;
  std::ranges::copy_if(result.findings, std::back_inserter(findings), [&](const Finding& finding) { return finding.pass == pass; });
  if (std::ranges::none_of(findings, [](const Finding& finding) { return finding.verdict == Verdict::skipped; })) return {};
  const std::string lines = findings_table(findings, {.passes = {pass}, .will = true}, style.verbose).text(style);
  return lines.substr(lines.find('\n') + 1);  // the outlook replaces its first line
}

/// ", 6 stay (-v says why)": scales and shifts that no lines explain, because few of them are candidates.
std::string unexplained_affines(const InspectResult& result, const ReportStyle& style) {
  const int64_t stay = std::ranges::count_if(
      result.findings, [](const Finding& finding) { return finding.pass == "fold-affine" && finding.verdict == Verdict::skipped; });
  return style.verbose || stay == 0 ? "" : ", " + counted(stay, "stays", "stay") + " (-v says why)";
}

/// The work of convert, with the nodes that it leaves unchanged below the respective line.
std::string outlook_with_refusals(const InspectResult& result, const ReportStyle& style) {
  const std::string folds = refusals(result, "fold-batch-norm", style) + refusals(result, "fold-affine", style);
  const std::string weights = refusals(result, "conv-weights-layout", style);
  const std::string outlook = folds_outlook(result.findings) + unexplained_affines(result, style);
  if (weights.empty()) return "  " + joined({outlook, weights_outlook(result.findings)}, " · ") + "\n" + folds;
  return "  " + outlook + "\n" + folds + "  " + weights_outlook(result.findings) + "\n" + weights;
}

Table convolution_table(const InspectResult& result) {
  Table table({.indent = 2, .gap = 2});
  table.head({"convolution", "op", "weight", right("groups"), "layout", "BatchNormalization"});
  for (const ConvolutionSummary& one : result.convolutions) {
    table.row({escape(one.node), one.op_type, one.weight_dims.empty() ? "?" : to_string(one.weight_dims), std::to_string(one.groups),
               one.layout, one.batch_norm.empty() ? "–" : one.batch_norm});
  }
  return table;
}

/// Shapes are [1, "N", null]: sizes, names of free dims, and dims without either; null when no shape is declared.
Json port_json(const PortSummary& port) {
  Json shape = port.shape.empty() ? Json() : Json::array();
  for (std::size_t i = 0; !port.shape.empty() && i < port.dims.size(); ++i) {
    shape.add(port.dims[i] >= 0 ? Json(port.dims[i]) : port.symbols[i].empty() ? Json() : Json(port.symbols[i]));
  }
  return Json().set("name", port.name).set("type", port.type).set("shape", std::move(shape));
}

/// "  unknown, passed through untouched: com.acme:Foo": what the report has to warn of.
std::string warning_line(const std::string& title, const std::string& words, const ReportStyle& style) {
  return words.empty() ? "" : "  " + paint(title, Style::warning, style.color) + " " + words + "\n";
}

}  // namespace

/// Bytes of stored numbers count at the first node that reads them.
Table node_table(const std::vector<NodeSummary>& nodes) {
  Table table({.indent = 2, .gap = 2});
  table.head({"node", "op", "dims", right("MACs"), right("parameters"), right("stored"), right("result bytes")});
  for (const NodeSummary& one : nodes) {
    table.row({escape(one.node), escape(one.op_type), one.dims.empty() ? "?" : one.dims, one.macs ? format_count(*one.macs) : "?",
               format_count(one.parameters), format_bytes(one.bytes), one.result_bytes ? format_bytes(*one.result_bytes) : "?"});
  }
  table.line("stored numbers are those that no node before reads", Style::faint);
  return table;
}

std::string inspect_text(const InspectResult& result, const ReportStyle& style) {
  const std::string name = is_stream(result.path) ? kStandardInput : escape(result.path);
  if (style.quiet()) return paint(name, Style::strong, style.color) + "   " + outlook_text(result.findings) + "\n";
  std::string out = paint(name, Style::strong, style.color) + "   " + head(result, style.verbose) + "\n";
  Table ports({.indent = 2});
  const auto add = [&](const char* side, const std::vector<PortSummary>& all) {
    for (const PortSummary& port : all) ports.row({side, escape(port.name), joined({port.type, port.shape}, " ")});
  };
  add("input", result.inputs);
  add("output", result.outputs);
  out += ports.text(style);
  if (!result.op_counts.empty()) out += "  " + operators(result, style.verbose) + "\n";
  if (result.macs) {
    const auto counted_op = [](const auto& op) { return escape(op.first) + " " + format_count(op.second); };
    out += warning_line("not in the number of MACs:", joined(result.ops_without_macs, " · ", counted_op), style);
  }
  const char* const others = result.assumed.empty() ? "" : " (--dim NAME=SIZE and --shape set others)";
  if (result.misfit) out += warning_line("dims do not fit:", *result.misfit + sizes_text(result) + others, style);
  out += warning_line("unknown, passed through untouched:", joined(result.unknown_ops, " ", escape), style);
  out += outlook_with_refusals(result, style);
  if (result.layout) out += layout_text(*result.layout, style);
  if (style.verbose && !result.convolutions.empty()) out += convolution_table(result).text(style);
  if (!result.node_list.empty()) out += node_table(result.node_list).text(style);
  return out;
}

std::string nodes_csv(const InspectResult& result) {
  const auto number = [](const std::optional<int64_t>& value) { return value ? std::to_string(*value) : std::string(); };
  std::string out = "node,op,dims,macs,parameters,stored_bytes,result_bytes\r\n";
  for (const NodeSummary& one : result.node_list) {
    out += csv_record(std::array{csv_field(one.node), csv_field(one.op_type), csv_field(one.dims), number(one.macs),
                                 std::to_string(one.parameters), std::to_string(one.bytes), number(one.result_bytes)});
  }
  return out;
}

std::string assertions_text(const std::vector<Assertion>& assertions, const ReportStyle& style) {
  std::string out;
  for (const Assertion& one : assertions) {
    if (style.quiet() && one.holds) continue;
    const std::string word = one.holds ? paint("holds", Style::good, style.color) : paint("fails", Style::bad, style.color);
    out += "  " + word + "  " + escape(one.statement) + "   (" + escape(one.found) + ")\n";
  }
  return out;
}

Json with_assertions(Json document, const std::vector<Assertion>& assertions) {
  if (assertions.empty()) return document;
  document.set("assertions", Json::list(assertions, [](const Assertion& one) {
                 return Json().set("assertion", one.statement).set("found", one.found).set("holds", one.holds);
               }));
  return document;
}

JunitSuite assertion_suite(const InspectResult& result, const std::vector<Assertion>& assertions) {
  JunitSuite out{"inspect", result.path, junit_now(), {}, {}};
  for (const Assertion& one : assertions) {
    JunitCase test = judged_case(result.path, one.statement, result.path);
    test.status = one.holds ? JunitCase::Status::passed : JunitCase::Status::failed;
    if (!one.holds) test.message = one.statement + " does not hold: " + one.found;
    out.cases.push_back(std::move(test));
  }
  return out;
}

std::string inspect_table(const std::vector<InspectResult>& results, const ReportStyle& style) {
  Table table({.gap = 2});
  table.head({"model", right("opset"), right("nodes"), right("parameters").from(kUsualWidth), right("weights").from(kUsualWidth),
              right("MACs"), right("folds"), right("moves")});
  for (const InspectResult& result : results) {
    const Outlook outlook = outlook_of(result.findings);
    table.row({Cell(is_stream(result.path) ? kStandardInput : escape(result.path), Style::strong), std::to_string(result.opset),
               format_count(result.nodes), short_count(result.parameters), format_bytes(result.parameter_bytes), macs_cell(result),
               format_count(outlook.folds) + "/" + format_count(outlook.batch_norms),
               format_count(outlook.moves) + "/" + format_count(outlook.weights)});
  }
  if (!style.quiet())
    table.line("folds: BatchNormalizations that convert folds; moves: convolution weights that it stores channels-last", Style::faint);
  return table.text(style);
}

Json inspect_json(const InspectResult& result) {
  Json out;
  std::map<std::string, int64_t> opsets = result.domains;
  opsets[""] = result.opset;
  out.set("schema", "relayout.inspect/1").set("model", result.path).set("producer", result.producer);
  out.set("ir_version", result.ir_version).set("opset", opsets).set("file_bytes", result.file_bytes);
  out.set("parameters", result.parameters).set("parameter_bytes", result.parameter_bytes);
  out.set("nodes", result.nodes).set("functions", result.functions).set("macs", result.macs);
  out.set("macs_at_least", result.macs_are_least).set("assumed", result.assumed).set("misfit", result.misfit);
  out.set("ops_without_macs", result.ops_without_macs);
  out.set("inputs", Json::list(result.inputs, port_json)).set("outputs", Json::list(result.outputs, port_json));
  out.set("op_counts", result.op_counts).set("unknown_ops", result.unknown_ops).set("repeated_names", result.repeated_names);
  out.set("convolutions", Json::list(result.convolutions, [](const ConvolutionSummary& one) {
            Json entry = Json().set("node", one.node).set("op_type", one.op_type).set("weight_dims", one.weight_dims);
            entry.set("groups", one.groups).set("layout", one.layout);
            if (!one.batch_norm.empty()) entry.set("batch_norm", one.batch_norm);
            return entry;
          }));
  out.set("findings", findings_json(result.findings));
  if (!result.node_list.empty()) {
    out.set("node_list", Json::list(result.node_list, [](const NodeSummary& one) {
              Json entry = Json().set("node", one.node).set("op_type", one.op_type).set("dims", one.dims).set("macs", one.macs);
              return entry.set("parameters", one.parameters).set("stored_bytes", one.bytes).set("result_bytes", one.result_bytes);
            }));
  }
  if (result.layout) out.set("layout", layout_json(*result.layout));
  return out;
}

}  // namespace relayout::cli
