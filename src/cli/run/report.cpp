// Reports the values of a run as text and as a document.
#include <cmath>

#include "cli/run/run.h"

namespace relayout::cli {
namespace {

constexpr int kDigits = 4;
constexpr std::size_t kNameColumns = 44;

std::string run_number(double value) {
  return significant(value, kDigits);
}

std::string share_of(int64_t part, int64_t all) {
  return part == 0 ? "0" : percent_text(static_cast<double>(part) / static_cast<double>(all));
}

/// "3 NaN, 2 ∞ and 1 −∞ of 1,000 numbers"
std::string faults_text(const TensorStatistics& facts) {
  std::vector<std::string> parts;
  if (facts.nans > 0) parts.push_back(format_count(facts.nans) + " NaN");
  if (facts.above > 0) parts.push_back(format_count(facts.above) + " ∞");
  if (facts.below > 0) parts.push_back(format_count(facts.below) + " −∞");
  return joined(parts, ", ") + " of " + counted(facts.elements, "number");
}

std::string range_text(const TensorStatistics& facts) {
  return facts.finite() == 0 ? "none finite" : run_number(facts.least) + " … " + run_number(facts.greatest);
}

std::vector<Cell> statistics_cells(const TensorStatistics& facts) {
  const bool any = facts.finite() > 0;
  const auto number = [&](double value) { return right(any ? run_number(value) : "–"); };
  return {number(facts.least),
          number(facts.greatest),
          number(facts.mean),
          number(facts.deviation),
          right(share_of(facts.zeros, facts.elements)),
          right(format_count(facts.nans)),
          right(format_count(facts.infinities())),
          right(share_of(facts.beyond_f16, facts.elements))};
}

Table values_table(const std::vector<RunTensor>& tensors, bool has_statistics, const ReportStyle& style) {
  Table table({.gap = 2, .color = style.color, .width = style.width});
  std::vector<Cell> head{"value", "type"};
  if (has_statistics) {
    for (const char* const name : {"min", "max", "mean", "σ", "zeros", "NaN", "∞", "> f16"}) head.push_back(right(name));
  }
  table.head(std::move(head));
  for (const RunTensor& tensor : tensors) {
    std::vector<Cell> cells{shortened(escape(tensor.name), style.verbose ? SIZE_MAX : kNameColumns), tensor.type};
    if (tensor.statistics) std::ranges::move(statistics_cells(*tensor.statistics), std::back_inserter(cells));
    table.row(std::move(cells));
  }
  return table;
}

std::string maker_of(const RunTensor& value) {
  if (value.op_type.empty()) return "given";
  return "made by node " + quote(value.node) + " (" + escape(value.op_type) + ")";
}

std::string finite_text(const RunResult& result, const ReportStyle& style) {
  if (!result.not_finite) return paint("finite", Style::good, style.color) + "   all " + counted(result.values, "value") + "\n";
  const auto& [value, operands] = *result.not_finite;
  const TensorStatistics& facts = *value.statistics;
  const bool is_rounding = facts.finite() == facts.elements;
  std::string out = paint(is_rounding ? "out of range" : "not finite", Style::bad, style.color) + "   " + quote(value.name) + " " +
                    value.type + ", " + maker_of(value) + ": ";
  out += is_rounding ? range_text(facts) + ", beyond " + std::string(name_of(result.as)) : faults_text(facts);
  if (!is_rounding && facts.finite() > 0) out += ", the others " + range_text(facts);
  out += "\n";
  Table table({.indent = 2, .gap = 2, .color = style.color, .width = style.width});
  for (const RunTensor& operand : operands) {
    const TensorStatistics& read = *operand.statistics;
    table.row({"reads " + shortened(escape(operand.name), kNameColumns), right(range_text(read)),
               read.finite() == read.elements ? std::string() : faults_text(read)});
  }
  return out + table.text();
}

Json statistics_json(const TensorStatistics& facts) {
  const bool any = facts.finite() > 0;
  const auto number = [&](double value) { return any ? Json(value) : Json(); };
  return Json()
      .set("elements", facts.elements)
      .set("min", number(facts.least))
      .set("max", number(facts.greatest))
      .set("mean", number(facts.mean))
      .set("deviation", number(facts.deviation))
      .set("zeros", facts.zeros)
      .set("nan", facts.nans)
      .set("inf", facts.above)
      .set("minus_inf", facts.below)
      .set("beyond_f16", facts.beyond_f16);
}

Json value_json(const RunTensor& tensor) {
  Json out = Json().set("name", tensor.name);
  if (!tensor.op_type.empty()) out.set("node", tensor.node).set("op_type", tensor.op_type);
  if (!tensor.type.empty()) out.set("type", tensor.type).set("dims", tensor.dims);
  if (tensor.statistics) out.set("statistics", statistics_json(*tensor.statistics));
  if (!tensor.saved.empty()) out.set("saved", tensor.saved);
  return out;
}

}  // namespace

std::string run_text(const RunResult& result, const RunOptions& options, const ReportStyle& style) {
  if (style.quiet) return options.require_finite ? finite_text(result, style) : "";
  std::string out = paint(escape(result.model), Style::strong, style.color) + "   " + std::string(to_string(result.mode));
  if (result.as != DataType::undefined) out += " · rounded to " + std::string(name_of(result.as));
  if (!result.assumed.empty()) out += " · assumed " + joined(result.assumed, ", ", escape);
  out += " · " + counted(result.values, "value") + " in " + seconds_text(result.seconds) + "\n";
  out += values_table(result.tensors, options.statistics, style).text();
  if (!options.save.empty()) {
    out += "saved " + counted(static_cast<int64_t>(result.tensors.size()), "value") + ", " + format_bytes(result.saved_bytes) + ": " +
           escape(options.save.string()) + "\n";
  }
  return options.require_finite ? out + finite_text(result, style) : out;
}

Json run_json(const RunResult& result, const RunOptions& options) {
  Json out = Json().set("schema", "relayout.run/1").set("model", result.model).set("mode", to_string(result.mode));
  if (result.as != DataType::undefined) out.set("as", name_of(result.as));
  out.set("assumed", result.assumed).set("seconds", result.seconds).set("values", result.values);
  out.set("tensors", Json::list(result.tensors, value_json));
  if (!options.save.empty()) out.set("saved", Json().set("path", options.save.string()).set("bytes", result.saved_bytes));
  if (!options.require_finite) return out;
  out.set("finite", !result.not_finite.has_value());
  if (result.not_finite) {
    out.set("first_fault", value_json(result.not_finite->value).set("operands", Json::list(result.not_finite->operands, value_json)));
  }
  return out;
}

}  // namespace relayout::cli
