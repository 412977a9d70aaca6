// Reports a layout plan: its regions, its copies, and what loses channels-last and why.
#include <algorithm>

#include "base/positions.h"
#include "base/text.h"
#include "cli/inspect/inspect.h"

namespace relayout::cli {
namespace {

constexpr std::size_t kShown = 8;  ///< lines per kind, without -v

std::string factor(double value) {
  return fixed(value, 2) + " ×";
}

/// "/conv1", "/conv1 and 3 more", "the caller"
std::string readers_text(const TensorReorder& reorder) {
  return some_of(reorder.readers, 1, [](const std::string& reader) { return reader.empty() ? "the caller" : escape(reader); });
}

void add_regions(TextTable& table, const LayoutReport& report, bool all) {
  for (std::size_t i = 0; i < report.regions.size(); ++i) {
    if (i >= kShown && !all) return table.line("  … " + counted(static_cast<int64_t>(report.regions.size() - i), "more region") + " (-v)");
    const LayoutRegion& region = report.regions[i];
    table.row({"region " + std::to_string(i + 1), escape(region.first) + " … " + escape(region.last),
               counted(region.operators, "operator") + ", " + counted(region.convolutions, "convolution") + ", " +
                   percent_text(region.share) + " of activation bytes"});
  }
}

void add_reorders(TextTable& table, const LayoutReport& report, bool all) {
  for (std::size_t i = 0; i < report.reorders.size(); ++i) {
    if (i >= kShown && !all)
      return table.line("  … " + counted(static_cast<int64_t>(report.reorders.size() - i), "more reorder") + " (-v)");
    const TensorReorder& reorder = report.reorders[i];
    table.row(
        {reorder.inner ? "reorder inside" : "reorder",
         escape(report.tensors[as_size(reorder.tensor)].name) + " " + format_bytes(reorder.bytes) + " " + reorder.from + " → " + reorder.to,
         "for " + readers_text(reorder) + " (" + escape(reorder.reason) + ")"});
  }
}

void add_losses(TextTable& table, const LayoutReport& report, bool all) {
  const auto losses = std::ranges::count(report.operators, true, &OperatorLayout::loses);
  std::size_t shown = 0;
  for (const OperatorLayout& op : report.operators) {
    if (!op.loses) continue;
    if (shown++ >= kShown && !all)
      return table.line("  … " + counted(losses - static_cast<int64_t>(kShown), "more loses", "more lose") + " channels-last (-v)");
    table.row({"loses channels-last", escape(op.node) + " (" + escape(op.op_type) + ")", escape(op.reason)});
  }
}

std::string operator_table(const LayoutReport& report, const ReportStyle& style) {
  TextTable table({.indent = 2, .gap = 2, .color = style.color, .width = style.width});
  table.row({{"operator", Style::faint},
             {"type", Style::faint},
             {"runs in", Style::faint},
             {"makes", Style::faint},
             {"layout", Style::faint},
             {"bytes", Style::faint, Align::right}});
  for (const OperatorLayout& op : report.operators) {
    const TensorLayout* const made = op.outputs.empty() ? nullptr : &report.tensors[as_size(op.outputs.front())];
    const bool is_known = made != nullptr && made->type != DataType::undefined;
    table.row({escape(op.node), escape(op.op_type), op.layout + (op.wants && op.layout == "contiguous" ? " (wants channels-last)" : ""),
               is_known ? std::string(name_of(made->type)) + " " + to_string(made->dims) : "?", is_known ? made->layout : "?",
               Cell(is_known ? format_bytes(made->bytes) : "?", Style::plain, Align::right)});
  }
  return table.text();
}

}  // namespace

std::string layout_text(const LayoutReport& report, const ReportStyle& style) {
  TextTable table({.indent = 2, .gap = 3, .color = style.color, .width = style.width});
  if (!report.assumed.empty()) {
    std::string list;
    for (const std::string& dim : report.assumed) list += (list.empty() ? "" : ", ") + dim;
    table.line("  layout for " + list + " (--dim, --shape)");
  }
  add_regions(table, report, style.verbose);
  if (report.regions.empty()) table.line("  no tensor is channels-last");
  add_reorders(table, report, style.verbose);
  add_losses(table, report, style.verbose);
  std::string sum = "  " + counted(report.convolutions, "convolution") + " · " + percent_text(report.ordered_share) +
                    " of the bytes that could be are channels-last · " + counted(static_cast<int64_t>(report.reorders.size()), "reorder");
  if (!report.reorders.empty()) sum += " (" + format_bytes(report.reorder_bytes) + ", " + percent_text(report.reorder_share) + ")";
  sum += " · " + counted(static_cast<int64_t>(report.packs.size()), "pack") + " · predicted gain " + factor(report.predicted_gain);
  table.line(sum, Style::strong);
  if (report.propagation) {
    table.line("  PyTorch's propagation: " + counted(report.propagation->reorders, "reorder") + " (" +
               format_bytes(report.propagation->bytes) + "), predicted gain " + factor(report.propagation->predicted_gain));
  }
  if (report.thrashes) table.line("  thrashing: " + report.thrash_reason, Style::warning);
  std::string out = table.text() + (style.verbose ? operator_table(report, style) : "");
  for (const NestedLayout& nested : report.nested) {
    // Branches that only compute sizes have nothing to report.
    if (nested.report.regions.empty() && nested.report.convolutions == 0 && nested.report.nested.empty() && !style.verbose) continue;
    out += paint("  in " + escape(nested.node) + " (" + escape(nested.op_type) + ", " + escape(nested.attribute) + ")", Style::strong,
                 style.color) +
           ": contiguous at its border\n" + layout_text(nested.report, style);
  }
  return out;
}

Json layout_json(const LayoutReport& report) {
  Json tensors = Json::array(), operators = Json::array(), reorders = Json::array(), regions = Json::array();
  for (const TensorLayout& tensor : report.tensors) {
    Json entry = Json::object();
    entry.set("name", tensor.name);
    if (tensor.type != DataType::undefined) {
      entry.set("type", name_of(tensor.type)).set("dims", tensor.dims).set("layout", tensor.layout).set("bytes", tensor.bytes);
    }
    if (tensor.region >= 0) entry.set("region", tensor.region);
    if (tensor.is_input) entry.set("input", true);
    if (tensor.is_output) entry.set("output", true);
    tensors.add(std::move(entry));
  }
  for (const OperatorLayout& op : report.operators) {
    Json entry = Json::object();
    entry.set("node", op.node).set("op_type", op.op_type).set("layout", op.layout).set("wants", op.wants).set("loses", op.loses);
    if (!op.reason.empty()) entry.set("reason", op.reason);
    entry.set("nanoseconds", op.nanoseconds).set("inputs", op.inputs).set("outputs", op.outputs);
    operators.add(std::move(entry));
  }
  for (const TensorReorder& reorder : report.reorders) {
    Json entry = Json::object();
    entry.set("tensor", report.tensors[as_size(reorder.tensor)].name).set("from", reorder.from).set("to", reorder.to);
    entry.set("bytes", reorder.bytes).set("inner", reorder.inner).set("readers", reorder.readers).set("reason", reorder.reason);
    reorders.add(std::move(entry));
  }
  for (const LayoutRegion& region : report.regions) {
    Json entry = Json::object();
    entry.set("first", region.first).set("last", region.last).set("operators", region.operators);
    entry.set("convolutions", region.convolutions).set("bytes", region.bytes);
    regions.add(std::move(entry));
  }
  Json packs = Json::array();
  for (const int tensor : report.packs) packs.add(report.tensors[as_size(tensor)].name);
  Json out = Json::object();
  out.set("convolutions", report.convolutions).set("assumed", report.assumed);
  out.set("activation_bytes", report.activation_bytes).set("ordered_bytes", report.ordered_bytes);
  out.set("orderable_bytes", report.orderable_bytes).set("reorder_bytes", report.reorder_bytes);
  out.set("inner_reorder_bytes", report.inner_reorder_bytes).set("predicted_gain", report.predicted_gain);
  out.set("thrashes", report.thrashes);
  if (report.thrashes) out.set("thrash_reason", report.thrash_reason);
  if (report.propagation) {
    Json compared = Json::object();
    compared.set("reorders", report.propagation->reorders).set("bytes", report.propagation->bytes);
    compared.set("predicted_gain", report.propagation->predicted_gain);
    out.set("propagation", std::move(compared));
  }
  out.set("reorders", std::move(reorders)).set("packs", std::move(packs)).set("regions", std::move(regions));
  out.set("operators", std::move(operators)).set("tensors", std::move(tensors));
  if (!report.nested.empty()) {
    Json inside = Json::array();
    for (const NestedLayout& nested : report.nested) {
      Json entry = Json::object();
      entry.set("node", nested.node).set("op_type", nested.op_type).set("attribute", nested.attribute);
      entry.set("layout", layout_json(nested.report));
      inside.add(std::move(entry));
    }
    out.set("nested", std::move(inside));
  }
  return out;
}

}  // namespace relayout::cli
