// Reports a layout plan: its regions, its copies, and what loses channels-last and why.

#include "base/positions.h"
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

/// Adds a row for each item, or for the first ones and the number of the others.
template <class Items, class Row>
void add_rows(Table& table, const Items& items, bool all, const Row& row, const char* one, const char* many, const char* after = "") {
  const std::size_t shown = all ? items.size() : std::min(kShown, items.size());
  for (std::size_t i = 0; i < shown; ++i) table.row(row(items[i], i));
  const int64_t rest = std::ssize(items) - static_cast<int64_t>(shown);
  if (rest > 0) table.line("  … " + counted(rest, one, many) + after + " (-v)");
}

void add_regions(Table& table, const LayoutReport& report, bool all) {
  const auto row = [](const LayoutRegion& region, std::size_t i) -> std::vector<Cell> {
    return {"region " + std::to_string(i + 1), escape(region.first) + " … " + escape(region.last),
            counted(region.operators, "operator") + ", " + counted(region.convolutions, "convolution") + ", " + percent_text(region.share) +
                " of activation bytes"};
  };
  add_rows(table, report.regions, all, row, "more region", "more regions");
}

void add_reorders(Table& table, const LayoutReport& report, bool all) {
  const auto row = [&](const TensorReorder& reorder, std::size_t) -> std::vector<Cell> {
    return {
        reorder.inner ? "reorder inside" : "reorder",
        escape(report.tensors[as_size(reorder.tensor)].name) + " " + format_bytes(reorder.bytes) + " " + reorder.from + " → " + reorder.to,
        "for " + readers_text(reorder) + " (" + escape(reorder.reason) + ")"};
  };
  add_rows(table, report.reorders, all, row, "more reorder", "more reorders");
}

void add_losses(Table& table, const LayoutReport& report, bool all) {
  std::vector<const OperatorLayout*> losses;
  for (const OperatorLayout& op : report.operators) {
    if (op.loses) losses.push_back(&op);
  }
  const auto row = [](const OperatorLayout* op, std::size_t) -> std::vector<Cell> {
    return {"loses channels-last", escape(op->node) + " (" + escape(op->op_type) + ")", escape(op->reason)};
  };
  add_rows(table, losses, all, row, "more loses", "more lose", " channels-last");
}

std::string operator_table(const LayoutReport& report, const ReportStyle& style) {
  Table table({.indent = 2, .gap = 2});
  table.head({"operator", "type", "runs in", "makes", "layout", right("bytes")});
  for (const OperatorLayout& op : report.operators) {
    const TensorLayout* const made = op.outputs.empty() ? nullptr : &report.tensors[as_size(op.outputs.front())];
    const bool is_known = made != nullptr && made->type != DataType::undefined;
    table.row({escape(op.node), escape(op.op_type), op.layout + (op.wants && op.layout == "contiguous" ? " (wants channels-last)" : ""),
               is_known ? std::string(name_of(made->type)) + " " + to_string(made->dims) : "?", is_known ? made->layout : "?",
               is_known ? format_bytes(made->bytes) : "?"});
  }
  return table.text(style);
}

}  // namespace

std::string layout_text(const LayoutReport& report, const ReportStyle& style) {
  Table table({.indent = 2});
  if (!report.assumed.empty()) table.line("  layout for " + joined(report.assumed, ", ") + " (--dim, --shape)");
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
  std::string out = table.text(style) + (style.verbose ? operator_table(report, style) : "");
  for (const NestedLayout& nested : report.nested) {
    // Branches that only compute sizes have nothing to report.
    if (nested.report.regions.empty() && nested.report.convolutions == 0 && nested.report.nested.empty() && !style.verbose) continue;
    out += paint("  in " + escape(nested.node) + " (" + escape(nested.op_type) + ", " + escape(nested.attribute) + ")", Style::strong,
                 style.color) +
           ": contiguous at its border\n" + layout_text(nested.report, style);
  }
  return out;
}

// JSON.
namespace {

Json tensor_json(const TensorLayout& tensor) {
  Json out = Json().set("name", tensor.name);
  if (tensor.type != DataType::undefined) {
    out.set("type", name_of(tensor.type)).set("dims", tensor.dims).set("layout", tensor.layout).set("bytes", tensor.bytes);
  }
  if (tensor.region >= 0) out.set("region", tensor.region);
  if (tensor.is_input) out.set("input", true);
  if (tensor.is_output) out.set("output", true);
  return out;
}

Json operator_json(const OperatorLayout& op) {
  Json out = Json().set("node", op.node).set("op_type", op.op_type).set("layout", op.layout).set("wants", op.wants).set("loses", op.loses);
  if (!op.reason.empty()) out.set("reason", op.reason);
  return std::move(out.set("nanoseconds", op.nanoseconds).set("inputs", op.inputs).set("outputs", op.outputs));
}

Json region_json(const LayoutRegion& region) {
  Json out = Json().set("first", region.first).set("last", region.last).set("operators", region.operators);
  return std::move(out.set("convolutions", region.convolutions).set("bytes", region.bytes));
}

}  // namespace

Json layout_json(const LayoutReport& report) {
  const auto name = [&](int tensor) { return report.tensors[as_size(tensor)].name; };
  Json out = Json().set("convolutions", report.convolutions).set("assumed", report.assumed);
  out.set("activation_bytes", report.activation_bytes).set("ordered_bytes", report.ordered_bytes);
  out.set("orderable_bytes", report.orderable_bytes).set("reorder_bytes", report.reorder_bytes);
  out.set("inner_reorder_bytes", report.inner_reorder_bytes).set("predicted_gain", report.predicted_gain);
  out.set("thrashes", report.thrashes);
  if (report.thrashes) out.set("thrash_reason", report.thrash_reason);
  if (const auto& other = report.propagation) {
    out.set("propagation", Json().set("reorders", other->reorders).set("bytes", other->bytes).set("predicted_gain", other->predicted_gain));
  }
  out.set("reorders", Json::list(report.reorders, [&](const TensorReorder& reorder) {
            Json entry;
            entry.set("tensor", name(reorder.tensor)).set("from", reorder.from).set("to", reorder.to).set("bytes", reorder.bytes);
            return std::move(entry.set("inner", reorder.inner).set("readers", reorder.readers).set("reason", reorder.reason));
          }));
  out.set("packs", Json::list(report.packs, name)).set("regions", Json::list(report.regions, region_json));
  out.set("operators", Json::list(report.operators, operator_json)).set("tensors", Json::list(report.tensors, tensor_json));
  if (report.nested.empty()) return out;
  return std::move(out.set("nested", Json::list(report.nested, [](const NestedLayout& nested) {
                             Json entry = Json().set("node", nested.node).set("op_type", nested.op_type).set("attribute", nested.attribute);
                             return std::move(entry.set("layout", layout_json(nested.report)));
                           })));
}

}  // namespace relayout::cli
